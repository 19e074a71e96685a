import WidgetBundle
import WidgetModel

/// The data of former versions of bundles that no source set.
struct FormerData: Sendable {
  /// The data of the kinds of former versions, by bundle: of the versions since the last one that the
  /// daemon has taken, and of kinds whose widgets wait for their removal.
  private var last: [String: SettableData] = [:]
  /// The data whose defaults are compared with the file when the widgets are known, by bundle.
  private var uncompared: [String: SettableData] = [:]
  /// The data of the last version that the daemon has taken, by bundle.
  private var provided: [String: SettableData] = [:]
  /// The data of the kinds that such a version had, and that the daemon has from no bundle any
  /// more. If a bundle has the kind again, its defaults are compared with these. Only the newest
  /// kinds are kept, up to the limits of the written value. The value has no order, so those from
  /// before the start of this host are in the order of their names.
  private var dropped: [String: SettableData] = [:]

  subscript(id: String) -> SettableData? { last[id] }

  /// The dropped kinds of a bundle.
  func dropped(by id: String) -> SettableData { dropped[id] ?? SettableData() }

  /// The kinds of the last version that the daemon has taken.
  func provided(by id: String) -> [KindName] { provided[id]?.names ?? [] }

  /// An earlier host ran a bundle.
  ///
  /// - Parameter dropped: the kinds that earlier versions had.
  mutating func remember(_ data: SettableData, dropped: SettableData, of id: String) {
    last[id] = data
    self.dropped[id] = dropped
    uncompared[id, default: SettableData()].add(data)
    // A dropped kind is in both while widgets of it wait for their removal.
    var taken = data
    taken.keep(only: Set(data.names).subtracting(dropped.names))
    provided[id] = taken
  }

  /// The file has kinds that the version before lacked. If the daemon has not taken that version,
  /// it still has the kinds.
  mutating func returned(_ kinds: Set<KindName>, to id: String) {
    guard let data = provided[id] else { return }
    compare(data, only: kinds, with: id)
  }

  /// The daemon has taken a version.
  mutating func taken(_ data: SettableData, of id: String) {
    let former = provided[id] ?? SettableData()
    let names = Set(data.names)
    for other in [id] + dropped.keys.sorted().filter({ $0 != id }) {
      compare(dropped(by: other), only: names.subtracting(former.names), with: id)
    }
    var gone = former
    gone.add(dropped(by: id))
    dropped[id] = gone
    provided[id] = data
    for other in dropped.keys.sorted() {
      var left = dropped(by: other)
      left.keep(only: Set(left.names).subtracting(names))
      dropped[other] = left.withinLimits
    }
  }

  /// Compares defaults with the file when the widgets are known.
  private mutating func compare(_ data: SettableData, only kinds: Set<KindName>, with id: String) {
    var data = data
    data.keep(only: kinds)
    guard !data.names.isEmpty else { return }
    uncompared[id, default: SettableData()].add(data)
  }

  /// A new version replaces another one.
  ///
  /// - Parameter wasTaken: whether the daemon had taken that version. Otherwise, it still has the kinds
  ///   of the version before, so these count first.
  mutating func replace(_ data: SettableData, of id: String, wasTaken: Bool) {
    let earlier = last[id] ?? SettableData()
    var all = wasTaken ? data : earlier
    all.add(wasTaken ? earlier : data)
    last[id] = all
  }

  /// Forgets all other kinds of former versions.
  mutating func keep(only kinds: Set<KindName>, of id: String) { last[id]?.keep(only: kinds) }

  /// Another bundle takes the kinds and widgets over.
  ///
  /// - Parameters:
  ///   - data: nil if the daemon has never had the bundle.
  ///   - provided: the kinds that the daemon has from the other bundle already. It never had them from
  ///     this one, so no default changes.
  mutating func handOver(
    _ data: SettableData?, of id: String, to heir: String, beside provided: Set<KindName>
  ) {
    var former = uncompared[id] ?? SettableData()
    if let data { former.add(data) }
    var gone = former
    gone.add(dropped(by: id))
    gone.keep(only: Set(gone.names).subtracting(provided))
    forget(id)
    gone.add(dropped(by: heir))
    dropped[heir] = gone.withinLimits
    compare(former, only: Set(former.names).subtracting(provided), with: heir)
  }

  /// The data to compare with the file now; nil if there is none.
  mutating func takeUncompared(of id: String) -> SettableData? {
    uncompared.removeValue(forKey: id)
  }

  mutating func forget(_ id: String) {
    (last[id], uncompared[id]) = (nil, nil)
    (provided[id], dropped[id]) = (nil, nil)
  }
}

