/// The advice for an option before values that a command takes without an option.
enum BareValues {
  /// Options that other commands or tools have for such values.
  private static let options = [
    "set": ["--data", "--set"], "send": ["--data", "--payload", "--set"],
    "bundle set": ["--data", "--param", "--set"],
  ]

  /// The words before the values: ids and the name of an event.
  private static let wordsBefore = ["set": 1, "send": 2, "bundle set": 1]

  /// ``leave --data out: `widgetctl set usage percent=1` ``. Nil if the command takes no such values,
  /// or if no value follows the option.
  static func advice(about option: String, _ arguments: [String]) -> String? {
    let names = arguments.prefix(arguments.first == "bundle" ? 2 : 1).joined(separator: " ")
    guard options[names]?.contains(option) == true else { return nil }
    var rest: [String] = []
    var isAfterEnd = false
    var isAfterOption = false
    for argument in arguments {
      if argument == "--" { isAfterEnd = true }
      guard !isAfterOption || isAssignment(argument) else { return nil }
      isAfterOption = !isAfterEnd && argument == option
      guard !isAfterOption else { continue }
      guard !isAfterEnd, argument.hasPrefix("\(option)=") else {
        rest.append(argument)
        continue
      }
      let value = String(argument.dropFirst(option.count + 1))
      guard isAssignment(value) else { return nil }
      rest.append(value)
    }
    guard !isAfterOption, let first = rest.firstIndex(where: isAssignment) else { return nil }
    guard first >= names.split(separator: " ").count + (wordsBefore[names] ?? 0) else {
      return
        "leave \(option) out, and write the values last: `widgetctl \(names) --help` has the order"
    }
    return "leave \(option) out: `widgetctl \(rest.map(\.asArgument).joined(separator: " "))`"
  }

  /// Whether a command line has an option of a command with such values.
  static func isMeant(in arguments: [String]) -> Bool {
    arguments.prefix { $0 != "--" }.contains { argument in
      advice(about: String(argument.prefix { $0 != "=" }), arguments) != nil
    }
  }

  /// `percent=1`
  private static func isAssignment(_ word: String) -> Bool {
    !word.hasPrefix("-") && word.dropFirst().contains("=")
  }
}
