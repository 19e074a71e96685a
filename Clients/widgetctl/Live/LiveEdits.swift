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
    /// Whether the program that handles the event does not run. The user was told so.
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

  /// How long a switched toggle waits for its provider after the daemon accepted the event.
  static let switchPatience = Duration.seconds(2)
  /// How long a submission waits for an outcome. A provider may never report one.
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

  // MARK: - What the user does

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

  /// An input lost the focus. The daemon's text is shown again once it answered the last change, and at once
  /// if none is on its way: it was answered, or the text is too short to be sent.
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

  /// Forgets what was done in an input: it shows the daemon's text again.
  mutating func drop(_ id: String) {
    drafts[id] = nil
    typed.remove(id)
    left.remove(id)
  }

  // MARK: - What the daemon says

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
        let isOver = now >= answer.at.advanced(by: LiveEdits.outcomePatience)
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
      // Where nothing was typed, the daemon's text is shown.
      if !typed.contains(id), node.text("value") != draft.text { drop(id) }
    }
    for id in marks.keys where widget.content?[id] == nil { marks[id] = nil }
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
      now < answer.at.advanced(by: LiveEdits.outcomePatience) || widget.isStale
    {
      return .open
    }
    let problem = inputs.lazy.compactMap { widget.content?[$0]?.text("problem") }
      .first { !$0.isEmpty }
    return problem.map { .failed($0) } ?? .done
  }
}

/// The text, cursor and scroll of a text field: one line that scrolls sideways, or rows that scroll
/// up and down.
struct LiveDraft: Hashable {
  private var characters: [Character]
  /// The index of the cursor. Typed text is inserted there.
  private(set) var cursor: Int
  /// The other end of the selection. Nil if no text is selected.
  private var anchor: Int?
  /// The width of the field in columns. Nil shows the whole text.
  private var columns: Int?
  /// The index of the first visible character.
  private var first = 0
  /// The rows of a field of several lines, as ranges of characters. Nil for a field of one line.
  private var rows: [Range<Int>]?
  private var firstRow = 0

  /// The rows of the field. The layout may have less room than `rowsMax` for it.
  private var height = LiveDraft.rowsMax

  /// How many rows a field shows at most.
  static let rowsMax = 10

  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  var text: String { String(characters) }
  /// The text before the cursor.
  var head: String { String(characters[..<cursor]) }

  /// The selected characters. Typed text replaces them. Empty if none are selected.
  var selection: Range<Int> {
    anchor.map { min($0, cursor)..<max($0, cursor) } ?? cursor..<cursor
  }
  var selectedText: String { String(characters[selection]) }

  /// The selected cells of the visible text, row by row, as ranges of columns.
  var selectedColumns: [(row: Int, columns: Range<Int>)] {
    let selection = selection
    guard !selection.isEmpty else { return [] }
    let shown: [Range<Int>]
    if let rows {
      shown = Array(rows[firstRow...].prefix(height))
    } else {
      shown = [columns == nil ? 0..<characters.count : first..<end(from: first)]
    }
    return shown.enumerated().compactMap { index, row in
      let part = selection.clamped(to: row)
      // A selected newline is one cell behind its row.
      let isBroken =
        selection.contains(row.upperBound) && row.upperBound < characters.count
        && characters[row.upperBound].isNewline
      guard !part.isEmpty || isBroken, part.lowerBound >= row.lowerBound else { return nil }
      let start = String(characters[row.lowerBound..<part.lowerBound]).columns
      let width = String(characters[part]).columns + (isBroken ? 1 : 0)
      let limit = columns ?? .max
      return (index, min(start, limit)..<min(start + width, limit))
    }
  }

  mutating func selectAll() {
    anchor = characters.isEmpty ? nil : 0
    cursor = characters.count
  }

  /// Begins a selection at the cursor, or ends it.
  ///
  /// - Parameter extends: Whether the next move extends the selection.
  private mutating func select(_ extends: Bool) {
    if extends { anchor = anchor ?? cursor } else { anchor = nil }
  }

  /// Deletes the selected text. Returns false if none is selected.
  @discardableResult
  mutating func deleteSelection() -> Bool {
    let selection = selection
    anchor = nil
    guard !selection.isEmpty else { return false }
    replace(selection, with: "")
    return true
  }

  /// Replaces characters, with the cursor behind the new text. What stands side by side then can be
  /// one character, such as a letter and a typed accent, or the parts of an emoji.
  private mutating func replace(_ range: Range<Int>, with text: String) {
    let head = String(characters[..<range.lowerBound]) + text
    characters = Array(head + String(characters[range.upperBound...]))
    let end = head.utf8.count
    var bytes = 0
    cursor = 0
    while bytes < end {
      bytes += characters[cursor].utf8.count
      cursor += 1
    }
  }

  /// The visible text: all of it, or the part around the cursor that fits.
  var shownText: String {
    if let rows {
      return rows[firstRow...].prefix(height).map(text).joined(separator: "\n")
    }
    return columns == nil ? text : String(characters[first..<end(from: first)])
  }
  /// The visible text of a field of several lines that has as many rows as it can have. Nil for a field
  /// of one line.
  var tallText: String? {
    guard let rows else { return nil }
    let first = max(0, min(firstRow, rows.count - LiveDraft.rowsMax))
    return rows[first...].prefix(LiveDraft.rowsMax).map(text).joined(separator: "\n")
  }
  /// The row and column of the cursor in the visible text.
  var place: (row: Int, column: Int) {
    guard let rows, let columns else {
      let head = columns == nil ? head : String(characters[first..<cursor])
      return (0, head.columns)
    }
    let row = cursorRow(in: rows)
    let column = String(characters[rows[row].lowerBound..<cursor]).columns
    return (row - firstRow, min(column, columns))
  }

