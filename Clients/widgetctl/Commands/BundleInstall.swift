import ArgumentParser
import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// `bundle install`: puts a bundle into the folder of widgetd-host.
struct BundleInstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Install a bundle, or a new version of one.",
    discussion: """
      The command takes a bundle's file, its folder, a zip or tar.gz archive, or an https URL of \
      one of these. For a URL, it runs curl. The command checks the bundle, then replaces the \
      previous version as a whole. If the bundle has a mistake, nothing changes. Before you \
      install a bundle of another author, check its permissions with `bundle diff`.

      If the same content is already installed, nothing changes. With -o json, `unchanged` is \
      then true.

      The previous version is kept: `bundle rollback` restores it. Files that you put into the \
      bundle's folder stay there. If the folder has another bundle, the command ends with status 5, \
      and names what would be lost. With --force, it replaces that bundle.

      Examples:
        widgetctl bundle install clock
        widgetctl bundle install desk.zip --sha256 9f86d081…
        widgetctl bundle install https://example.org/desk.zip
        widgetctl bundle install clock --remote
      """)

  @Argument(
    help: ArgumentHelp("A file, a folder, an archive, or an https URL.", valueName: "path|URL"),
    completion: .file())
  var source: String

  @Option(
    name: .customLong("sha256"),
    help: ArgumentHelp("The expected SHA-256 of the archive.", valueName: "hex"))
  var digest: String?

  @Flag(help: "Also replace another bundle that is in the folder of the bundle.")
  var force = false

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    try remote.validate(folder)
    if let digest, digest.utf8.count != 64 || !digest.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
      throw ValidationError(
        "--sha256 takes 64 hexadecimal digits, not \"\(digest.prefix(80))\"; "
          + "`sha256sum FILE` prints them")
    }
  }

  func run() async throws {
    let installer = try folder.installer()
    let source = try BundleSource(
      source, bytesMax: installer.limits.archiveBytesMax, within: global.limit)
    if remote.remote {
      return try await BundleRemote.install(source, digest: digest, force: force, global)
    }
    if let refusal = await MissingFolder.refusal(ofInstallingInto: installer.path, global) {
      throw refusal
    }
    // The question comes before the host loads the bundle.
    var outlook: BundleOutlook?
    var missing: MissingFolder?
    let found = try? installer.read(source)
    var hasFormerWidgets = false
    if let found {
      // The removal changes the widgets that the other questions are about.
      hasFormerWidgets = await PendingRemoval.leavesWidgets(
        of: found.bundle.id, in: installer.path, global)
      outlook = await BundleOutlook.of(found.bundle, global, beside: installer.path)
      // A daemon that has not answered is not asked again.
      if outlook != nil {
        missing = await MissingFolder.of(found.bundle.id, in: installer.path, global)
      }
    }
    let former = outlook == nil ? installer.widgets(replacedBy: found?.bundle.id) : []
    let outcome: BundleInstaller.Outcome
    do throws(CommandFailure) {
      outcome = try folder.carryOut { () throws(BundleInstallerError) in
        switch source {
        case .path(let path): try installer.install(path, digest: digest, force: force)
        case .fetched(let bytes, let name):
          try installer.install(bytes: bytes, name: name, digest: digest, force: force)
        }
      }
    } catch {
      throw await BundleInstallCommand.explained(
        (outlook ?? BundleOutlook()).named(in: error), found, global)
    }
    let bundle = outcome.bundle
    var warnings = (outlook?.refined(outcome.warnings, of: bundle) ?? outcome.warnings)
      .map { folder.advised($0) }
    if hasFormerWidgets, let words = outcome.removalWarning {
      warnings.append(folder.advised(words))
    }
    if let words = missing?.warning(installing: bundle) {
      warnings.append(words)
    }
    if let words = LostValues.unknown(replacing: former, by: bundle.widgets) {
      warnings.append(words)
    }
    for warning in warnings { BundleText.warn(warning) }
    let host = await BundleHost.ask(global)
    let rival = await BundleStanding.rival(
      of: bundle.id, installedIn: installer.path, host, global)
    for words in host.warnings(changing: installer.path, rival) { BundleText.warn(words) }
    for warning in outlook?.warnings ?? [] { BundleText.warn(warning) }
    global.session(socketPath: "").printer.print(
      BundleText.document(
        outcome, in: installer, isLive: host.runs(installer.path),
        warnings: warnings + (outlook?.warnings ?? []), isUnchanged: outcome.isUnchanged)
    ) {
      BundleText.installed(outcome, in: installer.path)
    }
  }

  /// The error of an installation. If another folder has the bundle, and the file is the one that
  /// the host reads there, the error says what the host does. Other errors stay as they are.
  static func explained(
    _ failure: CommandFailure, _ found: BundleInstaller.Found?, _ global: GlobalOptions
  ) async -> CommandFailure {
    guard BundleInstaller.isAboutCopy(failure.message), let found,
      let outlook = await BundleOutlook.of(found.bundle, global, file: found.file)
    else { return failure }
    return outlook.named(in: failure, reading: found.file)
  }
}

