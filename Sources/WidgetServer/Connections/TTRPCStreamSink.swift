import WidgetProto
import WidgetTransport

/// A stream of a ttrpc connection.
final class TTRPCStreamSink: StreamSink {
  /// nil once the stream or the connection has ended. The reference is strong, and set to nil by
  /// hand, because weak references make all reference counts of the connection slow.
  var connection: TTRPCConnection?
  let streamID: UInt32
  var stream: (any ServedStream)?

  init(connection: TTRPCConnection, streamID: UInt32) {
    self.connection = connection
    self.streamID = streamID
  }

  var isWritable: Bool { connection?.isWritable ?? false }
  var isLost: Bool { connection == nil }

  func send(_ message: EncodedMessage) { connection?.send(message, on: streamID) }

  func finish(_ status: RPCStatus?) {
    stream = nil
    connection?.endStream(streamID, status)
  }

  /// Forgets the stream, because its reader is gone. Until then, the stream and the sink hold each
  /// other.
  func forget() {
    stream?.forget()
    (stream, connection) = (nil, nil)
  }

  /// Forgets the stream in a later slice of its user, because the connection is closed. Until then,
  /// the stream gets nothing more.
  func lose(_ upkeep: StreamUpkeep) {
    let lost = stream
    (stream, connection) = (nil, nil)
    if let lost { upkeep.add(of: lost.uid) { lost.forget() } }
  }
}

extension RPCStatus {
  init(_ error: ProtocolError) {
    let code: StatusCode =
      switch error.code {
      case .invalidArgument: .invalidArgument
      case .resourceExhausted: .resourceExhausted
      }
    self.init(code, "PROTOCOL_ERROR", error.message)
  }
}
