import WidgetModel
import WidgetProto

/// The dismissed widgets of a view: the property `dismissed` of their root has become true.
///
/// A widget that is dismissed when it is first shown stays, because the value may be left from an
/// earlier use. The value counts after it was false, or after an event of this view is done.
struct Dismissals {
  /// The widgets of the view. If there are none, the view never closes by itself.
  let ids: Set<WidgetID>
  /// The widgets whose value counts.
  private var used: Set<WidgetID> = []
  private var dismissed: Set<WidgetID> = []
  /// The answers to events of this view that may still have an effect.
  private var answers: [WidgetID: [EventAnswer]] = [:]

  /// The maximum time for the effect of an event on a widget without a bundle.
  static let patience = Duration.seconds(1)
  /// The maximum number of events of one widget that the view waits for.
  private static let answersMax = 16

  init(of ids: [WidgetID]) { self.ids = Set(ids) }

  /// Whether all widgets of the view are dismissed. Then the view closes.
  var areComplete: Bool { !ids.isEmpty && dismissed == ids }

  /// The daemon accepted an event of this view.
  mutating func accepted(by id: WidgetID, _ answer: EventAnswer) {
    guard ids.contains(id) else { return }
    answers[id] = answers[id, default: []].suffix(Dismissals.answersMax - 1) + [answer]
  }

  /// - Parameter revision: The store's revision of this state of the widget.
  mutating func look(at widget: Widget, revision: Revision, now: Timestamp) {
    guard ids.contains(widget.id) else { return }
    let events = answers[widget.id]?.count ?? 0
    answers[widget.id]?.removeAll { Dismissals.isDone($0, in: widget, revision, now) }
    let isAnEventDone = (answers[widget.id]?.count ?? 0) < events
    guard let content = widget.content, let root = content[content.rootID] else { return }
    if root.properties["dismissed"] != .bool(true) {
      used.insert(widget.id)
      dismissed.remove(widget.id)
    } else if isAnEventDone || used.contains(widget.id) {
      dismissed.insert(widget.id)
    }
  }

  /// The next time at which an event without an outcome counts as done. Nil for never.
  func nextDecision(after now: Timestamp) -> Timestamp? {
    answers.values.joined().map { $0.at.advanced(by: Dismissals.patience) }
      .filter { $0 > now }.min()
  }

  /// Whether an event has had its effect. A bundle reports its outcome. Without a bundle, the effect
  /// is part of the answer's revision, which the watch does not reach if nothing has changed.
  private static func isDone(
    _ answer: EventAnswer, in widget: Widget, _ revision: Revision, _ now: Timestamp
  ) -> Bool {
    if case .map? = widget.data["status"] {
      if case .done = answer.outcome(in: widget) { return true }
      return false
    }
    return answer.response.revision <= revision || now.isPast(patience, since: answer.at)
  }
}
