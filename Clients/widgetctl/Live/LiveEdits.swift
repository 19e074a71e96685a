import WidgetClient
import WidgetModel
import WidgetProto

/// Edits of one widget: typed text and switched toggles, until the daemon settles them.
///
/// A value: the caller passes in the widget, the daemon's answers and the time. Edits overlay the
/// daemon's content. They never change it, so an edit can always be reverted.
struct LiveEdits {
  /// A toggle that was switched, and the daemon's answer once it came.
  private struct Switch {
    var flag: Bool
    var answer: EventAnswer?
    /// Whether the program that handles the event does not run. The user has seen a notice.
    var isWaiting = false
  }

  /// The inputs of one submission, with their text at that time.
  private struct Submission {
    var drafts: [String: LiveDraft]
    var marks: [String: Bool]
    var answer: EventAnswer?
  }

  /// The typed text of inputs, by node.
  private var drafts: [String: LiveDraft] = [:]
  /// Inputs whose text the user has changed. In the others the cursor was moved at most.
  private var typed: Set<String> = []
  private var switches: [String: Switch] = [:]
  /// The switched toggles of forms, by node. They keep their value until the form is submitted.
  private var marks: [String: Bool] = [:]
  /// Submissions by form or input, oldest first. Answers arrive in the order of the events.
  private var submissions: [String: [Submission]] = [:]
  /// The last change of each input that the daemon has not answered.
  private var sentTexts: [String: String] = [:]
  /// Inputs that lost the focus before the daemon answered their last change.
  private var left: Set<String> = []

  /// The time for which a switched toggle waits for its provider after the daemon accepted the
  /// event.
  static let switchPatience = Duration.seconds(2)
  /// The time for which a submission waits for an outcome. A provider may never report one.
  static let outcomePatience = Duration.seconds(10)

  /// The values that replace the daemon's, by node.
  var shown: [(id: String, value: Value)] {
    drafts.map { ($0.key, .string($0.value.shownText)) }
      + switches.map { ($0.key, .bool($0.value.flag)) } + marks.map { ($0.key, .bool($0.value)) }
  }

  var isEmpty: Bool {
    drafts.isEmpty && switches.isEmpty && marks.isEmpty && submissions.isEmpty
  }

  func draft(_ id: String) -> LiveDraft? { drafts[id] }

  /// The drafts of fields of several lines, each with the text for the most rows.
  var tallDrafts: [(id: String, text: String)] {
    drafts.compactMap { id, draft in draft.tallText.map { (id, $0) } }
  }

  /// Scrolls the text of a field of several lines to the cursor, in the room that the field has. Returns
  /// the visible text; nil if there is no draft.
  mutating func fit(_ id: String, columns: Int, rows: Int) -> String? {
    drafts[id]?.fit(columns: columns, rows: rows)
    return drafts[id]?.shownText
  }

  // MARK: - Input of the user

  /// - Parameter isTyped: Whether the text was changed.
  mutating func set(_ id: String, _ draft: LiveDraft, isTyped: Bool) {
    drafts[id] = draft
    if isTyped { typed.insert(id) }
    left.remove(id)
  }

  mutating func flip(_ id: String, to flag: Bool) { switches[id] = Switch(flag: flag) }

  /// Switches a toggle of a form.
  mutating func mark(_ id: String, _ flag: Bool) { marks[id] = flag }

  /// Records a submission of inputs and toggles to the node `id`. They keep their text and values
  /// until it succeeds.
  mutating func submit(_ id: String, inputs: [String]) {
    submissions[id, default: []].append(
      Submission(
        drafts: drafts.filter { inputs.contains($0.key) },
        marks: marks.filter { inputs.contains($0.key) }))
  }

  /// A change of an input goes to the daemon.
  mutating func send(_ id: String, _ text: String) { sentTexts[id] = text }

  /// An input lost the focus. The daemon's text is shown again after it answered the last change.
  /// It is shown at once if no change waits for an answer: the last one was answered, or the text
  /// is too short to be sent.
  mutating func leave(_ id: String) {
    guard drafts[id] != nil else { return }
    if sentTexts[id] == nil { drop(id) } else { left.insert(id) }
  }

  /// The daemon answered a change of an input.
  private mutating func answered(_ id: String, _ text: String) {
    guard sentTexts[id] == text else { return }
    sentTexts[id] = nil
    if left.contains(id) { drop(id) }
  }

  /// Whether the user has changed the text of an input.
  func isTyped(_ id: String) -> Bool { typed.contains(id) }

  /// Drops the edit of an input: it shows the daemon's text again.
  mutating func drop(_ id: String) {
    drafts[id] = nil
    typed.remove(id)
    left.remove(id)
  }

  // MARK: - News from the daemon

  /// - Parameter isWaiting: Whether the program that handles the event does not run.
  mutating func accepted(
    _ event: LiveEvent, _ response: SendEventResponse, at time: Timestamp, isWaiting: Bool
  ) {
    let answer = EventAnswer(response: response, at: time)
    switch event.name {
    case "submit":
      guard let index = unanswered(event.node) else { return }
      submissions[event.node]?[index].answer = answer
    case "change":
      if case .bool(let flag)? = event.payload["value"], switches[event.node]?.flag == flag {
        switches[event.node]?.answer = answer
        switches[event.node]?.isWaiting = isWaiting
      } else if case .string(let text)? = event.payload["value"] {
        answered(event.node, text)
      }
    default: break
    }
  }

