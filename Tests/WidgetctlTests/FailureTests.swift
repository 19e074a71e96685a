import ArgumentParser
import Glibc
import Testing
import WidgetClient
import WidgetExpression
import WidgetModel

@testable import widgetctl

struct FailureTests {
  private static func failure(
    _ code: StatusCode, _ reason: String, _ message: String = "Words.",
    violations: [FieldViolation] = []
  ) -> CommandFailure {
    CommandFailure(
      .status(
        RPCStatus(
          code: code, message: message,
          errorInfo: ErrorInfo(reason: reason, metadata: ["widget_id": "a"]),
          fieldViolations: violations)))
  }

  @Test func `the error for an unsupported family does not name the protocol's field`() {
    let violation = FieldViolation(
      field: "content_family",
      description: "Kind \"load\" does not support large; use one of: small.")
    let failure = Self.failure(
      .invalidArgument, "INVALID", "content_family: \(violation.description)",
      violations: [violation])
    #expect(failure.message == "kind \"load\" does not support large; use one of: small")
  }

  @Test func `the error for a call without an answer in time names the option for more time`() {
    for mayBeMade in [false, true] {
      let failure = CommandFailure(.deadlineExceeded(.seconds(1), mayBeMade: mayBeMade))
      #expect(failure.exit == .timedOut)
      #expect(failure.message.contains("; allow more time with --timeout"), "\(failure.message)")
      #expect(failure.message.contains("may still be made") == mayBeMade, "\(failure.message)")
    }
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)])
  func `the note of a pending change is JSON like an error, with the status of the signal`(
    signal: CInt, status: Int
  ) throws {
    let message = "the command ended before the daemon answered. The change may still be made"
    let text = PendingChanges.words(isJSON: true, signal: signal).description
    #expect(text.hasSuffix("}}\n") && text.split(separator: "\n").count == 1)
    let document = try JSONReader.value(of: text)
    #expect(
      document
        == .map(["error": .map(["exitCode": .int(Int64(status)), "message": .string(message)])]))
    let plain = PendingChanges.words(isJSON: false, signal: signal).description
    #expect(plain == "\nwidgetctl: \(message)\n")
    // A note that is made while the command runs has the same form.
    #expect(PendingChanges.text(message, isJSON: true, signal: signal) == text)
    #expect(PendingChanges.text(message, isJSON: false, signal: signal) == plain)
  }

  @Test func `a code without a message has words`() {
    let old = CommandFailure(.status(RPCStatus(code: .unimplemented, message: "")))
    #expect(
      old.message
        == "the daemon does not know this call (UNIMPLEMENTED); install the daemon and widgetctl "
        + "from one release")
    let denied = CommandFailure(.status(RPCStatus(code: .permissionDenied, message: "")))
    #expect(
      denied.message
        == "the daemon refuses this user (PERMISSION_DENIED); run as the daemon's user, or join the "
        + "group that its --client-group names")
  }

  @Test(arguments: StatusCode.allCases)
  func `every code without a message has a subject and a next step`(code: StatusCode) {
    let message = CommandFailure(.status(RPCStatus(code: code, message: ""))).message
    let parts = message.parts(between: " (\(code.name)); ")
    #expect(parts.count == 2 && parts.allSatisfy { !$0.isEmpty }, "\(message)")
    let subjects = ["the daemon", "the request", "the state", "a part", "a limit"]
    #expect(subjects.contains { message.hasPrefix($0) }, "\(message)")
  }

  @Test(
    arguments: [
      (EMFILE, "raise its limit with `ulimit -n`; `widgetctl doctor"),
      (ENFILE, "end programs that have many open files, and try again; `widgetctl doctor"),
      (ENOMEM, "end programs that need much memory, and try again; `widgetctl doctor"),
      (ECONNRESET, ": Connection reset by peer; `widgetctl doctor"),
      (0, ": the connection failed for an unknown reason; `widgetctl doctor"),
    ] as [(Int32, String)])
  func `a failed connection has the next step for its reason`(errno: Int32, words: String) {
    let failure = ConnectFailure.other(errno: errno, description: "raw")
    let message = CommandFailure(.unavailable(failure, socketPath: "/s")).message
    #expect(message.contains(words) && !message.contains("raw"), "\(message)")
  }

  @Test func `a failed connection has no number of an error`() {
    let failure = ConnectFailure.other(
      errno: 104, description: "connect(descriptor:addr:size:): Connection reset (errno: 104)")
    let message = CommandFailure(.unavailable(failure, socketPath: "/s")).message
    #expect(message.contains(": Connection reset by peer; `widgetctl doctor"), "\(message)")
    #expect(
      "\(failure)" == "Connection reset by peer; check that widgetd listens there, and try again")
    #expect(!message.contains("104") && !message.contains("descriptor"), "\(message)")
  }

  @Test func `the error for a missing kind names the command that lists kinds`() {
    let failure = CommandFailure(
      .status(
        RPCStatus(
          code: .notFound, message: "There is no kind \"clok\". `widgetctl kinds` lists all kinds.",
          errorInfo: ErrorInfo(reason: "KIND_NOT_FOUND", metadata: ["kind": "clok"]))))
    #expect(failure.message == "there is no kind \"clok\"; `widgetctl kinds` lists them")
  }

  @Test(
    arguments: [
      (.notFound, 3), (.alreadyExists, 4), (.failedPrecondition, 5), (.aborted, 5),
      (.permissionDenied, 6), (.unavailable, 7), (.deadlineExceeded, 8), (.resourceExhausted, 9),
      (.invalidArgument, 10), (.outOfRange, 10), (.internalError, 1),
    ] as [(StatusCode, Int32)])
  func `every kind of refusal has its exit status`(_ code: StatusCode, status: Int32) {
    #expect(Self.failure(code, "X").exit.rawValue == status)
  }

  @Test(
    arguments: [
      (.unavailable(.refused, socketPath: "/s"), 7),
      (.unavailable(.permissionDenied, socketPath: "/s"), 6),
      (.socketNotFound(tried: ["/s"]), 7), (.connectionLost(socketPath: "/s"), 7),
      (.unresponsive(socketPath: "/s", answerMax: .seconds(5)), 7),
      (.deadlineExceeded(.seconds(1)), 8), (.protocolViolation("x"), 1),
      (.wire(.tooDeep(limit: 56)), 9), (.wire(.budgetExceeded(limitBytes: 1)), 9),
      (.wire(.nulInString(path: "x")), 1),
    ] as [(ClientError, Int32)])
  func `every loss of the daemon has its exit status`(_ error: ClientError, status: Int32) {
    #expect(ExitStatus(error).rawValue == status)
  }

  @Test(arguments: [("/", "a directory"), ("/dev/null", "a special file")])
  func `a file that is not a socket is named by its type`(_ path: String, kind: String) {
    let failure = CommandFailure(.unavailable(.refused, socketPath: path))
    #expect(failure.exit == .unavailable)
    #expect(failure.message.hasPrefix("\(path) is \(kind), not a socket;"))
  }

  @Test(
    arguments: [
      (.unavailable(.noSuchFile, socketPath: "/s"), "its socket? `widgetctl doctor --socket /s` "),
      (.unavailable(.refused, socketPath: "/s"), "; `widgetctl doctor --socket /s` "),
      (.connectionLost(socketPath: "/s"), "; `widgetctl doctor --socket /s` "),
      (
        .unresponsive(socketPath: "/s", answerMax: .seconds(5)), "; `widgetctl doctor --socket /s` "
      ),
      (.socketNotFound(tried: ["/s"]), "; `widgetctl doctor` "),
      (.deadlineExceeded(.seconds(1)), "; `widgetctl doctor` "),
    ] as [(ClientError, String)])
  func `an unreachable daemon's error names widgetctl doctor`(_ error: ClientError, words: String) {
    let message = CommandFailure(error).message
    #expect(message.contains(words + "finds out what is wrong"), "\(message)")
  }

  @Test func `all exit statuses differ, and all are explained`() {
    #expect(Set(ExitStatus.allCases.map(\.meaning)).count == ExitStatus.allCases.count)
    for status in ExitStatus.allCases {
      #expect(Widgetctl.helpMessage(columns: 200).contains("\(status.rawValue)  \(status.meaning)"))
    }
  }

  @Test func `an error names the command that helps`() {
    #expect(
      Self.failure(.notFound, "WIDGET_NOT_FOUND").message
        == "there is no widget \"a\"; `widgetctl ls` lists them")
    #expect(Self.failure(.failedPrecondition, "WIDGET_DISABLED").message.contains("enable a"))
    #expect(Self.failure(.internalError, "ELSE").message == "Words")
  }

  @Test func `a field violation is printed once`() {
    let violation = FieldViolation(field: "widget.id", description: "Too long.")
    #expect(
      Self.failure(.invalidArgument, "X", "widget.id: Too long.", violations: [violation]).message
        == "widget.id: Too long")
    #expect(
      Self.failure(.invalidArgument, "X", "Bad.", violations: [violation]).message
        == "Bad.\n  widget.id: Too long")
  }

  @Test func `as JSON an error has every detail from the daemon`() {
    #expect(
      JSONWriter.compact(Self.failure(.notFound, "WIDGET_NOT_FOUND").document)
        == #"{"error":{"code":"NOT_FOUND","exitCode":3,"message":"there is no widget \"a\"; "#
        + #"`widgetctl ls` lists them","metadata":{"widget_id":"a"},"reason":"WIDGET_NOT_FOUND"}}"#)
  }

  @Test func `as JSON a missing widget of a list has its id and the reason`() {
    let failure = FollowOptions.failure(forMissing: Samples.id("cpus"), among: ["cpu"])
    #expect(
      JSONWriter.compact(failure.document)
        == #"{"error":{"code":"NOT_FOUND","exitCode":3,"message":"there is no widget \"cpus\"; "#
        + #"did you mean \"cpu\"?","metadata":{"widget_id":"cpus"},"reason":"WIDGET_NOT_FOUND"}}"#)
  }

  @Test(
    arguments: [(.table, false), (.yaml, false), (.json, true), (.jsonl, true)]
      as [(OutputFormat, Bool)])
  func `errors are JSON with the formats of JSON`(format: OutputFormat, isJSON: Bool) {
    #expect(Printer(format: format, painter: Samples.plain, width: nil).writesJSON == isJSON)
  }

  @Test func `as JSON an error has the delay before a retry`() {
    let failure = CommandFailure(
      .status(
        RPCStatus(
          code: .resourceExhausted, message: "Kind \"cpu\" has no refreshes left. Retry later.",
          errorInfo: ErrorInfo(reason: "REFRESH_BUDGET_EXHAUSTED", metadata: ["kind": "cpu"]),
          retryDelay: .milliseconds(5_250))))
    #expect(
      JSONWriter.compact(failure.document)
        == #"{"error":{"code":"RESOURCE_EXHAUSTED","exitCode":9,"message":"Kind \"cpu\" has no "#
        + #"refreshes left. Retry later; the next refresh is possible in 5 s","#
        + #""metadata":{"kind":"cpu"},"reason":"REFRESH_BUDGET_EXHAUSTED","retryDelay":"5.25s"}}"#)
  }

  @Test func `a value is printed raw, and a missing one is an error`() throws {
    let (document, id) = (Samples.widget.document(), Samples.widget.id)
    #expect(try GetCommand.text(of: "data.text", in: document, id: id, escapes: false) == "12:00")
    #expect(try GetCommand.text(of: "data.n", in: document, id: id, escapes: false) == "1")
    #expect(
      try GetCommand.text(of: "labels", in: document, id: id, escapes: false) == #"{"panel":"top"}"#
    )
    #expect(
      try GetCommand.text(of: "create_time", in: document, id: id, escapes: false)
        == "1970-01-01T00:16:40Z")
    #expect(try GetCommand.text(of: "error", in: document, id: id, escapes: false) == "")
    let failure = #expect(throws: CommandFailure.self) {
      try GetCommand.text(of: "data.gone", in: document, id: id, escapes: false)
    }
    #expect(failure?.exit == .notFound)
  }

  @Test(arguments: OutputFormat.allCases)
  func `a field that the widget lacks is an error in each format`(format: OutputFormat) throws {
    let widget = Samples.widget
    func values(_ paths: [String]) throws -> [String] {
      try GetCommand.values(
        of: paths, in: widget.document(), of: widget, format: format, escapes: false)
    }
    #expect(try values(["data.n", "error"]) == (format == .table ? ["1", ""] : []))
    for path in ["data.nope", "parameters.nope", "labels.nope"] {
      let failure = #expect(throws: CommandFailure.self) { try values(["data.n", path]) }
      #expect(failure?.exit == .notFound)
    }
  }

  @Test(arguments: [
    ("timeline", "null"), ("stored_timeline", "null"), ("activity", "null"), ("content", "null"),
    ("stale", "false"), ("applySet", ""), ("apply_set", ""), ("error", ""),
  ])
  func `a field without a value is null, or empty if it is text`(
    path: String, text: String
  ) throws {
    let widget = Samples.widget
    #expect(
      try GetCommand.text(of: path, in: widget.document(), id: widget.id, escapes: false) == text)
  }

  @Test func `null is printed as JSON, and a label as text`() throws {
    var widget = Samples.widget
    widget.data = ["n": .null, "map": .map(["n": .null])]
    let document = widget.document()
    func text(_ path: String) throws -> String {
      try GetCommand.text(of: path, in: document, id: widget.id, escapes: false)
    }
    #expect(try text("data.n") == "null")
    #expect(try text("data.map.n") == "null")
    #expect(try text("labels.panel") == "top")
    let failure = #expect(throws: CommandFailure.self) { try text("labels.panl") }
    #expect(failure?.message.hasSuffix("has no labels.panl; did you mean labels.panel?") == true)
  }
}
