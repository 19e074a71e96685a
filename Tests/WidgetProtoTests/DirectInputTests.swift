import SeededRandom
import Testing
import WidgetModel

@testable import WidgetProto

/// Reading without structs, beside reading by structs.
struct DirectInputTests {
  private let id: WidgetID

  init() throws { id = try #require(WidgetID("desk/clock")) }

  private static let plain: [Value] = [
    .null, .bool(true), .bool(false), .int(.min), .int(-1), .int(0), .int(.max), .double(-0.5),
    .double(.infinity), .string(""), .string("Grüße 🙂"),
    .string(String(repeating: "x", count: 300)), .bytes([]), .bytes([0, 255]),
  ]
  private static let others: [Value] = [
    .list([]), .list([.int(1)]), .map([:]), .map(["a": .int(1)]), .timestamp(.epoch),
    .duration(.seconds(1)),
  ]

  private func byStructs(_ bytes: [UInt8]) -> Result<UpdateWidgetRequest, WireError> {
    let codec = WireCodec()
    return bytes.withUnsafeBytes { raw in
      do throws(WireError) {
        return .success(try codec.decodeByStructs(UpdateWidgetRequest.self, from: raw))
      } catch { return .failure(error) }
    }
  }

  private func directly(_ bytes: [UInt8]) -> UpdateWidgetRequest? {
    bytes.withUnsafeBytes { UpdateWidgetRequest.readDirectly($0) }
  }

  @Test(arguments: plain)
  func `a change of plain values is read without structs`(value: Value) throws {
    let request = UpdateWidgetRequest(
      id: id, patch: WidgetPatch(setData: ["b": value, "a": .int(1)], unsetData: ["c", ""]),
      etag: "7", requestID: "r", omitWidget: true, provider: "host")
    let bytes = try WireCodec().encode(request)
    #expect(directly(bytes) == request)
    #expect(try byStructs(bytes).get() == request)
  }

  @Test(arguments: others)
  func `an update with lists or maps is read by the structs`(value: Value) throws {
    let request = UpdateWidgetRequest(id: id, patch: WidgetPatch(setData: ["b": value]))
    let bytes = try WireCodec().encode(request)
    #expect(directly(bytes) == nil)
    #expect(try WireCodec().decode(UpdateWidgetRequest.self, from: bytes) == request)
  }

  @Test func `an update of other fields is read by the structs`() throws {
    let patches = [
      WidgetPatch(setParameters: ["a": .int(1)]), WidgetPatch(unsetParameters: ["a"]),
      WidgetPatch(setLabels: Labels([("a", "b")])), WidgetPatch(isStale: true),
      WidgetPatch(releases: ["data.a"]), WidgetPatch(timeline: .some(nil)),
    ]
    for patch in patches {
      let request = UpdateWidgetRequest(id: id, patch: patch)
      let bytes = try WireCodec().encode(request)
      #expect(directly(bytes) == nil)
      #expect(try WireCodec().decode(UpdateWidgetRequest.self, from: bytes) == request)
    }
  }

  @Test(arguments: [
    [], [0x0a], [0x0a, 0x02, 0x61], [0x0a, 0x00], [0x0a, 0x01, 0xff], [0x0a, 0x01, 0x00],
    [0x0a, 0x01, 0x61, 0x0a, 0x01, 0x62], [0x0a, 0x01, 0x61, 0x12, 0x00, 0x12, 0x00],
    [0x0a, 0x01, 0x61, 0x30, 0xff], [0x0a, 0x01, 0x61, 0xff, 0x07, 0x01], [0x08, 0x01],
    [0x0a, 0x01, 0x61, 0x12, 0x06, 0x0a, 0x04, 0x0a, 0x00, 0x0a, 0x00],
    [0x0a, 0x01, 0x61, 0x12, 0x03, 0x0a, 0x01, 0x08],
    [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  ])
  func `a request with unusual encoding is read by the structs`(bytes: [UInt8]) {
    #expect(directly(bytes) == nil)
  }

  @Test(arguments: [UInt64](1...6))
  func `damaged requests are read as by structs, or left to them`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let codec = WireCodec()
    let originals = try (DirectInputTests.plain + DirectInputTests.others).map { value in
      try codec.encode(
        UpdateWidgetRequest(
          id: id, patch: WidgetPatch(setData: ["one": value, "two": .string("text")]),
          requestID: "retry", omitWidget: true))
    }
    var compared = 0
    for round in 0..<3_000 {
      let damaged = damage(originals[round % originals.count], &random)
      guard let direct = directly(damaged) else { continue }
      #expect(try byStructs(damaged).get() == direct, "seed \(seed), round \(round): \(damaged)")
      compared += 1
    }
    #expect(compared > 50, "too few damaged requests were read")
  }

  @Test func `a request that may be too large for the arena is read by structs`() throws {
    let request = UpdateWidgetRequest(
      id: id, patch: WidgetPatch(setData: ["a": .string(String(repeating: "x", count: 5_000))]))
    let bytes = try WireCodec().encode(request)
    #expect(directly(bytes) == request)
    let small = WireCodec(limits: WireLimits(arenaBytesMax: 4_096))
    #expect(
      throws: WireError.budgetExceeded(
        limitBytes: 4_096, path: "patch.set_data.value.string_value")
    ) {
      try small.decode(UpdateWidgetRequest.self, from: bytes)
    }
    let shallow = WireCodec(limits: WireLimits(depthMax: 3))
    #expect(throws: WireError.tooDeep(limit: 3)) {
      try shallow.decode(UpdateWidgetRequest.self, from: bytes)
    }
  }
}
