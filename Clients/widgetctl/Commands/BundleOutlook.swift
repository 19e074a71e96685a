import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// The conflicts of a bundle in the daemon: kinds of others, widgets that others made of its kinds,
/// and fields of its widgets that others set.
struct BundleOutlook: Hashable, Sendable {
  /// One remark for the user before the installation of the bundle.
  struct Remark: Hashable, Sendable {
    /// The place in the bundle: `kinds.gauge`.
    let path: String
    let message: String
    let hint: String
    /// Whether the daemon refuses the bundle for this reason.
    var isRefusal = false
    /// The set or provider that owns the part; empty if this does not matter.
    var owner = ""
  }

  /// How the version reaches the host.
  enum Arrival: Hashable, Sendable {
    /// Somebody installs the version.
    case installation
    /// Somebody has edited the file that the host reads.
    case edit
    /// The installer has written the file that the host reads.
    case reading

    /// The same for a widget that the host does not keep for a while.
    var withoutDelay: Arrival { self == .edit ? .reading : self }
  }

  private(set) var remarks: [Remark] = []
  private(set) var kept: [KeptField] = []
  /// What is lost with the other bundle that the host has in the folder of the version.
  private(set) var losses: [Remark] = []
  /// The kinds of other bundles and programs, and of the daemon itself. Empty if all widgets of the
  /// bundle have kinds of the bundle.
  private(set) var otherKinds: [KindName] = []
  private(set) var arrival = Arrival.installation
  /// Whether the file is the one from which the host runs the bundle, so that nobody installs it.
  var isLive: Bool { arrival != .installation }
  /// The reason why the bundle will change nothing: the running host does not run its folder, or runs
  /// the bundle from another folder. There are then no remarks and no kept fields. Nil if the host
  /// runs the bundle in the folder, or may do so later.
  private(set) var absence: String?
  /// Whether the folders of the host are known, or do not matter.
  private(set) var isHostKnown = true
  /// The folder from which the host uses the bundle; nil if it does not, or if nobody knows.
  private(set) var holder: BundleStanding.Holder?

  /// Ids that a remark names.
  private static let idsMax = 5

  /// Asks the daemon, for a limited time in all, because bundles need no daemon. Nil if the daemon
  /// could not be asked.
  ///
  /// - Parameters:
  ///   - folder: where the bundle is installed, or will be; nil for the folder of the host, and for
  ///     a file without a folder.
  ///   - file: the bundle's file, which may be the one that the host reads; nil for a file that will
  ///     be installed.
  ///   - isRemote: whether the host changes its first folder.
  static func of(
    _ bundle: Bundle, _ global: GlobalOptions, beside folder: String? = nil, file: String? = nil,
    isRemote: Bool = false
  ) async -> BundleOutlook? {
    guard let session = try? global.session() else { return nil }
    let (limit, options) = (global.optionalTimeout, global.optionalCall)
    let client = session.client
    // Each call has the limit, too, but there are many calls.
    let asking = Task { () -> BundleOutlook? in
      guard
        var outlook = try? await of(
          bundle, beside: folder, file: file, isRemote: isRemote, client, options)
      else { return nil }
      guard isRemote || folder != nil else { return outlook }
      let host = await BundleHost.ask(client, options)
      guard let target = folder ?? host.firstFolder else {
        outlook.isHostKnown = false
        return outlook
      }
      guard
        let absence = host.absence(from: target)
          ?? BundleStanding.rival(of: bundle.id, outlook.holder, installedIn: target, host)
      else { return outlook }
      outlook.remarks = []
      outlook.kept = []
      outlook.absence = absence
      return outlook
    }
    let alarm = Task {
      try await Task.sleep(for: limit)
      asking.cancel()
    }
    let outlook = await asking.value
    alarm.cancel()
    await client.close()
    return outlook
  }

