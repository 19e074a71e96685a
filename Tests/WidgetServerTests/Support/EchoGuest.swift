import NIOCore

@testable import WidgetServer

/// A guest protocol that sends back what it gets.
final class EchoGuest: GuestProtocol {
  let name = "echo"
  let opening = Array("Please".utf8)
  let peers = Box<[Peer]>([])
  /// The calls that it got, in order.
  let calls = Box<[String]>([])
  private let onStart: @Sendable () async throws -> Void

  init(onStart: @escaping @Sendable () async throws -> Void = {}) { self.onStart = onStart }

  func start(on host: GuestHost) async throws {
    calls.update { $0.append("start") }
    try await onStart()
  }

  func adopt(_ channel: any Channel, for client: InProcessClient) -> EventLoopFuture<Void> {
    peers.update { $0.append(client.peer) }
    do { try channel.pipeline.syncOperations.addHandler(Echo()) } catch {
      channel.close(promise: nil)
    }
    return channel.closeFuture
  }

  func beginShutdown() { calls.update { $0.append("beginShutdown") } }

  func stop() async { calls.update { $0.append("stop") } }

  /// Writes each read, and flushes when the read is complete, as gRPC does.
  private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      context.write(data, promise: nil)
    }
    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }
  }
}
