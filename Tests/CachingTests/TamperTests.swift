import Caching
import Core
import Simulation
import Support
import Testing
import Transfer

/// Whatever is done to the files of a cache that nobody has open: what it serves afterwards is right.
@Suite struct TamperTests {
  /// Made once, because making them byte by byte is most of a test's time.
  private static let objects = [
    SimulatedContent.words(size: 3000, seed: 1).allBytes,
    SimulatedContent.words(size: 20_000, seed: 2).allBytes,
  ]

  @Test(arguments: 0..<300) func r4NoTamperingIsEverServed(seed: UInt64) async throws {
    var random = Seeded(seed)
    let bench = try CacheBench()
    let versions = Self.objects.enumerated().map { number, bytes in
      bench.store.place(ObjectKey("\(number)"), .bytes(bytes))
    }
    do {
      let cache = try bench.open()
      for version in versions {
        let object = cache.open(version)
        // Several lines, and a hole.
        for part in [0, 1, 3] {
          let lower = version.size / 4 * part
          _ = await object.bytes(ByteRange(lower, lower + version.size / 4))
          await (object as? Download)?.settled()
        }
      }
      await cache.close()
    }
    var done: [String] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      done.append(try tamper(bench, using: &random))
    }
    let cache = try bench.open()
    for (number, version) in versions.enumerated() {
      let object = cache.open(version)
      let whole = ByteRange(0, version.size)
      let right = Self.objects[number]
      let first = ByteRange(0, version.size / 4)
      #expect(
        await object.bytes(first) == .success(Array(right[..<first.upperBound])),
        "seed \(seed): \(done)"
      )
      #expect(await object.bytes(whole) == .success(right), "seed \(seed): \(done)")
    }
    await cache.close()
    // And what it wrote in its repairs is right too.
    let again = try bench.open()
    for (number, version) in versions.enumerated() {
      let bytes = await again.open(version).bytes(ByteRange(0, version.size))
      #expect(
        bytes == .success(Self.objects[number]),
        "seed \(seed): \(done)"
      )
    }
    await again.close()
  }

  /// Does something to one of the cache's files.
  ///
  /// - Returns: what.
  private func tamper(_ bench: CacheBench, using random: inout Seeded) throws -> String {
    let isData = Bool.random(using: &random)
    let paths = try bench.files(isData ? "data" : "checkpoint")
    guard let path = paths.randomElement(using: &random) else { return "nothing" }
    var bytes = try contents(path)
    let kind = Int.random(in: 0..<7, using: &random)
    switch kind {
    case 0:
      guard !bytes.isEmpty else { break }
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255,
          using: &random
        )
      }
    case 1:
      bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
    case 2:
      let count = Int.random(in: 1...5000, using: &random)
      bytes += (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    case 3:
      // Another entry's.
      bytes = try contents(paths[Int.random(in: 0..<paths.count, using: &random)])
    case 4:
      try Disk.removeFile(path)
      return "\(path) removed"
    case 5:
      let cut = Int.random(in: 0...bytes.count, using: &random)
      bytes = Array(bytes[cut...] + bytes[..<cut])
    default:
      guard !isData else { break }
      bytes += Array(lie(using: &random).utf8)
    }
    try overwrite(path, bytes)
    return "\(path): \(kind)"
  }

  /// A line that claims a range that was never finished, or none at all.
  private func lie(using random: inout Seeded) -> String {
    let numbers = [
      "0", "1", "749", "750", "1500", "2250", "3000", "69999", "70000", "9223372036854775807",
      "9223372036854775808", "18446744073709551616", "-1", "+5", "", " ", "0x10", "1e3",
    ]
    func number() -> String { numbers.randomElement(using: &random) ?? "" }
    let crc = String(UInt64.random(in: .min ... .max, using: &random), radix: 16)
    let padded = String(repeating: "0", count: 16 - crc.utf8.count) + crc
    let line = "\(number()) \(number()) \(padded) \(number())\n"
    return Bool.random(using: &random) ? line : line + line
  }
}