  private static func of(
    _ bundle: Bundle, beside folder: String?, file: String?, isRemote: Bool,
    _ client: WidgetClient, _ options: CallOptions
  ) async throws -> BundleOutlook {
    var outlook = BundleOutlook()
    let set = "bundle/\(bundle.id)"
    let declared = Set(bundle.widgets.compactMap(\.id))
    let shown = try await shown(client, options)
    let formers = file.map { BundleOutlook.formers(of: bundle.id, in: $0, shown) } ?? []
    if let file, !formers.isEmpty,
      let remark = try await idle(file, of: bundle, after: formers, shown, client, options)
    {
      outlook.remarks = [remark]
      return outlook
    }
    let kinds = try await client.allKinds(options)
    let host = await shown.isEmpty ? nil : Self.host(client, options)
    let absent = try await absent(besides: bundle, kinds, shown, host, client, options)
    var arrival =
      file.map { BundleOutlook.arrival(of: $0, by: formers.min() ?? set, shown) } ?? .installation
    if let file, arrival == .installation, !absent.isEmpty {
      arrival = BundleOutlook.arrival(of: file, inFolderOf: host) ?? arrival
    }
    outlook.arrival = arrival
    outlook.holder = shown.first { $0.id.rawValue == set }.flatMap { BundleStanding($0).holder }
    let home = isRemote ? await firstFolder(client, options) : folder
    let occupant = home.flatMap {
      arrival == .installation
        ? BundleOutlook.occupant(of: bundle.id, in: $0, file: file, shown) : nil
    }
    var inherited = inherited(by: bundle.id, after: formers.union(absent.keys), shown)
    let ended = formers.isEmpty && absent.isEmpty ? [] : inherited
    let occupantSet = occupant.map { "bundle/\($0.id)" }
    if let occupantSet { inherited.insert(occupantSet) }
    let own = inherited.union([set])
    let files = LossRules.files(of: bundle, replacing: occupant, arrival, shown)
    let settable = LossRules.settable(of: own, shown)
    var registered: [KindName: Kind] = [:]
    for kind in bundle.kinds.map(\.kind) {
      let name = kind.name
      var provider: String?
      do throws(ClientError) {
        let answer = try await client.getKind(GetKindRequest(name: name), options: options)
        provider = answer.kind.provider
        registered[name] = answer.kind.kind
      } catch {
        guard error.status?.code == .notFound else { throw error }
      }
      if let provider, !own.contains(provider) {
        let refusal = claimed(name, by: provider)
        let doubt = BundleOutlook.doubt(about: refusal, shown, host) { file in
          file.kinds.contains { $0.kind.name == name }
        }
        outlook.remarks.append(doubt ?? refusal)
        continue
      }
      let mask = try ReadMask(paths: ["id", "kind", "apply_set", "owners", "data", "parameters"])
      let widgets = try await client.all(Selector(kinds: [name]), mask, options)
      let others = widgets.map(\.widget)
        .filter { !own.contains($0.applySet) && !declared.contains($0.id) }
        .map(\.id.rawValue)
      if let remark = shared(name, others, isRegistered: provider != nil) {
        outlook.remarks.append(remark)
      }
      let rules = LossRules(
        [registered[name]].compactMap(\.self), in: files, settable: settable)
      if let remark = misfits(kind, widgets, of: own, before: registered[name], by: rules) {
        outlook.remarks.append(remark)
      }
    }
    func dropped(by set: String) -> [KindName] {
      kinds.filter { kind in
        kind.provider == set && !bundle.kinds.contains { $0.kind.name == kind.kind.name }
      }.map(\.kind.name)
    }
    for former in own.sorted() where former != occupantSet {
      outlook.remarks += try await BundleOutlook.dropped(
        dropped(by: former), of: own, keeping: declared, client, options)
    }
    let places = try ReadMask(paths: ["id", "kind", "apply_set"])
    let former = try await ended.isEmpty ? [] : client.all(Selector(), places, options)
    // The remark about the former bundles comes first, and depends on the others.
    func complete(_ outlook: BundleOutlook) -> BundleOutlook {
      var outlook = outlook
      let remark = succession(
        of: ended, after: formers, absent, by: bundle, kinds, former.map(\.widget),
        isRefused: outlook.remarks.contains(where: \.isRefusal))
      if let remark { outlook.remarks.insert(remark, at: 0) }
      return outlook
    }
    for former in [set] + (arrival == .installation ? [] : inherited.sorted()) {
      outlook.remarks += try await leaving(
        former, keeping: declared, arrival: arrival, files: files, shown, client, options
      ) {
        InstalledWidgets(besides: bundle.id, after: own, shown, in: folder)
      }
    }
    if let occupant, let occupantSet {
      outlook.losses = try await BundleOutlook.dropped(
        dropped(by: occupantSet), of: own, keeping: declared, replacing: occupantSet, client,
        options)
      outlook.losses += try await leaving(
        occupantSet, keeping: declared, arrival: .installation, isReplaced: true,
        files: LossRules.file(of: occupant.id, shown).map { [$0] } ?? [], shown, client, options
      ) {
        InstalledWidgets(besides: bundle.id, shown, in: folder, without: occupant)
      }
    }
    guard !bundle.widgets.isEmpty else { return complete(outlook) }
    if bundle.remarks.contains(where: { $0.foreignKind != nil }) {
      // A kind that the file no longer has goes with the installation.
      outlook.otherKinds = kinds.filter { !own.contains($0.provider) }.map(\.kind.name)
    }
    let mask = try ReadMask(
      paths: [
        "id", "kind", "apply_set", "owners", "data", "parameters", "labels", "presence", "stale",
        "error",
      ])
    let known = try await client.all(
      Selector(ids: bundle.widgets.compactMap(\.id)), mask, options)
    let changing = known.filter { known in
      bundle.widgets.contains { $0.id == known.widget.id && $0.kind != known.widget.kind }
    }
    let rules = try await LossRules.ask(
      Set(changing.map(\.widget.kind)), in: files, settable: settable, client, options)
    for former in own.sorted() {
      let gap = unnamed(
        in: changing.filter { $0.widget.applySet == former }, of: former, by: rules)
      if let gap { outlook.remarks.append(gap) }
    }
    for spec in bundle.widgets {
      guard let found = known.first(where: { $0.widget.id == spec.id }) else { continue }
      let widget = handedOver(found, from: inherited, to: set)
      let former = found.widget.applySet
      let paths = own.contains(former) ? lost(with: found, of: former, by: rules) : []
      let remark =
        replaced(
          spec, widget.widget, by: set, losing: paths,
          hidesValues: rules.hidesValues(of: found.widget, found.owners),
          arrival: paths.isEmpty ? arrival.withoutDelay : arrival)
        ?? taken(widget.widget, by: set)
      let doubt = remark.flatMap { remark in
        BundleOutlook.doubt(about: remark, shown, host) { file in
          file.widgets.contains { $0.id == spec.id }
        }
      }
      if let remark { outlook.remarks.append(doubt ?? remark) }
      // A new widget has no values, and those of a refused bundle do not follow from here.
      guard spec.kind == widget.widget.kind, remark?.isRefusal != true else { continue }
      let kind = bundle.kinds.first { $0.kind.name == spec.kind }
      let before = registered[spec.kind]
      outlook.kept += kept(spec, widget, kind?.kind, by: set, before: before)
      if let kind, let before {
        outlook.kept += keptUnrecorded(spec, found, kind, before: before)
      }
    }
    return complete(outlook)
  }

