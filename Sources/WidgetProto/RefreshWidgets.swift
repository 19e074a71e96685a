import CWidgetProto
public import WidgetModel

/// Asks the providers of widgets for fresh data.
public struct RefreshWidgetsRequest: Hashable, Sendable {
  /// Which widgets.
  public var target: PresenceTarget

  public init(_ target: PresenceTarget) { self.target = target }
}

extension RefreshWidgetsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RefreshWidgetsRequest>, _ reader: Reader) throws(WireError) {
    let selector = try reader.optional("selector", c.pointee.selector, as: Selector.self)
    switch (c.pointee.n_ids > 0, selector, c.pointee.all != 0) {
    case (true, nil, false):
      target = .ids(try reader.widgetIDs("ids", c.pointee.n_ids, c.pointee.ids))
    case (false, let selector?, false): target = .selector(selector)
    case (false, nil, true): target = .all
    default:
      throw .invalidField(
        path: "ids", description: "exactly one of ids, selector and all must be set")
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RefreshWidgetsRequest>, _ writer: Writer
  ) throws(WireError) {
    switch target {
    case .ids(let ids):
      c.pointee.n_ids = ids.count
      c.pointee.ids = try writer.strings("ids", ids)
    case .selector(let selector):
      c.pointee.selector = try writer.message("selector", selector)
    case .all: c.pointee.all = 1
    }
  }
}

/// How many widgets were asked for.
public struct RefreshWidgetsResponse: Hashable, Sendable {
  /// How many widgets have a provider, which is asked.
  public var askedCount: UInt64
  /// How many have none at the moment.
  public var unprovidedCount: UInt64

  public init(askedCount: UInt64 = 0, unprovidedCount: UInt64 = 0) {
    self.askedCount = askedCount
    self.unprovidedCount = unprovidedCount
  }
}

extension RefreshWidgetsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RefreshWidgetsResponse>, _ reader: Reader) {
    askedCount = c.pointee.asked_count
    unprovidedCount = c.pointee.unprovided_count
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__RefreshWidgetsResponse>, _ writer: Writer) {
    c.pointee.asked_count = askedCount
    c.pointee.unprovided_count = unprovidedCount
  }
}
