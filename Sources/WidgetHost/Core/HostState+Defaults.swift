import WidgetBundle
import WidgetModel

/// The data of former versions of bundles that no source set.
struct FormerData: Sendable {
  private struct Uncompared: Sendable {
    var data = SettableData()
    /// The kinds that a bundle with another id had. The daemon then has no former kind, so widgets
    /// with a former default keep it.
    var kindsOfFormerID: Set<KindName> = []
  }

  /// The data of the kinds of former versions, by bundle: of the versions since the last one that the
  /// daemon has taken, and of kinds whose widgets wait for their removal.
  private var last: [String: SettableData] = [:]
  /// The data whose defaults are compared with the file when the widgets are known, by bundle.
  private var uncompared: [String: Uncompared] = [:]

  subscript(id: String) -> SettableData? { last[id] }

  /// An earlier host ran a bundle.
  mutating func remember(_ data: SettableData, of id: String) {
    last[id] = data
    uncompared[id, default: Uncompared()].data.add(data)
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
    last[id] = nil
    guard var former = uncompared.removeValue(forKey: id)?.data ?? data else { return }
    former.keep(only: Set(former.names).subtracting(provided))
    var all = uncompared[heir] ?? Uncompared()
    let known = Set(all.data.names)
    all.kindsOfFormerID.formUnion(Set(former.names).subtracting(known))
    all.data.add(former)
    uncompared[heir] = all
  }

  /// The data to compare with the file now; nil if there is none.
  mutating func takeUncompared(
    of id: String
  ) -> (data: SettableData, kindsOfFormerID: Set<KindName>)? {
    uncompared.removeValue(forKey: id).map { ($0.data, $0.kindsOfFormerID) }
  }

  mutating func forget(_ id: String) { (last[id], uncompared[id]) = (nil, nil) }
}

extension HostState {
  /// A line for each field whose default the new file changes, if some widgets have another value
  /// because a user or an action has set it.
  func keptDefaults(of bundle: Bundle, after former: BundleInstance) -> [String] {
    let old = former.bundle.kinds.map { kind in
      let defaults = kind.kind.data.map {
        ValueMap.Entry(key: $0.name, value: $0.defaultValue ?? .null)
      }
      return (kind.kind.name, ValueMap(defaults))
    }
    return keptDefaults(
      of: bundle, since: Dictionary(old) { first, _ in first }, among: former
    ) { _, value, before in value == before ? nil : HostState.wasSet }
  }

  /// The same for a version that this host did not see, or that had another id. The widgets are known
  /// now, and the daemon has let them follow the new defaults.
  mutating func lateKeptDefaults(of id: String) -> [String] {
    guard let instance = running[id]?.instance, let former = formerData.takeUncompared(of: id)
    else { return [] }
    return keptDefaults(of: instance.bundle, since: former.data.kinds, among: instance) {
      kind, value, before in
      value == before && former.kindsOfFormerID.contains(kind)
        ? "the bundle's id has changed, too" : HostState.wasSet
    }
  }

  private static let wasSet = "the field was set"

  /// A line for each field with another default than before, and each reason for which widgets have
  /// another value.
  ///
  /// Fields that sources set are left out. The next reading sets them again.
  ///
  /// - Parameter reason: why a widget keeps its value, by its kind, this value and the former default.
  ///   Nil if the widget follows the new default.
  private func keptDefaults(
    of bundle: Bundle, since old: [KindName: ValueMap], among instance: BundleInstance,
    _ reason: (_ kind: KindName, _ value: Value, _ before: Value) -> String?
  ) -> [String] {
    var lines: [String] = []
    for kind in bundle.kinds {
      let name = kind.kind.name
      guard let former = old[name] else { continue }
      let set = Set(kind.sources.flatMap { $0.assignments.values.map(\.key) })
        .union([BundleScope.statusKey])
      for field in kind.kind.data where !set.contains(field.name) {
        guard let before = former[field.name], before != (field.defaultValue ?? .null) else {
          continue
        }
        var kept: [String: [WidgetID]] = [:]
        for id in instance.sortedIDs {
          // A value that does not fit the new type does not stay.
          guard let widget = instance.widgets[id]?.view, widget.kind == name,
            let value = widget.data[field.name],
            bundle.widgets.first(where: { $0.id == id })?.data[field.name] == nil,
            value != (field.defaultValue ?? .null), field.fitted(value) != nil,
            let reason = reason(name, value, before)
          else { continue }
          kept[reason, default: []].append(id)
        }
        for (reason, ids) in kept.sorted(by: { $0.key < $1.key }) {
          let more = ids.count > limits.othersShownMax ? ", …" : ""
          lines.append(
            "the new default of data.\(field.name) has no effect on "
              + ids.prefix(limits.othersShownMax).map(\.rawValue).joined(separator: ", ") + more
              + ": \(reason); \"widgetctl set \(ids[0]) --unset \(field.name)\" sets it to the"
              + " default")
        }
      }
    }
    return lines
  }
}
