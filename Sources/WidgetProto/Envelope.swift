import CWidgetProto
public import WidgetModel

// The messages in the frames of the ttrpc protocol: Request and Response. Reading a request
// allocates nothing outside the arena; writing a response packs the inner message once.

/// One entry of a call's metadata.
public struct MetadataEntry: Hashable, Sendable {
  public var key: String
  public var value: String

  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

extension MetadataEntry: ConvertibleMessage {
  init(c: UnsafePointer<Ttrpc__V1__KeyValue>, _ reader: Reader) {
    key = reader.string(c.pointee.key)
    value = reader.string(c.pointee.value)
  }

  func fill(_ c: UnsafeMutablePointer<Ttrpc__V1__KeyValue>, _ writer: Writer) throws(WireError) {
    c.pointee.key = try writer.string("key", key)
    c.pointee.value = try writer.string("value", value)
  }
}

/// The message that starts a call.
public struct TTRPCRequest: Hashable, Sendable {
  /// The service's full name: "widgetd.v1.WidgetService".
  public var service: String
  /// The method's name: "GetWidget".
  public var method: String
  /// The encoded request message.
  public var payload: [UInt8]
  /// The timeout of the caller; 0 for no limit.
  public var timeoutNanoseconds: Int64
  /// In order; a key can appear more than once.
  public var metadata: [MetadataEntry]

  public init(
    service: String, method: String, payload: [UInt8] = [], timeoutNanoseconds: Int64 = 0,
    metadata: [MetadataEntry] = []
  ) {
    self.service = service
    self.method = method
    self.payload = payload
    self.timeoutNanoseconds = timeoutNanoseconds
    self.metadata = metadata
  }
}

extension TTRPCRequest: ConvertibleMessage {
  init(c: UnsafePointer<Ttrpc__V1__Request>, _ reader: Reader) throws(WireError) {
    service = reader.string(c.pointee.service)
    method = reader.string(c.pointee.method)
    payload = reader.bytes(c.pointee.payload)
    timeoutNanoseconds = c.pointee.timeout_nano
    metadata = try reader.metadata(c)
  }

  func fill(_ c: UnsafeMutablePointer<Ttrpc__V1__Request>, _ writer: Writer) throws(WireError) {
    c.pointee.service = try writer.string("service", service)
    c.pointee.method = try writer.string("method", method)
    c.pointee.payload = try writer.bytes(payload)
    c.pointee.timeout_nano = timeoutNanoseconds
    c.pointee.n_metadata = metadata.count
    c.pointee.metadata = try writer.list("metadata", metadata)
  }
}

extension Reader {
  fileprivate func metadata(
    _ c: UnsafePointer<Ttrpc__V1__Request>
  ) throws(WireError) -> [MetadataEntry] {
    try list("metadata", c.pointee.n_metadata, c.pointee.metadata) { (element) throws(WireError) in
      MetadataEntry(c: element, self)
    }
  }
}

/// The message that ends a unary call, or a stream with an error.
public struct TTRPCResponse: Hashable, Sendable {
  /// The status of the call; nil for OK.
  public var status: RPCStatus?
  /// The encoded response message.
  public var payload: [UInt8]

  public init(status: RPCStatus? = nil, payload: [UInt8] = []) {
    self.status = status
    self.payload = payload
  }
}

extension TTRPCResponse: ConvertibleMessage {
  init(c: UnsafePointer<Ttrpc__V1__Response>, _ reader: Reader) throws(WireError) {
    status = try reader.optional("status", c.pointee.status)
    payload = reader.bytes(c.pointee.payload)
  }

  func fill(_ c: UnsafeMutablePointer<Ttrpc__V1__Response>, _ writer: Writer) throws(WireError) {
    c.pointee.status = try writer.message("status", optional: status)
    c.pointee.payload = try writer.bytes(payload)
  }
}

/// A decoded ttrpc request, lent to a closure of `WireCodec`. All pointers are valid until the
/// closure returns.
public struct RequestEnvelopeView {
  private let c: UnsafePointer<Ttrpc__V1__Request>
  private let reader: Reader

  init(c: UnsafePointer<Ttrpc__V1__Request>, _ reader: Reader) {
    self.c = c
    self.reader = reader
  }

