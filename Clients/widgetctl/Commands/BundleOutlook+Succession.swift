import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

// A bundle whose id somebody has changed in the file that the host reads. It takes over the kinds
// and the widgets of the bundle with the former id.
extension BundleOutlook {
  /// The sets of the bundles that the host has in the folder of a file. The file has another id
  /// now. The host may be stopped.
  ///
  /// - Parameters:
  ///   - id: in the file.
  ///   - shown: see `isRead`.
  static func formers(of id: String, in file: String, _ shown: [Widget]) -> Set<String> {
    guard let place = place(of: file) else { return [] }
    let known = BundleStanding.shown(by: shown).map(\.1)
    let found = known.filter { former in
      // A removal goes on. A bundle whose folder was missing still hands over.
      former.id != id && former.original == nil && !former.isLeaving
        && BundleStanding.resolved(former.path) == place
        // Otherwise the host runs the former bundle from the folder with its second copy.
        && !known.contains { $0.original == former.id }
    }
    return Set(found.map { "bundle/\($0.id)" })
  }

  /// The sets of the bundles whose kinds and widgets the host hands over to a bundle: the id in
  /// their file has changed, perhaps several times.
  ///
  /// - Parameter formers: see `formers`.
  static func inherited(
    by id: String, after formers: Set<String> = [], _ shown: [Widget]
  ) -> Set<String> {
    let own = "bundle/\(id)"
    var inherited = formers
    var heirs = formers.union([own])
    while let heir = heirs.popFirst() {
      guard let heirID = OwnerName.bundle(heir) else { continue }
      for former in shown where former.data["heir"] == .string(heirID) {
        let set = former.id.rawValue
        if set != own, inherited.insert(set).inserted { heirs.insert(set) }
      }
    }
    return inherited
  }

  /// The other folder from which the host uses the bundle with the id of a file, so that it does not
  /// run the file. Nil if there is none.
  ///
  /// - Parameters:
  ///   - shown: see `isRead`.
  ///   - host: the next host uses the first one of two folders with the same bundle.
  static func holder(
    of id: String, besides file: String, _ shown: [Widget], _ host: BundleHost
  ) -> BundleStanding.Holder? {
    guard let place = place(of: file) else { return nil }
    for (path, other) in BundleStanding.shown(by: shown)
    where other.id == id && other.original == nil && path != place {
      guard !MovedBundle.lacks(id, at: path) else { continue }
      if host.isRunning {
        if let holder = other.holder { return holder }
      } else if other.folder.map({ host.ran($0) }) == true,
        (try? BundleInstaller.anywhere.read(at: path)) != nil,
        host.order.sorted([path, place]).first == path
      {
        return BundleStanding.Holder(path: path)
      }
    }
    return nil
  }

  /// A remark that the host does not run a file, because it runs another bundle with the id of the
  /// file. The bundle with the former id then ends. Nil if the host runs the file.
  ///
  /// - Parameter formers: see `formers`.
  static func idle(
    _ file: String, of bundle: Bundle, after formers: Set<String>, _ shown: [Widget],
    _ client: WidgetClient, _ options: CallOptions
  ) async throws -> Remark? {
    guard let host = await Self.host(client, options),
      let holder = Self.holder(of: bundle.id, besides: file, shown, host)
    else { return nil }
    let mask = try ReadMask(paths: ["id", "kind", "apply_set"])
    return idle(
      bundle.id, after: formers, holder, running: LossRules.file(of: bundle.id, shown),
      try await client.allKinds(options),
      try await client.all(Selector(), mask, options).map(\.widget))
  }

  /// - Parameters:
  ///   - other: the bundle that the host runs; nil if its file cannot be read.
  ///   - kinds: of the daemon.
  ///   - widgets: of the daemon.
  static func idle(
    _ id: String, after formers: Set<String>, _ holder: BundleStanding.Holder,
    running other: Bundle?, _ kinds: [RegisteredKind], _ widgets: [Widget]
  ) -> Remark {
    let goes = parts(
      kinds.filter { kind in
        formers.contains(kind.provider)
          && other?.kinds.contains { $0.kind.name == kind.kind.name } != true
      }.map(\.kind.name),
      widgets.filter { widget in
        formers.contains(widget.applySet)
          && other?.widgets.contains { $0.id == widget.id && $0.kind == widget.kind } != true
      })
    let former = FormerNames(formers)
    let reason =
      holder.isRefused
      ? "widgetd-host uses bundle \(id) in \(holder.path)"
      : "widgetd-host runs bundle \(id) from \(holder.path)"
    return Remark(
      path: "bundle",
      message: "the file had \(former.ids) before. \(reason), so this file will not run. When "
        + "widgetd-host reads the file, \(former.bundles) \(former.isOne ? "ends" : "end")"
        + (goes.isEmpty ? "" : ", and widgetd-host removes \(goes), with all values"),
      hint: "change the id back, or to an id that no other bundle has")
  }

