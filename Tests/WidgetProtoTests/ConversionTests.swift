import Testing
import WidgetModel
import WidgetProto

/// Absent, doubled, unknown and too large values, field by field.
struct ConversionTests {
  let codec = WireCodec()
  let identity = WireBytes.field(1, "a") + WireBytes.field(2, "k")

  @Test func `the last of several map entries with one key counts`() throws {
    func entry(_ value: UInt64) -> [UInt8] {
      WireBytes.field(1, WireBytes.field(1, "k") + WireBytes.field(2, WireBytes.field(3, value)))
    }
    #expect(try codec.decode(ValueMap.self, from: entry(1) + entry(2)) == ["k": .int(2)])
    func label(_ value: String) -> [UInt8] {
      WireBytes.field(1, WireBytes.field(1, "k") + WireBytes.field(2, value))
    }
    #expect(try codec.decode(Labels.self, from: label("x") + label("y")) == ["k": "y"])
    let info = WireBytes.field(3, WireBytes.field(1, "k") + WireBytes.field(2, "x"))
    let later = WireBytes.field(3, WireBytes.field(1, "k") + WireBytes.field(2, "y"))
    #expect(try codec.decode(ErrorInfo.self, from: info + later).metadata == ["k": "y"])
  }

  @Test func `a map entry without a value has the default, and one without a key the empty key`()
    throws
  {
    let onlyKey = WireBytes.field(1, WireBytes.field(1, "k"))
    let nothing = WireBytes.field(1, [UInt8]())
    #expect(try codec.decode(ValueMap.self, from: onlyKey + nothing) == ["k": .null, "": .null])
    #expect(try codec.decode(Labels.self, from: onlyKey + nothing) == ["k": "", "": ""])
  }

  @Test func `keys that Swift treats as equal but that differ stay separate`() throws {
    let map: ValueMap = ["e\u{301}": .int(1), "\u{e9}": .int(2)]
    #expect(map.count == 2)
    #expect(try codec.decode(ValueMap.self, from: try codec.encode(map)) == map)
  }

  @Test func `a value of no kind or of an unknown kind is null`() throws {
    #expect(try codec.decode(Value.self, from: []) == .null)
    #expect(try codec.decode(Value.self, from: WireBytes.field(99, 1)) == .null)
    #expect(try codec.decode(Value.self, from: WireBytes.field(1, 77)) == .null)
  }

  @Test func `an empty value of a kind is not null`() throws {
    let values: [Value] = [
      .bool(false), .int(0), .double(0), .double(-0.0), .string(""), .bytes([]), .list([]),
      .map([:]), .timestamp(.epoch), .duration(.zero),
    ]
    for value in values {
      #expect(try codec.decode(Value.self, from: try codec.encode(value)) == value)
    }
  }

  @Test func `an empty or unknown frame of a provider is refused`() {
    for bytes in [[], WireBytes.field(99, WireBytes.field(1, 1))] {
      #expect(throws: WireError.self) { try codec.decode(ProvideRequest.self, from: bytes) }
    }
    // A frame needs a name, and an answer needs one outcome.
    let open = WireBytes.field(1, WireBytes.field(1, ""))
    #expect(throws: WireError.self) { try codec.decode(ProvideRequest.self, from: open) }
    let answer = WireBytes.field(5, WireBytes.field(2, 7))
    #expect(throws: WireError.self) { try codec.decode(ProvideRequest.self, from: answer) }
  }

  @Test func `unknown fields are ignored`() throws {
    let unknown =
      WireBytes.field(1000, 1) + WireBytes.tag(1000, 1) + [UInt8](repeating: 1, count: 8)
      + WireBytes.field(1000, [0xff, 0]) + WireBytes.tag(1000, 5) + [1, 2, 3, 4]
    let widget = try codec.decode(Widget.self, from: unknown + identity + unknown)
    #expect(widget == (try codec.decode(Widget.self, from: identity)))
  }

