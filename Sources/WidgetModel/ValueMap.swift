/// A map from string keys to values, sorted by the keys' UTF-8 bytes.
///
/// Sorted rather than hashed, so that the same content has the same order in every process, on the
/// wire and in golden files. Look-up is O(log n); inserting out of order is O(n).
public struct ValueMap: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// One entry.
  public struct Entry: Hashable, Sendable {
    public let key: String
    public var value: Value

    public init(key: String, value: Value) {
      self.key = key
      self.value = value
    }

    public static func == (a: Entry, b: Entry) -> Bool {
      a.key.hasSameBytes(as: b.key) && a.value == b.value
    }
  }

  /// The entries, sorted by key, every key once.
  public private(set) var entries: [Entry]

  public init() { entries = [] }

  /// If several entries have the same key, the last one counts.
  public init(_ unsorted: [Entry]) {
    entries = unsorted
    guard !entries.isStrictlySorted else { return }
    var result: [Entry] = []
    result.reserveCapacity(entries.count)
    for index in ValueMap.order(of: entries) {
      if let last = result.last, last.key.hasSameBytes(as: entries[index].key) {
        result.removeLast()
      }
      result.append(entries[index])
    }
    entries = result
  }

  /// The indices of the entries, sorted by key. `sort` may be unstable, so the original place decides
  /// between equal keys.
  ///
  /// A peer can send 100,000 entries. Most keys differ in their first bytes, which are compared as a
  /// number.
  private static func order(of entries: [Entry]) -> [Int] {
    var places = entries.indices.map { (start: entries[$0].key.firstBytes, index: $0) }
    places.sort { a, b in
      if a.start != b.start { return a.start < b.start }
      let order = entries[a.index].key.compareBytes(with: entries[b.index].key)
      return order == 0 ? a.index < b.index : order < 0
    }
    return places.map(\.index)
  }

  public init(dictionaryLiteral elements: (String, Value)...) {
    self.init(elements.map { Entry(key: $0.0, value: $0.1) })
  }

  public var isEmpty: Bool { entries.isEmpty }
  public var count: Int { entries.count }
  public var keys: [String] { entries.map(\.key) }

  /// Reads, sets or (with nil) removes one entry.
  public subscript(key: String) -> Value? {
    get {
      let (index, found) = entries.position(of: key)
      return found ? entries[index].value : nil
    }
    set {
      let (index, found) = entries.position(of: key)
      switch (newValue, found) {
      case (let value?, true): entries[index].value = value
      case (let value?, false): entries.insert(Entry(key: key, value: value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// Sets entries, and then removes some. Many are changed together: one by one, each would move the
  /// entries behind it.
  mutating func change(_ set: ValueMap, removing keys: [String]) {
    guard set.count + keys.count > 8 else {
      for entry in set.entries { self[entry.key] = entry.value }
      for key in keys { self[key] = nil }
      return
    }
    if !set.isEmpty { self = ValueMap(entries + set.entries) }
    guard !keys.isEmpty else { return }
    let removed = keys.sortedByBytes
    entries.removeAll { removed.containsBytes(of: $0.key) }
  }
}

extension [ValueMap.Entry] {
  var isStrictlySorted: Bool {
    guard count > 1 else { return true }
    for index in 1..<count where !self[index - 1].key.precedesByBytes(self[index].key) {
      return false
    }
    return true
  }

  /// The index of the key, or the index at which to insert it.
  func position(of key: String) -> (index: Int, found: Bool) {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].key.precedesByBytes(key) { low = middle + 1 } else { high = middle }
    }
    return (low, low < count && self[low].key.hasSameBytes(as: key))
  }
}
