import Glibc
import Logging
import WidgetServer
import WidgetSystemd

/// The daemon as a service of systemd: what it is given, what it tells, what it leaves.
///
/// An orderly end leaves the connections to the process that follows: a description of them in a
/// sealed memory file goes to the manager's store, then their sockets, as many as it takes. Nothing
/// is done on them by then, so a connection that is there can go on, whatever became of the others.
/// A process that finds the description takes it away before anything else, so that it is used once;
/// connections without one are left over from a process that did not end in order, and nobody knows
/// where in a frame it stopped: they are closed, and their clients connect anew.
///
/// Without systemd, nothing here does anything.
struct ServiceManager {
  private let notifier: ServiceNotifier
  private let inherited: InheritedDescriptors
  private let watchdog: Watchdog?
  private let logger: Logger

  /// The name of the description; those of the connections come from `HandedOver`.
  private static let descriptionName = "handover"
  private static let connectionPrefix = "connection-"
  /// How large a description may be.
  private static let descriptionBytesMax = 1 << 30
  /// How long the manager may take to put things into its store.
  private static let storeTimeout = Duration.seconds(10)

  /// Takes what the manager passed on. Call before anything opens a descriptor.
  init(logger: Logger) throws {
    self.logger = logger
    inherited = try InheritedDescriptors.take()
    notifier = try ServiceNotifier()
    watchdog = try Watchdog()
  }

  /// The socket to serve, if the manager has made it; nil to make one.
  var listener: CInt? {
    inherited.all.first { if case .listener = $0.kind { true } else { false } }?.number
  }

  /// The path of that socket.
  var listenerPath: String? {
    for descriptor in inherited.all {
      if case .listener(let path) = descriptor.kind { return path }
    }
    return nil
  }

  /// Takes over the connections of the process before, out of the manager's store. nil if there are
  /// none to go on with.
  func takeConnections() -> HandedOver? {
    let connections = inherited.all.filter {
      $0.name.hasPrefix(ServiceManager.connectionPrefix) && $0.kind == .connection
    }
    let descriptions = inherited.named(ServiceManager.descriptionName)
    guard !connections.isEmpty || !descriptions.isEmpty else { return nil }
    forget(descriptions.map(\.name))
    forget(connections.map(\.name))
    var sockets: [String: CInt] = [:]
    for connection in connections { sockets[connection.name] = connection.number }
    defer { for description in descriptions { close(description.number) } }
    if descriptions.count == 1, sockets.count == connections.count {
      do {
        let bytes = try MemoryFile.bytes(
          of: descriptions[0].number, bytesMax: ServiceManager.descriptionBytesMax)
        return HandedOver(description: bytes, sockets: sockets)
      } catch {
        logger.warning(
          "the last process left a description that cannot be read",
          metadata: ["error": "\(error)"])
      }
    }
    logger.notice(
      "closing connections of a process that did not end in order",
      metadata: ["connections": "\(connections.count)"])
    for connection in connections { close(connection.number) }
    return nil
  }

  /// Takes descriptors out of the store, and waits until they are.
  private func forget(_ names: [String]) {
    do throws(SystemdError) {
      for name in Set(names) { _ = try notifier.removeStored(name: name) }
      _ = try notifier.waitForBarrier(timeout: ServiceManager.storeTimeout)
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

  /// Ends the server. Its connections go on with the next process, if there is a manager to keep them
  /// and a store that lasts.
  func end(_ server: WidgetServer) async throws {
    tell(.stopping)
    guard notifier.isActive, let handed = try await server.handOver() else {
      return try await server.stop()
    }
    defer { handed.discard() }
    guard !handed.sockets.isEmpty else { return }
    do throws(SystemdError) {
      // First: without it the connections are of no use.
      let description = try MemoryFile(
        name: ServiceManager.descriptionName, bytes: handed.description)
      try store(description.descriptor, ServiceManager.descriptionName)
      for (name, socket) in handed.sockets { try store(socket, name) }
      _ = try notifier.waitForBarrier(timeout: ServiceManager.storeTimeout)
      logger.notice(
        "left connections to the next process",
        metadata: ["connections": "\(handed.sockets.count)"])
    } catch {
      logger.warning("connections that were not left are closed", metadata: ["error": "\(error)"])
    }
  }

  /// Stores a descriptor. While the manager has too much to read, it tries again every millisecond:
  /// nothing tells when there is room.
  private func store(_ descriptor: CInt, _ name: String) throws(SystemdError) {
    let deadline = ContinuousClock.now + ServiceManager.storeTimeout
    while true {
      do throws(SystemdError) {
        _ = try notifier.store([descriptor], name: name)
        return
      } catch {
        guard case .busy = error, ContinuousClock.now < deadline else { throw error }
        usleep(1_000)
      }
    }
  }

  private func tell(_ states: ServiceState...) {
    do throws(SystemdError) {
      for state in states { _ = try notifier.notify(state) }
    } catch {
      logger.warning("cannot tell the service manager", metadata: ["error": "\(error)"])
    }
  }
}