  @Test func `a widget with nothing but an id and a kind has the documented defaults`() throws {
    let widget = try codec.decode(TaggedWidget.self, from: identity)
    let id = try #require(WidgetID("a"))
    let kind = try #require(KindName("k"))
    #expect(widget == TaggedWidget(widget: Widget(id: id, kind: kind), etag: ""))
  }

  @Test func `an absent optional field differs from its default value`() throws {
    let bare = try codec.decode(WidgetSpec.self, from: WireBytes.field(2, "k"))
    #expect(bare.isVisible == nil && bare.isEnabled == nil && bare.family == nil && bare.id == nil)
    let set = try codec.decode(
      WidgetSpec.self, from: WireBytes.field(2, "k") + WireBytes.field(5, 0) + WireBytes.field(6, 1)
    )
    #expect(set.isVisible == false && set.isEnabled == true)
    let id = try #require(WidgetID("a"))
    var update = WidgetUpdate(id: id, revision: 1, updateTime: .epoch)
    let untouched = try codec.encode(update)
    update.position = 0
    update.isStale = false
    update.applySet = ""
    update.error = .some(nil)
    let bytes = try codec.encode(update)
    #expect(bytes != untouched)
    #expect(try codec.decode(WidgetUpdate.self, from: bytes) == update)
  }

