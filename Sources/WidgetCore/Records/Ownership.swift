import WidgetModel

/// The owners of a widget's fields, and the values that are set aside, in order of the paths.
///
/// Only widgets that a manager has declared have owners. Other widgets have only values that are set
/// aside.
struct Ownership: Hashable {
  /// One entry for each field with an owner. No entry has a value that is set aside.
  private(set) var entries: [FieldOwner] = []
  /// At most one entry for each field. Every entry has a value that is set aside.
  private(set) var asides: [FieldOwner] = []
  /// The owners and values that providers have replaced, for fields that still belong to these
  /// providers. A provider that puts such a value back, for example after a failed action, gives the
  /// field back to its owner.
  private(set) var formers: [FieldOwner] = []

  init(_ entries: [FieldOwner] = []) {
    for entry in entries.sorted(by: { $0.path.precedesByBytes($1.path) }) {
      if entry.isFormer {
        formers.append(entry)
      } else if entry.isAside {
        asides.append(entry)
      } else {
        self.entries.append(entry)
      }
    }
  }

  /// The owner of a field.
  subscript(path: String) -> FieldOwner? {
    get { entries.entry(of: path) }
    set { entries.replace(path, by: newValue) }
  }

  /// The value of a field that is set aside. Another owner's value can be in the field meanwhile.
  subscript(aside path: String) -> FieldOwner? {
    get { asides.entry(of: path) }
    set { asides.replace(path, by: newValue) }
  }

  /// The owner and the value that the field's present owner, a provider, has replaced.
  subscript(former path: String) -> FieldOwner? { formers.entry(of: path) }

  /// The owners after changes.
  func applying(_ changes: OwnershipChanges) -> Ownership {
    var after = self
    after.entries.replace(changes.entries)
    after.asides.replace(changes.asides)
    after.formers.replace(changes.formers)
    if !after.formers.isEmpty {
      let entries = after.entries
      after.formers.removeAll { entries.entry(of: $0.path)?.owner != $0.manager }
    }
    return after
  }

  /// All entries for the store.
  var stored: [FieldOwner] { all + formers }

  /// All entries for clients, in order of the paths. A value that is set aside comes after the
  /// field's owner.
  var all: [FieldOwner] {
    guard !asides.isEmpty else { return entries }
    var all: [FieldOwner] = []
    all.reserveCapacity(entries.count + asides.count)
    var rest = entries[...]
    for aside in asides {
      while let entry = rest.first, !aside.path.precedesByBytes(entry.path) {
        all.append(entry)
        rest.removeFirst()
      }
      all.append(aside)
    }
    return all + rest
  }

  var isEmpty: Bool { entries.isEmpty && asides.isEmpty && formers.isEmpty }

  /// Whether the widget was never declared by a manager. Then all entries are values that are set
  /// aside, and their owners are unknown.
  var isUndeclared: Bool {
    entries.isEmpty && !asides.isEmpty && asides.allSatisfy { $0.owner == FieldOwner.earlier }
  }

  /// Notes a user's change of the presence. Only widgets that a manager has declared have owners.
  ///
  /// A second change brings the former state back, so nothing of the user is left then.
  mutating func note(_ before: Presence, _ after: Presence, by user: String) {
    guard !isUndeclared else { return }
    for (path, differs) in [
      (FieldOwner.visible, before.isVisible != after.isVisible),
      (FieldOwner.enabled, before.isEnabled != after.isEnabled),
    ] where differs {
      self[path] = self[path] == nil ? FieldOwner(path: path, owner: user) : nil
    }
  }

  /// The size of the entries, as it counts against the quota of the widget's owner, in bytes.
  var costBytes: Int {
    var sum = 0
    for entry in [entries, asides, formers].joined() { sum += entry.costBytes }
    return sum
  }

  /// The owners of parameters and labels, for widgets whose data does not outlive a restart. Nil if
  /// the widget had owners only for data that is set aside.
  var withoutData: Ownership? {
    let rest = Ownership(stored.filter { FieldOwner.parse($0.path)?.part != .data })
    return rest.isEmpty && isUndeclared ? nil : rest
  }

