import WidgetBundleInstaller

/// The table of `bundle ls`. The folders matter only if there are several.
struct BundleTable {
  private var table: Table
  private let hasFolders: Bool
  /// The advice about the names of folders whose bundles run, or would run with the host.
  private(set) var notes: [String] = []

  init(hasFolders: Bool) {
    self.hasFolders = hasFolders
    table =
      hasFolders
      ? Table(
        "ID", "VERSION", "KINDS", "WIDGETS", "FOLDER", "STATE",
        dispensable: ["KINDS", "WIDGETS", "FOLDER", "VERSION"], state: "STATE")
      : Table(
        "ID", "VERSION", "KINDS", "WIDGETS", "STATE",
        dispensable: ["KINDS", "WIDGETS", "VERSION"], state: "STATE")
  }

  /// - Parameters:
  ///   - kinds: their number; nil if nobody knows it.
  ///   - widgets: their number; nil if nobody knows it.
  ///   - folder: of bundles; nil if nobody knows it.
  mutating func add(
    _ id: String, version: String?, kinds: Int?, widgets: Int?, in folder: String?,
    _ state: Table.Cell
  ) {
    func text(_ count: Int?) -> String { count.map { "\($0)" } ?? "-" }
    var cells = [id, version?.nonEmpty ?? "-", text(kinds), text(widgets)]
    if hasFolders { cells.append(folder ?? "-") }
    table.add(cells.map { Table.Cell($0) } + [state])
  }

  /// Adds a bundle of which only the state is known.
  mutating func add(_ standing: BundleStanding) {
    add(
      standing.original ?? standing.id, version: standing.version, kinds: standing.kindCount,
      widgets: standing.widgetCount, in: standing.folder, BundleTable.state(standing))
  }

  /// Adds a bundle whose file has a mistake. The former version may still run, or the bundle may run
  /// under another name than its folder's. Without the host, the name keeps nothing from running.
  ///
  /// - Parameters:
  ///   - standing: nil if no host has reported the bundle.
  ///   - reason: the mistake.
  mutating func add(
    _ id: String, failed standing: BundleStanding?, in folder: String, _ reason: String
  ) {
    let isTold = ["failed", "stopped"].contains(standing?.state)
    if let standing, standing.runs && !isTold || standing.lacksHost,
      BundleInstaller.isAboutName(reason)
    {
      notes.append("bundle \(standing.original ?? standing.id): \(reason)")
      add(standing)
      return
    }
    let state = standing.map {
      isTold ? "\($0.stateWords): \(reason)\($0.othersText)" : "\($0.text); \(reason)"
    }
    add(
      standing.map { $0.original ?? $0.id } ?? id, version: standing?.version, kinds: nil,
      widgets: standing?.widgetCount, in: folder,
      .init(
        state ?? reason, .bad, reason: reason, lead: standing.map { "\($0.state): " } ?? ""))
  }

  /// The state of a bundle whose file can be used.
  ///
  /// - Parameters:
  ///   - version: in the file.
  ///   - bundle: the id in the file.
  static func state(
    _ standing: BundleStanding, having version: String, of bundle: String
  ) -> Table.Cell {
    guard let words = standing.awaiting(version, of: bundle) else { return state(standing) }
    return .init(words + standing.othersText, .warning)
  }

  static func state(_ standing: BundleStanding) -> Table.Cell {
    // The last problem under an ended host does not keep the bundle from running.
    let isWaiting = standing.state == "stopped" && standing.lacksHost
    let reason =
      isWaiting
      ? "widgetd-host is not running; start it" : BundleStanding.firstLine(of: standing.problem)
    let text =
      isWaiting ? "\(standing.state): \(reason)\(standing.othersText)" : standing.text
    guard standing.isBad else { return .init(text, .good) }
    return .init(text, .bad, reason: reason, lead: "\(standing.state): ")
  }

  /// The state of a bundle without a widget that shows it, in a folder of the host.
  ///
  /// - Parameter isNew: whether the host may not have had the time to load the bundle.
  static func unreported(_ style: Style, isNew: Bool = false) -> Table.Cell {
    let reason =
      "widgetd-host has not reported this bundle" + (isNew ? " yet" : "; its log shows why")
    return .init("unknown: \(reason)", style, reason: reason, lead: "unknown: ")
  }

  func text(_ printer: Printer) -> String { table.text(width: printer.width, printer.painter) }
}
