import CWidgetProto
public import WidgetModel

// The messages of AdminService.

/// The daemon's counters and the limits in force.
public struct GetStatsResponse: Hashable, Sendable {
  /// The daemon's version.
  public var version: String
  public var startTime: Timestamp
  public var uptime: Duration
  /// "sqlite" or "memory".
  public var store: String
  public var epoch: UInt64
  public var revision: Revision
  /// Resuming before this revision is no longer possible.
  public var compactRevision: Revision
  public var widgets: UInt64
  /// Bytes of widget state, as quotas count them.
  public var stateBytes: UInt64
  /// The last event's sequence number.
  public var lastSequence: UInt64
  public var connections: UInt64
  public var subscriptions: UInt64
  /// Monotonic counters by name, since the start.
  public var counters: [String: UInt64]
  /// The limits in force, by name.
  public var limits: [String: UInt64]
  public var pid: UInt32
  /// The errors since the start, in the order of their last occurrence.
  public var recentErrors: [RecentError]
  /// The used part of each limit, by its name. For a limit per user, the part of the user with the
  /// highest usage.
  public var usage: [String: UInt64]
  /// The size of the resident set; 0 if it is not known.
  public var memoryBytes: UInt64
  /// The number of providers with a session.
  public var providers: UInt64
  /// Nil while the store takes changes.
  public var storeFailure: StoreFailure?

  public init(
    version: String = "", startTime: Timestamp = .epoch, uptime: Duration = .zero,
    store: String = "", epoch: UInt64 = 0, revision: Revision = 0, compactRevision: Revision = 0,
    widgets: UInt64 = 0, stateBytes: UInt64 = 0, lastSequence: UInt64 = 0,
    connections: UInt64 = 0, subscriptions: UInt64 = 0, counters: [String: UInt64] = [:],
    limits: [String: UInt64] = [:], pid: UInt32 = 0, recentErrors: [RecentError] = [],
    usage: [String: UInt64] = [:], memoryBytes: UInt64 = 0, providers: UInt64 = 0,
    storeFailure: StoreFailure? = nil
  ) {
    self.version = version
    self.startTime = startTime
    self.uptime = uptime
    self.store = store
    self.epoch = epoch
    self.revision = revision
    self.compactRevision = compactRevision
    self.widgets = widgets
    self.stateBytes = stateBytes
    self.lastSequence = lastSequence
    self.connections = connections
    self.subscriptions = subscriptions
    self.counters = counters
    self.limits = limits
    self.pid = pid
    self.recentErrors = recentErrors
    self.usage = usage
    self.memoryBytes = memoryBytes
    self.providers = providers
    self.storeFailure = storeFailure
  }
}

extension GetStatsResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetStatsResponse>, _ reader: Reader) throws(WireError) {
    version = reader.string(c.pointee.version)
    startTime = try reader.timestamp("start_time", c.pointee.start_time) ?? .epoch
    uptime = try reader.duration("uptime", c.pointee.uptime) ?? .zero
    store = reader.string(c.pointee.store)
    epoch = c.pointee.epoch
    revision = c.pointee.revision
    compactRevision = c.pointee.compact_revision
    widgets = c.pointee.widgets
    stateBytes = c.pointee.state_bytes
    lastSequence = c.pointee.last_sequence
    connections = c.pointee.connections
    subscriptions = c.pointee.subscriptions
    counters = reader.counts(c.pointee.n_counters, c.pointee.counters)
    limits = reader.counts(c.pointee.n_limits, c.pointee.limits)
    pid = c.pointee.pid
    recentErrors = try reader.list(
      "recent_errors", c.pointee.n_recent_errors, c.pointee.recent_errors
    ) { (element) throws(WireError) in
      try RecentError(c: element, reader)
    }
    usage = reader.counts(c.pointee.n_usage, c.pointee.usage)
    memoryBytes = c.pointee.memory_bytes
    providers = c.pointee.providers
    storeFailure = try reader.optional("store_failure", c.pointee.store_failure)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__GetStatsResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.version = try writer.string("version", version)
    c.pointee.start_time = try writer.timestamp(startTime)
    c.pointee.uptime = try writer.duration("uptime", uptime)
    c.pointee.store = try writer.string("store", store)
    c.pointee.epoch = epoch
    c.pointee.revision = revision
    c.pointee.compact_revision = compactRevision
    c.pointee.widgets = widgets
    c.pointee.state_bytes = stateBytes
    c.pointee.last_sequence = lastSequence
    c.pointee.connections = connections
    c.pointee.subscriptions = subscriptions
    c.pointee.n_counters = counters.count
    c.pointee.counters = try writer.entries(
      "counters", counters, of: Widgetd__V1__GetStatsResponse__CountersEntry.self)
    c.pointee.n_limits = limits.count
    c.pointee.limits = try writer.entries(
      "limits", limits, of: Widgetd__V1__GetStatsResponse__LimitsEntry.self)
    c.pointee.pid = pid
    c.pointee.n_recent_errors = recentErrors.count
    c.pointee.recent_errors = try writer.list("recent_errors", recentErrors)
    c.pointee.n_usage = usage.count
    c.pointee.usage = try writer.entries(
      "usage", usage, of: Widgetd__V1__GetStatsResponse__UsageEntry.self)
    c.pointee.memory_bytes = memoryBytes
    c.pointee.providers = providers
    c.pointee.store_failure = try writer.message("store_failure", optional: storeFailure)
  }
}

