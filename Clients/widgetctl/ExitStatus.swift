import Glibc
import WidgetClient

/// The exit codes of the process: the only table of them.
///
/// Scripts can rely on the numbers. `widgetctl --help` prints this table.
enum ExitStatus: Int32, CaseIterable, Error {
  case ok = 0
  case otherError = 1
  case usage = 2
  case notFound = 3
  case alreadyExists = 4
  case refused = 5
  case permissionDenied = 6
  case unavailable = 7
  case timedOut = 8
  case quotaExceeded = 9
  case invalidArgument = 10
  case actionFailed = 11
  case actionCancelled = 12

  /// The meaning, for the help text.
  var meaning: String {
    switch self {
    case .ok: "success"
    case .otherError: "any other error, such as a URL that cannot be fetched"
    case .usage: "wrong usage"
    case .notFound: "there is no such widget, node, kind, key, bundle, token, file or URL"
    case .alreadyExists: "the id or file already exists"
    case .refused: "refused: hidden, disabled, etag or kind mismatch, part of a bundle"
    case .permissionDenied: "permission denied"
    case .unavailable: "the daemon cannot be reached or is not serving"
    case .timedOut: "timeout (--timeout)"
    case .quotaExceeded: "a limit is exceeded, or a disk is full"
    case .invalidArgument: "a file, value or expression has a mistake, or an expression fails"
    case .actionFailed: "an action or a handler of the event has failed (`send --wait`)"
    case .actionCancelled: "an action of the event was cancelled (`send --wait`)"
    }
  }

  /// The table, with one line for each code.
  static let table = allCases.map { status in
    let number = String(status.rawValue)
    return String(repeating: " ", count: 4 - number.count) + "\(number)  \(status.meaning)"
  }.joined(separator: "\n")

  /// The switch is exhaustive, so that a new code does not compile until its status is decided.
  init(_ code: StatusCode) {
    self =
      switch code {
      case .ok: .ok
      case .notFound: .notFound
      case .alreadyExists: .alreadyExists
      case .failedPrecondition, .aborted: .refused
      case .permissionDenied, .unauthenticated: .permissionDenied
      case .unavailable: .unavailable
      case .deadlineExceeded: .timedOut
      case .resourceExhausted: .quotaExceeded
      case .invalidArgument, .outOfRange: .invalidArgument
      case .cancelled, .unknown, .unimplemented, .internalError, .dataLoss: .otherError
      }
  }

  /// The status for an error of the system about a file.
  init(errno: Int32) {
    self =
      switch errno {
      case ENOENT, ENOTDIR: .notFound
      case EACCES, EPERM, EROFS: .permissionDenied
      case ENOSPC, EDQUOT: .quotaExceeded
      default: .otherError
      }
  }

  init(_ error: ClientError) {
    self =
      switch error {
      case .status(let status) where status.isOfFullDisk: .quotaExceeded
      case .status(let status): ExitStatus(status.code)
      case .unavailable(.permissionDenied, _): .permissionDenied
      case .unavailable(.timedOut, _), .deadlineExceeded: .timedOut
      case .unavailable, .socketNotFound, .connectionLost, .unresponsive: .unavailable
      case .requestTooLong, .wire(.tooDeep), .wire(.budgetExceeded): .quotaExceeded
      case .cancelled, .closed, .protocolViolation, .wire: .otherError
      }
  }
}

extension RPCStatus {
  /// Whether the daemon cannot store a change or a file because its disk is full.
  fileprivate var isOfFullDisk: Bool {
    errorInfo?.reason == "STORAGE_FAILED" && errorInfo?.metadata["cause"] == "FULL"
  }
}
