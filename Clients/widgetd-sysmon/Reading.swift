import WidgetModel

/// How full a file system is, in bytes.
struct DiskUsage: Hashable {
  var totalBytes: UInt64
  /// What users other than root can still write.
  var availableBytes: UInt64
  /// What is taken, the part kept for root not counted.
  var usedBytes: UInt64
}

/// A time as the people at this machine read it.
struct LocalTime: Hashable {
  var date: String
  var time: String
  /// The time zone's abbreviation.
  var zone: String
}

/// Everything that was measured at one moment.
struct Reading: Hashable {
  var time: Timestamp
  var local: LocalTime
  var load: LoadAverage
  var memory: MemoryInfo
  /// By interface.
  var network: [String: NetworkCounters]
  var disk: DiskUsage
  var cpus: Int
}

/// Where readings come from: the machine, or a test.
protocol ReadingSource: Sendable {
  /// What time it is, to align samples with.
  func now() -> Timestamp
  /// Measures everything. Throws if the machine cannot be read.
  func read() throws -> Reading
}

/// How much an interface carried per second between two readings.
struct NetworkRate: Hashable {
  var receivedPerSecond: Double
  var sentPerSecond: Double

  /// The rates of all interfaces that are in both readings. Empty without an earlier reading or if
  /// no time has passed. An interface that was reset in between counts from 0.
  static func between(_ earlier: Reading?, _ later: Reading) -> [String: NetworkRate] {
    guard let earlier else { return [:] }
    let seconds = later.time.duration(since: earlier.time) / .seconds(1)
    guard seconds > 0 else { return [:] }
    var result: [String: NetworkRate] = [:]
    for (name, now) in later.network {
      guard let before = earlier.network[name] else { continue }
      func rate(_ path: KeyPath<NetworkCounters, UInt64>) -> Double {
        let (new, old) = (now[keyPath: path], before[keyPath: path])
        return Double(new >= old ? new - old : new) / seconds
      }
      result[name] = NetworkRate(
        receivedPerSecond: rate(\.receivedBytes), sentPerSecond: rate(\.sentBytes))
    }
    return result
  }
}
