import CWidgetProto
import WidgetModel

/// A struct that protoc-c generated for a message.
protocol CMessage {
  static var descriptor: UnsafePointer<ProtobufCMessageDescriptor> { get }
  /// Initializes the memory as an empty message.
  static func initialize(_ message: UnsafeMutablePointer<Self>)
}

/// The struct of one entry of a `map<string, Value>`.
protocol CValueEntry: CMessage {
  var key: UnsafeMutablePointer<CChar>! { get set }
  var value: UnsafeMutablePointer<Widgetd__V1__Value>! { get set }
}

/// The struct of one entry of a `map<string, string>`.
protocol CStringEntry: CMessage {
  var key: UnsafeMutablePointer<CChar>! { get set }
  var value: UnsafeMutablePointer<CChar>! { get set }
}

/// The struct of one entry of a `map<string, uint64>`.
protocol CCountEntry: CMessage {
  var key: UnsafeMutablePointer<CChar>! { get set }
  var value: UInt64 { get set }
}

/// A repeated message field as protobuf-c holds it.
typealias CList<C> = UnsafeMutablePointer<UnsafeMutablePointer<C>?>

/// The conversion between a domain value and the generated struct of its message.
///
/// A message family implements only this. The rest of the program uses `WireMessage`, which follows
/// from it and shows no C types.
protocol ConvertibleMessage: WireMessage {
  associatedtype C: CMessage

  /// Reads an unpacked message. It is well-formed, but its content can be anything.
  init(c: UnsafePointer<C>, _ reader: Reader) throws(WireError)

  /// Fills an empty message. The message's pointers lead into the writer's arena.
  func fill(_ c: UnsafeMutablePointer<C>, _ writer: Writer) throws(WireError)
}

extension ConvertibleMessage {
  public static var schema: WireSchema { WireSchema(descriptor: C.descriptor) }

  public init(unpacked source: WireSource) throws(WireError) {
    try self.init(c: source.message.assumingMemoryBound(to: C.self), source.reader)
  }

  public func build(in target: WireTarget) throws(WireError) -> WireTree {
    let c = try target.writer.make(C.self)
    try fill(c, target.writer)
    return WireTree(message: UnsafeRawPointer(c))
  }
}
