import ArgumentParser
import Glibc
import WidgetModel
import WidgetStorage

/// The option of commands that work on the files of a store.
struct StoreOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      The folder of the store. Default: $WIDGETD_STATE_DIRECTORY, $STATE_DIRECTORY, or the only \
      store among $XDG_STATE_HOME/widgetd, ~/.local/state/widgetd and /var/lib/widgetd.
      """, valueName: "folder"), completion: .directory)
  var stateDirectory: String?
}

/// `backup`: copies the store to a file.
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the whole store to a file, even while the daemon runs.",
    discussion: """
      The command reads the files of the store, not the socket, so run it as the daemon's user or \
      as root. It prints the folder of the store. The file has the state of one moment. The command checks the file, and replaces no \
      existing file. `restore` puts the state back, and `doctor --store FILE` checks it again.

      Examples:
        widgetctl backup widgets.backup
        sudo widgetctl backup --state-directory /var/lib/widgetd \\
          /var/backups/widgetd-$(date +%F)
      """)

  @Argument(help: "The new file.", completion: .file()) var file: String
  @OptionGroup var store: StoreOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let folder = try StoreFolder.find(named: store.stateDirectory)
    do throws(StoreCopyError) {
      let summary = try StoreCopies.backUp(stateDirectory: folder, to: file)
      global.storePrinter.print(summary.document(file: file, folder: folder)) {
        "backed up revision \(summary.revision), \(summary.what), from \(folder.safeForTerminal) "
          + "to \(file.safeForTerminal)\n"
      }
      let socket = global.socket ?? Terminal.environment("WIDGETD_SOCKET")
      let named = StoreFolder.named(store.stateDirectory)
      if let note = BackupCommand.note(on: folder, named: named, socket: socket) {
        Output.writeError("widgetctl: note: \(note)\n")
      }
    } catch { throw CommandFailure(error) }
  }
}

extension BackupCommand {
  /// The words about a folder that was found without its name, although the socket of a daemon is
  /// named: this daemon may have another store. Nil if there is no such doubt.
  static func note(on folder: String, named: String?, socket: String?) -> String? {
    guard named == nil, let socket, !socket.isEmpty else { return nil }
    return "the socket \(socket.safeForTerminal) does not choose the store; if its daemon has "
      + "another folder than \(folder.safeForTerminal), name that folder with --state-directory"
  }
}

/// `restore`: puts a backup in the place of the store.
struct RestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Replace the store with a backup, while the daemon is stopped.",
    discussion: """
      The command checks the backup before it replaces the store. While a daemon uses the store, \
      the command refuses. The former database stays in the folder, with `.before-restore-` and \
      the time in its name. Readers that resume get a new snapshot. Run the command as the \
      daemon's user or as root.

      Examples:
        widgetctl restore widgets.backup
        sudo systemctl stop widgetd.socket widgetd.service
        sudo widgetctl restore --state-directory /var/lib/widgetd \\
          /var/backups/widgetd-2026-01-31
        sudo systemctl start widgetd.socket
      """)

  @Argument(
    help: "A file of `backup`, or another complete database.", completion: .file())
  var file: String
  @OptionGroup var store: StoreOptions
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let folder = try StoreFolder.find(named: store.stateDirectory, isNew: true)
    do throws(StoreCopyError) {
      let summary = try StoreCopies.restore(
        file, stateDirectory: folder, epoch: UInt64.random(in: 1...UInt64.max),
        name: RestoreCommand.stamp(time(nil)))
      global.storePrinter.print(summary.document(file: file, folder: folder)) {
        "restored revision \(summary.revision), \(summary.what), in \(folder.safeForTerminal)\n"
          + (summary.former.map { "the former database is \($0.safeForTerminal)\n" } ?? "")
      }
      if summary.former == nil {
        Output.writeError(
          "widgetctl: note: \(folder.safeForTerminal) had no store before; if your daemon has "
            + "another folder, name it with --state-directory\n")
      }
    } catch { throw CommandFailure(error) }
  }

  /// A time as a part of a file's name, in UTC.
  static func stamp(_ time: time_t) -> String {
    var time = time
    var parts = tm()
    gmtime_r(&time, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))-"
      + two(parts.tm_hour) + two(parts.tm_min) + two(parts.tm_sec)
  }
}

extension StoreCopies.Summary {
  fileprivate var what: String {
    "\(widgets == 1 ? "1 widget" : "\(widgets) widgets"), \(bytes) bytes"
  }

  fileprivate func document(file: String, folder: String) -> Value {
    var map: ValueMap = [
      "file": .string(file), "stateDirectory": .string(folder),
      "revision": .int(Int64(clamping: revision)), "widgets": .int(Int64(widgets)),
      "bytes": .int(Int64(bytes)),
    ]
    if let former { map["former"] = .string(former) }
    return .map(map)
  }
}

extension GlobalOptions {
  /// The options of commands that do not connect to the daemon.
  var storePrinter: Printer {
    Printer(format: output ?? .table, painter: painter, width: Terminal.width)
  }
}
