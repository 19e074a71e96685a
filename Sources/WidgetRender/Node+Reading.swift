import WidgetModel

extension Value {
  /// The value as a number. Nil if it is not a finite number.
  var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number) where number.isFinite: number
    default: nil
    }
  }

  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

/// Properties as drawing needs them. A wrong value counts as absent.
extension Node {
  func text(_ name: String) -> String {
    if case .string(let text)? = properties[name] { text } else { "" }
  }

  func flag(_ name: String, default absent: Bool) -> Bool {
    if case .bool(let flag)? = properties[name] { flag } else { absent }
  }

  func number(_ name: String) -> Double? { properties[name]?.number }

  func list(_ name: String) -> [Value] {
    if case .list(let values)? = properties[name] { values } else { [] }
  }

  func map(_ name: String) -> ValueMap? {
    if case .map(let map)? = properties[name] { map } else { nil }
  }

  /// Whether a length or token other than 0 is given.
  func hasLength(_ name: String) -> Bool {
    switch properties[name] {
    case .string(let token)?: token != "offset.none" && token != "none"
    case let value?: (value.number ?? 0) > 0
    case nil: false
    }
  }
}
