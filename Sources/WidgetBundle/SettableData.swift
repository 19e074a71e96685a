public import WidgetModel

/// The data of a bundle's kinds that no source sets, with its defaults, and the parameters as
/// `parameters.NAME`. A field of data has no such name.
///
/// The widget `bundle/ID` keeps it for the next host. This host then knows which values of events and
/// actions go with a kind that the file no longer has, and which defaults were edited meanwhile.
public struct SettableData: Hashable, Sendable {
  /// The maximum size of a kept default. `value` leaves out larger ones.
  static let defaultBytesMax = 1 << 10
  /// The maximum size of all kept defaults of a bundle. A kind without room is left out. The kinds of
  /// the last version come first.
  static let bytesMax = 1 << 16
  /// The maximum number of lists and maps in each other in a kept default. Deeper values could exceed
  /// the daemon's limit in the data of `bundle/ID`.
  static let depthMax = 8

  /// The defaults of the fields, by kind. Null for a field without a default.
  public private(set) var kinds: [KindName: ValueMap] = [:]
  /// The kinds that only former versions had, those of later versions first.
  private var formerKinds: [KindName] = []

  public init() {}

  public init(of bundle: Bundle) {
    for kind in bundle.kinds {
      let rule = LostFields(kind)
      var defaults = ValueMap()
      for field in kind.kind.data where rule.mayHold(field.name) {
        defaults[field.name] = field.defaultValue ?? .null
      }
      for field in kind.kind.parameters {
        defaults[FieldOwner.Part.parameters.path(field.name)] = field.defaultValue ?? .null
      }
      kinds[kind.kind.name] = defaults
    }
  }

  /// Reads the data of a widget `bundle/ID`. Empty if an older host made the widget.
  public init(_ value: Value?) {
    guard case .map(let all)? = value else { return }
    for entry in all.entries {
      guard let kind = KindName(entry.key), case .map(let data) = entry.value else { continue }
      kinds[kind] = data
    }
  }

  public subscript(kind: KindName) -> ValueMap? { kinds[kind] }

  /// Adds the kinds of a former version. Kinds that this has stay as they are.
  public mutating func add(_ former: SettableData) {
    for kind in former.newestFirst where kinds[kind] == nil {
      kinds[kind] = former.kinds[kind]
      formerKinds.append(kind)
    }
  }

  /// Forgets all other kinds.
  public mutating func keep(only names: Set<KindName>) {
    kinds = kinds.filter { names.contains($0.key) }
    formerKinds.removeAll { !names.contains($0) }
  }

  /// The names of the kinds, in order.
  public var names: [KindName] { kinds.keys.sorted { $0.rawValue < $1.rawValue } }

  /// The names of the kinds: those of the last version, in order, before those of former ones.
  private var newestFirst: [KindName] {
    let former = Set(formerKinds)
    return names.filter { !former.contains($0) } + formerKinds
  }

  /// The data for the widget `bundle/ID`.
  public var value: Value {
    .map(ValueMap(withinLimits.kinds.map { .init(key: $0.key.rawValue, value: .map($0.value)) }))
  }

  /// The part of the data that `value` has.
  public var withinLimits: SettableData {
    var fitting: [KindName: ValueMap] = [:]
    var bytes = 0
    for kind in newestFirst {
      guard let data = kinds[kind] else { continue }
      let entries = data.entries.filter {
        $0.value.costBytes <= SettableData.defaultBytesMax
          && $0.value.isNested(atMost: SettableData.depthMax)
      }
      let cost = kind.rawValue.utf8.count + Value.map(ValueMap(entries)).costBytes
      guard bytes + cost <= SettableData.bytesMax else { continue }
      bytes += cost
      fitting[kind] = ValueMap(entries)
    }
    var kept = SettableData()
    kept.kinds = fitting
    kept.formerKinds = formerKinds.filter { fitting[$0] != nil }
    return kept
  }
}

extension Value {
  /// Whether at most this many lists and maps are in each other.
  fileprivate func isNested(atMost depth: Int) -> Bool {
    switch self {
    case .list(let values): depth > 0 && values.allSatisfy { $0.isNested(atMost: depth - 1) }
    case .map(let map):
      depth > 0 && map.entries.allSatisfy { $0.value.isNested(atMost: depth - 1) }
    default: true
    }
  }
}
