import CWidgetProto
import WidgetModel

@testable import WidgetProto

/// One message with its Swift type erased.
struct Sample: Sendable, CustomStringConvertible {
  let name: String
  let encode: @Sendable (WireCodec) throws(WireError) -> [UInt8]
  /// Whether the bytes decode to the same message.
  let matches: @Sendable (WireCodec, [UInt8]) throws(WireError) -> Bool
  /// The bytes with structs and without; nil if the message is always written from a struct.
  let bothWays:
    @Sendable (WireCodec, ReadMask) throws(WireError) -> (structs: [UInt8], direct: [UInt8])?

  init<M: WireMessage & Equatable>(_ message: M) {
    name = M.schema.name
    encode = { (codec) throws(WireError) in try codec.encode(message) }
    matches = { (codec, bytes) throws(WireError) in
      try codec.decode(M.self, from: bytes) == message
    }
    bothWays = { (codec, mask) throws(WireError) in
      guard let message = message as? any DirectMessage else { return nil }
      return try codec.bothWays(message, mask)
    }
  }

  var description: String { name }
}

extension WireCodec {
  /// A message by its struct, and without; nothing if it cannot be written directly.
  func bothWays(
    _ message: some DirectMessage, _ mask: ReadMask
  ) throws(WireError) -> (structs: [UInt8], direct: [UInt8]) {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let target = WireTarget(writer: Writer(codec: self, mask: mask))
    let tree = try message.build(in: target)
    return (
      try withOutput({ wp_encode(output, tree.base) }, \.bytes),
      try withOutput({ message.writeFields(to: DirectOutput(writer: target.writer)) }, \.bytes)
    )
  }
}