/// The source of a bundle on the command line.
enum BundleSource {
  case path(String)
  /// The download from an https URL, and the last part of its path.
  case fetched([UInt8], name: String)

  /// Returns a path unchanged. Fetches a URL, by default within two minutes.
  init(_ text: String, bytesMax: Int, within limit: Duration?) throws(CommandFailure) {
    guard text.contains("://") else {
      self = .path(text)
      return
    }
    guard text.hasPrefix("https://") else {
      throw CommandFailure(
        .usage, "\(text) is not an https URL; fetch it yourself, and name the file")
    }
    let bytes = try BundleDownload.bytes(
      text, bytesMax: bytesMax, within: limit ?? .seconds(120))
    let name = text.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? "archive"
    self = .fetched(bytes, name: String(name))
  }
}

extension BundleInstaller {
  /// The widgets in the file of an installed bundle; none if it cannot be read.
  func widgets(of id: String?) -> [WidgetSpec] {
    guard let installed = (try? list())?.first(where: { $0.id == id }),
      case .success(let bundle) = installed.bundle
    else { return [] }
    return bundle.widgets
  }

  /// The widgets of the bundle in whose place a version is installed; none if they are unknown.
  func widgets(replacedBy id: String?) -> [WidgetSpec] {
    id.flatMap { occupant(of: $0)?.widgets } ?? widgets(of: id)
  }

  func read(_ source: BundleSource) throws(BundleInstallerError) -> Found {
    switch source {
    case .path(let path): try read(at: path)
    case .fetched(let bytes, let name): try read(bytes: bytes, name: name)
    }
  }
}