  /// The owners after a manager has declared a widget of `set`. If the widget moves to the manager,
  /// the manager takes over the fields that the former manager owns and declares.
  ///
  /// A set that was applied without `ownsFields` can own fields, too. If `manager` already has
  /// entries, the widget does not move, and these fields keep their owner.
  func moved(to manager: String, from set: String) -> Ownership {
    var formers = Set(entries.map(\.manager))
    if !entries.contains(where: { $0.owner == manager || $0.manager == manager }) {
      formers.insert(set)
    }
    formers.subtract(["", manager])
    guard !formers.isEmpty else { return self }
    var moved = self
    moved.entries = entries.map { entry in
      var entry = entry
      if formers.contains(entry.owner) { entry.owner = manager }
      if formers.contains(entry.manager) { entry.manager = manager }
      return entry.owner == manager ? FieldOwner(path: entry.path, owner: manager) : entry
    }
    return moved
  }
}

extension FieldOwner {
  /// Whether this is what a provider has replaced: the former owner and value of a field, with the
  /// provider's name in the place of the manager. The name of a set has no space.
  var isFormer: Bool { manager.utf8.contains(UInt8(ascii: " ")) }

  /// What is to be kept of a field when a writer replaces its value `current`. Nil for nothing: only
  /// providers put values back. The field of a manager needs nothing, because `declared` has its
  /// value.
  func former(_ current: Value?, before writer: FieldWriter) -> FieldOwner? {
    guard case .provider = writer, let current, FieldOwner.parse(path)?.part == .data,
      !(manager.isEmpty && isManaged), current.costBytes <= FieldOwner.formerValueBytesMax
    else { return nil }
    return FieldOwner(path: path, owner: owner, manager: writer.name, declared: current)
  }

  /// Whether the owner is a provider.
  fileprivate var isProviders: Bool { owner.hasPrefix("provider ") }

  /// The owner after a provider has set a value, if that puts back what a provider had replaced.
  func puttingBack(_ value: Value?, _ former: FieldOwner?) -> FieldOwner? {
    guard let value, value == former?.declared ?? declared else { return nil }
    guard let former else {
      return manager.isEmpty ? nil : FieldOwner(path: path, owner: manager)
    }
    return FieldOwner(path: path, owner: former.owner, manager: manager, declared: declared)
  }

  private static var formerValueBytesMax: Int { 16_384 }

  var costBytes: Int {
    48 + path.utf8.count + owner.utf8.count + manager.utf8.count + (declared?.costBytes ?? 0)
  }
}

/// Changes of a widget's owners, which are made together: each one alone would move the entries of
/// later paths, and a command can change thousands. The last change of a path counts.
struct OwnershipChanges {
  typealias Change = (path: String, entry: FieldOwner?)

  fileprivate var entries: [Change] = []
  fileprivate var asides: [Change] = []
  fileprivate var formers: [Change] = []

  /// Sets the owner of a field; nil for none.
  mutating func set(_ path: String, to entry: FieldOwner?) { entries.append((path, entry)) }

  /// Sets the value of a field that is set aside; nil for none.
  mutating func setAside(_ path: String, to entry: FieldOwner?) { asides.append((path, entry)) }

  /// Keeps the owner and the value of a field that a provider replaces.
  mutating func setFormer(_ entry: FieldOwner) { formers.append((entry.path, entry)) }
}

/// Entries in order of their paths.
extension [FieldOwner] {
  func entry(of path: String) -> FieldOwner? {
    let (index, found) = position(of: path)
    return found ? self[index] : nil
  }

  mutating func replace(_ path: String, by new: FieldOwner?) {
    let (index, found) = position(of: path)
    switch (new, found) {
    case (let entry?, true): self[index] = entry
    case (let entry?, false): insert(entry, at: index)
    case (nil, true): remove(at: index)
    case (nil, false): break
    }
  }

