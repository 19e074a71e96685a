import CWidgetProto
public import WidgetModel

/// Asks the providers of widgets for fresh data.
public struct RefreshWidgetsRequest: Hashable, Sendable {
  /// The selected widgets.
  public var target: PresenceTarget

  public init(_ target: PresenceTarget) { self.target = target }
}

extension RefreshWidgetsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RefreshWidgetsRequest>, _ reader: Reader) throws(WireError) {
    let selector = try reader.optional("selector", c.pointee.selector, as: Selector.self)
    switch (c.pointee.n_ids > 0, selector, c.pointee.all != 0) {
    case (true, nil, false):
      target = .ids(try reader.requestedIDs("ids", c.pointee.n_ids, c.pointee.ids))
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

/// The answer to RefreshWidgets, with counts of the selected widgets.
public struct RefreshWidgetsResponse: Hashable, Sendable {
  /// The number of widgets whose provider is asked.
  public var askedCount: UInt64
  /// The number of widgets without a provider at the moment.
  public var unprovidedCount: UInt64
  /// The number of widgets whose provider is not asked, because the budget of their kind is used
  /// up.
  public var limitedCount: UInt64
  /// The rest of the refresh budget of these widgets' kinds, by name.
  public var budgets: [RefreshBudget]

  public init(
    askedCount: UInt64 = 0, unprovidedCount: UInt64 = 0, limitedCount: UInt64 = 0,
    budgets: [RefreshBudget] = []
  ) {
    self.limitedCount = limitedCount
    self.budgets = budgets
    self.askedCount = askedCount
    self.unprovidedCount = unprovidedCount
  }
}

extension RefreshWidgetsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RefreshWidgetsResponse>, _ reader: Reader) throws(WireError) {
    askedCount = c.pointee.asked_count
    unprovidedCount = c.pointee.unprovided_count
    limitedCount = c.pointee.limited_count
    budgets = try reader.list("budgets", c.pointee.n_budgets, c.pointee.budgets) {
      (element) throws(WireError) in
      try RefreshBudget(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RefreshWidgetsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.asked_count = askedCount
    c.pointee.unprovided_count = unprovidedCount
    c.pointee.limited_count = limitedCount
    c.pointee.n_budgets = budgets.count
    c.pointee.budgets = try writer.list("budgets", budgets)
  }
}
