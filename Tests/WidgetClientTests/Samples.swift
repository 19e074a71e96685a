import WidgetClient

extension WidgetID {
  /// A valid id, or the program ends: only for literals in tests.
  static func of(_ text: String) -> WidgetID {
    guard let id = WidgetID(text) else { preconditionFailure("\(text) is not a widget id") }
    return id
  }
}

extension KindName {
  static func of(_ text: String) -> KindName {
    guard let kind = KindName(text) else { preconditionFailure("\(text) is not a kind") }
    return kind
  }
}

extension Widget {
  static func sample(_ id: String, position: Int64 = 0) -> Widget {
    Widget(id: .of(id), kind: .of("clock"), position: position, data: ["text": .string(id)])
  }
}
