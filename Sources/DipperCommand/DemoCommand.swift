internal import Core
internal import Daemon
internal import Dipper
internal import Glibc
internal import Support

/// `dipper demo`: a sample bucket in a directory, mounted.
///
/// Run again it uses the same sample, and finds a mount that is there already.
struct DemoCommand {
  private let program: Program

  init(_ program: Program) {
    self.program = program
  }

  func run() throws(Failure) {
    let place = DemoBucket.place(ProcessEnvironment.variables)
    let bucket: DemoBucket
    do throws(DiskFailure) {
      bucket = try DemoBucket.make(in: place)
    } catch {
      throw Failure("the sample bucket can't be made: \(error)")
    }
    if let (mounted, isWanted) = try existingMount(of: bucket) {
      guard isWanted else {
        throw Failure("the sample is mounted at \(mounted) already; 'dipper unmount' it first")
      }
      explain(bucket, mountpoint: mounted)
      return
    }
    let mountpoint = try mountpoint()
    try mount(bucket, at: mountpoint)
    if !program.invocation.has(.foreground) { explain(bucket, mountpoint: mountpoint) }
  }

  /// Where the sample is mounted, and whether that is where it was asked for.
  private func existingMount(
    of bucket: DemoBucket
  ) throws(Failure) -> (mountpoint: String, isWanted: Bool)? {
    let entry = MountTable.current().entries.last {
      $0.isDipper && $0.source == bucket.url && $0.userID == ProcessEnvironment.userID
    }
    guard let entry else { return nil }
    guard let operand = program.invocation.operands.first else { return (entry.mountpoint, true) }
    do {
      let wanted = try Mountpoint(operand.path(named: "MOUNTPOINT"))
      guard entry.mountpoint == wanted.path else { return (entry.mountpoint, false) }
      // A dead one is cleared by mounting.
      return wanted.facts().kind == .directory ? (entry.mountpoint, true) : nil
    } catch let error as UsageError {
      throw Failure(error.message, code: .usage)
    } catch {
      throw Failure("\(error)")
    }
  }

  /// The directory that was given, or one beside the sample; made if it isn't there.
  private func mountpoint() throws(Failure) -> String {
    var path = DemoBucket.place(ProcessEnvironment.variables) + "/mnt"
    if let operand = program.invocation.operands.first {
      do throws(UsageError) {
        path = ProcessEnvironment.absolute(try operand.path(named: "MOUNTPOINT"))
      } catch {
        throw Failure(error.message, code: .usage)
      }
    }
    // A dead mount is there too, and is cleared later.
    guard mkdir(path, 0o755) == 0 || errno == EEXIST || errno == ENOTCONN else {
      throw Failure("\(path) can't be made: \(errnoDescription(errno))")
    }
    return path
  }

  /// Mounts as `dipper mount` with these words would.
  private func mount(_ bucket: DemoBucket, at mountpoint: String) throws(Failure) {
    var words = ["mount", bucket.url, mountpoint, "--cache-dir", bucket.cacheDirectory]
    for name in [OptionName.logFile, .logLevel, .logFormat] {
      if let value = program.invocation.text(name) { words += [name.spelling, value] }
    }
    if program.invocation.has(.foreground) { words.append("--foreground") }
    let arguments = words.map { Array($0.utf8) }
    let request: Request
    do throws(UsageError) {
      request = try CommandParser.parse(program: "dipper", arguments: arguments)
    } catch {
      throw Failure(error.message, code: .usage)
    }
    guard case .run(let invocation) = request else { return }
    let name = program.arguments.first ?? Array("dipper".utf8)
    try MountCommand(
      Program(invocation, arguments: [name] + arguments, report: program.report)
    ).run()
  }

  private func explain(_ bucket: DemoBucket, mountpoint: String) {
    let dipper = String(decoding: program.arguments.first ?? [], as: UTF8.self)
    Console.write(
      """
      A sample bucket (\(bucket.url)) is mounted at \(mountpoint). Try:

        ls -lR \(mountpoint)
        cat \(mountpoint)/README.txt
        tar -tvf \(mountpoint)/archive.tar
        sha256sum \(mountpoint)/big/numbers.bin
        tail -c 100 \(mountpoint)/big/lines.txt
        getfattr -d \(mountpoint)/README.txt
        echo hello > \(mountpoint)/new.txt
        \(dipper) status
        \(dipper) get \(bucket.url)/big/numbers.bin /tmp/
        \(dipper) unmount \(mountpoint)

      Unmounting leaves the sample and its cache in \(DemoBucket.place(ProcessEnvironment.variables)),
      to be used again; 'rm -r' removes them.

      """
    )
  }
}
