import CWidgetProto
import MessageTypes
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetProto

/// The reader and the writer of this module beside those of protobuf-c, which share the structs.
struct ProtobufCTests {
  @Test(arguments: [UInt64](1...8))
  func `the encoder writes the same bytes as protobuf-c`(seed: UInt64) throws {
    let codec = WireCodec()
    for sample in RandomMessages.everyType(seed: seed) {
      let type = try #require(MessageType.byName[sample.name])
      let bytes = try sample.encode(codec)
      let message = try #require(unpackedByProtobufC(type, bytes))
      defer { protobuf_c_message_free_unpacked(message, nil) }
      #expect(bytes == packedByProtobufC(message), "\(type), seed \(seed)")
      #expect(bytes == written(message), "\(type), seed \(seed)")
    }
  }

  @Test(arguments: [
    [], ["id"], ["data", "family", "content"], ["data.a.b", "parameters.x", "id"],
    ["presence", "labels", "position", "stale", "error", "timeline", "activity"],
    ["parameters", "create_time", "update_time", "owner_uid", "apply_set"],
    ["owners", "stored_timeline", "etag"],
  ])
  func `a message without structs has the bytes of its struct, for each read mask`(
    paths: [String]
  ) throws {
    let codec = WireCodec()
    let mask = try ReadMask(paths: paths)
    var names: Set<String> = []
    for seed in UInt64(1)...40 {
      for sample in RandomMessages.everyType(seed: seed) {
        guard let bytes = try sample.bothWays(codec, mask) else { continue }
        #expect(bytes.direct == bytes.structs, "\(sample), seed \(seed)")
        names.insert(sample.name)
      }
    }
    #expect(names.count >= 12, "\(names)")
    let widget = Widget(id: try #require(WidgetID("a")), kind: try #require(KindName("k")))
    let tagged = TaggedWidget(
      widget: widget, etag: "1", owners: [FieldOwner(path: "data.x", owner: "set/panel")],
      storedTimeline: Timeline(policy: .never))
    let bytes = try codec.bothWays(tagged, mask)
    #expect(bytes.direct == bytes.structs)
  }

  @Test func `a message that cannot be written is refused with and without structs`() throws {
    let codec = WireCodec()
    func update(_ value: Value) throws -> WidgetUpdate {
      var update = WidgetUpdate(
        id: try #require(WidgetID("a")), revision: 1, updateTime: .epoch)
      update.setData = ["k": value]
      return update
    }
    #expect(
      throws: WireError.unrepresentable(
        path: "set_data[0].string_value", description: "text cannot hold a NUL character; use bytes"
      )
    ) { try codec.encode(try update(.string("a\0b"))) }
    var deep = Value.int(1)
    for _ in 0..<WireLimits.valueDepthMax { deep = .list([deep]) }
    #expect(throws: WireError.tooDeep(limit: WireLimits.valueDepthMax)) {
      try codec.encode(try update(deep))
    }
    let small = WireCodec(limits: WireLimits(arenaBytesMax: 4096))
    #expect(throws: WireError.budgetExceeded(limitBytes: 4096, path: "set_data[0]")) {
      try small.encode(try update(.string(String(repeating: "x", count: 5000))))
    }
    // The bytes before the refusal are removed.
    #expect(
      try codec.encode(try update(.int(1))) == WireCodec().encode(try update(.int(1))))
  }

  @Test(arguments: [UInt64](1...8))
  func `the decoder reads the same values as protobuf-c`(seed: UInt64) throws {
    let codec = WireCodec()
    for sample in RandomMessages.everyType(seed: seed) {
      let type = try #require(MessageType.byName[sample.name])
      let bytes = try sample.encode(codec)
      #expect(bytes == (try read(codec, type, bytes)), "\(type), seed \(seed)")
    }
  }

  @Test(arguments: [UInt64](1...4))
  func `protobuf-c reads damaged messages in the same way, if they are accepted`(
    seed: UInt64
  ) throws {
    let codec = WireCodec()
    var random = SeededGenerator(seed: seed)
    var compared = 0
    for sample in RandomMessages.everyType(seed: seed) {
      let type = try #require(MessageType.byName[sample.name])
      let bytes = try sample.encode(codec)
      for round in 0..<50 {
        let damaged = damage(bytes, &random)
        guard let ours = try? read(codec, type, damaged) else { continue }
        let message = try #require(
          unpackedByProtobufC(type, damaged), "\(type), seed \(seed), round \(round): \(damaged)")
        defer { protobuf_c_message_free_unpacked(message, nil) }
        // protobuf-c keeps unknown fields, and this reader skips them.
        let theirs = try read(codec, type, packedByProtobufC(message))
        #expect(ours == theirs, "\(type), seed \(seed), round \(round): \(damaged)")
        compared += 1
      }
    }
    #expect(compared > 100, "the damage leaves too little to learn from")
  }

  @Test func `repeated numbers are read in both forms, and together`() throws {
    let codec = WireCodec()
    let numbers =
      WireBytes.field(1, "a") + WireBytes.field(2, [1, 2, 0xac, 0x02, 4, 5, 6])
      + WireBytes.field(2, 7) + WireBytes.field(2, 8) + WireBytes.field(2, [9])
    let response = try codec.decode(
      ReflectionResponse.self, from: WireBytes.field(2, []) + WireBytes.field(5, numbers))
    #expect(response.answer == .extensionNumbers(ofType: "a", [1, 2, 300, 4, 5, 6, 7, 8, 9]))
    let path = "all_extension_numbers_response.extension_number"
    #expect(throws: WireError.malformed(.packed, path: path)) {
      try codec.decode(
        ReflectionResponse.self, from: WireBytes.field(5, WireBytes.field(2, [1, 0xac])))
    }
  }

  @Test func `growing moves the written bytes`() throws {
    var output = wp_output()
    defer { wp_output_release(&output) }
    var expected: [UInt8] = []
    for round in 0..<40 {
      let bytes = [UInt8](repeating: UInt8(round), count: round * round * 7)
      #expect(wp_encode_bytes(&output, bytes, bytes.count))
      expected = bytes + expected
      #expect(content(of: output) == expected)
    }
    wp_output_truncate(&output, 39)
    #expect(content(of: output) == expected.suffix(39))
    wp_output_truncate(&output, 0)
    #expect(wp_output_count(&output) == 0)
  }

  // MARK: - Parts

  private func unpackedByProtobufC(
    _ type: MessageType, _ bytes: [UInt8]
  ) -> UnsafeMutablePointer<ProtobufCMessage>? {
    protobuf_c_message_unpack(type.schema().descriptor, nil, bytes.count, bytes)
  }

  private func packedByProtobufC(_ message: UnsafePointer<ProtobufCMessage>) -> [UInt8] {
    let count = protobuf_c_message_get_packed_size(message)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      initialized = protobuf_c_message_pack(message, buffer.baseAddress)
    }
  }

  private func written(_ message: UnsafePointer<ProtobufCMessage>) -> [UInt8] {
    var output = wp_output()
    defer { wp_output_release(&output) }
    guard wp_encode(&output, message) else { return [] }
    return content(of: output)
  }

  private func content(of output: wp_output) -> [UInt8] {
    guard let at = output.at, let end = output.end else { return [] }
    return Array(UnsafeBufferPointer(start: at, count: end - at))
  }

  /// The bytes after our reader has read them and protobuf-c has written them.
  private func read(_ codec: WireCodec, _ type: MessageType, _ bytes: [UInt8]) throws -> [UInt8] {
    let position = wp_arena_mark(codec.arena)
    defer { wp_arena_reset(codec.arena, position) }
    return try bytes.withUnsafeBytes { raw in
      let message = try codec.unpack(type.schema().descriptor, raw)
      return packedByProtobufC(message.assumingMemoryBound(to: ProtobufCMessage.self))
    }
  }
}
