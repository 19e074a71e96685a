import WidgetBundle
import WidgetExpression
import WidgetModel

// The ends of actions: the values that they set and undo, and their messages.
extension BundleInstance {
  /// Handles the end of the top frame's phase, after its last step.
  mutating func complete(_ id: UInt64) {
    guard let run = runs[id], let frame = run.frames.last else { return }
    let top = run.frames.count - 1
    switch frame.phase {
    case .delayed: break
    case .steps:
      var message = ""
      if let template = frame.action.successMessage {
        do throws(Failure) {
          message = try text(template, try moment(of: run))
        } catch {
          // A step without a stub has no result. It succeeds without its message.
          guard frame.lacksStub, template.readsResult else { return fail(id, error) }
          trace(
            run.widgetID, .action, traceName(run),
            "has no message: it reads `result`, and the step has no stub")
        }
      }
      noteMessage(of: run.event, message)
      setStatus(
        run.widgetID, frame.action.name, ActionStatus(state: .success, message: message), run: run)
      if !frame.action.name.isEmpty {
        succeeded(run.widgetID, .action(frame.action.name))
      } else if top == 0 {
        succeeded(run.widgetID, .trigger(run.trigger))
      }
      runs.stepsSucceeded(id)
    case .success, .otherwise:
      runs.leave(id)
      if let outer = runs[id] { note(frame.action.name, isUnderWay: false, in: outer) }
    case .failure:
      runs.leaveHandler(id)
      // An earlier run may have marked a failure of the handler with the trigger.
      if !frame.action.name.isEmpty { succeeded(run.widgetID, .trigger(run.trigger)) }
      if let error = frame.error { propagate(id, error) }
    }
  }

  mutating func fail(_ id: UInt64, _ failure: Failure) {
    // An action with a name traces the failure with its status.
    if let run = runs[id], run.frames.allSatisfy(\.action.name.isEmpty) {
      trace(run.widgetID, .action, traceName(run), "fails: \(failure)")
    }
    var status = ActionStatus(state: .failure, message: failure.message, code: failure.code)
    status.answered = failure.answered
    propagate(id, status)
  }

  /// Ends frames, from the top, until a frame handles the failure.
  private mutating func propagate(_ id: UInt64, _ failure: ActionStatus) {
    runs.resume(id)
    while let run = runs[id], let frame = run.frames.last {
      let top = run.frames.count - 1
      guard frame.phase == .steps || frame.phase == .delayed else {
        runs.drop(id)
        continue
      }
      var status = failure
      status.title = title(of: frame, run) ?? failure.title
      undo(frame, run.widgetID)
      status = mark(id, frame, status)
      setStatus(run.widgetID, frame.action.name, status, run: run)
      if run.isMarked {
        note(innerFailureOf: frame.action.name, run.widgetID, run.markedName)
      } else {
        noteHandlers(of: frame.action.name, in: run)
      }
      if !frame.action.name.isEmpty || (top == 0 && !run.isReported) {
        runs.reported(id)
        if !run.isAboutError {
          sendError(run.widgetID, frame.action.name, status, cause: run.event)
        }
      }
      guard frame.action.failure.isEmpty else { return runs.handle(id, status) }
      runs.drop(id)
    }
  }

  /// Remembers the failure of a run once: for the innermost action that has a name, or for the
  /// trigger.
  ///
  /// - Parameter isInterrupted: whether no handler of the author runs.
  private mutating func mark(
    _ id: UInt64, _ frame: Run.Frame, _ status: ActionStatus, isInterrupted: Bool = false
  ) -> ActionStatus {
    guard let run = runs[id], let facts = facts(of: run.widgetID) else { return status }
    noteOutcome(of: run.event, status)
    var status = status
    status.since = status.since ?? now.wall
    guard !run.isMarked else { return status }
    if frame.action.name.isEmpty {
      let isCaught = !isInterrupted && handles(frame, run, facts)
      // An outer action may have a name, or catch the failure.
      if isCaught || run.frames.count == 1 {
        runs.marked(id)
        var named = status
        if named.title.isEmpty { named.title = triggerName(run.widgetID, run.trigger) }
        failed(
          run.widgetID, .trigger(run.trigger), named, isCaught: isCaught,
          cause: run.event == nil ? .time : .event)
        return status
      }
      return status
    }
    runs.marked(id)
    // The failure goes on to the outer actions.
    let isCaught = !isInterrupted && run.frames.contains { handles($0, run, facts) }
    let names = Set(run.frames.map(\.action.name).filter { !$0.isEmpty })
    return failed(
      run.widgetID, .action(frame.action.name), status, among: names, isCaught: isCaught,
      cause: run.event == nil ? .time : .event)
  }

  /// Whether steps of the author handle a failure of the frame.
  private func handles(_ frame: Run.Frame, _ run: Run, _ facts: KindFacts) -> Bool {
    guard frame.phase == .steps || frame.phase == .delayed else { return false }
    return !frame.action.failure.isEmpty
      || facts.catches(frame.action.name, inRunAboutError: run.isAboutError)
  }

