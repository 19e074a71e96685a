import SeededRandom
import Testing
import WidgetModel

/// Equality decides what counts as a change: every difference that a reader could see, and nothing
/// else.
struct ValueTests {
  static let distinct: [Value] = [
    .null, .bool(false), .bool(true), .int(0), .int(1), .double(0), .double(-0.0), .double(1),
    .double(.nan), .double(.infinity), .string(""), .string("1"), .string("\u{E9}"),
    .string("e\u{301}"), .bytes([]), .bytes([1]), .list([]), .list([.null]),
    .list([.double(.nan)]), .map([:]), .map(["a": .null]), .map(["\u{E9}": .null]),
    .map(["e\u{301}": .null]), .timestamp(.epoch), .timestamp(.latest), .duration(.zero),
    .duration(.seconds(1)),
  ]

  @Test func `every value equals itself and no other`() {
    for (place, a) in ValueTests.distinct.enumerated() {
      for (other, b) in ValueTests.distinct.enumerated() {
        #expect((a == b) == (place == other), "\(a) and \(b)")
      }
    }
  }

  @Test func `equal values have equal hashes`() {
    let signalling = Value.double(Double(nan: 7, signaling: false))
    #expect(signalling == .double(.nan))
    #expect(signalling.hashValue == Value.double(.nan).hashValue)
    #expect(Set(ValueTests.distinct + ValueTests.distinct).count == ValueTests.distinct.count)
  }

  @Test(
    arguments: [
      (.null, 16), (.bool(true), 16), (.int(.max), 16), (.double(1), 16), (.timestamp(.epoch), 16),
      (.duration(.zero), 16), (.string("\u{E9}"), 18), (.bytes([1, 2, 3]), 19), (.list([]), 16),
      (.list([.null, .string("ab")]), 50), (.map(["key": .null]), 35),
      (.map(["k": .list([.int(1)])]), 49),
    ] as [(Value, Int)])
  func `a value costs its content and 16 bytes for every value in it`(value: Value, cost: Int) {
    #expect(value.costBytes == cost)
  }

  @Test func `text is compared and ordered by its bytes`() {
    #expect(!"\u{E9}".hasSameBytes(as: "e\u{301}"))
    #expect("e\u{301}".hasSameBytes(as: "e\u{301}"))
    #expect("e\u{301}".precedesByBytes("\u{E9}"))
    #expect("Z".precedesByBytes("a"))
    #expect("a".precedesByBytes("aa"))
    #expect(!"a".precedesByBytes("a"))
    #expect("".precedesByBytes("a"))
  }
}

/// Maps and labels are sorted by their keys' bytes, every key once.
struct ValueMapTests {
  private func pairs(_ map: ValueMap) -> [String] {
    map.entries.map { "\($0.key)=\($0.value)" }
  }

  @Test func `entries are sorted by the bytes of their keys`() {
    let map = ValueMap(
      ["b", "\u{E9}", "a", "e\u{301}", "Z", "aa", ""].map { .init(key: $0, value: .null) })
    let expected = ["", "Z", "a", "aa", "b", "e\u{301}", "\u{E9}"]
    #expect(map.keys.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
  }

