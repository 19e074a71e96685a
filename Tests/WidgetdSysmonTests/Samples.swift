import Synchronization
import Testing
import WidgetModel

@testable import widgetd_sysmon

/// A simulated machine: 2 CPUs, 4 of 8 GiB used, a quarter of the disk used.
final class SampleMachine: Machine {
  struct Readings {
    var uptime = Duration.zero
    var clock = LocalTime(date: "2026-01-02", time: "03:04:05", zone: "UTC")
    var load = "0.50 1.00 1.50 2/345 678"
    var memory = "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n"
    var network: [String: NetworkCounters] = [:]
    var disk = DiskUsage(totalBytes: 400 << 30, availableBytes: 300 << 30, usedBytes: 100 << 30)
  }

  let readings = Mutex(Readings())

  var cpus: Int { 2 }
  var uptime: Duration { readings.withLock { $0.uptime } }
  func local(_ time: Timestamp) -> LocalTime { readings.withLock { $0.clock } }
  func load() throws -> LoadAverage { try LoadAverage(readings.withLock { $0.load }) }
  func memory() throws -> MemoryInfo { try MemoryInfo(readings.withLock { $0.memory }) }
  func network() throws -> [String: NetworkCounters] { readings.withLock { $0.network } }
  func disk() throws -> DiskUsage { readings.withLock { $0.disk } }
}

/// A point in time: these seconds after 1970, plus a quarter of a second.
func moment(_ seconds: Int64) throws -> Timestamp {
  try #require(Timestamp(seconds: seconds, nanoseconds: 250_000_000))
}
