import WidgetModel

/// "did you mean": the known name that was probably meant.
enum Suggestion {
  /// The name that was probably meant; nil if none is near. The names can have any order.
  static func closest(to name: String, among names: some Sequence<String>) -> String? {
    // `x` is not a slip for another variable `y`.
    guard name.utf8.count > 1 else { return nil }
    // Names of a dictionary come in another order each time.
    return name.closest(among: names.sorted())
  }

  /// `; did you mean 'x'?` or nothing.
  static func hint(for name: String, among names: some Sequence<String>) -> String {
    closest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
  }
}
