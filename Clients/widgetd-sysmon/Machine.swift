import WidgetModel

/// The measured machine: the one that the program runs on, or one of a test.
protocol Machine: Sendable {
  var cpus: Int { get }
  /// The time since the start of the machine. A step of the wall clock does not change it.
  var uptime: Duration { get }
  /// A local time of the machine.
  func local(_ time: Timestamp) -> LocalTime
  func load() throws -> LoadAverage
  func memory() throws -> MemoryInfo
  /// By interface.
  func network() throws -> [String: NetworkCounters]
  func disk() throws -> DiskUsage
}

/// The use of a file system, in bytes.
struct DiskUsage: Hashable {
  var totalBytes: UInt64
  /// The bytes that users other than root can still write.
  var availableBytes: UInt64
  /// The used bytes, without the part that is reserved for root.
  var usedBytes: UInt64
}

/// A local time of this machine.
struct LocalTime: Hashable {
  var date: String
  var time: String
  /// The time zone's abbreviation.
  var zone: String
}
