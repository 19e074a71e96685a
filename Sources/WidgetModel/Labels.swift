/// A widget's labels: free key/value pairs for selectors, sorted by key.
public struct Labels: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  /// The default limit of a label's key or value, and of other keys of a widget, in bytes.
  public static let textBytesMax = 256
  /// The default limit of the labels of one widget.
  public static let countMax = 64

  /// One label.
  public struct Entry: Hashable, Sendable {
    public let key: String
    public let value: String

    public static func == (a: Entry, b: Entry) -> Bool {
      a.key.hasSameBytes(as: b.key) && a.value.hasSameBytes(as: b.value)
    }
  }

  /// The labels, sorted by the key's UTF-8 bytes, every key once.
  public private(set) var entries: [Entry]

  public init() { entries = [] }

  /// If several pairs have the same key, the last one counts.
  public init(_ pairs: [(key: String, value: String)]) {
    var sorted: [(place: Int, entry: Entry)] = pairs.enumerated().map { place, pair in
      (place, Entry(key: pair.key, value: pair.value))
    }
    sorted.sort { a, b in
      if a.entry.key.hasSameBytes(as: b.entry.key) { return a.place < b.place }
      return a.entry.key.precedesByBytes(b.entry.key)
    }
    entries = []
    entries.reserveCapacity(sorted.count)
    for (_, entry) in sorted {
      if let last = entries.last, last.key.hasSameBytes(as: entry.key) { entries.removeLast() }
      entries.append(entry)
    }
  }

  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { (key: $0.0, value: $0.1) })
  }

  public var isEmpty: Bool { entries.isEmpty }
  public var count: Int { entries.count }

  /// Reads, sets or (with nil) removes one label.
  public subscript(key: String) -> String? {
    get { entries.first { $0.key.hasSameBytes(as: key) }?.value }
    set {
      let index = entries.firstIndex { !$0.key.precedesByBytes(key) } ?? entries.count
      let found = index < entries.count && entries[index].key.hasSameBytes(as: key)
      switch (newValue, found) {
      case (let value?, true): entries[index] = Entry(key: key, value: value)
      case (let value?, false): entries.insert(Entry(key: key, value: value), at: index)
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }
}
