import WidgetBundle
import WidgetModel

/// The things that this host has declared for each bundle. A bundle is declared again after each
/// edit and reconnect, so the next declaration is compared with the last one.
struct BundleDeclarations: Sendable {
  private struct Declared: Sendable {
    /// The kinds of the widgets of all versions.
    var kinds: Set<KindName> = []
    /// The fields of the last version, by widget.
    var fields: [WidgetID: Set<String>] = [:]
    /// The fields that were reported as kept by their owners.
    var kept: Set<BundleClaims.KeptField> = []
  }

  private var bundles: [String: Declared] = [:]

  /// The kinds of the widgets that were declared for a bundle; nil if it was not declared.
  func kinds(of id: String) -> Set<KindName>? { bundles[id]?.kinds }

  /// The fields that the bundle's file declared last, by widget.
  func fields(of id: String) -> [WidgetID: Set<String>] { bundles[id]?.fields ?? [:] }

  /// The daemon has taken the bundle's widgets.
  ///
  /// - Parameter kept: the fields that their owners keep.
  /// - Returns: those that were not reported before.
  mutating func declared(
    _ bundle: Bundle, keeping kept: [BundleClaims.KeptField]
  ) -> [BundleClaims.KeptField] {
    let known = bundles[bundle.id]?.kept ?? []
    bundles[bundle.id, default: Declared()].kinds.formUnion(bundle.widgets.map(\.kind))
    bundles[bundle.id]?.fields = BundleClaims(of: bundle).fields
    bundles[bundle.id]?.kept = Set(kept)
    return kept.filter { !known.contains($0) }
  }

  /// The bundle's widgets are removed.
  mutating func forget(_ id: String) { bundles[id] = nil }
}
