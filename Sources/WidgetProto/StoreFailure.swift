import CWidgetProto
public import WidgetModel

/// Whether the store takes changes.
public struct WatchStore: Hashable, Sendable {
  /// Nil if the store takes changes.
  public var failure: StoreFailure?

  public init(failure: StoreFailure? = nil) { self.failure = failure }
}

extension WatchStore: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchStore>, _ reader: Reader) throws(WireError) {
    failure = try reader.optional("failure", c.pointee.failure)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchStore>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.failure = try writer.message("failure", optional: failure)
  }
}

/// The reason why the store takes no changes.
public struct StoreFailure: Hashable, Sendable {
  /// The cause and the next step, for people.
  public var message: String
  /// When the first change was refused.
  public var since: Timestamp

  public init(message: String = "", since: Timestamp = .epoch) {
    (self.message, self.since) = (message, since)
  }
}

extension StoreFailure: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__StoreFailure>, _ reader: Reader) throws(WireError) {
    message = reader.string(c.pointee.message)
    since = try reader.timestamp("since", c.pointee.since) ?? .epoch
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__StoreFailure>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.message = try writer.string("message", message)
    c.pointee.since = try writer.timestamp(since)
  }
}
