import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// The user's values for the settings of a bundle, which are deleted with the bundle.
struct LostSettings: Hashable, Sendable {
  let bundle: String
  let values: ValueMap
  /// A sentence about each further value, which the installed version does not take. Only a host
  /// that is asked over the socket gives these.
  let unused: [String]

  /// Nil if there are no values.
  init?(of bundle: String, _ values: ValueMap, unused: [String] = []) {
    guard !values.isEmpty || !unused.isEmpty else { return nil }
    (self.bundle, self.values, self.unused) = (bundle, values, unused)
  }

  /// Those of each bundle that has some.
  ///
  /// - Parameter folders: the names of the bundles' folders, by bundle.
  static func find(
    in folders: [String: String], of installer: BundleInstaller
  ) -> [LostSettings] {
    folders.sorted { $0.key < $1.key }.compactMap { id, folder in
      LostSettings(of: id, installer.chosenSettings(of: folder))
    }
  }

  /// The user's values that a version of an installed bundle does not take, or the mistake for
  /// which the file of settings is not used. The values stay in the file.
  ///
  /// - Parameters:
  ///   - global: nil to look into the usual folder, without a question to the daemon.
  ///   - isLive: whether the version is the installed one itself.
  static func dropped(
    by bundle: Bundle, _ global: GlobalOptions?, isLive: Bool
  ) async -> [BundleProblem] {
    var place: String?
    if let global { place = await BundleStanding.folder(of: bundle.id, global) }
    guard let folder = place ?? (try? BundleFolderOptions.usual()) else { return [] }
    return BundleFolderOptions.installer(at: folder).settingsProblems(with: bundle).map {
      BundleProblem(
        line: 1, column: 1, path: "defaults", message: $0,
        hint: BundleDefaults.unusedValue(in: $0) == nil
          ? ""
          : "`widgetctl bundle set \(bundle.id)` lists the settings"
            + (isLive ? "" : " of the installed version"))
    }
  }

  /// What the host tells about the settings of a bundle.
  enum Answer: Hashable, Sendable {
    case named([LostSettings])
    /// The file of settings has a mistake, so nobody can name its values.
    case hidden
    /// There may be no settings.
    case unknown
  }

  /// The same in the folder of the host, which names the values that differ from the defaults, and
  /// those that the installed version does not take.
  ///
  /// - Parameter force: whether the bundle is removed even if nobody can name the values.
  static func ask(
    of bundle: String, force: Bool, _ session: Session
  ) async -> Answer {
    do throws(ClientError) {
      let request = SetBundleDefaultsRequest(id: bundle, values: [:], unset: [])
      let answer = try await session.client.setBundleDefaults(request, options: session.options)
      if force, isUnknown(in: answer) { return .hidden }
      return .named([LostSettings(of: bundle, answer)].compactMap(\.self))
    } catch {
      return self.answer(to: error)
    }
  }

  static func answer(to error: ClientError) -> Answer {
    // The removal fails for the same reason, and reports it.
    let code = error.status?.code
    if code == .notFound || code == .unavailable || code == .permissionDenied { return .named([]) }
    // The settings are in the folder that the link leads to, which stays.
    return BundleInstaller.isAboutLink(error.status?.message ?? "") ? .named([]) : .unknown
  }

  /// Whether an answer of the host does not name the values, because the file has a mistake.
  static func isUnknown(in answer: SetBundleDefaultsResponse) -> Bool {
    answer.warnings.contains(where: BundleDefaults.hidesValues)
  }

  /// Those that an answer of the host names.
  init?(of bundle: String, _ answer: SetBundleDefaultsResponse) {
    var values: ValueMap = [:]
    for setting in answer.settings where setting.value != setting.defaultValue {
      values[setting.name] = setting.value ?? .null
    }
    self.init(
      of: bundle, values, unused: answer.warnings.compactMap(BundleDefaults.unusedValue(in:)))
  }

  /// The warning after a removal; nil if all values are named.
  static func warning(removing bundle: String, _ answer: Answer?) -> String? {
    switch answer {
    case .hidden?: unnamed(bundle)
    case .unknown?:
      "if you have set settings of bundle \(bundle) with `widgetctl bundle set`, they are deleted, "
        + "too"
    case .named?, nil: nil
    }
  }

