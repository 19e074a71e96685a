public import WidgetModel

extension WidgetID: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let id = WidgetID(text) else { preconditionFailure("no widget id: \(text)") }
    self = id
  }
}

extension KindName: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let name = KindName(text) else { preconditionFailure("no kind name: \(text)") }
    self = name
  }
}
