import CWidgetProto
public import WidgetModel

// The requests about one widget and their responses, in the order of WidgetService. In all requests
// an unknown enum number and a bad id are errors that name the field.

/// Asks to add a widget.
public struct CreateWidgetRequest: Hashable, Sendable {
  public var widget: WidgetSpec
  /// Makes a retry safe: the daemon carries out a user's request with this id only once. At most
  /// 128 characters.
  public var requestID: String
  public var transition: Transition?

  public init(widget: WidgetSpec, requestID: String = "", transition: Transition? = nil) {
    self.widget = widget
    self.requestID = requestID
    self.transition = transition
  }
}

extension CreateWidgetRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__CreateWidgetRequest>, _ reader: Reader) throws(WireError) {
    widget = try reader.required("widget", c.pointee.widget)
    requestID = reader.string(c.pointee.request_id)
    transition = try reader.requestTransition(c.pointee.transition)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__CreateWidgetRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message("widget", widget)
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The new widget.
public struct CreateWidgetResponse: Hashable, Sendable {
  public var widget: Widget
  /// The widget's etag now; empty if the read mask leaves it out.
  public var etag: String
  /// Possible mistakes. The widget was added all the same.
  public var warnings: [RequestWarning]

  public init(widget: Widget, etag: String = "", warnings: [RequestWarning] = []) {
    self.widget = widget
    self.etag = etag
    self.warnings = warnings
  }
}

extension CreateWidgetResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__CreateWidgetResponse>, _ reader: Reader) throws(WireError) {
    (widget, etag) = try reader.requiredWidget(c.pointee.widget)
    warnings = try reader.warnings(c.pointee.n_warnings, c.pointee.warnings)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__CreateWidgetResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message(
      "widget", TaggedWidget(widget: widget, etag: etag))
    c.pointee.n_warnings = warnings.count
    c.pointee.warnings = try writer.list("warnings", warnings)
  }
}

/// Asks for one widget.
public struct GetWidgetRequest: Hashable, Sendable {
  public var id: WidgetID
  /// The fields of the widget to return.
  public var readMask: ReadMask
  /// The family whose content to return; nil for the widget's own.
  public var contentFamily: Family?
  /// Return a redacted view.
  public var isRedacted: Bool

  public init(
    id: WidgetID, readMask: ReadMask = .all, contentFamily: Family? = nil, isRedacted: Bool = false
  ) {
    self.isRedacted = isRedacted
    self.id = id
    self.readMask = readMask
    self.contentFamily = contentFamily
  }
}

extension GetWidgetRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetWidgetRequest>, _ reader: Reader) throws(WireError) {
    id = try reader.widgetID("id", c.pointee.id)
    readMask = try reader.readMask("read_mask", c.pointee.read_mask)
    contentFamily = try reader.family("content_family", c.pointee.content_family)
    isRedacted = c.pointee.redacted != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetWidgetRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.read_mask = try writer.readMask("read_mask", readMask)
    if let contentFamily { c.pointee.content_family = Widgetd__V1__Family(contentFamily) }
    c.pointee.redacted = isRedacted ? 1 : 0
  }
}

/// The widget.
public struct GetWidgetResponse: Hashable, Sendable {
  public var widget: Widget
  /// The widget's etag now; empty if the read mask leaves it out.
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

extension GetWidgetResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetWidgetResponse>, _ reader: Reader) throws(WireError) {
    let tagged = try reader.required("widget", c.pointee.widget, as: TaggedWidget.self)
    (widget, etag, owners) = (tagged.widget, tagged.etag, tagged.owners)
    storedTimeline = tagged.storedTimeline
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetWidgetResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget = try writer.message(
      "widget",
      TaggedWidget(widget: widget, etag: etag, owners: owners, storedTimeline: storedTimeline))
  }
}

/// Asks to change one widget.
public struct UpdateWidgetRequest: Hashable, Sendable {
  public var id: WidgetID
  public var patch: WidgetPatch
  /// If not empty, the widget must still have this etag.
  public var etag: String
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String
  public var transition: Transition?
  /// Leave the widget out of the answer, for callers who update often.
  public var omitWidget: Bool
  /// The provider that owns the changed fields; empty if the user owns them.
  public var provider: String

