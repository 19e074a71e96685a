import Glibc
import WidgetClient
import WidgetModel

extension ClientError {
  /// The loss of a connection, in a few words.
  var loss: String {
    switch self {
    case .unresponsive: "widgetd does not answer"
    case _ where isOfForeignServer: "another program answers at widgetd's socket"
    default: "widgetd is away"
    }
  }

  /// Whether the answer does not follow the protocol: another program probably listens at the
  /// socket.
  var isOfForeignServer: Bool {
    switch self {
    case .protocolViolation, .wire: true
    // Another server of ttrpc does not have widgetd's services.
    case .status(let status): status.code == .unimplemented && reason == nil
    default: false
    }
  }

  /// The loss for viewers, which add its time: `widgetd has not answered since 12:00`.
  var timedLoss: String {
    switch self {
    case .unresponsive: "widgetd has not answered"
    case _ where isOfForeignServer: loss
    default: "widgetd has been away"
    }
  }

  /// The reason why there is no connection, and the next step. Nil if a connection was lost: this
  /// error is about a call, and viewers have made none.
  var absence: String? {
    switch self {
    case .unavailable, .socketNotFound, .unresponsive: CommandFailure(self).message
    case _ where isOfForeignServer: "\(loss): \(CommandFailure(self).message)"
    default: nil
    }
  }
}

/// A failed command: the text for standard error, and the exit status.
struct CommandFailure: Error, Hashable {
  private(set) var exit: ExitStatus
  /// The problem and the next step, without "widgetctl:" and without a final period.
  private(set) var message: String
  /// The canonical code, if the daemon answered with one.
  var code: String?
  /// The daemon's stable reason.
  var reason: String?
  var metadata: [String: String] = [:]
  var violations: [FieldViolation] = []
  /// The time before a retry can succeed, if the daemon knows it.
  var retryDelay: Duration?

  init(_ exit: ExitStatus, _ message: String) {
    self.exit = exit
    self.message = message
  }

  /// Several failures as one, with all messages and the exit status of the first; nil for none.
  init?(joining failures: [CommandFailure]) {
    guard let first = failures.first else { return nil }
    self = first
    guard failures.count > 1 else { return }
    message = failures.map(\.message).joined(separator: "\n")
    violations = failures.flatMap(\.violations)
  }

  /// The same failure with another exit status.
  func exiting(_ exit: ExitStatus) -> CommandFailure {
    var failure = self
    failure.exit = exit
    return failure
  }

  /// - Parameter socket: the value of `--socket`, for the command of the next step.
  init(_ error: ClientError, socket: String? = nil) {
    exit = ExitStatus(error)
    guard let status = error.status else {
      if case .unavailable(_, let path) = error, let kind = SocketFile.kindOfOther(path) {
        message =
          "\(path) is \(kind), not a socket; name the daemon's with --socket or "
          + "$\(SocketPath.variable)"
      } else if case .unavailable(.other(errno: EPROTOTYPE, _), let path) = error {
        message =
          "\(path) is not a stream socket, so it is not the daemon's; name that with --socket or "
          + "$\(SocketPath.variable)"
      } else {
        message = CommandFailure.words(for: error, socket: socket)
      }
      return
    }
    code = status.code.name
    reason = error.reason
    metadata = status.errorInfo?.metadata ?? [:]
    violations = status.fieldViolations
    retryDelay = status.retryDelay
    message = CommandFailure.words(for: status, reason: error.reason ?? "")
  }

  /// A kind that neither is registered nor has widgets.
  static func missingKind(_ kind: KindName, among names: [String]) -> CommandFailure {
    var failure = CommandFailure(
      .notFound, "there is no kind \"\(kind)\"; `widgetctl kinds` lists them")
    (failure.code, failure.reason) = (StatusCode.notFound.name, "KIND_NOT_FOUND")
    failure.metadata = ["kind": kind.rawValue]
    return failure.suggesting(kind.rawValue.closest(among: names))
  }

  /// The same, with the name that was probably meant.
  func suggesting(_ name: String?) -> CommandFailure {
    guard let name else { return self }
    var failure = self
    let question = "did you mean \"\(name)\"?"
    // The question comes before the command that lists all names.
    if let end = message.firstIndex(of: ";") {
      failure.message = message[..<end] + "; \(question)" + message[message.index(after: end)...]
    } else {
      failure.message += "; \(question)"
    }
    return failure
  }

