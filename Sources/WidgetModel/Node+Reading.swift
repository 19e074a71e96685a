/// Properties for all code that shows a widget. A wrong value counts as absent.
extension Node {
  package func number(_ name: String) -> Double? { property(name)?.number }

  package func list(_ name: String) -> [Value] {
    if case .list(let values)? = property(name) { values } else { [] }
  }

  /// The value of a property. A linear search: nodes have few properties.
  package func property(_ name: String) -> Value? {
    for entry in properties.entries where entry.key == name { return entry.value }
    return nil
  }

  /// The fill of a gauge, in percent. Nil if it has no value, or its range is empty or not finite.
  package var percentage: Int? {
    let (low, high) = (number("min") ?? 0, number("max") ?? 1)
    guard let value = number("value"), low < high, (high - low).isFinite else { return nil }
    return Int(min(max((value - low) / (high - low), 0), 1) * 100 + 0.5)
  }

  /// Whether it is a row with one of these keys. The id of a row ends with `/` and its key.
  package func isRow(among keys: Set<String>) -> Bool {
    guard !keys.isEmpty else { return false }
    var rest = id[...]
    while true {
      if keys.contains(String(rest)) { return true }
      guard let slash = rest.firstIndex(of: "/") else { return false }
      rest = rest[rest.index(after: slash)...]
    }
  }
}

extension Value {
  /// The value as a number. Nil if it is not a finite number.
  package var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number) where number.isFinite: number
    default: nil
    }
  }

  /// A scalar as text: whole numbers have no point. Empty for null, and for anything else.
  package var scalarText: String {
    switch self {
    case .string(let text): text
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): "\(number)"
    case .double(let number) where number.magnitude < 1e15 && number == Double(Int64(number)):
      "\(Int64(number))"
    case .double(let number): "\(number)"
    default: ""
    }
  }
}

extension Theme {
  /// The colour that a text names: `#rrggbb`, `#rrggbbaa`, or a token. Nil if it names none.
  package func color(named text: String, _ appearance: Appearance) -> ThemeColor? {
    ThemeColor(text) ?? ThemeToken(text, of: .color).flatMap { token($0.name, appearance) }
  }

  /// The colour of a token, from the standard theme if this one lacks it.
  package func token(_ name: String, _ appearance: Appearance) -> ThemeColor? {
    color(name, appearance) ?? Theme.standard.color(name, appearance)
  }
}

extension String {
  /// The text with the signs of XML, HTML and Pango markup escaped.
  package var escapedForMarkup: String {
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
