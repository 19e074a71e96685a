import WidgetModel

extension Value {
  /// The value as a number; nil if it is no number, or not finite.
  var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number) where number.isFinite: number
    default: nil
    }
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
}
