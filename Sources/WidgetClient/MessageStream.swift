import NIOCore
package import WidgetProto

/// The messages of one stream of one connection, in order, with backpressure.
///
/// At most `messagesMax` messages wait for the reader, plus the rest of one read of the socket.
/// While the queue is full, the socket is not read, so that the daemon notices and conflates.
/// Reading continues when half of the messages are taken.
package struct MessageStream<Message: WireMessage>: AsyncSequence, Sendable {
  package typealias Element = Message
  package typealias Failure = ClientError
  typealias Strategy = NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark
  typealias Producer = NIOThrowingAsyncSequenceProducer<
    Message, any Error, Strategy, StreamControl
  >

  let producer: Producer

  /// Makes the stream and the end into which a connection puts messages.
  static func make(control: StreamControl) -> (MessageStream, Producer.Source) {
    let pair = Producer.makeSequence(
      elementType: Message.self, failureType: (any Error).self,
      backPressureStrategy: Strategy(
        lowWatermark: StreamControl.messagesMax / 2, highWatermark: StreamControl.messagesMax),
      finishOnDeinit: true, delegate: control)
    return (MessageStream(producer: pair.sequence), pair.source)
  }

  package func makeAsyncIterator() -> Iterator { Iterator(base: producer.makeAsyncIterator()) }

  package struct Iterator: AsyncIteratorProtocol {
    package typealias Failure = ClientError

    var base: Producer.AsyncIterator

    /// The next message; nil after the stream ended well.
    package mutating func next() async throws(ClientError) -> Message? {
      do {
        return try await base.next()
      } catch let error as ClientError {
        throw error
      } catch {
        throw .cancelled
      }
    }
  }
}

/// Lets the reader of a stream control the stream's connection.
final class StreamControl: NIOAsyncSequenceProducerDelegate {
  /// The maximum number of messages that wait for the reader.
  static let messagesMax = 16

  private let connection: NIOLoopBound<RPCConnection>

  /// Call on the connection's loop.
  init(_ connection: RPCConnection, eventLoop: any EventLoop) {
    self.connection = NIOLoopBound(connection, eventLoop: eventLoop)
  }

  /// The reader has caught up.
  func produceMore() {
    connection.eventLoop.execute { [connection] in connection.value.resumeReading() }
  }

  /// The reader is gone, or the stream has ended. The connection served only this stream.
  func didTerminate() {
    connection.eventLoop.execute { [connection] in connection.value.close() }
  }
}

/// A stream as its connection sees it. Confined to the connection's loop.
final class StreamCall<Message: WireMessage>: CallReceiver {
  private let source: MessageStream<Message>.Producer.Source
  private unowned let connection: RPCConnection

  init(_ source: MessageStream<Message>.Producer.Source, on connection: RPCConnection) {
    self.source = source
    self.connection = connection
  }

  func message(_ bytes: ByteBuffer) {
    let message: Message
    do throws(WireError) {
      message = try connection.codec.decode(Message.self, from: bytes)
    } catch {
      source.finish(ClientError.wire(error))
      connection.close()
      return
    }
    switch source.yield(message) {
    case .produceMore: break
    case .stopProducing: connection.pauseReading()
    case .dropped: connection.close()
    }
  }

  func finish(_ result: Result<ByteBuffer?, ClientError>) {
    switch result {
    case .success: source.finish()
    case .failure(let error): source.finish(error)
    }
    connection.close()
  }
}
