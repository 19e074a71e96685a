import WidgetBundle
import WidgetClient
import WidgetModel

// The values of widgets that do not fit the kinds of a version.
extension BundleOutlook {
  /// A value that does not fit the kind of its widget.
  struct Misfit: Hashable, Sendable {
    /// What the daemon does with the value.
    enum Fate: Hashable, Sendable {
      case aside
      case lost
      /// The value is lost, and nobody knows if an event or an action has set it.
      case lostFromUnknown
      /// The daemon sets the value aside only if no set with --own has declared the widget, and
      /// nobody can see this.
      case asideOrLost
    }

    let widget: WidgetID
    let field: FieldOwner
    let fate: Fate
    let value: Value

    var name: String { "\(widget) \(field.path)" }

    /// `note data.count = 7`
    var nameWithValue: String { LostValues.named(name, value) }

    var author: String {
      field.isManaged ? OwnerName.words(ofSet: field.owner) : "an event or an action"
    }
  }

  /// The values of widgets that do not fit the bundle's kind.
  ///
  /// - Parameters:
  ///   - sets: of the bundle, and of the bundles whose widgets it gets. The values of their files
  ///     follow the new file.
  ///   - before: the kind as it is registered. Its defaults do not count. Nil if it is not
  ///     registered.
  ///   - rules: of the values that no user has set, and that are lost.
  static func misfits(
    _ kind: Kind, _ widgets: [TaggedWidget], of sets: Set<String> = [], before: Kind?,
    by rules: LossRules = LossRules()
  ) -> Remark? {
    misfits(
      kind.name,
      widgets.flatMap { misfits(kind, in: $0, of: sets, before: before, by: rules) })
  }

  private static func misfits(
    _ kind: Kind, in known: TaggedWidget, of sets: Set<String>, before: Kind?, by rules: LossRules
  ) -> [Misfit] {
    let widget = known.widget
    let recorded = known.owners.filter { !$0.isAside }
    let isUndeclared = isUndeclared(known)
    let lost = rules.values(of: widget, recorded)
    let unclear = rules.unclear(in: widget, recorded)
    var found: [Misfit] = []
    func look(
      _ part: FieldOwner.Part, _ values: ValueMap, _ fields: [Field], _ former: [Field]?
    ) {
      for entry in values.entries where entry.value != .null {
        func add(_ field: FieldOwner, _ fate: Misfit.Fate) {
          found.append(
            Misfit(widget: widget.id, field: field, fate: fate, value: entry.value))
        }
        guard !fits(entry.value, fields.first { $0.name == entry.key }, of: kind) else { continue }
        let path = part.path(entry.key)
        let owner = recorded.first { $0.path == path }
        let isDefault = former?.first { $0.name == entry.key }?.defaultValue == entry.value
        if let owner, owner.isUsers {
          add(owner, .aside)
        } else if isDefault {
          continue
        } else if isUndeclared != false {
          let field = FieldOwner(path: path, owner: FieldOwner.earlier)
          let fate: Misfit.Fate = isUndeclared == nil ? .asideOrLost : .aside
          add(field, fate)
        } else if let owner, owner.isManaged {
          guard !sets.contains(owner.owner) else { continue }
          add(owner, .lost)
        } else if let field = lost.first(where: { $0.path == path }) {
          add(field, .lost)
        } else if part == .data, unclear.contains(entry.key) {
          let field = FieldOwner(path: path, owner: FieldOwner.unrecorded)
          add(field, .lostFromUnknown)
        }
      }
    }
    look(.data, widget.data, kind.data, before?.data)
    look(.parameters, widget.parameters, kind.parameters, before?.parameters)
    return found
  }

  /// Whether no bundle and no set with --own has ever declared a widget, so that the daemon sets all
  /// its values aside. Nil if nobody can see this: a declared widget without fields has no owners
  /// either.
  private static func isUndeclared(_ known: TaggedWidget) -> Bool? {
    guard known.owners.allSatisfy(\.isAside) else { return false }
    guard known.owners.isEmpty else {
      return known.owners.allSatisfy { $0.owner == FieldOwner.earlier }
    }
    let set = known.widget.applySet
    return set.isEmpty ? true : OwnerName.bundle(set) == nil ? nil : false
  }