/// An error that an administrator should see.
public struct RecentError: Hashable, Sendable {
  /// The time of the last occurrence.
  public var time: Timestamp
  /// A code that this version does not know reads as `.unknown`.
  public var code: StatusCode
  /// The stable reason: `STORAGE_FAILED`.
  public var reason: String
  /// The area: "storage", "connections", "settings", or a method's full name.
  public var area: String
  public var message: String
  /// The number of occurrences.
  public var count: UInt64
  /// The user of the last call or connection. Nil if there was none, or several users at once.
  public var peerUID: UInt32?

  public init(
    time: Timestamp = .epoch, code: StatusCode = .ok, reason: String = "", area: String = "",
    message: String = "", count: UInt64 = 0, peerUID: UInt32? = nil
  ) {
    self.time = time
    self.code = code
    self.reason = reason
    self.area = area
    self.message = message
    self.count = count
    self.peerUID = peerUID
  }
}

extension RecentError: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RecentError>, _ reader: Reader) throws(WireError) {
    time = try reader.timestamp("time", c.pointee.time) ?? .epoch
    code = StatusCode(rawValue: c.pointee.code) ?? .unknown
    reason = reader.string(c.pointee.reason)
    area = reader.string(c.pointee.area)
    message = reader.string(c.pointee.message)
    count = c.pointee.count
    if c.pointee._peer_uid_case == WIDGETD__V1__RECENT_ERROR___PEER_UID_PEER_UID {
      peerUID = c.pointee.peer_uid
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RecentError>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.time = try writer.timestamp(time)
    c.pointee.code = code.rawValue
    c.pointee.reason = try writer.string("reason", reason)
    c.pointee.area = try writer.string("area", area)
    c.pointee.message = try writer.string("message", message)
    c.pointee.count = count
    if let peerUID {
      c.pointee._peer_uid_case = WIDGETD__V1__RECENT_ERROR___PEER_UID_PEER_UID
      c.pointee.peer_uid = peerUID
    }
  }
}

/// Asks for counters, gauges and limits.
public struct GetStatsRequest: Hashable, Sendable {
  public init() {}
}

extension GetStatsRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__GetStatsRequest>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__GetStatsRequest>, _ writer: Writer) {}
}

/// Asks to read the configuration again.
public struct ReloadRequest: Hashable, Sendable {
  public init() {}
}

extension ReloadRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ReloadRequest>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ReloadRequest>, _ writer: Writer) {}
}

/// The changes that a reload made.
public struct ReloadResponse: Hashable, Sendable {
  /// Names of settings that changed and are now in force.
  public var applied: [String]
  /// Names of settings that changed but take a restart.
  public var needsRestart: [String]

