import WidgetClient
import WidgetModel

/// The widgets of others that have kinds of removed bundles. They stay, without their kind.
enum StayingWidgets {
  /// A line for each bundle with such widgets. None if the daemon does not answer.
  ///
  /// - Parameter folder: The folder of bundles; nil for the host's. A host may run the bundles from
  ///   another folder.
  static func ask(
    of bundles: [String], in folder: String? = nil, _ session: Session?
  ) async -> [String] {
    guard let session else { return [] }
    var lines: [String] = []
    for bundle in bundles {
      guard let id = WidgetID("bundle/\(bundle)"),
        let shown = try? await session.client.getWidget(
          GetWidgetRequest(id: id), options: session.options
        ).widget
      else { continue }
      if let folder, shown.data["path"]?.plainText.hasPrefix("\(folder)/") != true { continue }
      if let line = line(of: bundle, BundleStanding(shown)) { lines.append(line) }
    }
    return lines
  }

  /// `2 widgets of others with a kind of bundle desk stay with all data, but without the kind: a, b`
  static func line(of bundle: String, _ standing: BundleStanding) -> String? {
    let (count, first) = (standing.others, standing.othersFirst)
    guard count > 0 else { return nil }
    let (what, stay) =
      count == 1 ? ("1 widget of others", "stays") : ("\(count) widgets of others", "stay")
    return "\(what) with a kind of bundle \(bundle) \(stay) with all data, but without the kind: "
      + first.joined(separator: ", ") + (count > first.count ? ", …" : "")
  }

  static func text(_ lines: [String]) -> String {
    lines.map { "  \($0.safeForTerminal)\n" }.joined()
  }
}
