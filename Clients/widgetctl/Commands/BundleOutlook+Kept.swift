import WidgetBundle
import WidgetClient
import WidgetModel

// The fields of widgets that stay as they are, though the version has another value.
extension BundleOutlook {
  /// A field that keeps its value, because somebody has set it.
  struct KeptField: Hashable, Sendable {
    let widget: WidgetID
    let owner: FieldOwner
    /// The widget's value and the file's value.
    let value: Value?
    let declared: Value
    /// The value in the installed version, if it differs.
    var former: Value?
    /// Whether the file's value is the default of the kind, so that no set can get the field back.
    var isDefault = false
  }

  /// The fields that keep their value, though the file declares another.
  ///
  /// - Parameter before: the kind as it is registered.
  static func kept(
    _ spec: WidgetSpec, _ known: TaggedWidget, _ kind: Kind?, by manager: String,
    before: Kind? = nil
  ) -> [KeptField] {
    known.owners.compactMap { owner in
      // The values of the file of another bundle move with the widget.
      guard owner.owner != manager, owner.owner != known.widget.applySet,
        let (part, key) = FieldOwner.parse(owner.path)
      else { return nil }
      let declared: Value? =
        switch part {
        case .data: spec.data[key]
        case .parameters: spec.parameters[key]
        case .labels: spec.labels[key].map { .string($0) }
        }
      let fields = part == .data ? kind?.data : part == .parameters ? kind?.parameters : nil
      let field = fields?.first { $0.name == key }
      let type = field?.type ?? .any
      // A value that is set aside comes back if it fits.
      let value = owner.isAside ? owner.declared : owner.value(in: known.widget)
      // A value that does not fit does not stay.
      if let value, let field, field.fitted(value) == nil { return nil }
      let fitted = declared.map { type.fitted($0) ?? $0 } ?? field?.defaultValue
      guard let fitted, value != fitted else { return nil }
      let defaults = part == .data ? before?.data : part == .parameters ? before?.parameters : nil
      let former =
        (owner.isAside ? nil : owner.declared) ?? defaults?.first { $0.name == key }?.defaultValue
      let isNew = former.map { $0 != fitted } ?? false
      // A default that does not change is not reported.
      guard declared != nil || isNew else { return nil }
      return KeptField(
        widget: known.widget.id, owner: owner, value: value, declared: declared ?? fitted,
        former: isNew ? former : nil,
        isDefault: declared == nil && !owner.isAside && owner.manager.isEmpty)
    }
  }

  /// The fields that keep a value of an event or an action, though their default changes. The daemon
  /// records no owner of such a value. The host logs these fields by the same rule.
  ///
  /// - Parameters:
  ///   - known: the widget with the owners from before a change of the bundle's id.
  ///   - before: the kind as it is registered.
  static func keptUnrecorded(
    _ spec: WidgetSpec, _ known: TaggedWidget, _ kind: BundleKind, before: Kind
  ) -> [KeptField] {
    let owned = Set(known.owners.map(\.path))
    let read = Set(kind.sources.flatMap { $0.assignments.values.map(\.key) })
      .union([BundleScope.statusKey])
    return kind.kind.data.compactMap { field -> KeptField? in
      let path = FieldOwner.Part.data.path(field.name)
      guard !read.contains(field.name), !owned.contains(path), spec.data[field.name] == nil,
        let former = before.data.first(where: { $0.name == field.name }),
        let value = known.widget.data[field.name], let fitted = field.fitted(value)
      else { return nil }
      let (old, new) = (former.defaultValue ?? .null, field.defaultValue ?? .null)
      guard old != new, value != old, fitted != new else { return nil }
      return KeptField(
        widget: known.widget.id, owner: FieldOwner(path: path, owner: FieldOwner.unrecorded),
        value: value, declared: new, former: old, isDefault: true)
    }
  }
}

extension BundleOutlook.KeptField {
  /// `! widget note: data.count stays 3, which user ada (1000) set; the file has 4; …`, or `becomes
  /// 3 again` for a value that was set aside.
  var text: String {
    let now = value.map { JSONWriter.compact($0) } ?? "unset"
    let change = owner.isAside ? "becomes \(now) again" : "stays \(now)"
    let effect = isDefault ? "sets the field to the default" : "gives the field the file's value"
    return "! widget \(widget): \(owner.path) \(change), which "
      + "\(owner.ownerName(Facts.name(ofUser:))) set; \(isDefault ? "the default is" : "the file has")"
      + " \(JSONWriter.compact(declared)); `\(command)` \(effect)"
  }

  /// The warning at an installation. Nil if the file's value is the same as before.
  var news: String? {
    guard former != nil else { return nil }
    let verb = owner.isAside ? "gets back" : "keeps"
    return "widget \(widget) \(verb) the value of \(owner.path) that "
      + "\(owner.ownerName(Facts.name(ofUser:))) set; the new default is "
      + "\(JSONWriter.compact(declared)); `\(command)` sets the new default"
  }

  /// The command that gives the field the value of the version.
  private var command: String {
    guard isDefault, let (part, key) = FieldOwner.parse(owner.path) else {
      return "widgetctl set \(widget) --release \(owner.path)"
    }
    let option = part == .parameters ? "--unset-param" : "--unset"
    return "widgetctl set \(widget) \(option) \(key)"
  }

  var document: Value {
    .map([
      "widget": .string(widget.rawValue), "path": .string(owner.path),
      "owner": .string(owner.owner), "value": value ?? .null, "declared": declared,
    ])
  }
}
