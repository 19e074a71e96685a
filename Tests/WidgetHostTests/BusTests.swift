import CSystemd
import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Sources and steps on D-Bus: the requests, the effects of answers, and the values in messages.
struct BusTests {
  private static let battery =
    "{bus: system, name: org.x.Power, path: /org/x/B, interface: org.x.Device, properties: [Level]}"

  private static let names = Value.list([.string("a"), .string("b")])

  @Test func `changed properties become data, and an absent service is a failure in between`()
    throws
  {
    var scene = try Scene(
      """
      data: {level: {type: int, default: -1}}
      sources: {power: {dbus: \(BusTests.battery), set: {level: int(result.Level)}}}
      """, permissions: "{dbus: [org.x.Power]}")
    let asked = try need(scene.busRequest())
    #expect(asked.request.bus == .system && asked.request.name == "org.x.Power")
    #expect(asked.request.path == "/org/x/B" && asked.request.interface == "org.x.Device")
    #expect(asked.request.work == .properties(["Level"]))
    scene.tell(.value(asked.id, .map(["Level": .int(50)])))
    #expect(scene["level"] == .int(50) && scene.status("power") == .string("success"))
    scene.tell(.absent(asked.id, Failure("NOT_FOUND", "no program has the name org.x.Power")))
    #expect(scene.status("power") == .string("failure"))
    scene.tell(.value(asked.id, .map(["Level": .int(51)])))
    #expect(scene["level"] == .int(51) && scene.status("power") == .string("success"))
    #expect(scene.busRequest() == nil && scene.cancelled() == nil, "the request goes on")
    scene.tell(.failed(asked.id, Failure("UNAVAILABLE", "the bus has ended", isTransient: true)))
    #expect(scene.busRequest() == nil)
    scene.pass(.seconds(1))
    #expect(scene.busRequest() != nil, "it is connected to again")
  }

  @Test func `an optional service without an owner is missing`() throws {
    var scene = try Scene(
      """
      data: {level: {type: int, default: -1}}
      sources:
        power: {dbus: \(BusTests.battery), optional: true, set: {level: int(result.Level)}}
      """, permissions: "{dbus: [org.x.Power]}")
    let asked = try need(scene.busRequest())
    scene.tell(.value(asked.id, .map(["Level": .int(50)])))
    scene.tell(.absent(asked.id, Failure("NOT_FOUND", "no program has the name org.x.Power")))
    #expect(scene.status("power") == .string("missing") && scene["level"] == .int(-1))
    #expect(scene.instance.failures.isEmpty)
    scene.pass(.seconds(1_000))
    #expect(scene.taken().isEmpty)
  }

