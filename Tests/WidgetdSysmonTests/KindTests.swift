import Synchronization
import Testing
import WidgetProvider

@testable import widgetd_sysmon

/// The measurements and the content of the kinds, as values.
struct KindTests {
  private let machine = SampleMachine()

  private func refreshed<W: MeasuringWidget>(_ widget: W) async throws -> Instance<W> {
    var instance = Instance<W>("w", now: try moment(1_000))
    try await widget.refresh(&instance)
    return instance
  }

  @Test func `the clock shows the local time, in whole seconds`() throws {
    var clock = Instance<ClockWidget>("c", now: try moment(1_000))
    ClockWidget(machine: machine, interval: .seconds(1)).refresh(&clock)
    #expect(clock.state.text == "03:04:05" && clock.state.date == "2026-01-02")
    #expect(clock.state.zone == "UTC")
    #expect(clock.state.time == Timestamp(seconds: 1_000, nanoseconds: 0))
  }

  @Test func `the load is shown in tasks, and after a click in percent`() async throws {
    let widget = LoadWidget(machine: machine, interval: .seconds(1))
    var load = try await refreshed(widget)
    #expect(load.state.text == "0.50  1.00  1.50")
    #expect(load.state.runnable == 2 && load.state.tasks == 345 && load.state.cpus == 2)
    try await widget.handle(.click, &load)
    #expect(load.state.unit == .percent && load.state.text == "25.0 %  50.0 %  75.0 %")
    try await widget.handle(.click, &load)
    #expect(load.state.unit == .tasks && load.state.text == "0.50  1.00  1.50")
  }

  @Test func `the memory is shown in bytes, and after a click in percent`() async throws {
    let widget = MemoryWidget(machine: machine, interval: .seconds(1))
    var memory = try await refreshed(widget)
    #expect(memory.state.text == "4.0 GiB of 8.0 GiB" && memory.state.usedPercent == 50)
    try await widget.handle(.click, &memory)
    #expect(memory.state.text == "50.0 %")
  }

  @Test func `the disk is shown in bytes, and after a click in percent`() async throws {
    let widget = DiskWidget(machine: machine, interval: .seconds(1))
    var disk = try await refreshed(widget)
    #expect(disk.state.text == "300 GiB free of 400 GiB")
    try await widget.handle(.click, &disk)
    #expect(disk.state.text == "25.0 %")
  }

  @Test func `the memory widget keeps the unit of its state`() async throws {
    var memory = Instance<MemoryWidget>("m", state: .init(unit: .percent))
    try await MemoryWidget(machine: machine, interval: .seconds(1)).refresh(&memory)
    #expect(memory.state.text == "50.0 %")
  }

  @Test func `a click before anything was measured changes the unit, and shows nothing`()
    async throws
  {
    var network = Instance<NetworkWidget>("n")
    try await NetworkWidget(machine: machine, interval: .seconds(1)).handle(.click, &network)
    #expect(network.state.unit == .bits && network.state.text == nil)
  }

