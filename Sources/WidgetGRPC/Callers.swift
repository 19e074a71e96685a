#if GRPC
  import GRPCCore
  import NIOCore
  import NIOHPACK
  import NIOHTTP2
  import Synchronization
  import WidgetServer

  /// Knows which call comes from whom.
  ///
  /// grpc-swift shows a handler the metadata of its call, but not the connection. So a reserved
  /// header of every call is overwritten with the number of its connection, before anyone reads it.
  final class Callers: Sendable {
    static let header = "widgetd-connection"

    private struct State {
      var lastNumber: UInt64 = 0
      var numbers: [ObjectIdentifier: String] = [:]
      var clients: [String: InProcessClient] = [:]
    }

    private let state = Mutex(State())

    /// Takes a connection in, until it is closed.
    func add(_ client: InProcessClient, on channel: any Channel) {
      let id = ObjectIdentifier(channel)
      state.withLock {
        $0.lastNumber += 1
        let number = String($0.lastNumber)
        $0.numbers[id] = number
        $0.clients[number] = client
      }
      channel.closeFuture.whenComplete { _ in
        self.state.withLock { state in
          if let number = state.numbers.removeValue(forKey: id) { state.clients[number] = nil }
        }
      }
    }

    /// Sees to it that the calls of a new HTTP/2 stream carry the number of its connection.
    func tag(_ stream: any Channel) throws {
      guard let parent = stream.parent,
        let number = state.withLock({ $0.numbers[ObjectIdentifier(parent)] })
      else { throw ChannelError.ioOnClosedChannel }
      try stream.pipeline.syncOperations.addHandler(CallTag(number: number), position: .first)
    }

    /// Who makes a call.
    func client(of metadata: Metadata) throws(RPCError) -> InProcessClient {
      for case .string(let number) in metadata[Callers.header] {
        if let client = state.withLock({ $0.clients[number] }) { return client }
      }
      throw RPCError(code: .unavailable, message: "The connection is closed.")
    }
  }

  /// Overwrites the reserved header of a call.
  private final class CallTag: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private let number: String

    init(number: String) {
      self.number = number
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .headers(var headers) = unwrapInboundIn(data) else {
        return context.fireChannelRead(data)
      }
      headers.headers.replaceOrAdd(name: Callers.header, value: number)
      context.fireChannelRead(wrapInboundOut(.headers(headers)))
    }
  }
#endif