  /// The missing bundles that this one replaces; see `absent` and `clashing`.
  private static func absent(
    besides bundle: Bundle, _ kinds: [RegisteredKind], _ shown: [Widget], _ host: BundleHost?,
    _ client: WidgetClient, _ options: CallOptions
  ) async throws -> [String: String] {
    let absent = absent(besides: bundle.id, shown, host)
    guard !absent.isEmpty else { return [:] }
    let ids = bundle.widgets.compactMap(\.id)
    let mask = try ReadMask(paths: ["id", "kind", "apply_set"])
    let widgets = try await ids.isEmpty ? [] : client.all(Selector(ids: ids), mask, options)
    return clashing(absent, with: bundle, kinds, widgets.map(\.widget))
  }

  /// The widgets with the states of the bundles.
  private static func shown(
    _ client: WidgetClient, _ options: CallOptions
  ) async throws -> [Widget] {
    guard let kind = KindName("bundle") else { return [] }
    return try await client.all(
      Selector(kinds: [kind]), ReadMask(paths: ["id", "apply_set", "data"]), options
    ).map(\.widget).filter(\.showsBundle)
  }

  /// A widget as it is after the host has handed it over to the bundle. The fields that the former
  /// file declares then follow the new file, so they have no owner here.
  ///
  /// - Parameter sets: see `inherited`. Other widgets do not change.
  static func handedOver(
    _ known: TaggedWidget, from sets: Set<String>, to set: String
  ) -> TaggedWidget {
    let former = known.widget.applySet
    guard sets.contains(former) else { return known }
    var known = known
    known.widget.applySet = set
    known.owners.removeAll { $0.owner == former }
    return known
  }

  /// `a, b, c, d, e, …`
  static func shortened(_ names: [String]) -> String {
    names.prefix(idsMax).joined(separator: ", ") + (names.count > idsMax ? ", …" : "")
  }

  /// The warnings at an installation.
  var warnings: [String] { (remarks + losses).map(\.text) + kept.compactMap(\.news) }

  /// The reasons for which the daemon refuses the bundle.
  ///
  /// - Parameter bundle: the id of the bundle that it replaces in its folder. The host hands over the
  ///   kinds and widgets of that bundle.
  func refusals(replacing bundle: String) -> [String] {
    remarks.filter { $0.isRefusal && OwnerName.bundle($0.owner) != bundle }.map(\.text)
  }

  /// The warnings of a bundle's reader that apply here. The reader does not know the kinds of others,
  /// and the daemon does.
  func remarks(of bundle: Bundle) -> [BundleProblem] {
    bundle.remarks.compactMap { remark($0, own: bundle.kinds.map(\.kind.name.rawValue)) }
  }

  /// The warnings about kinds that neither the bundle nor anybody else has.
  ///
  /// - Parameter file: the bundle's file.
  func missingKinds(of bundle: Bundle, file: String) -> [String] {
    remarks(of: bundle).filter { $0.foreignKind != nil }.map { "\(file):\($0)" }
  }

