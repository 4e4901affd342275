import Core
import LocalStore
import Simulation
import Support
import Testing

/// A store that the contract is checked against.
struct Conformer: Sendable, CustomTestStringConvertible {
  let name: String
  /// Makes a store for one claim, and the prefix for its keys.
  let makeSetting: @Sendable () async throws -> ObjectStoreContract.Setting

  var testDescription: String { name }

  init(
    _ name: String,
    makeSetting: @escaping @Sendable (Set<Deviation>) async throws -> ObjectStoreContract.Setting
  ) {
    self.name = name
    self.makeSetting = {
      try await makeSetting(Set((Deviation.known[name] ?? [:]).keys))
    }
  }

  /// The stores that need nothing but this process.
  static let embedded = [simulated, simulatedExtras, local]

  static let simulated = Conformer("simulated") { deviations in
    ObjectStoreContract.Setting(
      store: SimulatedStore(),
      prefix: "",
      deviations: deviations,
      context: RequestContext(deadline: .distantFuture)
    )
  }

  /// A simulated store that can do all that only some can.
  static let simulatedExtras = Conformer("simulated with extras") { deviations in
    var behaviour = SimulatedStore.Behaviour()
    behaviour.renamesNatively = true
    behaviour.tellsWhetherItRenames = false
    behaviour.replacesMetadataInPlace = true
    behaviour.setsTimes = true
    behaviour.tellsKeyStatus = true
    behaviour.removesDirectories = true
    behaviour.keepsChecksums = true
    return ObjectStoreContract.Setting(
      store: SimulatedStore(behaviour: behaviour),
      prefix: "",
      deviations: deviations,
      context: RequestContext(deadline: .distantFuture)
    )
  }

  static let local = Conformer("local") { deviations in
    let scratch = try TestDirectory()
    return ObjectStoreContract.Setting(
      // Whether writes reach the disk before the call returns can't be seen here, and takes time.
      store: LocalStore(directory: scratch.path, synchronizes: false),
      prefix: "",
      deviations: deviations,
      context: RequestContext(deadline: SystemClock().now + .seconds(600)),
      scratch: scratch
    )
  }
}
