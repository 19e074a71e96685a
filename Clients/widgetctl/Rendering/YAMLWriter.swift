import WidgetModel

/// Writes a `Value` as block-style YAML, keys sorted.
///
/// Text is written plain only if no common reader of YAML 1.1 or 1.2 reads it as another type.
/// Otherwise it is written as a JSON string, which is YAML too.
enum YAMLWriter {
  /// One document, ending in a newline.
  static func document(_ value: Value) -> String {
    var text = ""
    write(value, to: &text, indent: 0, afterKey: false)
    return text
  }

  private static func write(_ value: Value, to text: inout String, indent: Int, afterKey: Bool) {
    let margin = String(repeating: " ", count: indent)
    switch DataDocument.tagged(value) {
    case .map(let map) where !map.isEmpty:
      if afterKey { text += "\n" }
      for (index, entry) in map.entries.enumerated() {
        // The first entry of a map in a list follows the dash.
        if index > 0 || afterKey || indent == 0 { text += margin }
        text += scalar(entry.key) + ":"
        write(entry.value, to: &text, indent: indent + 2, afterKey: true)
      }
    case .list(let values) where !values.isEmpty:
      if afterKey { text += "\n" }
      // A list below a key is not indented further than its key.
      let dashes = afterKey ? String(repeating: " ", count: max(0, indent - 2)) : margin
      for (index, value) in values.enumerated() {
        if index > 0 || afterKey || indent == 0 { text += dashes }
        text += "- "
        write(value, to: &text, indent: dashes.count + 2, afterKey: false)
      }
    case .string(let string):
      text += (afterKey ? " " : "") + scalar(string) + "\n"
    case let value:
      text += (afterKey ? " " : "") + JSONWriter.compact(value) + "\n"
    }
  }

  private static let reserved: Set<String> = [
    "true", "false", "null", "yes", "no", "on", "off",
  ]

  private static func scalar(_ text: String) -> String {
    let isPlain =
      text.utf8.first.map { ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z") }
      ?? false
    let isSafe = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: "/"):
        true
      default: false
      }
    }
    return isPlain && isSafe && !reserved.contains(text.lowercased())
      ? text : JSONWriter.quoted(text)
  }
}