  /// Makes several changes. O(all + changes · log(changes)), or O(all) for each of a few changes.
  fileprivate mutating func replace(_ changes: [OwnershipChanges.Change]) {
    guard changes.count > 8 else {
      for (path, entry) in changes { replace(path, by: entry) }
      return
    }
    let order = changes.indices.sorted { a, b in
      let (first, second) = (changes[a].path, changes[b].path)
      return first.hasSameBytes(as: second) ? a < b : first.precedesByBytes(second)
    }
    var result: [FieldOwner] = []
    result.reserveCapacity(count + changes.count)
    var rest = self[...]
    for index in order {
      let (path, entry) = changes[index]
      while let next = rest.first, next.path.precedesByBytes(path) {
        result.append(next)
        rest.removeFirst()
      }
      if rest.first?.path.hasSameBytes(as: path) == true { rest.removeFirst() }
      if result.last?.path.hasSameBytes(as: path) == true { result.removeLast() }
      if let entry { result.append(entry) }
    }
    self = result + rest
  }

  private func position(of path: String) -> (index: Int, found: Bool) {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].path.precedesByBytes(path) { low = middle + 1 } else { high = middle }
    }
    return (low, low < count && self[low].path.hasSameBytes(as: path))
  }
}

/// The writer of a change of a widget.
enum FieldWriter {
  case user(UInt32)
  case events(KindName)
  case provider(String)
  /// A set that was applied without `ownsFields`.
  case set(String)

  var name: String {
    switch self {
    case .user(let uid): FieldOwner.user(uid)
    case .events(let kind): FieldOwner.events(of: kind)
    case .provider(let name): FieldOwner.provider(name)
    case .set(let name): name
    }
  }

  /// Whether the writer becomes the owner of fields that nobody declares. Programs do not, because
  /// they write such fields all the time.
  var ownsUndeclared: Bool {
    switch self {
    case .user, .set: true
    case .events, .provider: false
    }
  }
}

extension Record {
  /// A user's value that is lost with the widget. Nil for a position, which means nothing to people.
  func shownValue(of path: String) -> Value? {
    switch path {
    case FieldOwner.visible: .bool(presence.isVisible)
    case FieldOwner.enabled: .bool(presence.isEnabled)
    default: FieldOwner.parse(path).flatMap { value($0.part, $0.key) }
    }
  }

  /// A field's value now.
  func value(_ part: FieldOwner.Part, _ key: String) -> Value? {
    switch part {
    case .data: data[key]
    case .parameters: parameters[key]
    case .labels: labels[key].map { .string($0) }
    }
  }

  /// The growth of the record with new owners, in bytes; 0 if `ownership` is nil (no change).
  func growth(to ownership: Ownership?) -> Int {
    ownership.map { $0.costBytes - (self.ownership?.costBytes ?? 0) } ?? 0
  }

  /// The owners after a patch; nil if they do not change. O(1) without owners, else O(patch ·
  /// log(patch · owners)), and O(keys · log(patch · owners)) if the patch replaces all data.
  ///
  /// - Parameter asked: the writer's patch, before the kind added defaults. A field that `patch`
  ///   changes and `asked` does not set counts as unset: it gets a default, or is removed. If nil,
  ///   the fields count as unset that `patch` removes or names as unset.
  func ownership(
    after patch: WidgetPatch, by writer: FieldWriter, asked: WidgetPatch? = nil
  ) -> Ownership? {
    guard isOwned, let before = ownership else { return nil }
    let isUndeclared = isUndeclared
    var changes = OwnershipChanges()
    var fields = patch.fields
    let unset = UnsetFields(of: patch)
    if patch.replaceData {
      for key in data.map.keys where patch.setData[key] == nil && !unset.contains(.data, key) {
        fields.append((.data, key, nil))
      }
    }
    for (part, key, value) in fields {
      let path = part.path(key)
      let current = self.value(part, key)
      let isUnset = asked.map { !$0.sets(part, key) } ?? (value == nil || unset.contains(part, key))
      guard current != value || (isUnset && current != nil) else { continue }
      let name = writer.name
      // A new value replaces the one that is set aside.
      if before[aside: path] != nil { changes.setAside(path, to: nil) }
      guard var entry = before[path] else {
        if writer.ownsUndeclared, value != nil, !isUnset, !isUndeclared {
          changes.set(path, to: FieldOwner(path: path, owner: name))
        }
        continue
      }
      if entry.manager.isEmpty, isUnset, !entry.isManaged {
        // The field has lost the value that somebody set, and no manager declares it.
        changes.set(path, to: nil)
        continue
      }
      if entry.manager == name {
        entry = FieldOwner(path: path, owner: name)
      } else if case .provider = writer, entry.isProviders {
        // A provider that has replaced another one can put back what that one had replaced. So the
        // field goes back also if a bundle, and with it the provider, has another id meanwhile.
        let former = before[former: path]
        if let owner = entry.puttingBack(value, former) {
          entry = owner
        } else {
          entry.owner = name
          if var former, former.manager != name {
            former.manager = name
            changes.setFormer(former)
          }
        }
      } else if entry.owner != name {
        if let former = entry.former(current, before: writer) { changes.setFormer(former) }
        if entry.manager.isEmpty, entry.isManaged {
          (entry.manager, entry.declared) = (entry.owner, current)
        }
        entry.owner = name
      }
      changes.set(path, to: entry)
    }
    let after = before.applying(changes)
    return after == before ? nil : after
  }
}