  /// The warning about settings that nobody can name.
  static func unnamed(_ bundle: String) -> String {
    "the values that you have set with `widgetctl bundle set` for bundle \(bundle) cannot be named, "
      + "and are deleted with the bundle"
  }

  /// `the settings of bundle st that you have set are deleted: city = Rome, unit = F`
  func line(_ loss: LostValues.Loss) -> String {
    "the settings of bundle \(bundle) that you have set "
      + (loss == .dryRun ? "would be deleted: " : "are deleted: ")
      + values.entries.map { "\($0.key) = \(BundleSetCommand.text($0.value))" }
      .joined(separator: ", ")
  }

  private func lines(_ loss: LostValues.Loss) -> [String] {
    (values.isEmpty ? [] : [line(loss)])
      + unused.map { problem -> String in
        guard loss != .dryRun, let value = BundleDefaults.deletedValue(in: problem) else {
          return "bundle \(bundle): \(problem); the value "
            + (loss == .dryRun ? "would be deleted" : "is deleted")
        }
        return "bundle \(bundle): deleted setting: \(value)"
      }
  }

  static func text(_ settings: [LostSettings], _ loss: LostValues.Loss = .done) -> String {
    settings.flatMap { $0.lines(loss) }.map { "  \($0.safeForTerminal)\n" }.joined()
  }

  var document: Value {
    var map: ValueMap = ["bundle": .string(bundle), "values": .map(values)]
    if !unused.isEmpty { map["unused"] = .list(unused.map { .string($0) }) }
    return .map(map)
  }
}

/// All that is lost with bundles, and the widgets of others that lose their kind.
struct BundleLosses: Sendable {
  var values: [LostValues.Entry] = []
  var settings: [LostSettings] = []
  var staying: [StayingWidgets] = []
  /// The folders that take the widgets over, by bundle.
  var successors: [String: String] = [:]

  /// The losses that are left if other folders take over the widgets of some bundles. The settings
  /// are in the removed folders.
  ///
  /// Only the widgets that a folder has with the same kind are taken over, and nothing if its file
  /// cannot be read.
  ///
  /// - Parameters:
  ///   - successors: these folders, by bundle.
  ///   - read: reads the bundle of a folder.
  func takenOver(
    by successors: [String: String],
    read: (String) -> Bundle? = { (try? BundleInstaller.anywhere.read(at: $0))?.bundle }
  ) -> BundleLosses {
    var losses = self
    for (id, folder) in successors {
      guard let copy = read(folder), copy.id == id else { continue }
      losses.successors[id] = folder
      losses.values.removeAll { value in
        value.bundle == id
          && copy.widgets.contains { $0.id == value.widget && $0.kind == value.kind }
      }
      // Nobody knows which kinds the widgets of others have.
      if !copy.kinds.isEmpty { losses.staying.removeAll { $0.bundle == id } }
    }
    return losses
  }

  /// The losses with some of the bundles.
  func of(_ bundles: [String]) -> BundleLosses {
    BundleLosses(
      values: values.filter { bundles.contains($0.bundle) },
      settings: settings.filter { bundles.contains($0.bundle) },
      staying: staying.filter { bundles.contains($0.bundle) },
      successors: successors.filter { bundles.contains($0.key) })
  }

  /// - Parameter loss: for the values of widgets. Settings go at once.
  func text(_ loss: LostValues.Loss) -> String {
    LostValues.text(values, loss) + LostSettings.text(settings, loss) + StayingWidgets.text(staying)
      + textOfSuccessors
  }

  private var textOfSuccessors: String {
    var text = ""
    for (id, folder) in successors.sorted(by: { $0.key < $1.key }) {
      text += "  bundle \(id) in \(folder) takes its widgets over\n".safeLines
    }
    return text
  }

  func text(removed ids: [String], _ loss: LostValues.Loss) -> String {
    ids.map { "bundle \($0) removed\n" }.joined() + text(loss)
  }

  /// The error about a bundle that is not removed. If `--force` removes the bundle, the error names
  /// what is lost then.
  func named(in failure: CommandFailure) -> CommandFailure {
    guard BundleInstaller.isAboutWrittenFiles(failure.message) else { return failure }
    let refusal = failure.exiting(.refused)
    let lost = text(.dryRun)
    return lost.isEmpty
      ? refusal : refusal.saying("\(failure.message)\nWith --force:\n\(lost.dropLast())")
  }
}
