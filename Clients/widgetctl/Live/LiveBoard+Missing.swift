import WidgetClient
import WidgetModel

/// The widgets of the command line that do not exist.
extension LiveBoard {
  /// The ids of the command line without a widget, in their order.
  var missing: [WidgetID] {
    mirror.isSynced ? options.ids.filter { mirror[$0] == nil } : []
  }

  /// Names the first widget that does not exist in the status line, if others are shown.
  mutating func nameMissing() {
    guard missing.count < options.ids.count, let words = wordsForMissing else { return }
    notice = words
  }

  /// Takes the ids of all widgets, to find the one that was probably meant.
  mutating func suggest(among ids: [String]) {
    knownIDs = ids
    nameMissing()
  }

  /// The first widget that does not exist, and the number of others. Nil if all exist.
  var wordsForMissing: String? {
    let missing = missing
    guard let first = missing.first else { return nil }
    let words = FollowOptions.missingText(of: first, among: knownIDs, waits: true)
    guard missing.count > 1 else { return words }
    let others = missing.count == 2 ? "another id" : "\(missing.count - 1) other ids"
    return "\(words); \(others) without a widget"
  }
}
