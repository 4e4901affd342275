import Testing

@testable import Daemon

@Suite
struct LifecycleMachineTests {
  @Test
  func beforeAnythingIsMountedItEndsAtOnce() {
    var machine = LifecycleMachine()
    #expect(machine.stopRequested() == .end)
  }

  @Test
  func aStopWhileMountingIsRemembered() {
    var machine = LifecycleMachine()
    machine.mountStarted()
    #expect(machine.stopRequested() == .wait)
    #expect(machine.mounted() == .leave)
    #expect(machine.stopRequested() == .force)
  }

  @Test
  func theFirstStopLeavesAndTheSecondForces() {
    var machine = LifecycleMachine()
    machine.mountStarted()
    #expect(machine.mounted() == .wait)
    #expect(machine.stopRequested() == .leave)
    #expect(machine.stopRequested() == .force)
    #expect(machine.stopRequested() == .force)
  }
}
