import Glibc
public import Logging
import NIOCore
import NIOPosix
import WidgetCore
import WidgetModel
import WidgetProto
public import WidgetStorage

/// The daemon as a library: a socket, an event loop, a store.
///
/// `start` binds and serves; `stop` drains and ends. One instance runs one event loop thread, on
/// which everything happens.
public final class WidgetServer: Sendable {
  /// The parts of a server.
  public struct Configuration: Sendable {
    /// The Unix socket's path; 1 to 103 bytes.
    public var socketPath: String
    /// The socket file's permission bits.
    public var socketMode: UInt16
    public var policy: AccessPolicy
    /// The users of subordinate uids. A process with such a uid counts as this user.
    public var subordinateUIDs: SubordinateUIDs
    public var limits: ServerLimits
    public var version: String
    /// Sockets that listen already, instead of a new one at `socketPath`. Their maker is
    /// responsible for their files, modes and groups.
    public var inheritedListeners: [CInt]
    /// The folder for the files of blobs, which have no names.
    public var blobFolder: String
    /// Called on the event loop some time after a load, or a burst of new readers, when its memory
    /// has been freed. The callee can give memory back to the system.
    public var releaseMemory: @Sendable (ReleasedMemory) -> Void
    /// The wall clock.
    public var clock: ServiceClock

    public init(
      socketPath: String, socketMode: UInt16 = 0o660, policy: AccessPolicy,
      subordinateUIDs: SubordinateUIDs = SubordinateUIDs(),
      limits: ServerLimits = ServerLimits(), version: String = "0", inheritedListeners: [CInt] = [],
      blobFolder: String = "/tmp",
      releaseMemory: @escaping @Sendable (ReleasedMemory) -> Void = { _ in },
      clock: ServiceClock = .real
    ) {
      self.clock = clock
      self.socketPath = socketPath
      self.socketMode = socketMode
      self.policy = policy
      self.subordinateUIDs = subordinateUIDs
      self.limits = limits
      self.version = version
      self.inheritedListeners = inheritedListeners
      self.blobFolder = blobFolder
      self.releaseMemory = releaseMemory
    }
  }

  /// The memory to give back to the system.
  public enum ReleasedMemory: Sendable {
    /// Freed memory.
    case freed
    /// Freed memory, and pages of code. The system loads these again on use.
    case freedAndCode
  }

  private let group: MultiThreadedEventLoopGroup
  private let loop: NIOLoopBound<ServiceLoop>
  private let guests: NIOLoopBound<[Guest]>
  private let listeners: [any Channel]
  /// nil for a listener that was inherited.
  private let lock: SocketLock?
  private let socketPath: String

