import CWidgetProto
import WidgetModel

// google.rpc.Status and the details that widgetd puts in it.

/// The status of a call: google.rpc.Status with its details unpacked.
///
/// Only ErrorInfo, BadRequest and RetryInfo are read, the last one of each. Other details are
/// skipped.
public struct RPCStatus: Error, Hashable, Sendable {
  /// A code that this version does not know reads as `.unknown`.
  public var code: StatusCode
  /// The error message, in words.
  public var message: String
  /// The reason, for programs.
  public var errorInfo: ErrorInfo?
  /// The wrong fields of the request, if they are the reason.
  public var fieldViolations: [FieldViolation]
  /// The minimum wait before a retry; nil if it is unknown whether a retry can help.
  public var retryDelay: Duration?

  public init(
    code: StatusCode = .ok, message: String = "", errorInfo: ErrorInfo? = nil,
    fieldViolations: [FieldViolation] = [], retryDelay: Duration? = nil
  ) {
    self.code = code
    self.message = message
    self.errorInfo = errorInfo
    self.fieldViolations = fieldViolations
    self.retryDelay = retryDelay
  }
}

extension RPCStatus: ConvertibleMessage {
  init(c: UnsafePointer<Google__Rpc__Status>, _ reader: Reader) throws(WireError) {
    self.init(
      code: StatusCode(rawValue: c.pointee.code) ?? .unknown,
      message: reader.string(c.pointee.message))
    for index in 0..<c.pointee.n_details {
      guard let detail = c.pointee.details[index] else { continue }
      do throws(WireError) { try read(detail, reader) } catch {
        throw error.inside("details[\(index)].value")
      }
    }
  }

  private mutating func read(
    _ any: UnsafePointer<Google__Protobuf__Any>, _ reader: Reader
  ) throws(WireError) {
    let type = reader.string(any.pointee.type_url).split(separator: "/").last ?? ""
    switch type {
    case "google.rpc.ErrorInfo": errorInfo = try reader.unpacked(any.pointee.value)
    case "google.rpc.BadRequest":
      let request: BadRequest = try reader.unpacked(any.pointee.value)
      fieldViolations = request.fieldViolations
    case "google.rpc.RetryInfo":
      let retry: RetryInfo = try reader.unpacked(any.pointee.value)
      retryDelay = retry.retryDelay
    default: break
    }
  }

  func fill(_ c: UnsafeMutablePointer<Google__Rpc__Status>, _ writer: Writer) throws(WireError) {
    c.pointee.code = code.rawValue
    c.pointee.message = try writer.string("message", message)
    let count =
      (errorInfo == nil ? 0 : 1) + (fieldViolations.isEmpty ? 0 : 1) + (retryDelay == nil ? 0 : 1)
    guard count > 0 else { return }
    let details = try writer.allocate(count, of: UnsafeMutablePointer<Google__Protobuf__Any>?.self)
    var index = 0
    func append(
      _ any: UnsafeMutablePointer<Google__Protobuf__Any>
    ) {
      details[index] = any
      index += 1
    }
    if let errorInfo { append(try writer.packed("ErrorInfo", errorInfo)) }
    if !fieldViolations.isEmpty {
      append(try writer.packed("BadRequest", BadRequest(fieldViolations: fieldViolations)))
    }
    if let retryDelay {
      append(try writer.packed("RetryInfo", RetryInfo(retryDelay: retryDelay)))
    }
    c.pointee.n_details = index
    c.pointee.details = details
  }
}

extension Reader {
  /// Reads a message that is packed in a bytes field. The message is scanned like any other, and
  /// uses the same budget.
  func unpacked<M: ConvertibleMessage>(_ data: ProtobufCBinaryData) throws(WireError) -> M {
    let bytes = UnsafeRawBufferPointer(start: data.data, count: data.len)
    let message = try codec.unpack(M.C.descriptor, bytes)
    return try M(c: message.assumingMemoryBound(to: M.C.self), self)
  }
}

