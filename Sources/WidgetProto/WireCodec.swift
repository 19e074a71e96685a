import CWidgetProto
public import WidgetModel

/// Turns bytes into messages and back, through protobuf-c's structs.
///
/// Decoding checks the bytes (depth, UTF-8, well-formedness) and makes the structs in an arena with
/// a budget. Some messages have a usual form that is read without structs. Encoding builds the
/// structs in the same arena, and writes them to an output from the last byte to the first. At the
/// end of a call, arena and output have their former state, so calls can nest: a request is decoded
/// inside `withRequestEnvelope`.
///
/// One codec serves one event loop or one task. It is not `Sendable`, and nothing it lends to a
/// closure may leave that closure.
public final class WireCodec {
  public let limits: WireLimits
  let arena: UnsafeMutablePointer<wp_arena>
  let output: UnsafeMutablePointer<wp_output>
  private let fault: UnsafeMutablePointer<wp_fault>
  /// Larger messages are not read without structs: only the arena has a budget. A byte of a message
  /// uses up to 70 bytes of the arena.
  private let directBytesMax: Int
  /// The entries of maps that the message being decoded may still have.
  private var entriesLeft = Int.max

  public init(limits: WireLimits = .default) {
    self.limits = limits
    let arena = wp_arena_new(WireLimits.arenaFirstChunkBytes, max(0, limits.arenaBytesMax))
    guard let arena else {
      // Swift itself stops the process when memory for an object runs out, so this code does the
      // same.
      preconditionFailure("out of memory")
    }
    self.arena = arena
    directBytesMax = limits.depthMax < DirectInput.depth ? -1 : limits.arenaBytesMax / 128
    output = .allocate(capacity: 1)
    output.initialize(to: wp_output())
    fault = .allocate(capacity: 1)
    fault.initialize(to: wp_fault())
  }

  deinit {
    wp_arena_free(arena)
    wp_output_release(output)
    output.deallocate()
    fault.deallocate()
  }

  // MARK: Decoding

  /// Decodes one message from all of the bytes. O(bytes).
  public func decode<M: WireMessage>(
    _ type: M.Type, from bytes: UnsafeRawBufferPointer
  ) throws(WireError) -> M {
    if bytes.count <= directBytesMax, let message = M.readDirectly(bytes) { return message }
    return try decodeByStructs(type, from: bytes)
  }

  /// Decodes one message, unless its maps to values have more entries together.
  public func decode<M: WireMessage>(
    _ type: M.Type, from bytes: UnsafeRawBufferPointer, entriesMax: Int
  ) throws(WireError) -> M {
    entriesLeft = entriesMax
    defer { entriesLeft = .max }
    return try decode(type, from: bytes)
  }

  /// Counts the entries of a map before they are read.
  func count(entries: Int, of field: StaticString) throws(WireError) {
    guard entries <= entriesLeft else {
      throw .budgetExceeded(limitBytes: limits.arenaBytesMax, path: "\(field)")
    }
    entriesLeft -= entries
  }

  /// Decodes one message by protobuf-c's structs.
  func decodeByStructs<M: WireMessage>(
    _ type: M.Type, from bytes: UnsafeRawBufferPointer
  ) throws(WireError) -> M {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let message = try unpack(M.schema.descriptor, bytes)
    return try M(unpacked: WireSource(message: message, reader: Reader(codec: self)))
  }