  /// Binds the socket, begins to serve, and continues the connections of a former server.
  ///
  /// `makeLog` is called on the event loop's thread, where the log then lives. The guests' connections
  /// are served on the same socket. Handed connections that do not fit the store are closed.
  public static func start(
    _ configuration: Configuration, guests: [any GuestProtocol] = [],
    takingOver handed: HandedOver? = nil, logger: Logger,
    makeLog: @escaping @Sendable () throws(StorageError) -> any CommitLog
  ) async throws -> WidgetServer {
    var left = handed
    defer { left?.discard() }
    let lock =
      configuration.inheritedListeners.isEmpty
      ? try SocketLock(socketPath: configuration.socketPath) : nil
    if let folder = lock?.createdFolder {
      logger.notice(
        "created the folder of the socket, because it was missing",
        metadata: ["folder": "\(folder)"])
    }
    let passes = LoopPasses()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1, metricsDelegate: passes)
    do {
      let (loop, waiting) = try await group.next().submit {
        let log = try makeLog()
        let service = ServiceLoop(
          eventLoop: group.next(), log: log, image: try log.load(),
          configuration: configuration, logger: logger)
        service.turn.loopPass = { passes.count }
        let loop = NIOLoopBound(service, eventLoop: group.next())
        let host = GuestHost(
          eventLoop: group.next(), limits: configuration.limits, logger: logger, service: loop)
        return (loop, NIOLoopBound(guests.map { Guest($0, on: host) }, eventLoop: group.next()))
      }.get()
      do {
        try lock?.removeStaleSocket()
        left = nil
        if let handed { await takeOver(handed, waiting, group, loop) }
        var sockets = configuration.inheritedListeners
        if let lock {
          sockets.append(
            try lock.listen(
              mode: configuration.socketMode, clientGID: configuration.policy.clientGID,
              backlog: Acceptor.backlog))
        }
        let listeners = try await listen(on: sockets, waiting, group, loop)
        return WidgetServer(
          group: group, loop: loop, guests: waiting, listeners: listeners, lock: lock,
          socketPath: configuration.socketPath)
      } catch {
        await Guest.stopAll(waiting, on: group.next())
        try? await group.next().submit { loop.value.close() }.get()
        throw error
      }
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  private init(
    group: MultiThreadedEventLoopGroup, loop: NIOLoopBound<ServiceLoop>,
    guests: NIOLoopBound<[Guest]>, listeners: [any Channel], lock: SocketLock?, socketPath: String
  ) {
    self.group = group
    self.loop = loop
    self.guests = guests
    self.listeners = listeners
    self.lock = lock
    self.socketPath = socketPath
  }

  /// Accepts the connections of sockets that listen.
  private static func listen(
    on sockets: [CInt], _ guests: NIOLoopBound<[Guest]>, _ group: MultiThreadedEventLoopGroup,
    _ loop: NIOLoopBound<ServiceLoop>
  ) async throws -> [any Channel] {
    let bootstrap = ServerBootstrap(group: group)
      // The `Acceptor` accepts the others.
      .serverChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try accept(channel, loop.value, guests.value) }
      }
    var listeners: [any Channel] = []
    for socket in sockets {
      let listener = try await bootstrap.serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Acceptor(listener: socket, service: loop.value) {
              _ = open($0, guests, group, loop)
            })
        }
      }.withBoundSocket(socket).get()
      listeners.append(listener)
      // `withBoundSocket` (https://github.com/apple/swift-nio/pull/285) calls `listen` before it
      // applies the option `.backlog`. No issue about this is known.
      _ = Glibc.listen(socket, Acceptor.backlog)
    }
    return listeners
  }

  /// Makes a channel of a connected socket.
  private static func open(
    _ socket: CInt, _ guests: NIOLoopBound<[Guest]>, _ group: MultiThreadedEventLoopGroup,
    _ loop: NIOLoopBound<ServiceLoop>, former: HandedConnection? = nil
  ) -> EventLoopFuture<any Channel> {
    ClientBootstrap(group: group)
      .channelOption(.maxMessagesPerRead, value: 1)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try accept(channel, loop.value, guests.value, former: former)
        }
      }
      .withConnectedSocket(socket)
  }

  /// Continues the connections of another server.
  private static func takeOver(
    _ handed: HandedOver, _ guests: NIOLoopBound<[Guest]>, _ group: MultiThreadedEventLoopGroup,
    _ loop: NIOLoopBound<ServiceLoop>
  ) async {
    let connections = try? await group.next().submit { loop.value.accept(handed) }.get()
    guard let connections else { return handed.discard() }
    var sockets = handed.sockets
    for connection in connections {
      guard let socket = sockets.removeValue(forKey: connection.name) else { continue }
      _ = try? await open(socket, guests, group, loop, former: connection).get()
    }
    HandedOver(description: [], sockets: sockets).discard()
  }

  private static func accept(
    _ channel: any Channel, _ service: ServiceLoop, _ guests: [Guest],
    former: HandedConnection? = nil
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    let socket = try pipeline.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { $0 }
    guard let socket else { throw RefusedConnection.unknownPeer }
    let peer = try service.connections.admit(socket)
    service.connections.limitTime(of: channel, peer)
    let buffers = service.receivedBytes.buffers(for: peer, on: channel.eventLoop)
    // This fails only if the channel is closed.
    try? channel.syncOptions?.setOption(.recvAllocator, value: buffers)
    if let former, !former.isUndecided {
      let connection = TTRPCConnection(
        peer: peer, socket: socket, service: service, former: former)
      service.connections.opened(connection)
      return try pipeline.addHandler(connection)
    }
    try pipeline.addHandler(
      AcceptedConnection(
        peer: peer, channel: channel, socket: socket, service: service, guests: guests))
  }

  /// The result of reading the settings again.
  public struct ReloadOutcome: Hashable, Sendable {
    /// Settings that are now in force.
    public var applied: [String] = []
    /// Settings that take a restart.
    public var settingsForRestart: [String] = []
    /// Why nothing was changed.
    public var error: String?

    public init() {}

    public init(error: String) { self.error = error }
  }

  /// Sets the action of `AdminService.Reload`.
  public func onReload(_ body: @escaping @Sendable () async -> ReloadOutcome) async throws {
    try await group.next().submit { self.loop.value.reloads.onReload = body }.get()
  }

  /// Puts new limits and a new log level in force. New connections count with the new subordinate
  /// uids; nil keeps the former ones.
  public func reconfigure(
    limits: ServerLimits, logLevel: Logger.Level, subordinateUIDs: SubordinateUIDs? = nil
  ) async {
    let done = group.next().submit {
      if let subordinateUIDs { self.loop.value.connections.subordinates = subordinateUIDs }
      self.loop.value.context.reconfigure(limits, logLevel)
      self.loop.value.unsentBytes.limitsChanged()
    }
    try? await done.get()
  }

  /// The current load of the server.
  public struct Load: Hashable, Sendable {
    public var widgets: Int
    public var connections: Int
    public var streams: Int
  }

  /// Runs a closure on the event loop repeatedly, the first time at once, until the server stops.
  /// If the loop is stuck, the closure does not run.
  public func repeatOnLoop(
    every interval: Duration, _ body: @escaping @Sendable (Load) -> Void
  ) async {
    let loop = loop
    _ = group.next().scheduleRepeatedTask(
      initialDelay: .zero, delay: .nanoseconds(max(1, interval.nanoseconds))
    ) { _ in
      let service = loop.value
      body(
        Load(
          widgets: service.context.store.count, connections: service.connections.shares.count,
          streams: service.streams.count))
    }
  }

  /// Runs a closure on the event loop; for tests.
  func onLoop<R: Sendable>(
    _ body: @escaping @Sendable (ServiceLoop) throws -> R
  ) -> EventLoopFuture<R> {
    group.next().submit { try body(self.loop.value) }
  }

  /// Stops accepting and hands the connections over to the next server. Streams stay open, and
  /// their readers notice only a pause. The calls of guests are ended properly. Everything that was
  /// answered is durable.
  ///
  /// - Parameter connectionsMax: the maximum number; those with streams come first, the others are
  ///   closed.
  /// - Returns: nil if the store does not outlive this server; the server then still serves its
  ///   connections, and has to be stopped.
  public func handOver(connectionsMax: Int = .max) async throws -> HandedOver? {
    for listener in listeners { try await listener.close().get() }
    let settled = try await group.next().submit { () -> EventLoopFuture<Void>? in
      guard self.loop.value.log.needsGroups else { return nil }
      for guest in self.guests.value { guest.beginShutdown() }
      let service = self.loop.value
      service.endGuestStreams()
      return service.connections.othersClosed().and(service.preparationsEnded()).map { _ in }
    }.get()
    guard let settled else { return nil }
    try await settled.get()
    let handed = try await group.next().submit {
      let handed = self.loop.value.handOver(connectionsMax: connectionsMax)
      self.loop.value.gate.close()
      return handed
    }.get()
    await Guest.stopAll(guests, on: group.next())
    try await group.shutdownGracefully()
    lock?.release()
    return handed
  }

  /// Stops accepting, ends all streams with UNAVAILABLE (SHUTTING_DOWN), writes the output under
  /// way, and closes the store. Everything that was answered is durable.
  public func stop() async throws {
    // The listeners are already closed if the connections could not be handed over.
    for listener in listeners { try? await listener.close().get() }
    let prepared = try await group.next().submit { self.loop.value.preparationsEnded() }.get()
    try await prepared.get()
    let ended = try await group.next().submit { self.loop.value.streamsEnded() }.get()
    try await ended.get()
    let drained = try await group.next().submit {
      // Not before: a guest cancels the calls that are left, with another status.
      for guest in self.guests.value { guest.beginShutdown() }
      self.loop.value.close()
      return self.loop.value.connectionsClosed()
    }.get()
    try await drained.get()
    try await group.next().submit { self.loop.value.gate.close() }.get()
    await Guest.stopAll(guests, on: group.next())
    try await group.shutdownGracefully()
    lock?.release()
  }
}
