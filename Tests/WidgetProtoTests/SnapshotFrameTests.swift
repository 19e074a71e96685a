import Testing
import WidgetModel
import WidgetProto

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
    let chunks = try widgets.map { try codec.encode(SnapshotChunk(widgets: [$0])) }
    let bytes = chunks.reduce(0) { $0 + $1.count }
    var frame = [UInt8](repeating: 0, count: SnapshotFrame.byteCount(of: bytes))
    frame.withUnsafeMutableBytes { room in
      guard let start = room.baseAddress else { return }
      SnapshotFrame.write(joining: chunks, byteCount: bytes, to: start)
    }
    #expect(frame == (try codec.encode(WatchWidgetsResponse.snapshot(.init(widgets: widgets)))))
  }
}