/// `bundle ls`: the installed bundles.
struct BundleListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the installed bundles.",
    discussion: """
      STATE is the state of a bundle that widgetd-host runs:

        running   the bundle works
        failing   a source, an action or the content of its widgets has failed
        failed    the file has a mistake, or the host or the daemon refuses it
        missing   the folder or the file is missing, and the daemon still has the widgets
        stopped   widgetd-host has ended; start it
        unknown   no daemon answers, or widgetd-host has not reported the bundle

      Right after an installation, STATE can say that the former version still runs.

      Without --dir, the list has the bundles of all folders of widgetd-host, with a column FOLDER. \
      If the usual folder has no bundles, and widgetd-host does not run it, the command lists only \
      the folders of widgetd-host. While widgetd-host does not run, the command looks into the folders \
      that it ran last. If the daemon does not answer, the list has only the usual folder, and the \
      command ends with status 7.

      The reason follows the state. STATE is "not running" if no host runs the folder of bundles. \
      If the file has a mistake, STATE shows the mistake. If the previous version of a failed \
      bundle still runs, STATE says so. \
      "+2 of others" means that others have created 2 widgets of the bundle's kinds. The first ids \
      follow. A note below the table names each edit of the file that has no effect, because \
      another user or program has set the field.

      Examples:
        widgetctl bundle ls
        widgetctl bundle ls -o json
      """)

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { try remote.validate(folder) }

  func run() async throws {
    if remote.remote { return try await BundleRemote.list(global) }
    var installer = try folder.installer()
    if let named = folder.folder, access(named, F_OK) != 0 {
      let known = await BundleStanding.all(global)
      guard !BundleStanding.missing(among: known, in: named, besides: []).isEmpty else {
        throw CommandFailure(.notFound, "there is no folder \(named); check --dir")
      }
      BundleText.warn(
        "the folder \(named) is missing; bring it back to keep the widgets of its bundles")
    }
    var installed = try folder.carryOut { () throws(BundleInstallerError) in try installer.list() }
    let host = await BundleHost.ask(global)
    let usual = installer.path
    if folder.folder == nil, installed.isEmpty, let other = host.folder(insteadOf: usual) {
      // Bundles can be in other folders of the host, or be missing.
      installer = BundleFolderOptions.installer(at: other)
      installed = (try? installer.list()) ?? []
    }
    let printer = global.session(socketPath: "").printer
    let isLive = host.runs(installer.path)
    let standings =
      installed.isEmpty && host == .unknown ? [:] : await BundleStanding.all(global)
    var section = BundleSection(installer.path, installed, among: standings, isLive: isLive)
    if host.ran(installer.path) {
      let left = await BundleStanding.left(global, isHosted: isLive == true)
      section.missing += BundleStanding.left(
        left, in: installer.path, besides: installed.map(\.id), host)
    }
    let showsAll = folder.folder == nil && host.ran(installer.path)
    let all =
      [section]
      + (showsAll && !host.isRunning
        ? BundleSection.others(than: installer.path, of: host, among: standings) : [])
    let sections = host.isMissing ? BundleSection.awaitingStart(all) : all
    let others =
      showsAll && host.isRunning
      ? BundleStanding.inFolders(host.folders(besides: installer.path), among: standings) : []
    let isEmpty = sections.allSatisfy(\.isEmpty) && others.isEmpty
    // Without the daemon, nobody knows the folders of the host.
    let isPartial = folder.folder == nil && host == .unknown
    if isPartial {
      BundleText.warn(BundleListCommand.onlyUsual(usual))
    } else if !isEmpty {
      if installer.path != usual { BundleText.warn(BundleListCommand.otherFolders(than: usual)) }
      if let problem = host.problem(of: installer.path) { BundleText.warn(problem) }
    }
    let told = sections.flatMap(\.told) + others
    let kept = await BundleStanding.keptFields(
      global, of: Set(told.map(\.id)),
      declaring: Dictionary(sections.flatMap(\.declared)) { first, _ in first })
    printer.print(
      list: sections.flatMap(\.documents) + others.map { $0.document(host) },
      around: { .map(["bundles": $0]) }
    ) {
      guard !isEmpty else { return host.nothing(in: usual) }
      var table = BundleTable(
        hasFolders: !others.isEmpty || sections.dropFirst().contains { !$0.isEmpty })
      for section in sections { section.add(to: &table) }
      for standing in others { table.add(standing) }
      return table.text(printer)
        + BundleListCommand.notes(
          table.notes + BundleListCommand.remarks(told) + kept, about: told)
    }
    if isPartial { throw ExitStatus.unavailable }
  }

  /// The warning about a list without the folders of the host, which only the daemon knows.
  static func onlyUsual(_ folder: String) -> String {
    "the daemon does not answer, so the list has only the bundles in \(folder), and not those in other "
      + "folders of widgetd-host; run `widgetctl doctor`, or name a folder with --dir"
  }

  /// The warning about a list of other folders than the usual one.
  static func otherFolders(than usual: String) -> String {
    "there are no bundles in \(usual); the list shows the folders of widgetd-host"
  }

  /// A line for each remark on the files of running bundles.
  static func remarks(_ standings: [BundleStanding]) -> [String] {
    standings.flatMap { standing in
      standing.remarks.map { "bundle \(standing.title): \($0)" }
    }
  }

  /// The lines below the table. The lines about a bundle are together, in the order of the bundles.
  static func notes(_ lines: [String], about standings: [BundleStanding]) -> String {
    var (left, sorted) = (lines, [String]())
    for standing in standings {
      for start in ["bundle \(standing.title): ", "bundle \(standing.id): "] {
        sorted += left.filter { $0.hasPrefix(start) }
        left.removeAll { $0.hasPrefix(start) }
      }
    }
    return (sorted + left).map { "note: \($0.safeForTerminal)\n" }.joined()
  }

  /// On one line.
  static func reason(_ error: BundleInstallerError) -> String {
    switch error {
    case .invalid(let file, let invalid):
      "\(file):" + (invalid.problems.first?.description ?? "")
    default: CommandFailure(error).message
    }
  }

  static func document(
    _ item: BundleInstaller.Installed, _ standing: BundleStanding?, isLive: Bool?
  ) -> Value {
    var map: ValueMap = ["id": .string(item.id), "file": .string(item.file)]
    switch item.bundle {
    case .success(let bundle):
      for entry in BundleText.document(bundle).entries { map[entry.key] = entry.value }
      map["ok"] = .bool(true)
    case .failure(let error):
      map["ok"] = .bool(false)
      map["reason"] = .string(reason(error))
    }
    map["live"] = isLive.map { .bool($0) } ?? .null
    if let digest = item.digest { map["sha256"] = .string(digest) }
    if let former = item.former { map["formerVersion"] = .string(former) }
    if case .success(let bundle) = item.bundle {
      standing?.describe(in: &map, having: bundle.version, of: bundle.id)
    } else {
      standing?.describe(in: &map)
    }
    return .map(map)
  }
}

