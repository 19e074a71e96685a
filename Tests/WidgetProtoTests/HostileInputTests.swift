import MessageTypes
import Testing
import WidgetModel
import WidgetProto

/// The messages that an untrusted client can send. Every case ends in a typed error, never in a
/// crash.
struct HostileInputTests {
  let codec = WireCodec()

  @Test func `a million levels of nesting are refused`() {
    let bytes = WireBytes.nestedLists(500_000)
    #expect(throws: WireError.tooDeep(limit: 64)) { try codec.decode(Value.self, from: bytes) }
  }

  @Test func `the depth limit is exact`() throws {
    let codec = WireCodec(limits: WireLimits(depthMax: 10))
    _ = try codec.decode(Value.self, from: WireBytes.nestedLists(5))
    #expect(throws: WireError.tooDeep(limit: 10)) {
      try codec.decode(Value.self, from: WireBytes.nestedLists(6))
    }
  }

  @Test func `a value that no frame could carry is refused in both directions`() throws {
    let deepest = WireLimits.valueDepthMax / 2
    let fits = try codec.decode(Value.self, from: WireBytes.nestedLists(deepest))
    #expect(try codec.encode(fits) == WireBytes.nestedLists(deepest))
    let tooDeep = WireError.tooDeep(limit: WireLimits.valueDepthMax)
    #expect(throws: tooDeep) {
      try codec.decode(Value.self, from: WireBytes.nestedLists(deepest + 1))
    }
    #expect(throws: tooDeep) { try codec.encode(Value.list([fits])) }
  }

  @Test func `a map counts three levels for each nesting`() throws {
    // The innermost of n maps stands at level 1 + 3 * (n - 1).
    let fitting = (WireLimits.valueDepthMax - 1) / 3 + 1
    let value = (1..<fitting).reduce(Value.map([:])) { inner, _ in .map(["k": inner]) }
    let bytes = try codec.encode(value)
    #expect(try codec.decode(Value.self, from: bytes) == value)
    let tooDeep = WireError.tooDeep(limit: WireLimits.valueDepthMax)
    #expect(throws: tooDeep) { try codec.encode(Value.map(["k": value])) }
    let entry = WireBytes.field(1, "k") + WireBytes.field(2, bytes)
    #expect(throws: tooDeep) {
      try codec.decode(Value.self, from: WireBytes.field(8, WireBytes.field(1, entry)))
    }
  }

  @Test func `the deepest value travels in the deepest frame`() throws {
    let value = try codec.decode(
      Value.self, from: WireBytes.nestedLists(WireLimits.valueDepthMax / 2))
    let id = try #require(WidgetID("a"))
    let kind = try #require(KindName("k"))
    let frame = WatchWidgetsResponse.changes(
      ChangeSet(changes: [.added(Widget(id: id, kind: kind, data: ["x": value]), nil)]))
    let bytes = try codec.encode(frame)
    #expect(try codec.decode(WatchWidgetsResponse.self, from: bytes) == frame)
  }

  @Test(
    arguments: [
      [0xff], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf],
      [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf],
      [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80], [0xc3], [0xe2, 0x82],
      [0xf0, 0x9f, 0x98], [0xc3, 0x28], [0xe2, 0x28, 0xa1], [0xe2, 0x82, 0x28],
      [0xf0, 0x28, 0x8c, 0xbc], [0xf0, 0x9f, 0x98, 0x28],
    ] as [[UInt8]])
  func `text that is not UTF-8 is refused at every offset`(bad: [UInt8]) {
    for padding in [0, 1, 7, 8, 9, 16] {
      let text = [UInt8](repeating: UInt8(ascii: "a"), count: padding) + bad
      #expect(throws: WireError.invalidUTF8(path: "string_value")) {
        try codec.decode(Value.self, from: WireBytes.field(5, text))
      }
      // The sequence is incomplete, but more text follows it.
      #expect(throws: WireError.invalidUTF8(path: "string_value")) {
        try codec.decode(Value.self, from: WireBytes.field(5, text + Array("aaaaaaaaaaaa".utf8)))
      }
    }
  }

  @Test(arguments: [
    "\u{7f}", "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}",
    "\u{10000}", "\u{10ffff}", "e\u{301}",
  ])
  func `text at the edges of UTF-8 is kept`(text: String) throws {
    for padding in 0..<10 {
      let text = String(repeating: "a", count: padding) + text
      let value = try codec.decode(Value.self, from: WireBytes.field(5, text))
      #expect(value == .string(text))
      #expect(try codec.encode(value) == WireBytes.field(5, text))
    }
  }

  @Test func `a NUL in text is refused in both directions`() {
    for padding in [0, 3, 7, 8, 20] {
      let text = String(repeating: "a", count: padding) + "\0b"
      #expect(throws: WireError.nulInString(path: "string_value")) {
        try codec.decode(Value.self, from: WireBytes.field(5, text))
      }
      #expect(throws: WireError.self) { try codec.encode(Value.string(text)) }
    }
    #expect(
      throws: WireError.unrepresentable(
        path: "list_value.values[1].string_value",
        description: "text cannot hold a NUL character; use bytes")
    ) {
      try codec.encode(Value.list([.null, .string("\0")]))
    }
  }

  @Test func `four megabytes of empty sub-messages hit the budget`() {
    let bytes = [UInt8](repeating: 0, count: 4 << 20).enumerated().map { index, _ in
      index % 2 == 0 ? UInt8(0x0a) : 0
    }
    let limit = WireLimits.default.arenaBytesMax
    #expect(throws: WireError.budgetExceeded(limitBytes: limit, path: "values")) {
      try codec.decode(ListValue.self, from: bytes)
    }
    #expect(throws: WireError.budgetExceeded(limitBytes: limit, path: "entries")) {
      try codec.decode(ValueMap.self, from: bytes)
    }
  }

  @Test func `unknown fields do not use the budget`() throws {
    let codec = WireCodec(limits: WireLimits(arenaBytesMax: 4096))
    let unknown = WireBytes.field(100, [UInt8](repeating: 0, count: 100))
    let bytes = [[UInt8]](repeating: unknown, count: 10_000).flatMap { $0 }
    _ = try codec.decode(ReloadRequest.self, from: bytes)
  }

  @Test func `a message may have 4,096 fields that change nothing, and one more for each 16 bytes`()
    throws
  {
    // 4,681 fields of 2 bytes are 4,096 and a 16th of their bytes.
    func fields(_ number: UInt64, _ count: Int) -> [UInt8] {
      [[UInt8]](repeating: WireBytes.field(number, 1), count: count).flatMap { $0 }
    }
    _ = try codec.decode(UploadBlobRequest.self, from: fields(15, 4_681))
    #expect(throws: WireError.malformed(.surplus, path: "")) {
      try codec.decode(UploadBlobRequest.self, from: fields(15, 4_682))
    }
    // The first offset counts as a field that changes something.
    _ = try codec.decode(UploadBlobRequest.self, from: fields(2, 4_682))
    #expect(throws: WireError.malformed(.surplus, path: "offset")) {
      try codec.decode(UploadBlobRequest.self, from: fields(2, 4_683))
    }
  }

  @Test func `packed lists without elements are fields that change nothing`() throws {
    func selector(_ count: Int) -> [UInt8] {
      let empty = WireBytes.field(3, [UInt8]())
      return [[UInt8]](repeating: empty, count: count).flatMap { $0 } + WireBytes.field(3, [2])
    }
    // 4,681 fields of 2 bytes are 4,096 and a 16th of the bytes.
    #expect(try codec.decode(Selector.self, from: selector(4_681)).families.count == 1)
    #expect(throws: WireError.malformed(.surplus, path: "families")) {
      try codec.decode(Selector.self, from: selector(4_682))
    }
    // Lists with elements do not count.
    let full = [[UInt8]](repeating: WireBytes.field(3, [2]), count: 4_000).flatMap { $0 }
    #expect(try codec.decode(Selector.self, from: selector(4_000) + full).families.count == 4_001)
  }

  @Test func `the fields of sub-messages that change nothing count together`() {
    let unknown = [[UInt8]](repeating: WireBytes.field(15, 1), count: 20).flatMap { $0 }
    let values = [[UInt8]](repeating: WireBytes.field(1, unknown), count: 1_000).flatMap { $0 }
    #expect(throws: WireError.malformed(.surplus, path: "values")) {
      try codec.decode(ListValue.self, from: values)
    }
  }

  @Test func `a codec that ran out of budget still decodes the next message`() throws {
    let codec = WireCodec(limits: WireLimits(arenaBytesMax: 4096))
    let bomb = [[UInt8]](repeating: [0x0a, 0], count: 10_000).flatMap { $0 }
    for _ in 0..<3 {
      #expect(throws: WireError.budgetExceeded(limitBytes: 4096, path: "values")) {
        try codec.decode(ListValue.self, from: bomb)
      }
      #expect(throws: WireError.budgetExceeded(limitBytes: 4096)) {
        try codec.encode(Value.bytes([UInt8](repeating: 0, count: 5000)))
      }
      #expect(try codec.decode(Value.self, from: WireBytes.field(3, 7)) == .int(7))
    }
  }

  @Test(
    arguments: [
      ([0x0a], .malformed(.truncated, path: "id")),
      ([0x8a], .malformed(.truncated, path: "")),
      ([0x0a, 0x05, 0x61], .malformed(.truncated, path: "id")),
      ([0x31, 1, 2, 3], .malformed(.truncated, path: "position")),
      ([0x00], .malformed(.fieldNumber, path: "")),
      ([0x02, 0x00], .malformed(.fieldNumber, path: "")),
      ([0xf8, 0xff, 0xff, 0xff, 0x1f, 0], .malformed(.fieldNumber, path: "")),
      ([0x0b, 0x0c], .malformed(.group, path: "id")),
      ([0x9b, 0x06], .malformed(.group, path: "")),
      ([0x0c], .malformed(.group, path: "id")),
      ([0x0e], .malformed(.wireType, path: "id")),
      ([0x0f], .malformed(.wireType, path: "id")),
      ([0x08, 0x01], .malformed(.wireType, path: "id")),
      ([0x32, 0x01, 0x01], .malformed(.wireType, path: "position")),
      ([0x30] + [UInt8](repeating: 0xff, count: 10), .malformed(.varint, path: "position")),
      ([0x30] + [UInt8](repeating: 0x80, count: 10) + [1], .malformed(.varint, path: "position")),
      (
        [0x0a] + [UInt8](repeating: 0xff, count: 9) + [0x01], .malformed(.varint, path: "id")
      ),
      ([0x8a, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00], .malformed(.varint, path: "")),
      ([0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], .malformed(.varint, path: "id")),
      ([UInt8](repeating: 0x80, count: 11), .malformed(.varint, path: "")),
    ] as [([UInt8], WireError)])
  func `malformed bytes are refused with reason and place`(bytes: [UInt8], error: WireError) {
    #expect(throws: error) { try codec.decode(Widget.self, from: bytes) }
  }

  @Test func `a number may use all 64 bits but not more`() throws {
    let last = [UInt8](repeating: 0xff, count: 9)
    #expect(try codec.decode(Value.self, from: [0x18] + last + [0x01]) == .int(-1))
    #expect(throws: WireError.malformed(.varint, path: "int_value")) {
      try codec.decode(Value.self, from: [0x18] + last + [0x02])
    }
  }

  @Test func `a packed list that ends within an element is refused`() {
    #expect(throws: WireError.malformed(.packed, path: "families")) {
      try codec.decode(Selector.self, from: WireBytes.field(3, [0x01, 0x80]))
    }
  }

  @Test func `a repeated sub-message is refused with its path`() {
    let presence = WireBytes.field(5, WireBytes.field(1, 1))
    let identity = WireBytes.field(1, "a") + WireBytes.field(2, "k")
    #expect(throws: WireError.repeatedSingularMessage(path: "presence")) {
      try codec.decode(Widget.self, from: identity + presence + WireBytes.field(6, 1) + presence)
    }
    #expect(throws: WireError.repeatedSingularMessage(path: "widget.presence")) {
      try codec.decode(
        GetWidgetResponse.self, from: WireBytes.field(1, identity + presence + presence))
    }
  }

  @Test func `a repeated message of a oneof is refused`() {
    let opened = WireBytes.field(1, WireBytes.field(1, 7))
    #expect(throws: WireError.repeatedSingularMessage(path: "opened")) {
      try codec.decode(WatchWidgetsResponse.self, from: opened + opened)
    }
    let list = WireBytes.field(7, [UInt8]())
    #expect(throws: WireError.repeatedSingularMessage(path: "list_value")) {
      try codec.decode(Value.self, from: list + WireBytes.field(3, 1) + list)
    }
  }

  @Test func `the last of several members of a oneof counts`() throws {
    let members = [
      WireBytes.field(2, 1), WireBytes.field(3, 5), WireBytes.field(5, "text"),
      WireBytes.field(6, [1, 2, 3]), WireBytes.field(7, WireBytes.field(1, WireBytes.field(3, 4))),
      WireBytes.field(8, WireBytes.field(1, WireBytes.field(1, "k"))),
    ]
    let values: [Value] = [
      .bool(true), .int(5), .string("text"), .bytes([1, 2, 3]), .list([.int(4)]),
      .map(["k": .null]),
    ]
    for (first, _) in members.enumerated() {
      for (second, value) in values.enumerated() where first != second {
        let bytes = members[first] + members[second]
        #expect(try codec.decode(Value.self, from: bytes) == value)
      }
    }
  }

  @Test func `more labels than any widget needs are refused before they cost time`() {
    let label = WireBytes.field(1, WireBytes.field(1, "k"))
    let bytes = [[UInt8]](repeating: label, count: WireLimits.labelsMax + 1).flatMap { $0 }
    #expect(
      throws: WireError.invalidField(path: "labels", description: "at most 256 entries are allowed")
    ) {
      try codec.decode(Labels.self, from: bytes)
    }
    #expect(throws: Never.self) {
      try codec.decode(Labels.self, from: Array(bytes.dropFirst(label.count)))
    }
  }

  @Test(arguments: RandomMessages.everyType(seed: 11))
  func `a message cut off anywhere is decoded or refused`(sample: Sample) throws {
    let bytes = try sample.encode(codec)
    let type = try #require(MessageType.byName[sample.name])
    for count in 0...min(bytes.count, 2000) {
      do throws(WireError) {
        _ = try type.recode(codec, Array(bytes.prefix(count)))
      } catch {
        #expect(!error.reason.isEmpty)
      }
    }
  }
}
