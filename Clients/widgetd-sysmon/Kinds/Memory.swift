import WidgetProvider

/// The used part of the main memory.
struct MemoryWidget: MeasuringWidget {
  static let kind: KindName = "sysmon/memory"

  enum Units: String, Unit { case bytes, percent }

  struct State: Measurement {
    var totalKiB: Int64?
    var availableKiB: Int64?
    var usedKiB: Int64?
    var usedPercent: Double?
    var unit = Units.bytes
    var text: String?
    static let fields: [FieldOf<State>] = [
      .init("total_kib", \.totalKiB, "All memory, in KiB."),
      .init("available_kib", \.availableKiB, "Available memory, in KiB."),
      .init("used_kib", \.usedKiB, "Used memory, in KiB."),
      .init("used_percent", \.usedPercent, "0 to 100."),
      .init("unit", \.unit, "Unit of the text: bytes or percent."),
      .init("text", \.text, "Used memory, as text."),
    ]

    var words: String? {
      guard let usedKiB, let totalKiB, let usedPercent else { return nil }
      return switch unit {
      case .bytes: "\(bytesText(Double(usedKiB) * 1024)) of \(bytesText(Double(totalKiB) * 1024))"
      case .percent: percentText(usedPercent)
      }
    }
  }

  let machine: any Machine
  let interval: Duration

  var displayName: String { "Memory" }
  var summary: String { "How much of this machine's memory is taken." }
  var schedule: Schedule { .every(interval) }

  func measure(_ state: inout State, at now: Timestamp) throws {
    let memory = try machine.memory()
    state.totalKiB = memory.totalKiB
    state.availableKiB = memory.availableKiB
    state.usedKiB = memory.usedKiB
    state.usedPercent = percent(Double(memory.usedKiB), of: Double(memory.totalKiB))
  }
}