  @Test(arguments: [
    "", "_a", "a b", "ä", "-", String(repeating: "a", count: 129),
  ])
  func `a bad id is refused with its path and the rule`(id: String) {
    func expect<M: WireMessage>(_ type: M.Type, _ bytes: [UInt8], path: String) {
      #expect {
        try codec.decode(type, from: bytes)
      } throws: { error in
        guard case .invalidField(path, let text) = error as? WireError else { return false }
        return text.contains("a-z, A-Z, 0-9 and . _ - / :")
      }
    }
    expect(GetWidgetRequest.self, WireBytes.field(1, id), path: "id")
    expect(SendEventRequest.self, WireBytes.field(1, id), path: "widget_id")
    let kind = WireBytes.field(2, "k")
    expect(
      ApplyWidgetsRequest.self,
      WireBytes.field(2, WireBytes.field(1, "ok") + kind)
        + WireBytes.field(2, WireBytes.field(1, id) + kind),
      path: "widgets[1].id")
    if !id.isEmpty {
      expect(
        CreateWidgetRequest.self, WireBytes.field(1, WireBytes.field(1, id) + kind),
        path: "widget.id")
      expect(
        WatchEventsRequest.self, WireBytes.field(1, WireBytes.field(1, id)),
        path: "selector.ids[0]")
    }
  }

  @Test func `a request without a required field is refused`() {
    #expect(throws: WireError.invalidField(path: "widget", description: "is required")) {
      try codec.decode(CreateWidgetRequest.self, from: [])
    }
    #expect(throws: WireError.self) {
      try codec.decode(MoveWidgetRequest.self, from: WireBytes.field(1, "a"))
    }
    #expect(
      throws: WireError.invalidField(path: "first", description: "must be true if it is set")
    ) {
      try codec.decode(
        MoveWidgetRequest.self, from: WireBytes.field(1, "a") + WireBytes.field(2, 0))
    }
  }

  @Test func `SetPresence takes exactly one of ids, selector and all`() throws {
    let (ids, selector, all) = (
      WireBytes.field(1, "a"), WireBytes.field(2, [UInt8]()), WireBytes.field(3, 1)
    )
    let action = WireBytes.field(4, 2)
    for bytes in [action, ids + selector, ids + all, selector + all, ids + selector + all] {
      #expect(throws: WireError.self) {
        try codec.decode(SetPresenceRequest.self, from: bytes + action)
      }
    }
    let request = try codec.decode(SetPresenceRequest.self, from: selector + action)
    #expect(request == SetPresenceRequest(target: .selector(Selector()), action: .hide))
  }

  @Test func `a number that an enum does not have is refused in a request`() {
    func expect<M: WireMessage>(_ type: M.Type, _ bytes: [UInt8], path: String) {
      #expect {
        try codec.decode(type, from: bytes)
      } throws: { error in
        guard case .invalidField(path, _) = error as? WireError else { return false }
        return true
      }
    }
    for number: UInt64 in [99, 256, UInt64(UInt32.max), UInt64(bitPattern: -1)] {
      let kind = WireBytes.field(2, "k")
      expect(WidgetSpec.self, kind + WireBytes.field(3, number), path: "family")
      expect(Selector.self, WireBytes.field(3, number), path: "families")
      expect(LabelRequirement.self, WireBytes.field(2, number), path: "operator")
      expect(SetLogLevelRequest.self, WireBytes.field(1, number), path: "level")
      expect(
        SetPresenceRequest.self, WireBytes.field(3, 1) + WireBytes.field(4, number), path: "action")
      expect(
        DeleteWidgetRequest.self,
        WireBytes.field(1, "a") + WireBytes.field(5, WireBytes.field(1, number)),
        path: "transition.curve")
    }
    expect(Selector.self, WireBytes.field(3, 0), path: "families")
    expect(LabelRequirement.self, [], path: "operator")
    expect(SetLogLevelRequest.self, [], path: "level")
    expect(SetPresenceRequest.self, WireBytes.field(3, 1), path: "action")
  }

  @Test func `a client accepts numbers, frames and changes of a newer daemon`() throws {
    let future = WireBytes.field(3, 99)
    #expect(try codec.decode(Widget.self, from: identity + future).family == .medium)
    #expect(try codec.decode(Transition.self, from: WireBytes.field(1, 99)).curve == .unspecified)
    #expect(
      try codec.decode(ApplyResult.self, from: WireBytes.field(1, "a") + WireBytes.field(2, 99))
        .action == .unspecified)
    #expect(try codec.decode(SetLogLevelResponse.self, from: [0x08, 99]).previous == nil)
    #expect(try codec.decode(HealthCheckResponse.self, from: [0x08, 99]).status == .unknown)
    let frame = WireBytes.field(15, WireBytes.field(1, 1))
    #expect(try codec.decode(WatchWidgetsResponse.self, from: frame) == .unknown)
    #expect(try codec.decode(WatchEventsResponse.self, from: frame) == .unknown)
    #expect(try codec.decode(ProvideResponse.self, from: frame) == .unknown)
    let changes = WireBytes.field(3, frame) + WireBytes.field(2, 7)
    #expect(try codec.decode(ChangeSet.self, from: changes) == ChangeSet(toRevision: 7))
  }

  @Test(
    arguments: [
      (-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000), (.max, 0), (.min, 0),
    ] as [(Int64, Int32)])
  func `a time out of range is refused`(seconds: Int64, nanos: Int32) {
    let time =
      WireBytes.field(1, UInt64(bitPattern: seconds))
      + WireBytes.field(2, UInt64(bitPattern: Int64(nanos)))
    #expect {
      try codec.decode(Value.self, from: WireBytes.field(9, time))
    } throws: { error in
      guard case .invalidField("timestamp_value", _) = error as? WireError else { return false }
      return true
    }
  }

  @Test(
    arguments: [
      (315_576_000_001, 0), (-315_576_000_001, 0), (1, -1), (-1, 1), (0, 1_000_000_000), (.min, 0),
    ] as [(Int64, Int32)])
  func `a span of time out of range is refused`(seconds: Int64, nanos: Int32) {
    let span =
      WireBytes.field(1, UInt64(bitPattern: seconds))
      + WireBytes.field(2, UInt64(bitPattern: Int64(nanos)))
    #expect {
      try codec.decode(Value.self, from: WireBytes.field(10, span))
    } throws: { error in
      guard case .invalidField("duration_value", _) = error as? WireError else { return false }
      return true
    }
    #expect(throws: WireError.self) {
      try codec.encode(Value.duration(.seconds(315_576_000_001)))
    }
  }

  @Test func `a read mask keeps its meaning on the way`() throws {
    for paths in [[], ["id"], ["kind", "data", "data"], ["parameters.x.y", "etag", "data.a"]] {
      let request = GetWidgetRequest(
        id: try #require(WidgetID("a")), readMask: try ReadMask(paths: paths))
      let decoded = try codec.decode(GetWidgetRequest.self, from: try codec.encode(request))
      #expect(decoded == request)
      #expect(try ReadMask(paths: decoded.readMask.paths) == request.readMask)
    }
    #expect {
      try codec.decode(
        GetWidgetRequest.self,
        from: WireBytes.field(1, "a") + WireBytes.field(2, WireBytes.field(1, "colour")))
    } throws: { error in
      guard case .invalidField("read_mask", let text) = error as? WireError else { return false }
      return text.contains("colour")
    }
  }

  @Test func `fields that a read mask leaves out are not on the wire`() throws {
    let widget = Widget(
      id: try #require(WidgetID("a")), kind: try #require(KindName("k")), family: .large,
      labels: ["l": "1"], presence: Presence(isVisible: false), position: 9,
      parameters: ["p": .int(1)], data: ["x": .int(1), "y": .int(2)], isStale: true,
      error: WidgetError(reason: "BAD", message: ""), createdRevision: 3, revision: 4,
      createTime: .latest, updateTime: .latest, ownerUID: 5, applySet: "s")
    let response = GetWidgetResponse(widget: widget, etag: "tag")
    for paths in [["id"], ["data.x"], ["family", "labels", "etag"], ["data", "update_time"]] {
      let mask = try ReadMask(paths: paths)
      let bytes = try codec.encode(response, mask: mask)
      let decoded = try codec.decode(GetWidgetResponse.self, from: bytes)
      #expect(decoded.widget == mask.filter(widget))
      #expect(decoded.etag == (mask.wants(.etag) ? "tag" : ""))
    }
    let smallest = try codec.encode(response, mask: try ReadMask(paths: ["id"]))
    let expected =
      WireBytes.field(1, "a") + WireBytes.field(2, "k") + WireBytes.field(11, 3)
      + WireBytes.field(12, 4)
    #expect(smallest == WireBytes.field(1, expected))
  }

  @Test func `packed and unpacked lists are both read`() throws {
    let bytes =
      WireBytes.field(3, [1, 2]) + WireBytes.field(3, 3) + WireBytes.field(3, [UInt8]())
      + WireBytes.field(3, 7)
    #expect(
      try codec.decode(Selector.self, from: bytes).families == [
        .small, .medium, .large, .rectangular,
      ])
  }

  @Test func `the client name of an event has a maximum length`() throws {
    let id = WireBytes.field(1, "a")
    let name = WireBytes.field(3, "click")
    func client(_ count: Int) -> [UInt8] {
      WireBytes.field(6, String(repeating: "x", count: count))
    }
    _ = try codec.decode(SendEventRequest.self, from: id + name + client(64))
    #expect(throws: WireError.self) {
      try codec.decode(SendEventRequest.self, from: id + name + client(65))
    }
    #expect(throws: WireError.self) {
      try codec.decode(SendEventRequest.self, from: id + WireBytes.field(3, "two words"))
    }
  }

  @Test(arguments: [UInt64](0..<20))
  func `every message comes back as it was`(seed: UInt64) throws {
    for sample in RandomMessages.everyType(seed: seed) {
      let bytes = try sample.encode(codec)
      #expect(try sample.matches(codec, bytes), "\(sample.name)")
      #expect(try sample.encode(codec) == bytes, "\(sample.name): equal content, equal bytes")
    }
  }
}
