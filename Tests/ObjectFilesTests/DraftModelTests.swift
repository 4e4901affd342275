import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// Random programs on a draft, compared with a plain array of bytes: writes, cuts, holes, copies, stores that
/// fail, crashes and remounts, and writes while it is being published.
@Suite struct DraftModelTests {
  private static let partSize = 4 << 10

  private final class Run {
    let key = ObjectKey("file")
    let source: ObjectVersion
    let sourceBytes = SimulatedContent.words(size: 24 << 10, seed: 11).allBytes
    let faults = FaultPlan()
    var random: Seeded
    var bench: DraftBench
    var draft: Draft
    var model: [UInt8]
    /// What was done, for whoever repeats it.
    var history: [String] = []

    init(seed: UInt64) throws {
      random = Seeded(seed)
      var behaviour = SimulatedStore.Behaviour()
      behaviour.partSizeMin = 1 << 10
      behaviour.keepsChecksums = true
      bench = try DraftBench(settings: Self.settings, behaviour: behaviour, faults: faults)
      source = bench.store.place(ObjectKey("source"), .bytes(sourceBytes))
      if Bool.random(using: &random) {
        model =
          SimulatedContent.words(size: Int.random(in: 0...30_000, using: &random), seed: 5)
          .allBytes
        bench.store.place(key, .bytes(model))
        draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
      } else {
        model = []
        draft = try bench.drafts.create(key)
      }
    }

    static var settings: Drafts.Settings {
      var settings = DraftBench.settings
      settings.partSize = partSize
      settings.writeBackDelay = .seconds(3600)
      return settings
    }

    func replace(_ offset: Int, _ bytes: [UInt8]) {
      if offset + bytes.count > model.count {
        model += [UInt8](repeating: 0, count: offset + bytes.count - model.count)
      }
      model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    func write() throws {
      let isAtEnd = Int.random(in: 0..<3, using: &random) == 0
      let offset = isAtEnd ? model.count : Int.random(in: 0...model.count + 500, using: &random)
      let count = Int.random(in: 1...6000, using: &random)
      let byte = UInt8.random(in: 1...255, using: &random)
      let bytes = (0..<count).map { byte &+ UInt8(truncatingIfNeeded: $0) }
      history.append("write \(count) bytes from \(byte) on at \(offset)")
      try draft.write(bytes, at: offset)
      replace(offset, bytes)
    }

    func resize() throws {
      let size = Int.random(in: 0...model.count + 3000, using: &random)
      history.append("cut or grow from \(model.count) to \(size)")
      try draft.resize(to: size)
      if size < model.count {
        model.removeSubrange(size...)
      } else {
        model += [UInt8](repeating: 0, count: size - model.count)
      }
    }

    func punch() throws {
      let offset = Int.random(in: 0...model.count, using: &random)
      let range = ByteRange(offset: offset, count: Int.random(in: 0...5000, using: &random))
      history.append("punch \(range)")
      try draft.punch(range)
      let inside = range.clamped(to: ByteRange(0, model.count))
      if !inside.isEmpty {
        replace(inside.lowerBound, [UInt8](repeating: 0, count: inside.count))
      }
    }

    func copy() throws {
      let from = Int.random(in: 0..<sourceBytes.count, using: &random)
      let count = Int.random(in: 1...sourceBytes.count - from, using: &random)
      let offset = Int.random(in: 0...model.count, using: &random)
      history.append("copy \(count) from \(from) to \(offset)")
      try draft.copy(from: source, ByteRange(offset: from, count: count), to: offset)
      replace(offset, Array(sourceBytes[from..<from + count]))
    }

    func publish() async throws {
      if Int.random(in: 0..<4, using: &random) == 0 {
        let number = Int.random(in: 1...6, using: &random)
        history.append("request \(number) fails")
        faults.add(Fault(.fail(.unreachable), callNumber: number))
      }
      history.append("publish")
      let outcome = await draft.publish()
      faults.clear()
      if case .success = outcome { #expect(bench.store.bytes(at: key) == model) }
    }

    /// Writes come while it is published; what is stored then is some state, and the next is the last one.
    func publishAndWrite() async throws {
      history.append("publish while the next three are written")
      let publishing = Task { [draft] in await draft.publish() }
      for _ in 0..<3 {
        try write()
        await Task.yield()
      }
      _ = await publishing.value
      _ = try await draft.publish().get()
      #expect(bench.store.bytes(at: key) == model)
    }

    /// The process is killed after the file was closed, and there is a next one.
    func crash() async throws {
      history.append("close, and be killed")
      _ = try await draft.flush().get()
      let wasDirty = draft.isDirty
      // The dead send nothing: parts that are on their way come first.
      let store = bench.store
      #expect(await eventually { store.calls.allSatisfy { $0.outcome != nil } })
      bench = try bench.remounted(Self.settings)
      let recovered = try await bench.drafts.recover()
      #expect(recovered.count == (wasDirty ? 1 : 0))
      if let found = recovered.first {
        draft = found
        // It is being published; the next crash must find nobody who goes on after it.
        _ = try await draft.publish().get()
        #expect(bench.store.bytes(at: key) == model)
      } else {
        draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
      }
    }

    func check(_ what: Comment) async throws {
      #expect(draft.size == model.count, what)
      #expect(try await draft.bytes(ByteRange(0, model.count + 10)) == model, what)
    }
  }

  @Test(arguments: Seeds.usually(24))
  func aDraftIsWhatWasWrittenWhateverHappens(seed: UInt64) async throws {
    let run = try Run(seed: seed)
    func program() -> Comment {
      "seed \(seed) \(Seeds.program(seed, of: "DraftModelTests", run.history))"
    }
    for _ in 0..<40 {
      do {
        switch Int.random(in: 0..<14, using: &run.random) {
        case 0...4: try run.write()
        case 5: try run.resize()
        case 6: try run.punch()
        case 7: try run.copy()
        case 8...9: try await run.publish()
        case 10: try await run.publishAndWrite()
        case 11: try await run.crash()
        default: break
        }
        try await run.check(program())
      } catch {
        Issue.record(error, program())
        return
      }
    }
    let left = await run.bench.drafts.finish()
    #expect(left.isEmpty, "\(left.map(\.failure))\n\(program())")
    #expect(run.bench.store.bytes(at: run.key) == run.model, program())
    #expect(await eventually { run.bench.store.openUploads.isEmpty })
  }
}
