import WidgetClient
import WidgetModel
import WidgetTimers

/// Turns frames of a stream into text: lines for people, or one document per frame.
///
/// For people, it keeps the last printed state of each widget, to print the former values.
struct WatchPrinter: Sendable {
  let format: OutputFormat
  let mask: ReadMask
  /// Reduces a widget to the fields that the lines for people compare.
  let projection: @Sendable (Widget) -> Widget
  let painter: Painter
  /// The columns of the terminal, to which lines are cut. Nil without a terminal.
  let width: Int?
  /// Whether lines for people have the changes of the content.
  let tellsContent: Bool
  /// The word for a widget that the daemon no longer sends.
  private let goneWord: String
  /// The time now, for frames without a time.
  var now: @Sendable () -> Timestamp = { .wallClock() }
  /// The text of a time of day, for people.
  var clock: @Sendable (Timestamp) -> String = { Terminal.timeOfDay($0) }
  private var shown: [WidgetID: Widget] = [:]
  private typealias Phrase = ChangeText.Phrase
  /// The room that a failure gets before the phrases in front of it, unless it needs less.
  private static let failureColumnsMin = 24
  /// The minimum room for a shortened failure.
  private static let reasonColumnsMin = 8
  /// The minimum width of lines with the time.
  private static let timedColumnsMin = 40

  /// - Parameter mayLeave: whether a widget can leave the selection without being removed. The
  ///   daemon sends the same change in both cases.
  init(
    format: OutputFormat, mask: ReadMask, painter: Painter, width: Int? = nil,
    tellsContent: Bool = true, mayLeave: Bool = false,
    projection: @escaping @Sendable (Widget) -> Widget = { $0 }
  ) {
    self.tellsContent = tellsContent
    goneWord = mayLeave ? "left" : "removed"
    self.projection = projection
    self.format = format
    self.mask = mask
    self.painter = painter
    self.width = width
  }

  /// The text to print for a frame.
  ///
  /// - Parameters:
  ///   - difference: the visible changes of the frame in `mirror`; nil for none.
  ///   - mirror: the state after the frame; only needed for people.
  ///   - isFirst: no state was visible before.
  mutating func text(
    _ frame: WatchFrame, difference: WidgetMirror.Difference?, mirror: WidgetMirror?, isFirst: Bool
  ) -> String {
    guard format == .table else {
      return frame.documents(mask: mask).map(text(of:)).joined()
    }
    switch frame {
    case .events(let batch): return batch.events.map(text).joined()
    case .gap(let gap): return text(gap)
    case .changes(let set) where difference == nil && mirror?.isSynced != true:
      return set.changes.map(text(withoutState:)).joined()
    default: break
    }
    guard let difference, let mirror else { return "" }
    return lines(of: difference, mirror, isFirst: isFirst)
  }

  /// A document in the format; never called for the table format.
  private func text(of document: Value) -> String {
    format == .yaml
      ? "---\n" + YAMLWriter.document(document) : JSONWriter.compact(document) + "\n"
  }

  private mutating func lines(
    of difference: WidgetMirror.Difference, _ mirror: WidgetMirror, isFirst: Bool
  ) -> String {
    var text = ""
    for widget in difference.removed {
      text += line(now(), goneWord, .bad, widget.id, [])
      shown[widget.id] = nil
    }
    for whole in difference.added.compactMap({ mirror[$0] }) {
      let widget = projection(whole)
      text += line(
        time(widget.updateTime), isFirst ? "current" : "added", isFirst ? .dim : .good, widget.id,
        description(widget, failure: failure(of: whole)))
      shown[widget.id] = widget
    }
    for widget in difference.updated.compactMap({ mirror[$0].map(projection) }) {
      var phrases =
        shown[widget.id].map {
          ChangeText.phrases($0, widget, tellsContent: tellsContent)
        } ?? []
      if !mask.isEverything, mask.wants(.updateTime) {
        phrases.append(Phrase("updateTime: \(RFC3339.text(widget.updateTime))"))
      }
      shown[widget.id] = widget
      // A change outside the mask changes only the revision.
      guard !phrases.isEmpty else { continue }
      text += line(time(widget.updateTime), "updated", .warning, widget.id, phrases)
    }
    return text
  }

