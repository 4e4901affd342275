// swift-tools-version: 6.2
// The house, row by row: a target's second argument is everything it may import. TidyTests checks
// the imports in the sources against this list, because the compiler alone lets an upward import
// of an already built target through.
import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
]

let cSettings: [CSetting] = [
  .define("_GNU_SOURCE"),
  .define("_FILE_OFFSET_BITS", to: "64"),
  .enableWarning("all"),
  .enableWarning("extra"),
  .treatAllWarnings(as: .error),
]

/// A C target that fences one system library.
func fence(_ name: String, _ libraries: [String]) -> Target {
  .target(
    name: name,
    path: "Sources/\(name)",
    cSettings: cSettings,
    linkerSettings: libraries.map { .linkedLibrary($0) }
  )
}

/// A Swift target that may import exactly `imports`.
func row(_ name: String, _ imports: [String]) -> Target {
  .target(
    name: name,
    dependencies: imports.map { .byName(name: $0) },
    path: "Sources/\(name)",
    swiftSettings: swiftSettings
  )
}

/// The tests of one row; they may also see what they test it against.
func tests(_ name: String, _ imports: [String], resources: [String] = []) -> Target {
  .testTarget(
    name: name,
    dependencies: imports.map { .byName(name: $0) },
    path: "Tests/\(name)",
    resources: resources.map { .copy($0) },
    swiftSettings: swiftSettings
  )
}

let package = Package(
  name: "dipper",
  products: [
    .library(name: "Dipper", targets: ["Dipper"]),
    .executable(name: "dipper", targets: ["DipperCommand"]),
  ],
  targets: [
    // C, each imported by one Swift target.
    fence("CFuse", ["fuse3"]),  // the kernel's file system protocol
    fence("CCurl", ["curl"]),  // HTTP and TLS
    fence("COpenSSL", ["crypto"]),  // SHA-256, HMAC, MD5
    fence("CISAL", ["isal"]),  // CRC-64 at memory speed
    .systemLibrary(  // a hardened XML reader
      name: "CXML2",
      path: "Sources/CXML2",
      pkgConfig: "libxml-2.0",
      providers: [.apt(["libxml2-dev"])]
    ),
    fence("CLinux", []),  // system calls that Swift can't spell

    // Beside the column.
    row("Core", []),
    row("Support", ["Core", "CLinux"]),
    row("Crypto", ["Core", "COpenSSL", "CISAL"]),

    // The column, from the bottom.
    row("HTTP", ["Core", "Support", "CCurl"]),
    row("StoreWire", ["Core", "Crypto", "CXML2"]),
    row("StoreClient", ["Core", "Support", "Crypto", "StoreWire", "HTTP"]),
    row("LocalStore", ["Core", "Support", "Crypto"]),
    row("Transfer", ["Core", "Support", "Crypto"]),
    row("Caching", ["Core", "Support", "Crypto", "Transfer"]),
    row("ObjectFiles", ["Core", "Support", "Transfer", "Caching"]),
    row("Filesystem", ["Core", "Support", "ObjectFiles"]),
    row("FuseBridge", ["Core", "Support", "CFuse"]),

    // Above.
    row("Dipper", ["Core", "Support", "StoreWire", "StoreClient", "LocalStore", "Transfer"]),
    row(
      "Daemon",
      [
        "Core", "Support", "StoreClient", "LocalStore", "Transfer", "Caching", "ObjectFiles",
        "Filesystem", "FuseBridge", "Dipper",
      ]
    ),
    .executableTarget(
      name: "DipperCommand",
      dependencies: ["Core", "Support", "Dipper", "Daemon"],
      path: "Sources/DipperCommand",
      swiftSettings: swiftSettings
    ),

    // Tests.
    row("Simulation", ["Core", "Support", "Crypto"]).at("Tests/Simulation", excluding: ["Weather"]),
    tests("CoreTests", ["Core", "Simulation"], resources: ["Fixtures"]),
    tests("SupportTests", ["Core", "Support"]),
    tests("CryptoTests", ["Core", "Crypto"]),
    tests("HTTPTests", ["Core", "Support", "HTTP", "Simulation"]),
    tests(
      "StoreWireTests",
      ["Core", "Crypto", "StoreWire", "Simulation"],
      resources: ["Fixtures"]
    ),
    tests(
      "StoreClientTests",
      ["Core", "Support", "Crypto", "HTTP", "StoreWire", "StoreClient", "Simulation"]
    ),
    tests(
      "StoreContractTests",
      [
        "Core", "Support", "Crypto", "HTTP", "StoreWire", "StoreClient", "LocalStore", "Simulation",
      ]
    ),
    tests("TransferTests", ["Core", "Support", "Crypto", "Transfer", "Simulation"]),
    tests("CachingTests", ["Core", "Support", "Crypto", "Transfer", "Caching", "Simulation"]),
    tests(
      "ObjectFilesTests",
      ["Core", "Support", "Crypto", "Transfer", "Caching", "ObjectFiles", "Simulation"]
    ),
    tests(
      "FilesystemTests",
      ["Core", "Support", "Transfer", "Caching", "ObjectFiles", "Filesystem", "Simulation"]
    ),
    tests("FuseBridgeTests", ["Core", "Support", "CFuse", "FuseBridge", "Simulation"]),
    tests("DipperTests", ["Core", "Support", "Crypto", "Dipper", "Simulation"]),
    tests("DaemonTests", ["Core", "Support", "Daemon", "Dipper", "Simulation"]),
    tests("TidyTests", []),
  ],
  swiftLanguageModes: [.v6]
)

extension Target {
  /// The same target with its sources elsewhere, but for what SwiftPM should not look at.
  func at(_ path: String, excluding excluded: [String] = []) -> Target {
    self.path = path
    exclude = excluded
    return self
  }
}
