import Testing
import WidgetModel

struct FieldTypeTests {
  @Test(arguments: [
    "dyn", "bool", "int", "double", "string", "bytes", "timestamp", "duration", "list(dyn)",
    "list(list(int))", "map(string, dyn)", "map(string, list(map(string, double)))",
  ])
  func `a type is written as it is read`(text: String) throws {
    let type = try #require(FieldType(text))
    #expect("\(type)" == text)
  }

  @Test(arguments: [
    ("list", FieldType.list(.any)), ("map", .map(.any)), (" list ( int ) ", .list(.int)),
    ("map(string,int)", .map(.int)),
  ])
  func `a type can be written shorter`(text: String, type: FieldType) {
    #expect(FieldType(text) == type)
  }

  @Test(arguments: [
    "", " ", "Int", "integer", "list(", "list()", "list(int", "list(int))", "list(int) x", "int(",
    "map(int, int)", "map(string)", "map(string int)", "map(,)", "list int", "dyn?",
    String(repeating: "list(", count: 100_000),
    String(repeating: "list(", count: 8) + "int" + String(repeating: ")", count: 8),
  ])
  func `a text that is not a type gives no type`(text: String) {
    #expect(FieldType(text) == nil)
  }

  @Test(arguments: ["list", "map", "int", "dyn", "list(dyn)", "map(string, dyn)"])
  func `a written type is read back as the same type`(inner: String) {
    for depth in 0...(FieldType.depthMax + 1) {
      for (start, end) in [("list(", ")"), ("map(string, ", ")")] {
        let text =
          String(repeating: start, count: depth) + inner + String(repeating: end, count: depth)
        guard let type = FieldType(text) else { continue }
        #expect(FieldType("\(type)") == type, "\(text)")
      }
    }
  }

  @Test func `a type at the deepest nesting is read`() {
    let depth = FieldType.depthMax - 1
    let text =
      String(repeating: "list(", count: depth) + "int" + String(repeating: ")", count: depth)
    #expect(FieldType(text) != nil)
  }

  @Test func `a value fits its own type, and null every one`() throws {
    let samples: [(String, Value)] = [
      ("bool", .bool(true)), ("int", .int(1)), ("double", .double(1.5)), ("string", .string("a")),
      ("bytes", .bytes([1])), ("timestamp", .timestamp(.epoch)), ("duration", .duration(.zero)),
      ("list(int)", .list([.int(1), .null])), ("map(string, bool)", .map(["a": .bool(true)])),
    ]
    for (text, value) in samples {
      let type = try #require(FieldType(text))
      #expect(type.fitted(.null) == .null)
      #expect(FieldType.any.fitted(value) == value)
      for (other, otherValue) in samples {
        let fits = type.fitted(otherValue) != nil
        #expect(fits == (text == other || (text == "double" && other == "int")), "\(text) \(other)")
      }
    }
  }

  @Test func `a whole number becomes a double where one is wanted, however deep`() throws {
    let type = try #require(FieldType("map(string, list(double))"))
    #expect(
      type.fitted(.map(["a": .list([.int(1), .double(0.5)])]))
        == .map(["a": .list([.double(1), .double(0.5)])]))
    #expect(type.fitted(.map(["a": .list([.string("1")])])) == nil)
  }
}

struct ClosestNameTests {
  @Test(arguments: [
    ("laod", "load"), ("colour", "color"), ("temprature", "temperature"), ("x", "y"),
    ("click", "click"), ("DISPLAYNAME", "displayName"), ("TEMPRATURE", "temperature"),
  ])
  func `a misspelt word has a suggestion`(slip: String, meant: String) {
    #expect(slip.closest(among: ["unrelated", meant, "another"]) == meant)
  }

  @Test(arguments: ["", "zebra", String(repeating: "a", count: 100_000)])
  func `a word that resembles no type has no suggestion`(name: String) {
    #expect(name.closest(among: ["load", "color", String(repeating: "b", count: 10_000)]) == nil)
  }

  @Test func `the nearer of two words is suggested`() {
    #expect("temperatur".closest(among: ["temperate", "temperature"]) == "temperature")
  }
}
