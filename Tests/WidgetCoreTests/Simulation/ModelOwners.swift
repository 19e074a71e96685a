import WidgetModel

@testable import WidgetCore

/// The owners of the fields of a managed widget, in the model. The model derives them from the widget before
/// and after each command.
struct ModelOwners: Equatable {
  /// The owners, ordered by the bytes of the paths.
  private var entries: [[UInt8]: FieldOwner] = [:]
  /// What providers have replaced in the fields that belong to them.
  private var formers: [[UInt8]: FieldOwner] = [:]

  /// In the order of the paths.
  var all: [FieldOwner] {
    entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  var cost: Int {
    (Array(entries.values) + Array(formers.values)).reduce(0) { sum, entry in
      sum + 48 + entry.path.utf8.count + entry.owner.utf8.count + entry.manager.utf8.count
        + (entry.declared?.costBytes ?? 0)
    }
  }

  subscript(path: String) -> FieldOwner? {
    get { entries[Array(path.utf8)] }
    set {
      let key = Array(path.utf8)
      entries[key] = newValue
      if newValue?.owner != formers[key]?.manager { formers[key] = nil }
    }
  }

  /// A field of a widget or a spec.
  struct Place {
    let path: String
    let value: Value
  }

  static func places(_ data: ValueMap, _ labels: Labels, _ parameters: ValueMap) -> [Place] {
    data.entries.map { Place(path: "data.\($0.key)", value: $0.value) }
      + labels.entries.map { Place(path: "labels.\($0.key)", value: .string($0.value)) }
      + parameters.entries.map { Place(path: "parameters.\($0.key)", value: $0.value) }
  }

  static func value(_ path: String, of widget: Widget) -> Value? {
    if path == "visible" { return .bool(widget.presence.isVisible) }
    if path == "enabled" { return .bool(widget.presence.isEnabled) }
    return places(widget.data, widget.labels, widget.parameters).first {
      $0.path.hasSameBytes(as: path)
    }?
    .value
  }

  static func set(_ path: String, of widget: inout Widget, to value: Value?) {
    let dot = path.firstIndex(of: ".") ?? path.endIndex
    let key = String(path[dot...].unicodeScalars.dropFirst())
    switch path[..<dot] {
    case "data": widget.data[key] = value
    case "parameters": widget.parameters[key] = value
    default:
      if case .string(let text)? = value {
        widget.labels[key] = text
      } else {
        widget.labels[key] = nil
      }
    }
  }

  /// The values of others that go with the widget.
  func lost(with widget: Widget) -> [FieldOwner] {
    all.compactMap { entry in
      guard entry.owner != widget.applySet, !entry.owner.hasPrefix("provider "),
        case let value = ModelOwners.value(entry.path, of: widget),
        value != nil || entry.path == "position"
      else { return nil }
      return FieldOwner(
        path: entry.path, owner: entry.owner,
        declared: value.map { $0.costBytes > 1024 ? nil : $0 } ?? nil)
    }
  }

  /// The caller of a change owns the changed fields.
  mutating func changed(from old: Widget, to new: Widget, by name: String) {
    let before = ModelOwners.places(old.data, old.labels, old.parameters)
    let after = ModelOwners.places(new.data, new.labels, new.parameters)
    var seen: Set<[UInt8]> = []
    for path in (before + after).map(\.path) where seen.insert(Array(path.utf8)).inserted {
      let (was, now) = (ModelOwners.value(path, of: old), ModelOwners.value(path, of: new))
      guard was != now else { continue }
      guard var entry = self[path] else {
        if now != nil { self[path] = FieldOwner(path: path, owner: name) }
        continue
      }
      let isOfSet = !entry.owner.contains(" ")
      if now == nil, entry.manager.isEmpty, !isOfSet {
        self[path] = nil
      } else if entry.manager == name {
        self[path] = FieldOwner(path: path, owner: name)
      } else if name.hasPrefix("provider "), entry.owner.hasPrefix("provider ") {
        // One provider can put back what another one has replaced.
        let key = Array(path.utf8)
        if let now, let former = formers[key], former.declared == now {
          entry.owner = former.owner
        } else if let now, formers[key] == nil, !entry.manager.isEmpty, entry.declared == now {
          entry = FieldOwner(path: path, owner: entry.manager)
        } else {
          formers[key]?.manager = name
          entry.owner = name
        }
        self[path] = entry
      } else if entry.owner != name {
        let former = was.map {
          FieldOwner(path: path, owner: entry.owner, manager: name, declared: $0)
        }
        let isSetsOwn = entry.manager.isEmpty && isOfSet
        // The declared value of a set returns when the field is released.
        if entry.manager.isEmpty, isOfSet { (entry.manager, entry.declared) = (entry.owner, was) }
        entry.owner = name
        self[path] = entry
        if name.hasPrefix("provider "), path.hasPrefix("data."), !isSetsOwn, let former,
          former.declared?.costBytes ?? 0 <= 16_384
        {
          formers[Array(path.utf8)] = former
        }
      }
    }
  }

  /// A user owns the presence that differs from the state before the user's first change.
  mutating func presence(from old: Widget, to new: Widget, by name: String) {
    for path in ["visible", "enabled"]
    where ModelOwners.value(path, of: old) != ModelOwners.value(path, of: new) {
      self[path] = self[path] == nil ? FieldOwner(path: path, owner: name) : nil
    }
  }

  /// A set has named the presence. It leaves a user's state to the user, unless it owns its fields.
  mutating func named(_ spec: WidgetSpec, over old: Widget, owns: Bool) {
    if let visible = spec.isVisible, owns || visible != old.presence.isVisible {
      self["visible"] = nil
    }
    if let enabled = spec.isEnabled, owns || enabled != old.presence.isEnabled {
      self["enabled"] = nil
    }
  }

  /// A manager that takes the widget over gets the fields that the former manager owned and
  /// declared.
  mutating func taken(over by: String, from set: String) {
    let isKnown = entries.values.contains { $0.owner == by || $0.manager == by }
    var formers = Set(entries.values.map(\.manager)).subtracting(["", by])
    if !isKnown, !set.isEmpty, set != by { formers.insert(set) }
    guard !formers.isEmpty else { return }
    for (key, entry) in entries {
      let owner = formers.contains(entry.owner) ? by : entry.owner
      let manager = formers.contains(entry.manager) ? by : entry.manager
      entries[key] =
        owner == by
        ? FieldOwner(path: entry.path, owner: by)
        : FieldOwner(path: entry.path, owner: owner, manager: manager, declared: entry.declared)
    }
  }
}

/// A manager's declaration of an existing widget: fields of this manager, and fields without an
/// owner, follow it.
struct ModelOwning {
  var widget: Widget
  var owners: ModelOwners
  var changed: [String] = []
  var kept: [FieldOwner] = []

