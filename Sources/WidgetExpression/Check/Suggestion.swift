import WidgetModel

/// "did you mean": the known name that was probably meant.
enum Suggestion {
  /// The name that was probably meant: the one for a name of another language, or the nearest one.
  /// Nil if none is near. The names can have any order.
  static func closest(to name: String, among names: some Sequence<String>) -> String? {
    // A name of one character is near every other one, so it gets no suggestion.
    guard name.utf8.count > 1 else { return nil }
    // The names are sorted, because the order of a dictionary's names is random.
    let names = names.sorted()
    if let meant = ForeignWords.functions[name], names.contains(meant) { return meant }
    return name.closest(among: names)
  }

  /// `; did you mean 'x'?` or nothing.
  static func hint(for name: String, among names: some Sequence<String>) -> String {
    closest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// `there are a, b`, sorted. At least one name.
  static func list(of names: [String]) -> String {
    "there \(names.count == 1 ? "is" : "are") \(names.sorted().joined(separator: ", "))"
  }
}
