import CWidgetProto
public import WidgetModel

// Activities, and the activity service: widgetd/v1/activity.proto and activity_service.proto.

/// An unknown state reads as ended if the activity has an end, else as active.
extension Activity: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Activity>, _ reader: Reader) throws(WireError) {
    let end = try reader.timestamp("end_time", c.pointee.end_time)
    self.init(
      state: State(number: c.pointee.state.rawValue) ?? (end == nil ? .active : .ended),
      startTime: try reader.timestamp("start_time", c.pointee.start_time) ?? .epoch,
      expireTime: try reader.timestamp("expire_time", c.pointee.expire_time) ?? .epoch,
      staleTime: try reader.timestamp("stale_time", c.pointee.stale_time), endTime: end,
      dismissTime: try reader.timestamp("dismiss_time", c.pointee.dismiss_time))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Activity>, _ writer: Writer) throws(WireError) {
    c.pointee.state = Widgetd__V1__ActivityState(rawValue: UInt32(state.rawValue))
    c.pointee.start_time = try writer.timestamp(startTime)
    c.pointee.expire_time = try writer.timestamp(expireTime)
    if let staleTime { c.pointee.stale_time = try writer.timestamp(staleTime) }
    if let endTime { c.pointee.end_time = try writer.timestamp(endTime) }
    if let dismissTime { c.pointee.dismiss_time = try writer.timestamp(dismissTime) }
  }
}

/// Asks to start an activity.
public struct StartActivityRequest: Hashable, Sendable {
  /// The parameters are the attributes, the data is the state.
  public var widget: WidgetSpec
  /// nil: the maximum lifetime.
  public var lifetime: Duration?
  /// nil: the widget never becomes stale.
  public var staleAfter: Duration?
  /// Makes a retry safe; see `CreateWidgetRequest`.
  public var requestID: String
  public var transition: Transition?

  public init(
    widget: WidgetSpec, lifetime: Duration? = nil, staleAfter: Duration? = nil,
    requestID: String = "", transition: Transition? = nil
  ) {
    self.widget = widget
    self.lifetime = lifetime
    self.staleAfter = staleAfter
    self.requestID = requestID
    self.transition = transition
  }
}

extension StartActivityRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__StartActivityRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      widget: try reader.required("widget", c.pointee.widget),
      lifetime: try reader.duration("lifetime", c.pointee.lifetime),
      staleAfter: try reader.duration("stale_after", c.pointee.stale_after),
      requestID: reader.string(c.pointee.request_id),
      transition: try reader.requestTransition(c.pointee.transition))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__StartActivityRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message("widget", widget)
    c.pointee.lifetime = try writer.duration("lifetime", optional: lifetime)
    c.pointee.stale_after = try writer.duration("stale_after", optional: staleAfter)
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The new activity.
public struct StartActivityResponse: Hashable, Sendable {
  public var widget: Widget
  public var etag: String
  /// Possible mistakes. The widget was added all the same.
  public var warnings: [RequestWarning]

  public init(widget: Widget, etag: String = "", warnings: [RequestWarning] = []) {
    self.widget = widget
    self.etag = etag
    self.warnings = warnings
  }
}

extension StartActivityResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__StartActivityResponse>, _ reader: Reader) throws(WireError) {
    (widget, etag) = try reader.requiredWidget(c.pointee.widget)
    warnings = try reader.warnings(c.pointee.n_warnings, c.pointee.warnings)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__StartActivityResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message("widget", TaggedWidget(widget: widget, etag: etag))
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.list("warnings", warnings)
  }
}

extension StatePatch: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__StatePatch>, _ reader: Reader) throws(WireError) {
    self.init(
      setData: try reader.values("set_data", c.pointee.n_set_data, c.pointee.set_data),
      unsetData: reader.strings(c.pointee.n_unset_data, c.pointee.unset_data))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__StatePatch>, _ writer: Writer) throws(WireError)
  {
    c.pointee.n_set_data = setData.count
    c.pointee.set_data = try writer.entries(
      "set_data", setData, of: Widgetd__V1__StatePatch__SetDataEntry.self)
    c.pointee.n_unset_data = unsetData.count
    c.pointee.unset_data = try writer.strings("unset_data", unsetData)
  }
}

/// Asks to change an activity's state.
public struct UpdateActivityRequest: Hashable, Sendable {
  public var id: WidgetID
  public var patch: StatePatch
  /// nil: the widget does not become stale any more.
  public var staleAfter: Duration?
  /// Makes a retry safe; see `CreateWidgetRequest`.
  public var requestID: String
  public var transition: Transition?

