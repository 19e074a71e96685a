import WidgetModel

/// A widget as people see it: what it shows, or, without that, what it holds.
struct WidgetText {
  let painter: Painter
  var content: ContentText

  /// The widget's lines.
  ///
  /// - Parameters:
  ///   - isTitled: a line with its name comes first, and a line is there even if nothing else is. A
  ///     widget that is stale, has an error, or is hidden or disabled, always says so in its first
  ///     line.
  ///   - isKindKnown: its kind is registered; only asked of widgets without content.
  func lines(of widget: Widget, isTitled: Bool, isKindKnown: Bool) -> [String] {
    var lines: [String] = []
    let marks = marks(of: widget)
    if isTitled || !marks.isEmpty {
      let title = ([widget.id.rawValue] + marks).joined(separator: ", ")
      lines.append(painter.paint(cut(title), marks.isEmpty ? .header : widget.stateStyle))
    }
    guard let shown = widget.content else {
      if !isKindKnown { lines.append(cut("unknown kind \"\(widget.kind)\"")) }
      return lines + widget.data.entries.map { cut($0.line) }
    }
    return lines + content.lines(of: shown) + (content.tellsAll ? statusFailures(of: widget) : [])
  }

  /// A line for each failed source and action of a bundle's widget. The content may show a
  /// placeholder instead.
  private func statusFailures(of widget: Widget) -> [String] {
    guard case .map(let status)? = widget.data["status"] else { return [] }
    return status.entries.compactMap { entry in
      guard case .map(let one) = entry.value, one["failed"] == .bool(true),
        case .string(let message)? = one["message"]
      else { return nil }
      return cut("! \(entry.key.onOneLine): \(message.onOneLine)")
    }
  }

  /// What is to be known of it: `hidden`, `stale`, `FETCH_FAILED for 5m: no answer`.
  private func marks(of widget: Widget) -> [String] {
    (widget.presence.state == .visible ? [] : [widget.presence.state.name]) + failures(of: widget)
  }

  /// What is wrong with it: `stale`, `FETCH_FAILED for 5m: no answer`.
  func failures(of widget: Widget) -> [String] {
    var marks = widget.isStale ? ["stale"] : []
    if let error = widget.error {
      marks.append(error.words(content.dates))
    }
    return marks
  }

  private func cut(_ line: String) -> String {
    content.width.map { line.cut(toColumns: $0) } ?? line
  }
}

extension ValueMap.Entry {
  /// `key: value`, text as it is.
  var line: String { "\(key.onOneLine): \(value.plainText.onOneLine)" }
}

extension WidgetError {
  /// On one line: `FETCH_FAILED for 5m: no answer`.
  func words(_ dates: DateText) -> String {
    let age = since.map { " for \(dates.age(of: $0))" } ?? ""
    return reason.onOneLine + age + (message.isEmpty ? "" : ": \(message.onOneLine)")
  }
}
