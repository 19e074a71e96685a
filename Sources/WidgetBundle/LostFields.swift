public import WidgetModel

/// The values of a widget of a bundle that are lost with the widget: those that users, events and
/// actions have set. The values of sources do not count, because the next reading sets them again.
///
/// The daemon records the owner of a data field only if a file declares the field or a user has set
/// it. It records the host as the owner after a source and after an action. So the values of other
/// fields count if they differ from the file's value or the default, and no source of the kind sets
/// the field.
public struct LostFields: Sendable {
  private let kind: Kind
  /// The data fields that sources set.
  private let read: Set<String>

  /// - Parameters:
  ///   - kind: as it is registered.
  ///   - sources: of the kind, in the file of the bundle.
  public init(_ kind: Kind, sources: [Source]) {
    self.kind = kind
    read = Set(sources.flatMap { $0.assignments.values.map(\.key) })
  }

  public init(_ kind: BundleKind) { self.init(kind.kind, sources: kind.sources) }

  /// The rule for a kind of which only the data that no source sets is known, with its defaults.
  public init(_ name: KindName, settable data: ValueMap) {
    let parameters = FieldOwner.Part.parameters.path("")
    let fields = data.entries.filter { !$0.key.hasPrefix(parameters) }
      .map { Field(name: $0.key, defaultValue: $0.value) }
    self.init(Kind(name: name, data: fields), sources: [])
  }

  /// Whether a value of a data field can be one of an event or an action. The host sets the status.
  package func mayHold(_ field: String) -> Bool {
    !read.contains(field) && field != BundleScope.statusKey
  }

  /// The values of a widget whose owners are unknown, as in a watch.
  ///
  /// - Parameter spec: the widget in the file.
  public func values(of widget: Widget, declaredAs spec: WidgetSpec?) -> [FieldOwner] {
    var found = unrecorded(in: widget, declared: { spec?.data[$0] })
    func add(_ path: String, _ value: Value) {
      found.append(FieldOwner(unrecorded: path, value))
    }
    for field in kind.parameters {
      guard let value = widget.parameters[field.name],
        value != (spec?.parameters[field.name] ?? field.defaultValue ?? .null)
      else { continue }
      add(FieldOwner.Part.parameters.path(field.name), value)
    }
    let presence = widget.presence
    if presence.isVisible != spec?.isVisible ?? true {
      add(FieldOwner.visible, .bool(presence.isVisible))
    }
    if presence.isEnabled != spec?.isEnabled ?? true {
      add(FieldOwner.enabled, .bool(presence.isEnabled))
    }
    for label in widget.labels.entries where spec?.labels[label.key] != label.value {
      add(FieldOwner.Part.labels.path(label.key), .string(label.value))
    }
    return found
  }

  /// The values of a widget with a record of owners: those of users and events, then the further
  /// ones of events and actions.
  ///
  /// - Parameter rule: nil if the kind and its sources are unknown. Only recorded values count then.
  public static func values(
    of widget: Widget, _ owners: [FieldOwner], by rule: LostFields?
  ) -> [FieldOwner] {
    let recorded = owners.compactMap { field -> FieldOwner? in
      guard field.isLost(with: widget.applySet) else { return nil }
      let value = field.isAside ? field.declared : field.value(in: widget)
      // The number of a position has no meaning for people.
      guard value != nil || field.path == FieldOwner.position else { return nil }
      return FieldOwner(path: field.path, owner: field.owner, declared: value)
    }
    guard let rule else { return recorded }
    var known: [String: FieldOwner] = [:]
    for field in owners where !field.isAside { known[field.path] = field }
    return recorded
      + rule.unrecorded(
        in: widget,
        except: { key in
          let owner = known[FieldOwner.Part.data.path(key)]?.owner
          return owner.map { !$0.hasPrefix("provider ") } ?? false
        },
        declared: { known[FieldOwner.Part.data.path($0)]?.declared })
  }

  /// The data that no source sets, and that differs from the file's value or the default.
  ///
  /// - Parameters:
  ///   - isKnown: whether the owner of a field is known.
  ///   - declared: the file's value of a field; nil for the default.
  private func unrecorded(
    in widget: Widget, except isKnown: (String) -> Bool = { _ in false },
    declared: (String) -> Value?
  ) -> [FieldOwner] {
    kind.data.compactMap { field in
      guard mayHold(field.name), !isKnown(field.name), let value = widget.data[field.name],
        value != (declared(field.name) ?? field.defaultValue ?? .null)
      else { return nil }
      return FieldOwner(unrecorded: FieldOwner.Part.data.path(field.name), value)
    }
  }
}

extension FieldOwner {
  fileprivate init(unrecorded path: String, _ value: Value) {
    self.init(path: path, owner: FieldOwner.unrecorded, declared: value)
  }
}
