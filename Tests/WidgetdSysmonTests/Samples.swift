import Testing
import WidgetModel

@testable import widgetd_sysmon

/// A reading with round numbers: 2 CPUs, 4 of 8 GiB used, a quarter of the disk taken.
func reading(
  at seconds: Int64 = 1_000, load: String = "0.50 1.00 1.50 2/345 678",
  network: [String: NetworkCounters] = [:]
) throws -> Reading {
  Reading(
    time: try #require(Timestamp(seconds: seconds, nanoseconds: 250_000_000)),
    local: LocalTime(date: "2026-01-02", time: "03:04:05", zone: "UTC"),
    load: try LoadAverage(load),
    memory: try MemoryInfo("MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n"), network: network,
    disk: DiskUsage(
      totalBytes: 400 << 30, availableBytes: 300 << 30, usedBytes: 100 << 30),
    cpus: 2)
}

/// One of the program's widgets, as the daemon would hold it.
func widget(
  _ provided: Provided, data: ValueMap = [:], isStale: Bool = false, revision: Revision = 1
) throws -> Widget {
  let spec = try #require(provided.spec)
  return Widget(
    id: try #require(spec.id), kind: spec.kind, data: data, isStale: isStale, revision: revision)
}