  /// Decodes one message from all of the bytes. O(bytes).
  public func decode<M: WireMessage>(
    _ type: M.Type, from bytes: [UInt8]
  ) throws(WireError) -> M {
    let result: Result<M, WireError> = bytes.withUnsafeBytes { raw in
      do throws(WireError) { return .success(try decode(type, from: raw)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Reads a message into the arena. The result may refer to the bytes.
  func unpack(
    _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>, _ bytes: UnsafeRawBufferPointer
  ) throws(WireError) -> UnsafeRawPointer {
    let message = wp_unpack(
      descriptor, arena, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count,
      UInt32(clamping: limits.depthMax), fault)
    guard let message else { throw WireError(fault.pointee, limits: limits) }
    return UnsafeRawPointer(message)
  }

  // MARK: Encoding

  /// Encodes a message.
  public func encode<M: WireMessage>(
    _ message: M, mask: ReadMask = .all
  ) throws(WireError) -> [UInt8] {
    try withEncoded(message, mask: mask) { packed in packed.bytes }
  }

  /// Encodes a message straight into the caller's buffer: the closure learns the size, makes room,
  /// and has the bytes written there.
  ///
  /// Fields of a `Widget` in the message that `mask` does not want are left out.
  public func withEncoded<M: WireMessage, R>(
    _ message: M, mask: ReadMask = .all, _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let target = WireTarget(writer: Writer(codec: self, mask: mask))
    return try withOutput({ () throws(WireError) in try message.write(to: target) }, body)
  }

  /// Writes a message to the output, and lends it to the closure.
  ///
  /// - Parameter write: adds the message at the front of the output. It returns false if memory runs out.
  func withOutput<R>(
    _ write: () throws(WireError) -> Bool, _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    let before = wp_output_count(output)
    defer { wp_output_truncate(output, before) }
    guard try write() else { throw .budgetExceeded(limitBytes: limits.arenaBytesMax) }
    return body(PackedMessage(output: output, byteCount: wp_output_count(output) - before))
  }
}

/// A message that is ready to be written, lent to a closure of `WireCodec`.
public struct PackedMessage {
  /// The number of bytes that `pack` writes.
  public let byteCount: Int
  private let output: UnsafeMutablePointer<wp_output>
  /// The start of the message, counted from the output's end, because its memory may move.
  private let offset: Int

  /// The message is the first `byteCount` bytes of the output.
  init(output: UnsafeMutablePointer<wp_output>, byteCount: Int) {
    self.output = output
    self.byteCount = byteCount
    offset = wp_output_count(output)
  }

  /// Writes the message. There must be room for `byteCount` bytes; nothing checks that.
  public func pack(into destination: UnsafeMutableRawPointer) {
    guard byteCount > 0, let end = output.pointee.end else { return }
    destination.copyMemory(from: end - offset, byteCount: byteCount)
  }

  /// The message as an array.
  public var bytes: [UInt8] {
    guard byteCount > 0, let end = output.pointee.end else { return [] }
    return [UInt8](UnsafeBufferPointer(start: end - offset, count: byteCount))
  }
}

extension WireError {
  init(_ fault: wp_fault, limits: WireLimits) {
    let path = fault.fieldPath
    self =
      switch fault.code {
      case WP_FAULT_TRUNCATED: .malformed(.truncated, path: path)
      case WP_FAULT_VARINT: .malformed(.varint, path: path)
      case WP_FAULT_FIELD_NUMBER: .malformed(.fieldNumber, path: path)
      case WP_FAULT_WIRE_TYPE: .malformed(.wireType, path: path)
      case WP_FAULT_GROUP: .malformed(.group, path: path)
      case WP_FAULT_PACKED: .malformed(.packed, path: path)
      case WP_FAULT_DEPTH: .tooDeep(limit: limits.depthMax)
      case WP_FAULT_UTF8: .invalidUTF8(path: path)
      case WP_FAULT_NUL: .nulInString(path: path)
      case WP_FAULT_REPEATED_MESSAGE: .repeatedSingularMessage(path: path)
      case WP_FAULT_SURPLUS: .malformed(.surplus, path: path)
      case WP_FAULT_BUDGET: .budgetExceeded(limitBytes: limits.arenaBytesMax, path: path)
      default: .malformed(.other, path: path)
      }
  }
}

extension wp_fault {
  fileprivate var fieldPath: String {
    withUnsafeBytes(of: path) { raw in
      raw.assumingMemoryBound(to: UnsafePointer<CChar>?.self).prefix(Int(path_count))
        .compactMap { name in name.map { String(cString: $0) } }.joined(separator: ".")
    }
  }
}