extension HostState {
  /// A line for each field whose default the new file changes, if some widgets have another value
  /// because a user or an action has set it.
  func keptDefaults(of bundle: Bundle, after former: BundleInstance) -> [String] {
    let old = former.bundle.kinds.map { kind in
      let defaults: [ValueMap.Entry] = [FieldOwner.Part.data, .parameters].flatMap { part in
        KindDefaults.fields(of: kind.kind, part).map {
          ValueMap.Entry(
            key: KindDefaults.key($0.name, part), value: $0.defaultValue ?? .null)
        }
      }
      return (kind.kind.name, ValueMap(defaults))
    }
    return keptDefaults(
      of: bundle, since: Dictionary(old) { first, _ in first }, among: former
    ) { value, before in value == before }
  }

  /// The same for a version that this host did not see, or that had another id, and for kinds that the
  /// file has again. The widgets are known now, and the daemon has let them follow the new defaults.
  mutating func lateKeptDefaults(of id: String) -> [String] {
    // Before that, others can have the kinds, and the instance knows no widgets.
    guard running[id]?.isTaken == true, let instance = running[id]?.instance,
      let former = formerData.takeUncompared(of: id)
    else { return [] }
    return keptDefaults(of: instance.bundle, since: former.kinds, among: instance) { _, _ in
      false
    }
  }

  /// The same, when the daemon takes a version whose widgets it has told already. Otherwise the
  /// next snapshot brings the lines.
  mutating func keptDefaultsOfTaken(_ id: String) -> [Output] {
    guard running[id]?.instance.sortedIDs.isEmpty == false else { return [] }
    return lateKeptDefaults(of: id).map { .report("bundle \(id): \($0)") }
  }

  /// A line for each field with another default than before, if widgets have another value.
  ///
  /// Fields that sources set are left out. The next reading sets them again.
  ///
  /// - Parameter follows: whether a widget will follow the new default, by its value and the former
  ///   default.
  private func keptDefaults(
    of bundle: Bundle, since old: [KindName: ValueMap], among instance: BundleInstance,
    _ follows: (_ value: Value, _ before: Value) -> Bool
  ) -> [String] {
    var lines: [String] = []
    for kind in bundle.kinds {
      guard let former = old[kind.kind.name] else { continue }
      let rule = LostFields(kind)
      for part in [FieldOwner.Part.data, .parameters] {
        for field in KindDefaults.fields(of: kind.kind, part)
        where part == .parameters || rule.mayHold(field.name) {
          guard let before = former[KindDefaults.key(field.name, part)],
            before != (field.defaultValue ?? .null)
          else { continue }
          let ids = instance.sortedIDs.filter { id in
            let spec = bundle.widgets.first { $0.id == id }
            guard !instance.waiting.contains(id), let widget = instance.widgets[id]?.view,
              stays(widget, of: kind, in: bundle),
              KindDefaults.values(of: spec, part)[field.name] == nil,
              let value = KindDefaults.values(of: widget, part)[field.name]
            else { return false }
            // A value that does not fit the new type does not stay.
            return value != (field.defaultValue ?? .null) && field.fitted(value) != nil
              && !follows(value, before)
          }
          guard !ids.isEmpty else { continue }
          lines.append(keptDefault(field.name, part, on: ids))
        }
      }
    }
    return lines
  }

  /// Whether a widget of the kind is not removed with this version of the file.
  private func stays(_ widget: Widget, of kind: BundleKind, in bundle: Bundle) -> Bool {
    guard widget.kind == kind.kind.name else { return false }
    return widget.applySet != HostState.provider(of: bundle.id)
      || bundle.widgets.contains { $0.id == widget.id && $0.kind == widget.kind }
  }

  /// `the new default of data.n has no effect on a: the field was set; …`
  private func keptDefault(
    _ name: String, _ part: FieldOwner.Part, on ids: [WidgetID]
  ) -> String {
    let shown = ids.prefix(limits.othersShownMax).map(\.rawValue).joined(separator: ", ")
    let more = ids.count > limits.othersShownMax ? ", …" : ""
    let option = part == .parameters ? "--unset-param" : "--unset"
    let id = ids.count == 1 ? shown : "ID"
    return "the new default of \(part.path(name)) has no effect on \(shown)\(more): the field was "
      + "set; \"widgetctl set \(id) \(option) \(name)\" sets it to the default"
      + (ids.count == 1 ? "" : " on each of these widgets")
  }
}

/// The fields of a kind with defaults, and their values in widgets.
private enum KindDefaults {
  static func fields(of kind: Kind, _ part: FieldOwner.Part) -> [Field] {
    part == .parameters ? kind.parameters : kind.data
  }

  /// The name of a field in `SettableData`.
  static func key(_ name: String, _ part: FieldOwner.Part) -> String {
    part == .parameters ? part.path(name) : name
  }

  static func values(of widget: Widget, _ part: FieldOwner.Part) -> ValueMap {
    part == .parameters ? widget.parameters : widget.data
  }

  static func values(of spec: WidgetSpec?, _ part: FieldOwner.Part) -> ValueMap {
    guard let spec else { return [:] }
    return part == .parameters ? spec.parameters : spec.data
  }
}