  /// The daemon refused an event: a switched toggle is reverted, and typed text stays while its input has
  /// the focus.
  mutating func refused(_ event: LiveEvent) {
    if event.name == "submit", let index = unanswered(event.node) {
      submissions[event.node]?.remove(at: index)
    } else if event.name == "change", case .string(let text)? = event.payload["value"] {
      answered(event.node, text)
    } else {
      switches[event.node] = nil
    }
  }

  /// The index of a node's oldest submission without an answer.
  private func unanswered(_ id: String) -> Int? {
    submissions[id]?.firstIndex { $0.answer == nil }
  }

  /// Removes edits that the widget's current state confirms, refutes or has left open too long.
  ///
  /// - Parameter revision: The store's revision of this state of the widget.
  /// - Returns: A message for the user; may be empty.
  mutating func settle(_ widget: Widget, revision: Revision, now: Timestamp) -> String {
    var words = ""
    restartWaits(ifSetBack: now)
    for (id, flip) in switches {
      guard let told = widget.content?[id]?.properties["value"] else {
        switches[id] = nil
        continue
      }
      guard told != .bool(flip.flag) else {
        switches[id] = nil
        continue
      }
      guard let answer = flip.answer else { continue }
      // The answer's revision may be a change of a widget outside this watch. The watch may then
      // never reach it, so the time decides.
      let isOver = now.isPast(LiveEdits.switchPatience, since: answer.at)
      guard answer.response.revision <= revision || isOver else { continue }
      switch answer.outcome(in: widget) {
      case .failed(let reason): (switches[id], words) = (nil, reason)
      case .done: switches[id] = nil
      case .open where isOver:
        switches[id] = nil
        // An event can be handled without a change of the value.
        if !flip.isWaiting { words = "nothing changed the value of \(id); the switch is reverted" }
      case .open: break
      }
    }
    var settled: [String] = []
    for id in submissions.keys {
      submissions[id]?.removeAll { submission in
        guard let answer = submission.answer else { return false }
        let isOver = now.isPast(LiveEdits.outcomePatience, since: answer.at)
        guard answer.response.revision <= revision || isOver else { return false }
        switch LiveEdits.result(of: answer, in: widget, submission.drafts.keys, now) {
        case .open: return false
        case .failed(let reason): words = reason
        case .done:
          // Keep text that was typed after the submission.
          for (input, sent) in submission.drafts where drafts[input]?.text == sent.text {
            settled.append(input)
          }
          for (toggle, sent) in submission.marks where marks[toggle] == sent { marks[toggle] = nil }
        }
        return true
      }
      if submissions[id]?.isEmpty == true { submissions[id] = nil }
    }
    for id in settled { drop(id) }
    for (id, draft) in drafts {
      guard let node = widget.content?[id] else {
        drop(id)
        continue
      }
      // Inputs without typed text show the daemon's text.
      if !typed.contains(id), node.text("value") != draft.text { drop(id) }
    }
    for id in marks.keys where widget.content?[id] == nil { marks[id] = nil }
    return words
  }

  private mutating func restartWaits(ifSetBack now: Timestamp) {
    for id in switches.keys { switches[id]?.answer?.restartWait(ifSetBack: now) }
    for id in submissions.keys {
      for index in submissions[id]?.indices ?? 0..<0 {
        submissions[id]?[index].answer?.restartWait(ifSetBack: now)
      }
    }
  }

  /// The next time at which an edit times out in `settle`. Nil for never. If the clock was set back since
  /// the last `settle`, the time counts from now.
  func nextDecision(after now: Timestamp) -> Timestamp? {
    let toggled = switches.values.compactMap(\.answer).map {
      min($0.at, now).advanced(by: LiveEdits.switchPatience)
    }
    let submitted = submissions.values.joined().compactMap(\.answer).map {
      min($0.at, now).advanced(by: LiveEdits.outcomePatience)
    }
    return (toggled + submitted).filter { $0 > now }.min()
  }

  /// The outcome of a submission.
  ///
  /// If no bundle runs the widget, the daemon's reducers are done at the answer's revision. The
  /// property `problem` of an input then means that the submission failed.
  private static func result(
    of answer: EventAnswer, in widget: Widget, _ inputs: Dictionary<String, LiveDraft>.Keys,
    _ now: Timestamp
  ) -> EventAnswer.Outcome {
    let told = answer.outcome(in: widget)
    guard case .open = told else { return told }
    if case .map? = widget.data["status"],
      !now.isPast(LiveEdits.outcomePatience, since: answer.at) || widget.isStale
    {
      return .open
    }
    let problem = inputs.lazy.compactMap { widget.content?[$0]?.text("problem") }
      .first { !$0.isEmpty }
    return problem.map { .failed($0) } ?? .done
  }
}
