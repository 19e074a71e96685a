package import WidgetModel

/// The next step for a kind that nobody provides. The reader of bundles, the host and `widgetctl` know
/// different kinds of others, and all use these words.
package enum MissingKind {
  /// The step if no known kind is similar.
  package static let advice = "`widgetctl kinds` lists the kinds of all programs"

  package static func hint(for kind: KindName, among names: [String]) -> String {
    suggestion(for: kind, among: names) ?? advice
  }

  /// `did you mean "gauge"?`; nil if no kind is similar.
  ///
  /// - Parameter names: the known kinds. The kind itself can be among them, if the daemon has not
  ///   taken its bundle yet.
  package static func suggestion(for kind: KindName, among names: [String]) -> String? {
    kind.rawValue.closest(among: names.filter { $0 != kind.rawValue }).map {
      "did you mean \"\($0)\"?"
    }
  }
}
