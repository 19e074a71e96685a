import WidgetClient
import WidgetModel
import WidgetProto

/// Optimistic edits of one widget: typed text and switched toggles, until the daemon settles them.
///
/// A value: the caller passes in the widget, the daemon's answers and the time. Edits overlay the
/// daemon's content. They never change it, so an edit can always be reverted.
struct LiveEdits {
  /// The daemon's answer to an event, and when it came.
  private struct Answer {
    var response: SendEventResponse
    var at: Timestamp
  }

  /// A toggle that was switched, and the daemon's answer once it came.
  private struct Switch {
    var flag: Bool
    var answer: Answer?
  }

  /// The inputs of one submission, with their text at that time.
  private struct Submission {
    var drafts: [String: LiveDraft]
    var answer: Answer?
  }

  /// The outcome of an event.
  private enum Outcome {
    case open
    case done
    case failed(String)
  }

  /// The typed text of inputs, by node.
  private var drafts: [String: LiveDraft] = [:]
  private var switches: [String: Switch] = [:]
  /// Submissions by form or input, oldest first. Answers arrive in the order of the events.
  private var submissions: [String: [Submission]] = [:]
  /// The last text of each input that the daemon accepted as a change.
  private var takenTexts: [String: String] = [:]
  /// Inputs that lost the focus before the daemon accepted their last change.
  private var left: Set<String> = []

  /// How long a switched toggle waits for its provider after the daemon accepted the event.
  static let switchPatience = Duration.seconds(2)
  /// How long a submission waits for an outcome. A provider may never report one.
  static let outcomePatience = Duration.seconds(10)

  /// The values that replace the daemon's, by node.
  var shown: [(id: String, value: Value)] {
    drafts.map { ($0.key, .string($0.value.shownText)) }
      + switches.map { ($0.key, .bool($0.value.flag)) }
  }

  var isEmpty: Bool { drafts.isEmpty && switches.isEmpty && submissions.isEmpty }

  func draft(_ id: String) -> LiveDraft? { drafts[id] }

  // MARK: - What the user does

  mutating func set(_ id: String, _ draft: LiveDraft) {
    drafts[id] = draft
    left.remove(id)
  }

  mutating func flip(_ id: String, to flag: Bool) { switches[id] = Switch(flag: flag) }

  /// Records a submission of inputs to the node `id`. The typed text stays until it succeeds.
  mutating func submit(_ id: String, inputs: [String]) {
    submissions[id, default: []].append(
      Submission(drafts: drafts.filter { inputs.contains($0.key) }))
  }

  /// An input lost the focus. The daemon's text is shown again once it accepted the last change.
  mutating func leave(_ id: String) {
    guard let draft = drafts[id] else { return }
    if takenTexts[id] == draft.text { drafts[id] = nil } else { left.insert(id) }
  }

  // MARK: - What the daemon says

  mutating func accepted(_ event: LiveEvent, _ response: SendEventResponse, at time: Timestamp) {
    let answer = Answer(response: response, at: time)
    switch event.name {
    case "submit":
      guard let index = unanswered(event.node) else { return }
      submissions[event.node]?[index].answer = answer
    case "change":
      if case .bool(let flag)? = event.payload["value"], switches[event.node]?.flag == flag {
        switches[event.node]?.answer = answer
      } else if case .string(let text)? = event.payload["value"] {
        takenTexts[event.node] = text
        if left.contains(event.node), drafts[event.node]?.text == text {
          left.remove(event.node)
          drafts[event.node] = nil
        }
      }
    default: break
    }
  }

  /// The daemon refused an event: a switched toggle is reverted, and typed text stays.
  mutating func refused(_ event: LiveEvent) {
    if event.name == "submit", let index = unanswered(event.node) {
      submissions[event.node]?.remove(at: index)
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
      let isOver = now >= answer.at.advanced(by: LiveEdits.switchPatience)
      guard answer.response.revision <= revision || isOver else { continue }
      switch LiveEdits.outcome(of: answer, in: widget) {
      case .failed(let reason): (switches[id], words) = (nil, reason)
      case .done: switches[id] = nil
      case .open where isOver:
        switches[id] = nil
        words = "nothing has switched \(id); it is as it was"
      case .open: break
      }
    }
    for id in submissions.keys {
      submissions[id]?.removeAll { submission in
        guard let answer = submission.answer else { return false }
        let isOver = now >= answer.at.advanced(by: LiveEdits.outcomePatience)
        guard answer.response.revision <= revision || isOver else { return false }
        switch LiveEdits.result(of: answer, in: widget, submission.drafts.keys, now) {
        case .open: return false
        case .failed(let reason): words = reason
        case .done:
          // Keep text that was typed after the submission.
          for (input, sent) in submission.drafts where drafts[input]?.text == sent.text {
            drafts[input] = nil
          }
        }
        return true
      }
      if submissions[id]?.isEmpty == true { submissions[id] = nil }
    }
    for id in drafts.keys where widget.content?[id] == nil { drafts[id] = nil }
    return words
  }

