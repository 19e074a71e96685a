import NIOCore
package import WidgetProto
import WidgetTransport

/// A stream on which both sides send, on a separate connection: the received messages, and a way to
/// send. It ends when its connection does.
package struct Conversation<Request: WireMessage, Message: WireMessage>: Sendable {
  package let messages: MessageStream<Message>
  private let call: NIOLoopBound<ConversationCall>

  init(messages: MessageStream<Message>, call: ConversationCall, eventLoop: any EventLoop) {
    self.messages = messages
    self.call = NIOLoopBound(call, eventLoop: eventLoop)
  }

  /// Sends a message, after all earlier messages.
  ///
  /// - Parameter onFailure: called if the message cannot be sent. Not called if the connection is
  ///   lost, because `messages` reports that.
  package func send(
    _ message: Request, onFailure: @escaping @Sendable (ClientError) -> Void = { _ in }
  ) {
    call.eventLoop.execute { [call] in
      do throws(ClientError) { try call.value.send(message) } catch { onFailure(error) }
    }
  }

  /// Sends a message repeatedly, until the connection ends.
  func send(_ message: Request, every interval: Duration) {
    call.eventLoop.execute { [call] in call.value.send(message, every: interval) }
  }

  /// Ends the sending. The daemon ends the conversation after it has handled all frames.
  package func finish() {
    call.eventLoop.execute { [call] in call.value.finish() }
  }

  /// Closes the connection, after everything was sent.
  package func close() {
    call.eventLoop.execute { [call] in call.value.close() }
  }
}

/// The sending side of a conversation. Confined to its connection's loop.
final class ConversationCall {
  private let connection: RPCConnection
  private let streamID: UInt32
  private let eventLoop: any EventLoop
  private var repeated: Scheduled<Void>?

  init(_ connection: RPCConnection, streamID: UInt32, eventLoop: any EventLoop) {
    self.connection = connection
    self.streamID = streamID
    self.eventLoop = eventLoop
  }

  func send(_ message: some WireMessage) throws(ClientError) {
    try connection.send(message, on: streamID)
  }

  func send(_ message: some WireMessage, every interval: Duration) {
    repeated?.cancel()
    repeated = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(interval)) {
      guard self.connection.isUsable else { return }
      try? self.send(message)
      self.send(message, every: interval)
    }
  }

  func finish() {
    repeated?.cancel()
    connection.halfClose(streamID)
  }

  func close() {
    repeated?.cancel()
    connection.close()
  }
}

extension RPCConnection {
  /// Sends a message of a stream on which the client sends, too.
  func send(_ message: some WireMessage, on streamID: UInt32) throws(ClientError) {
    guard isUsable else { return }
    typealias Written = Result<ByteBuffer, FrameTooLong>
    let written: Written
    do throws(WireError) {
      written = try codec.withEncoded(message) { packed -> Written in
        guard packed.byteCount <= FrameHeader.frameDataBytesMax else {
          return .failure(FrameTooLong(dataBytes: packed.byteCount))
        }
        var frame = ByteBuffer()
        frame.reserveCapacity(FrameHeader.bytes + packed.byteCount)
        frame.writeFrameHeader(
          FrameHeader(dataBytes: UInt32(packed.byteCount), streamID: streamID, type: .data))
        frame.writeWithUnsafeMutableBytes(minimumWritableBytes: packed.byteCount) { bytes in
          if let start = bytes.baseAddress { packed.pack(into: start) }
          return packed.byteCount
        }
        return .success(frame)
      }
    } catch {
      throw .wire(error)
    }
    do throws(FrameTooLong) { write(try written.get(), on: streamID) } catch {
      throw .requestTooLong(error)
    }
  }
}
