import ArgumentParser
import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetModel

/// `bundle new`: a bundle to begin with.
struct BundleNewCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Create a working bundle to start from.",
    discussion: """
      The command creates a folder with a bundle.yaml: a kind that shows the load of the machine \
      and counts clicks, and a widget of this kind. If widgetd-host runs the parent folder, the \
      bundle runs at once.

      Examples:
        widgetctl bundle new clock
        widgetctl bundle new clock --dir ~/bundles
      """)

  @Argument(help: "The bundle's id: a-z, 0-9 and -.")
  var id: String

  @Option(
    name: .customLong("dir"),
    help: ArgumentHelp("The parent folder.", valueName: "folder"),
    completion: .directory)
  var folder = "."

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    guard BundleReader.isID(id) else {
      throw ValidationError(
        "\"\(id.prefix(80))\" cannot be a bundle's id; use 1 to 64 of a-z, 0-9 and -")
    }
  }

  func run() throws {
    let path = folder == "." ? id : "\(folder)/\(id)"
    let file = "\(path)/bundle.yaml"
    // The folders above it. If one of them fails, the last mkdir reports it.
    for end in path.indices.dropFirst() where path[end] == "/" {
      mkdir(String(path[..<end]), 0o755)
    }
    let isNew = mkdir(path, 0o755) == 0
    guard isNew || errno == EEXIST else { throw BundleNewCommand.failure("create", path) }
    do throws(CommandFailure) {
      try BundleNewCommand.write(BundleScaffold.text(id: id), to: file)
    } catch {
      if isNew { rmdir(path) }
      throw error
    }
    let isLive = BundleNewCommand.isLive(
      folder,
      among: BundleFolderOptions.live(isRoot: geteuid() == 0, environment: Terminal.environment))
    global.session(socketPath: "").printer.print(
      .map(["file": .string(file), "id": .string(id), "live": .bool(isLive)])
    ) {
      let next =
        isLive
        ? "it is running: widgetd-host runs this folder and follows every change"
        : """
        install it: widgetctl bundle install \(path.asArgument)
          (if widgetd-host runs this folder, the bundle is already running)
        """
      return """
        \(file) created
          check it:   widgetctl bundle validate \(path.asArgument)
          \(next)

        """.safeLines
    }
  }

  /// Writes a new file. After an error there is no file.
  private static func write(_ text: String, to file: String) throws(CommandFailure) {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      guard errno == EEXIST else { throw failure("write", file) }
      throw CommandFailure(.alreadyExists, "\(file) already exists; choose another id or --dir")
    }
    defer { close(descriptor) }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let failure = failure("write", file)
        unlink(file)
        throw failure
      }
      rest = rest.dropFirst(count)
    }
  }

  private static func failure(_ what: String, _ path: String) -> CommandFailure {
    let number = errno
    return CommandFailure(
      ExitStatus(errno: number),
      BundleInstallerError.text("cannot \(what) \(path)", errno: number))
  }

  /// Whether a folder is one of those that widgetd-host runs by default.
  static func isLive(_ folder: String, among live: [String]) -> Bool {
    guard let place = resolved(folder) else { return false }
    return live.contains { resolved($0) == place }
  }

  /// The path without links; nil if it does not exist.
  private static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
