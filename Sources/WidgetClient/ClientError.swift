#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
public import WidgetProto
public import WidgetTransport

/// The reason of a failed call or stream, for its caller.
public enum ClientError: Error, Hashable, Sendable {
  /// The daemon answered with an error.
  case status(RPCStatus)
  /// There is no connection to the daemon, and a new one failed. Nothing was sent.
  case unavailable(ConnectFailure, socketPath: String)
  /// No socket was found in any of the usual places.
  case socketNotFound(tried: [String])
  /// The connection ended before the answer came. With `mayBeMade`, the call was a change that may have
  /// been made. With a `requestID`, a retry is safe.
  case connectionLost(socketPath: String, mayBeMade: Bool = false)
  /// The daemon keeps the connection of a watch, but has sent nothing for `answerMax` after it was
  /// asked: it hangs, is stopped by a signal, or is overloaded.
  case unresponsive(socketPath: String, answerMax: Duration)
  /// The answer did not come in time. With `mayBeMade`, the call was a change that the daemon may still
  /// make.
  case deadlineExceeded(Duration, mayBeMade: Bool = false)
  /// The task that waited was cancelled.
  case cancelled
  /// The client was closed.
  case closed
  /// The daemon sent something that the protocol forbids. The connection was closed.
  case protocolViolation(String)
  /// The request has no encoding, or the answer cannot be decoded.
  case wire(WireError)
  /// The request is longer than a frame may be. Nothing was sent.
  case requestTooLong(FrameTooLong)

  /// The daemon's status, if the error is a status.
  public var status: RPCStatus? {
    if case .status(let status) = self { status } else { nil }
  }

  /// The stable reason in the daemon's status, if it is one of widgetd's own: `WIDGET_NOT_FOUND`.
  public var reason: String? {
    guard let info = status?.errorInfo, info.domain == ErrorInfo.widgetdDomain else { return nil }
    return info.reason
  }
}

extension ClientError {
  /// The cause of a lost connection, as far as a reader tells causes apart: failed attempts with the
  /// same cause are one.
  enum Cause: Hashable {
    case away
    case unresponsive
    case refusal(StatusCode)
    case other
  }

  var lossCause: Cause {
    switch self {
    case .unavailable, .socketNotFound, .connectionLost: .away
    case .unresponsive, .deadlineExceeded: .unresponsive
    // A daemon that starts or stops.
    case .status(let status) where status.code == .unavailable: .away
    case .status(let status): .refusal(status.code)
    case .cancelled, .closed, .protocolViolation, .wire, .requestTooLong: .other
    }
  }
}

/// The reason why no connection could be made.
public enum ConnectFailure: Hashable, Sendable {
  /// There is no such socket: the daemon never ran, or its directory is gone.
  case noSuchFile
  /// The socket exists but has no listener: the daemon has stopped.
  case refused
  /// The user may not use the socket.
  case permissionDenied
  /// The path is longer than 103 bytes. Linux has room for 107, but NIO makes the address, and
  /// allows only the length that all systems support
  /// (https://github.com/apple/swift-nio/issues/1770). The daemon has the same limit.
  case pathTooLong
  /// The daemon has more connections waiting than it can queue.
  case backlogFull
  /// The call took too long.
  case timedOut
  /// Any other error number of the system; 0 if there is none.
  case other(errno: Int32, description: String)

  /// The reason for an `errno` of connect(2).
  public init(errno code: Int32, description: String) {
    self =
      switch code {
      case ENOENT, ENOTDIR: .noSuchFile
      case ECONNREFUSED: .refused
      case EACCES, EPERM: .permissionDenied
      case ENAMETOOLONG: .pathTooLong
      case EAGAIN: .backlogFull
      case ETIMEDOUT: .timedOut
      default: .other(errno: code, description: description)
      }
  }

  /// Whether a later retry can succeed without another change.
  public var isTransient: Bool {
    switch self {
    case .noSuchFile, .refused, .backlogFull, .timedOut, .other: true
    case .permissionDenied, .pathTooLong: false
    }
  }
}