extension Record {
  /// The owners after the patch that makes a widget fit its kind; nil if they do not change. Fields
  /// that the patch removes or resets have no owner. If the patch sets a field to the value that
  /// its manager declares, the manager owns the field again.
  ///
  /// A user's value that does not fit is set aside with its owner. `KindSchema.conforming` restores
  /// it when it fits again.
  func ownership(
    conformedBy patch: WidgetPatch, to schema: KindSchema?, former: KindSchema?
  ) -> Ownership? {
    let before = ownership ?? Ownership()
    var changes = OwnershipChanges()
    for (part, key, value) in patch.fields {
      let path = part.path(key)
      let entry = before[path]
      let aside = before[aside: path]
      if let aside, value != nil, value == aside.restoredValue(for: schema) {
        changes.setAside(path, to: nil)
        changes.set(
          path,
          to: isUndeclared
            ? nil : entry?.givingWay(to: aside, self.value(part, key)) ?? aside.afterRestoring)
      } else if let schema, let current = self.value(part, key), schema.refuses(current, part, key)
      {
        // While a value is set aside, its field has the manager's value or the default. Neither of
        // them is set aside.
        if aside == nil, setsAside(current, part, key, former: former) {
          changes.setAside(
            path,
            to: FieldOwner(
              path: path, owner: entry?.owner ?? FieldOwner.earlier, declared: current))
        }
        changes.set(
          path,
          to: entry.flatMap {
            schema.declaredFitting($0, part, key) == nil
              ? nil : FieldOwner(path: path, owner: $0.manager)
          })
      } else if value == nil {
        changes.set(path, to: nil)
      }
    }
    let after = before.applying(changes)
    return after == before ? nil : after
  }

  /// Whether no manager ever declared the widget. It then has owners only for values that are set
  /// aside.
  var isUndeclared: Bool { ownership?.isUndeclared ?? true }

  /// Whether a value that does not fit the kind is kept for later. This is so for values of users
  /// and, for a widget without a manager, for every value that is not a default.
  func setsAside(
    _ value: Value, _ part: FieldOwner.Part, _ key: String, former: KindSchema?
  ) -> Bool {
    guard value != .null else { return false }
    if let entry = ownership?[part.path(key)] { return entry.isUsers }
    return isUndeclared && former?.defaultValue(of: key, part) != value
  }
}

extension FieldOwner {
  /// The owner of a field after its value that was set aside is restored.
  var afterRestoring: FieldOwner { FieldOwner(path: path, owner: owner) }

  /// The owner of a field that has the value `current`, after another value that was set aside is
  /// restored.
  func givingWay(to aside: FieldOwner, _ current: Value?) -> FieldOwner {
    var entry = self
    if manager.isEmpty, isManaged { (entry.manager, entry.declared) = (owner, current) }
    entry.owner = aside.owner
    return entry
  }

  /// The value that is set aside, if it fits the kind now. A kind that is not registered takes
  /// every value.
  func restoredValue(for schema: KindSchema?) -> Value? {
    guard isAside, let (part, key) = FieldOwner.parse(path) else { return nil }
    return schema.map { $0.restoredValue(of: self, part, key) } ?? declared
  }
}
