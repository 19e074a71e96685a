import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// The data of a record for expressions.
struct RecordMapTests {
  private static var base: RevisedMap {
    var map = RevisedMap()
    for (index, key) in ["a", "b", "c", "e\u{301}"].enumerated() {
      _ = map.set(key, to: .int(Int64(index)), at: 1)
    }
    _ = map.unset("c", at: 2)
    return map
  }

  @Test(
    arguments: [
      [:], ["a": .int(9)], ["c": .int(9)], ["d": .int(9)], ["a": nil], ["c": nil], ["d": nil],
      ["a": nil, "b": .int(9), "c": .int(9), "d": nil], ["é": .int(9)], ["e\u{301}": nil],
    ] as [[String: Value?]])
  func `the count of its fields is the number of its names`(changed: [String: Value?]) {
    let map = RecordMap(Self.base)
    for (name, value) in changed { map.change(name, to: value) }
    #expect(map.fieldCount == map.fieldNames.count)
    #expect(map.fieldNames.allSatisfy { map.field(named: $0) != nil })
    #expect(map.fieldNames == map.fieldNames.sorted { $0.precedesByBytes($1) })
    #expect(map.fieldNamesCost >= map.fieldCount)
  }

  @Test func `removed keys cost an eighth of a name until they are forgotten`() {
    var base = RevisedMap()
    for key in 0..<800 {
      _ = base.set("k\(key)", to: .null, at: 1)
      if key > 0 { _ = base.unset("k\(key)", at: 2) }
    }
    #expect(RecordMap(base).fieldNamesCost == 1 + 799 / 8)
    #expect(RecordMap(base).fieldNames == ["k0"])
    for key in 1..<800 { base.purge("k\(key)", tombstoneOf: 2) }
    #expect(RecordMap(base).fieldNamesCost == 1)
  }

  @Test func `it has the latest of several changes of a name`() {
    let map = RecordMap(Self.base)
    for value in [nil, nil, .int(7), .int(8), nil, .int(9)] as [Value?] {
      for name in ["a", "c", "d", "é", "e\u{301}"] {
        map.change(name, to: value)
        #expect(map.fieldCount == map.fieldNames.count)
      }
      #expect(map.field(named: "a") == value.map { ExpressionValue($0) })
      #expect(map.field(named: "d") == value.map { ExpressionValue($0) })
    }
    #expect(map.field(named: "b") == ExpressionValue(Value.int(1)))
  }
}