extension ClientError: CustomStringConvertible {
  /// The failure and the next step, in one line.
  public var description: String {
    switch self {
    case .status(let status):
      ClientError.describe(status)
    case .unavailable(let failure, let path):
      "cannot connect to the daemon at \(path): \(failure)"
    case .socketNotFound(let tried):
      "cannot find the daemon's socket; tried \(tried.joined(separator: ", "))."
        + " Start widgetd, or name its socket in $\(SocketPath.variable)"
    case .connectionLost(let path, let mayBeMade):
      "the connection to the daemon at \(path) was lost before it answered; try again"
        + (mayBeMade
          ? ". The change may have been made already; with a request id, it is made once" : "")
    case .unresponsive(let path, let answerMax):
      "the daemon at \(path) does not answer within \(answerMax): it hangs, is stopped, or is overloaded;"
        + " continue or restart it"
    case .deadlineExceeded(let timeout, let mayBeMade):
      "the daemon did not answer within \(timeout); allow more time"
        + (mayBeMade ? ". The change may still be made" : "")
    case .cancelled:
      "the call was cancelled"
    case .closed:
      "the client was closed; make a new one"
    case .protocolViolation(let what):
      "the daemon broke the protocol: \(what). Check that client and daemon fit together"
    case .wire(let error):
      "a message cannot be encoded or decoded: \(error)"
    case .requestTooLong(let error):
      "\(error); send less at a time"
    }
  }
}

extension ClientError {
  /// The error of a sent call, with the fact whether its change may be made.
  func of(_ method: RPCMethod) -> ClientError {
    switch self {
    case .connectionLost(let path, _):
      .connectionLost(socketPath: path, mayBeMade: method.mayChange)
    case .deadlineExceeded(let timeout, _):
      .deadlineExceeded(timeout, mayBeMade: method.mayChange)
    default: self
    }
  }

  /// The description without the next attempt, for a program that reconnects by itself.
  public var cause: String {
    switch self {
    case .status(var status):
      status.retryDelay = nil
      return ClientError.describe(status)
    case .connectionLost(let path, _):
      return "the connection to the daemon at \(path) was lost"
    default: return description
    }
  }

  /// The daemon's message, with its details.
  private static func describe(_ status: RPCStatus) -> String {
    var text = status.message.isEmpty ? "the daemon refused the call" : status.message
    let reason = status.errorInfo.map { ": \($0.reason)" } ?? ""
    text += " (\(status.code)\(reason))"
    for violation in status.fieldViolations {
      let detail = "\(violation.field): \(violation.description)"
      // The message of a single violation often is the violation.
      if !text.contains(detail) { text += "; \(detail)" }
    }
    if let delay = status.retryDelay { text += "; try again in \(delay)" }
    return text
  }
}

extension ConnectFailure: CustomStringConvertible {
  /// The failure and the next step.
  public var description: String {
    switch self {
    case .noSuchFile: "there is no such socket; is widgetd running, and is this its socket?"
    case .refused:
      "no program listens there: the daemon has ended, or this is not a socket; start widgetd"
    case .permissionDenied:
      "permission denied; run as the daemon's user, or join the group that its --client-group names"
    case .pathTooLong: "the path is too long for a socket (at most 103 bytes); use a shorter one"
    case .backlogFull: "the daemon has too many connections waiting; try again"
    case .timedOut: "it took too long; try again"
    case .other(errno: 0, _):
      "the connection failed for an unknown reason" + ConnectFailure.generalStep
    case .other(let errno, _):
      // The description of NIO has the call's signature and the number.
      String(cString: strerror(errno)) + ConnectFailure.step(after: errno)
    }
  }

  /// The next step after a failure of the system without a step of its own.
  public static let generalStep = "; check that widgetd listens there, and try again"

  private static func step(after errno: Int32) -> String {
    switch errno {
    case EMFILE: "; close files of this program, or raise its limit with `ulimit -n`"
    case ENFILE: "; end programs that have many open files, and try again"
    case ENOMEM, ENOBUFS: "; end programs that need much memory, and try again"
    default: generalStep
    }
  }
}
