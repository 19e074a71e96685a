import Testing
import WidgetClient

@testable import widgetctl

struct FollowTests {
  @Test func `the end of --timeout says whether the daemon answers`() {
    let limit = Duration.seconds(3)
    let silent = ClientError.unresponsive(socketPath: "/s", answerMax: .seconds(1))
    let failures = [nil, silent].map { FollowOptions.timedOut(after: limit, $0) }
    #expect(failures.allSatisfy { $0.exit == .timedOut })
    #expect(failures[0].message == "not done within 3s; allow more with --timeout")
    #expect(failures[1].message.hasPrefix("not done within 3s: the daemon at /s does not answer"))
    #expect(failures[1].message.hasSuffix("doctor --socket /s` finds out what is wrong"))
  }

  @Test func `a short time says nothing about the daemon`() {
    let silent = ClientError.unresponsive(socketPath: "/s", answerMax: .microseconds(500))
    let failure = FollowOptions.timedOut(after: .milliseconds(1), silent)
    #expect(failure.message == "not done within 0.001s; allow more with --timeout")
    let away = ClientError.unavailable(.refused, socketPath: "/s")
    #expect(FollowOptions.timedOut(after: .milliseconds(1), away).message != failure.message)
  }
}
