import Glibc
import Logging
import NIOCore
import WidgetProto

/// A connection whose protocol is not known yet. Its first bytes show the protocol.
///
/// ttrpc begins with the length of a frame, at most 4 MiB, so with 0. A guest protocol gets a
/// connection that begins with the guest's whole opening. Other connections are closed, and so are
/// slow ones. A connection waits while its guest starts, and nothing is read from it meanwhile.
///
/// When the protocol is known, the handler leaves the pipeline. For a connection of a guest, the
/// service still counts this object.
final class AcceptedConnection: ChannelInboundHandler, RemovableChannelHandler, ServerConnection {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  let peer: Peer
  private let socket: CInt
  private let service: ServiceLoop
  private let guests: [Guest]
  private let channel: any Channel
  private var silenceTimer: Scheduled<Void>?
  private var isDecided = false
  /// Whether the guest of this connection starts.
  private var waitsForGuest = false
  /// Whether a guest has the connection, and says when it is over.
  private var isAdopted = false
  /// The received bytes, until the protocol is known. At most one read, or a guest's opening.
  private var received = ByteBuffer()

  /// The first byte of every ttrpc connection.
  private static let ttrpcFirstByte: UInt8 = 0

  /// - Parameter socket: the channel's socket.
  init(
    peer: Peer, channel: any Channel, socket: CInt, service: ServiceLoop,
    guests: [Guest]
  ) {
    self.peer = peer
    self.channel = channel
    self.socket = socket
    self.service = service
    self.guests = guests
  }

  func handlerAdded(context: ChannelHandlerContext) {
    service.connections.opened(self)
    silenceTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .milliseconds(Int64(service.context.limits.firstByteMilliseconds))
    ) {
      // Thousands of silent connections can be due together.
      self.service.context.upkeep.add(of: self.peer.uid) { self.refuseSilent() }
    }
  }

  private func refuseSilent() {
    guard !isDecided, channel.isActive else { return }
    refuse(
      "it did not begin with a protocol of the daemon within "
        + "\(service.context.limits.firstByteMilliseconds) ms")
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isDecided || waitsForGuest else { return context.fireChannelRead(data) }
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    guard !isDecided else { return }
    guard let first = received.getInteger(at: received.readerIndex, as: UInt8.self) else { return }
    if first == AcceptedConnection.ttrpcFirstByte {
      decide()
      becomeTTRPC(context)
    } else if let guest = guests.first(where: { $0.opening.first == first }) {
      let seen = received.readableBytesView.prefix(guest.opening.count)
      guard guest.opening.starts(with: seen) else {
        return refuse(
          "its first byte is \(first), but the next bytes do not belong to that protocol")
      }
      guard seen.count == guest.opening.count else { return }
      decide()
      return pass(to: guest, context)
    } else {
      return refuse(
        "its first byte is \(first), and no protocol of this daemon begins with it")
    }
    leave(context)
  }

  /// Leaves the pipeline to the handlers of the protocol, which get everything that was received.
  private func leave(_ context: ChannelHandlerContext, hasWaited: Bool = false) {
    context.fireChannelRead(wrapInboundOut(received))
    received = ByteBuffer()
    // Without a wait, the present read goes on, and NIO completes it.
    if hasWaited { context.fireChannelReadComplete() }
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }

  private func pass(to guest: Guest, _ context: ChannelHandlerContext) {
    waitsForGuest = true
    var hasWaited = false
    guest.whenReady { guest in
      self.waitsForGuest = false
      // If the peer has gone, `channelInactive` has counted that.
      guard self.channel.isActive else { return }
      guard let guest else { return self.channel.close(promise: nil) }
      let client = InProcessClient(peer: self.peer, service: self.service)
      // Set this before `adopt`: HTTP/2 streams read by themselves only if the connection already
      // does.
      if hasWaited { self.setReading(true) }
      self.isAdopted = true
      guest.adopt(self.channel, for: client).assumeIsolated().whenComplete { _ in
        // The memory of the streams is free again.
        self.service.context.counters.countBytes(client.requestBytes)
        self.service.connections.closed(self)
      }
      self.leave(context, hasWaited: hasWaited)
    }
    guard waitsForGuest else { return }
    hasWaited = true
    setReading(false)
  }

  private func setReading(_ isReading: Bool) {
    // This fails only if the channel is closed.
    try? channel.syncOptions?.setOption(.autoRead, value: isReading)
  }

  private func decide() {
    isDecided = true
    silenceTimer?.cancel()
  }

  private func becomeTTRPC(_ context: ChannelHandlerContext) {
    let connection = TTRPCConnection(peer: peer, socket: socket, service: service)
    do {
      service.connections.replace(self, by: connection)
      try context.pipeline.syncOperations.addHandler(connection, position: .after(self))
    } catch {
      // The channel is being closed.
      connection.neverOpened()
      service.connections.closed(connection)
    }
  }

  private func refuse(_ reason: String) {
    isDecided = true
    service.context.counters.countProtocolError()
    service.context.logClosing(peer, because: reason)
    channel.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    silenceTimer?.cancel()
    if !isAdopted { service.connections.closed(self) }
    context.fireChannelInactive()
  }

  var streamCount: Int { 0 }

  /// A guest's connection stays with this process.
  var canBeHandedOver: Bool { !isDecided && received.readableBytes == 0 }

  func handOver() -> (connection: HandedConnection, socket: CInt)? {
    guard !isDecided, received.readableBytes == 0, channel.isActive else { return nil }
    let duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard duplicate >= 0, let name = HandedOver.identity(of: duplicate) else { return nil }
    isDecided = true
    channel.close(promise: nil)
    return (HandedConnection(name: name, isUndecided: true), duplicate)
  }

  func closeWhenFlushed() {
    // A guest closes its connections itself.
    guard !isDecided else { return }
    channel.close(promise: nil)
  }
}
