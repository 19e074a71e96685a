import WidgetModel

extension Table {
  /// ID KIND STATE REVISION AGE DATA, a row a widget.
  ///
  /// - Parameter now: what ages are measured from.
  static func of(_ widgets: [Widget], now: Timestamp) -> Table {
    var table = Table("ID", "KIND", "STATE", "REVISION", "AGE", "DATA")
    for widget in widgets {
      table.add(
        Cell(widget.id.rawValue), Cell(widget.kind.rawValue),
        Cell(widget.stateWords, widget.stateStyle), Cell("\(widget.revision)"),
        Cell(DurationSyntax.age(now.duration(since: widget.createTime))),
        Cell(widget.data.summary))
    }
    return table
  }
}

extension Widget {
  /// The state, and what else is to be known: `visible`, `hidden,stale`, `visible,error`.
  var stateWords: String {
    presence.state.name + (isStale ? ",stale" : "") + (error == nil ? "" : ",error")
  }

  var stateStyle: Style {
    if error != nil { return .bad }
    if isStale { return .warning }
    return switch presence.state {
    case .visible: .good
    case .hidden: .dim
    case .disabled: .warning
    }
  }
}

extension ValueMap {
  /// On one line: `n=1 text="hi"`.
  var summary: String {
    entries.map { "\($0.key.safeForTerminal)=\(JSONWriter.compact($0.value))" }
      .joined(separator: " ")
  }
}