/// `bundle rollback`: brings back the former version.
struct BundleRollbackCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollback", abstract: "Restore the previous version of a bundle.",
    discussion: """
      The command restores the version before the last installation. It keeps the replaced \
      version, so a second rollback undoes the first. If the folder has another bundle, the \
      command ends with status 5, and names that bundle.

      Examples:
        widgetctl bundle rollback clock
        widgetctl bundle rollback clock --to 1.2.0
      """)

  @Argument(help: "The bundle's id.", completion: bundleCompletion)
  var id: String

  @Option(
    name: .customLong("to"),
    help: ArgumentHelp(
      "The version to restore. Default: the previous version.", valueName: "version"))
  var version: String?

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { try remote.validate(folder) }

  func run() async throws {
    if remote.remote { return try await BundleRemote.rollback(id, to: version, global) }
    let installer = try folder.installer()
    // The question comes before the host loads the other version.
    let values = await LostValues.ask(
      of: [id], in: BundleStanding.resolved(installer.path) ?? installer.path,
      global.optionalSession)
    let former = values == nil ? installer.widgets(of: id) : []
    let outcome: BundleInstaller.Outcome
    do throws(CommandFailure) {
      outcome = try await folder.carryOut(installer, having: id, global) {
        () throws(BundleInstallerError) in
        try installer.rollback(id, to: version)
      }
    } catch {
      throw BundleOutlook().named(in: error)
    }
    let told = outcome.warnings.map { folder.advised($0) }
    for warning in told { BundleText.warn(warning) }
    let restored = outcome.bundle.widgets
    var lost = LostValues.warnings(
      values ?? [], restored: outcome.bundle.version, restored.compactMap { $0.id?.rawValue }
    ) { id, kind in restored.contains { $0.id == id && $0.kind != kind } }
    lost += BundleOutlook.misfits(values ?? [], restored: outcome.bundle)
    if let words = LostValues.unknown(replacing: former, by: restored) { lost.append(words) }
    let refusals =
      await BundleOutlook.of(outcome.bundle, global, beside: installer.path)?
      .refusals(replacing: id) ?? []
    for warning in lost + refusals { BundleText.warn(warning) }
    let host = await BundleHost.ask(global)
    let rival = await BundleStanding.rival(
      of: id, installedIn: installer.path, host, global)
    for words in host.warnings(changing: installer.path, rival) { BundleText.warn(words) }
    global.session(socketPath: "").printer.print(
      BundleText.document(
        outcome, in: installer, isLive: host.runs(installer.path),
        warnings: told + lost + refusals)
    ) {
      "bundle \(id) \(outcome.bundle.version) restored in \(installer.path)"
        + "\(BundleText.former(outcome))\n"
    }
  }
}

extension String {
  var nonEmpty: String? { isEmpty ? nil : self }
}
