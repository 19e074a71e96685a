import WidgetBundle
import WidgetClient
import WidgetExpression
import WidgetModel

extension InstalledBundle {
  /// The bundle with only the names of its kinds and widgets, as far as the daemon's refusals depend
  /// on them. Nil if an older host does not tell the kinds of the widgets.
  var outline: Bundle? {
    guard widgets.count == widgetKinds.count else { return nil }
    var outline = outlineOfKinds
    outline.widgets = zip(widgets, widgetKinds).compactMap { widget, kind in
      guard let id = WidgetID(widget), let kind = KindName(kind) else { return nil }
      return WidgetSpec(id: id, kind: kind)
    }
    return outline
  }

  /// The same without the widgets.
  private var outlineOfKinds: Bundle {
    Bundle(
      id: id, version: version,
      kinds: kinds.compactMap { name in
        KindName(name).map { kind in
          BundleKind(
            kind: Kind(name: kind),
            scope: BundleScope(environment: ExpressionEnvironment(variables: [])))
        }
      })
  }

  /// What the daemon knows about the version after the host has installed it. Nil if the daemon could
  /// not be asked.
  func outlook(_ global: GlobalOptions) async -> BundleOutlook? {
    await BundleOutlook.of(outline ?? outlineOfKinds, global, isRemote: true)
  }

  /// The folder of bundles that has the bundle.
  fileprivate var place: String {
    folder.split(separator: "/").dropLast().map { "/\($0)" }.joined()
  }
}

// Warnings about a version that the host has installed, if nobody could ask for them before.
extension BundleRemote {
  /// The reasons why the installed version does not run: another folder has the bundle, or others own
  /// its kinds and widgets. If this is not known, the command says so.
  ///
  /// - Parameter former: the id of the bundle that the version replaces in its folder.
  static func doubts(
    about bundle: InstalledBundle, replacing former: String, _ global: GlobalOptions
  ) async -> [String] {
    let outlook = await bundle.outlook(global)
    if let absence = outlook?.absence { return [absence] }
    let host = await BundleHost.ask(global)
    if outlook == nil,
      let rival = await BundleStanding.rival(
        of: bundle.id, installedIn: bundle.place, host, global)
    {
      return [rival]
    }
    return doubts(about: bundle, outlook?.refusals(replacing: former), host)
  }

  /// - Parameter refusals: the reasons for which the daemon refuses the version; nil if the daemon
  ///   could not be asked.
  static func doubts(
    about bundle: InstalledBundle, _ refusals: [String]?, _ host: BundleHost
  ) -> [String] {
    // An older host does not tell the kinds of the widgets, and some hosts report no folders.
    let isSure = refusals != nil && bundle.outline != nil && host.runs(bundle.place) != nil
    return (refusals ?? [])
      + (isSure
        ? []
        : [
          "this command could not check whether other bundles or folders keep bundle \(bundle.id) "
            + "from running; `widgetctl bundle ls --remote` shows its state"
        ])
  }
}
