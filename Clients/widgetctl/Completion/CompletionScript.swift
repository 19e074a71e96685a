import ArgumentParser

/// The completion script for a shell: the argument parser's script, with four additions.
///
/// The argument parser completes nothing after another name of a command, such as `list`, and nothing
/// after `help`. It also makes the shell add a space after `key=`, and lists options before commands.
enum CompletionScript {
  private static let function = "_widgetctl"

  static func text(for shell: CompletionShell) -> String {
    let text = Widgetctl.completionScript(for: shell)
    switch shell {
    case .bash: return bash(text)
    case .zsh: return zsh(text)
    default: return fish(text)
    }
  }

  /// A command that has other names.
  private struct Renamed {
    /// The command around it; nil for a command of `widgetctl`.
    let parent: String?
    let name: String
    let others: [String]

    init?(_ command: any ParsableCommand.Type, in parent: String?) {
      others = command.configuration.aliases
      guard !others.isEmpty else { return nil }
      self.parent = parent
      name = CompletionScript.name(command)
    }
  }

  private static var commands: [any ParsableCommand.Type] {
    Widgetctl.configuration.groupedSubcommands.flatMap(\.subcommands)
  }

  private static func name(_ command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? ""
  }

  /// The commands that have commands, with the names of these.
  private static var nested: [(name: String, inner: [String])] {
    commands.map { ($0, $0.configuration.subcommands) }.filter { !$0.1.isEmpty }
      .map { (name($0.0), $0.1.map(name)) }
  }

  private static var renamed: [Renamed] {
    commands.compactMap { Renamed($0, in: nil) }
      + commands.flatMap { command in
        command.configuration.subcommands.compactMap { Renamed($0, in: name(command)) }
      }
  }

  private static func bash(_ text: String) -> String {
    // "-o filenames" would write `key\=`.
    let added = #"done < <(IFS=$'\n' compgen "${@}" -- "${cur}")"#
    let addition = """

          if [[ "${COMPREPLY[0]-}" = *= ]]; then
              compopt -o nospace +o filenames 2>/dev/null
          fi
      """
    let text = commandsFirst(text.replacing(added, with: added + addition))
    let inner = nested.map { command in
      """
          '2 \(command.name)') names='\(command.inner.joined(separator: " "))' ;;

      """
    }
    let help = """
      \(function)_help() {
          local names=''
          case "${#unparsed_words[@]} ${unparsed_words[0]}" in
          1\\ *) names='\(commands.map(name).joined(separator: " "))' ;;
      \(inner.joined(separator: ""))    esac
          COMPREPLY=($(compgen -W "${names}" -- "${cur}"))
      }


      """
    return withOtherNames(text, help, before: "complete -o filenames -F ")
  }

  /// Lists commands before options, in the order of the help. Bash would sort the options first.
  private static func commandsFirst(_ text: String) -> String {
    let added = "COMPREPLY+=("
    var isNext = false
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
      line -> String in
      defer { isNext = line.hasSuffix("# Offer subcommand completions") }
      guard isNext, line.hasSuffix(")"), let start = line.firstRange(of: added) else {
        return String(line)
      }
      let indent = line[..<start.lowerBound]
      let names = line[start.upperBound...].dropLast()
      return #"""
        \#(indent)compopt -o nosort 2>/dev/null
        \#(indent)COMPREPLY=(\#(names) "${COMPREPLY[@]}")
        """#
    }
    return lines.joined(separator: "\n")
  }

  private static func zsh(_ text: String) -> String {
    let text = text.replacing(
      #"local -ar non_empty_completions=("${@:#(|:*)}")"#,
      with: #"""
        local -ar non_empty_completions=("${@:#(|:*|*=)}")
            local -ar assignments=("${(M)@:#*=}")
        """#
    ).replacing(
      "non_empty_completions -- empty_completions",
      with: "non_empty_completions -- assignments -S '' -- empty_completions")
    let inner = nested.map { command in
      """
          '3 \(command.name)') names=(\(command.inner.joined(separator: " "))) ;;

      """
    }
    let help = """
      \(function)_help() {
          local -a names
          case "${CURRENT} ${words[2]}" in
          2\\ *) names=(\(commands.map(name).joined(separator: " "))) ;;
      \(inner.joined(separator: ""))    esac
          _describe -V '' names
      }


      """
    return withOtherNames(text, help, before: #"if [[ "${funcstack[1]}" = "#)
  }

  /// Adds functions for other names of commands, and for `help`, before the end of the script.
  private static func withOtherNames(
    _ text: String, _ help: String, before end: String
  ) -> String {
    var text = text
    var functions = help
    for command in renamed {
      let prefix = function + (command.parent.map { "_\($0)" } ?? "")
      for other in command.others {
        functions += "\(prefix)_\(other)() {\n    \(prefix)_\(command.name)\n}\n\n"
      }
    }
    var groups: [(name: String?, inner: [String])] = [(nil, commands.map(name) + ["help"])]
    for command in nested { groups.append((command.name, command.inner)) }
    for group in groups {
      let others = renamed.filter { $0.parent == group.name }.flatMap(\.others)
      guard !others.isEmpty else { continue }
      let pattern = group.inner.joined(separator: "|")
      text = text.replacing(
        " \(pattern))\n", with: " \(pattern)|\(others.joined(separator: "|")))\n")
    }
    return text.replacing("\n\(end)", with: "\n\(functions)\(end)")
  }

  private static func fish(_ text: String) -> String {
    let tokens = "set -l unparsed_tokens (__widgetctl_tokens -pc)\n"
    let changes = renamed.flatMap { command in
      command.others.map { other -> String in
        if let parent = command.parent {
          """
              test "$unparsed_tokens[2] $unparsed_tokens[3]" = '\(parent) \(other)'; \
          and set unparsed_tokens[3] \(command.name)

          """
        } else {
          """
              test "$unparsed_tokens[2]" = '\(other)'; and set unparsed_tokens[2] \(command.name)

          """
        }
      }
    }
    let condition = #"__widgetctl_should_offer_completions_for_positional "widgetctl help" -eq"#
    var help = "\ncomplete -c 'widgetctl' -n '\(condition) 1' -fka '"
    help += commands.map(name).joined(separator: " ") + "'"
    for command in nested {
      help += "\ncomplete -c 'widgetctl' -n '\(condition) 2; "
      help += "and contains -- \(command.name) (__widgetctl_tokens -pc)' -fka '"
      help += command.inner.joined(separator: " ") + "'"
    }
    return text.replacing(tokens, with: tokens + changes.joined(separator: "")) + help
  }
}
