import ArgumentParser
import WidgetModel

/// Lets global options stand before the command's name, as in `widgetctl --socket S ls`, and labels
/// directly after `-l`, as in `-lpanel=top`.
///
/// The argument parser accepts them only after the command's name, so they are moved there.
enum ArgumentOrder {
  private static let withValue: Set<String> = [
    "--socket", "-o", "--output", "--timeout", "--request-id",
  ]
  private static let withoutValue: Set<String> = ["-v", "--verbose", "--no-color"]

  static func normalized(_ arguments: [String]) -> [String] {
    inOrder(withNumbers(withoutJoined(arguments)))
  }

  /// Writes `--limit -1` as `--limit=-1`, and `clock advance -1m` as `clock advance -- -1m`. The
  /// argument parser reads a negative number as an option, and its message does not name the
  /// number.
  private static func withNumbers(_ arguments: [String]) -> [String] {
    let options = arguments.prefix { $0 != "--" }
    var result: [String] = []
    var last: String?
    for (index, argument) in options.enumerated() {
      let before = index > 0 ? options[index - 1] : ""
      guard isBelowZero(argument) else {
        result.append(argument)
        continue
      }
      if before.hasPrefix("--"), before.count > 2, !before.contains("=") {
        result[result.count - 1] += "=\(argument)"
      } else if before == "advance", last == nil {
        last = argument
      } else {
        result.append(argument)
      }
    }
    return result + (last.map { ["--", $0] } ?? []) + arguments[options.endIndex...]
  }

  /// `-1`, `-1m`, `-.5`
  private static func isBelowZero(_ argument: String) -> Bool {
    guard argument.hasPrefix("-"), let next = argument.dropFirst().first else { return false }
    return next.isASCII && next.isNumber || next == "."
  }

  /// Writes `-lpanel=top` as `-l=panel=top`. The argument parser reads the former as an option
  /// `-lpanel`.
  private static func withoutJoined(_ arguments: [String]) -> [String] {
    let options = arguments.prefix { $0 != "--" }
    return options.map { argument in
      argument.hasPrefix("-l") && argument.contains("=") && !argument.hasPrefix("-l=")
        ? "-l=" + argument.dropFirst(2) : argument
    } + arguments[options.endIndex...]
  }

  private static func inOrder(_ arguments: [String]) -> [String] {
    var moved: [String] = []
    var index = 0
    while index < arguments.count {
      let argument = arguments[index]
      if withValue.contains(argument), index + 1 < arguments.count {
        moved += [argument, arguments[index + 1]]
        index += 2
      } else if withoutValue.contains(argument)
        || withValue.contains(where: { argument.hasPrefix($0.hasPrefix("--") ? $0 + "=" : $0) })
      {
        moved.append(argument)
        index += 1
      } else {
        break
      }
    }
    guard index < arguments.count, !arguments[index].hasPrefix("-") else { return arguments }
    var names = 1
    // A command with subcommands has no options.
    if hasCommands(arguments[index]), index + 1 < arguments.count,
      !arguments[index + 1].hasPrefix("-")
    {
      names = 2
    }
    return arguments[index..<index + names] + moved + arguments[(index + names)...]
  }

  /// The value of `--socket`, the last one if there are several. Nil without the option.
  static func socket(_ arguments: [String]) -> String? {
    let options = arguments.prefix { $0 != "--" }
    var result: String?
    for (argument, next) in zip(options, options.dropFirst().map { $0 } + [""]) {
      if argument == "--socket" { result = next }
      if argument.hasPrefix("--socket=") { result = String(argument.dropFirst(9)) }
    }
    return result
  }

  /// Options whose empty value would mean another file, or no check. A script usually gives an empty
  /// value because a variable is not set.
  private static let neverEmpty: Set<String> = [
    "--socket", "--dir", "--state-directory", "--arrangement", "--folder", "-f", "--file", "-o",
    "--output", "--etag", "--request-id", "--node", "--to",
  ]

  /// The first option that must not be empty, and is.
  static func emptyOption(_ arguments: [String]) -> String? {
    let options = Array(arguments.prefix { $0 != "--" })
    for (index, argument) in options.enumerated() {
      if neverEmpty.contains(argument), index + 1 < options.count, options[index + 1].isEmpty {
        return argument
      }
      if argument.hasSuffix("="), neverEmpty.contains(String(argument.dropLast())) {
        return String(argument.dropLast())
      }
    }
    return nil
  }

  /// Whether errors are to be JSON, even if the arguments cannot be parsed.
  static func wantsJSON(_ arguments: [String]) -> Bool {
    let options = arguments.prefix { $0 != "--" }
    for (argument, next) in zip(options, options.dropFirst().map { $0 } + [""]) {
      switch argument {
      case "-ojson", "-ojsonl", "-o=json", "-o=jsonl", "--output=json", "--output=jsonl":
        return true
      case "-o", "--output":
        if next == "json" || next == "jsonl" { return true }
      default: break
      }
    }
    return false
  }

