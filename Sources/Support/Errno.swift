package import Core
internal import Glibc

/// Runs a system call that answers -1 and sets errno, again as long as a signal interrupts it.
///
/// - Throws: `DiskFailure` with the errno and `action` in words.
@discardableResult
package func retrying<Answer: FixedWidthInteger & SignedInteger>(
  _ action: @autoclosure () -> String,
  _ call: () -> Answer
) throws(DiskFailure) -> Answer {
  while true {
    let answer = call()
    if answer != -1 { return answer }
    let number = Glibc.errno
    if number == EINTR { continue }
    throw DiskFailure(errno: number, action: action(), reason: errnoDescription(number))
  }
}

/// An errno in words.
package func errnoDescription(_ number: Int32) -> String {
  var buffer = [CChar](repeating: 0, count: 256)
  guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
  return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