  public init(applied: [String] = [], needsRestart: [String] = []) {
    self.applied = applied
    self.needsRestart = needsRestart
  }
}

extension ReloadResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ReloadResponse>, _ reader: Reader) {
    applied = reader.strings(c.pointee.n_applied, c.pointee.applied)
    needsRestart = reader.strings(c.pointee.n_needs_restart, c.pointee.needs_restart)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ReloadResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_applied = applied.count
    c.pointee.applied = try writer.strings("applied", applied)
    c.pointee.n_needs_restart = needsRestart.count
    c.pointee.needs_restart = try writer.strings("needs_restart", needsRestart)
  }
}

/// The level of the log.
public enum LogLevel: UInt8, Hashable, Sendable, CaseIterable {
  case trace = 1
  case debug
  case info
  case notice
  case warning
  case error
  case critical
}

/// Asks to change the log level.
public struct SetLogLevelRequest: Hashable, Sendable {
  public var level: LogLevel

  public init(level: LogLevel) {
    self.level = level
  }
}

extension SetLogLevelRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetLogLevelRequest>, _ reader: Reader) throws(WireError) {
    let number = c.pointee.level.rawValue
    guard let level = LogLevel(number: number) else {
      throw reader.unknownEnum("level", number, "use one of the values of LogLevel")
    }
    self.level = level
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__SetLogLevelRequest>, _ writer: Writer) {
    c.pointee.level = Widgetd__V1__LogLevel(rawValue: UInt32(level.rawValue))
  }
}

/// The former log level.
public struct SetLogLevelResponse: Hashable, Sendable {
  /// nil if it is one that this version does not know.
  public var previous: LogLevel?

  public init(previous: LogLevel? = nil) {
    self.previous = previous
  }
}

extension SetLogLevelResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetLogLevelResponse>, _ reader: Reader) {
    previous = LogLevel(number: c.pointee.previous.rawValue)
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__SetLogLevelResponse>, _ writer: Writer) {
    c.pointee.previous = Widgetd__V1__LogLevel(rawValue: UInt32(previous?.rawValue ?? 0))
  }
}

/// Moves the clock of a daemon that runs with a fake one.
public struct SetTimeRequest: Hashable, Sendable {
  /// The new time; nil only asks for the time.
  public var target: Target?

  public enum Target: Hashable, Sendable {
    case time(Timestamp)
    case advance(Duration)
  }

  public init(_ target: Target? = nil) { self.target = target }
}

extension SetTimeRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetTimeRequest>, _ reader: Reader) throws(WireError) {
    switch c.pointee.target_case {
    case WIDGETD__V1__SET_TIME_REQUEST__TARGET_TIME:
      target = try reader.timestamp("time", c.pointee.time).map { .time($0) }
    case WIDGETD__V1__SET_TIME_REQUEST__TARGET_ADVANCE:
      target = try reader.duration("advance", c.pointee.advance).map { .advance($0) }
    default: target = nil
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetTimeRequest>, _ writer: Writer
  ) throws(WireError) {
    switch target {
    case .time(let time):
      c.pointee.target_case = WIDGETD__V1__SET_TIME_REQUEST__TARGET_TIME
      c.pointee.time = try writer.timestamp(time)
    case .advance(let duration):
      c.pointee.target_case = WIDGETD__V1__SET_TIME_REQUEST__TARGET_ADVANCE
      c.pointee.advance = try writer.duration("advance", duration)
    case nil: break
    }
  }
}

/// The daemon's time.
public struct SetTimeResponse: Hashable, Sendable {
  public var time: Timestamp
  /// Whether the clock can be moved.
  public var isFake: Bool

  public init(time: Timestamp = .epoch, isFake: Bool = false) {
    self.time = time
    self.isFake = isFake
  }
}

extension SetTimeResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SetTimeResponse>, _ reader: Reader) throws(WireError) {
    time = try reader.timestamp("time", c.pointee.time) ?? .epoch
    isFake = c.pointee.fake != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SetTimeResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.time = try writer.timestamp(time)
    c.pointee.fake = isFake ? 1 : 0
  }
}
