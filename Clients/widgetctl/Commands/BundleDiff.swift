import ArgumentParser
import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// `bundle diff`: the changes that an installation would make.
struct BundleDiffCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show what installing a bundle would change.",
    discussion: """
      The command compares a bundle's file, its folder, a zip or tar.gz archive, or an https URL \
      of one of these with the installed bundle of the same id. The permissions come first.

      Without --dir, it compares with the folder of widgetd-host that has the file, or else with \
      the first one that has the bundle. If there is none, it compares with the usual folder.

        +   the part is new
        -   the part is removed
        ~   the part changes
        !   the field of a widget stays, because another user or program has set it

      The last mark needs a daemon that answers. The command then also warns about widgets of the \
      bundle's kinds that others created. It always warns about named pipes, sockets and devices, \
      because `bundle install` refuses a folder with these.

      Examples:
        widgetctl bundle diff clock
        widgetctl bundle diff desk.zip
        widgetctl bundle diff https://example.org/desk.zip
        widgetctl bundle diff desk --remote
      """)

  @Argument(
    help: ArgumentHelp("A file, a folder, an archive, or an https URL.", valueName: "path|URL"),
    completion: .file())
  var source: String

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { try remote.validate(folder) }

  func run() async throws {
    let usual = try remote.remote ? BundleInstaller.anywhere : folder.installer()
    let source = try BundleSource(
      source, bytesMax: usual.limits.archiveBytesMax, within: global.limit)
    let found = try folder.carryOut { () throws(BundleInstallerError) in try usual.read(source) }
    let bundle = found.bundle
    var told: [String] = []
    let installer: BundleInstaller
    let canAsk: Bool
    if remote.remote || folder.folder != nil {
      (installer, canAsk) = (usual, true)
    } else {
      let host = await BundleHost.ask(global)
      canAsk = host != .unknown
      installer = BundleDiffCommand.installer(for: found, host, usual: usual)
      told += BundleDiffCommand.notice(found, comparedIn: installer, besides: usual, host)
    }
    let isInstalled: Bool
    let differences: [BundleDifference]
    if remote.remote {
      // The file is enough. The host would refuse an archive of a folder with pipes.
      let sent: BundleSource =
        BundleDiffCommand.isFolder(self.source) ? .path(found.file) : source
      let answer = try await BundleRemote.diff(sent, global)
      isInstalled = answer.isInstalled
      differences = answer.differences.map {
        BundleDifference(path: $0.path, before: $0.before, after: $0.after)
      }
    } else {
      (isInstalled, differences) = try folder.carryOut { () throws(BundleInstallerError) in
        try installer.differences(to: found)
      }
    }
    let isInPlace = !remote.remote && installer.isInstalled(found)
    // A daemon that has not answered is not asked again.
    let answered =
      canAsk
      ? await BundleOutlook.of(
        bundle, global, beside: remote.remote ? nil : installer.path, file: found.file,
        isRemote: remote.remote) : nil
    let outlook = answered ?? BundleOutlook()
    // Only an installation refuses the folder.
    told +=
      isInPlace
      ? []
      : installer.misfits(at: self.source).map {
        BundleInstallerError.text($0.message, hint: $0.hint)
      }
    if !remote.remote, !isInPlace {
      var place = folder
      if installer.path != usual.path { place.folder = installer.path }
      told += BundleDiffCommand.obstacles(to: bundle, in: installer).map { place.advised($0) }
    }
    if remote.remote { told += BundleDiffCommand.replacement(by: bundle.id, differences) }
    if let absence = answered?.absence { told.append(absence) }
    told += answered?.missingKinds(of: bundle, file: found.file) ?? []
    if answered == nil, !remote.remote {
      told += BundleDiffCommand.unnamedLosses(with: bundle, in: installer)
    }
    if !remote.remote { told += installer.droppedSettings(by: bundle) }
    let warnings = told + (outlook.remarks + outlook.losses).map(\.text)
    let kept = outlook.kept.map { $0.text.safeForTerminal + "\n" }.joined()
    let printer = global.session(socketPath: "").printer
    if printer.format == .table { for warning in warnings { BundleText.warn(warning) } }
    printer.print(
      .map([
        "id": .string(bundle.id), "installed": .bool(isInstalled),
        "differences": .list(
          differences.map {
            .map([
              "path": .string($0.path), "before": $0.before.map { .string($0) } ?? .null,
              "after": $0.after.map { .string($0) } ?? .null,
            ])
          }),
        "kept": .list(outlook.kept.map(\.document)),
        "warnings": .list(warnings.map { .string($0) }),
      ])
    ) {
      guard isInstalled else {
        let place = remote.remote ? "" : " in \(installer.path.safeForTerminal)"
        return "bundle \(bundle.id) \(bundle.version) is not installed\(place); all of it is new\n"
          + differences.filter(\.isPermission).map { "\($0)".safeForTerminal + "\n" }.joined()
          + kept
      }
      guard !isInPlace else {
        return "\(found.file.safeForTerminal) is the file in the folder of bundles, so there is no "
          + "other version of bundle \(bundle.id) to compare\n" + kept
      }
      guard !differences.isEmpty else {
        return "bundle \(bundle.id) \(bundle.version) is already installed; nothing would change\n"
          + kept
      }
      return differences.map { "\($0)".safeForTerminal + "\n" }.joined() + kept
    }
  }

  /// The installer for the folder with which a file is compared: the folder of the host, or of the
  /// last host, that has the file, or else the first one that has the bundle. The usual folder, if there
  /// is none, or if there is no host and the usual folder has the bundle, too. A host that does not
  /// answer, or has not returned yet, still runs its folders.
  static func installer(
    for found: BundleInstaller.Found, _ host: BundleHost, usual: BundleInstaller
  ) -> BundleInstaller {
    let id = found.bundle.id
    let folder: String?
    if let own = BundleOutlook.folder(ofBundleIn: found.file), host.ran(own) {
      folder = own
    } else if host.isMissing, usual.folder(having: id) != nil {
      folder = nil
    } else {
      folder = host.folderOfBundles(having: id)
    }
    guard let folder, BundleHost.resolved(folder) != BundleHost.resolved(usual.path) else {
      return usual
    }
    return BundleFolderOptions.installer(at: folder)
  }

  /// The note that a version is not compared with the usual folder, into which `bundle install` puts it.
  /// Empty if the file is in the other folder, because nobody installs it.
  static func notice(
    _ found: BundleInstaller.Found, comparedIn installer: BundleInstaller,
    besides usual: BundleInstaller, _ host: BundleHost
  ) -> [String] {
    guard installer.path != usual.path, !installer.isInstalled(found) else { return [] }
    let reason =
      switch host {
      case .running: "widgetd-host runs the folder \(installer.path)"
      case .silent: "widgetd-host, which does not answer, ran the folder \(installer.path)"
      case .returning:
        "widgetd-host ran the folder \(installer.path) before the restart of the daemon"
      case .missing, .unknown: "the last widgetd-host ran the folder \(installer.path)"
      }
    return [
      "\(reason), so the version is compared with bundle \(found.bundle.id) there; install it with "
        + "--dir \(installer.path.asArgument)"
    ]
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Why the host refuses the installation, if its folder of the bundle has another bundle.
  ///
  /// - Parameter differences: from the bundle in that folder.
  static func replacement(by id: String, _ differences: [BundleDifference]) -> [String] {
    guard let other = differences.first(where: { $0.path == "bundle" })?.before else { return [] }
    return [
      "`bundle install --remote` refuses the bundle: the folder \(id) of widgetd-host has the bundle "
        + "\"\(other)\", and the installation would replace that bundle; remove it with `widgetctl "
        + "bundle rm \(other) --remote`, or install with --force"
    ]
  }

  /// The warning about the widgets that the version lacks, if the daemon could not be asked.
  static func unnamedLosses(with bundle: Bundle, in installer: BundleInstaller) -> [String] {
    let former = installer.widgets(replacedBy: bundle.id)
    return [LostValues.unknown(replacing: former, by: bundle.widgets)].compactMap(\.self)
  }

  /// Why the installation is refused, if another bundle or entry has the place of the bundle's folder.
  static func obstacles(to bundle: Bundle, in installer: BundleInstaller) -> [String] {
    guard let error = installer.obstacle(to: bundle.id, having: bundle.widgets) else { return [] }
    return ["`bundle install` refuses the bundle: \(CommandFailure(error).message)"]
  }
}
