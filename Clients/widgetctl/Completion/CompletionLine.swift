import WidgetModel

/// The command line around a word that a shell completes.
struct CompletionLine: Sendable {
  /// The value of `--socket`.
  let socket: String?
  /// Whether the word is a value after `=`. bash ends a word at `=`, so nothing completes there.
  let isValue: Bool
  /// The command, the ids and other words, without options, their values and the completed word.
  private(set) var arguments: [String] = []
  private var options: [(name: String, value: String)] = []

  /// Options without a value, of the commands whose ids the completion reads.
  static let flags: Set<String> = [
    "--clear-error", "--disabled", "--escape", "--events", "--failing", "--force", "--help",
    "--hidden", "--no-color", "--no-stale", "--once", "--owners", "--redacted", "--replace",
    "--stale", "--verbose", "--version", "--wait", "-h", "-v",
  ]

  /// - Parameters:
  ///   - words: all words, with the program's name.
  ///   - index: the place of the completed word among them.
  init(_ words: [String], at index: Int) {
    let index = min(max(index, 0), words.count)
    isValue =
      index < words.count && Self.endsWord(words[index])
      || index > 0 && Self.endsWord(words[index - 1])
    let before = Array(Self.joined(words[..<index]).dropFirst())
    let after = Self.joined(words[index...].dropFirst())
    socket = ArgumentOrder.socket(before + after)
    read(before)
    read(after)
  }

  /// The id after the command.
  var widget: WidgetID? { arguments.dropFirst().first.flatMap { WidgetID($0) } }

  /// The kind after the command.
  var kind: KindName? { arguments.dropFirst().first.flatMap { KindName($0) } }

  /// The last value of an option.
  func value(of option: String) -> String? { options.last { $0.name == option }?.value }

  private mutating func read(_ words: [String]) {
    var option: String?
    for word in words where word != "--" {
      if let name = option {
        options.append((name, word))
        option = nil
      } else if word.hasPrefix("-"), word.count > 1 {
        let name = String(word.prefix { $0 != "=" })
        if name != word {
          options.append((name, String(word.dropFirst(name.count + 1))))
        } else if !Self.flags.contains(word), word.hasPrefix("--") || word.count == 2 {
          option = word
        }
      } else {
        arguments.append(word)
      }
    }
  }

  /// The words as the program gets them: bash passes `a=b` as `a`, `=` and `b`.
  private static func joined(_ words: ArraySlice<String>) -> [String] {
    var result: [String] = []
    var isEnded = false
    for word in words {
      let ends = isBreak(word)
      if ends || isEnded, let last = result.popLast() {
        result.append(last + word)
      } else {
        result.append(word)
      }
      isEnded = ends
    }
    return result
  }

  /// Whether bash has made the word of characters at which it ends words.
  private static func isBreak(_ word: String) -> Bool {
    !word.isEmpty && word.allSatisfy { $0 == "=" || $0 == ":" }
  }

  private static func endsWord(_ word: String) -> Bool { isBreak(word) && word.contains("=") }
}