  /// The warnings of an installer, of which those about missing kinds are replaced by what the daemon
  /// knows. Those about kinds and widgets that also have a remark about the same bundle are left out.
  func refined(_ warnings: [String], of bundle: Bundle) -> [String] {
    let told = remarks.filter(\.isRefusal)
    var refined = warnings.filter { warning in
      !told.contains { remark in
        OwnerName.bundle(remark.owner).map {
          BundleInstaller.isClash(warning, about: remark.part, with: $0)
        } ?? false
      }
    }
    let own = bundle.kinds.map(\.kind.name.rawValue)
    for problem in bundle.remarks where problem.foreignKind != nil {
      let text = "\(problem)"
      guard let index = refined.firstIndex(where: { $0.hasSuffix(":\(text)") }) else { continue }
      if let known = remark(problem, own: own) {
        refined[index] = String(refined[index].dropLast(text.count)) + "\(known)"
      } else {
        refined.remove(at: index)
      }
    }
    return refined
  }

  /// A warning of a bundle's reader with what the daemon knows. Nil if somebody provides the kind
  /// that the warning misses.
  private func remark(_ problem: BundleProblem, own: [String]) -> BundleProblem? {
    guard let kind = problem.foreignKind else { return problem }
    guard !otherKinds.contains(kind) else { return nil }
    var problem = problem
    let names = own + (BundleReader.builtInKinds + otherKinds).map(\.rawValue)
    problem.message =
      "no bundle or program provides the kind \"\(kind)\", so the widget shows its data as a table"
    problem.hint = MissingKind.hint(for: kind, among: names)
    return problem
  }

  static func claimed(_ kind: KindName, by provider: String) -> Remark {
    let bundle = OwnerName.bundle(provider)
    // A set and a provider can have the same name. `apply` has this set by default.
    let owner =
      bundle.map { "bundle \($0)" }
      ?? (provider == "default" ? "the set default" : "the set or provider \(provider)")
    let step =
      bundle.map { _ in "remove it from the file of that bundle" }
      ?? "remove it with `widgetctl rm-kind \(kind)`"
    return Remark(
      path: "kinds.\(kind)",
      message: "kind \"\(kind)\" belongs to \(owner), so the daemon refuses this bundle",
      hint: "rename the kind, or \(step)", isRefusal: true, owner: provider)
  }

  /// - Parameter ids: of widgets of a kind that the bundle has not declared.
  static func shared(_ kind: KindName, _ ids: [String], isRegistered: Bool) -> Remark? {
    guard !ids.isEmpty else { return nil }
    let count = ids.count == 1 ? "1 widget" : "\(ids.count) widgets"
    let list = shortened(ids.sorted())
    return isRegistered
      ? Remark(
        path: "kinds.\(kind)",
        message: "\(count) of kind \"\(kind)\" that others created "
          + "\(ids.count == 1 ? "follows" : "follow") the bundle: \(list)",
        hint: "if the kind changes, these widgets change, too")
      : Remark(
        path: "kinds.\(kind)",
        message: "\(count) of kind \"\(kind)\" that others created "
          + "\(ids.count == 1 ? "gets" : "get") the fields and the content of the bundle's kind: \(list)",
        hint: "the owners stay; to keep the widgets as they are, rename the kind")
  }
}

extension BundleOutlook.Remark {
  var text: String { "\(message); \(hint)" }

  /// The part of the bundle that the remark is about: `kind "gauge"`, `widget "hall"`.
  var part: String {
    let names = path.split(separator: ".", maxSplits: 1)
    return "\(names.first == "kinds" ? "kind" : "widget") \"\(names.last ?? "")\""
  }

  var problem: BundleProblem {
    BundleProblem(line: 1, column: 1, path: path, message: message, hint: hint)
  }
}

extension WidgetClient {
  /// All kinds of the daemon.
  func allKinds(_ options: CallOptions) async throws -> [RegisteredKind] {
    var kinds: [RegisteredKind] = []
    try await ListPages.read(options) { (token, options) throws(ClientError) in
      let page = try await listKinds(ListKindsRequest(pageToken: token), options: options)
      kinds += page.kinds
      return page.nextPageToken
    }
    return kinds
  }

  /// All widgets that a selector selects.
  func all(
    _ selector: Selector, _ mask: ReadMask, _ options: CallOptions
  ) async throws -> [TaggedWidget] {
    var widgets: [TaggedWidget] = []
    var request = ListWidgetsRequest(selector: selector, pageSize: 1000, readMask: mask)
    try await ListPages.read(options) { (token, options) throws(ClientError) in
      request.pageToken = token
      let page = try await listWidgets(request, options: options)
      widgets += page.widgets
      return page.nextPageToken
    }
    return widgets
  }
}
