import CWidgetProto
public import WidgetModel

/// A frame of WatchWidgets with a part of the snapshot, made of encoded `SnapshotChunk`s.
///
/// The chunks follow each other without a separator. A reader decodes them as one chunk with all
/// widgets; see *Last One Wins* and the merging of repeated fields in the encoding of protobuf.
public enum SnapshotFrame {
  /// The field `snapshot` of `WatchWidgetsResponse`, as a tag of one byte.
  private static let tag = UInt8(2 << 3 | 2)

  /// The size of the frame, in bytes.
  ///
  /// - Parameter chunkBytes: The bytes of all chunks together.
  public static func byteCount(of chunkBytes: Int) -> Int {
    1 + varintBytes(chunkBytes) + chunkBytes
  }

  /// Writes a frame of `byteCount(of: byteCount)` bytes. The caller makes sure that there is room.
  public static func write(
    joining chunks: ArraySlice<[UInt8]>, byteCount: Int, to destination: UnsafeMutableRawPointer
  ) {
    var at = destination
    func put(_ byte: UInt8) {
      at.storeBytes(of: byte, as: UInt8.self)
      at += 1
    }
    put(tag)
    var rest = byteCount
    while rest >= 0x80 {
      put(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    put(UInt8(rest))
    for chunk in chunks {
      chunk.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        at.copyMemory(from: start, byteCount: bytes.count)
      }
      at += chunk.count
    }
  }

  private static func varintBytes(_ value: Int) -> Int {
    max(1, (Int.bitWidth - value.leadingZeroBitCount + 6) / 7)
  }
}

extension WireCodec {
  /// A widget as a `SnapshotChunk`, for a `SnapshotFrame`. The same bytes as `encode` gives for a
  /// chunk with this widget alone.
  public func encodeChunk(of widget: Widget, mask: ReadMask = .all) throws(WireError) -> [UInt8] {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let direct = DirectOutput(writer: Writer(codec: self, mask: mask))
    let before = direct.count
    defer { wp_output_truncate(output, before) }
    if direct.message(FieldNumber.SnapshotChunk.widgets, widget),
      direct.count - before <= limits.arenaBytesMax
    {
      return PackedMessage(output: output, byteCount: direct.count - before).bytes
    }
    wp_output_truncate(output, before)
    return try encode(SnapshotChunk(widgets: [widget]), mask: mask)
  }
}
