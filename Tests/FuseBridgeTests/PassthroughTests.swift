import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

private let passthroughBit: UInt64 = 1 << 37

/// Whether the kernel offers it, found out once.
private let passthroughIsOffered: Bool = {
  var isOffered = false
  try? withPassthrough { mounted in
    isOffered = mounted.session.initFlags.offered & passthroughBit != 0
  }
  return isOffered
}()

/// A mount whose files may be read by the kernel.
private func withPassthrough(
  _ files: MemoryFiles = MemoryFiles(),
  in backingDirectory: String? = "/tmp",
  _ body: (Mounted) throws -> Void
) throws {
  var options = MountOptions(fsName: "s3://bucket")
  options.backingDirectory = backingDirectory
  try withMount(files, options: options) { mounted in
    try #require(eventually { mounted.session.passthrough.state != .undecided })
    try body(mounted)
  }
}

extension MountTests {
  /// Files that the kernel reads by itself.
  ///
  /// Where the kernel doesn't offer it only the handshake and the ordinary way can be tested.
  @Suite(.enabled(if: geteuid() == 0, "passthrough takes root")) struct PassthroughTests {
    private static let bytes = noise(3 * 1024 * 1024 + 17)

    private func oneFile(_ bytes: [UInt8] = PassthroughTests.bytes) throws -> MemoryFiles {
      let files = MemoryFiles()
      let file = try UnnamedFile.make(bytes)
      files.add("file", .file(file), size: bytes.count, in: .root, isDirect: false)
      files.offerWholeFiles()
      return files
    }

    @Test func handshakeTakesWhatTheKernelOffers() throws {
      try withPassthrough { mounted in
        let (offered, agreed) = mounted.session.initFlags
        #expect(agreed & passthroughBit == offered & passthroughBit)
        #expect((mounted.session.passthrough.state == .on) == (offered & passthroughBit != 0))
      }
    }

    @Test func unwantedItIsNotNegotiated() throws {
      let files = try oneFile()
      try withPassthrough(files, in: nil) { mounted in
        #expect(mounted.session.initFlags.agreed & passthroughBit == 0)
        #expect(mounted.session.passthrough.state == .off("not wanted"))
        let readBytes = try read(mounted.path("file"), by: 65_536)
        #expect(readBytes == Self.bytes)
        #expect(!files.readSizes.isEmpty)
      }
    }

    @Test(arguments: ["/proc/not-there", "/proc"])
    func whereFilesCannotBeRegisteredReadsAreAskedFor(directory: String) throws {
      let files = try oneFile()
      try withPassthrough(files, in: directory) { mounted in
        guard case .off(let reason) = mounted.session.passthrough.state else {
          Issue.record("it is on")
          return
        }
        #expect(!reason.isEmpty)
        let readBytes = try read(mounted.path("file"), by: 65_536)
        #expect(readBytes == Self.bytes)
        #expect(mounted.session.passthrough.openCount == 0)
      }
    }

    @Test(
      .enabled(if: passthroughIsOffered, "the kernel lacks passthrough"),
      arguments: [4096, 1 << 20]
    )
    func wholeFileIsReadWithoutAsking(size: Int) throws {
      let files = try oneFile()
      try withPassthrough(files) { mounted in
        for _ in 0..<3 {
          let readBytes = try read(mounted.path("file"), by: size)
          #expect(readBytes == Self.bytes)
        }
        #expect(files.readSizes.isEmpty)
        #expect(mounted.session.passthrough.openCount == 3)
        #expect(eventually { files.openCount == 0 })
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func openBesideOneThatAsksAsksToo() throws {
      let files = try oneFile()
      files.offerWholeFiles(false)
      try withPassthrough(files) { mounted in
        do {
          let early = try FileDescriptor.open(mounted.path("file"), .read)
          // It becomes whole while it is open.
          files.offerWholeFiles()
          let readBytes = try read(mounted.path("file"), by: 65_536)
          #expect(readBytes == Self.bytes)
          #expect(!files.readSizes.isEmpty)
          #expect(mounted.session.passthrough.openCount == 0)
          #expect(try early.bytes(ByteRange(0, 10)) == Array(Self.bytes[..<10]))
        }
        #expect(eventually { files.openCount == 0 })
        let count = files.readSizes.count
        let readBytes = try read(mounted.path("file"), by: 65_536)
        #expect(readBytes == Self.bytes)
        #expect(files.readSizes.count == count)
        #expect(mounted.session.passthrough.openCount == 1)
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func openBesideABackedOneIsBackedToo() throws {
      let files = try oneFile()
      try withPassthrough(files) { mounted in
        do {
          let early = try FileDescriptor.open(mounted.path("file"), .read)
          // There is no whole file any more, as after an eviction.
          files.offerWholeFiles(false)
          let readBytes = try read(mounted.path("file"), by: 65_536)
          #expect(readBytes == Self.bytes)
          #expect(files.readSizes.isEmpty)
          #expect(try early.bytes(ByteRange(0, 10)) == Array(Self.bytes[..<10]))
        }
        #expect(eventually { files.openCount == 0 })
        let readBytes = try read(mounted.path("file"), by: 65_536)
        #expect(readBytes == Self.bytes)
        #expect(!files.readSizes.isEmpty)
        #expect(mounted.session.passthrough.openCount == 2)
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func opensInAnyOrderSucceed() throws {
      let bytes = noise(10_000)
      let files = try oneFile(bytes)
      try withPassthrough(files) { mounted in
        let failures = Lock([String]())
        let running = Lock(4)
        for seed in 0..<4 as Range<UInt64> {
          try Thread.require("dipper-test") {
            var random = Seeded(seed)
            var held: [FileDescriptor] = []
            for _ in 0..<400 {
              files.offerWholeFiles(Bool.random(using: &random))
              do {
                let file = try FileDescriptor.open(mounted.path("file"), .read)
                let isRight = try file.bytes(ByteRange(0, 10_000)) == bytes
                if !isRight { failures.withLock { $0.append("other bytes") } }
                held.append(file)
              } catch {
                failures.withLock { $0.append("\(error)") }
              }
              if Bool.random(using: &random) || held.count > 3 { held.removeAll() }
            }
            running.withLock { $0 -= 1 }
          }
        }
        #expect(eventually(within: .seconds(30)) { running.withLock { $0 } == 0 })
        #expect(failures.withLock { $0 } == [])
        #expect(mounted.session.passthrough.openCount > 0)
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func readsPastEveryCacheAreAskedFor() throws {
      let files = try oneFile()
      try withPassthrough(files) { mounted in
        let early = try FileDescriptor.open(mounted.path("file"), .read)
        // Beside a backed open it has to be backed too; its reads come here all the same.
        let copy = try start(
          "dd",
          "if=\(mounted.path("file"))",
          "of=/dev/null",
          "iflag=direct",
          "bs=64k"
        )
        #expect(copy.end() == .status(0))
        #expect(!files.readSizes.isEmpty)
        #expect(try early.bytes(ByteRange(5, 10)) == Array(Self.bytes[5..<10]))
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func toolsReadABackedFile() throws {
      let files = try oneFile()
      let copies = try TestDirectory()
      try withPassthrough(files) { mounted in
        let file = mounted.path("file")
        let commands = [
          "cp --reflink=auto \(file) \(copies.file("1"))",
          "tail -c +1 \(file) > \(copies.file("2"))",
          "cat \(file) | cat > \(copies.file("3"))",
          "dd if=\(file) of=\(copies.file("4")) bs=17k iflag=nocache",
        ]
        for command in commands {
          let shell = try start("sh", "-c", command)
          #expect(shell.end() == .status(0), "\(command)")
        }
        for name in copies.names() { #expect(try copies.bytes(of: name) == Self.bytes) }
        #expect(copies.names().count == commands.count)
        #expect(files.readSizes.isEmpty)
      }
    }

    @Test(.enabled(if: passthroughIsOffered, "the kernel lacks passthrough"))
    func mappedBytesOutliveTheHandle() throws {
      let bytes = Self.bytes
      let files = try oneFile()
      try withPassthrough(files) { mounted in
        let map = { () throws -> UnsafeMutableRawPointer? in
          let file = try FileDescriptor.open(mounted.path("file"), .read)
          #expect(posix_fadvise(file.number, 0, 0, POSIX_FADV_SEQUENTIAL) == 0)
          return withExtendedLifetime(file) {
            mmap(nil, bytes.count, PROT_READ, MAP_PRIVATE, file.number, 0)
          }
        }
        let address = try #require(try map())
        try #require(address != MAP_FAILED)
        defer { munmap(address, bytes.count) }
        #expect(UnsafeRawBufferPointer(start: address, count: bytes.count).elementsEqual(bytes))
        #expect(files.readSizes.isEmpty)
      }
    }
  }
}
