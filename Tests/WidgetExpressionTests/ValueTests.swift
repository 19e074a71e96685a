import SeededRandom
import Testing
import WidgetModel

@testable import WidgetExpression

/// Values, and their conversion from hosts.
struct ValueTests {
  @Test func `values of the domain come back as they went in`() {
    let value = Value.map([
      "a": .list([.null, .bool(true), .int(-1), .double(1.5), .string("é"), .bytes([0, 255])]),
      "b": .timestamp(.epoch), "c": .duration(.seconds(5)), "d": .map([:]),
    ])
    #expect(Value(ExpressionValue(value)) == value)
  }

  @Test func `types that the domain lacks are converted or refused`() throws {
    #expect(Value(.uint(7)) == .int(7))
    #expect(Value(.uint(.max)) == nil)
    #expect(Value(.list([.uint(.max)])) == nil)
    #expect(Value(.type(.timestamp)) == .string("google.protobuf.Timestamp"))
    #expect(
      try Value(Sample.value("{1: 'a', true: 'b', 'c': 2u}"))
        == .map(["1": .string("a"), "true": .string("b"), "c": .int(2)]))
    #expect(try Value(Sample.value("{1: 'a', '1': 'b'}")) == nil)
  }

  @Test func `content is equal only with the same kinds and bytes`() {
    #expect(ExpressionValue.int(1) != .uint(1))
    #expect(ExpressionValue.int(1).isEqual(to: .uint(1)))
    #expect(ExpressionValue.double(.nan) == .double(.nan))
    #expect(!ExpressionValue.double(.nan).isEqual(to: .double(.nan)))
    #expect(ExpressionValue.double(0) != .double(-0.0))
    #expect(ExpressionValue.string("é") != .string("e\u{301}"))
    #expect(!ExpressionValue.string("é").isEqual(to: .string("e\u{301}")))
  }

  @Test func `maps are equal and hash alike in any order`() throws {
    let pairs: [(key: ExpressionValue, value: ExpressionValue)] = (0..<20).map {
      (.int($0), .string("\($0)"))
    }
    let a = try #require(ExpressionMap(pairs))
    let b = try #require(ExpressionMap(pairs.reversed()))
    #expect(a == b)
    #expect(a.hashValue == b.hashValue)
    #expect(a != ExpressionMap(Array(pairs.dropLast())))
    for (key, value) in pairs { #expect(a[key] == value) }
    #expect(a[.uint(3)] == "3")
    #expect(a[.double(3)] == "3")
    #expect(a[.double(3.5)] == nil)
    #expect(ExpressionMap(pairs + [(.uint(19), "again")]) == nil)
    #expect(ExpressionMap([(.null, "x")]) == nil)
    #expect(ExpressionMap(["k": .int(1)] as ValueMap) == ExpressionMap([("k", 1)]))
  }

  /// A host's object that counts its accesses.
  private final class Probe: ExpressionObject {
    let fieldNames = ["a", "b"]
    var fieldCount: Int { fieldNames.count }
    var fieldNamesCost: Int { fieldCount }
    func field(named name: String) -> ExpressionValue? {
      switch name {
      case "a": .int(1)
      case "b": .map(ExpressionMap(Probe()))
      default: nil
      }
    }
  }

  @Test(arguments: [
    ("event.a", 1), ("event.b.b.a", 1), ("event['a']", 1), ("size(event)", 2),
    ("has(event.c) ? 1 : 0", 0),
    ("'a' in event ? 1 : 0", 1), ("event.map(k, k).size()", 2),
    ("event.exists(k, v, dyn(v) == 1) ? 1 : 0", 1),
  ])
  func `an object of the host is a map without being built`(source: String, result: Int64) throws {
    let expression = try CompiledExpression(source, in: Sample.environment)
    let bindings: [String: ExpressionValue] = ["event": .map(ExpressionMap(Probe()))]
    #expect(try expression.evaluate(bindings) == .int(result))
  }

  /// A large object of the host that counts the requests for its names.
  final class Crowd: ExpressionObject, @unchecked Sendable {
    private(set) var requests = 0
    let fieldCount: Int
    let fieldNamesCost: Int

    init(fields: Int = 1_000, cost: Int = 1_000) { (fieldCount, fieldNamesCost) = (fields, cost) }

    var fieldNames: [String] {
      requests += 1
      return (0..<fieldCount).map { "k\($0)" }
    }
    func field(named name: String) -> ExpressionValue? { .int(1) }
  }

  @Test(
    arguments: [
      ("size(event) == 1000", true), ("event == {'k0': 1}", false), ("event == event", nil),
      ("event != event || true", nil), ("event.exists(k, k == 'k0')", nil),
      ("event.transformList(k, v, v) == []", nil), ("'%s'.format([event]) == ''", nil),
    ] as [(String, Bool?)])
  func `the names of an object are made only if the budget has room for them`(
    source: String, result: Bool?
  ) throws {
    let crowd = Crowd()
    let expression = try CompiledExpression(source, in: Sample.environment)
    let bindings: [String: ExpressionValue] = ["event": .map(ExpressionMap(crowd))]
    if let result {
      #expect(try expression.evaluate(bindings, budget: 100) == .bool(result))
    } else {
      let error = #expect(throws: EvaluationError.self) {
        try expression.evaluate(bindings, budget: 100)
      }
      #expect(error?.reason == .costExceeded)
    }
    #expect(crowd.requests == 0)
  }

  @Test(
    arguments: [
      "event == event", "event.exists(k, k == 'k0')", "event.all(k, v, v == 1)",
      "'%s'.format([event]) == ''", "[1].transformMapEntry(i, x, event) == {}",
    ])
  func `the names of an object cost what the object says, however few they are`(
    source: String
  ) throws {
    let expression = try CompiledExpression(source, in: Sample.environment)
    func cost(_ crowd: Crowd) throws -> Int {
      let bindings: [String: ExpressionValue] = ["event": .map(ExpressionMap(crowd))]
      return try expression.evaluateWithCost(bindings).cost
    }
    #expect(try cost(Crowd(fields: 2, cost: 902)) >= cost(Crowd(fields: 2, cost: 2)) + 900)
  }

  @Test(arguments: [Crowd(), Crowd(fields: 2)])
  func `an object is stored only if the budget has room for its names`(crowd: Crowd) {
    var budget = 100
    var reason: EvaluationError.Reason?
    do throws(EvaluationError) {
      _ = try Value(.map(ExpressionMap(crowd)), budget: &budget)
    } catch { reason = error.reason }
    #expect(reason == .costExceeded)
    #expect(budget == 0)
    #expect(crowd.requests == 0)
  }

  @Test func `a comparison of maps costs the bytes of their keys`() throws {
    let expression = try CompiledExpression("event == event", in: Sample.environment)
    func cost(keyBytes: Int) throws -> Int {
      let map: ValueMap = [String(repeating: "k", count: keyBytes): .int(1)]
      let bindings: [String: ExpressionValue] = ["event": ExpressionValue(map)]
      return try expression.evaluateWithCost(bindings).cost
    }
    #expect(try cost(keyBytes: 1_600) == cost(keyBytes: 1) + 100)
  }

  /// Bindings that record the requested variables.
  private final class Asked: ExpressionBindings {
    var names: [String] = []

    func value(of name: String, slot: Int) -> ExpressionValue? {
      names.append(name)
      return name == "event" ? 1 : nil
    }
  }

  @Test func `only the variables that are reached are asked for`() throws {
    let asked = Asked()
    let expression = try CompiledExpression(
      "event == 1 ? 2 : size(data.name)", in: Sample.environment)
    #expect(try expression.evaluate(asked) == 2)
    #expect(asked.names == ["event"])
    let missing = try CompiledExpression("now == now", in: Sample.environment)
    let error = #expect(throws: EvaluationError.self) { try missing.evaluate(asked) }
    #expect(error?.reason == .unboundVariable)
    #expect(error?.message.contains("'now'") == true)
  }

  @Test func `slots are the indexes of the environment's variables`() throws {
    let slots = SlotBindings(Sample.environment.variables.map { Sample.bindings[$0.name] })
    let expression = try CompiledExpression("data.cpu.total + data.load[0]", in: Sample.environment)
    #expect(try expression.evaluate(slots) == expression.evaluate(Sample.bindings))
    #expect(throws: EvaluationError.self) { try expression.evaluate(SlotBindings([])) }
  }

  @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar"])
  func `base64 is read and written`(text: String) {
    let bytes = Array(text.utf8)
    let encoded = PaddedBase64.encode(bytes)
    #expect(encoded.utf8.count % 4 == 0)
    #expect(Base64.decode(encoded) == bytes)
    #expect(Base64.decode(String(encoded.prefix { $0 != "=" })) == bytes)
  }

  @Test(arguments: ["A", "A===", "AB=", "A*==", "====", "AAAAA"])
  func `a text that is not base64 is refused`(text: String) { #expect(Base64.decode(text) == nil) }

  @Test func `searching finds what a plain search finds`() {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
        UInt8.random(in: 0...1, using: &generator)
      }
      let part = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
        UInt8.random(in: 0...1, using: &generator)
      }
      let naive = (0...text.count).first { text[$0...].starts(with: part) }
      #expect(ByteSearch.first(part, in: text) == naive)
    }
  }
}
