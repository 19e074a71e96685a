import CWidgetProto
public import WidgetModel

// Changes to the presence and the order of widgets: SetPresence and MoveWidget.

/// Asks to show, hide, enable, disable or toggle widgets.
public struct SetPresenceRequest: Hashable, Sendable {
  /// The selected widgets.
  public var target: PresenceTarget
  public var action: PresenceAction
  public var transition: Transition?
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String

  public init(
    target: PresenceTarget, action: PresenceAction, transition: Transition? = nil,
    requestID: String = ""
  ) {
    self.target = target
    self.action = action
    self.transition = transition
    self.requestID = requestID
  }
}

extension SetPresenceRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetPresenceRequest>, _ reader: Reader) throws(WireError) {
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
    let number = c.pointee.action.rawValue
    guard let action = PresenceAction(number: number) else {
      throw reader.unknownEnum("action", number, "use SHOW, HIDE, ENABLE, DISABLE or TOGGLE")
    }
    self.action = action
    transition = try reader.requestTransition(c.pointee.transition)
    requestID = reader.string(c.pointee.request_id)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetPresenceRequest>, _ writer: Writer
  ) throws(WireError) {
    switch target {
    case .ids(let ids):
      c.pointee.n_ids = ids.count
      c.pointee.ids = try writer.strings("ids", ids)
    case .selector(let selector):
      c.pointee.selector = try writer.message("selector", selector)
    case .all: c.pointee.all = 1
    }
    c.pointee.action = Widgetd__V1__PresenceAction(rawValue: UInt32(action.rawValue))
    c.pointee.transition = try writer.message("transition", optional: transition)
    c.pointee.request_id = try writer.string("request_id", requestID)
  }
}

/// The changed widgets.
public struct SetPresenceResponse: Hashable, Sendable {
  /// The changed widgets, in position order. If there are very many, only the first ones.
  public var changedIDs: [WidgetID]
  /// The store's revision after the change.
  public var revision: Revision
  /// The number of changed widgets.
  public var changedCount: UInt64

  public init(changedIDs: [WidgetID] = [], revision: Revision = 0, changedCount: UInt64 = 0) {
    self.changedIDs = changedIDs
    self.revision = revision
    self.changedCount = changedCount
  }
}

extension SetPresenceResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetPresenceResponse>, _ reader: Reader) throws(WireError) {
    changedIDs = try reader.widgetIDs(
      "changed_ids", c.pointee.n_changed_ids, c.pointee.changed_ids)
    revision = c.pointee.revision
    changedCount = c.pointee.changed_count
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetPresenceResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_changed_ids = changedIDs.count
    c.pointee.changed_ids = try writer.strings("changed_ids", changedIDs)
    c.pointee.revision = revision
    c.pointee.changed_count = changedCount
  }
}

/// Asks to change a widget's place in the order.
public struct MoveWidgetRequest: Hashable, Sendable {
  public var id: WidgetID
  public var destination: MoveDestination
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String
  public var transition: Transition?

  public init(
    id: WidgetID, destination: MoveDestination, requestID: String = "",
    transition: Transition? = nil
  ) {
    self.id = id
    self.destination = destination
    self.requestID = requestID
    self.transition = transition
  }
}

extension MoveWidgetRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__MoveWidgetRequest>, _ reader: Reader) throws(WireError) {
    id = try reader.widgetID("id", c.pointee.id)
    switch c.pointee.destination_case {
    case WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_FIRST:
      guard c.pointee.first != 0 else { throw Self.mustBeTrue("first") }
      destination = .first
    case WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_LAST:
      guard c.pointee.last != 0 else { throw Self.mustBeTrue("last") }
      destination = .last
    case WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_BEFORE:
      destination = .before(try reader.widgetID("before", c.pointee.before))
    case WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_AFTER:
      destination = .after(try reader.widgetID("after", c.pointee.after))
    default:
      throw .invalidField(
        path: "destination", description: "exactly one of first, last, before and after must be set"
      )
    }
    requestID = reader.string(c.pointee.request_id)
    transition = try reader.requestTransition(c.pointee.transition)
  }

  private static func mustBeTrue(_ field: String) -> WireError {
    .invalidField(path: field, description: "must be true if it is set")
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__MoveWidgetRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    switch destination {
    case .first:
      c.pointee.destination_case = WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_FIRST
      c.pointee.first = 1
    case .last:
      c.pointee.destination_case = WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_LAST
      c.pointee.last = 1
    case .before(let id):
      c.pointee.destination_case = WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_BEFORE
      c.pointee.before = try writer.string("before", id.rawValue)
    case .after(let id):
      c.pointee.destination_case = WIDGETD__V1__MOVE_WIDGET_REQUEST__DESTINATION_AFTER
      c.pointee.after = try writer.string("after", id.rawValue)
    }
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The widget after the move.
public struct MoveWidgetResponse: Hashable, Sendable {
  public var widget: Widget
  /// The widget's etag now.
  public var etag: String

  public init(widget: Widget, etag: String = "") {
    self.widget = widget
    self.etag = etag
  }
}

extension MoveWidgetResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__MoveWidgetResponse>, _ reader: Reader) throws(WireError) {
    (widget, etag) = try reader.requiredWidget(c.pointee.widget)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__MoveWidgetResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message("widget", TaggedWidget(widget: widget, etag: etag))
  }
}