  @Test func `a machine that cannot be read gives no measurement`() async throws {
    machine.readings.withLock { $0.load = "?" }
    await #expect(throws: ProcTextError.self) {
      try await refreshed(LoadWidget(machine: machine, interval: .seconds(1)))
    }
  }

  @Test func `the network's rates are differences over time, and removed interfaces are left out`()
    async throws
  {
    let widget = NetworkWidget(machine: machine, interval: .seconds(1))
    func carried(lo: UInt64, received: UInt64, sent: UInt64) {
      machine.readings.withLock {
        $0.network = [
          "lo": NetworkCounters(receivedBytes: lo, sentBytes: lo),
          "eth0": NetworkCounters(receivedBytes: received, sentBytes: sent),
        ]
      }
    }
    carried(lo: 9_000, received: 1_000, sent: 500)
    var first = Instance<NetworkWidget>(
      "n", state: .init(interfaces: ["wlan0": .init()]), now: try moment(1_000))
    try await widget.refresh(&first)
    #expect(first.state.interfaces.keys.sorted() == ["eth0", "lo"])
    #expect(first.state.text == "in 0 B/s  out 0 B/s")
    carried(lo: 99_000, received: 3_048, sent: 100)
    machine.readings.withLock { $0.uptime += .seconds(2) }
    var second = Instance<NetworkWidget>("n", state: first.state, now: try moment(1_002))
    try await widget.refresh(&second)
    #expect(second.state.receivedPerSecond == 1_024)
    // The counter went back: the interface was reset, and has sent 100 bytes since.
    #expect(second.state.sentPerSecond == 50)
    #expect(second.state.text == "in 1.0 KiB/s  out 50 B/s")
    #expect(second.state.receivedBytes == 3_048)
    #expect(second.state.interfaces["lo"]?.receivedPerSecond == 45_000)
    try await widget.handle(.click, &second)
    #expect(second.state.text == "in 8.2 kbit/s  out 400 bit/s")
  }

  @Test(arguments: [-3_600, 0, 2, 3_600])
  func `a step of the wall clock does not change the rates of the network`(step: Int)
    async throws
  {
    let widget = NetworkWidget(machine: machine, interval: .seconds(1))
    func carried(_ received: UInt64) {
      machine.readings.withLock {
        $0.network = ["eth0": NetworkCounters(receivedBytes: received, sentBytes: 0)]
      }
    }
    carried(1_000)
    var first = Instance<NetworkWidget>("n", now: try moment(10_000))
    try await widget.refresh(&first)
    carried(3_048)
    machine.readings.withLock { $0.uptime += .seconds(2) }
    var second = Instance<NetworkWidget>(
      "n", state: first.state, now: try moment(Int64(10_000 + step)))
    try await widget.refresh(&second)
    #expect(second.state.receivedPerSecond == 1_024)
  }

  @Test func `a second reading within an interval has the same rates`() throws {
    let samples = NetworkSamples()
    func take(_ time: Duration, received: UInt64) throws -> (UInt64?, Double?) {
      let (counters, rates) = try samples.take(at: time, every: .seconds(1)) {
        ["eth0": NetworkCounters(receivedBytes: received, sentBytes: 0)]
      }
      return (counters["eth0"]?.receivedBytes, rates["eth0"]?.receivedPerSecond)
    }
    #expect(try take(.seconds(1), received: 100) == (100, nil))
    #expect(try take(.seconds(2), received: 300) == (300, 200))
    #expect(try take(.milliseconds(2_250), received: 9_999) == (300, 200))
    #expect(try take(.seconds(3), received: 310) == (310, 10))
  }

  @Test func `there are no rates at first, nor when no time has passed`() {
    let one = NetworkSample(
      time: .seconds(1), counters: ["eth0": NetworkCounters(receivedBytes: 1, sentBytes: 1)])
    #expect(one.rates(since: nil).isEmpty)
    #expect(one.rates(since: one).isEmpty)
  }

  @Test(arguments: [
    (CounterWidget.Event.click, 0, 1), (.click, 41, 42), (.click, Int.max, Int.max),
    (.reset, 41, 0),
  ])
  func `the counter counts and is reset`(event: CounterWidget.Event, before: Int, after: Int) {
    var counter = Instance<CounterWidget>("c", state: .init(n: before))
    CounterWidget().handle(event, &counter)
    #expect(counter.state.n == after)
  }

  @Test func `there is a widget of each kind, named as the kind`() {
    let names = ["clock", "load", "memory", "network", "disk", "counter"].map { "sysmon/\($0)" }
    #expect(Sysmon.instances.map { $0.id?.rawValue } == names)
    #expect(Sysmon.instances.map(\.kind.rawValue) == names)
    #expect(Sysmon.instances.allSatisfy { $0.labels == ["provider": "sysmon"] })
    #expect(
      Sysmon.instances.map { $0.parameters["title"] }
        == ["Clock", "Load", "Memory", "Network", "Disk", "Clicks"].map { .string($0) })
    #expect(Sysmon.instances.map(\.family) == Array(repeating: .medium, count: 5) + [.small])
  }
}
