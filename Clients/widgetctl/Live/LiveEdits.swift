import WidgetClient
import WidgetModel
import WidgetProto

/// What a user typed and switched in one widget, until the daemon has settled it.
///
/// A value: the widget, the daemon's answers and the time come from outside. What is shown is the
/// daemon's content with these values over it; the daemon's word is never lost underneath.
struct LiveEdits {
  /// The daemon's answer to an event, and when it came.
  private struct Answer {
    var response: SendEventResponse
    var at: Timestamp
  }

  /// A toggle that is shown switched.
  private struct Switch {
    var flag: Bool
    var answer: Answer?
  }

  /// Inputs that were submitted together, as they were then.
  private struct Submission {
    var drafts: [String: LiveDraft]
    var answer: Answer?
  }

  /// What has become of an event.
  private enum Outcome {
    case open
    case done
    case failed(String)
  }

  /// What was typed into inputs, by node.
  private var drafts: [String: LiveDraft] = [:]
  private var switches: [String: Switch] = [:]
  /// By the node that the event went to, a form or an input; the oldest first. Answers come in the order
  /// of the events.
  private var submissions: [String: [Submission]] = [:]
  /// The last text of each input that the daemon has taken as a change.
  private var takenTexts: [String: String] = [:]
  /// Inputs that lost the focus before the daemon had their last change.
  private var left: Set<String> = []

  /// How long a switched toggle waits for its provider after the daemon took the event.
  static let switchPatience = Duration.seconds(2)
  /// How long a submission waits for an outcome that a provider may never tell.
  static let outcomePatience = Duration.seconds(10)

  /// The values that are shown in place of the daemon's, by node.
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

  /// The inputs were sent with an event to `id`. What was typed stays until that has succeeded.
  mutating func submit(_ id: String, inputs: [String]) {
    submissions[id, default: []].append(
      Submission(drafts: drafts.filter { inputs.contains($0.key) }))
  }

  /// An input lost the focus. If its changes are the daemon's, the daemon's text is shown again.
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

  /// The daemon refused an event: its word holds again, and what was typed stays.
  mutating func refused(_ event: LiveEvent) {
    if event.name == "submit", let index = unanswered(event.node) {
      submissions[event.node]?.remove(at: index)
    } else {
      switches[event.node] = nil
    }
  }

  /// The oldest submission of a node that has no answer.
  private func unanswered(_ id: String) -> Int? {
    submissions[id]?.firstIndex { $0.answer == nil }
  }

  /// Compares with the widget as it is now. Returns what the user is to be told; empty for nothing.
  ///
  /// - Parameter revision: The store's revision that the widget is of.
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
      // The store's revision may be of another widget's change, which is not watched here.
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
          // Text that was typed since then stays.
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

  /// When `settle` has something to decide by the time alone; nil for never.
  func nextDecision(after now: Timestamp) -> Timestamp? {
    let toggled = switches.values.compactMap(\.answer).map {
      $0.at.advanced(by: LiveEdits.switchPatience)
    }
    let submitted = submissions.values.joined().compactMap(\.answer).map {
      $0.at.advanced(by: LiveEdits.outcomePatience)
    }
    return (toggled + submitted).filter { $0 > now }.min()
  }

  /// What a bundle says of an event: it puts the outcome into `data.status`, by the event's number.
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

  /// What has become of a submission. Without a bundle the daemon's reducers have done all of it at
  /// the answer's revision; then an input's problem says that it was refused.
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

/// Text that is being typed.
struct LiveDraft: Hashable {
  private var characters: [Character]
  /// Before which character the next one goes.
  private(set) var cursor: Int
  /// How many columns of the text are seen; nil for all.
  private var columns: Int?
  /// The first character that is seen.
  private var first = 0

  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  var text: String { String(characters) }
  /// What is left of the cursor.
  var head: String { String(characters[..<cursor]) }

  /// What is seen: all of it, or what fits around the cursor.
  var shownText: String {
    columns == nil ? text : String(characters[first..<end(from: first)])
  }
  /// What is seen left of the cursor.
  var shownHead: String { columns == nil ? head : String(characters[first..<cursor]) }

  /// Shows so much of the text that the cursor is seen.
  ///
  /// - Parameter columns: The width of the field; nil for a field of several lines.
  mutating func fit(columns: Int?) {
    self.columns = columns.map { max($0, 1) }
    guard let room = self.columns else { return }
    // One column is the cursor's, behind the text.
    first = max(min(first, cursor), start(before: cursor, room - 1))
    first = min(first, start(before: characters.count, room - 1))
  }

  /// The first of the characters before a place that fit into so many columns.
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
