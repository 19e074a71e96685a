import NIOCore
import Testing

@testable import WidgetClient

/// The check of a connection, as a value: times in, steps out.
@Suite struct LivenessTests {
  private let policy = LivenessPolicy(quietMax: .seconds(60), answerMax: .seconds(5))

  private func at(_ seconds: UInt64) -> NIODeadline { .uptimeNanoseconds(seconds * 1_000_000_000) }

  @Test func `a stream that is never opened is lost after the time for an answer`() {
    var liveness = Liveness(policy, at: at(100))
    #expect(liveness.step(at: at(104), isReading: true) == .wait(until: at(105)))
    #expect(liveness.step(at: at(105), isReading: true) == .lost)
  }

  @Test func `after a long silence the daemon is asked, and lost if it does not answer`() {
    var liveness = Liveness(policy, at: at(0))
    #expect(liveness.heard(at: at(1)) == at(61))
    #expect(liveness.step(at: at(61), isReading: true) == .ask(until: at(66)))
    #expect(liveness.step(at: at(66), isReading: true) == .lost)
  }

  @Test func `an answer begins another silence, without a wake-up between`() {
    var liveness = Liveness(policy, at: at(0))
    _ = liveness.heard(at: at(1))
    #expect(liveness.step(at: at(61), isReading: true) == .ask(until: at(66)))
    #expect(liveness.heard(at: at(62)) == at(122))
    #expect(liveness.step(at: at(122), isReading: true) == .ask(until: at(127)))
  }

  @Test func `frames move the question, and do not touch the timer`() {
    var liveness = Liveness(policy, at: at(0))
    _ = liveness.heard(at: at(1))
    #expect(liveness.heard(at: at(30)) == nil)
    #expect(liveness.step(at: at(61), isReading: true) == .wait(until: at(90)))
  }

  @Test func `a reader that does not read does not count the daemon as silent`() {
    var liveness = Liveness(policy, at: at(0))
    _ = liveness.heard(at: at(1))
    #expect(liveness.step(at: at(61), isReading: false) == .wait(until: at(121)))
    #expect(liveness.step(at: at(121), isReading: true) == .ask(until: at(126)))
    // A stopped reader that goes on gets its time.
    #expect(liveness.step(at: at(126), isReading: false) == .wait(until: at(186)))
  }
}
