/// A violation of the protocol by a client. The client gets a response on that stream, with a
/// canonical gRPC code and this message.
public struct ProtocolError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The codes of errors in the framing. Raw values are gRPC's.
  public enum Code: Int32, Hashable, Sendable {
    case invalidArgument = 3
    case resourceExhausted = 8
  }

  public let code: Code
  /// The error, and the valid form.
  public let message: String

  public init(code: Code, message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }

  /// Even ids are reserved for streams that a server opens.
  static let evenStreamID = ProtocolError(
    code: .invalidArgument, message: "a client's stream id must be odd")
  static let streamIDReused = ProtocolError(
    code: .invalidArgument,
    message: "a stream id must be higher than all before it and cannot be used again")
  static let contradictingFlags = ProtocolError(
    code: .invalidArgument,
    message: "a request cannot be both remote-closed and remote-open; set one, or none for unary")
  static let dataAfterClose = ProtocolError(
    code: .invalidArgument, message: "data was sent on a stream after its sender closed it")
  static let dataInNoData = ProtocolError(
    code: .invalidArgument, message: "a frame with the no-data flag must carry no data")

  static let dropped = ProtocolError(
    code: .resourceExhausted, message: "the server could not keep the message; send it again")

  static func tooManyStreams(max: Int) -> ProtocolError {
    ProtocolError(
      code: .resourceExhausted,
      message: "this connection has \(max) streams open already; end one, or open a connection")
  }

  static func oversize(_ header: FrameHeader) -> ProtocolError {
    ProtocolError(
      code: .resourceExhausted,
      message: "the message has \(header.dataBytes) bytes, and the maximum is "
        + "\(FrameHeader.frameDataBytesMax). The daemon did not read it, so its method and fields "
        + "are not known; \(FrameHeader.oversizeAdvice)")
  }
}
