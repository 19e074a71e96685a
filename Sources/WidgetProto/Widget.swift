import CWidgetProto
public import WidgetModel

// widgetd.v1.Widget and its parts.

/// A widget with its present etag: widgetd.v1.Widget in responses.
public struct TaggedWidget: Hashable, Sendable {
  public var widget: Widget
  /// Empty in stream frames, and where the read mask leaves it out.
  public var etag: String
  /// The owners of fields; empty unless the read mask names `owners`.
  public var owners: [FieldOwner]
  /// The timeline that was set; nil for none, and unless the read mask names `stored_timeline`.
  public var storedTimeline: Timeline?

  public init(
    widget: Widget, etag: String = "", owners: [FieldOwner] = [], storedTimeline: Timeline? = nil
  ) {
    self.widget = widget
    self.etag = etag
    self.owners = owners
    self.storedTimeline = storedTimeline
  }
}

extension TaggedWidget: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Widget>, _ reader: Reader) throws(WireError) {
    widget = try Widget(c: c, reader)
    etag = reader.string(c.pointee.etag)
    owners = try reader.owners("owners", c.pointee.n_owners, c.pointee.owners)
    storedTimeline = try reader.optional("stored_timeline", c.pointee.stored_timeline)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Widget>, _ writer: Writer) throws(WireError) {
    try widget.fill(c, writer)
    if !etag.isEmpty, writer.mask.wants(.etag) {
      c.pointee.etag = try writer.string("etag", etag)
    }
    if !owners.isEmpty, writer.mask.wants(.owners) {
      c.pointee.n_owners = owners.count
      c.pointee.owners = try writer.list("owners", owners)
    }
    if let storedTimeline, writer.mask.wants(.storedTimeline) {
      c.pointee.stored_timeline = try writer.message("stored_timeline", storedTimeline)
    }
  }
}

extension FieldOwner: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__FieldOwner>, _ reader: Reader) throws(WireError) {
    self.init(
      path: reader.string(c.pointee.path), owner: reader.string(c.pointee.owner),
      manager: reader.string(c.pointee.manager),
      declared: try reader.optional("declared", c.pointee.declared))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__FieldOwner>, _ writer: Writer) throws(WireError)
  {
    c.pointee.path = try writer.string("path", path)
    c.pointee.owner = try writer.string("owner", owner)
    c.pointee.manager = try writer.string("manager", manager)
    if let declared { c.pointee.declared = try writer.message("declared", declared) }
  }
}

/// widgetd.v1.Widget without its etag. A family that is absent or unknown reads as medium, an
/// absent presence as visible and enabled, an absent time as 1970.
extension Widget: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Widget>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id), kind: try reader.kind("kind", c.pointee.kind))
    family = Family(number: c.pointee.family.rawValue) ?? .medium
    labels = try reader.labels("labels", c.pointee.n_labels, c.pointee.labels)
    presence = try reader.optional("presence", c.pointee.presence) ?? Presence()
    position = c.pointee.position
    parameters = try reader.values(
      "parameters", c.pointee.n_parameters, c.pointee.parameters)
    data = try reader.values("data", c.pointee.n_data, c.pointee.data)
    isStale = c.pointee.stale != 0
    error = try reader.error("error", c.pointee.error) ?? nil
    createdRevision = c.pointee.created_revision
    revision = c.pointee.revision
    createTime = try reader.timestamp("create_time", c.pointee.create_time) ?? .epoch
    updateTime = try reader.timestamp("update_time", c.pointee.update_time) ?? .epoch
    ownerUID = c.pointee.owner_uid
    applySet = reader.string(c.pointee.apply_set)
    content = try reader.optional("content", c.pointee.content)
    timeline = try reader.optional("timeline", c.pointee.timeline)
    activity = try reader.optional("activity", c.pointee.activity)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Widget>, _ writer: Writer) throws(WireError) {
    let mask = writer.mask
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    c.pointee.created_revision = createdRevision
    c.pointee.revision = revision
    if mask.wants(.family) { c.pointee.family = Widgetd__V1__Family(family) }
    if mask.wants(.labels) {
      c.pointee.n_labels = labels.count
      c.pointee.labels = try writer.entries(
        "labels", labels, of: Widgetd__V1__Widget__LabelsEntry.self)
    }
    if mask.wants(.presence) { c.pointee.presence = try writer.message("presence", presence) }
    if mask.wants(.position) { c.pointee.position = position }
    let parameters = writer.wanted(parameters, .parameters, mask.parameterKeys)
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__Widget__ParametersEntry.self)
    let data = writer.wanted(data, .data, mask.dataKeys)
    c.pointee.n_data = data.count
    c.pointee.data = try writer.entries("data", data, of: Widgetd__V1__Widget__DataEntry.self)
    if mask.wants(.stale) { c.pointee.stale = isStale ? 1 : 0 }
    if mask.wants(.error) { c.pointee.error = try writer.message("error", optional: error) }
    if mask.wants(.createTime) { c.pointee.create_time = try writer.timestamp(createTime) }
    if mask.wants(.updateTime) { c.pointee.update_time = try writer.timestamp(updateTime) }
    if mask.wants(.ownerUID) { c.pointee.owner_uid = ownerUID }
    if mask.wants(.applySet), !applySet.isEmpty {
      c.pointee.apply_set = try writer.string("apply_set", applySet)
    }
    if mask.wants(.content) {
      c.pointee.content = try writer.message("content", optional: content)
    }
    if mask.wants(.timeline) {
      c.pointee.timeline = try writer.message("timeline", optional: timeline)
    }
    if mask.wants(.activity) {
      c.pointee.activity = try writer.message("activity", optional: activity)
    }
  }
}

