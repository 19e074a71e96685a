import Glibc
import Logging
import WidgetServer
import WidgetSystemd

/// The daemon as a service of systemd: its inputs, its notifications, and the connections that it
/// leaves.
///
/// An orderly end leaves the connections to the next process. A description of them, in a sealed
/// memory file, goes to the manager's store. Then the sockets follow, as many as the store takes.
/// The connections are idle by then, so each one in the store can continue without the others.
///
/// A process that finds the description first removes it, so that it is used once. Connections
/// without a description come from a process that did not end in order. Their position within a
/// frame is unknown. So they are closed, and their clients connect again.
///
/// Without systemd, nothing here has an effect.
struct ServiceManager {
  private let notifier: ServiceNotifier
  private let inherited: InheritedDescriptors
  private let watchdog: Watchdog?
  private let logger: Logger

  /// The name of the description; those of the connections come from `HandedOver`.
  private static let descriptionName = "handover"
  /// The name of all connections: the manager passes names on in one environment variable, which
  /// has an end. The sockets themselves show which is which; see `HandedOver.identity`.
  private static let connectionName = "c"
  /// The maximum number of connections left. The manager compares every new descriptor with all
  /// that it has. More would keep it, and with it the whole system, busy for long.
  private static let connectionsMax = 2_048
  /// The maximum size of a description.
  private static let descriptionBytesMax = 1 << 30
  /// The maximum time for the manager to put things into its store.
  private static let storeTimeout = Duration.seconds(20)

  /// Takes the manager's descriptors. Call before anything opens a descriptor.
  init(logger: Logger) throws {
    self.logger = logger
    inherited = try InheritedDescriptors.take()
    notifier = try ServiceNotifier()
    watchdog = try Watchdog()
    let known = [ServiceManager.descriptionName, ServiceManager.connectionName]
    for descriptor in inherited.all where !known.contains(descriptor.name) {
      if case .listener(.some) = descriptor.kind { continue }
      logger.warning(
        "closing an unusable descriptor: the daemon serves only listening Unix stream sockets",
        metadata: ["name": "\(descriptor.name)", "descriptor": "\(descriptor.number)"])
      close(descriptor.number)
    }
  }

  /// The sockets to serve, if the manager has made them; empty to make one.
  var listeners: [CInt] {
    inherited.all.filter { if case .listener(.some) = $0.kind { true } else { false } }
      .map(\.number)
  }

  /// The paths of those sockets; nil if there are none.
  var listenerPaths: String? {
    let paths = inherited.all.compactMap { descriptor -> String? in
      if case .listener(let path?) = descriptor.kind { path } else { nil }
    }
    return paths.isEmpty ? nil : paths.sorted().joined(separator: ", ")
  }

  /// Takes over the connections of the former process, from the manager's store. nil if none can
  /// continue.
  func takeConnections() -> HandedOver? {
    let connections = inherited.named(ServiceManager.connectionName)
    let descriptions = inherited.named(ServiceManager.descriptionName)
    guard !connections.isEmpty || !descriptions.isEmpty else { return nil }
    forget([ServiceManager.descriptionName, ServiceManager.connectionName])
    var sockets: [String: CInt] = [:]
    for connection in connections {
      guard connection.kind == .connection,
        let identity = HandedOver.identity(of: connection.number), sockets[identity] == nil
      else {
        close(connection.number)
        continue
      }
      sockets[identity] = connection.number
    }
    defer { for description in descriptions { close(description.number) } }
    if descriptions.count == 1 {
      do {
        let bytes = try MemoryFile.bytes(
          of: descriptions[0].number, bytesMax: ServiceManager.descriptionBytesMax)
        return HandedOver(description: bytes, sockets: sockets)
      } catch {
        logger.warning(
          "cannot read what the last process stored about its connections",
          metadata: ["error": "\(error)"])
      }
    }
    logger.notice(
      "closing connections of a process that did not end cleanly",
      metadata: ["connections": "\(connections.count)"])
    for socket in sockets.values { close(socket) }
    return nil
  }

  /// Takes descriptors out of the store, and waits until they are.
  private func forget(_ names: [String]) {
    do throws(SystemdError) {
      for name in names {
        try patiently { () throws(SystemdError) in _ = try notifier.removeStored(name: name) }
      }
      try waitUntilRead()
    } catch {
      logger.warning("stored connections may stay open", metadata: ["error": "\(error)"])
    }
  }

  /// Says that the daemon serves, and from now on that it lives: from its event loop, so that a stuck
  /// loop is a dead daemon.
  func ready(_ server: WidgetServer, socket: String) async {
    tell(.ready, .status("Serving \(socket)"))
    guard let watchdog, notifier.isActive else { return }
    let notifier = notifier
    await server.repeatOnLoop(every: watchdog.interval) { load in
      // A manager that is busy now hears of the next one.
      _ = try? notifier.notify(
        .watchdog,
        .status(
          "Serving \(socket): \(load.widgets) widgets, \(load.connections) connections, "
            + "\(load.streams) streams"))
    }
  }

  func reloading() { tell(.reloadingNow) }

  func reloaded() { tell(.ready) }

  /// Ends the server. Its connections continue in the next process, if there is a manager to keep
  /// them and a store that lasts.
  func end(_ server: WidgetServer) async throws {
    tell(.stopping)
    guard notifier.isActive,
      let handed = try await server.handOver(connectionsMax: ServiceManager.connectionsMax)
    else { return try await server.stop() }
    defer { handed.discard() }
    guard !handed.sockets.isEmpty else { return }
    do throws(SystemdError) {
      // First: without it the connections are of no use.
      let description = try MemoryFile(
        name: ServiceManager.descriptionName, bytes: handed.description)
      try store([description.descriptor], ServiceManager.descriptionName)
      let sockets = Array(handed.sockets.values)
      for start in stride(from: 0, to: sockets.count, by: ServiceNotifier.descriptorsMax) {
        let batch = sockets[start...].prefix(ServiceNotifier.descriptorsMax)
        try store(Array(batch), ServiceManager.connectionName)
      }
      try waitUntilRead()
      logger.notice(
        "left connections to the next process", metadata: ["connections": "\(sockets.count)"])
    } catch {
      logger.warning(
        "connections that the manager has not taken are closed", metadata: ["error": "\(error)"])
    }
  }

  private func store(_ descriptors: [CInt], _ name: String) throws(SystemdError) {
    try patiently { () throws(SystemdError) in _ = try notifier.store(descriptors, name: name) }
  }

  /// Waits until the manager has processed the messages.
  private func waitUntilRead() throws(SystemdError) {
    try patiently { () throws(SystemdError) in
      _ = try notifier.waitForBarrier(timeout: ServiceManager.storeTimeout)
    }
  }

  /// Does something again every millisecond while the manager has too much to read: nothing tells when
  /// there is room.
  private func patiently(
    _ body: () throws(SystemdError) -> Void
  ) throws(SystemdError) {
    let deadline = ContinuousClock.now + ServiceManager.storeTimeout
    while true {
      do throws(SystemdError) { return try body() } catch {
        guard case .busy = error, ContinuousClock.now < deadline else { throw error }
        usleep(1_000)
      }
    }
  }

  private func tell(_ states: ServiceState...) {
    do throws(SystemdError) {
      for state in states { _ = try notifier.notify(state) }
    } catch {
      logger.warning(
        "cannot send a message to the service manager", metadata: ["error": "\(error)"])
    }
  }
}
