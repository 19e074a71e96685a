import WidgetBundle
import WidgetModel

/// A problem of a widget, on one line.
struct WidgetProblem: Hashable {
  var text: String
  /// Whether the widget is only stale: a warning. Other problems are errors.
  var isStaleness = false
}

extension Widget {
  /// The problems of the widget, such as `stale: widgetd-host has been away for 5m` and
  /// `failed: no answer (for 5m)`. Several errors are in the widget's order, as everywhere.
  ///
  /// - Parameter most: The maximum number of characters of the error's message. The age comes after
  ///   a cut message.
  func problems(
    _ dates: DateText, _ providers: ProviderFacts = ProviderFacts(), most: Int = .max
  ) -> [WidgetProblem] {
    var problems = kindProblem(dates).map { [WidgetProblem(text: $0)] } ?? []
    if let staleness = providers.staleness(of: self) {
      let text = repeatsError(staleness) ? "stale" : "stale: \(staleness.words(dates))"
      problems.append(WidgetProblem(text: text, isStaleness: true))
    }
    return problems
      + untoldFailures.map {
        WidgetProblem(text: $0.words(most: most) { "for \(dates.age(of: $0))" })
      }
  }

  /// The first failure on one line, with the number of the others; nil if nothing has failed.
  func failureSummary(_ dates: DateText) -> String? {
    let failures = failures
    return failures.first.map { first in
      first.words { "for \(dates.age(of: $0))" }
        + (failures.count > 1 ? " (and \(failures.count - 1) more)" : "")
    }
  }

  /// The texts of the problems, for renderers that show them in one colour.
  func failures(
    _ dates: DateText, _ providers: ProviderFacts = ProviderFacts(), most: Int = .max
  ) -> [String] {
    problems(dates, providers, most: most).map(\.text)
  }

  /// The line about a kind that is not registered, with the time since the widget's last change. If an
  /// error says why the widget is stale, the line has no time. Nil if the kind is registered.
  ///
  /// - Parameter span: The words for the time since then: `for 5m`.
  func kindProblem(_ span: (Timestamp) -> String) -> String? {
    guard isOfUnknownKind else { return nil }
    let problem = "the kind \"\(kind)\" is not registered"
    return hasBundleError ? problem : "\(problem); not updated \(span(updateTime))"
  }

  /// The same with the age relative to now.
  func kindProblem(_ dates: DateText) -> String? {
    kindProblem { "for \(dates.age(of: $0))" }
  }

  /// The content without the daemon's line about an unregistered kind. `problems` has that line.
  var shownContent: Content? {
    guard isOfUnknownKind, var content else { return content }
    content.nodes.removeAll { $0.id == DataTable.kindNoteID }
    for index in content.nodes.indices {
      content.nodes[index].childIDs.removeAll { $0 == DataTable.kindNoteID }
    }
    return content
  }

  /// Whether the widget's error has the reason of its staleness already: a failed source, or the file
  /// of the bundle. The file is not the reason if the bundle is stopped.
  func repeatsError(_ staleness: Staleness) -> Bool {
    switch staleness.cause {
    case .sources: error?.all.contains { $0.reason == "SOURCE_FAILED" } == true
    case .bundle(let state, _): state == "failed" && hasBundleError
    case .unknown: hasBundleError
    case .hostEnded, .noHost, .silent, .providerAway, .providerSilent, .provider, .mark, .timeline,
      .activitySilent, .activityExpired:
      false
    }
  }

  /// Whether the host has made the widget stale because of the file of a bundle, and says so.
  var hasBundleError: Bool {
    isStale && error?.all.contains { $0.reason == WidgetOffer.reason } == true
  }

  /// A line for each failed source and action of a bundle's widget. Placeholders in the content may
  /// hide such a failure. A failure whose error somebody has cleared has no line.
  var statusFailures: [String] {
    guard case .map(let status)? = data["status"] else { return [] }
    return status.entries.compactMap { entry in
      guard case .map(let one) = entry.value, one["failed"] == .bool(true),
        one["cleared"] != .bool(true), case .string(let message)? = one["message"]
      else { return nil }
      let title = if case .string(let title)? = one["title"] { title } else { "" }
      // An error of the widget may be the same failure. The error of a refused form has other words.
      var told = message
      if case .string(let words)? = one["errorMessage"] { told = words }
      guard error?.all.contains(where: { $0.tells(title, told) }) != true else { return nil }
      return "! \(entry.key.onOneLine) failed: \(message.onOneLine)"
    }
  }
}