  @Test(arguments: [
    ("org.freedesktop.DBus.Error.ServiceUnknown", "NOT_FOUND"),
    ("org.freedesktop.systemd1.NoSuchUnit", "NOT_FOUND"),
    ("org.freedesktop.DBus.Error.UnknownObject", "UNIMPLEMENTED"),
    ("org.freedesktop.DBus.Error.UnknownInterface", "UNIMPLEMENTED"),
    ("org.freedesktop.DBus.Error.UnknownMethod", "UNIMPLEMENTED"),
    ("org.freedesktop.DBus.Error.UnknownProperty", "UNIMPLEMENTED"),
  ])
  func `a mistake in a request to an optional service is a failure, and its absence is not`(
    name: String, code: String
  ) throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources:
        p:
          dbus: {name: org.x.P, path: /, interface: org.x.I, call: Suspned}
          optional: true
          set: {n: 'int(result[0])'}
      """, permissions: "{dbus: [org.x.P]}")
    let asked = try need(scene.busRequest())
    scene.tell(.failed(asked.id, Failure((name: name, message: "no"), of: asked.request)))
    let isAbsent = code == "NOT_FOUND"
    #expect(scene.status("p") == .string(isAbsent ? "missing" : "failure"))
    #expect(scene.status("p", "code") == .string(code))
    #expect(scene.instance.failures.isEmpty == isAbsent)
  }

  @Test func `a unit that systemd does not know is no missing service`() throws {
    let request = BusRequest(
      bus: .system, name: "org.freedesktop.systemd1", path: "/", interface: "a.b",
      work: .call("GetUnit", arguments: [], types: []), timeout: .seconds(5), valuesMax: 1,
      bytesMax: 1, namesMax: 1, spacing: .zero)
    let name = "org.freedesktop.systemd1.NoSuchUnit"
    let failure = Failure((name: name, message: "Unit x not loaded."), of: request)
    #expect(failure.code == "UNKNOWN")
    #expect(failure.message == "org.freedesktop.systemd1 answers: Unit x not loaded. (\(name))")
    // A single character can have any number of bytes.
    let long = "a" + String(repeating: "\u{301}", count: 100_000)
    let cut = Failure((name: name, message: "Unit \(long)"), of: request)
    #expect(cut.message == "org.freedesktop.systemd1 answers: Unit…")
  }

  private static let said = "{name: org.x.P, interface: org.x.I, signal: Said}"

  @Test func `an optional service of signals without an owner is missing until it starts`() throws {
    var scene = try Scene(
      """
      data: {text: ""}
      sources:
        said: {dbus: \(BusTests.said), optional: true, set: {text: "string(result[0])"}}
      """, permissions: "{dbus: [org.x.P]}")
    let asked = try need(scene.busRequest())
    #expect(asked.request.work == .signal("Said"))
    let absence = Failure("NOT_FOUND", "no program has the name org.x.P")
    scene.tell(.absent(asked.id, absence))
    #expect(scene.status("said") == .string("missing"))
    #expect(scene.status("said", "missing") == .bool(true))
    scene.tell(.present(asked.id))
    #expect(scene.status("said") == .string("running"), "it waits for signals")
    scene.tell(.value(asked.id, .list([.string("a")])))
    #expect(scene["text"] == .string("a") && scene.status("said") == .string("success"))
    scene.tell(.present(asked.id))
    #expect(scene.status("said") == .string("success"), "a service that was there")
    scene.tell(.absent(asked.id, absence))
    #expect(scene.status("said") == .string("missing") && scene["text"] == .string(""))
    #expect(scene.instance.failures.isEmpty)
    scene.pass(.seconds(1_000))
    #expect(scene.taken().isEmpty, "the request goes on")
  }

  @Test func `signals of a service that is not optional are waited for without a failure`() throws {
    var scene = try Scene(
      """
      data: {text: ""}
      sources: {said: {dbus: \(BusTests.said), set: {text: "string(result[0])"}}}
      """, permissions: "{dbus: [org.x.P]}")
    let asked = try need(scene.busRequest())
    scene.tell(.absent(asked.id, Failure("NOT_FOUND", "no program has the name org.x.P")))
    #expect(scene.status("said") == .string("running") && scene.instance.failures.isEmpty)
    scene.tell(.value(asked.id, .list([.string("a")])))
    scene.tell(.absent(asked.id, Failure("NOT_FOUND", "no program has the name org.x.P")))
    #expect(scene["text"] == .string("a") && scene.status("said") == .string("success"))
    scene.tell(.failed(asked.id, Failure("UNAVAILABLE", "the bus has ended", isTransient: true)))
    #expect(scene.status("said") == .string("failure"))
    scene.pass(.seconds(1))
    scene.tell(.present(try need(scene.busRequest()).id))
    #expect(scene.status("said") == .string("running") && scene.instance.failures.isEmpty)
  }

  @Test func `a method is called at intervals, and by a step with its arguments`() throws {
    var scene = try Scene(
      """
      data: {names: [], n: 0}
      sources:
        list:
          dbus: {name: org.x.P, path: /, interface: org.x.I, call: List}
          every: 10s
          set: {names: 'result[0]'}
      actions:
        go:
          do:
            dbus:
              name: org.x.P
              path: /
              interface: org.x.I
              call: Go
              arguments: [=event.payload.to, 5]
              signature: su
            set: {n: 'int(result[0])'}
      on: {click: go}
      """, permissions: "{dbus: [org.x.*]}")
    for _ in 0..<2 {
      let asked = try need(scene.busRequest())
      #expect(asked.request.work == .call("List", arguments: [], types: []))
      scene.tell(.value(asked.id, .list([BusTests.names])))
      #expect(scene["names"] == BusTests.names)
      scene.pass(.seconds(10))
    }
    _ = scene.taken()
    try scene.event("click", ["to": .string("x")])
    let step = try need(scene.busRequest())
    #expect(
      step.request.work
        == .call(
          "Go", arguments: [.string("x"), .int(5)],
          types: [.basic(UInt8(ascii: "s")), .basic(UInt8(ascii: "u"))]))
    scene.tell(.value(step.id, .list([.int(7)])))
    #expect(scene["n"] == .int(7) && scene.status("go") == .string("success"))
  }

  @Test func `a name from the data must be permitted`() throws {
    var scene = try Scene(
      """
      data: {name: "", v: null}
      sources:
        p:
          dbus: {name: =data.name, path: /, interface: org.x.I, properties: []}
          optional: true
          set: {v: result}
      """, permissions: "{dbus: [org.x.*]}")
    #expect(scene.status("p") == .string("missing"), "no name")
    scene.pass(.seconds(1))
    try scene.change { $0.data["name"] = .string("org.y.Z") }
    scene.pass(.seconds(1))
    #expect(scene.status("p", "code") == .string("PERMISSION_DENIED"))
    try scene.change { $0.data["name"] = .string(":1.5") }
    scene.pass(.seconds(1))
    #expect(scene.status("p", "code") == .string("INVALID_ARGUMENT"))
    try scene.change { $0.data["name"] = .string("org.x.*") }
    scene.pass(.seconds(1))
    #expect(scene.busRequest()?.request.isPattern == true)
  }

  @Test func `a stub makes no request on D-Bus`() throws {
    var scene = try Scene(
      """
      data: {level: 0}
      sources:
        p: {dbus: \(BusTests.battery), set: {level: int(result.Level)}, stub: {Level: 83}}
      """, permissions: "{dbus: [org.x.Power]}", isStub: true)
    #expect(scene["level"] == .int(83) && scene.taken().isEmpty)
  }

  // MARK: Values

  /// A bus without a connection, for its messages.
  private final class Bench {
    let bus: OpaquePointer
    private let other: CInt

    init() throws {
      var ends: [CInt] = [0, 0]
      try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
      var bus: OpaquePointer?
      try #require(sd_bus_new(&bus) >= 0)
      self.bus = try #require(bus)
      other = ends[1]
      try #require(sd_bus_set_fd(self.bus, ends[0], ends[0]) >= 0)
      try #require(sd_bus_start(self.bus) >= 0)
    }

    deinit {
      sd_bus_close_unref(bus)
      close(other)
    }

    /// Writes values and reads them back.
    func roundTrip(_ values: [Value], _ signature: String, valuesMax: Int = 100) throws -> [Value] {
      var pointer: OpaquePointer?
      try #require(sd_bus_message_new_method_call(bus, &pointer, "a.b", "/", "a.b", "C") >= 0)
      let message = BusMessage(try #require(pointer))
      let types = try #require(BusType.types(of: signature))
      #expect(types.map(\.description).joined() == signature)
      for (value, type) in zip(values, types) { try message.append(value, as: type) }
      try #require(sd_bus_message_seal(message.pointer, 1, 0) >= 0)
      return try message.values(valuesMax: valuesMax, bytesMax: 100)
    }
  }

  @Test(arguments: [
    ("s", #"["é"]"#), ("o", #"["/a/b"]"#), ("g", #"["a{sv}"]"#), ("b", "[true]"), ("y", "[255]"),
    ("n", "[-5]"), ("q", "[65535]"), ("i", "[-7]"), ("u", "[4294967295]"),
    ("x", "[-9223372036854775808]"), ("t", "[9223372036854775807]"), ("d", "[1.5]"),
    ("v", #"["x"]"#), ("v", #"[[1,"a",{"k":false}]]"#), ("as", #"[["a","b"]]"#), ("as", "[[]]"),
    ("ay", #"[{"$bytes":"AAH/"}]"#), ("(is)", #"[[3,"x"]]"#), ("a{sv}", #"[{"a":1,"b":["c"]}]"#),
    ("a{us}", #"[{"7":"x"}]"#), ("a(sa{sv})", #"[[["n",{"a":2.5}]]]"#), ("su", #"["a",1]"#),
    ("", "[]"),
  ])
  func `a value survives a message`(signature: String, json: String) throws {
    let values = try BusTests.values(json)
    #expect(try Bench().roundTrip(values, signature) == values)
    let types = try #require(BusType.types(of: signature))
    #expect(zip(types, values).allSatisfy { $0.takes($1) })
  }

  @Test(arguments: [
    ("s", "[5]"), ("y", "[256]"), ("u", "[-1]"), ("o", #"["no path"]"#), ("b", "[1]"),
    ("as", #"["a"]"#),
    ("(ss)", #"[["a"]]"#), ("v", "[null]"), ("s", #"["a\u0000b"]"#), ("i", "[1.5]"),
    ("a{us}", #"[{"x":"y"}]"#),
  ])
  func `a value that is not of the type is refused`(signature: String, json: String) throws {
    let bench = try Bench()
    let values = try BusTests.values(json)
    let failure = #expect(throws: Failure.self) { try bench.roundTrip(values, signature) }
    #expect(failure?.code == "INVALID_ARGUMENT")
    // The reader of bundles refuses the same constants.
    let types = try #require(BusType.types(of: signature))
    #expect(!zip(types, values).allSatisfy { $0.takes($1) })
  }

  /// The values of a list in JSON. `{"$bytes": BASE64}` are bytes.
  private static func values(_ json: String) throws -> [Value] {
    guard case .list(let list) = try JSONText.parse(Array(json.utf8)) else { return [] }
    return list.map { value in
      if case .map(let map) = value, map["$bytes"] != nil { return .bytes([0, 1, 255]) }
      return value
    }
  }

  @Test func `a message with too many values is refused`() throws {
    let bench = try Bench()
    let many = Value.list((0..<20).map { .int($0) })
    #expect(throws: Failure.self) { try bench.roundTrip([many], "ai", valuesMax: 20) }
    #expect(try bench.roundTrip([many], "ai", valuesMax: 21) == [many])
    let long = Value.string(String(repeating: "x", count: 101))
    #expect(throws: Failure.self) { try bench.roundTrip([long], "s") }
  }

  @Test(arguments: [
    "a", "(", ")", "a{vs}", "{ss}", "()", "z", "h", String(repeating: "a", count: 40) + "s",
  ])
  func `a text that is not a D-Bus signature has no type`(text: String) {
    #expect(BusType.types(of: text) == nil)
  }

  @Test func `the address of a bus is that of the environment`() {
    func address(_ bus: BusInput.Bus, _ variables: [String: String]) -> String? {
      BusConnection.address(of: bus, variables)
    }
    #expect(address(.session, [:]) == nil)
    #expect(address(.session, ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"]) == "unix:path=/x")
    #expect(address(.session, ["XDG_RUNTIME_DIR": "/run/a b"]) == "unix:path=/run/a%20b/bus")
    #expect(address(.system, [:]) == "unix:path=/run/dbus/system_bus_socket")
  }

  @Test func `a bus that does not run is a failure`() async {
    let request = BusRequest(
      bus: .session, name: "a.b", path: "/", interface: "a.b", work: .properties([]),
      timeout: .seconds(5), valuesMax: 1, bytesMax: 1, namesMax: 1, spacing: .zero)
    for address in [nil, "unix:path=/nowhere/bus"] {
      guard
        case .failed(let failure) = await BusReading.run(request, address: address, tell: { _ in })
      else {
        Issue.record("it was answered")
        return
      }
      #expect(failure.code == "NOT_FOUND")
    }
  }
}