  /// The service's full name, UTF-8, ended by a NUL.
  public var serviceCString: UnsafePointer<CChar> { UnsafePointer(c.pointee.service) }
  /// The method's name, UTF-8, ended by a NUL.
  public var methodCString: UnsafePointer<CChar> { UnsafePointer(c.pointee.method) }
  /// The service's full name, UTF-8, without the NUL.
  public var service: UnsafeBufferPointer<UInt8> { RequestEnvelopeView.text(c.pointee.service) }
  /// The method's name, UTF-8, without the NUL.
  public var method: UnsafeBufferPointer<UInt8> { RequestEnvelopeView.text(c.pointee.method) }

  /// The encoded request message.
  public var payload: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: c.pointee.payload.data, count: c.pointee.payload.len)
  }

  /// The timeout of the caller; 0 for no limit.
  public var timeoutNanoseconds: Int64 { c.pointee.timeout_nano }

  /// The call's metadata, made again on each access.
  public var metadata: [MetadataEntry] {
    get throws(WireError) { try reader.metadata(c) }
  }

  private static func text(_ text: UnsafeMutablePointer<CChar>) -> UnsafeBufferPointer<UInt8> {
    let count = wp_text_length(text)
    return UnsafeBufferPointer(
      start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: count)
  }
}

extension WireCodec {
  /// Decodes a ttrpc request and lends it to the closure, which usually decodes the payload with
  /// the same codec. Allocates nothing outside the arena.
  public func withRequestEnvelope<R>(
    _ bytes: UnsafeRawBufferPointer,
    _ body: (RequestEnvelopeView) throws(WireError) -> R
  ) throws(WireError) -> R {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let message = try unpack(Ttrpc__V1__Request.descriptor, bytes)
    return try body(
      RequestEnvelopeView(
        c: message.assumingMemoryBound(to: Ttrpc__V1__Request.self), Reader(codec: self)))
  }

  /// Encodes a ttrpc response around a message; see `withEncoded` for the closure and the mask.
  public func withEncodedResponse<M: WireMessage, R>(
    payload message: M, mask: ReadMask = .all, _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let target = WireTarget(writer: Writer(codec: self, mask: mask))
    return try withResponse({ () throws(WireError) in try message.write(to: target) }, body)
  }

  /// Encodes a ttrpc response around a message that is encoded already, without copying it first.
  public func withEncodedResponse<R>(
    payload message: [UInt8], _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    try withResponse(
      { message.withUnsafeBufferPointer { wp_encode_bytes(output, $0.baseAddress, $0.count) } },
      body)
  }

  /// Makes a response from the payload that the closure writes, with a few bytes in front of it.
  private func withResponse<R>(
    _ write: () throws(WireError) -> Bool, _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    let before = wp_output_count(output)
    return try withOutput(
      { () throws(WireError) in
        guard try write() else { return false }
        let count = wp_output_count(output) - before
        return count == 0 || wp_encode_field(output, WireCodec.responsePayloadField, count)
      }, body)
  }

  /// The number of `ttrpc.v1.Response.payload`.
  private static let responsePayloadField: UInt32 = 2

  /// Encodes a ttrpc request around a message; see `withEncoded` for the closure.
  public func withEncodedRequest<M: WireMessage, R>(
    service: String, method: String, payload message: M, timeoutNanoseconds: Int64 = 0,
    metadata: [MetadataEntry] = [], _ body: (PackedMessage) -> R
  ) throws(WireError) -> R {
    let position = wp_arena_mark(arena)
    defer { wp_arena_reset(arena, position) }
    let writer = Writer(codec: self, mask: .all)
    let payload = try message.build(in: WireTarget(writer: writer))
    let request = try writer.make(Ttrpc__V1__Request.self)
    try TTRPCRequest(
      service: service, method: method, timeoutNanoseconds: timeoutNanoseconds, metadata: metadata
    ).fill(request, writer)
    request.pointee.payload = try writer.packed(payload)
    let tree = WireTree(message: UnsafeRawPointer(request))
    return try withOutput({ wp_encode(output, tree.base) }, body)
  }
}