extension Content {
  /// A line that begins with `!` for each problem of a node, and for each token that the theme lacks.
  ///
  /// - Parameters:
  ///   - tellsAll: Whether to include problems that a placeholder hides.
  ///   - dates: The words for the age of a problem; nil for no ages.
  func problemLines(
    tellsAll: Bool, theme: Theme = .standard, _ dates: DateText? = nil
  ) -> [String] {
    nodes.flatMap { node in
      let told = node.problems.filter { tellsAll || !node.hasPlaceholder(for: $0) }
      let age = dates.flatMap { dates in
        node.problemSince.map { " (for \(dates.age(of: $0)))" }
      }
      return
        (told.map { $0.onOneLine + (age ?? "") }
        + node.unknownTokens(of: theme).map(\.description.onOneLine))
        .map { "! \(node.id.safeForTerminal): \($0)" }
    }
  }
}

extension Value {
  /// Unchanged text, whole numbers without a point, nothing for null, other values as JSON.
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
  /// The text on one line, with `⏎` for each newline, and safe to print on a terminal.
  var onOneLine: String {
    split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { String($0.map { $0 == "\t" ? " " : $0 }).safeForTerminal }
      .joined(separator: " ⏎ ")
  }
}

extension ValueMap.Entry {
  /// `key: value`, with unchanged text.
  var line: String { "\(key.onOneLine): \(value.plainText.onOneLine)" }
}

extension WidgetError {
  /// Whether the error is the failure with this title and message. The host joins them in an error.
  /// Without a title, the message after the name counts.
  fileprivate func tells(_ title: String, _ message: String) -> Bool {
    guard title.isEmpty else {
      return self.message == (message.isEmpty ? title : "\(title): \(message)")
    }
    guard !message.isEmpty else { return false }
    guard let name = self.message.firstRange(of: ": ") else { return self.message == message }
    return self.message == message || self.message[name.upperBound...] == message
  }

  /// The message on one line. Without a message, the reason in words: `source failed`.
  var words: String {
    guard message.isEmpty else { return message.onOneLine }
    return reason.lowercased().replacing("_", with: " ").onOneLine
  }

  /// The error on one line, such as `failed: no answer`. A message that starts with what has failed,
  /// such as `Feed failed: no answer`, does not change.
  var failure: String {
    let words = words
    let start = words.firstRange(of: ": ").map { words[..<$0.lowerBound] } ?? words[...]
    return start.lowercased().contains("failed") ? words : "failed: \(words)"
  }

  /// The error on one line with its age, such as `failed: no answer (for 5m)`.
  ///
  /// - Parameter most: The maximum number of characters of the message.
  func words(_ dates: DateText, most: Int = .max) -> String {
    words(most: most) { "for \(dates.age(of: $0))" }
  }

  /// - Parameter span: The words for the time since then: `for 5m`.
  fileprivate func words(most: Int, _ span: (Timestamp) -> String) -> String {
    let all = failure
    let message = all.count > most ? all.prefix(max(most - 1, 0)) + "…" : all
    return message + (since.map { " (\(span($0)))" } ?? "")
  }
}

extension WidgetFailure {
  /// The failure on one line, without its age.
  var reason: String {
    switch self {
    case .error(let error): error.failure
    case .timeline(let problem, _): "timeline: \(problem.onOneLine)"
    case .activity(let status, _): status.isEmpty ? "failed" : "failed: \(status.onOneLine)"
    case .content(let node, let problem, _): "\(node.safeForTerminal): \(problem.onOneLine)"
    }
  }

  /// The failure on one line: `failed: no answer (for 5m)`, `timeline: … (for 5m)`.
  ///
  /// - Parameters:
  ///   - most: The maximum number of characters of an error's message.
  ///   - span: The words for the time since then: `for 5m`.
  func words(most: Int = .max, _ span: (Timestamp) -> String) -> String {
    if case .error(let error) = self { return error.words(most: most, span) }
    return reason + (since.map { " (\(span($0)))" } ?? "")
  }
}