  /// A line for a change of a widget without a known former state.
  private func text(withoutState change: WidgetChange) -> String {
    switch change {
    case .added(let widget, _):
      return line(
        time(widget.updateTime), "added", .good, widget.id,
        description(projection(widget), failure: failure(of: widget)))
    case .removed(let id, _):
      return line(now(), goneWord, .bad, id, [])
    case .updated(let update):
      var phrases: [Phrase] = []
      if let presence = update.presence {
        phrases.append(Phrase("state: \(presence.state.name)"))
      }
      // An update does not have the kind, and so not the order of the kind's data.
      phrases += self.phrases(update.setData, update.unsetData, prefix: "", .usual)
      phrases += self.phrases(update.setParameters, update.unsetParameters, prefix: "parameters.")
      if let labels = update.labels {
        phrases.append(Phrase("labels: \(JSONWriter.compact(labels.document))"))
      }
      if let isStale = update.isStale { phrases.append(Phrase(isStale ? "stale" : "fresh")) }
      if let error = update.error { phrases += ChangeText.phrases(of: error) }
      if let problem = update.timeline??.problem, !problem.isEmpty {
        phrases.append(ChangeText.phrase(ofTimeline: problem))
      }
      if let activity = update.activity {
        phrases.append(Phrase("activity: \(activity.state.name)"))
      }
      let failed = Content(rootID: "", nodes: update.content?.setNodes ?? []).failures
      phrases += failed.map { Phrase(failure: $0.words { _ in "" }) }
      if update.position != nil { phrases.append(Phrase("moved")) }
      return line(update.updateTime, "updated", .warning, update.id, phrases)
    }
  }

  private func phrases(
    _ set: ValueMap, _ unset: [String], prefix: String, _ order: DataOrder = .unchanged
  ) -> [Phrase] {
    let changes: [(key: String, value: String)] =
      set.entries.map { (key: $0.key, value: JSONWriter.compact($0.value)) }
      + unset.map { (key: $0, value: "nothing") }
    return order.sorted(changes) { $0.key }.map {
      Phrase("\(prefix)\($0.key.safeForTerminal): \($0.value)")
    }
  }

  /// `! failed: no answer (for 5m)`; nil if nothing has failed.
  private func failure(of widget: Widget) -> Phrase? {
    let now = self.now()
    return widget.keepingPromises(at: now).failureSummary(DateText(now: now)).map {
      Phrase(failure: $0)
    }
  }

  /// A widget that appears, in short. The reason of its failure comes before the data, whose end may be
  /// cut off.
  private func description(
    _ widget: Widget, failure: Phrase?
  ) -> [Phrase] {
    var phrases = [Phrase(widget.kind.rawValue)]
    if mask.wants(.presence), !mask.isEverything || widget.stateWords != "visible" {
      phrases.append(Phrase(widget.stateWords))
    }
    if let failure { phrases.append(failure) }
    let data = mask.isEverything ? widget.dataSummary : widget.data.wholeDataSummary
    if !data.isEmpty { phrases.append(Phrase(data)) }
    // Without --field, a line has no room for these fields.
    if !mask.isEverything {
      phrases += self.phrases(widget.parameters, [], prefix: "parameters.")
      if mask.wants(.labels) {
        phrases.append(Phrase("labels: \(JSONWriter.compact(widget.labels.document))"))
      }
      phrases += fields(of: widget).map { Phrase($0) }
    }
    return phrases
  }