extension Writer {
  /// A message of google.rpc, packed into an Any.
  func packed<M: ConvertibleMessage>(
    _ name: StaticString, _ message: M
  ) throws(WireError) -> UnsafeMutablePointer<Google__Protobuf__Any> {
    let any = try make(Google__Protobuf__Any.self)
    any.pointee.type_url = try string("type_url", "type.googleapis.com/google.rpc.\(name)")
    let c = try self.message("details", message)
    any.pointee.value = try packed(WireTree(message: UnsafeRawPointer(c)))
    return any
  }
}

/// google.rpc.ErrorInfo: the reason of a failure, for programs.
public struct ErrorInfo: Hashable, Sendable {
  /// A stable reason in UPPER_SNAKE_CASE: `WIDGET_NOT_FOUND`.
  public var reason: String
  /// The domain that defines the reason.
  public var domain: String
  /// Particulars by name.
  public var metadata: [String: String]

  /// The domain of widgetd's own reasons.
  public static let widgetdDomain = "widgetd"

  public init(
    reason: String, domain: String = ErrorInfo.widgetdDomain, metadata: [String: String] = [:]
  ) {
    self.reason = reason
    self.domain = domain
    self.metadata = metadata
  }
}

extension ErrorInfo: ConvertibleMessage {
  init(c: UnsafePointer<Google__Rpc__ErrorInfo>, _ reader: Reader) {
    reason = reader.string(c.pointee.reason)
    domain = reader.string(c.pointee.domain)
    metadata = reader.dictionary(c.pointee.n_metadata, c.pointee.metadata)
  }

  func fill(_ c: UnsafeMutablePointer<Google__Rpc__ErrorInfo>, _ writer: Writer) throws(WireError) {
    c.pointee.reason = try writer.string("reason", reason)
    c.pointee.domain = try writer.string("domain", domain)
    c.pointee.n_metadata = metadata.count
    c.pointee.metadata = try writer.entries(
      "metadata", metadata, of: Google__Rpc__ErrorInfo__MetadataEntry.self)
  }
}

/// google.rpc.RetryInfo: the wait before a retry.
public struct RetryInfo: Hashable, Sendable {
  /// The minimum wait.
  public var retryDelay: Duration

  public init(retryDelay: Duration) {
    self.retryDelay = retryDelay
  }
}

extension RetryInfo: ConvertibleMessage {
  init(c: UnsafePointer<Google__Rpc__RetryInfo>, _ reader: Reader) throws(WireError) {
    retryDelay = try reader.duration("retry_delay", c.pointee.retry_delay) ?? .zero
  }

  func fill(_ c: UnsafeMutablePointer<Google__Rpc__RetryInfo>, _ writer: Writer) throws(WireError) {
    c.pointee.retry_delay = try writer.duration("retry_delay", retryDelay)
  }
}

/// google.rpc.BadRequest: the wrong fields of a request.
public struct BadRequest: Hashable, Sendable {
  public var fieldViolations: [FieldViolation]

  public init(fieldViolations: [FieldViolation] = []) {
    self.fieldViolations = fieldViolations
  }
}

extension BadRequest: ConvertibleMessage {
  init(c: UnsafePointer<Google__Rpc__BadRequest>, _ reader: Reader) throws(WireError) {
    fieldViolations = try reader.list(
      "field_violations", c.pointee.n_field_violations, c.pointee.field_violations
    ) { (element) throws(WireError) in
      FieldViolation(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Google__Rpc__BadRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_field_violations = fieldViolations.count
    c.pointee.field_violations = try writer.list("field_violations", fieldViolations)
  }
}

/// One mistake in a request.
public struct FieldViolation: Hashable, Sendable {
  /// The path of the field: `widget.labels`.
  public var field: String
  /// The problem, and a correct value.
  public var description: String

  public init(field: String, description: String) {
    self.field = field
    self.description = description
  }
}

extension FieldViolation: ConvertibleMessage {
  init(c: UnsafePointer<Google__Rpc__BadRequest__FieldViolation>, _ reader: Reader) {
    field = reader.string(c.pointee.field)
    description = reader.string(c.pointee.description)
  }

  func fill(
    _ c: UnsafeMutablePointer<Google__Rpc__BadRequest__FieldViolation>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.field = try writer.string("field", field)
    c.pointee.description = try writer.string("description", description)
  }
}
