import CWidgetProto
public import WidgetModel

// Requests that open, end and ask about streams. The frames are in WatchFrames.swift.

/// Asks for a stream of state.
public struct WatchWidgetsRequest: Hashable, Sendable {
  /// The selected widgets, also future ones.
  public var selector: Selector
  /// The fields of each widget to send.
  public var readMask: ReadMask
  /// The token of the frame after which to continue; empty for a snapshot.
  public var resumeToken: [UInt8]
  /// The minimum time between two change frames.
  public var minInterval: Duration?
  /// The time without a frame after which a progress frame is sent; nil for never.
  public var progressInterval: Duration?
  /// Also send the events of the selected widgets.
  public var includeEvents: Bool
  /// With `includeEvents`: start after this sequence number instead of now.
  public var afterSequence: UInt64?
  /// The family whose content to send; nil for each widget's own.
  public var contentFamily: Family?
  /// Also send the theme, after `opened` and at each change of it.
  public var includeTheme: Bool
  /// Do not count as a watcher.
  public var isPassive: Bool
  /// The number of entries of each widget's timeline whose content to send in advance; 0 for none.
  public var upcomingEntries: Int
  /// Send a redacted view.
  public var isRedacted: Bool
  /// The time for which a change waits for changes that follow it.
  public var batchDelay: Duration?

  /// The maximum number of entries of a widget that a daemon sends in advance.
  public static let upcomingEntriesMax = 60

  public init(
    selector: Selector = Selector(), readMask: ReadMask = .all, resumeToken: [UInt8] = [],
    minInterval: Duration? = nil, progressInterval: Duration? = nil, includeEvents: Bool = false,
    afterSequence: UInt64? = nil, contentFamily: Family? = nil, includeTheme: Bool = false,
    isPassive: Bool = false, upcomingEntries: Int = 0, isRedacted: Bool = false,
    batchDelay: Duration? = nil
  ) {
    self.batchDelay = batchDelay
    self.isRedacted = isRedacted
    self.upcomingEntries = upcomingEntries
    self.isPassive = isPassive
    self.contentFamily = contentFamily
    self.includeTheme = includeTheme
    self.selector = selector
    self.readMask = readMask
    self.resumeToken = resumeToken
    self.minInterval = minInterval
    self.progressInterval = progressInterval
    self.includeEvents = includeEvents
    self.afterSequence = afterSequence
  }
}

extension WatchWidgetsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchWidgetsRequest>, _ reader: Reader) throws(WireError) {
    selector = try reader.optional("selector", c.pointee.selector) ?? Selector()
    readMask = try reader.readMask("read_mask", c.pointee.read_mask)
    resumeToken = reader.bytes(c.pointee.resume_token)
    minInterval = try reader.duration("min_interval", c.pointee.min_interval)
    progressInterval = try reader.duration("progress_interval", c.pointee.progress_interval)
    includeEvents = c.pointee.include_events != 0
    includeTheme = c.pointee.include_theme != 0
    isPassive = c.pointee.passive != 0
    upcomingEntries = Int(c.pointee.upcoming_entries)
    isRedacted = c.pointee.redacted != 0
    batchDelay = try reader.duration("batch_delay", c.pointee.batch_delay)
    if c.pointee._after_sequence_case
      == WIDGETD__V1__WATCH_WIDGETS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE
    {
      afterSequence = c.pointee.after_sequence
    }
    contentFamily = try reader.family("content_family", c.pointee.content_family)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchWidgetsRequest>, _ writer: Writer
  ) throws(WireError) {
    if !selector.isEverything { c.pointee.selector = try writer.message("selector", selector) }
    c.pointee.read_mask = try writer.readMask("read_mask", readMask)
    c.pointee.resume_token = try writer.bytes(resumeToken)
    c.pointee.min_interval = try writer.duration("min_interval", optional: minInterval)
    c.pointee.progress_interval = try writer.duration(
      "progress_interval", optional: progressInterval)
    c.pointee.include_events = includeEvents ? 1 : 0
    c.pointee.include_theme = includeTheme ? 1 : 0
    c.pointee.passive = isPassive ? 1 : 0
    c.pointee.upcoming_entries = Int32(clamping: upcomingEntries)
    c.pointee.redacted = isRedacted ? 1 : 0
    c.pointee.batch_delay = try writer.duration("batch_delay", optional: batchDelay)
    if let afterSequence {
      c.pointee._after_sequence_case =
        WIDGETD__V1__WATCH_WIDGETS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE
      c.pointee.after_sequence = afterSequence
    }
    if let contentFamily { c.pointee.content_family = Widgetd__V1__Family(contentFamily) }
  }
}

/// Asks for a stream of events.
public struct WatchEventsRequest: Hashable, Sendable {
  /// The widgets whose events to send, including future widgets.
  public var selector: Selector
  /// Only events with one of these names; empty means all.
  public var names: [String]
  /// Start after this sequence number instead of now.
  public var afterSequence: UInt64?

  public init(selector: Selector = Selector(), names: [String] = [], afterSequence: UInt64? = nil) {
    self.selector = selector
    self.names = names
    self.afterSequence = afterSequence
  }
}

extension WatchEventsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__WatchEventsRequest>, _ reader: Reader) throws(WireError) {
    selector = try reader.optional("selector", c.pointee.selector) ?? Selector()
    try reader.checkNames("names", c.pointee.n_names)
    names = reader.strings(c.pointee.n_names, c.pointee.names)
    if c.pointee._after_sequence_case
      == WIDGETD__V1__WATCH_EVENTS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE
    {
      afterSequence = c.pointee.after_sequence
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__WatchEventsRequest>, _ writer: Writer
  ) throws(WireError) {
    if !selector.isEverything { c.pointee.selector = try writer.message("selector", selector) }
    c.pointee.n_names = names.count
    c.pointee.names = try writer.strings("names", names)
    if let afterSequence {
      c.pointee._after_sequence_case =
        WIDGETD__V1__WATCH_EVENTS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE
      c.pointee.after_sequence = afterSequence
    }
  }
}

/// Asks to end a stream.
public struct UnsubscribeRequest: Hashable, Sendable {
  /// From the stream's first frame.
  public var subscriptionID: UInt64

  public init(subscriptionID: UInt64 = 0) {
    self.subscriptionID = subscriptionID
  }
}

extension UnsubscribeRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UnsubscribeRequest>, _ reader: Reader) {
    subscriptionID = c.pointee.subscription_id
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__UnsubscribeRequest>, _ writer: Writer) {
    c.pointee.subscription_id = subscriptionID
  }
}

/// The stream ends without an error.
public struct UnsubscribeResponse: Hashable, Sendable {
  public init() {}
}

extension UnsubscribeResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UnsubscribeResponse>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__UnsubscribeResponse>, _ writer: Writer) {}
}

/// Asks a stream for a progress frame.
public struct RequestProgressRequest: Hashable, Sendable {
  /// From the stream's first frame.
  public var subscriptionID: UInt64

  public init(subscriptionID: UInt64 = 0) {
    self.subscriptionID = subscriptionID
  }
}

extension RequestProgressRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RequestProgressRequest>, _ reader: Reader) {
    subscriptionID = c.pointee.subscription_id
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__RequestProgressRequest>, _ writer: Writer) {
    c.pointee.subscription_id = subscriptionID
  }
}

/// The progress frame comes on the stream.
public struct RequestProgressResponse: Hashable, Sendable {
  public init() {}
}

extension RequestProgressResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RequestProgressResponse>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__RequestProgressResponse>, _ writer: Writer) {}
}
