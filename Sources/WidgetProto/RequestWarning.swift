import CWidgetProto
public import WidgetModel

/// A possible mistake in a request that was carried out.
public struct RequestWarning: Hashable, Sendable {
  /// Stable, UPPER_SNAKE_CASE.
  public var reason: String
  /// For people.
  public var message: String
  public var metadata: [String: String]

  public init(reason: String, message: String = "", metadata: [String: String] = [:]) {
    self.reason = reason
    self.message = message
    self.metadata = metadata
  }

  /// Warns that no provider has registered the kind.
  public static func kindNotRegistered(_ kind: KindName, nearest: KindName?) -> RequestWarning {
    var metadata = ["kind": kind.rawValue]
    metadata["suggestion"] = nearest?.rawValue
    let hint =
      nearest.map { "Did you mean \"\($0)\"?" }
      ?? "Register it, or choose a registered kind."
    return RequestWarning(
      reason: "KIND_NOT_REGISTERED",
      message: "The kind \"\(kind)\" is not registered; its widgets are not checked. \(hint)",
      metadata: metadata)
  }
}

extension RequestWarning: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RequestWarning>, _ reader: Reader) {
    self.init(
      reason: reader.string(c.pointee.reason), message: reader.string(c.pointee.message),
      metadata: reader.dictionary(c.pointee.n_metadata, c.pointee.metadata))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__RequestWarning>, _ writer: Writer)
    throws(WireError)
  {
    c.pointee.reason = try writer.string("reason", reason)
    c.pointee.message = try writer.string("message", message)
    c.pointee.n_metadata = metadata.count
    c.pointee.metadata = try writer.entries(
      "metadata", metadata, of: Widgetd__V1__RequestWarning__MetadataEntry.self)
  }
}

extension Reader {
  func warnings(
    _ count: Int, _ list: CList<Widgetd__V1__RequestWarning>?
  ) throws(WireError) -> [RequestWarning] {
    try self.list("warnings", count, list) { (element) throws(WireError) in
      RequestWarning(c: element, self)
    }
  }
}
