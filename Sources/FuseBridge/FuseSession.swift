package import Core
internal import Glibc
package import Support

/// A mounted file system, from `mount` to the end of `run`.
///
/// `mount` makes the mount and returns; the kernel's requests queue up until `run`, which serves
/// them and returns when the mount has ended: by `unmount`, by somebody's umount(8), or by `exit`,
/// which ends the service first and the mount after it. When `run` has returned nothing is left: no
/// mount, no thread, no descriptor, except for requests that the operations still hold. Those may
/// be answered any time later; the answers are dropped.
package final class FuseSession: Sendable {
  private enum Phase {
    /// Next: `mounted`.
    case created
    /// The kernel waits for `run`. Next: `running`.
    case mounted(Mount)
    /// Next: `ended`.
    case running(Mount)
    case ended
  }

  private struct Mount: Sendable {
    let mounter: Mounter
    let channel: FuseChannel
    /// `major:minor`; nil if /proc doesn't say.
    let device: String?
  }

  private let operations: any FileOperations
  private let path: String
  private let options: MountOptions
  private let log: Log
  private let whenReady: @Sendable () -> Void
  private let way: Mounter.Way?
  private let phase = Lock(Phase.created)

  /// Creates a session that will serve `operations` at the directory `mountpoint`.
  ///
  /// `whenReady` runs once, on the session's thread, when the kernel has been answered and the mount works.
  /// It must not touch the mount itself.
  package convenience init(
    operations: any FileOperations,
    mountpoint: String,
    options: MountOptions,
    log: Log = Log(),
    whenReady: @escaping @Sendable () -> Void = {}
  ) {
    self.init(
      operations: operations,
      mountpoint: mountpoint,
      options: options,
      log: log,
      way: nil,
      whenReady: whenReady
    )
  }

  init(
    operations: any FileOperations,
    mountpoint: String,
    options: MountOptions,
    log: Log = Log(),
    way: Mounter.Way?,
    whenReady: @escaping @Sendable () -> Void
  ) {
    self.operations = operations
    path = mountpoint
    self.options = options
    self.log = log
    self.way = way
    self.whenReady = whenReady
  }

  /// Mounts.
  ///
  /// Call it once. Whoever touches the mount waits until `run`.
  package func mount() throws(MountError) {
    guard case .created = phase.withLock({ $0 }) else {
      throw MountError(.alreadyMounted, "\(path) has been mounted by this session before")
    }
    let mounter = try Mounter(path: path, options: options, way: way)
    let descriptor = try mounter.mount(options)
    let device = mounter.device()
    do {
      let channel = try FuseChannel(
        device: descriptor,
        operations: operations,
        options: options,
        log: log
      ) { [options, whenReady] channel in
        channel.settlePassthrough()
        // Not before: the answer to INIT sets the kernel's window to what INIT offered at most.
        if let device { Self.raiseReadAhead(of: device, to: options.readAheadKibibytes) }
        whenReady()
      }
      let mount = Mount(mounter: mounter, channel: channel, device: device)
      phase.withLock { $0 = .mounted(mount) }
    } catch {
      try? mounter.unmount(lazily: true)
      throw error
    }
  }

  /// Serves requests, on this and other threads, until the mount has ended.
  ///
  /// - Throws: `MountError` if the session was not mounted, or if libfuse's loop failed.
  package func run() throws(MountError) {
    let mount = phase.withLock { phase -> Mount? in
      guard case .mounted(let mount) = phase else { return nil }
      phase = .running(mount)
      return mount
    }
    guard let mount else { throw MountError(.notMounted, "\(path) is not mounted") }
    let failure = mount.channel.loop()
    finish(mount)
    phase.withLock { $0 = .ended }
    switch -failure {
    case ...0: return
    case EAGAIN:
      throw MountError(
        .sessionFailed,
        "there is no thread or no timer to serve the mount with: raise the limit of processes "
          + "(ulimit -u, TasksMax=), of memory (ulimit -v, MemoryMax=) or of pending signals (ulimit -i)"
      )
    case let number:
      throw MountError(
        .sessionFailed,
        "the connection to the kernel failed: \(errnoDescription(number)); mount again"
      )
    }
  }

  /// Unmounts, which ends `run`; from any thread, but not from an operation.
  ///
  /// Lazily, a mount in use leaves the tree at once and is served until its last file is closed; `exit`
  /// ends it sooner. Does nothing if there is no mount any more.
  ///
  /// - Throws: `MountError.Code.busy` if the mount is in use, unless `lazily`.
  package func unmount(lazily: Bool = false) throws(MountError) {
    guard let mount = current else { return }
    switch place(of: mount) {
    case .gone: return
    case .onTop: try mount.mounter.unmount(lazily: lazily)
    case .covered:
      throw MountError(
        .busy,
        "another file system is mounted over \(path); unmount that one first"
      )
    }
  }

  /// Unmounts somebody else's session at `path` as an ordinary user, through fusermount3.
  ///
  /// - Throws: `MountError.Code.busy` if the mount is in use, unless `lazily`.
  package static func unmountThroughFusermount(
    _ path: String,
    lazily: Bool
  ) throws(MountError) {
    try Mounter.unmountThroughFusermount(path, lazily: lazily)
  }

  /// Ends `run` without waiting for anybody: what is open in the mount fails from now on; from any
  /// thread, also if the mount is busy or has been unmounted lazily.
  package func exit() {
    current?.channel.exit()
  }

  /// Whether the mount is in the tree.
  package var isMounted: Bool {
    guard let mount = current else { return false }
    return place(of: mount) != .gone
  }

  /// The kernel's INIT flags, those it offered and those we answered with, for tests and `doctor`;
  /// zero before it asked.
  package var initFlags: (offered: UInt64, agreed: UInt64) {
    current?.channel.initFlags ?? (0, 0)
  }

  /// Whether the kernel reads whole files by itself.
  package var passthrough: Passthrough {
    current?.channel.opening.withLock { $0.passthrough } ?? Passthrough(state: .undecided)
  }

  deinit {
    // A session that was never run.
    if case .mounted(let mount) = phase.withLock({ $0 }) { finish(mount) }
  }

  private var current: Mount? {
    switch phase.withLock({ $0 }) {
    case .created, .ended: nil
    case .mounted(let mount), .running(let mount): mount
    }
  }

  private func place(of mount: Mount) -> Mounter.Place {
    // Without /proc one can't know, and an unmount too many does no harm.
    guard let device = mount.device else { return .onTop }
    return mount.mounter.place(of: device)
  }

  /// Severs the connection, so that nobody waits for an answer, then removes the mount if it is
  /// still there.
  ///
  /// In this order, because unmounting may have to wait for an answer.
  private func finish(_ mount: Mount) {
    mount.channel.sever()
    if place(of: mount) == .onTop { try? mount.mounter.unmount(lazily: true) }
  }

  /// Sets how far the kernel reads ahead in this mount, where it lets us.
  private static func raiseReadAhead(of device: String, to kibibytes: Int) {
    let path = "/sys/class/bdi/\(device)/read_ahead_kb"
    guard kibibytes > 0, let file = try? FileDescriptor.open(path, .readWrite) else { return }
    var text = String(kibibytes)
    text.withUTF8 { try? file.write(UnsafeRawBufferPointer($0), at: 0) }
  }
}
