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

  /// Sets entries, and then removes some. The values of a few known keys are replaced in place:
  /// O(log(entries)) for each. Many other changes are made together, because one by one, each would
  /// move the entries behind it: O(entries + changes), after the removed keys are sorted.
  mutating func change(_ set: ValueMap, removing keys: [String]) {
    guard !set.isEmpty || !keys.isEmpty else { return }
    var added = set.entries
    let comparisons = Int.bitWidth - entries.count.leadingZeroBitCount
    if added.count * comparisons <= entries.count {
      added.removeAll()
      for entry in set.entries where !replace(entry) { added.append(entry) }
    }
    guard added.count + keys.count > ValueMap.singleChangesMax else {
      for entry in added { self[entry.key] = entry.value }
      for key in keys { self[key] = nil }
      return
    }
    merge(added, removing: keys.sortedByBytes)
  }

  /// The maximum number of changes that are made one by one.
  private static let singleChangesMax = 8

  /// Replaces the value of a known key. Returns whether the key is known.
  private mutating func replace(_ entry: Entry) -> Bool {
    let (index, found) = entries.position(of: entry.key)
    if found { entries[index].value = entry.value }
    return found
  }

  /// Sets entries, and then removes some. Both are in order of their keys' bytes, every key once.
  private mutating func merge(_ set: [Entry], removing keys: [String]) {
    var result: [Entry] = []
    result.reserveCapacity(entries.count + set.count)
    var (next, nextRemoved) = (0, 0)
    func append(_ entry: Entry) {
      while nextRemoved < keys.count, keys[nextRemoved].precedesByBytes(entry.key) {
        nextRemoved += 1
      }
      guard nextRemoved == keys.count || !keys[nextRemoved].hasSameBytes(as: entry.key) else {
        return
      }
      result.append(entry)
    }
    for entry in set {
      while next < entries.count, entries[next].key.precedesByBytes(entry.key) {
        append(entries[next])
        next += 1
      }
      if next < entries.count, entries[next].key.hasSameBytes(as: entry.key) { next += 1 }
      append(entry)
    }
    for entry in entries[next...] { append(entry) }
    entries = result
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
