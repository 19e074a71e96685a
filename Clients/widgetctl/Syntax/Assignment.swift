import WidgetModel

/// One `KEY=VALUE` of a command line.
///
/// | written | means |
/// | --- | --- |
/// | `key=value` | the value as JSON if it is JSON, else as text: `n=1`, `n=1.0`, `on=true`, `t=hi`. Text that begins with `{`, `[{` or `["` must be JSON |
/// | `key==text` | text, whatever it looks like: `zip==01234`, `flag==true` |
/// | `key:=json` | JSON; an error if it is not |
/// | `key=@file` | the file's content as text; `-` is standard input |
/// | `key:=@file` | the file's content as JSON |
///
/// The key is the text before the first `=` (or `:=`).
struct Assignment: Hashable {
  /// The source of the value.
  enum Source: Hashable {
    case value(Value)
    case textFile(String)
    case jsonFile(String)
  }

  static let help = """
    key=value takes the value as JSON if it is JSON (n=1, n=1.0, on=true, list='[1,2]'), else as \
    text. A value that begins with { must be JSON. key==text is always text, key:=json must be \
    JSON, and key=@file and key:=@file read a file.
    """

  let key: String
  let source: Source
  /// The written text of the value, if its type is a guess.
  private(set) var guessed: String?

  /// Throws the problem, in words.
  init(_ text: String) throws(SyntaxFailure) {
    // The loop visits scalars, because a combining mark after a sign belongs to the same
    // `Character`.
    guard let equals = text.unicodeScalars.firstIndex(of: "=") else {
      throw SyntaxFailure("\"\(text)\" is not KEY=VALUE")
    }
    var key = text[..<equals]
    let rest = text[text.unicodeScalars.index(after: equals)...]
    let sign = rest.unicodeScalars.first
    let mustBeJSON = key.hasSuffix(":")
    if mustBeJSON { key = key.dropLast() }
    guard !key.isEmpty else { throw SyntaxFailure("\"\(text)\" has no key before the =") }
    guard rest != "@" else {
      throw SyntaxFailure(
        "\"\(text)\" has no file name after the @; write \(text)FILE, or \(key)==@ for the text @")
    }
    self.key = String(key)
    if mustBeJSON {
      guard sign != "@" else {
        source = .jsonFile(String(rest.unicodeScalars.dropFirst()))
        return
      }
      source = .value(try Assignment.json(rest, of: self.key))
    } else if sign == "=" {
      source = .value(.string(String(rest.unicodeScalars.dropFirst())))
    } else if sign == "@" {
      source = .textFile(String(rest.unicodeScalars.dropFirst()))
    } else {
      source = .value(try Assignment.inferred(rest))
      guessed = String(rest)
    }
  }

  /// The value for a field of type string: the written text, if the type was a guess.
  var asText: Value? { guessed.map { .string($0) } }

  /// The value for a field of this type, if the written text is one and its type was a guess:
  /// `zip=12345`, `at=2026-01-01T12:00:00Z`, `pause=1m30s`.
  func value(as type: FieldType) -> Value? {
    switch type {
    case .string: asText
    case .timestamp: guessed.flatMap(RFC3339.timestamp).map { .timestamp($0) }
    case .duration: guessed.flatMap(DurationSyntax.parse).map { .duration($0) }
    default: nil
    }
  }

  /// How to write a value of a type that the written text does not have. Nil if there is no advice.
  func advice(for type: FieldType) -> String? {
    if case .textFile(let path) = source {
      if case .any = type { return nil }
      if case .string = type { return nil }
      let asJSON = "\(key):=@\(path)".asArgument
      return "=@ takes the file as text; write \(asJSON) if it has JSON, such as a number"
    }
    guard let guessed, value(as: type) == nil else { return nil }
    guard case .value(let value) = source, type.fitted(value) == nil else { return nil }
    if case .bool = type { return adviceForFlag(guessed) }
    switch (type, value) {
    // An element has the wrong type.
    case (.list, .list), (.map, .map): return nil
    default: break
    }
    switch type {
    case .timestamp:
      let isDate = RFC3339.timestamp("\(guessed)T00:00:00Z") != nil
      let isLocal = RFC3339.timestamp("\(guessed)Z") != nil
      let time = isDate ? "\(guessed)T00:00:00Z" : isLocal ? "\(guessed)Z" : "2026-01-31T12:00:00Z"
      return "write the date, the time and the zone: \(key)=\(time)"
    case .duration: return "write a number with its unit: \(key)=1m30s, \(key)=500ms"
    case .int: return "write a whole number: \(key)=12"
    case .double: return "write a number: \(key)=12.5"
    case .bytes: return "write \(key):='{\"$bytes\": \"BASE64\"}'"
    case .list: return "write a list as JSON: \(key)='[\"a\", \"b\"]'"
    case .map: return "write a map as JSON: \(key)='{\"a\": 1}'"
    default: return nil
    }
  }

