/// Bytes of a body that have arrived and are not handed on yet; only the driver thread touches it.
///
/// libcurl hands over 16 KiB at a time, however large its own buffer is, and a file takes many small
/// writes at half the speed of a few large ones: a GiB costs 0.55 s of CPU at 16 KiB and 0.31 at
/// 256 KiB, the copy into this buffer included (ext4). Within a turn of the driver libcurl reads from
/// one connection after the other, so one buffer serves all; nothing stays in it beyond the turn.
final class BodyBuffer {
  private static let capacity = 256 * 1024

  private let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: capacity,
    alignment: 4096
  )
  private var count = 0
  private var owner: CurlTransfer?
  /// Transfers whose receivers refused bytes when libcurl was not there to be told.
  private var refused: [CurlTransfer] = []

  /// Takes bytes of `transfer`'s body, of which they are the last if `isLast`; false to end the transfer.
  func take(_ bytes: UnsafeRawBufferPointer, of transfer: CurlTransfer, isLast: Bool) -> Bool {
    if owner !== transfer { flush() }
    if owner == nil, isLast || bytes.count >= Self.capacity { return transfer.hand(on: bytes) }
    if count + bytes.count > Self.capacity, !handOn() { return false }
    if bytes.count >= Self.capacity { return transfer.hand(on: bytes) }
    owner = transfer
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
    return isLast || count == Self.capacity ? handOn() : true
  }

  /// Hands on what is there.
  func flush() {
    guard let owner else { return }
    if !handOn() { refused.append(owner) }
  }

  /// The transfers that must end, since the last call.
  func takeRefused() -> [CurlTransfer] {
    defer { refused = [] }
    return refused
  }

  private func handOn() -> Bool {
    guard let owner, count > 0 else { return true }
    defer { (self.owner, count) = (nil, 0) }
    return owner.hand(on: UnsafeRawBufferPointer(rebasing: memory[..<count]))
  }

  deinit {
    memory.deallocate()
  }
}
