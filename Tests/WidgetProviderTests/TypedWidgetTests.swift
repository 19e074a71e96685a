import Testing

@testable import WidgetProvider

import enum WidgetModel.Family
import enum WidgetModel.FieldType
import struct WidgetModel.Event
import struct WidgetModel.EventOrigin
import struct WidgetModel.Field
import struct WidgetModel.KindName
import struct WidgetModel.Timestamp
import struct WidgetModel.Transition
import enum WidgetModel.Value
import struct WidgetModel.ValueMap
import struct WidgetModel.WidgetError
import struct WidgetModel.WidgetID
import struct WidgetModel.WidgetPatch

/// Widgets written in Swift: their declarations, events and updates, as values.
struct TypedWidgetTests {
  private struct Broken: Error, CustomStringConvertible {
    var description: String { "out of order" }
  }

  private struct TallyWidget: ProvidedWidget {
    enum Mood: String, FieldValue { case calm, busy }

    struct State: Fields {
      var count = 0
      var share = 0.5
      var note: String?
      var names: [String] = []
      var marks: [String: [Int]] = [:]
      var bytes: [UInt8] = [1]
      var mood = Mood.calm
      var seen = Timestamp.epoch
      static let fields: [FieldOf<State>] = [
        .init("count", \.count, "How often."), .init("share", \.share), .init("note", \.note),
        .init("names", \.names), .init("marks", \.marks), .init("bytes", \.bytes),
        .init("mood", \.mood), .init("seen", \.seen),
      ]
    }

    struct Parameters: Fields {
      var step = 1
      static let fields: [FieldOf<Parameters>] = [.init("step", \.step)]
    }

    enum Event: Events {
      case add(Int, String)
      case drop
      case press
      case fail
      static let events: [EventOf<Event>] = [
        .init("add", "Adds.", Argument<Int>("by"), Argument<String>("why", default: "so")) {
          .add($0, $1)
        },
        .init("press", on: "drop") { .drop }, .init("press") { .press }, .init("fail") { .fail },
      ]
    }

    var schedule: Schedule { .every(.seconds(2)) }

    func refresh(_ tally: inout Instance<TallyWidget>) {
      tally.state.note = "refreshed"
      tally.state.seen = tally.now
    }

    func handle(_ event: Event, _ tally: inout Instance<TallyWidget>) throws {
      switch event {
      case .add(let by, let why):
        tally.state.count += by * tally.parameters.step
        tally.state.note = why
      case .drop: tally.state.names.removeAll { $0 == tally.row }
      case .press: tally.state.note = nil
      case .fail:
        tally.state.count = 99
        throw Broken()
      }
    }
  }

  private let tally = AnyProvidedWidget(TallyWidget())

  private func widget(_ data: ValueMap, error: WidgetError? = nil) throws -> Widget {
    Widget(
      id: try #require(WidgetID("t")), kind: TallyWidget.kind, parameters: ["step": .int(10)],
      data: data, error: error)
  }

  private func event(
    _ name: String, node: String = "", _ payload: ValueMap = [:]
  ) throws -> WidgetModel.Event {
    WidgetModel.Event(
      sequence: 1, widgetID: try #require(WidgetID("t")), nodeID: node, name: name,
      payload: payload, time: .epoch, revision: 1, origin: EventOrigin())
  }

