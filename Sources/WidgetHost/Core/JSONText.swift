import WidgetModel

/// JSON of servers and programs as values, and values as texts for them.
enum JSONText {
  /// - Parameter input: the words for the bytes in a failure.
  static func parse(
    _ bytes: [UInt8], from input: String = "the answer"
  ) throws(Failure) -> Value {
    do throws(JSONReader.Failure) { return try JSONReader.value(of: bytes, from: .program) } catch {
      throw Failure(
        "INVALID_ARGUMENT",
        "the JSON of \(input) is not valid at \(error.line):\(error.column): \(error.reason)")
    }
  }

  /// The value as JSON on one line, without tags.
  static func write(_ value: Value) -> String { JSONWriter.plain(value) }

  /// At most 80 characters of it.
  static func short(_ value: Value) -> String {
    let text = write(value)
    return text.count > 80 ? "\(text.prefix(80))…" : text
  }
}

/// The texts for values in a URL, a header or an argument.
enum PlainText {
  static func of(_ value: Value) -> String {
    switch value {
    case .null: ""
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .double(let number): "\(number)"
    case .string(let text): text
    case .bytes, .timestamp, .duration:
      if case .string(let text) = DataDocument.plain(value) { text } else { "" }
    case .list, .map: JSONText.write(value)
    }
  }
}
