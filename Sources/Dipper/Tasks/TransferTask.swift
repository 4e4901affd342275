internal import Support

/// A download, a copy or an upload under way.
///
/// It has begun when this value is made, and goes on whether or not the value is kept. `value` waits for
/// its end; `events` tells what happens meanwhile; `control` pauses it or gives it up.
///
/// If the task that awaits `value` is cancelled, the transfer is paused.
public struct TransferTask<Event: Sendable, Success: Sendable>: Sendable {
  /// What happens, from the beginning; for one reader.
  public let events: TransferEvents<Event>
  /// Pauses the transfer or gives it up, once.
  public let control: TransferControl

  private let outcome: Task<Result<Success, DipperError>, Never>

  /// Starts a transfer.
  ///
  /// - Parameters:
  ///   - events: where `run` reports.
  ///   - run: the transfer; ends with a `.paused` error when its task is cancelled.
  ///   - abort: clears what a paused transfer left.
  init(
    events: TransferEvents<Event>,
    run: @escaping @Sendable () async throws(DipperError) -> Success,
    abort: @escaping @Sendable () async throws(DipperError) -> Void
  ) {
    let control = TransferControl()
    self.events = events
    self.control = control
    outcome = Task {
      let result = await Self.outcome(control, run, abort)
      control.ended()
      events.end()
      return result
    }
    control.began(cancelling: outcome)
  }

  /// What came of it, when it has ended.
  ///
  /// - Throws: `DipperError`: `.paused` if it was paused and can be gone on with by the same call again,
  ///   `.aborted` if it was given up.
  public var value: Success {
    get async throws(DipperError) {
      let outcome = outcome
      return try await withTaskCancellationHandler {
        await outcome.value
      } onCancel: {
        outcome.cancel()
      }
      .get()
    }
  }

  private static func outcome(
    _ control: TransferControl,
    _ run: () async throws(DipperError) -> Success,
    _ abort: @escaping @Sendable () async throws(DipperError) -> Void
  ) async -> Result<Success, DipperError> {
    do throws(DipperError) {
      return .success(try await run())
    } catch {
      guard control.isAborted else { return .failure(error) }
      // The task is cancelled by now; what must still be done needs one that isn't.
      let clearing = Task<DipperError?, Never> {
        do throws(DipperError) {
          try await abort()
          return nil
        } catch {
          return error
        }
      }
      let failure = await clearing.value
      return .failure(failure ?? DipperError(.aborted, "the transfer was given up"))
    }
  }
}
