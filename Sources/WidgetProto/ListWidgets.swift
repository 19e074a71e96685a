import CWidgetProto
public import WidgetModel

// Pages of widgets.

/// Asks for a page of widgets.
public struct ListWidgetsRequest: Hashable, Sendable {
  public var selector: Selector
  /// The maximum number of widgets; 0 for the daemon's default.
  public var pageSize: Int32
  /// The previous page's `nextPageToken`.
  public var pageToken: String
  /// The fields of each widget to return.
  public var readMask: ReadMask
  /// The family whose content to return; nil for each widget's own.
  public var contentFamily: Family?
  /// Return a redacted view.
  public var isRedacted: Bool

  public init(
    selector: Selector = Selector(), pageSize: Int32 = 0, pageToken: String = "",
    readMask: ReadMask = .all, contentFamily: Family? = nil, isRedacted: Bool = false
  ) {
    self.isRedacted = isRedacted
    self.selector = selector
    self.pageSize = pageSize
    self.pageToken = pageToken
    self.readMask = readMask
    self.contentFamily = contentFamily
  }
}

extension ListWidgetsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListWidgetsRequest>, _ reader: Reader) throws(WireError) {
    selector = try reader.optional("selector", c.pointee.selector) ?? Selector()
    pageSize = c.pointee.page_size
    pageToken = reader.string(c.pointee.page_token)
    readMask = try reader.readMask("read_mask", c.pointee.read_mask)
    contentFamily = try reader.family("content_family", c.pointee.content_family)
    isRedacted = c.pointee.redacted != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ListWidgetsRequest>, _ writer: Writer
  ) throws(WireError) {
    if !selector.isEverything { c.pointee.selector = try writer.message("selector", selector) }
    c.pointee.page_size = pageSize
    c.pointee.page_token = try writer.string("page_token", pageToken)
    c.pointee.read_mask = try writer.readMask("read_mask", readMask)
    if let contentFamily { c.pointee.content_family = Widgetd__V1__Family(contentFamily) }
    c.pointee.redacted = isRedacted ? 1 : 0
  }
}

/// A page of widgets, in position order.
public struct ListWidgetsResponse: Hashable, Sendable {
  public var widgets: [TaggedWidget]
  /// The token of the next page; empty on the last page.
  public var nextPageToken: String
  /// The store's revision at the time of the call.
  public var revision: Revision

  public init(widgets: [TaggedWidget] = [], nextPageToken: String = "", revision: Revision = 0) {
    self.widgets = widgets
    self.nextPageToken = nextPageToken
    self.revision = revision
  }
}

extension ListWidgetsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ListWidgetsResponse>, _ reader: Reader) throws(WireError) {
    widgets = try reader.list("widgets", c.pointee.n_widgets, c.pointee.widgets) {
      (element) throws(WireError) in
      try TaggedWidget(c: element, reader)
    }
    nextPageToken = reader.string(c.pointee.next_page_token)
    revision = c.pointee.revision
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ListWidgetsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_widgets = widgets.count
    c.pointee.widgets = try writer.list("widgets", widgets)
    c.pointee.next_page_token = try writer.string("next_page_token", nextPageToken)
    c.pointee.revision = revision
  }
}