extension Presence: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Presence>, _ reader: Reader) {
    self.init(isVisible: c.pointee.visible != 0, isEnabled: c.pointee.enabled != 0)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Presence>, _ writer: Writer) {
    c.pointee.visible = isVisible ? 1 : 0
    c.pointee.enabled = isEnabled ? 1 : 0
    c.pointee.state = Widgetd__V1__PresenceState(rawValue: UInt32(state.rawValue))
  }
}

extension WidgetError: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WidgetError>, _ reader: Reader) throws(WireError) {
    self.init(
      reason: reader.string(c.pointee.reason), message: reader.string(c.pointee.message),
      since: try reader.timestamp("since", c.pointee.since),
      further: try reader.list("further", c.pointee.n_further, c.pointee.further) {
        (element) throws(WireError) in
        // The further errors of a further error do not count.
        WidgetError(
          reason: reader.string(element.pointee.reason),
          message: reader.string(element.pointee.message),
          since: try reader.timestamp("since", element.pointee.since))
      })
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WidgetError>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.reason = try writer.string("reason", reason)
    c.pointee.message = try writer.string("message", message)
    if let since { c.pointee.since = try writer.timestamp(since) }
    c.pointee.n_further = further.count
    c.pointee.further = try writer.list("further", further)
  }
}

/// A curve that is unknown reads as unspecified. In requests it is refused; see
/// `Reader.requestTransition`.
extension Transition: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Transition>, _ reader: Reader) throws(WireError) {
    self.init(
      curve: Curve(number: c.pointee.curve.rawValue) ?? .unspecified,
      duration: try reader.duration("duration", c.pointee.duration),
      springResponse: c.pointee.spring_response, springDamping: c.pointee.spring_damping)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__Transition>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.curve = Widgetd__V1__Curve(rawValue: UInt32(curve.rawValue))
    c.pointee.duration = try writer.duration("duration", optional: duration)
    c.pointee.spring_response = springResponse
    c.pointee.spring_damping = springDamping
  }
}

/// widgetd.v1.LabelSet.
extension Labels: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__LabelSet>, _ reader: Reader) throws(WireError) {
    self = try reader.labels("labels", c.pointee.n_labels, c.pointee.labels)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__LabelSet>, _ writer: Writer) throws(WireError) {
    c.pointee.n_labels = count
    c.pointee.labels = try writer.entries(
      "labels", self, of: Widgetd__V1__LabelSet__LabelsEntry.self)
  }
}

extension Reader {
  func owners(
    _ field: StaticString, _ count: Int,
    _ elements: UnsafeMutablePointer<UnsafeMutablePointer<Widgetd__V1__FieldOwner>?>?
  ) throws(WireError) -> [FieldOwner] {
    try list(field, count, elements) { (element) throws(WireError) in
      try FieldOwner(c: element, self)
    }
  }

  /// Reads an error field: nil if it is absent, `.some(nil)` if it clears the error.
  func error(
    _ field: StaticString, _ c: UnsafeMutablePointer<Widgetd__V1__WidgetError>?
  ) throws(WireError) -> WidgetError?? {
    guard let error: WidgetError = try optional(field, c) else { return nil }
    return .some(error.reason.isEmpty ? nil : error)
  }

  /// Reads the transition of a request, where an unknown curve is an error.
  func requestTransition(
    _ c: UnsafeMutablePointer<Widgetd__V1__Transition>?
  ) throws(WireError) -> Transition? {
    guard let c else { return nil }
    let number = c.pointee.curve.rawValue
    guard Transition.Curve(number: number) != nil else {
      throw unknownEnum("transition.curve", number, "use one of the values of Curve")
    }
    return try optional("transition", c)
  }
}

extension Writer {
  /// The part of a map that the read mask selects.
  func wanted(_ map: ValueMap, _ whole: ReadMask.Field, _ keys: [String]) -> ValueMap {
    if mask.wants(whole) { return map }
    if keys.isEmpty { return [:] }
    return ValueMap(keys.compactMap { key in map[key].map { .init(key: key, value: $0) } })
  }

  /// An error field; if it is absent, the error has not changed.
  func message(
    _ field: StaticString, changed error: WidgetError??
  ) throws(WireError) -> UnsafeMutablePointer<Widgetd__V1__WidgetError>? {
    guard let error else { return nil }
    return try message(field, error ?? .cleared)
  }
}

extension WidgetError {
  /// An error field that clears the error.
  static let cleared = WidgetError(reason: "", message: "")
}

extension RawRepresentable where RawValue == UInt8 {
  /// The case with this number in the schema; the domain's enums use the same numbers.
  init?(number: UInt32) {
    guard let small = UInt8(exactly: number) else { return nil }
    self.init(rawValue: small)
  }
}

extension Widgetd__V1__Family {
  init(_ family: Family) { self.init(rawValue: UInt32(family.rawValue)) }
}
