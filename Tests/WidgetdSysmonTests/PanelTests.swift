import Testing
import WidgetModel

@testable import widgetd_sysmon

struct PanelTests {
  /// What the panel would send, by the widget's short name.
  private func refreshments(_ panel: Panel) -> [String: WidgetPatch] {
    Dictionary(
      uniqueKeysWithValues: panel.refreshments().map {
        (String($0.id.rawValue.dropFirst(7)), $0.patch)
      })
  }

  /// The panel after the daemon has taken what it sent.
  private func settle(_ panel: inout Panel, _ widgets: [Widget]) {
    for var widget in widgets {
      widget.revision += 1
      if let patch = panel.refreshments().first(where: { $0.id == widget.id })?.patch {
        for entry in patch.setData.entries { widget.data[entry.key] = entry.value }
        for key in patch.unsetData { widget.data[key] = nil }
      }
      panel.learn(widget)
    }
  }

  @Test func `every widget can be declared`() {
    #expect(Provided.allCases.allSatisfy { $0.spec != nil })
  }

  @Test func `a new widget is filled, with its first unit`() throws {
    var panel = Panel()
    for provided in Provided.allCases { panel.learn(try widget(provided)) }
    panel.record(try reading())
    let patches = refreshments(panel)
    #expect(patches["clock"]?.setData["text"] == .string("03:04:05"))
    #expect(
      patches["clock"]?.setData["time"]
        == .timestamp(try #require(Timestamp(seconds: 1_000, nanoseconds: 0))))
    #expect(patches["load"]?.setData["text"] == .string("0.50  1.00  1.50"))
    #expect(patches["load"]?.setData["unit"] == .string("tasks"))
    #expect(patches["memory"]?.setData["text"] == .string("4.0 GiB of 8.0 GiB"))
    #expect(patches["memory"]?.setData["used_percent"] == .double(50))
    #expect(patches["disk"]?.setData["text"] == .string("300 GiB free of 400 GiB"))
    #expect(patches["counter"] == WidgetPatch(setData: ["n": .int(0)]))
  }

  @Test func `a reading that says the same sends nothing, another only what differs`() throws {
    var panel = Panel()
    let widgets = try Provided.allCases.map { try widget($0) }
    for widget in widgets { panel.learn(widget) }
    panel.record(try reading())
    settle(&panel, widgets)
    panel.record(try reading())
    #expect(refreshments(panel).isEmpty)
    panel.record(try reading(load: "0.50 1.00 1.50 3/345 999"))
    #expect(refreshments(panel) == ["load": WidgetPatch(setData: ["runnable": .int(3)])])
  }

  @Test func `widgets that the daemon does not have get nothing`() throws {
    var panel = Panel()
    panel.learn(try widget(.load))
    panel.record(try reading())
    #expect(refreshments(panel).keys.sorted() == ["load"])
    panel.forget(try #require(WidgetID("sysmon/load")))
    #expect(panel.refreshments().isEmpty)
  }

  @Test func `a stale widget becomes fresh`() throws {
    var panel = Panel()
    panel.learn(try widget(.counter, data: ["n": .int(3)], isStale: true))
    #expect(refreshments(panel) == ["counter": WidgetPatch(isStale: false)])
  }

  @Test func `an older state does not replace a newer one`() throws {
    var panel = Panel()
    panel.learn(try widget(.counter, data: ["n": .int(3)], revision: 5))
    panel.learn(try widget(.counter, revision: 4))
    #expect(panel.refreshments().isEmpty)
  }

  @Test func `rates are differences over time, interfaces that went are removed`() throws {
    var panel = Panel()
    panel.learn(try widget(.network, data: ["interface.wlan0": .map([:])]))
    panel.record(
      try reading(network: [
        "lo": NetworkCounters(receivedBytes: 9_000, sentBytes: 9_000),
        "eth0": NetworkCounters(receivedBytes: 1_000, sentBytes: 500),
      ]))
    panel.record(
      try reading(
        at: 1_002,
        network: [
          "lo": NetworkCounters(receivedBytes: 99_000, sentBytes: 99_000),
          "eth0": NetworkCounters(receivedBytes: 3_048, sentBytes: 100),
        ]))
    let patch = try #require(refreshments(panel)["network"])
    #expect(patch.unsetData == ["interface.wlan0"])
    #expect(patch.setData["received_per_second"] == .double(1_024))
    // The counter went back: the interface was reset, and has sent 100 bytes since.
    #expect(patch.setData["sent_per_second"] == .double(50))
    #expect(patch.setData["text"] == .string("in 1.0 KiB/s  out 50 B/s"))
    #expect(patch.setData["received_bytes"] == .int(3_048))
  }

  @Test func `there are no rates at first, nor when no time has passed`() throws {
    let one = try reading(network: ["eth0": NetworkCounters(receivedBytes: 1, sentBytes: 1)])
    #expect(NetworkRate.between(nil, one).isEmpty)
    #expect(NetworkRate.between(one, one).isEmpty)
  }

  struct Click: Sendable {
    let provided: Provided
    let unit: String?
    let next: String
    let text: String
  }

  @Test(arguments: [
    Click(provided: .load, unit: nil, next: "percent", text: "25.0 %  50.0 %  75.0 %"),
    Click(provided: .load, unit: "percent", next: "tasks", text: "0.50  1.00  1.50"),
    Click(provided: .memory, unit: "bytes", next: "percent", text: "50.0 %"),
    Click(provided: .disk, unit: "bytes", next: "percent", text: "25.0 %"),
    Click(provided: .network, unit: "bytes", next: "bits", text: "in 0 bit/s  out 0 bit/s"),
    Click(provided: .disk, unit: "parsecs", next: "percent", text: "25.0 %"),
  ])
  func `a click shows the next unit at once`(_ click: Click) throws {
    var panel = Panel()
    panel.record(try reading())
    let widget = try widget(
      click.provided, data: click.unit.map { ["unit": .string($0)] } ?? [:])
    let event = Event(sequence: 1, widgetID: widget.id, name: "click")
    let patch = try #require(panel.consequence(of: event, on: widget))
    #expect(patch.setData["unit"] == .string(click.next))
    #expect(patch.setData["text"] == .string(click.text))
  }

  struct Count: Sendable {
    let event: String
    let before: Value?
    let after: Int64
  }

  @Test(arguments: [
    Count(event: "click", before: nil, after: 1),
    Count(event: "click", before: .int(41), after: 42),
    Count(event: "click", before: .string("many"), after: 1),
    Count(event: "click", before: .int(.max), after: .max),
    Count(event: "reset", before: .int(41), after: 0),
  ])
  func `the counter counts and is reset`(_ count: Count) throws {
    let counter = try widget(.counter, data: count.before.map { ["n": $0] } ?? [:])
    let event = Event(sequence: 1, widgetID: counter.id, name: count.event)
    #expect(
      Panel().consequence(of: event, on: counter)
        == WidgetPatch(setData: ["n": .int(count.after)]))
  }

  @Test(arguments: [(Provided.clock, "click"), (.load, "reset"), (.counter, "hover")])
  func `other events do nothing`(provided: Provided, name: String) throws {
    let widget = try widget(provided)
    let event = Event(sequence: 1, widgetID: widget.id, name: name)
    #expect(Panel().consequence(of: event, on: widget) == nil)
  }
}