  /// Fields that only `--field` asks for: `position: 3`, `updateTime: 2026-…`
  private func fields(of widget: Widget) -> [String] {
    let all: [(field: ReadMask.Field, phrase: String)] = [
      (.family, "family: \(widget.family.name)"), (.position, "position: \(widget.position)"),
      (.stale, "stale: \(widget.isStale)"),
      (.createTime, "createTime: \(RFC3339.text(widget.createTime))"),
      (.updateTime, "updateTime: \(RFC3339.text(widget.updateTime))"),
      (.ownerUID, "ownerUid: \(widget.ownerUID)"),
      (.applySet, "applySet: \(JSONWriter.quoted(widget.applySet))"),
    ]
    return all.filter { mask.wants($0.field) }.map(\.phrase)
  }

  /// With a mask, the time of a change may not have been sent.
  private func time(_ time: Timestamp) -> Timestamp { time == .epoch ? now() : time }

  private func line(
    _ time: Timestamp, _ verb: String, _ style: Style, _ id: WidgetID,
    _ phrases: [Phrase]
  ) -> String {
    let padding = String(repeating: " ", count: max(0, 7 - verb.count))
    let time = clock(time)
    var rest = " \(id)" + phrases.map { "  \($0.text)" }.joined()
    guard let width else {
      return painter.paint(time, .dim) + " " + painter.paint(verb, style) + padding + rest + "\n"
    }
    // The id and the failure are more important than the time.
    let hasTime = width >= WatchPrinter.timedColumnsMin
    let shownVerb = verb.cut(toColumns: width)
    let used = (hasTime ? time.columns + 1 : 0) + shownVerb.columns + padding.count
    let room = max(width - used, 0)
    if rest.columns > room { rest = shortened("\(id)", phrases, to: room) ?? rest }
    rest = rest.cut(toColumns: room)
    return (hasTime ? painter.paint(time, .dim) + " " : "") + painter.paint(shownVerb, style)
      + (rest.isEmpty ? "" : padding + rest) + "\n"
  }

  /// The id and the phrases, such that the first failure is visible. Phrases in front of it are left
  /// out, the last one first, and then the id is shortened. Nil if nothing has failed.
  private func shortened(
    _ id: String, _ phrases: [Phrase], to room: Int
  ) -> String? {
    guard let index = phrases.firstIndex(where: { $0.failure != nil }) else { return nil }
    let failure = phrases[index].text
    var before = phrases[..<index]
    var start: String { " \(id)" + before.map { "  \($0.text)" }.joined() + "  " }
    let wanted = min(failure.columns, WatchPrinter.failureColumnsMin)
    while room - start.columns < wanted, before.popLast() != nil {}
    let least = WatchPrinter.reasonColumnsMin
    let first =
      room - start.columns < least
      ? " " + id.cut(toColumns: max(room - least - 3, least)) + "  " : start
    let cell = Table.Cell(failure, reason: phrases[index].failure, lead: "! ")
    let shown = cell.cut(toColumns: max(room - first.columns, least))
    // The ellipsis of a cut phrase would hide the end of the failure.
    guard shown == failure, room - (first + failure).columns > 3 else { return first + shown }
    return first + failure + phrases[(index + 1)...].map { "  \($0.text)" }.joined()
  }

  /// An event.
  func text(_ event: Event) -> String {
    guard format == .table else { return text(of: event.document) }
    var phrases = [event.name.safeForTerminal]
    if !event.nodeID.isEmpty { phrases.append("node=\(event.nodeID.safeForTerminal)") }
    if !event.payload.isEmpty { phrases.append(event.payload.summary) }
    if event.isForced { phrases.append("forced") }
    let client = event.origin.client.isEmpty ? "" : " \(event.origin.client.safeForTerminal)"
    phrases.append("(#\(event.sequence) uid \(event.origin.uid)\(client))")
    return line(time(event.time), "event", .good, event.widgetID, phrases.map { Phrase($0) })
  }

  /// Events that this reader may have missed.
  func text(_ gap: EventGap) -> String {
    guard format == .table else { return text(of: gap.document) }
    return painter.paint(clock(now()), .dim) + " " + painter.paint("gap", .bad)
      + "     events \(gap.firstSequence) to \(gap.lastSequence) may be missing; a restart of the daemon "
      + "skips numbers that no event has\n"
  }
}