  private mutating func title(of frame: Run.Frame, _ run: Run) -> String? {
    if let template = frame.action.errorTitle, let moment = try? moment(of: run),
      let title = try? text(template, moment)
    {
      return title
    }
    return frame.action.name.isEmpty
      ? nil : facts(of: run.widgetID)?.failureTitle(frame.action.name)
  }

  /// Keeps the optimistic values with the action's status, so that the next host can revert them if
  /// this one is killed. Does not keep large values.
  mutating func keep(
    _ undo: [(key: String, before: Value, set: Value)], _ id: WidgetID, _ name: String
  ) {
    guard !undo.isEmpty else { return }
    let map = ValueMap(
      undo.map { .init(key: $0.key, value: .map(["before": $0.before, "set": $0.set])) })
    guard JSONText.write(.map(map)).utf8.count <= BundleInstance.undoBytesMax else { return }
    changeStatus(id, name) { $0[BundleInstance.undoKey] = .map(map) }
  }

  private static var undoBytesMax: Int { 16_384 }
  private static var undoKey: String { "undo" }

  /// Undoes the optimistic values of a former host.
  mutating func undo(_ status: ValueMap, _ id: WidgetID) {
    guard case .map(let entries)? = status[BundleInstance.undoKey] else { return }
    for entry in entries.entries {
      guard case .map(let values) = entry.value, let before = values["before"],
        widgets[id]?.view.data[entry.key] == values["set"]
      else { continue }
      widgets.set(id, entry.key, before)
    }
  }

  /// Undoes the optimistic values, except those that somebody else has changed since.
  mutating func undo(_ frame: Run.Frame, _ id: WidgetID) {
    for entry in frame.undo.reversed() where widgets[id]?.view.data[entry.key] == entry.set {
      widgets.set(id, entry.key, entry.before)
    }
    widgets.touch(id)
  }

  /// Ends a run before its last step, without an effect.
  ///
  /// - Parameter reason: for the sender of the run's event, if it waits.
  mutating func abandon(_ id: UInt64, because reason: String) {
    guard let run = runs[id] else { return }
    // Finished steps are not undone.
    if run.frames.contains(where: { $0.phase == .steps || $0.phase == .delayed }) {
      noteOutcome(of: run.event, .cancelled(because: reason))
    }
    for frame in run.frames.reversed() where frame.phase == .steps || frame.phase == .delayed {
      undo(frame, run.widgetID)
      guard frame.phase == .steps else {
        note(delayOf: frame.action.name, run.widgetID, isUnderWay: false)
        continue
      }
      setStatus(run.widgetID, frame.action.name, ActionStatus())
      guard !frame.action.name.isEmpty else { continue }
      forgetFailure(run.widgetID, .action(frame.action.name), because: "is cancelled")
    }
    end(id)
  }

  /// Ends a run before its last step, as the end of its host does: its actions fail, and no handler
  /// runs.
  ///
  /// - Returns: the queue of the run, whose next firing the caller starts.
  mutating func interrupt(_ id: UInt64) -> QueueKey? {
    while let run = runs[id], let frame = run.frames.last {
      if frame.phase == .steps || frame.phase == .delayed {
        undo(frame, run.widgetID)
        let status = mark(
          id, frame,
          ActionStatus(
            state: .failure, title: title(of: frame, run) ?? "",
            message: "It was interrupted; try again.", code: "ABORTED"), isInterrupted: true)
        noteInterruption(of: frame.action.name, run.widgetID, status)
        if run.isMarked { note(innerFailureOf: frame.action.name, run.widgetID, run.markedName) }
      } else {
        // The steps have ended, and the rest of the author's steps does not run.
        noteOutcome(
          of: run.event,
          ActionStatus(
            state: .failure, title: "Interrupted",
            message: "It was interrupted; try again.", code: "ABORTED"))
      }
      runs.drop(id)
    }
    return remove(id)
  }

  mutating func end(_ id: UInt64) {
    if let key = remove(id) { startNext(key) }
  }

  private mutating func remove(_ id: UInt64) -> QueueKey? {
    guard let run = runs.end(id) else { return nil }
    if case .request(let request) = run.wait { cancel(request) }
    timers.cancel(.delay(id))
    return QueueKey(widgetID: run.widgetID, trigger: run.trigger)
  }
}

extension ActionStatus {
  /// The status of a cancelled action.
  static func cancelled(because reason: String) -> ActionStatus {
    ActionStatus(state: .cancelled, title: "Cancelled", message: reason, code: "CANCELLED")
  }
}

extension Template {
  /// Whether an expression in it reads `result`.
  fileprivate var readsResult: Bool {
    switch self {
    case .constant: false
    case .expression(let expression): expression.readsResult
    case .list(let elements): elements.contains(where: \.readsResult)
    case .map(let entries): entries.contains { $0.value.readsResult }
    }
  }
}
