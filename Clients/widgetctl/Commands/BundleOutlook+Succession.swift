import WidgetBundle
import WidgetClient
import WidgetModel

// A bundle whose id somebody has changed in the file that the host reads. It takes over the kinds
// and the widgets of the bundle with the former id.
extension BundleOutlook {
  /// The sets of the bundles that the host has in the folder of a file, which has another id now.
  /// The host may be stopped.
  ///
  /// - Parameters:
  ///   - id: in the file.
  ///   - shown: see `isRead`.
  static func formers(of id: String, in file: String, _ shown: [Widget]) -> Set<String> {
    guard let place = place(of: file) else { return [] }
    let known = BundleStanding.shown(by: shown).map(\.1)
    let found = known.filter { former in
      former.id != id && former.original == nil && BundleStanding.resolved(former.path) == place
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

  /// A remark that a bundle takes the place of others. None if these have no kinds and no widgets.
  ///
  /// - Parameters:
  ///   - sets: of the others.
  ///   - kinds: of the daemon.
  static func succession(
    of sets: Set<String>, by bundle: Bundle, _ kinds: [RegisteredKind], _ client: WidgetClient,
    _ options: CallOptions
  ) async throws -> [Remark] {
    guard !sets.isEmpty else { return [] }
    let mask = try ReadMask(paths: ["id", "kind", "apply_set"])
    let widgets = try await client.all(Selector(), mask, options).map(\.widget)
    return [succession(of: sets, by: bundle, kinds, widgets)].compactMap(\.self)
  }

  /// - Parameter widgets: of the daemon.
  static func succession(
    of sets: Set<String>, by bundle: Bundle, _ kinds: [RegisteredKind], _ widgets: [Widget]
  ) -> Remark? {
    let formerKinds = kinds.filter { sets.contains($0.provider) }.map(\.kind.name)
    let formerWidgets = widgets.filter { sets.contains($0.applySet) }
    guard !formerKinds.isEmpty || !formerWidgets.isEmpty else { return nil }
    func hasKind(_ kind: KindName) -> Bool { bundle.kinds.contains { $0.kind.name == kind } }
    func hasWidget(_ widget: Widget) -> Bool {
      bundle.widgets.contains { $0.id == widget.id && $0.kind == widget.kind }
    }
    let taken = formerWidgets.filter(hasWidget)
    let stays = parts(formerKinds.filter(hasKind), taken)
    let goes = parts(
      formerKinds.filter { !hasKind($0) }, formerWidgets.filter { !hasWidget($0) })
    let ids = sets.compactMap { OwnerName.bundle($0) }.sorted()
    let (former, ends, whose) =
      ids.count == 1
      ? ("bundle \(ids[0])", "ends", "its") : ("the bundles \(shortened(ids))", "end", "their")
    var hint = "this bundle takes over "
    hint += stays.isEmpty ? "no kinds and no widgets" : stays
    if !taken.isEmpty { hint += ", with the values that users, events and actions have set" }
    if !goes.isEmpty { hint += "; widgetd-host removes \(goes)" }
    return Remark(
      path: "bundle",
      message: "widgetd-host has \(former) in the folder of this file. When widgetd-host reads the "
        + "file, \(former) \(ends), and this bundle takes \(whose) place",
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

  /// The refusal to install a file that the host reads where it is, with what the host does then.
  /// The refusal of another file stays as it is.
  func named(in refusal: CommandFailure, reading file: String) -> CommandFailure {
    guard isLive else { return refusal }
    let lines = remarks.map { "\n  \($0.text.safeForTerminal)" }.joined()
    return refusal.saying(
      "\(refusal.message)\nThe file needs no installation, because widgetd-host reads "
        + "\(file.safeForTerminal)\(lines.isEmpty ? "" : ":")\(lines)")
  }
}
