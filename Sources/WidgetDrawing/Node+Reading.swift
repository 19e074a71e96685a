import WidgetModel

/// Typed access to properties. A value of the wrong type counts as absent.
extension Node {
  func text(_ name: String) -> String {
    if case .string(let text)? = properties[name] { text } else { "" }
  }

  func flag(_ name: String, default absent: Bool) -> Bool {
    if case .bool(let flag)? = properties[name] { flag } else { absent }
  }
}
