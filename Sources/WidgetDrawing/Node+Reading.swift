import WidgetModel

/// Properties as drawing needs them. A wrong value counts as absent.
extension Node {
  func text(_ name: String) -> String {
    if case .string(let text)? = properties[name] { text } else { "" }
  }

  func flag(_ name: String, default absent: Bool) -> Bool {
    if case .bool(let flag)? = properties[name] { flag } else { absent }
  }
}
