import WidgetClient
import WidgetModel

/// Warnings about widgets that fail right after a command has made or changed them.
enum FailureWarnings {
  /// The number of widgets that are named.
  static let shown = 20

  /// A warning for each widget whose content or timeline fails. An error of the widget itself is
  /// not reported: somebody has set it, or it is older.
  static func warnings(_ widgets: [Widget]) -> [RequestWarning] {
    let all = widgets.compactMap(warning)
    guard all.count > shown else { return all }
    return all.prefix(shown) + [
      RequestWarning(
        reason: "WIDGET_FAILS",
        message: "\(all.count - shown) more widgets fail; `widgetctl ls --failing` lists them",
        metadata: [:])
    ]
  }

  private static func warning(_ widget: Widget) -> RequestWarning? {
    let causes = widget.failures.compactMap { failure -> String? in
      switch failure {
      case .error, .activity: nil
      case .timeline(let problem, _): "its timeline: \(problem.onOneLine.withoutFinalPeriod)"
      case .content(let node, let problem, _):
        "its node \"\(node)\": \(problem.onOneLine.withoutFinalPeriod)"
      }
    }
    guard let first = causes.first else { return nil }
    let more = causes.count > 1 ? " (and \(causes.count - 1) more)" : ""
    return RequestWarning(
      reason: "WIDGET_FAILS",
      message: "widget \"\(widget.id)\" fails now: \(first)\(more); "
        + "`widgetctl get \(widget.id)` shows all of it",
      metadata: ["widget_id": widget.id.rawValue])
  }

  /// Selectors that the daemon takes: at most `selector_terms_max` terms each.
  static func selectors(_ ids: [WidgetID], _ kinds: [KindName]) -> [Selector] {
    ids.chunks(ofAtMost: termsMax).map { Selector(ids: $0) }
      + kinds.chunks(ofAtMost: termsMax).map { Selector(kinds: $0) }
  }

  static let termsMax = 500

  /// Asks the daemon about the widgets that `apply` has made or changed, and about those of changed
  /// kinds. None if the daemon does not answer.
  static func ask(
    after widgets: [ApplyResult], _ kinds: [KindResult], _ session: Session
  ) async -> [RequestWarning] {
    let ids = widgets.filter { [.created, .updated].contains($0.action) }.map(\.id)
    let names = kinds.filter { [.created, .updated].contains($0.action) }.map(\.name)
    guard let mask = try? ReadMask(paths: ["position"] + Widget.failurePaths) else { return [] }
    var found: [WidgetID: Widget] = [:]
    for selector in selectors(ids, names) {
      let answer = try? await session.list(selector, mask: mask)
      for tagged in answer?.widgets ?? [] { found[tagged.widget.id] = tagged.widget }
    }
    return warnings(found.values.sorted { $0.position < $1.position })
  }
}

extension Array {
  fileprivate func chunks(ofAtMost count: Int) -> [[Element]] {
    stride(from: 0, to: self.count, by: count).map {
      Array(self[$0..<Swift.min($0 + count, self.count)])
    }
  }
}