  public init(
    id: WidgetID, patch: StatePatch = StatePatch(), staleAfter: Duration? = nil,
    requestID: String = "", transition: Transition? = nil
  ) {
    self.id = id
    self.patch = patch
    self.staleAfter = staleAfter
    self.requestID = requestID
    self.transition = transition
  }
}

extension UpdateActivityRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateActivityRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id),
      patch: try reader.optional("patch", c.pointee.patch) ?? StatePatch(),
      staleAfter: try reader.duration("stale_after", c.pointee.stale_after),
      requestID: reader.string(c.pointee.request_id),
      transition: try reader.requestTransition(c.pointee.transition))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateActivityRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.patch = try writer.message("patch", patch)
    c.pointee.stale_after = try writer.duration("stale_after", optional: staleAfter)
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The activity after the change.
public struct UpdateActivityResponse: Hashable, Sendable {
  public var widget: Widget
  public var etag: String

  public init(widget: Widget, etag: String = "") {
    self.widget = widget
    self.etag = etag
  }
}

extension UpdateActivityResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateActivityResponse>, _ reader: Reader) throws(WireError) {
    (widget, etag) = try reader.requiredWidget(c.pointee.widget)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateActivityResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message("widget", TaggedWidget(widget: widget, etag: etag))
  }
}

/// Asks to end an activity.
public struct EndActivityRequest: Hashable, Sendable {
  public var id: WidgetID
  public var patch: StatePatch
  public var dismissal: Activity.Dismissal
  /// Makes a retry safe; see `CreateWidgetRequest`.
  public var requestID: String
  public var transition: Transition?

  public init(
    id: WidgetID, patch: StatePatch = StatePatch(), dismissal: Activity.Dismissal = .standard,
    requestID: String = "", transition: Transition? = nil
  ) {
    self.id = id
    self.patch = patch
    self.dismissal = dismissal
    self.requestID = requestID
    self.transition = transition
  }
}

extension EndActivityRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EndActivityRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id),
      patch: try reader.optional("patch", c.pointee.patch) ?? StatePatch(),
      dismissal: try reader.dismissal(
        c.pointee.dismissal,
        after: try reader.duration("dismiss_after", c.pointee.dismiss_after)),
      requestID: reader.string(c.pointee.request_id),
      transition: try reader.requestTransition(c.pointee.transition))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__EndActivityRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.patch = try writer.message("patch", patch)
    switch dismissal {
    case .standard: c.pointee.dismissal = WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_DEFAULT
    case .immediate: c.pointee.dismissal = WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_IMMEDIATE
    case .after(let stay):
      c.pointee.dismissal = WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_AFTER
      c.pointee.dismiss_after = try writer.duration("dismiss_after", optional: stay)
    }
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The activity after its end.
public struct EndActivityResponse: Hashable, Sendable {
  /// nil if it was removed with the end.
  public var widget: Widget?
  public var etag: String
  public var revision: Revision

  public init(widget: Widget? = nil, etag: String = "", revision: Revision = 0) {
    self.widget = widget
    self.etag = etag
    self.revision = revision
  }
}

extension EndActivityResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__EndActivityResponse>, _ reader: Reader) throws(WireError) {
    let tagged = try reader.optional("widget", c.pointee.widget, as: TaggedWidget.self)
    self.init(
      widget: tagged?.widget, etag: tagged?.etag ?? "", revision: c.pointee.revision)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__EndActivityResponse>, _ writer: Writer
  ) throws(WireError) {
    if let widget {
      c.pointee.widget = try writer.message("widget", TaggedWidget(widget: widget, etag: etag))
    }
    c.pointee.revision = revision
  }
}

extension Reader {
  fileprivate func dismissal(
    _ policy: Widgetd__V1__DismissalPolicy, after stay: Duration?
  ) throws(WireError) -> Activity.Dismissal {
    switch policy {
    case WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_AFTER:
      guard let stay else {
        throw .invalidField(path: "dismiss_after", description: "is required")
      }
      return .after(stay)
    case _ where stay != nil:
      throw .invalidField(
        path: "dismiss_after", description: "only DISMISSAL_POLICY_AFTER has a time")
    case WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_IMMEDIATE: return .immediate
    case WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_UNSPECIFIED,
      WIDGETD__V1__DISMISSAL_POLICY__DISMISSAL_POLICY_DEFAULT:
      return .standard
    default:
      throw unknownEnum("dismissal", policy.rawValue, "use one of the values of DismissalPolicy")
    }
  }
}
