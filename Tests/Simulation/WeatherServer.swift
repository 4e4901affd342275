internal import Glibc

/// An HTTP server that misbehaves on demand: the path of a request says how.
///
/// The scripts and their parameters are in `Weather/weather.py`. One server serves all tests of a
/// process; it ends with it. It needs `python3` and `openssl`.
package final class WeatherServer: Sendable {
  /// Starts a server and waits until it listens.
  package static func start() async throws -> WeatherServer {
    let directory = #filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? #filePath.endIndex)
    let child = try ChildProcess("python3", ["\(directory)/Weather/weather.py"])
    let words = try await child.line { $0.hasPrefix("ready ") }.split(separator: " ")
    let ports = words.dropFirst().prefix(3).compactMap { Int($0) }
    guard words.count == 5, ports.count == 3 else {
      throw ChildProcess.Failure(description: "the weather is \(words)")
    }
    return WeatherServer(child, ports: ports, certificate: String(words[4]))
  }

  /// The server that the tests of this process share.
  package static var shared: WeatherServer {
    get async throws { try await sharedTask.value }
  }

  private static let sharedTask = Task { try await start() }

  /// The port for http.
  package let port: Int
  /// The port for https.
  package let securePort: Int
  /// A port where connecting hangs.
  package let fullPort: Int
  /// The path of the self-signed certificate, which is good for 127.0.0.1 and store.invalid, but not
  /// for localhost.
  package let certificate: String
  private let child: ChildProcess

  private init(_ child: ChildProcess, ports: [Int], certificate: String) {
    self.child = child
    port = ports[0]
    securePort = ports[1]
    fullPort = ports[2]
    self.certificate = certificate
  }

  /// The http URL of a script, such as `/bytes?size=10`.
  package func url(_ script: String) -> String { "http://127.0.0.1:\(port)\(script)" }

  /// The https URL of a script.
  package func secureURL(_ script: String) -> String { "https://127.0.0.1:\(securePort)\(script)" }

  /// Waits until the server has reported `event`, such as `gone KEY`.
  package func reported(_ event: String) async throws {
    _ = try await child.line { $0 == event }
  }

  /// Ends the server.
  package func stop() {
    child.kill()
  }
}

/// The bytes that the server's bodies are made of.
package enum WeatherPattern {
  /// After how many bytes the pattern starts again; a prime, so that misplaced bytes show.
  package static let period = 65_521

  /// Two periods and more, so that a piece of up to 65,521 bytes lies in it as one.
  private static let block = (0..<2 * period).map { index in
    let j = index % period
    return UInt8((j * j * 31 + j * 7 + 3) % 251)
  }

  /// Returns the pattern's bytes in `range`.
  package static func bytes(_ range: Range<Int>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    while bytes.count < range.count {
      let start = (range.lowerBound + bytes.count) % period
      bytes += block[start..<start + min(range.count - bytes.count, period)]
    }
    return bytes
  }

  /// Returns true if `bytes` is what the pattern has at `offset`.
  package static func matches(_ bytes: RawSpan, at offset: Int) -> Bool {
    bytes.withUnsafeBytes { bytes in
      block.withUnsafeBytes { block in
        var done = 0
        while done < bytes.count {
          let start = (offset + done) % period
          let count = min(bytes.count - done, period)
          // Not a loop over the bytes, which takes seconds for large bodies without optimization.
          guard let left = bytes.baseAddress, let right = block.baseAddress,
            memcmp(left + done, right + start, count) == 0
          else { return false }
          done += count
        }
        return true
      }
    }
  }
}
