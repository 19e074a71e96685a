import ArgumentParser
import Glibc
import Logging
import WidgetCore
import WidgetProcess
import WidgetServer
import WidgetStorage
import WidgetSystemd

#if GRPC
  import WidgetGRPC
#endif

/// The command line's settings, and the daemon that it starts.
struct Launch: Equatable {
  /// Settings, by name.
  var flags: [String: String] = [:]
  /// The file of settings.
  var config: String?
  var clock: String?
  /// Print the limits instead of starting.
  var printsLimits = false
}

extension Launch {
  /// The arguments, if they are the usual ones of a service: options that occur once, each with its
  /// value as the next argument. nil for all others; `Widgetd` reads those.
  ///
  /// Reason: the argument parser needs a third of the start time for its declarations.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst(), !value.isEmpty, !value.hasPrefix("-") else { return nil }
      switch name {
      case "--socket", "--socket-mode", "--state-directory", "--store", "--durability",
        "--client-group", "--log-level":
        let key = String(name.dropFirst(2).map { $0 == "-" ? "_" : $0 })
        guard flags.updateValue(value, forKey: key) == nil else { return nil }
      case "--config":
        guard config == nil else { return nil }
        config = value
      default: return nil
      }
    }
  }

  func run() async throws {
    do {
      let settings = try await Settings.read(flags: flags, file: config)
      if printsLimits {
        for (name, path) in ServerLimits.names {
          print("\(name)=\(settings.limits[keyPath: path])")
        }
        return
      }
      try await serve(settings)
    } catch let error as SettingsError {
      throw Launch.failure("\(error)", status: 2)
    } catch let error as SettingsFileError {
      throw Launch.failure("\(error)", status: 2)
    } catch let error as UnknownLimit {
      throw Launch.failure("\(error)", status: 2)
    } catch let code as ExitCode {
      // The reason has been printed.
      throw code
    } catch {
      throw Launch.failure("\(error)", status: 1)
    }
  }

  /// Prints the reason why the daemon does not start.
  private static func failure(_ message: String, status: CInt) -> ExitCode {
    errorLog.write(message, .error)
    return ExitCode(status)
  }

  private func serve(_ settings: Settings) async throws {
    var logger = Logger(label: "widgetd", factory: { makeLogHandler(label: $0) })
    logger.logLevel = settings.logLevel
    if clock == "fake", settings.store != .memory, flags["state_directory"] == nil {
      throw Launch.failure(
        "--clock fake is not for a store that is in use; add --store memory, or --state-directory "
          + "with a scratch folder", status: 2)
    }
    let isFake = clock == "fake"
    let clockMark =
      settings.store == .memory ? nil : FakeClockStore(directory: settings.stateDirectory)
    if isFake, let refusal = clockMark?.refusal { throw Launch.failure(refusal, status: 2) }
    let manager = try ServiceManager(logger: logger)
    raiseOpenFileLimit()
    if let warning = OpenFiles.current.warning(settings.limits) { logger.warning("\(warning)") }
    var clientGID: UInt32?
    if let name = settings.clientGroup {
      guard let gid = groupID(named: name) else {
        throw Settings.located(
          SettingsError(name: "client_group", value: name, expected: "a group of this system"),
          flags: flags, file: config)
      }
      clientGID = gid
    }
    let userFiles = UserFiles()
    let server = try await WidgetServer.start(
      .init(
        socketPath: settings.socket, socketMode: settings.socketMode,
        policy: .current(clientGID: clientGID),
        subordinateUIDs: userFiles.subordinateUIDs(warning: logger), limits: settings.limits,
        version: Widgetd.version, inheritedListeners: manager.listeners,
        blobFolder: settings.store == .sqlite ? settings.stateDirectory : "/tmp",
        releaseMemory: releaseMemory, clock: isFake ? .fake() : .real),
      guests: guests, takingOver: manager.takeConnections(), logger: logger,
      makeLog: { [logger] () throws(StorageError) in try openLog(settings, logger) }
    )
    if isFake { clockMark?.mark() } else { clockMark?.unmark() }
    let reloader = Reloader(
      settings: settings, flags: flags, file: config, server: server, userFiles: userFiles,
      logger: logger)
    try await server.onReload {
      manager.reloading()
      defer { manager.reloaded() }
      return await reloader.reload()
    }
    let socket = manager.listenerPaths ?? settings.socket
    await manager.ready(server, socket: socket)
    logger.notice(
      "serving",
      metadata: [
        "socket": "\(socket)", "store": "\(settings.store.rawValue)",
        "version": "\(Widgetd.version)",
      ])
    // Releases the memory that only the start needed. Not at once, because the first clients need
    // much of the same code.
    let release = Task {
      try await Task.sleep(for: .seconds(1))
      releaseMemory(.freedAndCode)
    }
    defer { release.cancel() }
    for await number in Signals.arrivals(of: Signals.terminating + [SIGHUP]) {
      guard number == SIGHUP else { break }
      manager.reloading()
      let outcome = await reloader.reload()
      manager.reloaded()
      logger.logLevel = await reloader.logLevel
      if let error = outcome.error {
        logger.error("the settings stay unchanged", metadata: ["error": "\(error)"])
      } else {
        logger.notice(
          "reloaded the settings",
          metadata: [
            "applied": "\(outcome.applied)", "needs_restart": "\(outcome.settingsForRestart)",
          ])
      }
    }
    logger.notice("stopping")
    try await manager.end(server)
  }
}

/// The protocols on the socket beside ttrpc.
private var guests: [any GuestProtocol] {
  #if GRPC
    [GRPCProtocol()]
  #else
    []
  #endif
}

/// Opens the commit log that the settings ask for.
@Sendable private func openLog(
  _ settings: Settings, _ logger: Logger
) throws(StorageError) -> any CommitLog {
  switch settings.store {
  case .memory: return MemoryCommitLog(epoch: randomEpoch())
  case .sqlite:
    var options = SQLiteCommitLog.Options()
    options.durability = settings.durability
    // The maximum time that the event loop waits for another program with a lock on the database.
    options.busyTimeout = .milliseconds(100)
    options.requestsKeptMax = settings.limits.store.requestsKeptMax
    options.requestBytesKeptMax = settings.limits.store.requestBytesKeptMax
    let log = try SQLiteCommitLog(
      directory: StateDirectory(path: settings.stateDirectory), options: options,
      newEpoch: randomEpoch(),
      onCheckpointFailure: { error in
        logger.warning("the write-ahead log grows", metadata: ["error": "\(error)"])
      },
      onLateCheckpoint: { logBytes in
        logger.warning(
          """
          the write-ahead log grows, because its content is not in the database in time; end the \
          programs that read the database, or check the load of the disk
          """,
          metadata: ["bytes": "\(logBytes)"])
      })
    for notice in log.notices { logger.warning("\(notice)") }
    if log.isHistoryCut {
      var metadata: Logger.Metadata = ["path": "\(log.path)"]
      if let lost = log.lostRevisions {
        metadata["lost_revisions"] = "\(lost.lowerBound) to \(lost.upperBound)"
      }
      logger.warning("the latest changes may be missing; readers start again", metadata: metadata)
    }
    return log
  }
}