  init(_ spec: WidgetSpec, on old: Widget, _ before: ModelOwners?, by manager: String) {
    widget = old
    owners = before ?? ModelOwners()
    owners.taken(over: manager, from: old.applySet)
    let declared = ModelOwners.places(spec.data, spec.labels, spec.parameters)
    for place in declared {
      let current = ModelOwners.value(place.path, of: old)
      let known = owners[place.path]
      // At the first declaration, a value that differs from the declared one belongs to somebody
      // else.
      let isSomebodys = before == nil && current != nil && current != place.value
      if known?.owner == manager || (known == nil && !isSomebodys) {
        owners[place.path] = FieldOwner(path: place.path, owner: manager)
        guard current != place.value else { continue }
        ModelOwners.set(place.path, of: &widget, to: place.value)
        changed.append(place.path)
        continue
      }
      let unknown =
        old.applySet == manager ? FieldOwner.earlier : FieldOwner.user(old.ownerUID)
      let entry = FieldOwner(
        path: place.path, owner: known?.owner ?? unknown, manager: manager, declared: place.value)
      owners[place.path] = entry
      if current != place.value { kept.append(entry) }
    }
    for entry in owners.all
    where !declared.contains(where: { $0.path.hasSameBytes(as: entry.path) }) {
      let isThere = ModelOwners.value(entry.path, of: old) != nil
      if entry.owner == manager {
        owners[entry.path] = nil
        guard isThere else { continue }
        ModelOwners.set(entry.path, of: &widget, to: nil)
        changed.append(entry.path)
      } else if entry.manager == manager {
        owners[entry.path] = isThere ? FieldOwner(path: entry.path, owner: entry.owner) : nil
      }
    }
  }
}
