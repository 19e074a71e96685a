public import NIOCore

/// The frames of ttrpc, as containerd's ttrpc 1.2 puts them on a socket.
///
/// ```
///   0       4           8      9       10
///   ├───────┼───────────┼──────┼───────┼──────────────┐
///   │length │ stream id │ type │ flags │ length bytes │
///   └───────┴───────────┴──────┴───────┴──────────────┘
/// ```
///
/// Length and stream id are unsigned and big-endian; the length counts the data alone. Nothing in
/// this module knows what the data means.

/// The ten bytes in front of every frame's data.
public struct FrameHeader: Hashable, Sendable {
  /// The size of a header, in bytes.
  public static let bytes = 10
  /// The maximum size of a frame's data, in bytes. Longer frames are refused, not truncated.
  public static let frameDataBytesMax = 4 << 20
  /// The next step for the caller of a message that was too long. The message was not read, so none
  /// of its fields is known.
  static let oversizeAdvice =
    "send fewer or smaller values, for example fewer entries of a timeline; `widgetctl stats` lists "
    + "the limits, such as timeline_entries_max"

  /// The number of data bytes that follow, as the peer announces it. May exceed
  /// `frameDataBytesMax`.
  public var dataBytes: UInt32
  /// The call or stream the frame belongs to; odd for those that a client opened.
  public var streamID: UInt32
  public var type: FrameType
  public var flags: FrameFlags

  public init(dataBytes: UInt32, streamID: UInt32, type: FrameType, flags: FrameFlags = []) {
    self.dataBytes = dataBytes
    self.streamID = streamID
    self.type = type
    self.flags = flags
  }

  /// Whether the announced data is longer than a frame may carry.
  public var isOversize: Bool { dataBytes > UInt32(FrameHeader.frameDataBytesMax) }
}

/// The kind of a frame. A struct, because a peer may send types that this version does not know.
public struct FrameType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Opens a call or stream; only clients send it.
  public static let request = FrameType(rawValue: 1)
  /// Ends a unary call, or a stream with an error or a single result; only servers send it.
  public static let response = FrameType(rawValue: 2)
  /// One message of a stream, in either direction.
  public static let data = FrameType(rawValue: 3)

  public var description: String {
    switch self {
    case .request: "request"
    case .response: "response"
    case .data: "data"
    default: "type \(rawValue)"
    }
  }
}

/// Flags of a frame, always from the sender's view: "remote" is the sender of the frame.
public struct FrameFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The sender sends no more data on this stream.
  public static let remoteClosed = FrameFlags(rawValue: 1)
  /// The sender will send data on this stream.
  public static let remoteOpen = FrameFlags(rawValue: 2)
  /// There is no message in this frame. Without this flag, a frame without data has an empty
  /// message.
  public static let noData = FrameFlags(rawValue: 4)

  /// A data frame that ends the sender's half of a stream and carries no message.
  public static let endOfStream: FrameFlags = [.remoteClosed, .noData]
}

/// A whole frame.
public struct Frame: Equatable, Sendable {
  public var header: FrameHeader
  /// `header.dataBytes` bytes; usually a slice of one read of the socket.
  public var data: ByteBuffer

  public init(header: FrameHeader, data: ByteBuffer) {
    self.header = header
    self.data = data
  }
}
