internal import CFuse
internal import Core
internal import Glibc
internal import Support
internal import Synchronization

/// One connection to the kernel: the libfuse session, the operations behind it, and the callers
/// that can be interrupted.
///
/// Every unanswered `Reply` holds the channel, and the channel frees the session when it goes. So a
/// request that somebody still holds after the unmount may be answered in peace: the session is
/// there, its device is not, and the answer is dropped.
final class FuseChannel: ReplyPort, @unchecked Sendable {
  // Safety: `session` never changes; libfuse's session may be used from any thread.
  let session: OpaquePointer
  let operations: any FileOperations
  let options: MountOptions
  let log: Log
  let opening: Lock<Opening>
  private let whenReady: @Sendable (FuseChannel) -> Void
  private let interrupts = Lock(InterruptTable())
  /// How many requests are in `interrupts`, so that an answer needs no lock while there are none.
  ///
  /// Relaxed is enough: whoever answers a registered request got it from the thread that
  /// registered it.
  private let interruptCount = Atomic(0)

  /// Takes over `device`, an open /dev/fuse; if that fails, it is closed.
  ///
  /// `whenReady` runs once, on a libfuse thread, when the kernel has taken the answer to INIT.
  init(
    device: Int32,
    operations: any FileOperations,
    options: MountOptions,
    log: Log,
    whenReady: @escaping @Sendable (FuseChannel) -> Void
  ) throws(MountError) {
    var table = Operations.table()
    var wanted = UInt64(
      cfuse_init_parallel_dirops.rawValue | cfuse_init_handle_killpriv_v2.rawValue
    )
    let passthrough = Self.passthrough(options)
    if passthrough == .undecided { wanted |= CFUSE_INIT_PASSTHROUGH }
    guard let session = cfuse_channel_new(&table, device, wanted) else {
      let number = errno
      close(device)
      throw MountError(
        .sessionFailed,
        "libfuse can't start a session: \(errnoDescription(number))"
      )
    }
    self.session = session
    self.operations = operations
    self.options = options
    self.log = log
    opening = Lock(Opening(passthrough: Passthrough(state: passthrough)))
    self.whenReady = whenReady
    // Unretained: whoever runs the loop holds this object until the loop has ended.
    cfuse_channel_set_owner(session, Unmanaged.passUnretained(self).toOpaque()) { owner in
      let channel = Unmanaged<FuseChannel>.fromOpaque(owner).takeUnretainedValue()
      channel.whenReady(channel)
    }
  }

  deinit {
    cfuse_channel_free(session)
  }

  /// The channel that `request` came through.
  static func of(_ request: fuse_req_t) -> FuseChannel {
    Unmanaged<FuseChannel>.fromOpaque(cfuse_owner(request)).takeUnretainedValue()
  }

  /// The INIT flags that the kernel offered, and those that we answered with.
  var initFlags: (offered: UInt64, agreed: UInt64) {
    (cfuse_channel_offered(session), cfuse_channel_agreed(session))
  }

  /// Serves requests until the unmount or `exit`; returns 0 or a negative errno.
  func loop() -> Int32 {
    cfuse_channel_loop(session, UInt32(clamping: max(1, options.threadCountMax)))
  }

  /// Ends the loop, soon.
  func exit() { cfuse_channel_exit(session) }

  /// Ends the connection; what is answered from now on is dropped.
  ///
  /// The loop must have ended, or never begun.
  func sever() {
    cfuse_channel_close(session)
  }

  /// Must be called right before the answer to `request`: afterwards its address may be another
  /// request's.
  func willAnswer(_ request: RequestToken) {
    guard interruptCount.load(ordering: .relaxed) > 0 else { return }
    interrupts.withLock { table in
      table.answered(request)
      interruptCount.store(table.count, ordering: .relaxed)
    }
  }

  func fail(_ request: RequestToken, _ error: FileError) {
    guard let raw = request.raw else { return }
    willAnswer(request)
    fuse_reply_err(raw, error.code.errnoNumber)
  }

  func whenInterrupted(_ request: RequestToken, _ action: @escaping @Sendable () -> Void) {
    guard let raw = request.raw else { return }
    let number = interrupts.withLock { table in
      let number = table.registrationBegan(of: request, action)
      interruptCount.store(table.count, ordering: .relaxed)
      return number
    }
    // The user data is the number and no pointer: libfuse may call with it after the answer.
    fuse_req_interrupt_func(
      raw,
      { raw, number in
        guard let raw, let number else { return }
        FuseChannel.of(raw).interrupted(UInt(bitPattern: number))
      },
      UnsafeMutableRawPointer(bitPattern: number)
    )
    run { $0.registrationEnded(number) }
  }

  /// Runs the action with libfuse's lock of the request held; answering needs it not, and libfuse
  /// holds the request itself until this returns.
  private func interrupted(_ number: UInt) {
    run { $0.interrupted(number) }
  }

  private func run(_ event: (inout InterruptTable) -> InterruptTable.Action?) {
    let action = interrupts.withLock { table in
      let action = event(&table)
      interruptCount.store(table.count, ordering: .relaxed)
      return action
    }
    action?()
  }
}

extension RequestToken {
  /// Names a request of libfuse's, whose pointer can't be sent between threads itself.
  init(_ request: fuse_req_t) { self.init(UInt(bitPattern: request)) }

  /// The request; valid until it is answered.
  var raw: fuse_req_t? { fuse_req_t(bitPattern: rawValue) }
}