  /// The words for former bundles.
  private struct FormerNames {
    let isOne: Bool
    /// `the id old`
    let ids: String
    /// `bundle old`
    let bundles: String

    init(_ sets: Set<String>) {
      let names = sets.compactMap { OwnerName.bundle($0) }.sorted()
      let list = BundleOutlook.shortened(names)
      isOne = names.count == 1
      ids = isOne ? "the id \(list)" : "the ids \(list)"
      bundles = isOne ? "bundle \(list)" : "the bundles \(list)"
    }
  }

  /// A remark that a bundle takes the place of others. None if these have no kinds and no widgets.
  ///
  /// - Parameters:
  ///   - sets: of the others.
  ///   - formers: see `formers`. The other sets ended before, or are absent.
  ///   - absent: see `absent`.
  ///   - kinds: of the daemon.
  ///   - widgets: of the daemon.
  ///   - isRefused: whether the daemon refuses the bundle for now.
  static func succession(
    of sets: Set<String>, after formers: Set<String>, _ absent: [String: String] = [:],
    by bundle: Bundle, _ kinds: [RegisteredKind], _ widgets: [Widget], isRefused: Bool = false
  ) -> Remark? {
    let formerKinds = kinds.filter { sets.contains($0.provider) }.map(\.kind.name)
    let formerWidgets = widgets.filter { sets.contains($0.applySet) }
    guard !formerKinds.isEmpty || !formerWidgets.isEmpty else { return nil }
    func hasKind(_ kind: KindName) -> Bool { bundle.kinds.contains { $0.kind.name == kind } }
    func spec(_ widget: Widget) -> WidgetSpec? { bundle.widgets.first { $0.id == widget.id } }
    let taken = formerWidgets.filter { spec($0)?.kind == $0.kind }
    let replaced = formerWidgets.filter { widget in
      spec(widget).map { $0.kind != widget.kind } ?? false
    }.map(\.id.rawValue).sorted()
    let stays = parts(formerKinds.filter(hasKind), taken)
    let goes = parts(
      formerKinds.filter { !hasKind($0) }, formerWidgets.filter { spec($0) == nil })
    let former = FormerNames(formers.isEmpty ? Set(absent.keys) : formers)
    let start =
      formers.isEmpty
      ? "no host is running, and \(shortened(absent.values.sorted())) \(former.isOne ? "is" : "are") "
        + "missing, where the last host had \(former.bundles). When widgetd-host starts with this file"
      : "the file had \(former.ids) before. When widgetd-host reads it"
    let them = former.isOne ? "it" : "them"
    let then = isRefused ? " then" : ""
    var hint = "this bundle\(then) takes over "
    hint += stays.isEmpty ? "no kinds and no widgets" : stays
    if !taken.isEmpty { hint += ", with the values that users, events and actions have set" }
    if !replaced.isEmpty {
      hint +=
        (replaced.count == 1 ? "; a new widget\(then) replaces " : "; new widgets\(then) replace ")
        + shortened(replaced)
    }
    if !goes.isEmpty { hint += "; widgetd-host\(then) removes \(goes)" }
    return Remark(
      path: "bundle",
      message: "\(start), \(former.bundles) " + (former.isOne ? "ends" : "end")
        + (isRefused
          ? ". This bundle replaces \(them) when the daemon accepts this bundle"
          : ", and this bundle replaces \(them)"),
      hint: hint)
  }

  /// `the kind gauge and the widgets a, b`; empty if there are none.
  private static func parts(_ kinds: [KindName], _ widgets: [Widget]) -> String {
    func part(_ word: String, _ names: [String]) -> String? {
      names.isEmpty
        ? nil : "the \(word)\(names.count == 1 ? "" : "s") \(shortened(names.sorted()))"
    }
    return [part("kind", kinds.map(\.rawValue)), part("widget", widgets.map(\.id.rawValue))]
      .compactMap(\.self).joined(separator: " and ")
  }

  /// The refusal to install a file that the host reads where it is, with what the host does then. It
  /// has no next step, because the file needs none. The refusal of another file stays as it is.
  func named(in refusal: CommandFailure, reading file: String) -> CommandFailure {
    guard isLive else { return refusal }
    let lines = remarks.map { "\n  \($0.text.safeForTerminal)" }.joined()
    return refusal.saying(
      "\(BundleInstaller.withoutStep(aboutCopy: refusal.message))\nThe file needs no installation, "
        + "because widgetd-host reads \(file.safeForTerminal)\(lines.isEmpty ? "" : ":")\(lines)")
  }
}
