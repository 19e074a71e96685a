import WidgetBundle
import WidgetModel

/// A trigger that fired, and the progress of its steps.
///
/// A stack of actions: the trigger's own steps at the bottom, and on top the action that is under way.
struct Run: Sendable {
  struct Frame: Sendable {
    enum Phase: Hashable, Sendable { case delayed, steps, success, failure, otherwise }

    let action: Action
    var phase = Phase.steps
    var index = 0
    var result = Value.null
    /// The result is missing, because its step has no stub.
    var lacksStub = false
    var error: ActionStatus?
    /// Whether `error` was reported before the frame began to handle it.
    var isReported = false
    /// The values that the optimistic values replaced.
    var undo: [(key: String, before: Value, set: Value)] = []

    init(_ action: Action) { self.action = action }

    /// Takes the result of an action that has ended.
    mutating func takeResult(of inner: Frame) {
      result = inner.result
      lacksStub = inner.lacksStub
    }

    var current: [Step] {
      switch phase {
      case .delayed: []
      case .steps: action.steps
      case .success: action.success
      case .failure: action.failure
      case .otherwise: action.otherwise
      }
    }
  }

  enum Wait: Hashable, Sendable {
    case nothing
    /// The run waits for an answer.
    case request(RequestID)
    /// The run waits for the end of an action's delay.
    case delay
    /// The run waits until fewer effects of the bundle are under way.
    case turn
  }

  let id: UInt64
  let widgetID: WidgetID
  /// The index of the trigger. Runs of the same trigger go one after the other.
  let trigger: Int
  let event: Event?
  let row: String
  var frames: [Frame]
  var stepCount = 0
  var wait = Wait.nothing
  /// Whether the reason of the failure was reported.
  var isReported = false
  /// Whether the failure is remembered.
  var isMarked = false
  /// Whether the run has begun an effect that must not happen twice, or that takes long. If so, the
  /// event need not come again.
  var hasActed = false
  /// The events that led to it.
  var chain = EventChain()

  var isDelayed: Bool { wait == .delay }

  /// The run's failures send no events, because its own event may report such a failure.
  var isAboutError: Bool { event?.name == "error" }
}

struct ThrottleKey: Hashable, Sendable {
  let widgetID: WidgetID
  let trigger: Int
  let node: String
}

/// A generator of numbers that are random enough to spread retries and to make boundaries
/// (SplitMix64).
public struct SeededNumbers: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