  public init(
    id: WidgetID, patch: WidgetPatch = WidgetPatch(), etag: String = "", requestID: String = "",
    transition: Transition? = nil, omitWidget: Bool = false, provider: String = ""
  ) {
    self.provider = provider
    self.id = id
    self.patch = patch
    self.etag = etag
    self.requestID = requestID
    self.transition = transition
    self.omitWidget = omitWidget
  }
}

extension UpdateWidgetRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateWidgetRequest>, _ reader: Reader) throws(WireError) {
    id = try reader.widgetID("id", c.pointee.id)
    patch = try reader.optional("patch", c.pointee.patch) ?? WidgetPatch()
    etag = reader.string(c.pointee.etag)
    requestID = reader.string(c.pointee.request_id)
    transition = try reader.requestTransition(c.pointee.transition)
    omitWidget = c.pointee.omit_widget != 0
    provider = reader.string(c.pointee.provider)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateWidgetRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.patch = try writer.message("patch", patch)
    c.pointee.etag = try writer.string("etag", etag)
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
    c.pointee.omit_widget = omitWidget ? 1 : 0
    c.pointee.provider = try writer.string("provider", provider)
  }
}

/// The outcome of an update.
public struct UpdateWidgetResponse: Hashable, Sendable {
  /// The widget after the change; nil with `omitWidget`.
  public var widget: Widget?
  /// The widget's etag now; empty without the widget.
  public var etag: String
  /// The widget's revision after the change. Unchanged if nothing changed.
  public var revision: Revision
  /// Whether anything changed.
  public var changed: Bool

  public init(
    widget: Widget? = nil, etag: String = "", revision: Revision = 0, changed: Bool = false
  ) {
    self.widget = widget
    self.etag = etag
    self.revision = revision
    self.changed = changed
  }
}

extension UpdateWidgetResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpdateWidgetResponse>, _ reader: Reader) throws(WireError) {
    let tagged = try reader.optional("widget", c.pointee.widget, as: TaggedWidget.self)
    widget = tagged?.widget
    etag = tagged?.etag ?? ""
    revision = c.pointee.revision
    changed = c.pointee.changed != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpdateWidgetResponse>, _ writer: Writer
  ) throws(WireError) {
    if let widget {
      c.pointee.widget = try writer.message("widget", TaggedWidget(widget: widget, etag: etag))
    }
    c.pointee.revision = revision
    c.pointee.changed = changed ? 1 : 0
  }
}

/// Asks to remove one widget.
public struct DeleteWidgetRequest: Hashable, Sendable {
  public var id: WidgetID
  /// If not empty, the widget must still have this etag.
  public var etag: String
  /// A widget that does not exist is not an error.
  public var allowMissing: Bool
  /// See `CreateWidgetRequest.requestID`.
  public var requestID: String
  public var transition: Transition?

  public init(
    id: WidgetID, etag: String = "", allowMissing: Bool = false, requestID: String = "",
    transition: Transition? = nil
  ) {
    self.id = id
    self.etag = etag
    self.allowMissing = allowMissing
    self.requestID = requestID
    self.transition = transition
  }
}

extension DeleteWidgetRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteWidgetRequest>, _ reader: Reader) throws(WireError) {
    id = try reader.widgetID("id", c.pointee.id)
    etag = reader.string(c.pointee.etag)
    allowMissing = c.pointee.allow_missing != 0
    requestID = reader.string(c.pointee.request_id)
    transition = try reader.requestTransition(c.pointee.transition)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteWidgetRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.etag = try writer.string("etag", etag)
    c.pointee.allow_missing = allowMissing ? 1 : 0
    c.pointee.request_id = try writer.string("request_id", requestID)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// The store's revision after the removal.
public struct DeleteWidgetResponse: Hashable, Sendable {
  public var revision: Revision

  public init(revision: Revision = 0) {
    self.revision = revision
  }
}

extension DeleteWidgetResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteWidgetResponse>, _ reader: Reader) {
    revision = c.pointee.revision
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__DeleteWidgetResponse>, _ writer: Writer) {
    c.pointee.revision = revision
  }
}
