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

/// The daemon: parse, build, run.
struct Widgetd: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "widgetd",
    abstract: "Keep widgets, and stream their state over a Unix socket.",
    discussion: """
      A setting is a flag, an environment variable, or a line VARIABLE=VALUE in a file. A flag \
      overrides the environment. The environment overrides the file.

        flag                    variable
        --socket PATH           WIDGETD_SOCKET=PATH
        --state-directory DIR   WIDGETD_STATE_DIRECTORY=DIR
        --limit NAME=N          WIDGETD_LIMITS_NAME=N (NAME in capitals)

      SIGTERM and SIGINT end the daemon cleanly: it loses no answered change. Under systemd, a \
      restart keeps the connections if the store is sqlite. SIGHUP reloads the settings. log_level \
      and the limits change at once. The other settings need a restart, and so do four limits: \
      metadata_bytes_max, stream_resets_max, requests_kept_max and request_bytes_kept_max.

      Example: widgetd --socket /tmp/w/widgetd.sock --state-directory /tmp/w/state

      Exit status: 0 after a clean end, 1 if the daemon cannot start, 2 for wrong usage or an \
      invalid setting.
      """,
    version: version)

  @Option(
    name: .long,
    help: """
      The Unix socket to serve. Default: $XDG_RUNTIME_DIR/widgetd/widgetd.sock, else \
      /run/widgetd/widgetd.sock.
      """)
  var socket: String?

  @Option(name: .long, help: "The socket's permission bits, in octal. Default: 0660.")
  var socketMode: String?

  @Option(
    name: .long,
    help: """
      The folder of the store. Default: the first that is set of $STATE_DIRECTORY, \
      $XDG_STATE_HOME/widgetd and $HOME/.local/state/widgetd, else /var/lib/widgetd.
      """)
  var stateDirectory: String?

  @Option(
    name: .long,
    help: "sqlite keeps everything across restarts, memory keeps nothing. Default: sqlite.")
  var store: String?

  @Option(
    name: .long,
    help: """
      What an answered change survives. process: the end of the process, even with kill -9. power: \
      also a power cut, which costs a disk flush for each group of changes. Default: process.
      """)
  var durability: String?

  @Option(
    name: .long,
    help: """
      real is the system's clock. fake is a clock for tests and tutorials, which stands still until \
      `widgetctl clock` moves it. fake needs --store memory, or --state-directory with a scratch \
      folder. Default: real.
      """)
  var clock: String?

  @Option(
    name: .long, help: "The group whose members may read, watch and send events. Default: none.")
  var clientGroup: String?

  @Option(
    name: .long, help: "trace, debug, info, notice, warning, error or critical. Default: info.")
  var logLevel: String?

  @Option(
    name: .customLong("limit"),
    help: ArgumentHelp(
      "Set a limit; may be repeated. `widgetd --print-limits` lists the limits.",
      valueName: "name=n"))
  var limits: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The file of settings. Default: /etc/widgetd/widgetd.conf, if it exists.",
      valueName: "file"))
  var config: String?

  @Flag(name: .long, help: "Print all limits with the values of these settings, and exit.")
  var printLimits = false

  func validate() throws {
    if let clock, !["real", "fake"].contains(clock) {
      throw ValidationError("--clock \(clock): use real or fake")
    }
    for limit in limits {
      let parts = limit.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, ServerLimits.names.contains(where: { $0.name == parts[0] }) else {
        throw ValidationError(
          "--limit \(limit): unknown limit; run `widgetd --print-limits`")
      }
    }
  }

  private var flags: [String: String] {
    var result: [String: String] = [:]
    result["socket"] = socket
    result["socket_mode"] = socketMode
    result["state_directory"] = stateDirectory
    result["store"] = store
    result["durability"] = durability
    result["client_group"] = clientGroup
    result["log_level"] = logLevel
    for limit in limits {
      let parts = limit.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { result["limits.\(parts[0])"] = String(parts[1]) }
    }
    return result
  }

  func run() async throws {
    do {
      let settings = try await Settings.read(flags: flags, file: config)
      if printLimits {
        for (name, path) in ServerLimits.names {
          print("\(name)=\(settings.limits[keyPath: path])")
        }
        return
      }
      try await serve(settings)
    } catch let error as SettingsError {
      throw Widgetd.failure("\(error)", status: 2)
    } catch let error as UnknownLimit {
      throw Widgetd.failure("\(error)", status: 2)
    } catch {
      throw Widgetd.failure("\(error)", status: 1)
    }
  }

  /// Says why there is no daemon.
  private static func failure(_ message: String, status: CInt) -> ExitCode {
    errorLog.write(message, .error)
    return ExitCode(status)
  }

  private func serve(_ settings: Settings) async throws {
    var logger = Logger(label: "widgetd", factory: { makeLogHandler(label: $0) })
    logger.logLevel = settings.logLevel
    if clock == "fake", settings.store != .memory, stateDirectory == nil {
      throw Widgetd.failure(
        "--clock fake is not for a store that is in use; add --store memory, or --state-directory "
          + "with a scratch folder", status: 2)
    }
    let manager = try ServiceManager(logger: logger)
    raiseOpenFileLimit()
    var clientGID: UInt32?
    if let name = settings.clientGroup {
      guard let gid = groupID(named: name) else {
        throw SettingsError(name: "client_group", value: name, expected: "a group of this system")
      }
      clientGID = gid
    }
    let server = try await WidgetServer.start(
      .init(
        socketPath: settings.socket, socketMode: settings.socketMode,
        policy: .current(clientGID: clientGID), limits: settings.limits,
        version: Widgetd.version, inheritedListeners: manager.listeners,
        blobFolder: settings.store == .sqlite ? settings.stateDirectory : "/tmp",
        releaseMemory: releaseMemory, clock: clock == "fake" ? .fake() : .real),
      guests: guests, takingOver: manager.takeConnections(), logger: logger,
      makeLog: { [logger] () throws(StorageError) in try openLog(settings, logger) }
    )
    releaseMemory()
    let reloader = Reloader(settings: settings, flags: flags, file: config, server: server)
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
            "applied": "\(outcome.applied)", "needs_restart": "\(outcome.needsRestart)",
          ])
      }
    }
    logger.notice("stopping")
    try await manager.end(server)
  }
}

/// What is spoken on the socket beside ttrpc.
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
    // The event loop waits that long for another program that has the database open.
    options.busyTimeout = .milliseconds(100)
    options.requestsKeptMax = settings.limits.store.requestsKeptMax
    options.requestBytesKeptMax = settings.limits.store.requestBytesKeptMax
    let log = try SQLiteCommitLog(
      directory: StateDirectory(path: settings.stateDirectory), options: options,
      newEpoch: randomEpoch(),
      onCheckpointFailure: { error in
        logger.warning("the write-ahead log grows", metadata: ["error": "\(error)"])
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
