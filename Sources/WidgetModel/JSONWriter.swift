/// Writes a `Value` as JSON. Keys are sorted by their bytes, so the same content gives the same
/// text.
///
/// A double always has a point or an exponent, so that it stays a double when read again.
/// Characters that could act on a terminal (C0, DEL, C1, and Unicode's direction controls) are
/// always escaped. Values without a JSON type are tagged, so that they can be read again; see
/// `DataDocument`.
package enum JSONWriter {
  /// On one line, without spaces.
  package static func compact(_ value: Value) -> String {
    var text = ""
    write(value, to: &text, indent: nil)
    return text
  }

  /// On one line, for programs that do not know the tags; see `DataDocument.plain`.
  package static func plain(_ value: Value) -> String {
    var text = ""
    write(value, to: &text, indent: nil, DataDocument.plain)
    return text
  }

  /// On several lines, indented by two spaces.
  package static func pretty(_ value: Value) -> String {
    var text = ""
    write(value, to: &text, indent: 0)
    return text
  }

  /// The same, with the keys in their order.
  package static func pretty(_ document: OrderedJSON) -> String {
    var text = ""
    write(document, to: &text, indent: 0)
    return text
  }

  /// A JSON string literal.
  package static func quoted(_ string: String) -> String {
    var text = ""
    write(string, to: &text)
    return text
  }

  /// - Parameter simplify: Gives one level of a value only the types that JSON has.
  private static func write(
    _ value: Value, to text: inout String, indent: Int?,
    _ simplify: (Value) -> Value = DataDocument.tagged
  ) {
    switch simplify(value) {
    case .null: text += "null"
    case .bool(let bool): text += bool ? "true" : "false"
    case .int(let int): text += String(int)
    case .double(let double): text += String(double)
    case .string(let string): write(string, to: &text)
    case .list(let values):
      container("[", "]", values, to: &text, indent: indent) { value, text, indent in
        write(value, to: &text, indent: indent, simplify)
      }
    case .map(let map):
      container("{", "}", map.entries, to: &text, indent: indent) { entry, text, indent in
        write(entry.key, to: &text)
        text += indent == nil ? ":" : ": "
        write(entry.value, to: &text, indent: indent, simplify)
      }
    case .bytes, .timestamp, .duration: text += "null"  // `simplify` leaves none of these.
    }
  }

  private static func write(_ document: OrderedJSON, to text: inout String, indent: Int?) {
    switch document {
    case .string(let string): write(string, to: &text)
    case .number(let number): text += String(number)
    case .bool(let flag): text += flag ? "true" : "false"
    case .list(let elements):
      container("[", "]", elements, to: &text, indent: indent) { element, text, indent in
        write(element, to: &text, indent: indent)
      }
    case .object(let entries):
      container("{", "}", entries, to: &text, indent: indent) { entry, text, indent in
        write(entry.0, to: &text)
        text += ": "
        write(entry.1, to: &text, indent: indent)
      }
    }
  }

  private static func container<Element>(
    _ open: String, _ close: String, _ elements: [Element], to text: inout String, indent: Int?,
    write: (Element, inout String, Int?) -> Void
  ) {
    text += open
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      if let indent { text += "\n" + String(repeating: "  ", count: indent + 1) }
      write(element, &text, indent.map { $0 + 1 })
    }
    if let indent, !elements.isEmpty { text += "\n" + String(repeating: "  ", count: indent) }
    text += close
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default:
        if scalar.actsOnTerminal {
          let digits = String(scalar.value, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        } else {
          text.unicodeScalars.append(scalar)
        }
      }
    }
    text += "\""
  }
}

/// JSON whose keys are in the order in which they were made.
package indirect enum OrderedJSON {
  case string(String)
  case number(Int)
  case bool(Bool)
  case list([OrderedJSON])
  case object([(String, OrderedJSON)])

  package var entries: [(String, OrderedJSON)] {
    if case .object(let entries) = self { entries } else { [] }
  }
}

extension Unicode.Scalar {
  /// Whether it could act on a terminal: control characters, and characters that change the text
  /// direction. All of them have at most four hexadecimal digits.
  package var actsOnTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
    case 0x61C, 0x200E, 0x200F, 0xFEFF: true
    default: false
    }
  }
}

extension String {
  /// The text, with escapes for all characters that could act on a terminal.
  package var safeForTerminal: String {
    guard unicodeScalars.contains(where: \.actsOnTerminal) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.actsOnTerminal {
        text += "\\u{" + String(scalar.value, radix: 16) + "}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The same, except that line breaks stay.
  package var safeLines: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0).safeForTerminal }
      .joined(separator: "\n")
  }
}
