import WidgetBar
import WidgetModel

extension Table {
  /// The maximum width of a widget's data in a pipe. `-o json` has the whole data.
  static let dataColumnsMax = 120

  /// The word for a widget whose kind nobody has registered.
  private static let unregistered = "unregistered"

  /// ID KIND STATE REVISION AGE DATA, one row per widget.
  ///
  /// - Parameters:
  ///   - now: the time from which ages are measured.
  ///   - mask: the requested fields. The others stay empty.
  ///   - reasons: whether the data of a failed widget begins with the reason.
  ///   - providers: with them, the data of a stale widget begins with the reason, too.
  static func of(
    _ widgets: [Widget], now: Timestamp, mask: ReadMask = .all, reasons: Bool = false,
    providers: ProviderFacts? = nil
  ) -> Table {
    var table = Table(
      "ID", "KIND", "STATE", "REVISION", "AGE", "DATA", yielding: "KIND",
      dispensable: ["REVISION", "AGE", "KIND", "DATA"], state: "STATE")
    for widget in widgets.map({ $0.keepingPromises(at: now, providers?.staleness(of: $0)) }) {
      var failure = reasons ? widget.failureMark(now: now) : ""
      var reason = failure.isEmpty ? nil : widget.failures.first?.reason
      if let staleness = providers?.staleness(of: widget), !widget.repeatsError(staleness) {
        let words = staleness.words(DateText(now: now))
        // Both have room.
        if let summary = reason, failure.columns > dataColumnsMax / 2 {
          reason = ReasonText.shortened(summary, to: dataColumnsMax / 2 - 4)
          failure = "! \(reason ?? "") "
        }
        failure += "\(Cell.staleMark)\(words) "
        reason = reason ?? words
      }
      let data = Cell(failure + widget.dataSummary, reason: reason)
      table.add(
        Cell(widget.id.rawValue),
        widget.isOfUnknownKind
          ? Cell("\(widget.kind.rawValue) (\(unregistered))", keyword: unregistered)
          : Cell(widget.kind.rawValue),
        Cell(
          mask.wants(.presence) ? widget.stateWords : "",
          mask.wants(.presence) ? widget.stateStyle : .plain,
          ranking: ["error", "stale", "hidden", "disabled", unregistered]),
        Cell("\(widget.revision)"),
        Cell(
          mask.wants(.createTime)
            ? DurationSyntax.age(now.duration(since: widget.createTime)) : ""),
        Cell(data.cut(toColumns: dataColumnsMax), reason: reason))
    }
    return table
  }
}

extension Widget {
  /// The data in short, without data that only programs read, unless there is nothing else.
  var dataSummary: String {
    guard !programKeys.isEmpty else { return data.dataSummary }
    let isOfHost = kind.rawValue == BundleHost.widget
    let idle: [Value] = isOfHost ? [.string(""), .bool(false), .int(0)] : [.string("")]
    let shown = dataForPeople.filter { !idle.contains($0.value) }
    guard !shown.isEmpty else { return data.dataSummary }
    return ValueMap.summary(
      isOfHost ? shown.dense.map(\.withJoinedPaths) : shown.dense, dataOrder)
  }

  /// The keys of the data that only programs read. The widgets of bundles and of the host have such
  /// data for the next host and for commands.
  var programKeys: [String] {
    switch kind.rawValue {
    case "bundle": ["dropped", "droppedEvents", "handled", "losses", "marks", "settable"]
    case "widgetd-host": ["marks"]
    default: []
    }
  }

  /// The data without these keys.
  var dataForPeople: [ValueMap.Entry] {
    let keys = programKeys
    return data.entries.filter { !keys.contains($0.key) }
  }

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
  /// The folders of the host as one text, which is not cut to `[…]`.
  fileprivate var withJoinedPaths: ValueMap.Entry {
    guard key == "folders", case .list(let folders) = value else { return self }
    return .init(key: key, value: .string(folders.map(\.plainText).joined(separator: ", ")))
  }

  /// A summary for people: `n=1`. Of `status`, it has the messages of sources and actions, and the
  /// states of running and failed ones: `status.load="no answer"`. Nil if nothing is left.
  fileprivate var inShort: String? {
    guard key == "status", case .map(let status) = value, !status.isEmpty,
      case let states = status.entries.map(\.standing), !states.contains(nil)
    else { return "\(key.safeForTerminal)=\(value.inShort)" }
    let telling = zip(status.entries, states).compactMap { entry, state -> String? in
      guard let state, !state.isEmpty else { return nil }
      return "status.\(entry.key.safeForTerminal)=\(state)"
    }
    return telling.isEmpty ? nil : telling.joined(separator: " ")
  }

  /// The text of one source or action of `status`. Empty if it is idle or has succeeded without a
  /// message. Nil if the value is not of a source or an action.
  private var standing: String? {
    guard case .map(let one) = value, case .string(let state)? = one["state"] else { return nil }
    for key in ["message", "title", "code"] {
      if let text = one[key], text != .string(""), text != .null { return JSONWriter.compact(text) }
    }
    return ["idle", "success"].contains(state) ? "" : state.safeForTerminal
  }
}

extension ValueMap {
  /// On one line: `n=1 text="hi"`.
  var summary: String { ValueMap.summary(entries) }

  /// The same for a widget's data, in the usual order. Empty lists and maps are left out, unless there is nothing
  /// else.
  var dataSummary: String { ValueMap.summary(entries.dense, .usual) }

  /// The same with empty lists and maps, for the data that `--field` names.
  var wholeDataSummary: String { ValueMap.summary(entries, .usual) }

  fileprivate static func summary(_ entries: [Entry], _ order: DataOrder) -> String {
    order.sorted(entries) { $0.key }.compactMap(\.inShort).joined(separator: " ")
  }

  private static func summary(_ entries: some Sequence<Entry>) -> String {
    entries.map { "\($0.key.safeForTerminal)=\(JSONWriter.compact($0.value))" }
      .joined(separator: " ")
  }
}

extension [ValueMap.Entry] {
  /// The entries without empty lists and maps. All of them, if there are no others.
  fileprivate var dense: [ValueMap.Entry] {
    let full = filter { $0.value != .list([]) && $0.value != .map([:]) }
    return full.isEmpty ? self : full
  }
}

extension Value {
  /// The maximum width of a list or a map in a summary. A longer one would hide the entries after
  /// it.
  private static let partColumnsMax = 32

  /// The value in a summary for people: dates and durations without their JSON object, and long lists
  /// and maps as `[…]` and `{…}`.
  fileprivate var inShort: String {
    switch self {
    case .timestamp(let time): return RFC3339.text(time)
    case .duration(let duration): return DurationSyntax.seconds(duration)
    case .list, .map:
      let text = JSONWriter.compact(self)
      if text.utf8.count <= Value.partColumnsMax { return text }
      if case .list = self { return "[…]" }
      return "{…}"
    default: return JSONWriter.compact(self)
    }
  }
}
