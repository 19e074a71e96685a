public import WidgetModel

/// Something that a host shows to expressions as a map with string keys, without building one: the
/// fields are asked for when an expression reads them.
///
/// It must not change while an evaluation runs, so that the same name always has the same value.
public protocol ExpressionObject: AnyObject, Sendable {
  /// The number of names. It must be cheap, because an expression reads it before it pays for the
  /// names.
  var fieldCount: Int { get }
  /// The cost of `fieldNames`. It must be cheap, too. Usually `fieldCount`; more if the object also
  /// looks at things that are no fields.
  var fieldNamesCost: Int { get }
  /// All names, each once, in a fixed order. A macro iterates over them.
  var fieldNames: [String] { get }
  /// The field's value, or nil if there is none.
  func field(named name: String) -> ExpressionValue?
}

/// A map of the language: made by an expression, one of the domain, or a host's object.
///
/// Keys are bools, ints, uints and strings; `1` and `1u` are the same key. Iteration is in the order
/// of insertion, or in the domain's sorted order, so the same input gives the same output everywhere.
public struct ExpressionMap: Hashable, Sendable {
  enum Storage {
    case made(MapEntries)
    case domain(ValueMap)
    case object(any ExpressionObject)
  }

  let storage: Storage

  init(_ entries: MapEntries) { storage = .made(entries) }

  /// The same map, without copying it.
  public init(_ map: ValueMap) { storage = .domain(map) }

  /// A host's object as a map.
  public init(_ object: any ExpressionObject) { storage = .object(object) }

  /// The map of these entries, or nil if a key is of another kind or appears twice.
  public init?(_ pairs: [(key: ExpressionValue, value: ExpressionValue)]) {
    var builder = MapBuilder()
    for (key, value) in pairs {
      guard let mapKey = MapKey(key), builder.insert(value, for: mapKey) else { return nil }
    }
    self.init(builder.build())
  }

  /// How many entries. It makes no keys.
  public var count: Int {
    switch storage {
    case .made(let entries): entries.keys.count
    case .domain(let map): map.count
    case .object(let object): object.fieldCount
    }
  }

  /// The cost of a list of all keys or entries.
  var listingCost: Int {
    if case .object(let object) = storage { object.fieldNamesCost } else { count }
  }

  /// The value of a key, or nil. A double that is a whole number finds the int or uint.
  public subscript(key: ExpressionValue) -> ExpressionValue? {
    if case .string(let name) = key { return field(named: name) }
    guard case .made(let entries) = storage, let mapKey = MapKey(lookingUp: key) else { return nil }
    return entries[mapKey]
  }

  /// The value of a string key, or nil.
  public func field(named name: String) -> ExpressionValue? {
    switch storage {
    case .made(let entries): entries[.string(name)]
    case .domain(let map): map[name].map { ExpressionValue($0) }
    case .object(let object): object.field(named: name)
    }
  }

  /// All keys, in the map's order. O(n).
  public var keys: [ExpressionValue] {
    switch storage {
    case .made(let entries): entries.keys.map(\.value)
    case .domain(let map): map.entries.map { .string($0.key) }
    case .object(let object): object.fieldNames.map { .string($0) }
    }
  }

  /// All entries, in the map's order. O(n).
  public var entries: [(key: ExpressionValue, value: ExpressionValue)] {
    switch storage {
    case .made(let entries):
      zip(entries.keys, entries.values).map { (key: $0.value, value: $1) }
    case .domain(let map):
      map.entries.map { (key: .string($0.key), value: ExpressionValue($0.value)) }
    case .object(let object):
      object.fieldNames.compactMap { name in
        object.field(named: name).map { (key: .string(name), value: $0) }
      }
    }
  }

  var depth: Int {
    if case .made(let entries) = storage { entries.depth } else { 1 }
  }

  public static func == (a: ExpressionMap, b: ExpressionMap) -> Bool {
    guard a.count == b.count else { return false }
    for (key, value) in a.entries {
      guard let other = b[key], other == value else { return false }
    }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    // The order of entries must not matter, so their hashes are added up.
    var sum = 0
    for (key, value) in entries {
      var inner = Hasher()
      if let mapKey = MapKey(key) { inner.combine(mapKey) }
      inner.combine(value)
      sum &+= inner.finalize()
    }
    hasher.combine(sum)
  }
}

/// A key of a map. `1` and `1u` are equal and hash alike.
enum MapKey: Hashable, Sendable {
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case string(String)

  /// Nil for a kind that cannot be a key.
  init?(_ value: ExpressionValue) {
    switch value {
    case .bool(let x): self = .bool(x)
    case .int(let x): self = .int(x)
    case .uint(let x): self = .uint(x)
    case .string(let x): self = .string(x)
    default: return nil
    }
  }

  /// The key that a value finds: a double that is a whole number finds that number.
  init?(lookingUp value: ExpressionValue) {
    guard case .double(let x) = value else {
      self.init(value)
      return
    }
    if let whole = Int64(exactly: x) {
      self = .int(whole)
    } else if let whole = UInt64(exactly: x) {
      self = .uint(whole)
    } else {
      return nil
    }
  }

  var value: ExpressionValue {
    switch self {
    case .bool(let x): .bool(x)
    case .int(let x): .int(x)
    case .uint(let x): .uint(x)
    case .string(let x): .string(x)
    }
  }

  static func == (a: MapKey, b: MapKey) -> Bool {
    switch (a, b) {
    case (.string(let x), .string(let y)): x.hasSameBytes(as: y)
    case (.int(let x), .int(let y)): x == y
    case (.uint(let x), .uint(let y)): x == y
    case (.int(let x), .uint(let y)), (.uint(let y), .int(let x)): x >= 0 && UInt64(x) == y
    case (.bool(let x), .bool(let y)): x == y
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .bool(let x): hasher.combine(x)
    case .int(let x): hasher.combine(UInt64(bitPattern: x))
    case .uint(let x): hasher.combine(x)
    case .string(var x):
      // The hash of a String normalizes the text first, which costs more than reading it.
      x.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      hasher.combine(UInt8.max)
    }
  }
}

/// The entries of a map that an expression made. Up to eight are searched one by one.
final class MapEntries: Sendable {
  let keys: [MapKey]
  let values: [ExpressionValue]
  let depth: Int
  private let places: [MapKey: Int]

  init(keys: [MapKey], values: [ExpressionValue], places: [MapKey: Int]) {
    self.keys = keys
    self.values = values
    self.places = places
    depth = values.reduce(0) { max($0, $1.depth) } + 1
  }

  subscript(key: MapKey) -> ExpressionValue? {
    if places.isEmpty {
      return keys.firstIndex(of: key).map { values[$0] }
    }
    return places[key].map { values[$0] }
  }
}

/// Collects entries, and reports repeated keys.
struct MapBuilder {
  private static let searchedMax = 8
  private var keys: [MapKey] = []
  private var values: [ExpressionValue] = []
  private var places: [MapKey: Int] = [:]

  init() {}

  /// False, and nothing changed, if the key already exists.
  mutating func insert(_ value: ExpressionValue, for key: MapKey) -> Bool {
    if places.isEmpty {
      if keys.contains(key) { return false }
      if keys.count == Self.searchedMax {
        for (place, key) in keys.enumerated() { places[key] = place }
      }
    }
    if !places.isEmpty {
      if places[key] != nil { return false }
      places[key] = keys.count
    }
    keys.append(key)
    values.append(value)
    return true
  }

  func build() -> MapEntries { MapEntries(keys: keys, values: values, places: places) }
}
