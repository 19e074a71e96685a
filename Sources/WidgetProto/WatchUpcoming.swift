import CWidgetProto
public import WidgetModel

/// The upcoming entries of widgets. The frame comes after the frames with the state that they
/// follow from.
public struct WatchUpcoming: Hashable, Sendable {
  public var widgets: [UpcomingEntries]
  /// Whether the daemon has a fake clock, so that the dates do not match the reader's clock.
  public var hasFakeClock: Bool

  public init(widgets: [UpcomingEntries] = [], hasFakeClock: Bool = false) {
    self.widgets = widgets
    self.hasFakeClock = hasFakeClock
  }
}

extension WatchUpcoming: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchUpcoming>, _ reader: Reader) throws(WireError) {
    self.init(
      widgets: try reader.list("widgets", c.pointee.n_widgets, c.pointee.widgets) {
        (element) throws(WireError) in
        try UpcomingEntries(c: element, reader)
      }, hasFakeClock: c.pointee.fake_clock != 0)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchUpcoming>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_widgets = widgets.count
    c.pointee.widgets = try writer.list("widgets", widgets)
    c.pointee.fake_clock = hasFakeClock ? 1 : 0
  }
}

/// The upcoming entries of one widget.
public struct UpcomingEntries: Hashable, Sendable {
  public var id: WidgetID
  /// The entries after the current one, by date.
  public var entries: [ShownEntry]
  /// Whether the widget has more entries after these.
  public var more: Bool

  public init(id: WidgetID, entries: [ShownEntry] = [], more: Bool = false) {
    self.id = id
    self.entries = entries
    self.more = more
  }
}

extension UpcomingEntries: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UpcomingEntries>, _ reader: Reader) throws(WireError) {
    self.init(
      id: try reader.widgetID("id", c.pointee.id),
      entries: try reader.list("entries", c.pointee.n_entries, c.pointee.entries) {
        (element) throws(WireError) in
        try ShownEntry(c: element, reader)
      }, more: c.pointee.more != 0)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UpcomingEntries>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id.rawValue)
    c.pointee.n_entries = entries.count
    c.pointee.entries = try writer.list("entries", entries)
    c.pointee.more = more ? 1 : 0
  }
}
