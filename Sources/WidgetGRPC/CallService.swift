#if GRPC
  import GRPCCore
  import NIOCore
  import Synchronization
  import WidgetProto
  import WidgetServer

  /// All calls of the daemon, in grpc-swift's form: each passes on the bytes of its message.
  struct CallService: RegistrableRPCService {
    let callers: Callers

    /// Messages are written together up to this size.
    private static let pieceBytesMin = 32 << 10

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
      for method in InProcessClient.methods {
        let descriptor = MethodDescriptor(
          fullyQualifiedService: method.service, method: method.name,
          type: method.isConversation
            ? .bidirectionalStreaming : method.isStream ? .serverStreaming : .unary)
        let name = method.fullName
        let answer = method.isConversation ? conversation : method.isStream ? stream : unary
        router.registerHandler(
          forMethod: descriptor, deserializer: MessageBytes(), serializer: AnswerSerializer()
        ) { request, context in
          try await answer(name, request)
        }
      }
    }

    @Sendable private func unary(
      _ name: String, _ request: StreamingServerRequest<ByteBuffer>
    ) async throws -> StreamingServerResponse<AnswerBytes> {
      let call = try callers.call(request.metadata)
      let message = try await request.onlyMessage()
      do throws(RPCStatus) {
        return StreamingServerResponse(
          single: ServerResponse(
            message: .once(
              OneUse(try await call.client.call(name, message, admission: call.admission)))))
      } catch {
        throw RPCError(error)
      }
    }

    @Sendable private func stream(
      _ name: String, _ request: StreamingServerRequest<ByteBuffer>
    ) async throws -> StreamingServerResponse<AnswerBytes> {
      let call = try callers.call(request.metadata)
      let message = try await request.onlyMessage()
      let stream: InProcessStream
      do throws(RPCStatus) {
        stream = try await call.client.open(name, message, room: call.room)
      } catch {
        throw RPCError(error)
      }
      return StreamingServerResponse { writer in
        try await withRPCCancellationHandler {
          try await CallService.write(stream, to: writer)
        } onCancelRPC: {
          // The deadline has passed, or the peer is gone and needs no reason.
          stream.cancel(.deadlineExceeded)
        }
        return [:]
      }
    }

    @Sendable private func conversation(
      _ name: String, _ request: StreamingServerRequest<ByteBuffer>
    ) async throws -> StreamingServerResponse<AnswerBytes> {
      let call = try callers.call(request.metadata)
      let stream: InProcessStream
      do throws(RPCStatus) {
        stream = try await call.client.converse(name, room: call.room)
      } catch {
        throw RPCError(error)
      }
      return StreamingServerResponse { writer in
        try await withRPCCancellationHandler {
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              do {
                for try await message in request.messages {
                  guard await stream.send(message) else { return }
                }
                stream.finishSending()
              } catch {
                // The peer is gone or has sent an invalid message, or the daemon has ended the call.
                stream.cancel()
              }
            }
            defer {
              stream.cancel()
              group.cancelAll()
            }
            try await CallService.write(stream, to: writer)
          }
        } onCancelRPC: {
          stream.cancel(.deadlineExceeded)
        }
        return [:]
      }
    }

    /// Passes on a stream's messages until it ends.
    private static func write(
      _ stream: InProcessStream, to writer: RPCWriter<AnswerBytes>
    ) async throws {
      do {
        while let batch = try await stream.next() {
          // The pieces are small, because the writer copies its input even if it is not sent.
          for piece in batch.pieces(bytesMin: pieceBytesMin) {
            try await writer.write(contentsOf: piece.lazy.map { .many($0) })
          }
        }
      } catch let status as RPCStatus {
        throw RPCError(status)
      }
    }
  }

  extension [ByteBuffer] {
    /// The buffers in order, joined until they have this many bytes.
    func pieces(bytesMin: Int) -> [ArraySlice<ByteBuffer>] {
      var pieces: [ArraySlice<ByteBuffer>] = []
      var start = startIndex
      var bytes = 0
      for index in indices {
        bytes += self[index].readableBytes
        guard bytes >= bytesMin || index == endIndex - 1 else { continue }
        pieces.append(self[start...index])
        (start, bytes) = (index + 1, 0)
      }
      return pieces
    }
  }

  extension StreamingServerRequest<ByteBuffer> {
    /// The message of a call that has exactly one.
    func onlyMessage() async throws -> ByteBuffer {
      var iterator = messages.makeAsyncIterator()
      guard let message = try await iterator.next() else {
        throw RPCError(.protocolError("The call has no message; send exactly one."))
      }
      guard try await iterator.next() == nil else {
        throw RPCError(.protocolError("The call has several messages; send exactly one."))
      }
      return message
    }
  }

  /// Passes messages on as bytes: protobuf-c decodes and encodes them in the service.
  struct MessageBytes: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: ByteBuffer) throws -> Bytes {
      Bytes(message.readableBytesView)
    }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> ByteBuffer {
      bytes.withUnsafeBytes { ByteBuffer(bytes: $0) }
    }
  }

  /// The bytes of an answer's message.
  enum AnswerBytes: Sendable {
    /// The only message of an answer. Its bytes are released when they are written.
    case once(OneUse)
    /// A message of a stream.
    case many(ByteBuffer)
  }

  /// Bytes that can be taken once.
  ///
  /// grpc-swift keeps an answer until the peer has taken it, beside the copy that it sends. No issue
  /// reports this (November 2026).
  final class OneUse: Sendable {
    private let bytes: Mutex<ByteBuffer>

    init(_ bytes: ByteBuffer) { self.bytes = Mutex(bytes) }

    func take() -> ByteBuffer {
      bytes.withLock { bytes in
        defer { bytes = ByteBuffer() }
        return bytes
      }
    }
  }

  struct AnswerSerializer: MessageSerializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: AnswerBytes) throws -> Bytes {
      switch message {
      case .once(let answer): Bytes(answer.take().readableBytesView)
      case .many(let bytes): Bytes(bytes.readableBytesView)
      }
    }
  }
#endif
