import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// The widgets in the files of installed bundles.
struct InstalledWidgets: Hashable, Sendable {
  struct Declaration: Hashable, Sendable {
    let bundle: String
    let kind: KindName
  }

  private(set) var declarations: [WidgetID: [Declaration]] = [:]
  /// The bundles whose files this process cannot read, in order.
  private(set) var unread: [String] = []

  init() {}

  /// Those of all bundles except this one and its former ids.
  ///
  /// - Parameters:
  ///   - formers: the sets of the former ids. The set of the bundle itself does not matter.
  ///   - shown: the widgets with the states of the host's bundles.
  ///   - folder: a folder of bundles, which the host need not run.
  ///   - occupant: a bundle whose folder another bundle gets. A second copy of it counts.
  init(
    besides id: String, after formers: Set<String> = [], _ shown: [Widget], in folder: String?,
    without occupant: BundleStanding? = nil
  ) {
    var seen = Set(formers.compactMap { OwnerName.bundle($0) }).union([id])
    let list = folder.flatMap { try? BundleFolderOptions.installer(at: $0).list() } ?? []
    for item in list {
      guard case .success(let bundle) = item.bundle else { continue }
      if seen.insert(bundle.id).inserted { add(bundle) }
    }
    for widget in shown {
      guard let other = OwnerName.bundle(widget.id.rawValue), !seen.contains(other),
        // Another bundle has taken the place of a bundle with an heir.
        widget.data["heir"] ?? .string("") == .string("")
      else { continue }
      seen.insert(other)
      let standing = BundleStanding(widget)
      if let occupant, standing.path == occupant.path { continue }
      // The other copy of the bundle counts.
      guard standing.original == nil || standing.original == occupant?.id else { continue }
      guard case .string(let path)? = widget.data["path"],
        let bundle = (try? BundleInstaller.anywhere.read(at: path))?.bundle,
        bundle.id == standing.original ?? other
      else {
        unread.append(other)
        continue
      }
      add(bundle)
    }
    unread.sort()
  }

  mutating func add(_ bundle: Bundle) {
    for widget in bundle.widgets {
      guard let id = widget.id else { continue }
      declarations[id, default: []].append(Declaration(bundle: bundle.id, kind: widget.kind))
    }
  }
}

// The widgets that the file of a bundle no longer declares.
extension BundleOutlook {
  /// The values that are lost with a widget of the bundle: `data.n = 7`.
  static func lost(
    with known: TaggedWidget, of set: String, by rules: LossRules = LossRules()
  ) -> [String] {
    known.widget.applySet == set
      ? rules.values(of: known.widget, known.owners).map { LostValues.named($0.path, $0.declared) }
      : []
  }

  /// A remark for each widget of the bundle, of any kind, that the file no longer declares and that
  /// has values which are lost with it.
  ///
  /// - Parameters:
  ///   - arrival: of the file.
  ///   - isReplaced: whether the file has another bundle.
  ///   - files: of the bundle of the set, which know the sources of its kinds.
  ///   - shown: the widgets with the states of the host's bundles.
  ///   - others: reads the widgets of the other bundles, if there is such a widget.
  static func leaving(
    _ set: String, keeping declared: Set<WidgetID>, arrival: Arrival, isReplaced: Bool = false,
    files: [Bundle], _ shown: [Widget], _ client: WidgetClient, _ options: CallOptions,
    _ others: () -> InstalledWidgets
  ) async throws -> [Remark] {
    // The values are asked for only of the widgets that leave.
    let gone = try await client.all(
      Selector(), ReadMask(paths: ["id", "kind", "apply_set"]), options
    ).map(\.widget).filter { $0.applySet == set && !declared.contains($0.id) }
    guard !gone.isEmpty else { return [] }
    let rules = try await LossRules.ask(
      Set(gone.map(\.kind)), in: files, settable: LossRules.settable(of: [set], shown), client,
      options)
    let installed = others()
    let mask = try ReadMask(
      paths: ["id", "kind", "apply_set", "owners", "data", "parameters", "labels", "presence"])
    var leaving: [TaggedWidget] = []
    for selector in FailureWarnings.selectors(gone.map(\.id), []) {
      leaving += try await client.all(selector, mask, options)
    }
    let remarks = leaving.compactMap {
      removed(
        $0, keeping: declared, by: set, beside: installed, arrival: arrival,
        isReplaced: isReplaced, losing: lost(with: $0, of: set, by: rules))
    }
    return remarks + [unnamed(in: leaving, of: set, by: rules)].compactMap(\.self)
  }