  /// The same failure with a hint at the end of its message. It replaces the question for another
  /// name.
  func adding(_ hint: String) -> CommandFailure {
    var text = message
    if text.hasSuffix("\"?"), let start = text.ranges(of: "; did you mean ").last {
      text = String(text[..<start.lowerBound])
    }
    while text.hasSuffix(".") { text.removeLast() }
    return saying("\(text); \(hint)")
  }

  /// The same failure with another message, without its final period.
  func saying(_ text: String) -> CommandFailure {
    var failure = self
    failure.message = text
    while failure.message.hasSuffix(".") { failure.message.removeLast() }
    return failure
  }

  /// The problem, and the command that examines it further.
  private static func words(for error: ClientError, socket: String?) -> String {
    var text = "\(error)"
    if case .deadlineExceeded = error {
      text = text.replacing("; allow more time", with: "; allow more time with --timeout")
    }
    guard let doctor = doctor(for: error, socket: socket) else { return text }
    // One next step is enough.
    if text.hasSuffix(ConnectFailure.generalStep) {
      let problem = text.dropLast(ConnectFailure.generalStep.count)
      return "\(problem); `\(doctor)` finds out what is wrong"
    }
    return text + (text.hasSuffix("?") ? " " : "; ") + "`\(doctor)` finds out what is wrong"
  }

  /// The command that examines a failed connection further. Nil for any other failure.
  private static func doctor(for error: ClientError, socket: String?) -> String? {
    switch error {
    case .unavailable(_, let path), .connectionLost(let path, _), .unresponsive(let path, _):
      Doctor.command(forSocket: path)
    case .socketNotFound, .protocolViolation, .deadlineExceeded:
      SocketChoice.ofProcess(explicit: socket).command("doctor")
    case .status, .cancelled, .closed, .wire, .requestTooLong: nil
    }
  }

  /// The daemon's message names methods. Here, the next step is a command.
  private static func words(for status: RPCStatus, reason: String) -> String {
    let id = status.errorInfo?.metadata["widget_id"] ?? ""
    switch reason {
    case "WIDGET_NOT_FOUND" where !id.isEmpty:
      return "there is no widget \"\(id)\"; `widgetctl ls` lists them"
    case "INVALID_FIELD":
      if let path = status.unknownReadMaskPath, ReadMask.Field(rawValue: path) != nil {
        return
          "the daemon does not know the field \"\(path)\", because it is older than widgetctl; "
          + "update and restart it"
      }
    case "BUNDLE_HOST_MISSING":
      return BundleHost.notConnected()
    case "BUNDLE_HOST_SILENT":
      let metadata = status.errorInfo?.metadata ?? [:]
      if let pid = metadata["pid"].flatMap({ UInt32($0) }),
        let since = metadata["since"].flatMap({ RFC3339.timestamp($0) })
      {
        return SilentProcess(ProviderSilence(since: since, pid: pid)).words("widgetd-host")
      }
    case "KIND_NOT_FOUND":
      if let kind = status.errorInfo?.metadata["kind"], !kind.isEmpty {
        return "there is no kind \"\(kind)\"; `widgetctl kinds` lists them"
      }
    case "WIDGET_EXISTS" where !id.isEmpty:
      return "widget \"\(id)\" already exists; choose another id, or change the widget with "
        + "`widgetctl set \(id)`"
    case "ETAG_MISMATCH" where !id.isEmpty:
      return "widget \"\(id)\" has changed since its etag was read; read it again with "
        + "`widgetctl get \(id) -o json`"
    case "ACTIVITY_ENDED" where !id.isEmpty:
      return "activity \"\(id)\" has ended and takes no more changes; start another one with "
        + "`widgetctl activity start`, or remove it with `widgetctl rm \(id)`"
    case "NOT_AN_ACTIVITY" where !id.isEmpty:
      return "widget \"\(id)\" is not an activity; change it with `widgetctl set \(id)`, or "
        + "remove it with `widgetctl rm \(id)`"
    case "WIDGET_HIDDEN" where !id.isEmpty:
      return "widget \"\(id)\" is hidden and takes no events; show it with "
        + "`widgetctl show \(id)`, or send with --force"
    case "WIDGET_DISABLED" where !id.isEmpty:
      return "widget \"\(id)\" is disabled and takes no events; enable it with "
        + "`widgetctl enable \(id)`, or send with --force"
    case "NODE_NOT_FOUND" where !id.isEmpty:
      let node = status.errorInfo?.metadata["node_id"] ?? ""
      return
        "widget \"\(id)\" shows no node \"\(node)\" now; `widgetctl view \(id) --nodes` lists them"
    case "REFRESH_BUDGET_EXHAUSTED":
      guard let delay = status.retryDelay else { break }
      let text = status.message.hasSuffix(".") ? String(status.message.dropLast()) : status.message
      let seconds = max(1, delay.components.seconds)
      let time = seconds < 120 ? "\(seconds) s" : "\((seconds + 59) / 60) min"
      return "\(text); the next refresh is possible in \(time)"
    default:
      break
    }
    // The field's name belongs to the protocol. Here, the family comes from an option or from the
    // widget. The description of an event that a kind does not take names both.
    if let violation = status.fieldViolations.first(where: {
      $0.field == "content_family" || $0.field == "name" && $0.description.hasPrefix("Widgets ")
    }) {
      var text = violation.description
      while text.hasSuffix(".") { text.removeLast() }
      return text.prefix(1).lowercased() + text.dropFirst()
    }
    var text = status.message.isEmpty ? words(forBare: status.code) : status.message
    for violation in status.fieldViolations {
      let line = "\(violation.field): \(violation.description)"
      if !text.contains(line) { text += "\n  \(line)" }
    }
    while text.hasSuffix(".") { text.removeLast() }
    return FieldWords.typed(text, of: status.fieldViolations)
  }

