import WidgetModel

/// The widgets that this program provides.
///
/// Each is a name, a kind and the units it can show; what it shows follows from a reading and the
/// unit. The unit itself is kept in the widget's data (`unit`), and so is the counter's number
/// (`n`): the daemon has all the state, and this program can come and go.
enum Provided: String, CaseIterable {
  case clock
  case load
  case memory
  case network
  case disk
  case counter

  /// The name of the declared set that the widgets belong to.
  static let applySet = "sysmon"

  /// `sysmon/clock`, …
  var id: String { "sysmon/\(rawValue)" }
  /// The same: kinds are everybody's, and others have a `clock` and a `counter` too.
  var kind: String { id }

  var title: String {
    switch self {
    case .clock: "Clock"
    case .load: "Load"
    case .memory: "Memory"
    case .network: "Network"
    case .disk: "Disk"
    case .counter: "Clicks"
    }
  }

  /// What a click goes through. The first is what a new widget shows.
  var units: [String] {
    switch self {
    case .clock, .counter: []
    case .load: ["tasks", "percent"]
    case .memory, .disk: ["bytes", "percent"]
    case .network: ["bytes", "bits"]
    }
  }

  /// The widget as it is declared; nil only if the names above are no identifiers.
  var spec: WidgetSpec? {
    guard let id = WidgetID(id), let kind = KindName(kind) else { return nil }
    return WidgetSpec(
      id: id, kind: kind, family: self == .counter ? .small : .medium,
      labels: ["provider": "sysmon"], parameters: ["title": .string(title)])
  }

  /// The unit in force: what the data says, if the widget knows it.
  func unit(in data: ValueMap) -> String? {
    if case .string(let text)? = data["unit"], units.contains(text) { return text }
    return units.first
  }

  /// The unit after the one in force.
  func nextUnit(in data: ValueMap) -> String? {
    guard let unit = unit(in: data), let index = units.firstIndex(of: unit) else { return nil }
    return units[(index + 1) % units.count]
  }
}

/// Prefix of the data keys that hold one network interface each.
let interfacePrefix = "interface."

extension Provided {
  /// Everything the widget shows, except what only events change (`n`).
  func data(_ reading: Reading, after earlier: Reading?, unit: String?) -> ValueMap {
    var data: ValueMap
    switch self {
    case .clock: data = clockData(reading)
    case .load: data = loadData(reading, unit)
    case .memory: data = memoryData(reading.memory, unit)
    case .network:
      data = networkData(reading, NetworkRate.between(earlier, reading), unit)
    case .disk: data = diskData(reading.disk, unit)
    case .counter: data = [:]
    }
    if let unit { data["unit"] = .string(unit) }
    return data
  }
}

private func clockData(_ reading: Reading) -> ValueMap {
  let whole = Timestamp(seconds: reading.time.seconds, nanoseconds: 0) ?? reading.time
  return [
    "time": .timestamp(whole), "date": .string(reading.local.date),
    "zone": .string(reading.local.zone), "text": .string(reading.local.time),
  ]
}

private func loadData(_ reading: Reading, _ unit: String?) -> ValueMap {
  let load = reading.load
  let averages = [load.one, load.five, load.fifteen]
  let text =
    if unit == "percent" {
      averages.map { percentText(percent($0, of: Double(reading.cpus))) }.joined(separator: "  ")
    } else {
      averages.map { fixed($0, 2) }.joined(separator: "  ")
    }
  return [
    "one": .double(load.one), "five": .double(load.five), "fifteen": .double(load.fifteen),
    "runnable": .int(load.runnable), "tasks": .int(load.total),
    "cpus": .int(Int64(reading.cpus)), "text": .string(text),
  ]
}

private func memoryData(_ memory: MemoryInfo, _ unit: String?) -> ValueMap {
  let share = percent(Double(memory.usedKiB), of: Double(memory.totalKiB))
  return [
    "total_kib": .int(memory.totalKiB), "available_kib": .int(memory.availableKiB),
    "used_kib": .int(memory.usedKiB), "used_percent": .double(share),
    "text": .string(
      unit == "percent"
        ? percentText(share)
        : "\(bytesText(Double(memory.usedKiB) * 1024)) of "
          + bytesText(Double(memory.totalKiB) * 1024)),
  ]
}

private func diskData(_ disk: DiskUsage, _ unit: String?) -> ValueMap {
  // As df(1) counts: what is kept for root is neither used nor available.
  let whole = Double(disk.usedBytes) + Double(disk.availableBytes)
  let share = percent(Double(disk.usedBytes), of: whole)
  return [
    "total_bytes": .int(Int64(clamping: disk.totalBytes)),
    "available_bytes": .int(Int64(clamping: disk.availableBytes)),
    "used_bytes": .int(Int64(clamping: disk.usedBytes)), "used_percent": .double(share),
    "text": .string(
      unit == "percent"
        ? percentText(share)
        : "\(bytesText(Double(disk.availableBytes))) free of "
          + bytesText(Double(disk.totalBytes))),
  ]
}

private func networkData(
  _ reading: Reading, _ rates: [String: NetworkRate], _ unit: String?
) -> ValueMap {
  var data: ValueMap = [:]
  var total = NetworkCounters(receivedBytes: 0, sentBytes: 0)
  var totalRate = NetworkRate(receivedPerSecond: 0, sentPerSecond: 0)
  for (name, counters) in reading.network {
    let rate = rates[name] ?? NetworkRate(receivedPerSecond: 0, sentPerSecond: 0)
    data[interfacePrefix + name] = .map([
      "received_bytes": .int(Int64(clamping: counters.receivedBytes)),
      "sent_bytes": .int(Int64(clamping: counters.sentBytes)),
      "received_per_second": .double(rate.receivedPerSecond.rounded()),
      "sent_per_second": .double(rate.sentPerSecond.rounded()),
    ])
    // What goes through the loopback never leaves the machine.
    guard name != "lo" else { continue }
    total.receivedBytes &+= counters.receivedBytes
    total.sentBytes &+= counters.sentBytes
    totalRate.receivedPerSecond += rate.receivedPerSecond
    totalRate.sentPerSecond += rate.sentPerSecond
  }
  func text(_ bytesPerSecond: Double) -> String {
    unit == "bits" ? bitRateText(bytesPerSecond * 8) : bytesText(bytesPerSecond) + "/s"
  }
  data["received_bytes"] = .int(Int64(clamping: total.receivedBytes))
  data["sent_bytes"] = .int(Int64(clamping: total.sentBytes))
  data["received_per_second"] = .double(totalRate.receivedPerSecond.rounded())
  data["sent_per_second"] = .double(totalRate.sentPerSecond.rounded())
  data["text"] = .string(
    "in \(text(totalRate.receivedPerSecond))  out \(text(totalRate.sentPerSecond))")
  return data
}
