public import NIOCore
import NIOPosix
import WidgetProto
import WidgetTransport

/// A client of the daemon: every method of its services, for any number of concurrent tasks.
///
/// ```swift
/// let client = WidgetClient(socketPath: try SocketPath.discover())
/// let clock = try await client.getWidget(GetWidgetRequest(id: id))
/// for try await frame in client.watch() { … }
/// await client.close()
/// ```
///
/// All calls share one connection. The first call opens it. After a loss, the next call opens it
/// again. A call under way then fails with `connectionLost`, and the client never repeats it.
///
/// Each watch has a separate connection, because the protocol has no flow control within a
/// connection. On a shared connection, an unread watch would block the answers that the same task
/// waits for. Ending a watch closes its connection.
public final class WidgetClient: Sendable {
  /// The path of the daemon's socket.
  public let socketPath: String
  let eventLoop: any EventLoop
  private let connector: NIOLoopBoundBox<Connector>
  /// Runs tasks on the thread that reads the socket. A task that blocks delays all calls.
  package let taskExecutor: any TaskExecutor

  /// Makes a client. Nothing is connected yet.
  ///
  /// - Parameters:
  ///   - socketPath: the path of the daemon's socket; see `SocketPath.discover`.
  ///   - connectTimeout: the maximum duration of one attempt to connect.
  ///   - group: the event loops for I/O, of which one is used; by default the process's shared
  ///     ones.
  public init(
    socketPath: String, connectTimeout: Duration = .seconds(5),
    group: (any EventLoopGroup)? = nil
  ) {
    self.socketPath = socketPath
    let eventLoop = (group ?? MultiThreadedEventLoopGroup.singleton).next()
    self.eventLoop = eventLoop
    taskExecutor = EventLoopTaskExecutor(eventLoop: eventLoop)
    connector = .makeBoxSendingValue(
      Connector(eventLoop: eventLoop, socketPath: socketPath, connectTimeout: connectTimeout),
      eventLoop: eventLoop)
  }

  deinit {
    eventLoop.execute { [connector] in connector.value.close() }
  }

  /// Connects now, and not at the first call, to find out whether a connection can be made.
  public func connect() async throws(ClientError) {
    let result: Result<Void, ClientError> = await withCheckedContinuation { continuation in
      eventLoop.execute { [connector] in
        connector.value.withShared { continuation.resume(returning: $0.map { _ in }) }
      }
    }
    try result.get()
  }

  /// Closes the shared connection for good. Calls under way, and calls made afterwards, fail with
  /// `closed`. Watches continue until they lose their connection.
  public func close() async {
    await withCheckedContinuation { continuation in
      eventLoop.execute { [connector] in
        connector.value.close()
        continuation.resume()
      }
    }
  }

  /// Makes a unary call.
  func call<Request: WireMessage, Response: WireMessage>(
    _ method: RPCMethod, _ request: Request, _ options: CallOptions
  ) async throws(ClientError) -> Response {
    let slot = NIOLoopBoundBox.makeBoxSendingValue(
      CallSlot<Request, Response>.waiting, eventLoop: eventLoop)
    let answer: Result<Response, ClientError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        eventLoop.execute { [connector] in
          let call = UnaryCall<Request, Response>(
            method, request, options: options, continuation: continuation)
          switch slot.value {
          case .cancelled:
            call.giveUp(.cancelled)
          case .waiting, .started:
            slot.value = .started(call)
            call.start(on: connector.value)
          }
        }
      }
    } onCancel: {
      eventLoop.execute {
        if case .started(let call) = slot.value { call.giveUp(.cancelled) }
        slot.value = .cancelled
      }
    }
    return try answer.get()
  }

  /// Opens a stream on a separate connection. The connection ends with the stream, and with its
  /// reader.
  ///
  /// - Parameter liveness: How to notice a daemon that does not answer. Nil: not at all.
  func openStream<Request: WireMessage, Message: WireMessage>(
    _ method: RPCMethod, _ request: Request, metadata: [MetadataEntry],
    liveness: LivenessPolicy? = nil
  ) async throws(ClientError) -> MessageStream<Message> {
    typealias Opened = Result<MessageStream<Message>, ClientError>
    let opened: Opened = await withCheckedContinuation { continuation in
      eventLoop.execute { [connector, eventLoop] in
        connector.value.withOwn { result in
          let opened: Opened
          do throws(ClientError) {
            let connection = try result.get()
            let control = StreamControl(connection, eventLoop: eventLoop)
            let (stream, source) = MessageStream<Message>.make(control: control)
            do throws(ClientError) {
              _ = try connection.open(
                .server, method, request, timeout: nil, metadata: metadata,
                receiver: StreamCall<Message>(source, on: connection))
              if let liveness { connection.check(liveness) }
            } catch {
              connection.close()
              throw error
            }
            opened = .success(stream)
          } catch {
            opened = .failure(error)
          }
          continuation.resume(returning: opened)
        }
      }
    }
    return try opened.get()
  }

  /// Begins a conversation on a separate connection. The connection ends with it.
  ///
  /// - Parameter liveness: How to notice a daemon that does not answer. Nil: not at all.
  func converse<Request: WireMessage, Message: WireMessage>(
    _ method: RPCMethod, _ first: Request, metadata: [MetadataEntry],
    liveness: LivenessPolicy? = nil
  ) async throws(ClientError) -> Conversation<Request, Message> {
    typealias Begun = Result<Conversation<Request, Message>, ClientError>
    let begun: Begun = await withCheckedContinuation { continuation in
      eventLoop.execute { [connector, eventLoop] in
        connector.value.withOwn { result in
          let begun: Begun
          do throws(ClientError) {
            let connection = try result.get()
            let control = StreamControl(connection, eventLoop: eventLoop)
            let (messages, source) = MessageStream<Message>.make(control: control)
            do throws(ClientError) {
              let streamID = try connection.open(
                .bidirectional, method, first, timeout: nil, metadata: metadata,
                receiver: StreamCall<Message>(source, on: connection))
              if let liveness { connection.check(liveness) }
              begun = .success(
                Conversation(
                  messages: messages,
                  call: ConversationCall(connection, streamID: streamID, eventLoop: eventLoop),
                  eventLoop: eventLoop))
            } catch {
              connection.close()
              throw error
            }
          } catch {
            begun = .failure(error)
          }
          continuation.resume(returning: begun)
        }
      }
    }
    return try begun.get()
  }
}
