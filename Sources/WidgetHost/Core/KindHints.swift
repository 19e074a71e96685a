import WidgetBundle
import WidgetModel

/// The hints about kinds that nobody has registered, such as `did you mean "gauge"?`.
///
/// A search compares the kind with all names, and each change of a bundle's state asks for the hints
/// again. So they are kept until the names change.
struct KindHints: Sendable {
  struct Names: Hashable, Sendable {
    /// The kinds of bundles that run, of programs, and of the daemon.
    var known: Set<KindName> = []
    /// The last known kinds of all bundles. They count if none of the others is similar: the file of
    /// a bundle can have a mistake, or be missing.
    var last: Set<KindName> = []
  }

  private struct Query: Hashable {
    let kind: KindName
    /// The kinds of the bundle itself that are not known, because the bundle does not run.
    let own: Set<KindName>
  }

  private static let countMax = 1_000

  private var names = Names()
  private var hints: [Query: String] = [:]
  /// The number of searches so far.
  private(set) var searchCount = 0

  mutating func use(_ names: Names) {
    guard names != self.names else { return }
    self.names = names
    hints = [:]
  }

  mutating func hint(for kind: KindName, besides own: Set<KindName> = []) -> String {
    let query = Query(kind: kind, own: own.subtracting(names.known))
    if let hint = hints[query] { return hint }
    let hint =
      suggestion(for: kind, among: names.known.union(query.own))
      ?? suggestion(for: kind, among: names.last) ?? MissingKind.advice
    searchCount += 1
    if hints.count >= KindHints.countMax { hints = [:] }
    hints[query] = hint
    return hint
  }

  private func suggestion(for kind: KindName, among names: Set<KindName>) -> String? {
    MissingKind.suggestion(for: kind, among: names.map(\.rawValue).sorted())
  }
}