  /// The next time at which an edit times out in `settle`. Nil for never.
  func nextDecision(after now: Timestamp) -> Timestamp? {
    let toggled = switches.values.compactMap(\.answer).map {
      $0.at.advanced(by: LiveEdits.switchPatience)
    }
    let submitted = submissions.values.joined().compactMap(\.answer).map {
      $0.at.advanced(by: LiveEdits.outcomePatience)
    }
    return (toggled + submitted).filter { $0 > now }.min()
  }

  /// The outcome of an event as its bundle reports it, in `data.status.$outcomes` by the event's
  /// sequence. Open until the bundle has reported it.
  private static func outcome(of answer: Answer, in widget: Widget) -> Outcome {
    guard case .map(let status)? = widget.data["status"],
      case .map(let outcomes)? = status["$outcomes"],
      case .map(let outcome)? = outcomes["\(answer.response.sequence)"]
    else { return .open }
    guard outcome["failed"] == .bool(true) else { return .done }
    let words = [outcome["title"], outcome["message"]].compactMap { $0?.plainText }
      .filter { !$0.isEmpty }
    return .failed(words.isEmpty ? "the event failed" : words.joined(separator: ": "))
  }

  /// The outcome of a submission.
  ///
  /// If no bundle runs the widget, the daemon's reducers are done at the answer's revision. The
  /// property `problem` of an input then means that the submission failed.
  private static func result(
    of answer: Answer, in widget: Widget, _ inputs: Dictionary<String, LiveDraft>.Keys,
    _ now: Timestamp
  ) -> Outcome {
    let told = outcome(of: answer, in: widget)
    guard case .open = told else { return told }
    if case .map? = widget.data["status"],
      now < answer.at.advanced(by: LiveEdits.outcomePatience) || widget.isStale
    {
      return .open
    }
    let problem = inputs.lazy.compactMap { widget.content?[$0]?.text("problem") }
      .first { !$0.isEmpty }
    return problem.map { .failed($0) } ?? .done
  }
}

/// The text, cursor and horizontal scroll of a text field.
struct LiveDraft: Hashable {
  private var characters: [Character]
  /// The index of the cursor. Typed text is inserted there.
  private(set) var cursor: Int
  /// The width of the field in columns. Nil shows the whole text.
  private var columns: Int?
  /// The index of the first visible character.
  private var first = 0

  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  var text: String { String(characters) }
  /// The text before the cursor.
  var head: String { String(characters[..<cursor]) }

  /// The visible text: all of it, or the part around the cursor that fits.
  var shownText: String {
    columns == nil ? text : String(characters[first..<end(from: first)])
  }
  /// The visible text before the cursor.
  var shownHead: String { columns == nil ? head : String(characters[first..<cursor]) }

  /// Scrolls the text so that the cursor is visible.
  ///
  /// - Parameter columns: The width of the field; nil for a field of several lines.
  mutating func fit(columns: Int?) {
    self.columns = columns.map { max($0, 1) }
    guard let room = self.columns else { return }
    // Reserve one column for a cursor after the text.
    first = max(min(first, cursor), start(before: cursor, room - 1))
    first = min(first, start(before: characters.count, room - 1))
  }

  /// The start of the longest run of characters that ends at `end` and fits into `room` columns.
  private func start(before end: Int, _ room: Int) -> Int {
    var (start, used) = (end, 0)
    while start > 0 {
      used += String(characters[start - 1]).columns
      guard used <= room else { break }
      start -= 1
    }
    return start
  }

  private func end(from first: Int) -> Int {
    var (end, used) = (first, 0)
    while end < characters.count {
      used += String(characters[end]).columns
      guard used <= columns ?? .max else { break }
      end += 1
    }
    return end
  }

  mutating func insert(_ text: String) {
    let added = Array(text)
    characters.insert(contentsOf: added, at: cursor)
    cursor += added.count
  }

  mutating func deleteBackward() {
    guard cursor > 0 else { return }
    cursor -= 1
    characters.remove(at: cursor)
  }

  mutating func deleteForward() {
    guard cursor < characters.count else { return }
    characters.remove(at: cursor)
  }

  mutating func deleteWord() {
    while cursor > 0, characters[cursor - 1] == " " { deleteBackward() }
    while cursor > 0, characters[cursor - 1] != " " { deleteBackward() }
  }

  mutating func deleteToStart() {
    characters.removeFirst(cursor)
    cursor = 0
  }

  mutating func deleteToEnd() { characters.removeLast(characters.count - cursor) }

  mutating func move(by distance: Int) {
    cursor = min(max(0, cursor + distance), characters.count)
  }

  mutating func moveToStart() { cursor = 0 }
  mutating func moveToEnd() { cursor = characters.count }
}
