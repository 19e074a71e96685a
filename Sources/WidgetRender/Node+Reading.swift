import WidgetModel

extension Value {
  var string: String? {
    if case .string(let text) = self { text } else { nil }
  }
}

/// Properties for drawing. A wrong value counts as absent.
extension Node {
  func text(_ name: String) -> String {
    if case .string(let text)? = properties[name] { text } else { "" }
  }

  func flag(_ name: String, default absent: Bool) -> Bool {
    if case .bool(let flag)? = properties[name] { flag } else { absent }
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
