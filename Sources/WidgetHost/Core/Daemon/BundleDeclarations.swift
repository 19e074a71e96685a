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
    /// The widgets of the last version.
    var specs: [WidgetSpec] = []
    /// The fields that their owners keep, each with the file's value when the owner set the field, as
    /// far as this host knows. Nil for a value that differs from the present one.
    var bases: [String: Value?] = [:]
    /// The edits of the file without effect.
    var edits: Set<BundleClaims.KeptField> = []
  }

  private var bundles: [String: Declared] = [:]
  /// The kinds of the last version of each bundle, and those of earlier versions while their widgets
  /// wait for their removal.
  private var versions: [String: [KindName: BundleKind]] = [:]
  /// The data of the last versions under earlier hosts that no source set, by bundle.
  private var formerData: [String: SettableData] = [:]
  /// The remarks of earlier hosts on bundles that this host has not declared yet.
  private var formerRemarks: [String: [String]] = [:]
  /// The fields that earlier hosts have declared for such bundles, by widget. Also those of widgets
  /// that a bundle of this host is about to declare for the first time.
  private var formerFields: [String: [WidgetID: Set<String>]] = [:]
  /// The file's values of those fields that somebody else has set, by the name of the field.
  private var formerValues: [String: [String: Value]] = [:]

  /// An earlier host ran a bundle.
  mutating func remember(_ known: HostState.Remembered) {
    guard bundles[known.id] == nil else { return }
    formerRemarks[known.id] = known.remarks
    formerData[known.id] = known.settable
  }

  /// The owners of the fields of a widget before a declaration.
  struct FormerOwners: Sendable {
    /// The set of the widget: the bundle's, or that of a bundle from which it takes the widget over.
    var set: String
    var fields: [FieldOwner]
  }

  /// The owners of the fields of a bundle's widgets, as an earlier host or another bundle has left
  /// them.
  mutating func remember(_ owners: [WidgetID: FormerOwners], of id: String) {
    var fields = formerFields[id] ?? [:]
    var values = formerValues[id] ?? [:]
    for (widget, former) in owners {
      let own = former.fields.filter { $0.owner == former.set || $0.manager == former.set }
      fields[widget] = Set(own.map(\.path))
      for field in own where field.manager == former.set {
        values[BundleClaims.KeptField(widget: widget, field: field).name] = field.declared
      }
    }
    formerFields[id] = fields
    formerValues[id] = values
  }

  /// The kinds of the widgets that were declared for a bundle; nil if it was not declared.
  func kinds(of id: String) -> Set<KindName>? { bundles[id]?.kinds }

  /// The rule about the values that go with widgets of a kind; nil if nobody knows the kind.
  ///
  /// - Parameter present: the kind in the file that is declared now.
  func lossRule(
    for name: KindName, of id: String, beside present: BundleKind?
  ) -> LostFields? {
    // The sources of the former version have set the values.
    if let former = versions[id]?[name] ?? present {
      return LostFields(present?.kind ?? former.kind, sources: former.sources)
    }
    return formerData[id]?[name].map { LostFields(name, settable: $0) }
  }

  /// The fields that the bundle's file declared last, by widget.
  func fields(of id: String) -> [WidgetID: Set<String>] {
    (bundles[id]?.fields ?? [:]).merging(formerFields[id] ?? [:]) { last, _ in last }
  }

  /// The daemon has taken the bundle's widgets.
  ///
  /// - Parameters:
  ///   - kept: the fields that their owners keep.
  ///   - isHolding: whether widgets of former versions wait for their removal.
  /// - Returns: the edits of the file without effect, and those that were not reported before.
  mutating func declared(
    _ bundle: Bundle, keeping kept: [BundleClaims.KeptField], isHolding: Bool = false
  ) -> (edits: [BundleClaims.KeptField], news: [BundleClaims.KeptField]) {
    let known = bundles[bundle.id]
    let remarks = formerRemarks.removeValue(forKey: bundle.id) ?? []
    let values = formerValues.removeValue(forKey: bundle.id) ?? [:]
    formerFields[bundle.id] = nil
    var declared = known ?? Declared()
    declared.bases = [:]
    for field in kept {
      let base: Value?
      if let known {
        base = known.bases[field.name] ?? field.value(in: known.specs)
      } else {
        // An earlier host has seen the edit, or no host ran meanwhile. The daemon gives both values
        // the type of the field.
        let wasEdited =
          remarks.contains { $0.hasPrefix(field.editWords) }
          || values[field.name].map { $0 != field.field.declared } ?? false
        base = wasEdited ? nil : field.value(in: bundle.widgets)
      }
      declared.bases.updateValue(base, forKey: field.name)
    }
    let bases = declared.bases
    // The daemon may give a number another type, so its answer is no value of the file.
    let edits = kept.filter { (bases[$0.name] ?? nil) != $0.value(in: bundle.widgets) }
    declared.kinds.formUnion(bundle.widgets.map(\.kind))
    declared.fields = BundleClaims(of: bundle).fields
    declared.specs = bundle.widgets
    declared.edits = Set(edits)
    bundles[bundle.id] = declared
    let kinds = Dictionary(bundle.kinds.map { ($0.kind.name, $0) }) { first, _ in first }
    let former = isHolding ? versions[bundle.id] ?? [:] : [:]
    versions[bundle.id] = former.merging(kinds) { old, _ in old }
    return (edits, edits.filter { known?.edits.contains($0) != true })
  }

  /// The bundle's widgets are removed, or another bundle takes them over.
  mutating func forget(_ id: String, hasHeir: Bool = false) {
    bundles[id] = nil
    formerRemarks[id] = nil
    (formerFields[id], formerValues[id]) = (nil, nil)
    // The heir decides by these about the widgets that it does not have.
    if !hasHeir { (versions[id], formerData[id]) = (nil, nil) }
  }
}
