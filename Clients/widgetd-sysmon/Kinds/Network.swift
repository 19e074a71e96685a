import WidgetProvider

/// The traffic of the network.
struct NetworkWidget: MeasuringWidget {
  static let kind: KindName = "sysmon/network"

  enum Units: String, Unit { case bytes, bits }

  /// The bytes of one interface, or of all of them: in total since it came up, and per second.
  struct Traffic: Fields, FieldValue {
    var receivedBytes: Int64 = 0
    var sentBytes: Int64 = 0
    var receivedPerSecond = 0.0
    var sentPerSecond = 0.0
    static let fields: [FieldOf<Traffic>] = [
      .init("received_bytes", \.receivedBytes), .init("sent_bytes", \.sentBytes),
      .init("received_per_second", \.receivedPerSecond), .init("sent_per_second", \.sentPerSecond),
    ]
  }

  struct State: Measurement {
    var interfaces: [String: Traffic] = [:]
    var receivedBytes: Int64?
    var sentBytes: Int64?
    var receivedPerSecond: Double?
    var sentPerSecond: Double?
    var unit = Units.bytes
    var text: String?
    static let fields: [FieldOf<State>] = [
      .init(each: "interface.", \.interfaces),
      .init(
        "received_bytes", \.receivedBytes,
        "Received since the interfaces came up, without the loopback."),
      .init("sent_bytes", \.sentBytes, "Sent since the interfaces came up, without the loopback."),
      .init("received_per_second", \.receivedPerSecond, "Received bytes per second."),
      .init("sent_per_second", \.sentPerSecond, "Sent bytes per second."),
      .init("unit", \.unit, "Unit of the text: bytes or bits."),
      .init("text", \.text, "Received and sent data per second."),
    ]

    var words: String? {
      guard let receivedPerSecond, let sentPerSecond else { return nil }
      return "in \(rateText(receivedPerSecond))  out \(rateText(sentPerSecond))"
    }

    private func rateText(_ bytesPerSecond: Double) -> String {
      switch unit {
      case .bytes: bytesText(bytesPerSecond) + "/s"
      case .bits: bitRateText(bytesPerSecond * 8)
      }
    }
  }

  let machine: any Machine
  let interval: Duration
  private let samples = NetworkSamples()

  init(machine: any Machine, interval: Duration) {
    self.machine = machine
    self.interval = interval
  }

  var displayName: String { "Network" }
  var summary: String {
    "The network traffic of this machine. The interfaces are data[\"interface.NAME\"]."
  }
  var schedule: Schedule { .every(interval) }

  func measure(_ state: inout State, at now: Timestamp) throws {
    let (counters, rates) = try samples.take(at: machine.uptime, every: interval) {
      try machine.network()
    }
    var total = NetworkCounters(receivedBytes: 0, sentBytes: 0)
    var totalRate = NetworkRate(receivedPerSecond: 0, sentPerSecond: 0)
    state.interfaces = [:]
    for (name, counter) in counters {
      let rate = rates[name] ?? NetworkRate(receivedPerSecond: 0, sentPerSecond: 0)
      state.interfaces[name] = Traffic(
        receivedBytes: Int64(clamping: counter.receivedBytes),
        sentBytes: Int64(clamping: counter.sentBytes),
        receivedPerSecond: rate.receivedPerSecond.rounded(),
        sentPerSecond: rate.sentPerSecond.rounded())
      // Traffic of the loopback never leaves the machine.
      guard name != "lo" else { continue }
      total.receivedBytes &+= counter.receivedBytes
      total.sentBytes &+= counter.sentBytes
      totalRate.receivedPerSecond += rate.receivedPerSecond
      totalRate.sentPerSecond += rate.sentPerSecond
    }
    state.receivedBytes = Int64(clamping: total.receivedBytes)
    state.sentBytes = Int64(clamping: total.sentBytes)
    state.receivedPerSecond = totalRate.receivedPerSecond.rounded()
    state.sentPerSecond = totalRate.sentPerSecond.rounded()
  }
}
