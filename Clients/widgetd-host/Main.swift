import ArgumentParser
import Glibc
import TaskThreads
import WidgetBundle
import WidgetClient
import WidgetHost
import WidgetModel
import WidgetProcess
import WidgetSystemd
import WidgetTimeZones

/// Starts the program, and ends it with the exit status that the help text promises.
@main
enum Main {
  static func main() { TaskThreads.run { await run() } }

  @MainActor private static func run() async {
    Signals.take(Signals.stopping + [SIGCHLD], complain: { errorLog.write($0, .error) })
    StandardOutput.reportFailuresAtExit()
    do {
      var command = try await HostCommand.asyncParseAsRoot()
      if let host = command as? HostCommand { try await host.run() } else { try command.run() }
    } catch {
      guard HostCommand.exitCode(for: error) == .validationFailure else {
        HostCommand.exit(withError: error)
      }
      errorLog.write(HostCommand.message(for: error), .error)
      exit(2)
    }
  }
}

/// The program: parse, build, run.
struct HostCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "widgetd-host",
    abstract: "Run bundles: widgets from files, without code.",
    discussion: """
      A bundle is a folder with a bundle.json, bundle.yaml or bundle.yml, in one of the folders of \
      bundles. The program creates the bundle's kinds and widgets, and removes them when \
      the folder has been missing for 30 seconds. If a folder of --bundles is missing or cannot be \
      read, the widgets of its bundles stay, and are stale. The program follows every change of the files. If a changed file has a mistake, the \
      program reports the mistake and keeps the bundle as it was before the change.

      For each bundle, a widget of kind `bundle` shows the state of the bundle: \
      `widgetctl ls --kind bundle`.

      A bundle can use only the programs, files and hosts that its permissions name.

      If the daemon is not running, the program waits for it. A daemon has only one host: a second \
      host exits with status 1.

      Example: widgetd-host --bundles ~/widgets

      Exit status: 0 after SIGTERM, SIGINT or SIGHUP, 1 if the program cannot watch files or another host \
      runs for the daemon, 2 for wrong usage.
      """,
    version: "0.1.0")

  @Option(
    name: .long,
    help: """
      The daemon's socket. Default: $WIDGETD_SOCKET, else $XDG_RUNTIME_DIR/widgetd/widgetd.sock, \
      else /run/widgetd/widgetd.sock.
      """)
  var socket: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      A folder of bundles; may be repeated. Default: $XDG_DATA_HOME/widgetd/bundles and \
      $XDG_CONFIG_HOME/widgetd/bundles; for root /var/lib/widgetd-host/bundles and \
      /etc/widgetd/bundles.
      """, valueName: "folder"))
  var bundles: [String] = []

  @Flag(
    name: .long,
    help: "Use the stubs of the bundles: read no files, run no programs, send no requests.")
  var stub = false

  func validate() throws {
    for (option, values) in [("--bundles", bundles), ("--socket", [socket].compactMap(\.self))]
    where values.contains("") {
      throw ValidationError("\(option) is empty; give it a value, or leave it out")
    }
  }

  func run() async throws {
    signal(SIGPIPE, SIG_IGN)
    Host.becomeSubreaper()
    let notifier: ServiceNotifier
    let host: Host
    do {
      notifier = try ServiceNotifier()
      let zones = SystemTimeZones()
      host = try Host(
        Host.Options(
          roots: roots, areRootsUsual: bundles.isEmpty, home: home, programFolders: programFolders,
          variables: variables, isStub: stub, limits: limits),
        daemon: ClientConnection(WidgetClient(socketPath: socketPath)),
        read: { [variables] text, isJSON, settings in
          do throws(InvalidBundle) {
            return .success(
              try BundleReader.read(
                text, isJSON: isJSON, settings: settings, environment: variables,
                timeZones: { zones.rules($0) }))
          } catch {
            return .failure(BundleRefusal(problems: error.problems.map { "\($0)" }))
          }
        },
        // The languages of bundles' texts and of their programs' output.
        report: { errorLog.write($0.safeLines, .warning) },
        note: { errorLog.write($0.safeLines, .info) },
        status: { running, failed in
          let count = running == 1 ? "1 bundle" : "\(running) bundles"
          _ = try? notifier.notify(
            .status("Runs \(count)" + (failed > 0 ? "; \(failed) cannot be run" : "")))
        },
        manager: BundleFolder(path: roots.first ?? ".").carryOut)
    } catch {
      errorLog.write((error as? Failure)?.message ?? "\(error)", .error)
      throw ExitCode(1)
    }
    tellOfRoots()
    let children = Task {
      for await _ in Signals.arrivals(of: [SIGCHLD]) { host.reapOrphans() }
    }
    let refusal = await withTaskGroup(of: Failure?.self) { group in
      group.addTask {
        do throws(Failure) {
          try await host.run { _ = try? notifier.notify(.ready) }
          return nil
        } catch {
          return error
        }
      }
      group.addTask {
        for await _ in Signals.arrivals(of: Signals.stopping) { break }
        return nil
      }
      let first = await group.next() ?? nil
      _ = try? notifier.notify(.stopping)
      group.cancelAll()
      return first
    }
    children.cancel()
    if let refusal {
      errorLog.write(refusal.message, .error)
      throw ExitCode(1)
    }
  }

  /// Reports the missing folders.
  private func tellOfRoots() {
    let missing = roots.filter { access($0, F_OK) != 0 }
    // One existing folder of the usual ones is enough.
    guard missing.count == roots.count || !bundles.isEmpty, !missing.isEmpty else { return }
    for path in missing {
      errorLog.write(
        "\(path) does not exist yet; bundles run as soon as they are there", .warning)
    }
  }

  /// As in a login shell, the user's programs come first. Root runs only the system's programs.
  private var programFolders: [String] {
    (geteuid() == 0 ? [] : ["\(home)/.local/bin"]) + BundlePermissions.systemFolders
  }

  /// This process's environment, as far as it is UTF-8.
  private var variables: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      if let parts = String(validatingCString: text)?.split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false), parts.count == 2
      {
        variables[String(parts[0])] = String(parts[1])
      }
      entry += 1
    }
    return variables
  }

  /// Tests that move folders away and back set a longer time, as they cannot rely on their speed.
  private var limits: HostLimits {
    var limits = HostLimits()
    if let seconds = variables["WIDGETD_TEST_ABSENCE_SECONDS"].flatMap({ Int($0) }),
      (1...3600).contains(seconds)
    {
      limits.absenceMax = .seconds(seconds)
    }
    return limits
  }

  private var home: String {
    if let home = SocketPath.ofProcess("HOME"), home.hasPrefix("/") { return home }
    guard let entry = getpwuid(getuid()), let folder = entry.pointee.pw_dir else { return "/" }
    return String(cString: folder)
  }

  private var roots: [String] {
    let given = bundles.isEmpty ? defaultRoots : bundles
    return given.map { path in
      guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
      defer { free(current) }
      return String(cString: current) + "/" + path
    }
  }

  private var defaultRoots: [String] {
    if getuid() == 0 { return ["/var/lib/widgetd-host/bundles", "/etc/widgetd/bundles"] }
    func folder(_ variable: String, _ fallback: String) -> String {
      let value = SocketPath.ofProcess(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
      return (value ?? "\(home)/\(fallback)") + "/widgetd/bundles"
    }
    return [folder("XDG_DATA_HOME", ".local/share"), folder("XDG_CONFIG_HOME", ".config")]
  }

  /// The daemon may start later. If there is no socket yet, the program waits for one in the usual
  /// place.
  private var socketPath: String {
    if let found = try? SocketPath.discover(explicit: socket) { return found }
    if getuid() != 0, let directory = SocketPath.ofProcess("XDG_RUNTIME_DIR") {
      return directory + "/" + SocketPath.inRuntimeDirectory
    }
    return SocketPath.ofSystem
  }
}

/// The lines of the host, with the priority that the journal shows.
let errorLog = StandardErrorLog(name: "widgetd-host")
