import WidgetBundle
import WidgetModel

// Life events: a source or an action sends an event when it begins, progresses and ends, if the
// kind takes that event.
extension BundleInstance {
  /// Sends `NAME.PHASE` to the widget if its kind takes that event.
  ///
  /// - Parameter run: the run that causes the event. A loop of events is ended with a failure.
  mutating func tellLife(
    _ phase: LifePhase, of name: String, _ id: WidgetID, _ details: ValueMap = [:],
    run: Run? = nil
  ) {
    let event = phase.event(of: name)
    guard let facts = facts(of: id), facts.lifeEvents.contains(event) else { return }
    if let run {
      do throws(Failure) { try extendChain(of: run, sending: event, to: id) } catch {
        return dropLife(name, id, error, cause: run.event)
      }
    }
    let taken = facts.takesEvent(event).details
    let payload = ValueMap(details.entries.filter { taken?.contains($0.key) ?? true })
    // Store earlier changes first. A receiver of `ready` then reads the data without the new
    // result.
    flush(id, isForced: true)
    effects.append(
      .send(requests.begin(.notice), id, name: event, payload: payload, force: true))
  }

  /// Sends the event for the new state of a source or an action.
  mutating func tellLife(
    _ status: ActionStatus, of name: String, _ id: WidgetID, run: Run? = nil
  ) {
    switch status.state {
    case .idle, .missing, .cancelled: break
    case .running: tellLife(.start, of: name, id, run: run)
    case .success:
      tellLife(.success, of: name, id, ["message": .string(status.message)], run: run)
    case .failure:
      let details: ValueMap = [
        "code": .string(status.code), "title": .string(status.title),
        "message": .string(status.message),
      ]
      tellLife(.error, of: name, id, details, run: run)
    }
  }

  private mutating func dropLife(
    _ name: String, _ id: WidgetID, _ failure: Failure, cause: Event?
  ) {
    let status = ActionStatus(
      state: .failure, title: facts(of: id)?.failureTitle(name) ?? "", message: failure.message,
      code: failure.code)
    failed(id, .dropped, status)
    noteOutcome(of: cause, status)
    timers.set(.dropped(id), at: now.uptime + limits.droppedFor)
  }

  /// Sends the event `error` for a failure, if the kind takes it.
  mutating func sendError(
    _ id: WidgetID, _ action: String, _ status: ActionStatus, cause: Event?
  ) {
    guard cause?.name != "error", let facts = facts(of: id) else { return }
    let (isTaken, details) = facts.takesEvent("error")
    guard isTaken else { return }
    let all: [(String, String)] = [
      ("action", action), ("code", status.code), ("title", status.title),
      ("message", status.message),
    ]
    let payload = ValueMap(
      all.filter { details?.contains($0.0) ?? true }.map {
        .init(key: $0.0, value: .string($0.1))
      })
    flush(id, isForced: true)
    effects.append(
      .send(requests.begin(.notice), id, name: "error", payload: payload, force: true))
  }
}
