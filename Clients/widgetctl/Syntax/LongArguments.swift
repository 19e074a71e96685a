import WidgetModel

extension String {
  /// The text with long arguments cut, so that an error about an argument of 5,000 characters still
  /// shows the mistake.
  ///
  /// - Parameter limit: The maximum number of characters of an argument.
  func cuttingLongArguments(_ arguments: [String], to limit: Int = 80) -> String {
    var text = self
    // An argument can be a part of another one, so the longest is cut first.
    for argument in arguments.flatMap(parts).sorted(by: { $0.count > $1.count })
    where argument.count > limit {
      text = text.replacing(argument, with: argument.prefix(limit - 1) + "…")
    }
    return text
  }

  /// An argument, and the value of `--option=value`.
  private func parts(of argument: String) -> [String] {
    guard argument.hasPrefix("-"), let equals = argument.firstIndex(of: "=") else {
      return [argument]
    }
    return [argument, String(argument[argument.index(after: equals)...])]
  }
}