  /// The values that no remark can name, because the sources of a kind are unknown.
  static func unnamed(
    in leaving: [TaggedWidget], of set: String, by rules: LossRules
  ) -> Remark? {
    guard let bundle = OwnerName.bundle(set), let words = rules.gap(in: leaving, of: bundle) else {
      return nil
    }
    return Remark(
      path: "widgets", message: words, hint: "`widgetctl get ID` shows all values of a widget")
  }

  /// A widget of the bundle that the file no longer declares, with values that are lost with it.
  ///
  /// An installation removes the widget at once, unless another bundle has the widget with the same
  /// kind, also if the host reads the version later. If somebody has edited the file that the host
  /// reads, the widget stays for 30 seconds.
  ///
  /// - Parameters:
  ///   - declared: the widgets that the file has.
  ///   - others: the widgets of the other bundles.
  ///   - arrival: of the file.
  ///   - isReplaced: whether the file has another bundle.
  ///   - paths: the values that are lost; nil for those with a recorded owner.
  static func removed(
    _ known: TaggedWidget, keeping declared: Set<WidgetID>, by set: String,
    beside others: InstalledWidgets = InstalledWidgets(), arrival: Arrival = .installation,
    isReplaced: Bool = false, losing paths: [String]? = nil
  ) -> Remark? {
    let (id, kind) = (known.widget.id, known.widget.kind)
    guard known.widget.applySet == set, !declared.contains(id) else { return nil }
    let paths = paths ?? lost(with: known, of: set)
    guard !paths.isEmpty else { return nil }
    let message =
      (isReplaced
        ? "the installation replaces \(OwnerName.words(ofSet: set)), which has the widget"
        : "the bundle no longer has the widget")
      + " \"\(id)\". Users or actions have set these values on it: " + shortened(paths)
    let loss = removal(of: "the widget and these values", after: arrival)
    let found = others.declarations[id] ?? []
    if let heir = found.first(where: { $0.kind == kind }) {
      return Remark(
        path: "widgets.\(id)", message: message,
        hint: "bundle \(heir.bundle) has the widget with the same kind. If the daemon accepts that "
          + "bundle, the values stay")
    }
    var reason: String
    if let other = found.first {
      reason = "bundle \(other.bundle) has the widget with the kind \(other.kind), so \(loss)"
    } else if others.unread.isEmpty {
      reason = "\(loss), because no other installed bundle has the widget"
    } else {
      let names = shortened(others.unread)
      reason =
        others.unread.count == 1
        ? "this command cannot read the file of bundle \(names). If that bundle does not have the "
          + "widget with the kind \(kind), "
        : "this command cannot read the files of the bundles \(names). If none of these bundles has "
          + "the widget with the kind \(kind), "
      reason += loss
    }
    var steps: [String] = []
    if !isReplaced {
      steps.append(
        arrival == .installation
          ? "leave the widget in the file" : "put the widget back into the file")
    }
    steps.append("add \(isReplaced ? "the widget" : "it") to the file of another bundle")
    var step = "to keep the values, \(steps.joined(separator: ", or "))"
    if arrival == .installation { step += " before the installation" }
    step += ", with the kind \(kind)" + timeOfRemoval(of: id, after: arrival)
    let isSentence = found.isEmpty && !others.unread.isEmpty
    reason += isSentence ? ". \(step.prefix(1).uppercased())\(step.dropFirst())" : "; \(step)"
    return Remark(path: "widgets.\(id)", message: message, hint: reason)
  }

