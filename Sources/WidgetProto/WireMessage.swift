import CWidgetProto

/// A message that `WireCodec` encodes and decodes.
///
/// Only types of this module conform, because the requirements use protobuf-c's structs. The opaque
/// types below hide these structs.
public protocol WireMessage: Sendable {
  /// The message of the schema.
  static var schema: WireSchema { get }
  /// Reads a message that was scanned and unpacked.
  init(unpacked source: WireSource) throws(WireError)
  /// Reads a message in its usual form without structs; nil if it has to be unpacked.
  static func readDirectly(_ bytes: UnsafeRawBufferPointer) -> Self?
  /// Makes the tree of structs that protobuf-c packs.
  func build(in target: WireTarget) throws(WireError) -> WireTree
  /// Writes the message in front of the codec's output. False if memory runs out.
  func write(to target: WireTarget) throws(WireError) -> Bool
}

extension WireMessage {
  public static func readDirectly(_ bytes: UnsafeRawBufferPointer) -> Self? { nil }

  public func write(to target: WireTarget) throws(WireError) -> Bool {
    wp_encode(target.writer.codec.output, try build(in: target).base)
  }
}

/// A message type of the schema.
public struct WireSchema {
  let descriptor: UnsafePointer<ProtobufCMessageDescriptor>

  /// The full name: `widgetd.v1.Widget`.
  public var name: String { String(cString: descriptor.pointee.name) }
}

/// An unpacked message, valid only while `WireCodec` calls.
public struct WireSource {
  let message: UnsafeRawPointer
  let reader: Reader
}

/// Where a message is built, valid only while `WireCodec` calls.
public struct WireTarget {
  let writer: Writer
}

/// A built message, valid only while `WireCodec` calls.
public struct WireTree {
  let message: UnsafeRawPointer

  var base: UnsafePointer<ProtobufCMessage> {
    message.assumingMemoryBound(to: ProtobufCMessage.self)
  }
}
