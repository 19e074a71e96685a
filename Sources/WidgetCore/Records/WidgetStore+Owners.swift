public import WidgetModel

/// Declarations and releases of fields.
extension WidgetStore {
  /// The owners of a widget's fields, in order of the paths; empty if no manager declares any.
  public func owners(of id: WidgetID) -> [FieldOwner] {
    slot(of: id).flatMap { records[$0]?.ownership?.all } ?? []
  }

  /// The effect of a manager's declaration on an existing widget.
  struct Owning {
    var patch = WidgetPatch()
    /// The owners afterwards.
    var ownership: Ownership?
    /// The fields that change.
    var changed: [String] = []
    /// The fields of other owners whose value differs from the declared one.
    var kept: [FieldOwner] = []
  }

  /// The effect of a manager's declaration on an existing widget. The manager sets the fields that
  /// it owns, and the fields without an owner. It removes the fields that it owns and no longer
  /// declares.
  ///
  /// When a manager first declares a widget, values that differ from the declaration stay and
  /// belong to somebody else, unless they are the kind's default.
  func owning(
    _ record: Record, _ spec: WidgetSpec, by manager: String, field: String
  ) throws(StoreError) -> Owning {
    let isFirst = record.isUndeclared
    var result = Owning()
    var declared = Ownership()
    let former = record.ownership?.moved(to: manager, from: record.applySet) ?? Ownership()
    var changes = OwnershipChanges()
    var values: [(part: FieldOwner.Part, key: String, value: Value)] = []
    for (part, key, value) in spec.fields {
      let path = part.path(key)
      declared[path] = FieldOwner(path: path, owner: manager)
      let current = record.value(part, key)
      let known = former[path]
      let isFree = known == nil && !(isFirst && isOwn(current, part, key, of: record, not: value))
      if known?.owner == manager || isFree {
        changes.set(path, to: FieldOwner(path: path, owner: manager))
        guard current != value else { continue }
        values.append((part, key, value))
        result.changed.append(path)
      } else {
        let owner =
          known?.owner
          ?? (record.applySet == manager ? FieldOwner.earlier : FieldOwner.user(record.ownerUID))
        let entry = FieldOwner(path: path, owner: owner, manager: manager, declared: value)
        changes.set(path, to: entry)
        if current != value { result.kept.append(entry) }
      }
    }
    for entry in former.entries where declared[entry.path] == nil {
      guard let (part, key) = FieldOwner.parse(entry.path) else { continue }
      if entry.owner == manager {
        changes.set(entry.path, to: nil)
        guard record.value(part, key) != nil else { continue }
        result.patch.unset(part, key)
        result.changed.append(entry.path)
      } else if entry.manager == manager {
        changes.set(
          entry.path,
          to: record.value(part, key) == nil
            ? nil : FieldOwner(path: entry.path, owner: entry.owner))
      }
    }
    var ownership = former.applying(changes)
    // A manager declares the widget from now on, so the values that are set aside get an owner.
    for entry in ownership.asides where entry.owner == FieldOwner.earlier {
      ownership[aside: entry.path]?.owner = FieldOwner.user(record.ownerUID)
    }
    result.ownership = ownership
    result.patch.set(values)
    result.patch = try fitted(result.patch, for: record, field: field)
    return result
  }

  /// Whether a value is neither the declared value nor the kind's default.
  private func isOwn(
    _ current: Value?, _ part: FieldOwner.Part, _ key: String, of record: Record,
    not declared: Value
  ) -> Bool {
    guard let current, current != declared else { return false }
    return current != defaultValue(part, key, of: record)
  }

  private func defaultValue(
    _ part: FieldOwner.Part, _ key: String, of record: Record
  ) -> Value? {
    let schema = record.kind == HelpKind.name ? HelpKind.schema : schemas[record.kind]
    return schema?.defaultValue(of: key, part)
  }

  /// Adds the values of the patch's released fields to the patch. Returns the owners afterwards.
  /// Values of these fields that are set aside are to be discarded.
  func release(
    _ patch: inout WidgetPatch, of record: Record, field: String
  ) throws(StoreError) -> [(path: String, owner: FieldOwner?)] {
    var released: [(path: String, owner: FieldOwner?)] = []
    var values: [(part: FieldOwner.Part, key: String, value: Value)] = []
    var seen: Set<[UInt8]> = []
    let unset = UnsetFields(of: patch)
    for (index, path) in patch.releases.enumerated() {
      guard seen.insert(Array(path.utf8)).inserted else {
        throw .invalid(
          field: "\(field).release[\(index)]",
          description: "\(path) is named twice; name it once.")
      }
      let parsed = FieldOwner.parse(path)
      guard parsed != nil || path == FieldOwner.position else {
        throw .invalid(
          field: "\(field).release[\(index)]",
          description: FieldOwner.presence.contains(path)
            ? "\(path) cannot be given back; show, hide, enable or disable the widget."
            : "Use data.KEY, parameters.KEY, labels.KEY or position.")
      }
      let owner = record.ownership?[path]
      guard let entry = owner ?? record.ownership?[aside: path] else {
        throw .invalid(
          field: "\(field).release[\(index)]",
          description: "Widget \"\(record.id)\" has no owner of \(path), so there is nothing "
            + "to give back; `widgetctl get \(record.id) --owners` shows the fields with an owner.")
      }
      guard let (part, key) = parsed else {
        // The next declaration puts the widget in its place.
        released.append((path, nil))
        continue
      }
      let isChanged =
        patch.sets(part, key) || unset.contains(part, key) || (part == .data && patch.replaceData)
      guard !isChanged else {
        throw .invalid(
          field: "\(field).release[\(index)]",
          description: "\(path) is changed by the same request; leave out one of the two.")
      }
      if entry.isManaged, entry.manager.isEmpty {
        released.append((path, owner))
      } else if entry.manager.isEmpty || entry.manager != record.applySet {
        // Nobody declares the field, or another set has taken the widget from the manager.
        if let value = defaultValue(part, key, of: record) { values.append((part, key, value)) }
        released.append((path, nil))
      } else {
        if let value = entry.declared { values.append((part, key, value)) }
        released.append((path, FieldOwner(path: path, owner: entry.manager)))
      }
    }
    patch.set(values)
    return released
  }
}
