import WidgetModel

extension Table {
  /// The columns of a widget's data in a pipe. `-o json` has all of it.
  static let dataColumnsMax = 120

  /// ID KIND STATE REVISION AGE DATA, one row per widget.
  ///
  /// - Parameters:
  ///   - now: the time from which ages are measured.
  ///   - mask: the requested fields. The others stay empty.
  ///   - reasons: whether the data of a failed widget begins with the reason.
  static func of(
    _ widgets: [Widget], now: Timestamp, mask: ReadMask = .all, reasons: Bool = false
  ) -> Table {
    var table = Table("ID", "KIND", "STATE", "REVISION", "AGE", "DATA", yielding: "KIND")
    for widget in widgets {
      table.add(
        Cell(widget.id.rawValue),
        Cell(widget.kind.rawValue + (widget.isOfUnknownKind ? " (unregistered)" : "")),
        mask.wants(.presence) ? Cell(widget.stateWords, widget.stateStyle) : Cell(""),
        Cell("\(widget.revision)"),
        Cell(
          mask.wants(.createTime)
            ? DurationSyntax.age(now.duration(since: widget.createTime)) : ""),
        Cell(
          ((reasons ? widget.failureMark(now: now) : "") + widget.data.dataSummary)
            .cut(toColumns: dataColumnsMax)))
    }
    return table
  }
}

extension Widget {
  /// Whether the kind is not registered: the daemon's content is then a plain table of the data.
  /// False if the content is missing from the answer.
  var isOfUnknownKind: Bool {
    let note: Value = .string("The kind \"\(kind)\" is not registered.")
    return content?.rootID == "plain"
      && content?[Widget.kindNoteID]?.properties["text"] == note
  }

  /// The node that says that the kind is not registered.
  static let kindNoteID = "kind"

  /// `! failed: no answer (for 5m) `; empty if nothing has failed.
  fileprivate func failureMark(now: Timestamp) -> String {
    failureSummary(DateText(now: now)).map { "! \($0) " } ?? ""
  }

  /// The state and its additions: `visible`, `hidden,stale`, `visible,error`. Each failure counts as an
  /// error.
  var stateWords: String {
    presence.state.name + (isStale ? ",stale" : "") + (hasFailed ? ",error" : "")
  }

  var stateStyle: Style {
    if hasFailed { return .bad }
    if isStale { return .warning }
    return switch presence.state {
    case .visible: .good
    case .hidden: .dim
    case .disabled: .warning
    }
  }
}

extension ValueMap.Entry {
  /// The entry; of `status`, without sources and actions that are idle and say nothing. Nil if no
  /// other is left.
  fileprivate var withoutIdle: Self? {
    guard key == "status", case .map(let status) = value else { return self }
    let telling = status.entries.filter { !$0.isIdle }
    guard !telling.isEmpty || status.entries.isEmpty else { return nil }
    return Self(key: key, value: .map(ValueMap(telling)))
  }

  private var isIdle: Bool {
    guard case .map(let one) = value, one["state"] == .string("idle") else { return false }
    return ["title", "message", "code"].allSatisfy { [nil, .string("")].contains(one[$0]) }
  }
}

extension ValueMap {
  /// On one line: `n=1 text="hi"`.
  var summary: String { ValueMap.summary(entries) }

  /// The same for a widget's data: what says most to people comes first, since the end may be cut off.
  var dataSummary: String {
    let telling = ["text", "title", "value", "state"]
    let first = telling.compactMap { key in entries.first { $0.key == key } }
    let rest = entries.filter { !telling.contains($0.key) }.compactMap(\.withoutIdle)
    return ValueMap.summary(first + rest)
  }

  private static func summary(_ entries: some Sequence<Entry>) -> String {
    entries.map { "\($0.key.safeForTerminal)=\(JSONWriter.compact($0.value))" }
      .joined(separator: " ")
  }
}
