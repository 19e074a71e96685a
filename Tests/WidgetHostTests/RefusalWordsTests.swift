import Testing
import WidgetClient

@testable import WidgetHost

/// The words of the daemon's refusals in the log and in the state of bundles.
struct RefusalWordsTests {
  private func status(
    _ message: String, violations: [FieldViolation] = [], delay: Duration? = nil
  ) -> RPCStatus {
    var status = RPCStatus(
      code: .alreadyExists, message: message, errorInfo: ErrorInfo(reason: "KIND_CLAIMED"))
    status.fieldViolations = violations
    status.retryDelay = delay
    return status
  }

  @Test func `a refusal has the words of the daemon, without its code and reason`() {
    let claimed = status("Kind \"lamp\" belongs to bundle lamps. Choose another name.")
    let failure = Failure(ClientError.status(claimed))
    #expect(failure.message == "Kind \"lamp\" belongs to bundle lamps. Choose another name")
    #expect(failure.code == "ALREADY_EXISTS")
  }

  @Test func `a refusal has each mistake once, and the time of the next attempt`() {
    let violation = FieldViolation(field: "kinds[0]", description: "has no name")
    let once = ClientError.status(
      status("kinds[0]: has no name", violations: [violation], delay: .seconds(2)))
    #expect(once.words == "kinds[0]: has no name; try again in 2.0 seconds")
    #expect(once.wordsOfCause == "kinds[0]: has no name")
    let other = ClientError.status(status("There is a mistake.", violations: [violation]))
    #expect(other.words == "There is a mistake; kinds[0]: has no name")
  }

  @Test func `a failure of the host does not have the time, which changes with each answer`() {
    let failures = [2, 3].map { seconds in
      Failure(ClientError.status(status("no room for kinds", delay: .seconds(seconds))))
    }
    #expect(failures.map(\.message) == ["no room for kinds", "no room for kinds"])
    #expect(failures.allSatisfy { $0.isTransient })
  }

  @Test func `a refusal without words has the reason`() {
    #expect(ClientError.status(status("")).words == "the daemon refused the call (KIND_CLAIMED)")
  }

  @Test func `a change of a widget that has changed meanwhile is no refusal of changes`() {
    let changed = RPCStatus(
      code: .aborted, message: "Widget \"w\" has changed.",
      errorInfo: ErrorInfo(reason: "ETAG_MISMATCH"))
    let failure = Failure(ClientError.status(changed))
    #expect(failure.isETagMismatch && failure.isTransient && failure.refusal == nil)
  }

  @Test func `a lost connection has the words of the client, and its cause no next step`() {
    let lost = ClientError.connectionLost(socketPath: "/s")
    #expect(lost.words == "\(lost)")
    #expect(lost.wordsOfCause == "the connection to the daemon at /s was lost")
  }
}
