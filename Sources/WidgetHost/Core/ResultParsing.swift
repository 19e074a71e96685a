import WidgetBundle
import WidgetModel

/// Makes the `result` of a source or a step from the bytes that were read.
enum ResultParsing {
  /// - Parameters:
  ///   - hint: the claimed type: a media type or a file's name. The hint decides if the bundle does
  ///     not set a format.
  ///   - mayBeBlank: whether blank text instead of JSON is null, and not a failure. An answer can
  ///     have no body. But a file that a program is about to write is empty, too.
  ///   - input: the words for the bytes in failures: the path of a file, for example.
  ///   - answered: the server and the status, for a failure that has only the text of the server.
  static func value(
    of bytes: [UInt8], as parse: Parse, hint: String, mayBeBlank: Bool = true,
    from input: String = "the answer", answered: String = ""
  ) throws(Failure) -> Value {
    switch parse.format ?? format(of: hint) {
    case .text: return .string(try text(bytes, from: input))
    case .lines: return .list(try lines(bytes, from: input).map { .string(String($0)) })
    case .words:
      return .list(
        try lines(bytes, from: input).map { line in
          .list(line.split(whereSeparator: \.isWhitespace).map { .string(String($0)) })
        })
    case .json:
      if isBlank(bytes) {
        guard mayBeBlank, parse.shape == .any, parse.path.isEmpty else {
          throw Failure("INVALID_ARGUMENT", "\(input) is empty")
        }
        return .null
      }
      let document = try JSONText.parse(bytes, from: input)
      if let words = errorWords(in: document, parse) {
        var failure = Failure("UNKNOWN", words)
        failure.answered = answered
        throw failure
      }
      guard let result = step(into: document, parse.path) else {
        throw Failure(
          "INVALID_ARGUMENT", "\(input) has nothing at \(describe(parse.path))")
      }
      switch (parse.shape, result) {
      case (.any, _), (.object, .map), (.list, .list): return result
      default:
        let wanted = parse.shape == .list ? "a list" : "an object"
        throw Failure(
          "INVALID_ARGUMENT",
          "\(input) is \(result.typeWithArticle), not \(wanted)"
            + (parse.path.isEmpty ? "" : " at \(describe(parse.path))"))
      }
    }
  }

  static func value(
    of answer: WebAnswer, as parse: Parse, mayBeBlank: Bool = true
  ) throws(Failure) -> Value {
    try value(
      of: answer.body, as: parse, hint: answer.contentType, mayBeBlank: mayBeBlank,
      from: answer.contentWords, answered: answer.summary)
  }

  /// The words for input without content, whose result is null. Nil for other results.
  static func blankWords(_ result: Value, of bytes: [UInt8], from input: String) -> String? {
    result == .null && isBlank(bytes) ? "\(input) is empty" : nil
  }

  /// The text of an error in an answer, if the text is at the path that the bundle names.
  static func errorWords(in bytes: [UInt8], _ parse: Parse) -> String? {
    guard !parse.errorPath.isEmpty, let document = try? JSONText.parse(bytes) else { return nil }
    return errorWords(in: document, parse)
  }

  /// The beginning of the text at `errorPath`; nil if the document reports no error. Many servers
  /// write null, false, or an empty value if there is not an error.
  private static func errorWords(in document: Value, _ parse: Parse) -> String? {
    guard !parse.errorPath.isEmpty, let words = step(into: document, parse.errorPath) else {
      return nil
    }
    switch words {
    case .null, .bool(false), .list([]), .map([:]): return nil
    default:
      let text = PlainText.of(words)
      return text.isEmpty ? nil : text.wholeWords(bytesMax: HostLimits.errorBytesMax)
    }
  }

  private static func format(of hint: String) -> Parse.Format {
    let kind = hint.split(separator: ";").first.map { $0.lowercased() } ?? ""
    let trimmed = kind.filter { $0 != " " }
    return trimmed.hasSuffix("/json") || trimmed.hasSuffix("+json") || trimmed.hasSuffix(".json")
      ? .json : .text
  }

  private static func text(_ bytes: [UInt8], from input: String) throws(Failure) -> String {
    var end = bytes.count
    if end > 0, bytes[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    if end > 0, end < bytes.count, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    guard let text = String(validating: bytes[..<end], as: UTF8.self) else {
      throw Failure("INVALID_ARGUMENT", "\(input) is not UTF-8 text; make the source write UTF-8")
    }
    return text
  }

  private static func lines(_ bytes: [UInt8], from input: String) throws(Failure) -> [Substring] {
    let text = try text(bytes, from: input)
    guard !text.isEmpty else { return [] }
    return text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
  }

  private static func isBlank(_ bytes: [UInt8]) -> Bool {
    bytes.allSatisfy { [0x20, 0x0A, 0x0D, 0x09].contains($0) }
  }

  private static func step(into value: Value, _ path: [Parse.PathStep]) -> Value? {
    var value = value
    for step in path {
      switch (step, value) {
      case (.key(let key), .map(let map)):
        guard let next = map[key] else { return nil }
        value = next
      case (.index(let index), .list(let list)):
        // Below 0 counts from the end.
        let place = index < 0 ? list.count + index : index
        guard list.indices.contains(place) else { return nil }
        value = list[place]
      default: return nil
      }
    }
    return value
  }

  private static func describe(_ path: [Parse.PathStep]) -> String {
    var text = ""
    for step in path {
      switch step {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .index(let index): text += "[\(index)]"
      }
    }
    return text
  }
}
