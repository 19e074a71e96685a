import WidgetBundle
import WidgetModel

/// A trigger that fired, and the progress of its steps.
///
/// A stack of actions: the trigger's own steps at the bottom, and on top the action that is under
/// way. Only `RunTable` changes it.
struct Run: Sendable {
  struct Frame: Sendable {
    enum Phase: Hashable, Sendable { case delayed, steps, success, failure, otherwise }

    let action: Action
    fileprivate(set) var phase = Phase.steps
    fileprivate(set) var index = 0
    fileprivate(set) var result = Value.null
    /// The result is missing, because its step has no stub.
    fileprivate(set) var lacksStub = false
    fileprivate(set) var error: ActionStatus?
    /// Whether `error` was reported before the frame began to handle it.
    fileprivate(set) var isReported = false
    /// The values that the optimistic values replaced.
    fileprivate(set) var undo: [(key: String, before: Value, set: Value)] = []

    init(_ action: Action) { self.action = action }

    /// Takes the result of an action that has ended.
    fileprivate mutating func takeResult(of inner: Frame) {
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
  /// Whose share of the bundle's places its effects take.
  let sharer: Sharer
  fileprivate(set) var frames: [Frame]
  fileprivate(set) var stepCount = 0
  fileprivate(set) var wait = Wait.nothing
  /// Whether the reason of the failure was reported.
  fileprivate(set) var isReported = false
  /// Whether the failure is remembered.
  fileprivate(set) var isMarked = false
  /// The innermost action with a name whose failure is remembered; empty if none has a name.
  fileprivate(set) var markedName = ""
  /// Whether the run has begun an effect that must not happen twice, or that takes long. If so, the
  /// event need not come again.
  fileprivate(set) var hasActed = false
  /// The events that led to it.
  fileprivate(set) var chain = EventChain()

  var isDelayed: Bool { wait == .delay }

  /// Whether an effect of the run is under way.
  fileprivate var isActing: Bool { if case .request = wait { true } else { false } }

  /// The run's failures send no events, because its own event may report such a failure.
  var isAboutError: Bool { event?.name == "error" }
}

/// The runs of a bundle, by their numbers. A call for a run that has ended changes nothing.
struct RunTable: Sendable {
  private var runs: [UInt64: Run] = [:]

  subscript(id: UInt64) -> Run? { runs[id] }

  var isEmpty: Bool { runs.isEmpty }

  /// The runs of a widget, the oldest first.
  func of(_ id: WidgetID) -> [UInt64] {
    runs.values.filter { $0.widgetID == id }.map(\.id).sorted()
  }

  func count(of id: WidgetID) -> Int { runs.values.count { $0.widgetID == id } }

  /// Whether a run of the trigger is under way. A delayed run does not count.
  func isBusy(_ key: QueueKey) -> Bool {
    runs.values.contains {
      $0.widgetID == key.widgetID && $0.trigger == key.trigger && !$0.isDelayed
    }
  }

  /// The number of effects under way for a sharer.
  func actingCount(of sharer: Sharer) -> Int {
    runs.values.count { $0.isActing && $0.sharer == sharer }
  }

  /// The runs that wait for their turn, and whose user has at least `max` effects under way.
  func held(max: Int) -> Set<UInt64> {
    var acting: [Sharer: Int] = [:]
    for run in runs.values where run.isActing { acting[run.sharer, default: 0] += 1 }
    let held = runs.values.filter {
      $0.wait == .turn && $0.sharer != .bundle && acting[$0.sharer, default: 0] >= max
    }
    return Set(held.map(\.id))
  }

  /// The numbers of the events of all runs.
  var events: [UInt64] { runs.values.compactMap(\.event?.sequence) }

  /// The numbers of the events whose runs can begin again.
  var repeatableEvents: [UInt64] {
    runs.values.filter { !$0.hasActed }.compactMap(\.event?.sequence)
  }

  mutating func begin(_ run: Run) { runs[run.id] = run }

  /// - Returns: the run, in its last state.
  mutating func end(_ id: UInt64) -> Run? { runs.removeValue(forKey: id) }

