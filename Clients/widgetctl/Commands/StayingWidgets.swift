import WidgetClient
import WidgetModel

/// The widgets of others that have kinds of a removed bundle. They stay, without their kind.
struct StayingWidgets: Hashable, Sendable {
  let bundle: String
  let count: Int
  /// The ids of the first ones, each with its owner.
  let first: [String]

  /// Nil if there are no such widgets.
  ///
  /// - Parameter standing: The last state of the bundle.
  init?(of bundle: String, _ standing: BundleStanding) {
    guard standing.others > 0 else { return nil }
    (self.bundle, count, first) = (bundle, standing.others, standing.othersFirst)
  }

  /// Those of each bundle that has some. None if the daemon does not answer.
  ///
  /// - Parameters:
  ///   - folder: The folder of bundles; nil for the host's. A host may run the bundles from another
  ///     folder.
  ///   - places: see `LostValues.isRun`.
  static func ask(
    of bundles: [String], in folder: String? = nil, at places: [String: String] = [:],
    _ session: Session?
  ) async -> [StayingWidgets] {
    guard let session else { return [] }
    var found: [StayingWidgets] = []
    for bundle in bundles {
      guard let id = WidgetID("bundle/\(bundle)"),
        let shown = try? await session.client.getWidget(
          GetWidgetRequest(id: id), options: session.options
        ).widget, shown.showsBundle
      else { continue }
      let path = shown.data["path"]?.plainText ?? ""
      if let folder, !LostValues.isRun(bundle, from: path, in: folder, at: places),
        !MovedBundle.isGone(bundle, from: path)
      {
        continue
      }
      if let staying = StayingWidgets(of: bundle, BundleStanding(shown)) { found.append(staying) }
    }
    return found
  }

  /// `2 widgets of others keep their data, but lose their kind: a, b`
  var line: String {
    "\(StayingWidgets.words(count)): " + first.joined(separator: ", ")
      + (count > first.count ? ", …" : "")
  }

  /// `2 widgets of others keep their data, but lose their kind`
  static func words(_ count: Int) -> String {
    count == 1
      ? "1 widget of others keeps its data, but loses its kind"
      : "\(count) widgets of others keep their data, but lose their kind"
  }

  var document: Value {
    .map([
      "bundle": .string(bundle), "count": .int(Int64(count)),
      "first": .list(first.map { .string($0) }),
    ])
  }

  static func text(_ staying: [StayingWidgets]) -> String {
    staying.map { "  \($0.line.safeForTerminal)\n" }.joined()
  }
}
