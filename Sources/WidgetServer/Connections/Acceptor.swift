import Glibc
import NIOCore

/// Accepts the connections that wait behind the one that NIO has accepted. Closes those that are
/// refused.
///
/// NIO makes a channel of each connection, also of one that is refused. That takes several times as
/// long as a look at the peer. Users without rights can fill the listen queue, and an owner's
/// connection then waits behind all of theirs. So the queue is long for bursts of connections, and
/// short while connections are refused.
///
/// This handler stands in the pipeline of a listener whose `maxMessagesPerRead` is 1. NIO finds out
/// that connections wait, and accepts one of them in each pass of the loop. After an error, such as
/// EMFILE, this handler lets NIO accept nothing for a second. An error ends the loop here: NIO meets it
/// again in the next pass.
///
/// Confined to the event loop.
final class Acceptor: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let listener: CInt
  private let service: ServiceLoop
  /// Serves a connection that is not refused. Takes the socket over.
  private let open: (CInt) -> Void
  /// When a connection was refused last; nil while the queue is long.
  private var lastRefusal: NIODeadline?
  private var isClosed = false
  /// Whether nothing is accepted now, because of an error.
  private var isPaused = false

  /// The number of connections that can wait in the kernel, if it allows so many. A client that does
  /// not block gets EAGAIN at a full queue.
  static let backlog: CInt = 1_024
  /// The same while connections are refused. Each refusal wakes a process that fills the queue
  /// again, so a connection waits for the whole queue.
  static let shortBacklog: CInt = 128
  /// The time without refusals after which the queue is long again.
  private static let calm = TimeAmount.seconds(1)
  /// The time for new connections in one pass of the loop. The others wait in the kernel.
  private static let passMax = TimeAmount.milliseconds(1)

  /// - Parameter listener: the listener's socket, which does not block.
  init(listener: CInt, service: ServiceLoop, open: @escaping (CInt) -> Void) {
    self.listener = listener
    self.service = service
    self.open = open
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    acceptWaiting()
    context.fireChannelReadComplete()
  }

  func channelInactive(context: ChannelHandlerContext) {
    isClosed = true
    context.fireChannelInactive()
  }

  /// After an error, NIO would try again at once, as long as connections wait. `AcceptBackoffHandler`
  /// does not help if the first `accept` of a pass fails. No issue about this is known.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is IOError, !isPaused { pause(context.channel) }
    context.fireErrorCaught(error)
  }

  private func pause(_ channel: any Channel) {
    isPaused = true
    // This fails only if the channel is closed.
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    service.context.schedule(in: Acceptor.calm) { [weak self] in
      guard let self, !isClosed else { return }
      isPaused = false
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }

  private func acceptWaiting() {
    let slice = service.context.work.slice(of: Acceptor.passMax)
    repeat {
      let socket = accept(listener, nil, nil)
      if socket < 0 {
        guard errno == EINTR else { return }
      } else if service.connections.refusal(of: socket) == nil {
        // Programs that this process starts do not inherit the socket, as with NIO's own accept.
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        open(socket)
      } else {
        close(socket)
        noteRefusal()
      }
    } while !slice.isOver
  }

  private func noteRefusal() {
    let isFirst = lastRefusal == nil
    lastRefusal = .now()
    guard isFirst else { return }
    _ = listen(listener, Acceptor.shortBacklog)
    awaitCalm()
  }

  private func awaitCalm() {
    service.context.schedule(in: Acceptor.calm) { [weak self] in
      guard let self, !isClosed, let lastRefusal else { return }
      guard .now() - lastRefusal >= Acceptor.calm else { return awaitCalm() }
      self.lastRefusal = nil
      _ = listen(listener, Acceptor.backlog)
    }
  }
}