  /// Scrolls the text so that the cursor is visible.
  ///
  /// - Parameters:
  ///   - columns: The width of the field.
  ///   - isMultiline: Whether the field has several lines.
  mutating func fit(columns: Int, isMultiline: Bool = false) {
    let room = max(columns, 1)
    self.columns = room
    guard !isMultiline else {
      let rows = brokenRows(room)
      let row = cursorRow(in: rows)
      firstRow = min(max(firstRow, row - height + 1), row)
      firstRow = max(0, min(firstRow, rows.count - height))
      self.rows = rows
      return
    }
    // Reserve one column for a cursor after the text.
    first = max(min(first, cursor), start(before: cursor, room - 1))
    first = min(first, start(before: characters.count, room - 1))
  }

  /// The same for a field of several lines, with the rows that its layout has room for.
  mutating func fit(columns: Int, rows height: Int) {
    let height = min(max(height, 1), LiveDraft.rowsMax)
    guard self.columns != max(columns, 1) || self.height != height else { return }
    self.height = height
    fit(columns: columns, isMultiline: true)
  }

  /// Breaks the text into rows: at newlines, behind blanks, and anywhere in words that are too long.
  private func brokenRows(_ room: Int) -> [Range<Int>] {
    var rows: [Range<Int>] = []
    var (start, used) = (0, 0)
    var wordStart: Int?
    func width(_ range: Range<Int>) -> Int {
      range.reduce(0) { $0 + String(characters[$1]).columns }
    }
    for (index, character) in characters.enumerated() {
      guard !character.isNewline else {
        rows.append(start..<index)
        (start, used, wordStart) = (index + 1, 0, nil)
        continue
      }
      let columns = String(character).columns
      // A blank at the end of a row needs no room.
      if used + columns > room, character != " ", index > start {
        let end = wordStart ?? index
        rows.append(start..<end)
        (start, used, wordStart) = (end, width(end..<index), nil)
      }
      used += columns
      if character == " " { wordStart = index + 1 }
    }
    return rows + [start..<characters.count]
  }

  /// The last row that begins at the cursor or before it.
  private func cursorRow(in rows: [Range<Int>]) -> Int {
    rows.lastIndex { $0.lowerBound <= cursor } ?? 0
  }

  /// A row without the blanks at its end for which there is no room.
  private func text(_ row: Range<Int>) -> String {
    var text = String(characters[row])
    while let columns, text.columns > columns, text.last == " " { text.removeLast() }
    return text
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

  /// Inserts text at the cursor, in place of the selected text.
  mutating func insert(_ text: String) {
    deleteSelection()
    replace(cursor..<cursor, with: text)
  }

  mutating func deleteBackward() {
    guard !deleteSelection(), cursor > 0 else { return }
    replace(cursor - 1..<cursor, with: "")
  }

  mutating func deleteForward() {
    guard !deleteSelection(), cursor < characters.count else { return }
    replace(cursor..<cursor + 1, with: "")
  }

  mutating func deleteWord() {
    guard !deleteSelection() else { return }
    while cursor > 0, characters[cursor - 1] == " " { deleteBackward() }
    while cursor > 0, characters[cursor - 1] != " " { deleteBackward() }
  }

  mutating func deleteToStart() {
    anchor = nil
    replace(0..<cursor, with: "")
  }

  mutating func deleteToEnd() {
    anchor = nil
    replace(cursor..<characters.count, with: "")
  }

  /// Moves the cursor. Without `selects`, a selection ends at its edge in that direction.
  mutating func move(by distance: Int, selects: Bool = false) {
    let selection = selection
    if !selects, !selection.isEmpty {
      cursor = distance < 0 ? selection.lowerBound : selection.upperBound
      anchor = nil
      return
    }
    select(selects)
    cursor = min(max(0, cursor + distance), characters.count)
  }

  /// Moves the cursor to another row, to the same column or the row's end. Returns false if there is
  /// none.
  mutating func moveRow(by step: Int, selects: Bool = false) -> Bool {
    guard let rows else { return false }
    let row = cursorRow(in: rows)
    guard rows.indices.contains(row + step) else { return false }
    select(selects)
    let column = String(characters[rows[row].lowerBound..<cursor]).columns
    let target = rows[row + step]
    // The end of a row that is broken belongs to the next one.
    let end =
      rows.indices.contains(row + step + 1)
        && rows[row + step + 1].lowerBound == target.upperBound
      ? target.upperBound - 1 : target.upperBound
    cursor = target.lowerBound
    var used = 0
    while cursor < max(end, target.lowerBound) {
      used += String(characters[cursor]).columns
      guard used <= column else { break }
      cursor += 1
    }
    return true
  }

  mutating func moveToStart(selects: Bool = false) {
    select(selects)
    cursor = 0
  }

  mutating func moveToEnd(selects: Bool = false) {
    select(selects)
    cursor = characters.count
  }
}
