import ArgumentParser
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// `bundle rm`: removes bundles.
struct BundleRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove installed bundles with their widgets.",
    discussion: """
      The command deletes the folder whose file has the id, and the kept versions. Files that you \
      wrote into the folder may be the only copy, so the command deletes them only with --force. \
      Without --force, it names these files and ends with status 5. The output names the values \
      that go with the bundle: those that somebody had set on widgets, and your values of `bundle \
      set`. It also names the widgets of others with a kind of the bundle. They keep their data, \
      but lose their kind. If widgetd-host does not run, the widgets stay until it runs again.

      Examples:
        widgetctl bundle rm clock
        widgetctl bundle rm mine --force
      """)

  @Argument(help: "The bundles' ids.", completion: bundleCompletion)
  var ids: [String]

  @Flag(help: "Also delete files that you wrote into the folder, and replaced bundles.")
  var force = false

  @OptionGroup var remote: BundleRemoteOptions
  @OptionGroup var folder: BundleFolderOptions
  @OptionGroup var global: GlobalOptions

  func validate() throws { try remote.validate(folder) }

  func run() async throws {
    if remote.remote { return try await BundleRemote.remove(ids, force: force, global) }
    let installer = try folder.installer()
    let (place, session) = (
      BundleStanding.resolved(installer.path) ?? installer.path, global.optionalSession
    )
    // The id in the file decides, and the folder can have another name.
    let removals: [String: BundleInstaller.Removal] = Set(ids).reduce(into: [:]) {
      $0[$1] = installer.removal(of: $1)
    }
    let bundles = removals.compactMapValues(\.bundle)
    func names(_ ids: [String]) -> [String] { ids + ids.compactMap { bundles[$0] } }
    let places = BundleRemoveCommand.places(of: Array(removals.values), in: place)
    let survey = await LostValues.survey(
      of: Array(bundles.values), in: place, at: places, session)
    let known = survey?.values
    let there = Set(((try? installer.list()) ?? []).map(\.id))
    let folders = removals.compactMapValues(\.folder).filter { there.contains($0.value) }
    let going = ids.filter { folders[$0] != nil }
    // Without --force, the removal is refused, and the refusal names the mistake.
    let hidden = going.filter { force && installer.hidesSettings(of: folders[$0] ?? $0) }
    let standings = known == nil ? [:] : await BundleStanding.all(global)
    // A host removes the widgets.
    let host: BundleHost = known == nil ? .unknown : await BundleHost.ask(global)
    let moved = MovedBundle.formerPaths(
      of: Array(bundles.values), in: place, at: places, among: standings)
    // The removal from a folder that the host does not run changes nothing in the daemon.
    let isForeign = host.runs(installer.path) == false && !host.ran(installer.path)
    func isLost(_ bundle: String) -> Bool { !isForeign || moved[bundle] == nil }
    let missing = ids.filter { removals[$0]?.folder == nil }
      .compactMap { id in
        MissingFolder.of(id, in: installer.path, among: standings).map { (id, $0) }
      }
    let gone = Array(bundles.values)
    let successors = BundleStanding.successors(
      of: gone, removedFrom: place, among: standings, in: host.order
    ).merging(
      BundleStanding.successors(of: gone, removedFrom: place, whenStarted: host)
    ) { known, _ in known }
    let losses = BundleLosses(
      values: (known ?? []).filter { isLost($0.bundle) },
      settings: LostSettings.find(in: folders, of: installer),
      staying: known == nil
        ? []
        : await StayingWidgets.ask(
          of: bundles.values.filter(isLost).sorted(), in: place, at: places, session)
    ).takenOver(by: successors)
    let gaps = (survey?.gaps ?? [:]).filter { isLost($0.key) }
    var removed: [String] = []
    var failure: CommandFailure?
    for id in ids where failure == nil {
      let others = force ? installer.othersRemoved(with: id) : []
      do throws(CommandFailure) {
        try await folder.carryOut(installer, having: id, global) {
          () throws(BundleInstallerError) in
          try installer.remove(
            id, force: force,
            leavesMark: !isForeign
              || BundleRemoveCommand.isKnown(bundles[id], in: place, at: places, among: standings))
        }
        removed.append(id)
        for words in others { BundleText.warn(words) }
        if let bundle = bundles[id], let path = moved[bundle], !isForeign {
          MovedBundle.mark(bundle, movedFrom: path, host)
        }
      } catch {
        failure = losses.of(names([id])).named(in: error)
      }
    }
    if isForeign {
      // The stopped host of another daemon may need the marks of other bundles.
      installer.dropMarks(
        of: removed.compactMap { bundles[$0] }.filter {
          !BundleRemoveCommand.isKnown($0, in: place, at: places, among: standings)
        })
    }
    if !removed.isEmpty {
      let lost = losses.of(names(removed))
      let unknown = known == nil ? going.filter { removed.contains($0) } : []
      if !unknown.isEmpty { BundleText.warn(LostValues.unknown(unknown)) }
      for bundle in removed.compactMap({ bundles[$0] }) where lost.successors[bundle] == nil {
        if let gap = gaps[bundle] { BundleText.warn(gap) }
      }
      for id in hidden where removed.contains(id) { BundleText.warn(LostSettings.unnamed(id)) }
      for id in removed where removals[id]?.isByName == true {
        BundleText.warn(BundleRemoveCommand.unreadable(id, in: installer.path))
      }
      for (id, folder) in missing where removed.contains(id) {
        let isTakenOver = lost.successors[folder.bundle] != nil
        BundleText.warn(isTakenOver ? folder.remainsOfVersions : folder.remains)
      }
      if let words = host.warning(
        removing: removed, from: installer.path, isNamed: self.folder.folder != nil)
      {
        BundleText.warn(words)
      }
      let isLive = host.runs(installer.path)
      let printer = global.session(socketPath: "").printer
      printer.print(LostValues.document(removed: removed, lost)) {
        lost.text(removed: removed, isLive == true ? .done : .pending)
      }
    }
    if let failure { throw failure }
  }

  /// The places of bundles without links, by bundle.
  static func places(
    of removals: [BundleInstaller.Removal], in folder: String
  ) -> [String: String] {
    var places: [String: String] = [:]
    for removal in removals {
      guard let bundle = removal.bundle, let name = removal.folder else { continue }
      places[bundle] = BundleStanding.resolved("\(folder)/\(name)")
    }
    return places
  }

  /// Whether the daemon knows a bundle from this folder of bundles, whatever folders the host runs.
  ///
  /// - Parameters:
  ///   - places: see `LostValues.isRun`.
  ///   - standings: of all bundles, by their folders.
  static func isKnown(
    _ bundle: String?, in folder: String, at places: [String: String],
    among standings: [String: BundleStanding]
  ) -> Bool {
    standings.contains { path, standing in
      standing.id == bundle && LostValues.isRun(standing.id, from: path, in: folder, at: places)
    }
  }

  /// The warning after the removal of a folder whose file has no id that the command could read.
  static func unreadable(_ id: String, in folder: String) -> String {
    "the file in \(folder)/\(id) had no id that could be read, so the name of the folder counted as "
      + "the bundle's id"
  }
}
