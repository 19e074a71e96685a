import WidgetProvider

/// The used part of the file system.
struct DiskWidget: MeasuringWidget {
  static let kind: KindName = "sysmon/disk"

  enum Units: String, Unit { case bytes, percent }

  struct State: Measurement {
    var totalBytes: Int64?
    var availableBytes: Int64?
    var usedBytes: Int64?
    var usedPercent: Double?
    var unit = Units.bytes
    var text: String?
    static let fields: [FieldOf<State>] = [
      .init("total_bytes", \.totalBytes, "All space."),
      .init("available_bytes", \.availableBytes, "Free space for users other than root."),
      .init("used_bytes", \.usedBytes, "Used space, without the part reserved for root."),
      .init("used_percent", \.usedPercent, "0 to 100, as df(1) counts."),
      .init("unit", \.unit, "Unit of the text: bytes or percent."),
      .init("text", \.text, "Free space, or used space in percent."),
    ]

    var words: String? {
      guard let availableBytes, let totalBytes, let usedPercent else { return nil }
      return switch unit {
      case .bytes: "\(bytesText(Double(availableBytes))) free of \(bytesText(Double(totalBytes)))"
      case .percent: percentText(usedPercent)
      }
    }
  }

  let machine: any Machine
  let interval: Duration

  var displayName: String { "Disk" }
  var summary: String { "How full this machine's file system is." }
  var schedule: Schedule { .every(interval) }

  func measure(_ state: inout State, at now: Timestamp) throws {
    let disk = try machine.disk()
    state.totalBytes = Int64(clamping: disk.totalBytes)
    state.availableBytes = Int64(clamping: disk.availableBytes)
    state.usedBytes = Int64(clamping: disk.usedBytes)
    // The count is that of df(1): the room that is reserved for root is neither used nor available.
    let whole = Double(disk.usedBytes) + Double(disk.availableBytes)
    state.usedPercent = percent(Double(disk.usedBytes), of: whole)
  }
}