  /// The first word (or the second after `help`), if it names a command that does not exist.
  static func unknownCommand(_ arguments: [String]) -> String? {
    let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
    guard let word = words.first, !word.hasPrefix("-"), word != "help" else { return nil }
    guard isCommand(word) else { return word }
    guard hasCommands(word), words.count > 1, let inner = words.dropFirst().first,
      !inner.hasPrefix("-"), inner != "help", !innerCommands(of: word).contains(inner)
    else { return nil }
    return "\(word) \(inner)"
  }

  /// The command that lists the possible commands in place of an unknown one.
  static func helpCommand(for word: String) -> String {
    let parts = word.split(separator: " ")
    return parts.count == 2 ? "widgetctl \(parts[0]) --help" : "widgetctl --help"
  }

  /// The command that is nearest to an unknown one; nil if none is near.
  static func nearestCommand(to word: String) -> String? {
    let parts = word.split(separator: " ").map(String.init)
    if parts.count == 2 {
      return parts[1].closest(among: innerCommands(of: parts[0])).map { "\(parts[0]) \($0)" }
    }
    return word.closest(among: commandNames)
  }

  /// The message for the first option that the command does not have; nil if it has them all.
  static func unknownOption(_ arguments: [String]) -> String? {
    guard let command = command(of: arguments) else { return nil }
    let help = command.helpMessage(includeHidden: true, columns: 1000)
    let known = Set(
      help.split { !($0 == "-" || $0.isLetter || $0.isNumber) }
        .filter { $0.hasPrefix("--") && $0.count > 2 }.map(String.init))
    for argument in arguments.prefix(while: { $0 != "--" }) where argument.hasPrefix("--") {
      let option = String(argument.prefix { $0 != "=" })
      guard !known.contains(option) else { continue }
      if let advice = BareValues.advice(about: option, arguments) {
        return "there is no option \"\(option)\"; \(advice)".cuttingLongArguments(arguments)
      }
      let near = meant(option, among: known) ?? option.closest(among: known.sorted())
      let hint = near.map { "; did you mean \"\($0)\"?" } ?? ""
      return "there is no option \"\(option)\"\(hint)".cuttingLongArguments(arguments)
    }
    return nil
  }

  /// The options that have another name in this command than in others, or than people expect.
  private static let otherNames = [
    "--attach": ["--upload"], "--bundles": ["--dir"],
    "--directory": ["--dir", "--state-directory"], "--file": ["--upload"], "--filter": ["--where"],
    "--folder": ["--dir"], "--follow": ["--watch"], "--format": ["--output"],
    "--json": ["--output"], "--param": ["--set"], "--parameter": ["--param", "--set"],
    "--path": ["--dir"],
    "--query": ["--where"],
  ]

  private static func meant(_ option: String, among known: Set<String>) -> String? {
    (otherNames[option] ?? []).first { known.contains($0) }
  }

  /// The command of the first words; nil if there is none.
  private static func command(of arguments: [String]) -> (any ParsableCommand.Type)? {
    func named(_ word: String, of commands: [any ParsableCommand.Type])
      -> (any ParsableCommand.Type)?
    {
      commands.first {
        $0.configuration.commandName == word || $0.configuration.aliases.contains(word)
      }
    }
    guard let first = arguments.first,
      let command = named(
        first, of: Widgetctl.configuration.groupedSubcommands.flatMap(\.subcommands))
    else { return nil }
    guard arguments.count > 1 else { return command }
    return named(arguments[1], of: command.configuration.subcommands) ?? command
  }

  /// The command for help on the command line: `widgetctl ls --help`.
  static func help(_ arguments: [String]) -> String {
    var command = arguments.first.map { isCommand($0) ? "\($0) " : "" } ?? ""
    if arguments.count > 1, innerCommands(of: arguments[0]).contains(arguments[1]) {
      command += "\(arguments[1]) "
    }
    return "widgetctl \(command)--help"
  }

  private static func hasCommands(_ word: String) -> Bool { !innerCommands(of: word).isEmpty }

  /// The names of the commands of a command of commands, including their other names.
  private static func innerCommands(of word: String) -> [String] {
    let commands = Widgetctl.configuration.groupedSubcommands.flatMap(\.subcommands)
    let command = commands.first { $0.configuration.commandName == word }
    return names(of: command?.configuration.subcommands ?? [])
  }

  private static func isCommand(_ word: String) -> Bool { commandNames.contains(word) }

  /// The names of all commands, including their other names.
  private static var commandNames: [String] {
    names(of: Widgetctl.configuration.groupedSubcommands.flatMap(\.subcommands))
  }

  private static func names(of commands: [any ParsableCommand.Type]) -> [String] {
    commands.flatMap { command in
      [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }
  }
}