  /// The other bundle that the host has in the folder that a version gets. Nil if there is none.
  ///
  /// - Parameters:
  ///   - folder: of bundles.
  ///   - file: see `of`.
  ///   - shown: see `isRead`.
  static func occupant(
    of id: String, in folder: String, file: String?, _ shown: [Widget]
  ) -> BundleStanding? {
    let place = "\(BundleHost.resolved(folder))/\(id)"
    // Somebody has changed the id in the file that the host reads.
    if let file, BundleHost.resolved(file).hasPrefix("\(place)/") { return nil }
    let found = BundleStanding.shown(by: shown).first { path, standing in
      path == place && standing.id != id && standing.original == nil && !standing.isToldMissing
    }
    return found?.1
  }

  /// The folder that the host changes for `--remote`; nil if it is unknown.
  static func firstFolder(_ client: WidgetClient, _ options: CallOptions) async -> String? {
    await host(client, options)?.firstFolder
  }

  /// The host, or the last one, by its widget; nil if it is unknown.
  static func host(_ client: WidgetClient, _ options: CallOptions) async -> BundleHost? {
    guard let id = WidgetID(BundleHost.widget),
      let answer = try? await client.getWidget(GetWidgetRequest(id: id), options: options),
      BundleHost.hiddenProblem(by: answer.widget) == nil
    else { return nil }
    return BundleHost(answer.widget)
  }

  /// The error of an installation or a rollback that would replace another bundle, with what `--force`
  /// loses. Other errors stay as they are.
  func named(in failure: CommandFailure) -> CommandFailure {
    guard BundleInstaller.isAboutOccupant(failure.message) else { return failure }
    let refusal = failure.exiting(.refused)
    guard !losses.isEmpty else { return refusal }
    let lost = losses.map { "  \($0.text.safeForTerminal)" }.joined(separator: "\n")
    return refusal.saying("\(failure.message)\nWith --force:\n\(lost)")
  }

  /// How a version of the bundle of a set reaches the host.
  ///
  /// - Parameters:
  ///   - file: the path of the version's file.
  ///   - shown: see `isRead`.
  static func arrival(of file: String, by set: String, _ shown: [Widget]) -> Arrival {
    guard isRead(file, by: set, shown) else { return .installation }
    return BundleInstaller.isAsInstalled(file) ? .reading : .edit
  }

  /// What happens to a widget that the file lacks, or has with another kind.
  ///
  /// - Parameter things: the widget, with its values.
  static func removal(of things: String = "the widget", after arrival: Arrival) -> String {
    switch arrival {
    case .installation: "the installation deletes \(things) at once"
    case .edit: "widgetd-host deletes \(things) 30 seconds after it has read the file"
    case .reading: "widgetd-host deletes \(things) as soon as it reads the file"
    }
  }

  /// `; … has the time of the removal`, if the host promises a time.
  static func timeOfRemoval(of id: WidgetID, after arrival: Arrival) -> String {
    arrival == .edit
      ? "; `widgetctl get \(id) --field error` has the time of the removal" : ""
  }

  /// Whether a path is the file from which the host runs the bundle of a set.
  ///
  /// - Parameter shown: the widgets with the states of the host's bundles.
  static func isRead(_ file: String, by set: String, _ shown: [Widget]) -> Bool {
    guard let widget = shown.first(where: { $0.id.rawValue == set }),
      case .string(let path)? = widget.data["path"], let place = place(of: file)
    else { return false }
    return place == BundleStanding.resolved(path)
  }

  /// The folder of a bundle's file, as the host calls it. Nil if a host reads no file of this name.
  static func place(of file: String) -> String? {
    let slash = file.lastIndex(of: "/")
    let name = slash.map { String(file[file.index(after: $0)...]) } ?? file
    guard BundleInstaller.fileNames.contains(name) else { return nil }
    return BundleStanding.resolved(slash.map { "\(file[..<$0])/" } ?? ".")
  }
}