  private mutating func changeTop(_ id: UInt64, _ body: (inout Run.Frame) -> Void) {
    guard let run = runs.index(forKey: id), let top = runs.values[run].frames.indices.last else {
      return
    }
    body(&runs.values[run].frames[top])
  }

  // MARK: Steps

  /// The run goes on to its next step.
  mutating func beginStep(_ id: UInt64) {
    changeTop(id) { $0.index += 1 }
    runs[id]?.stepCount += 1
  }

  /// Takes back `beginStep`, and lets the run wait for its turn.
  mutating func deferStep(_ id: UInt64) {
    changeTop(id) { $0.index -= 1 }
    runs[id]?.stepCount -= 1
    runs[id]?.wait = .turn
  }

  /// The run has begun an effect, and waits for the answer.
  mutating func wait(_ id: UInt64, for request: RequestID) {
    runs[id]?.wait = .request(request)
    runs[id]?.hasActed = true
  }

  /// The run waits for the end of its action's delay.
  mutating func delay(_ id: UInt64) {
    runs[id]?.wait = .delay
    // A chain with a delay is no loop, so it may continue without a limit.
    runs[id]?.chain.names = []
    runs[id]?.hasActed = true
  }

  /// The run waits no more.
  mutating func resume(_ id: UInt64) { runs[id]?.wait = .nothing }

  /// The step has a result.
  mutating func setResult(_ id: UInt64, _ result: Value, lacksStub: Bool) {
    changeTop(id) {
      $0.result = result
      $0.lacksStub = lacksStub
    }
  }

  // MARK: Actions

  /// Puts an action on top of the run.
  mutating func enter(_ id: UInt64, _ action: Action, isDelayed: Bool) {
    runs[id]?.frames.append(Run.Frame(action))
    if isDelayed { changeTop(id) { $0.phase = .delayed } }
  }

  /// The delay of the top action is over.
  mutating func endDelay(_ id: UInt64) {
    resume(id)
    changeTop(id) { $0.phase = .steps }
  }

  /// The condition of the top action is false.
  mutating func skipSteps(_ id: UInt64) { changeTop(id) { $0.phase = .otherwise } }

  /// Remembers what undoes the optimistic values of the top action.
  mutating func set(_ id: UInt64, undo: [(key: String, before: Value, set: Value)]) {
    changeTop(id) { $0.undo = undo }
  }

  /// The steps of the top action have succeeded, so nothing undoes its values any more.
  mutating func stepsSucceeded(_ id: UInt64) {
    changeTop(id) {
      $0.undo = []
      $0.phase = .success
      $0.index = 0
    }
  }

  /// The top action handles a failure. If the handler fails, that failure is shown too.
  mutating func handle(_ id: UInt64, _ failure: ActionStatus) {
    let isReported = runs[id]?.isReported ?? false
    changeTop(id) {
      $0.phase = .failure
      $0.index = 0
      $0.undo = []
      $0.error = failure
      $0.isReported = isReported
    }
    runs[id]?.isReported = false
    runs[id]?.isMarked = false
  }

  /// The top action has ended well. The action below gets its result.
  mutating func leave(_ id: UInt64) {
    guard let ended = runs[id]?.frames.popLast() else { return }
    changeTop(id) { $0.takeResult(of: ended) }
  }

  /// The handler of the top action has ended.
  mutating func leaveHandler(_ id: UInt64) {
    guard let ended = runs[id]?.frames.popLast() else { return }
    runs[id]?.isReported = ended.isReported
    runs[id]?.isMarked = true
    if !ended.action.name.isEmpty { runs[id]?.markedName = ended.action.name }
  }

  /// The top action has failed, and has no handler.
  mutating func drop(_ id: UInt64) { _ = runs[id]?.frames.popLast() }

  /// The reason of the failure was reported.
  mutating func reported(_ id: UInt64) { runs[id]?.isReported = true }

  /// The failure of the top action is remembered.
  mutating func marked(_ id: UInt64) {
    guard let name = runs[id]?.frames.last?.action.name else { return }
    runs[id]?.isMarked = true
    runs[id]?.markedName = name
  }
}
