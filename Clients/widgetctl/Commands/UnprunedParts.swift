import WidgetClient
import WidgetModel

/// The widgets and kinds of a set that `apply --prune` leaves, because the file has no `widgets:` or
/// no `kinds:` at all.
enum UnprunedParts {
  /// A note for each part of the set that stays. None if the daemon does not answer.
  static func notes(_ file: WidgetFile, of set: String, _ session: Session) async -> [String] {
    var widgets = 0
    if !file.declaresWidgets {
      let all = try? await session.list(Selector(), mask: .setsOnly)
      widgets = all?.widgets.count { $0.widget.applySet == set } ?? 0
    }
    var kinds = 0
    if file.kinds == nil {
      let all = try? await session.kinds().kinds
      kinds = all?.count { $0.provider == set } ?? 0
    }
    return notes(widgets: widgets, kinds: kinds, of: set)
  }

  static func notes(widgets: Int, kinds: Int, of set: String) -> [String] {
    func note(_ count: Int, _ what: String) -> String? {
      guard count > 0 else { return nil }
      return "--prune leaves \(count == 1 ? "1 \(what)" : "\(count) \(what)s") of set "
        + "\(JSONWriter.quoted(set)), because the file has no \(what)s: at all; write "
        + "\(what)s: {} to remove \(count == 1 ? "it" : "them")"
    }
    return [note(widgets, "widget"), note(kinds, "kind")].compactMap(\.self)
  }
}
