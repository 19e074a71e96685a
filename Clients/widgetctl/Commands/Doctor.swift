import ArgumentParser
import Glibc
import WidgetClient
import WidgetModel
import WidgetStorage

/// `doctor`: finds the reason why a user cannot connect, and the next step.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find out why the daemon does not work, and how to fix it.",
    discussion: """
      The command checks the choice of the socket, the socket's file and permissions, and the \
      systemd units. Then it asks the daemon for its health, your permissions, its version and its \
      last errors. If a command fixes a problem, the doctor prints the command below it. The doctor \
      changes nothing, but its connection starts a socket-activated service. The doctor waits for \
      each answer of the daemon for at most 3s, or for the time of --timeout. If an answer is late, \
      the doctor asks the daemon no more.

      With --store, the command checks the files of the store instead: store.mark, all pages of \
      the database, and the checksum of each row. It changes no file, and works while the daemon \
      runs. \
      PATH is a state directory, or a file of `widgetctl backup`. Run the command as the daemon's \
      user or as root.

      Exit status: 0 if the daemon can be used or the store is sound (warnings are possible), else 1.

      Examples:
        widgetctl doctor
        widgetctl doctor --socket /run/widgetd/widgetd.sock
        widgetctl doctor --store /var/lib/widgetd
        widgetctl doctor -o json | jq -r '.checks[].mend // empty'
      """)
  @Flag(name: .customLong("store"), help: "Check the files of the store, not the running daemon.")
  var checksStore = false

  @Argument(
    help: ArgumentHelp(
      "With --store: the state directory or backup. Default: as for `widgetctl backup`.",
      valueName: "path"), completion: .file())
  var path: String?

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard path == nil || checksStore else {
      throw ValidationError("a path is for --store: write `widgetctl doctor --store PATH`")
    }
  }

  func run() async throws {
    if checksStore {
      let folder = try StoreFolder.find(named: path)
      let inspection = StoreInspection(folder)
      let other = DoctorCommand.otherStore(
        than: folder, StoreFolder.places(StoreFolder.variable), StoreFolder.hasStore)
      return try report(inspection.findings.map { DoctorCommand.finding($0, otherStore: other) })
    }
    try report(await facts())
  }

  private func facts() async -> [Finding] {
    await Facts.gather(socket: global.socket, timeout: global.limit).findings
  }

  /// A store in another place, if a folder has none.
  static func otherStore(
    than folder: String, _ places: [String], _ hasStore: (String) -> Bool
  ) -> String? {
    var status = stat()
    // The argument may also be the file of a backup.
    let isFile = stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    return isFile || hasStore(folder) ? nil : places.first(where: hasStore)
  }

  private static func finding(
    _ finding: StoreInspection.Finding, otherStore: String?
  ) -> Finding {
    let grade: Finding.Grade =
      switch finding.grade {
      case .ok: .ok
      case .warning: .warn
      case .failure: .fail
      }
    return Finding(
      check: finding.check, grade: grade, found: finding.found,
      mend: grade == .fail ? otherStore.map { "widgetctl doctor --store \($0.asArgument)" } : nil)
  }

  private func report(_ findings: [Finding]) throws {
    let printer = Printer(
      format: global.output ?? .table, painter: global.painter, width: Terminal.width)
    printer.print(DoctorCommand.document(findings)) {
      DoctorCommand.text(findings, printer.painter)
    }
    guard findings.allSatisfy({ $0.grade != .fail }) else { throw ExitStatus.otherError }
  }

  static func document(_ findings: [Finding]) -> Value {
    .map([
      "ok": .bool(findings.allSatisfy { $0.grade != .fail }),
      "checks": .list(findings.map(\.document)),
    ])
  }

  /// One line per finding, with the command that fixes it below. The command is never cut, because
  /// people copy it.
  static func text(_ findings: [Finding], _ painter: Painter) -> String {
    let column = findings.map(\.check.count).max() ?? 0
    return findings.map { finding in
      let grade = finding.grade.rawValue
      let line =
        painter.paint(grade, finding.grade.style) + String(repeating: " ", count: 6 - grade.count)
        + finding.check + String(repeating: " ", count: column - finding.check.count + 2)
        + finding.found.safeForTerminal + "\n"
      let indent = String(repeating: " ", count: column + 8)
      return line + (finding.mend.map { "\(indent)-> \($0.safeForTerminal)\n" } ?? "")
    }.joined()
  }
}

/// The references to `doctor` in the messages of other commands.
enum Doctor {
  /// The command that finds out why this socket cannot be used.
  ///
  /// - Parameter usual: the default socket.
  static func command(
    forSocket path: String, usual: String? = try? SocketPath.discover()
  ) -> String {
    path == usual || usual == nil && path == SocketPath.ofSystem
      ? "widgetctl doctor" : "widgetctl doctor --socket \(path.shellQuoted)"
  }
}
