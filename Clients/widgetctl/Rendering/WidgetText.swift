import WidgetModel

extension Widget {
  /// What is wrong with it: `stale`, `FETCH_FAILED for 5m: no answer`.
  func failures(_ dates: DateText) -> [String] {
    (isStale ? ["stale"] : []) + (error.map { [$0.words(dates)] } ?? [])
  }

  /// A line for each failed source and action of a bundle's widget. The content may show a
  /// placeholder instead.
  var statusFailures: [String] {
    guard case .map(let status)? = data["status"] else { return [] }
    return status.entries.compactMap { entry in
      guard case .map(let one) = entry.value, one["failed"] == .bool(true),
        case .string(let message)? = one["message"]
      else { return nil }
      return "! \(entry.key.onOneLine): \(message.onOneLine)"
    }
  }

  /// Whether what is shown of it changes with the time alone.
  var followsTime: Bool { error?.since != nil || content?.followsTime ?? false }
}

extension Content {
  /// A line that begins with `!` for each problem of a node, and for each token that the theme lacks.
  ///
  /// - Parameter tellsAll: Also if a placeholder stands in.
  func problemLines(tellsAll: Bool, theme: Theme = .standard) -> [String] {
    nodes.flatMap { node in
      let isTold = !node.problem.isEmpty && (tellsAll || !node.hasPlaceholderForProblem)
      return ((isTold ? [node.problem] : []) + node.unknownTokens(of: theme).map(\.description))
        .map { "! \(node.id.safeForTerminal): \($0.onOneLine)" }
    }
  }

  /// Whether a date in it is said relative to now.
  var followsTime: Bool {
    nodes.contains { node in
      guard node.type == .date, node.properties["format"]?.plainText ?? "" == "" else {
        return false
      }
      return ["relative", "timer"].contains(node.properties["style"]?.plainText)
    }
  }
}

extension Node {
  /// Whether the property that failed has a value all the same: its placeholder.
  fileprivate var hasPlaceholderForProblem: Bool {
    properties[String(problem.prefix { $0 != ":" })] != nil
  }
}

extension Value {
  /// Text as it is, whole numbers without a point, nothing for null, the rest as JSON.
  var plainText: String {
    switch self {
    case .null: ""
    case .string(let text): text
    case .double(let number) where number == number.rounded() && number.magnitude < 1e15:
      "\(Int64(number))"
    default: JSONWriter.compact(self)
    }
  }
}

extension String {
  /// On one line: made safe, with a mark for each newline.
  var onOneLine: String {
    split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { String($0.map { $0 == "\t" ? " " : $0 }).safeForTerminal }
      .joined(separator: " ⏎ ")
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