  @Test func `a kind is declared by its types`() {
    let kind = tally.kind
    #expect(kind.name.rawValue == "tally")
    #expect(kind.data.map(\.name) == TallyWidget.State.fields.map(\.name))
    #expect(
      kind.data.map(\.type) == [
        .int, .double, .string, .list(.string), .map(.list(.int)), .bytes, .string, .timestamp,
      ])
    #expect(kind.data[0].defaultValue == .int(0) && kind.data[0].summary == "How often.")
    #expect(kind.data[2].defaultValue == nil)
    #expect(kind.data[6].defaultValue == .string("calm"))
    #expect(kind.parameters == [Field(name: "step", type: .int, defaultValue: .int(1))])
    // The kind does not declare users' events on a node. It declares the event of any node.
    #expect(kind.events.map(\.name) == ["add", "press", "fail"])
    #expect(kind.events[0].payload.map(\.isRequired) == [true, false])
    #expect(kind.events[0].payload[1].defaultValue == .string("so"))
  }

  @Test func `only what changed is sent`() async throws {
    let outcome = await tally.handled(
      try event("add", ["by": .int(2), "why": .string("fun")]),
      on: try widget(["count": .int(1), "share": .double(0.5)]), at: .epoch)
    #expect(outcome.patch == WidgetPatch(setData: ["count": .int(21), "note": .string("fun")]))
    let same = await tally.handled(
      try event("press"), on: try widget(["count": .int(1)]), at: .epoch)
    #expect(same.patch == WidgetPatch())
    let gone = await tally.handled(
      try event("press"), on: try widget(["note": .string("x")]), at: .epoch)
    #expect(gone.patch == WidgetPatch(unsetData: ["note"]))
  }

  @Test func `an event on a node becomes its case, with the row`() async throws {
    let outcome = await tally.handled(
      try event("press", node: "drop/a.20b"),
      on: try widget(["names": .list([.string("a b"), .string("c")])]), at: .epoch)
    #expect(outcome.patch == WidgetPatch(setData: ["names": .list([.string("c")])]))
  }

  @Test func `a failure is the widget's error until a call succeeds`() async throws {
    let failed = await tally.handled(try event("fail"), on: try widget([:]), at: .epoch)
    let problem = WidgetError(reason: "PROVIDER_FAILED", message: "out of order")
    #expect(failed.patch == WidgetPatch(error: .some(problem)))
    let again = await tally.handled(
      try event("add", ["by": .string("x")]), on: try widget([:]), at: .epoch)
    #expect(again.patch.error??.message.isEmpty == false)
    let works = await tally.refreshed(try widget([:], error: problem), at: .epoch)
    #expect(works.patch == WidgetPatch(setData: ["note": .string("refreshed")], error: .some(nil)))
  }

  @Test func `a value of another type reads as the default`() async throws {
    let outcome = await tally.handled(
      try event("add", ["by": .int(1)]), on: try widget(["count": .string("many")]), at: .epoch)
    #expect(outcome.patch.setData["count"] == .int(10))
  }

  @Test func `a value that the type does not know is corrected`() async throws {
    let outcome = await tally.refreshed(
      try widget(["mood": .string("furious"), "note": .string("refreshed")]), at: .epoch)
    #expect(outcome.patch == WidgetPatch(setData: ["mood": .string("calm")]))
  }

  @Test func `a repeated failure is reported once`() async throws {
    let failed = await tally.handled(try event("fail"), on: try widget([:]), at: .epoch)
    #expect(failed.problem == "out of order")
    let again = await tally.handled(
      try event("fail"), on: try widget([:], error: failed.patch.error ?? nil), at: .epoch)
    #expect(again.problem == nil && again.patch == WidgetPatch())
  }

  private struct PortsWidget: ProvidedWidget {
    static let kind: KindName = "desk/ports"

    struct Port: Fields, FieldValue {
      var bytes = 0
      var name: String?
      static let fields: [FieldOf<Port>] = [.init("bytes", \.bytes), .init("name", \.name)]
    }
    struct State: Fields {
      var ports: [String: Port] = [:]
      var all: [Port] = []
      static let fields: [FieldOf<State>] = [
        .init(each: "port.", \.ports), .init("all", \.all, "All of them."),
      ]
    }
    func refresh(_ desk: inout Instance<PortsWidget>) {
      desk.state.ports["a"]?.bytes += 1
      desk.state.ports["b"] = Port(name: "usb")
      desk.state.ports["gone"] = nil
      desk.state.all = [Port(bytes: 7)]
    }
  }

  @Test func `a dictionary can be a key for each entry, and a struct a value`() async throws {
    let ports = AnyProvidedWidget(PortsWidget())
    #expect(ports.kind.name.rawValue == "desk/ports")
    // Such keys cannot be declared.
    #expect(ports.kind.isOpen && ports.kind.data.map(\.name) == ["all"])
    #expect(ports.kind.data.map(\.type) == [.list(.map(.any))])
    #expect(!tally.kind.isOpen)
    let widget = Widget(
      id: try #require(WidgetID("t")), kind: PortsWidget.kind,
      data: [
        "port.a": .map(["bytes": .int(1)]), "port.gone": .map([:]), "port.odd": .int(1),
        "same": .int(1),
      ])
    let outcome = await ports.refreshed(widget, at: .epoch)
    #expect(
      outcome.patch.setData == [
        "port.a": .map(["bytes": .int(2)]),
        "port.b": .map(["bytes": .int(0), "name": .string("usb")]),
        "all": .list([.map(["bytes": .int(7)])]),
      ])
    #expect(outcome.patch.unsetData == ["port.gone", "port.odd"])
    var settled = widget
    settled.data = [
      "port.a": .map(["bytes": .int(1)]),
      "port.b": .map(["bytes": .int(0), "name": .string("usb")]),
      "all": .list([.map(["bytes": .int(7)])]),
    ]
    let next = await ports.refreshed(settled, at: .epoch)
    #expect(next.patch == WidgetPatch(setData: ["port.a": .map(["bytes": .int(2)])]))
  }

  @Test(arguments: [
    ("SystemLoadWidget", "system-load"), ("Clock", "clock"), ("Widget", "widget"),
    ("URLWidget", "url"), ("CPU2Load", "cpu2-load"), ("Größe", "widget"),
  ])
  func `a kind without a name has its type's`(type: String, name: String) {
    #expect(KindName(typeName: type).rawValue == name)
  }

  @Test func `a block of widgets can have conditions`() {
    @WidgetsBuilder func list(_ more: Bool) -> Widgets {
      TallyWidget()
      if more { TallyWidget() }
    }
    #expect(list(true).all.count == 2)
    #expect(list(false).all.count == 1)
  }

  @Test(arguments: [
    (10, 0, 1_000, 1_000), (10, 1, 1_000, 999), (10, 999, 1_000, 1), (11, 0, 5_000, 4_000),
    (-1, 250, 1_000, 750),
  ])
  func `aligned schedules fall on multiples of the interval`(
    seconds: Int64, milliseconds: Int32, interval: Int, delay: Int
  ) throws {
    let now = try #require(Timestamp(seconds: seconds, nanoseconds: milliseconds * 1_000_000))
    #expect(
      now.delay(toMultipleOf: .milliseconds(interval)) == .milliseconds(delay))
  }
}
