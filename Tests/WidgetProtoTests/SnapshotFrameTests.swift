import Testing
import WidgetModel

@testable import WidgetProto

/// Frames that are joined from encoded widgets.
struct SnapshotFrameTests {
  private let codec = WireCodec()

  private func widgets(_ count: Int, textBytes: Int) throws -> [Widget] {
    let kind = try #require(KindName("k"))
    return try (0..<count).map { index in
      Widget(
        id: try #require(WidgetID("w\(index)")), kind: kind,
        data: ["text": .string(String(repeating: "x", count: textBytes))])
    }
  }

  @Test(arguments: [(0, 0), (1, 0), (1, 100), (2, 100), (3, 20_000), (40, 500)])
  func `a joined frame has the bytes of a frame that is encoded at once`(
    count: Int, textBytes: Int
  ) throws {
    let widgets = try widgets(count, textBytes: textBytes)
    let chunks = try widgets.map { try codec.encodeChunk(of: $0) }
    let bytes = chunks.reduce(0) { $0 + $1.count }
    var frame = [UInt8](repeating: 0, count: SnapshotFrame.byteCount(of: bytes))
    frame.withUnsafeMutableBytes { room in
      guard let start = room.baseAddress else { return }
      SnapshotFrame.write(joining: chunks[...], byteCount: bytes, to: start)
    }
    #expect(frame == (try codec.encode(WatchWidgetsResponse.snapshot(.init(widgets: widgets)))))
  }

  @Test(arguments: [[], ["content"], ["data", "family"], ["data.a.b", "timeline", "error"]])
  func `a widget alone has the bytes of a chunk, for each read mask`(paths: [String]) throws {
    let mask = try ReadMask(paths: paths)
    var random = RandomMessages(seed: 3)
    for _ in 0..<200 {
      let widget = random.widget()
      let expected = try codec.encode(SnapshotChunk(widgets: [widget]), mask: mask)
      #expect(try codec.encodeChunk(of: widget, mask: mask) == expected, "\(widget)")
    }
  }

  @Test func `a widget that cannot be written is refused as a chunk is`() throws {
    var widget = try #require(try widgets(1, textBytes: 10).first)
    let small = WireCodec(limits: WireLimits(arenaBytesMax: 4096))
    for value in [Value.string("a\0b"), .string(String(repeating: "x", count: 5000))] {
      widget.data["text"] = value
      let expected = #expect(throws: WireError.self) {
        try small.encode(SnapshotChunk(widgets: [widget]))
      }
      let refusal = #expect(throws: WireError.self) { try small.encodeChunk(of: widget) }
      #expect(refusal == expected)
    }
    // The bytes before the refusal are removed.
    widget.data["text"] = .int(1)
    #expect(try small.encodeChunk(of: widget) == codec.encodeChunk(of: widget))
  }
}