  @Test func `the last of several entries with one key counts`() {
    let unsorted: [ValueMap.Entry] = [
      .init(key: "b", value: .int(1)), .init(key: "a", value: .int(2)),
      .init(key: "b", value: .int(3)), .init(key: "a", value: .int(4)),
      .init(key: "b", value: .int(5)),
    ]
    #expect(ValueMap(unsorted) == ["a": .int(4), "b": .int(5)])
    #expect(ValueMap(unsorted).count == 2)
    let adjacent: [ValueMap.Entry] = [
      .init(key: "a", value: .int(1)), .init(key: "a", value: .int(2)),
    ]
    #expect(ValueMap(adjacent) == ["a": .int(2)])
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `entries in any order are sorted as by comparing all bytes, and the last one counts`(
    seed: UInt64
  ) {
    var generator = SeededGenerator(seed: seed)
    let parts = ["", "a", "b", "\u{0}", "ab", "\u{E9}", "e\u{301}", "12345678", "1234567"]
    let entries = (0..<Int.random(in: 0..<60, using: &generator)).map { place in
      let key = (0..<3).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
      return ValueMap.Entry(key: key, value: .int(Int64(place)))
    }
    var last: [[UInt8]: Value] = [:]
    for entry in entries { last[Array(entry.key.utf8)] = entry.value }
    let expected = last.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let map = ValueMap(entries)
    #expect(map.keys.map { Array($0.utf8) } == expected.map(\.key))
    #expect(map.entries.map(\.value) == expected.map(\.value))
  }

  /// A few entries are changed one by one, and many together.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `an update of a widget sets entries and then removes some`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let keys = (0..<12).map { "k\($0)" } + ["\u{E9}", "e\u{301}"]
    var widget = Widget(id: try #require(WidgetID("w")), kind: try #require(KindName("k")))
    widget.data = ValueMap(generator.some(keys, max: 12).map { .init(key: $0, value: .null) })
    var update = WidgetUpdate(id: widget.id, revision: 2, updateTime: .epoch)
    update.setData = ValueMap(generator.some(keys, max: 12).map { .init(key: $0, value: .int(1)) })
    update.unsetData = generator.some(keys, max: 12)
    var expected = widget.data
    for entry in update.setData.entries { expected[entry.key] = entry.value }
    for key in update.unsetData { expected[key] = nil }
    widget.apply(update)
    #expect(widget.data == expected, "seed \(seed)")
  }

  /// Sizes on both sides of the limits between changes in place, one by one and together.
  @Test(arguments: [0, 1, 9, 60, 400], [0, 1, 8, 9, 40])
  func `an update of a map of any size is as one change after the other`(
    count: Int, changes: Int
  ) throws {
    var generator = SeededGenerator(seed: UInt64(count * 100 + changes))
    let keys = (0..<2 * count + 2 * changes).map { "k\($0)" }
    var widget = Widget(id: try #require(WidgetID("w")), kind: try #require(KindName("k")))
    widget.data = ValueMap(
      keys.shuffled(using: &generator).prefix(count).map { .init(key: $0, value: .null) })
    for removals in [0, 1, 8, 9, 40] {
      var update = WidgetUpdate(id: widget.id, revision: 2, updateTime: .epoch)
      update.setData = ValueMap(
        keys.shuffled(using: &generator).prefix(changes).map { .init(key: $0, value: .int(1)) })
      update.unsetData = Array(keys.shuffled(using: &generator).prefix(removals))
      var expected = widget.data
      for entry in update.setData.entries { expected[entry.key] = entry.value }
      for key in update.unsetData { expected[key] = nil }
      widget.apply(update)
      #expect(widget.data == expected, "\(removals) removals")
    }
  }

  @Test func `an update of a few known keys does not copy a large map`() throws {
    var widget = Widget(id: try #require(WidgetID("w")), kind: try #require(KindName("k")))
    widget.data = ValueMap((0..<1_000).map { .init(key: "k\($0)", value: .null) })
    var update = WidgetUpdate(id: widget.id, revision: 2, updateTime: .epoch)
    update.setData = ValueMap((0..<20).map { .init(key: "k\($0 * 7)", value: .int(1)) })
    let before = widget.data.entries.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    widget.apply(update)
    let after = widget.data.entries.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    #expect(before == after)
    #expect(widget.data.entries.count { $0.value == .int(1) } == 20)
  }

  @Test func `keys that differ only in Unicode form are two keys`() {
    var map: ValueMap = ["\u{E9}": .int(1), "e\u{301}": .int(2)]
    #expect(map.count == 2)
    #expect(map["\u{E9}"] == .int(1))
    #expect(map["e\u{301}"] == .int(2))
    map["\u{E9}"] = nil
    #expect(map.count == 1)
    #expect(map["e\u{301}"] == .int(2))
  }

  @Test func `entries are set, replaced and removed one by one`() {
    var map = ValueMap()
    #expect(map.isEmpty)
    for key in ["m", "c", "x", "a", "z"] { map[key] = .string(key) }
    #expect(map.keys == ["a", "c", "m", "x", "z"])
    map["m"] = .int(1)
    #expect(map["m"] == .int(1))
    #expect(map.count == 5)
    map["c"] = nil
    map["absent"] = nil
    #expect(map.keys == ["a", "m", "x", "z"])
    #expect(map["c"] == nil)
    #expect(map["absent"] == nil)
  }

  @Test func `the order of insertion makes no difference`() {
    var forward = ValueMap()
    var backward = ValueMap()
    let keys = (0..<50).map { "key\($0)" }
    for key in keys { forward[key] = .string(key) }
    for key in keys.reversed() { backward[key] = .string(key) }
    #expect(forward == backward)
    #expect(forward.hashValue == backward.hashValue)
    #expect(forward == ValueMap(keys.map { .init(key: $0, value: .string($0)) }))
  }
}

struct LabelsTests {
  @Test func `labels are sorted by key, every key once, the last value counts`() {
    let labels = Labels([("b", "1"), ("a", "2"), ("b", "3")])
    #expect(labels.entries.map(\.key) == ["a", "b"])
    #expect(labels["b"] == "3")
    #expect(labels == ["a": "2", "b": "3"])
  }

  @Test func `labels that differ only in Unicode form are not equal`() {
    #expect(Labels([("k", "\u{E9}")]) != Labels([("k", "e\u{301}")]))
    #expect(Labels([("\u{E9}", "v")]) != Labels([("e\u{301}", "v")]))
    let both: Labels = ["\u{E9}": "1", "e\u{301}": "2"]
    #expect(both.count == 2)
    #expect(both["e\u{301}"] == "2")
  }

  @Test func `labels are set, replaced and removed one by one`() {
    var labels: Labels = [:]
    labels["b"] = "1"
    labels["a"] = "2"
    labels["b"] = "3"
    #expect(labels == ["a": "2", "b": "3"])
    labels["a"] = nil
    labels["absent"] = nil
    #expect(labels == ["b": "3"])
    labels["b"] = nil
    #expect(labels.isEmpty)
  }

  @Test func `errors whose messages differ only in Unicode form are not equal`() {
    let composed = WidgetError(reason: "R", message: "\u{E9}")
    let decomposed = WidgetError(reason: "R", message: "e\u{301}")
    #expect(composed != decomposed)
    #expect(composed == WidgetError(reason: "R", message: "\u{E9}"))
    #expect(composed != WidgetError(reason: "S", message: "\u{E9}"))
  }
}
