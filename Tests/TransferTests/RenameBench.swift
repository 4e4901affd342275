import Core
import Simulation
import Support
import Testing

@testable import Transfer

/// A bucket with a tree of keys to rename, and a directory for journals.
struct RenameBench {
  static let rests = (0..<20).map { "\($0 % 3)/file \($0)" } + [""]
  static let source = ObjectKey("old/")
  static let target = ObjectKey("new/")
  let directory: TestDirectory
  let store: SimulatedStore
  let faults = FaultPlan()
  let environment: TransferEnvironment
  let time = SimulatedClock()
  /// The store's: whoever sleeps doesn't make requests late.
  let storeClock = SimulatedClock()

  init(
    _ rests: [String] = rests,
    behaviour: SimulatedStore.Behaviour = SimulatedStore.Behaviour()
  ) throws {
    directory = try TestDirectory()
    var behaviour = behaviour
    behaviour.partSizeMin = 1
    store = SimulatedStore(time: storeClock, faults: faults, behaviour: behaviour)
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 1 << 20)),
      timers: Timers(time: time),
      time: time,
      log: Log(level: .error)
    )
    for rest in rests {
      var put = PutRequest(key: ObjectKey("old/" + rest), userMetadata: ["of": "\(rest.count)"])
      put.tags = ["team": "film"]
      put.storageClass = "STANDARD_IA"
      store.place(put, Self.content(rest))
    }
    store.place(PutRequest(key: ObjectKey("older/x")), .words(size: 10, seed: 1))
    store.forgetCalls()
  }

  /// Time goes by, for everybody.
  func wait(_ duration: Duration) {
    storeClock.advance(by: duration)
    time.advance(by: duration)
  }

  static func content(_ rest: String) -> SimulatedContent {
    .words(
      size: 100 + rest.utf8.count,
      seed: UInt64(rest.utf8.reduce(0) { $0 * 31 % 997 + Int($1) })
    )
  }

  var plan: RenamePlan {
    RenamePlan(
      .tree,
      from: Self.source,
      to: Self.target,
      of: "s3://simulated",
      journalDirectory: directory.path
    )
  }

  func rename() async -> TransferError? {
    do throws(TransferError) {
      try await Rename(plan, in: store, environment: environment).run()
      return nil
    } catch {
      return error
    }
  }

  var journals: [String] { get throws { try Rename.unfinished(in: directory.path) } }

  /// What the next mount does.
  func recover() async throws {
    for path in try journals {
      try await Rename.resume(path, like: plan, in: store, environment: environment)
    }
  }

  func keys(_ prefix: String) -> Set<String> {
    Set(
      store.keys.map(\.description).filter { $0.hasPrefix(prefix) }
        .map { String($0.dropFirst(prefix.count)) }
    )
  }

  /// All of it is at one place and nothing at the other.
  func expectWhole(_ comment: Comment, isAt prefixes: [String] = ["old/", "new/"]) throws {
    let (old, new) = (keys("old/"), keys("new/"))
    let place = old.isEmpty ? "new/" : "old/"
    #expect(old.isEmpty || new.isEmpty, comment)
    #expect(old.union(new) == Set(Self.rests), comment)
    #expect(prefixes.contains(place), comment)
    for rest in Self.rests {
      let key = ObjectKey(place + rest)
      #expect(
        store.bytes(at: key) == Self.content(rest).bytes(0..<(100 + rest.utf8.count)),
        comment
      )
      #expect(store.metadata(at: key)?.userMetadata == ["of": "\(rest.count)"], comment)
      #expect(store.metadata(at: key)?.storageClass == "STANDARD_IA", comment)
      #expect(store.tags(at: key) == ["team": "film"], comment)
    }
    #expect(store.metadata(at: ObjectKey("older/x")) != nil)
    #expect(try journals.isEmpty, comment)
  }
}
