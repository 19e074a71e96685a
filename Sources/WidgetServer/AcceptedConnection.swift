import Logging
import NIOCore

/// A connection of which it is not known yet what it speaks: its first byte tells.
///
/// ttrpc begins with the length of a frame, at most 4 MiB, so with 0. Connections that begin with
/// the byte of a guest protocol become that guest's. Others are closed, and so is a connection that
/// sends nothing for too long.
///
/// It leaves the pipeline once that is decided. For a guest's connections it remains what the
/// service counts.
final class AcceptedConnection: ChannelInboundHandler, RemovableChannelHandler, ServerConnection {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  let peer: Peer
  private let socket: CInt
  private let service: ServiceLoop
  private let guests: [any GuestProtocol]
  private let channel: any Channel
  private var silenceTimer: Scheduled<Void>?
  private var isDecided = false

  /// What every ttrpc connection begins with.
  private static let ttrpcFirstByte: UInt8 = 0

  /// - Parameter socket: the channel's socket.
  init(
    peer: Peer, channel: any Channel, socket: CInt, service: ServiceLoop,
    guests: [any GuestProtocol]
  ) {
    self.peer = peer
    self.channel = channel
    self.socket = socket
    self.service = service
    self.guests = guests
  }

  func handlerAdded(context: ChannelHandlerContext) {
    service.connectionOpened(self)
    silenceTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .milliseconds(Int64(service.limits.firstByteMilliseconds))
    ) {
      guard !self.isDecided else { return }
      self.refuse("it sent nothing for \(self.service.limits.firstByteMilliseconds) ms")
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    guard !isDecided, let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else {
      return context.fireChannelRead(data)
    }
    isDecided = true
    silenceTimer?.cancel()
    if first == AcceptedConnection.ttrpcFirstByte {
      becomeTTRPC(context)
    } else if let guest = guests.first(where: { $0.firstByte == first }) {
      channel.closeFuture.assumeIsolated().whenComplete { _ in
        self.service.connectionClosed(self)
      }
      guest.adopt(channel, for: InProcessClient(peer: peer, service: service))
    } else {
      return refuse("its first byte is \(first), which no protocol here begins with")
    }
    context.fireChannelRead(data)
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }

  private func becomeTTRPC(_ context: ChannelHandlerContext) {
    let connection = TTRPCConnection(peer: peer, socket: socket, service: service)
    do {
      service.connectionBecomes(self, connection)
      try context.pipeline.syncOperations.addHandler(connection, position: .after(self))
    } catch {
      // The channel is being closed.
      service.connectionClosed(connection)
    }
  }

  private func refuse(_ reason: String) {
    isDecided = true
    service.counters.protocolErrors += 1
    service.logger.info(
      "closing a connection",
      metadata: ["uid": "\(peer.uid)", "pid": "\(peer.pid)", "reason": "\(reason)"])
    channel.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    silenceTimer?.cancel()
    service.connectionClosed(self)
    context.fireChannelInactive()
  }

  func closeWhenFlushed() {
    // A guest closes its connections itself.
    guard !isDecided else { return }
    channel.close(promise: nil)
  }
}