  /// The words for an answer that has only a code: the problem, and the next step.
  private static func words(forBare code: StatusCode) -> String {
    let (problem, step) =
      switch code {
      case .permissionDenied, .unauthenticated:
        (
          "the daemon refuses this user",
          "run as the daemon's user, or join the group that its --client-group names"
        )
      case .unavailable: ("the daemon does not serve this call now", "try again")
      case .deadlineExceeded:
        ("the daemon took too long", "try again, or allow more time with --timeout")
      case .resourceExhausted:
        ("a limit of the daemon is reached", "`widgetctl status` shows the limits")
      case .notFound:
        (
          "a part of the request does not exist",
          "`widgetctl ls` and `widgetctl kinds` list the names"
        )
      case .alreadyExists: ("a part of the request already exists", "choose another name")
      case .invalidArgument, .outOfRange:
        ("the request has a mistake", "check the arguments and the values")
      case .failedPrecondition, .aborted:
        ("the state of the daemon does not allow this now", "try again, or see `widgetctl status`")
      case .unimplemented:
        ("the daemon does not know this call", "install the daemon and widgetctl from one release")
      case .cancelled: ("the daemon has cancelled the call", "try again")
      case .ok, .unknown, .internalError, .dataLoss:
        ("the daemon has failed", "read the reason in its log")
      }
    return "\(problem) (\(code.name)); \(step)"
  }

  /// For standard error, with `-o json`.
  var document: Value {
    var error: ValueMap = [
      "exitCode": .int(Int64(exit.rawValue)), "message": .string(message),
    ]
    if let code { error["code"] = .string(code) }
    if let reason { error["reason"] = .string(reason) }
    if !metadata.isEmpty {
      error["metadata"] = .map(
        ValueMap(metadata.map { .init(key: $0.key, value: .string($0.value)) }))
    }
    if !violations.isEmpty {
      error["violations"] = .list(
        violations.map {
          .map(["field": .string($0.field), "description": .string($0.description)])
        })
    }
    if let retryDelay { error["retryDelay"] = .string(DurationSyntax.seconds(retryDelay)) }
    return .map(["error": .map(error)])
  }
}

extension ClientError {
  /// The path in the read mask of the request that the daemon does not know; nil for other errors.
  var unknownReadMaskPath: String? { status?.unknownReadMaskPath }
}

extension RPCStatus {
  fileprivate var unknownReadMaskPath: String? {
    guard let words = fieldViolations.first(where: { $0.field == "read_mask" })?.description,
      words.hasPrefix("\""), words.contains("is not a field of a widget")
    else { return nil }
    return String(words.dropFirst().prefix { $0 != "\"" })
  }
}
