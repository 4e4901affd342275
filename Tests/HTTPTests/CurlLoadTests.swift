import Core
import Glibc
import HTTP
import Simulation
import Support
import Testing

/// Many requests, large bodies, and nothing at all.
@Suite struct CurlLoadTests {
  @Test func manyRequestsShareFewConnections() async throws {
    let weather = try await WeatherServer.shared
    var configuration = CurlClient.Configuration()
    configuration.connectionCountMax = 8
    let client = try CurlClient(configuration)
    let answers = try await withThrowingTaskGroup(of: (String?, String).self) { group in
      for number in 0..<200 {
        group.addTask {
          let (head, body) = try await client.get(weather.url("/busy?delay=2&key=\(number)"))
          return (head.fields["X-Connection"], body.text)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(answers.map(\.0)).count == 8)
    let words = answers.map { $0.1.split(separator: " ") }
    #expect(Set(words.map { $0[1] }) == Set((0..<200).map { "\($0)" }))
    #expect(words.compactMap { Int($0[0]) }.max() == 8)
  }

  @Test func theLimitForOneServerLeavesRoomForOthers() async throws {
    let weather = try await WeatherServer.shared
    var configuration = CurlClient.Configuration()
    configuration.hostConnectionCountMax = 1
    let client = try CurlClient(configuration)
    let receiver = Collector()
    let stalling = HTTPRequest.get(weather.url("/broken?size=9&after=1&then=stall"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = await client.failure(of: stalling, receiver: receiver) }
      await receiver.hasBegun.wait()
      var waiting = HTTPRequest.get(weather.url("/bytes?size=10"))
      waiting.deadline = soon(.milliseconds(100))
      #expect(await client.failure(of: waiting)?.kind == .timedOut)
      // Another name is another server.
      let other = "http://localhost:\(weather.port)/bytes?size=10"
      #expect(try await client.get(other).body.isPattern)
      group.cancelAll()
      try await group.waitForAll()
    }
  }

  @Test func aLargeBodyArrivesWholeInOneRequestAndInParts() async throws {
    let weather = try await WeatherServer.shared
    let client = try CurlClient()
    let size = 64 << 20
    let url = weather.url("/bytes?size=\(size)")
    let whole = Collector(keepsBody: false)
    _ = try await client.perform(.get(url), receiver: whole)
    #expect(whole.size == size && whole.isPattern)

    let partSize = WeatherPattern.period * 128
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for offset in stride(from: 0, to: size, by: partSize) {
        let last = min(offset + partSize, size) - 1
        group.addTask {
          let receiver = Collector(keepsBody: false)
          let fields = HeaderFields(["Range": "bytes=\(offset)-\(last)"])
          _ = try await client.perform(.get(url, fields: fields), receiver: receiver)
          // Each part begins where the pattern does.
          return receiver.isPattern ? receiver.size : -1
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sizes.allSatisfy { $0 > 0 } && sizes.reduce(0, +) == size)
  }

  // What a process does and needs as a whole is measured in one of its own.

  @Test func aClientWithoutRequestsSleeps() async {
    await #expect(processExitsWith: .success) {
      let weather = try await WeatherServer.start()
      let client = try CurlClient()
      _ = try await client.get(weather.url("/bytes?size=100000"))
      let thread = try #require(ProcessFacts.thread(named: "dipper-http"))
      // It may still be on its way to sleep.
      try await eventually { ProcessFacts.isAsleep(thread) }
      let before = ProcessFacts.switchCount(thread)
      // The window in which it must not wake up.
      usleep(500_000)
      // One switch may be its going to sleep.
      #expect(ProcessFacts.switchCount(thread) - before <= 1)
      await client.shutDown()
      try await eventually { ProcessFacts.thread(named: "dipper-http") == nil }
    }
  }

  @Test(.disabled(if: ProcessFacts.isSanitized, "a sanitizer's malloc keeps what it has"))
  func manyTransfersLeaveNoMemoryBehind() async {
    await #expect(processExitsWith: .success) {
      let weather = try await WeatherServer.start()
      let client = try CurlClient()
      let url = weather.url("/bytes?size=4000000")
      _ = try await client.perform(.get(url), receiver: Collector(keepsBody: false))
      let before = ProcessFacts.residentSize
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<64 {
          group.addTask {
            let receiver = Collector(keepsBody: false)
            _ = try await client.perform(.get(url), receiver: receiver)
          }
        }
        try await group.waitForAll()
      }
      let peak = ProcessFacts.peakResidentSize - before
      #expect(peak < 24 << 20)
      // Once the burst has been over for a second.
      try await eventually { ProcessFacts.residentSize - before < 3 << 20 }
    }
  }
}

/// Waits until `condition` holds, for 10 seconds at most.
func eventually(_ condition: () -> Bool) async throws {
  let deadline = soon(.seconds(60))
  while !condition() {
    try #require(SystemClock().now < deadline)
    try await Task.sleep(for: .milliseconds(1))
  }
}