  /// `write true or false: on=true`
  private func adviceForFlag(_ guessed: String) -> String {
    let isFalse = ["false", "no", "off", "0"].contains(guessed.lowercased())
    return "write true or false: \(key)=\(isFalse ? "false" : "true")"
  }

  /// JSON if the whole text is JSON, else text. A whole number outside 64 bits is an error rather
  /// than text, so that a key's type does not depend on a number's size. Text that begins like an
  /// object, or like a list of objects or texts, is an error too: a mistake in JSON must not become
  /// text.
  static func inferred(_ text: some StringProtocol) throws(SyntaxFailure) -> Value {
    let value: Value
    do throws(JSONReader.Failure) { value = try JSONReader.value(of: text) } catch {
      guard !["{", "[{", "[\""].contains(where: { text.hasPrefix($0) }) else {
        throw SyntaxFailure("\(text) looks like JSON, but \(error); write ==\(text) for text")
      }
      if error.isNumberTooLarge,
        text.utf8.allSatisfy({ $0.isDigit || ".eE+-".utf8.contains($0) })
      {
        throw SyntaxFailure("\(text) is larger than a double can be; write ==\(text) for text")
      }
      let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
      guard digits.utf8.count >= 19, digits.utf8.allSatisfy(\.isDigit), !digits.hasPrefix("0")
      else { return .string(String(text)) }
      throw SyntaxFailure(
        "\(text) is outside 64 bits; write a smaller number for an int, ==\(text) for text or "
          + "\(text).0 for a double")
    }
    return try untagged(value)
  }

  static func json(_ text: some StringProtocol, of key: String) throws(SyntaxFailure) -> Value {
    let value: Value
    do throws(JSONReader.Failure) { value = try JSONReader.value(of: text) } catch {
      throw SyntaxFailure("\(key) is not JSON: \(error)")
    }
    return try untagged(value)
  }

  private static func untagged(_ value: Value) throws(SyntaxFailure) -> Value {
    do throws(DataDocument.Failure) { return try DataDocument.untagged(value) } catch {
      throw SyntaxFailure("\(error)")
    }
  }

  /// The value, read from its file if it is in one.
  func value(reading read: (_ path: String) throws(CommandFailure) -> String) throws(CommandFailure)
    -> Value
  {
    let value: Value
    switch source {
    case .value(let written): value = written
    case .textFile(let path): value = .string(try read(path))
    case .jsonFile(let path):
      let text = try read(path)
      do throws(SyntaxFailure) { value = try Assignment.json(text, of: key) } catch {
        throw CommandFailure(.invalidArgument, "\(path): \(error.reason)")
      }
    }
    guard !value.hasNUL else {
      let place =
        switch source {
        case .value: key
        case .textFile(let path), .jsonFile(let path): path
        }
      throw CommandFailure(
        .invalidArgument,
        "\(place): text cannot have a NUL character; write bytes as \(key):='{\"$bytes\": "
          + "\"BASE64\"}'")
    }
    return value
  }
}

extension Value {
  /// Whether a text in the value has a NUL character. Messages cannot carry it.
  fileprivate var hasNUL: Bool {
    switch self {
    case .string(let text): text.utf8.contains(0)
    case .list(let elements): elements.contains(where: \.hasNUL)
    case .map(let map): map.entries.contains { $0.key.utf8.contains(0) || $0.value.hasNUL }
    default: false
    }
  }
}

/// A `KEY=VALUE` whose value is plain text: a label.
struct LabelAssignment: Hashable {
  let key: String
  let value: String

  init(_ text: String) throws(SyntaxFailure) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw SyntaxFailure("\"\(text)\" is not KEY=VALUE")
    }
    key = String(text[..<equals])
    value = String(text[text.index(after: equals)...])
    try check()
  }

  /// Throws if `-l` of other commands cannot select the label. Programs may set such labels.
  private func check() throws(SyntaxFailure) {
    for (part, text, signs) in [("key", key, " !=()<>,"), ("value", value, "(),")] {
      guard let sign = text.first(where: { signs.contains($0) }) else { continue }
      throw SyntaxFailure(
        "the \(part) \"\(text)\" contains \(LabelAssignment.word(sign)), so -l cannot select the "
          + "label; "
          + (sign == ","
            ? "set each label with its own option, as in -l panel=top -l room=kitchen"
            : "use letters, digits and hyphens, such as my-panel"))
    }
    guard value.first != " ", value.last != " " else {
      throw SyntaxFailure(
        "the value \"\(value)\" begins or ends with a space, so -l cannot select the label; leave "
          + "the space out")
    }
  }

  private static func word(_ sign: Character) -> String {
    switch sign {
    case " ": "a space"
    case ",": "a comma"
    default: "\"\(sign)\""
    }
  }
}

extension Substring {
  /// The text after the prefix. Nil without the prefix.
  func droppingPrefix(_ prefix: String) -> Substring? {
    hasPrefix(prefix) ? dropFirst(prefix.count) : nil
  }
}