  /// - Parameter field: of the kind; nil if the kind does not declare the value's field.
  private static func fits(_ value: Value, _ field: Field?, of kind: Kind) -> Bool {
    field.map { $0.fitted(value) != nil } ?? kind.isOpen
  }

  /// The values that do not fit the kinds of a version that a rollback has restored.
  ///
  /// - Parameter values: of the bundle's widgets, before the rollback.
  static func misfits(_ values: [LostValues.Entry], restored bundle: Bundle) -> [String] {
    misfits(values, restored: bundle.kinds.map(\.kind), bundle.widgets)
  }

  /// - Parameter widgets: of the restored version.
  static func misfits(
    _ values: [LostValues.Entry], restored kinds: [Kind], _ widgets: [WidgetSpec]
  ) -> [String] {
    kinds.compactMap { kind -> String? in
      let found = values.compactMap { entry -> Misfit? in
        guard entry.kind == kind.name, let value = entry.field.declared,
          let (part, key) = FieldOwner.parse(entry.field.path), part != .labels,
          widgets.contains(where: { $0.id == entry.widget && $0.kind == kind.name })
        else { return nil }
        let fields = part == .data ? kind.data : kind.parameters
        guard !fits(value, fields.first(where: { $0.name == key }), of: kind) else { return nil }
        return Misfit(
          widget: entry.widget, field: entry.field,
          fate: entry.field.isUsers || entry.field.owner == FieldOwner.earlier ? .aside : .lost,
          value: value)
      }
      guard let remark = misfits(kind.name, found, isRestored: true) else { return nil }
      return remark.hint.isEmpty ? remark.message : remark.text
    }
  }

  /// - Parameter isRestored: whether the version is there already, so that nobody can change it first.
  private static func misfits(
    _ kind: KindName, _ found: [Misfit], isRestored: Bool = false
  ) -> Remark? {
    guard !found.isEmpty else { return nil }
    let aside = found.filter { $0.fate == .aside }
    let lost = found.filter { $0.fate == .lost }
    let unclear = found.filter { $0.fate == .lostFromUnknown }
    let doubtful = found.filter { $0.fate == .asideOrLost }
    let count = found.count == 1 ? "1 value does" : "\(found.count) values do"
    var message = "\(count) not fit the kind \"\(kind)\" of the bundle"
    var hints: [String] = []
    if !aside.isEmpty {
      message += ": \(shortened(aside.map(\.name)))"
      hints.append(
        "the daemon sets aside the values that users have set, and uses them again when they fit; "
          + "`widgetctl get ID --owners` shows these values")
    }
    if !lost.isEmpty {
      let authors = Set(lost.map(\.author)).sorted().joined(separator: " or ")
      message += "; lost: \(shortened(lost.map(\.nameWithValue))), set by \(authors)"
      if !isRestored {
        hints.append(
          lost.count == 1
            ? "to keep the lost value, leave its field in the kind as it is"
            : "to keep the lost values, leave their fields in the kind as they are")
      }
    }
    if !unclear.isEmpty {
      let isOne = unclear.count == 1
      let values = isOne ? "it" : "them"
      message +=
        "; lost: \(shortened(unclear.map(\.nameWithValue))) "
        + "(nobody knows who set \(values))"
      hints.append(
        "the daemon does not have the kind \"\(kind)\". Nobody knows whether an event, an action or a "
          + (isOne
            ? "source set this value, or whether it is an old default. To keep the value, give the "
              + "kind a field of this name and type"
            : "source set these values, or whether they are old defaults. To keep the values, give "
              + "the kind fields of these names and types"))
    }
    if !doubtful.isEmpty {
      message += "; may be lost: \(shortened(doubtful.map(\.nameWithValue)))"
      hints.append(
        "if `widgetctl apply --own` has declared the widget, such a value is lost. Otherwise, the "
          + "daemon sets it aside. To keep the value, leave its field in the kind as it is")
    }
    return Remark(
      path: "kinds.\(kind)", message: message, hint: hints.joined(separator: "; "))
  }
}
