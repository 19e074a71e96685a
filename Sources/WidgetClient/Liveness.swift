import NIOCore
import WidgetProto
import WidgetTransport

/// The detection of a daemon that hangs or is stopped, for watches and providers' sessions. Such a
/// daemon keeps its connections, and accepts new ones, but sends nothing.
///
/// After `quietMax` without a frame, the client makes a small call on its connection. If nothing comes
/// within `answerMax`, the client treats the connection as lost: it delivers `disconnected` with
/// `ClientError.unresponsive`, and connects again. `reconnected`, or `connected` of a session, comes only
/// after an answer. The request that opens the stream wants an answer within `answerMax`, too.
public struct LivenessPolicy: Hashable, Sendable {
  /// The maximum time without a frame before the daemon is asked. Each question wakes the program
  /// and the daemon.
  public var quietMax: Duration
  /// The longest wait for an answer.
  public var answerMax: Duration

  public init(quietMax: Duration = .seconds(60), answerMax: Duration = .seconds(5)) {
    self.quietMax = quietMax
    self.answerMax = answerMax
  }

  /// For programs that are open for days: few wake-ups.
  public static var patient: LivenessPolicy { LivenessPolicy() }
  /// For programs that a person looks at.
  public static var attentive: LivenessPolicy { LivenessPolicy(quietMax: .seconds(15)) }
}

/// The state of the check of one connection. A value: times in, the next step out.
///
/// Any bytes count as an answer, so the daemon may refuse the question.
struct Liveness {
  /// The next action. `wait` and `ask` have the time of the next call of `step`.
  enum Step: Equatable {
    case wait(until: NIODeadline)
    /// Ask the daemon.
    case ask(until: NIODeadline)
    /// The daemon does not answer.
    case lost
  }

  let policy: LivenessPolicy
  private var heardAt: NIODeadline
  /// When the daemon was asked. Nil if it has answered.
  private var askedAt: NIODeadline?

  /// - Parameter now: When the stream was requested.
  init(_ policy: LivenessPolicy, at now: NIODeadline) {
    self.policy = policy
    heardAt = now
    askedAt = now
  }

  /// Notes that bytes have come.
  ///
  /// - Returns: The time of the next step, if it has changed to a later one that should be set now. Nil
  ///   while the present timer is early enough: it then finds a later time by `step`.
  mutating func heard(at now: NIODeadline) -> NIODeadline? {
    heardAt = now
    guard askedAt != nil else { return nil }
    askedAt = nil
    return now + TimeAmount(policy.quietMax)
  }

  /// Returns the step that is due.
  ///
  /// - Parameter isReading: Whether the program reads the socket. If it does not, the program
  ///   itself causes the silence.
  mutating func step(at now: NIODeadline, isReading: Bool) -> Step {
    guard isReading else {
      (heardAt, askedAt) = (now, nil)
      return .wait(until: now + TimeAmount(policy.quietMax))
    }
    if let askedAt {
      let end = askedAt + TimeAmount(policy.answerMax)
      return now < end ? .wait(until: end) : .lost
    }
    let quietEnd = heardAt + TimeAmount(policy.quietMax)
    guard now >= quietEnd else { return .wait(until: quietEnd) }
    askedAt = now
    return .ask(until: now + TimeAmount(policy.answerMax))
  }
}

/// Takes the answer to a question whose only purpose is an answer.
final class AnyAnswer: CallReceiver {
  func message(_ bytes: ByteBuffer) {}
  func finish(_ result: Result<ByteBuffer?, ClientError>) {}
}
