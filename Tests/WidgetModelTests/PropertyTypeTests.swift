import Testing
import WidgetModel

@Suite struct PropertyTypeTests {
  private func fitted(_ type: PropertyType, _ value: Value) -> Result<Value, PropertyMismatch> {
    Result { () throws(PropertyMismatch) in try type.fitted(value, as: "it") }
  }

  private func refusal(_ type: PropertyType, _ value: Value) -> String? {
    if case .failure(let mismatch) = fitted(type, value) { mismatch.description } else { nil }
  }

  @Test func `null is a value for every type of property`() {
    for property in NodeType.allCases.flatMap(\.allProperties) {
      #expect(fitted(property.type, .null) == .success(.null), "\(property.name)")
    }
  }

  @Test func `every default fits its own property`() {
    for type in NodeType.allCases {
      for property in type.allProperties {
        guard let value = property.defaultValue else { continue }
        #expect(fitted(property.type, value) == .success(value), "\(type) \(property.name)")
      }
    }
  }

  @Test func `no type has two properties of one name`() {
    for type in NodeType.allCases {
      #expect(Set(type.allProperties.map(\.name)).count == type.allProperties.count, "\(type)")
    }
  }

  @Test func `every token that is a default is in the standard theme`() {
    for property in NodeType.allCases.flatMap(\.allProperties) {
      guard case .string(let text)? = property.defaultValue, let token = ThemeToken(text),
        property.type == .color || property.type == .font
      else { continue }
      #expect(Theme.standard.values[token.name]?.group == token.group, "\(text)")
    }
  }

  @Test func `leaf nodes have a padding of 4, no margin, a separator and no accessory`() {
    for (name, value) in [
      ("padding", Value.double(4)), ("margin", .double(0)), ("separator", .bool(true)),
      ("accessory", .string("none")),
    ] {
      #expect(NodeType.label.property(name)?.defaultValue == value)
    }
    #expect(NodeType.stack.property("padding")?.defaultValue == .double(0))
  }

  @Test(arguments: [
    (Value.string("#1e90ff"), Value.string("#1e90ff")),
    (.string("#1E90FF80"), .string("#1E90FF80")),
    (.string("primary"), .string("color.primary")),
    (.string("color.primary"), .string("color.primary")),
    (.string("color.mine_2"), .string("color.mine_2")),
  ])
  func `colours are digits or tokens`(value: Value, wanted: Value) {
    #expect(fitted(.color, value) == .success(wanted))
  }

  @Test(arguments: ["#12345", "#gggggg", "#", "", "a b", "color.", "2nd", "offset.basic"])
  func `a text that is not a colour is refused`(text: String) {
    #expect(
      refusal(.color, .string(text))
        == "\"\(text)\" is not a colour; write #rrggbb, #rrggbbaa or a token like color.primary")
  }

  @Test func `the error for a misspelt token suggests a similar one`() {
    #expect(
      refusal(.color, .string("warnin")) == "\"warnin\" is not a colour; did you mean \"warning\"?")
    #expect(
      refusal(.font, .string("headlin"))
        == "\"headlin\" is not a valid it; did you mean \"headline\"?")
    #expect(
      refusal(.length, .string("basik2"))
        == "\"basik2\" is not a valid it; did you mean \"basic2\"?")
  }

  @Test func `lengths are points or tokens`() {
    #expect(fitted(.length, .int(8)) == .success(.double(8)))
    #expect(fitted(.length, .string("basic2")) == .success(.string("offset.basic2")))
    #expect(refusal(.length, .int(-1)) == "-1 is not a valid it; use points from 0 to 100000")
    #expect(refusal(.length, .double(.nan)) != nil)
    #expect(refusal(.length, .double(.infinity)) != nil)
    #expect(
      refusal(.length, .string("8px"))
        == "\"8px\" is not a valid it; write points, or a token like offset.basic")
    #expect(
      refusal(.length, .bool(true))
        == "it is a length, not a value of type bool; write points, or a token like offset.basic")
  }

  @Test func `a wrong side or length of edges is refused by name`() {
    #expect(
      fitted(.edges, .map(["top": .int(1), "all": .string("basic")]))
        == .success(.map(["top": .double(1), "all": .string("offset.basic")])))
    #expect(
      refusal(.edges, .map(["topp": .int(1)])) == "it has no \"topp\"; did you mean \"top\"?")
    #expect(refusal(.edges, .map(["top": .int(-1)]))?.hasPrefix("-1 is not a valid it.top") == true)
  }

  @Test func `a part is named with its property`() {
    let mismatch = #expect(throws: PropertyMismatch.self) {
      try PropertyType.edges.fitted(.map(["top": .string("wide")]), as: "padding of a label")
    }
    #expect(mismatch?.message == "\"wide\" is not a valid padding.top of a label")
  }

  @Test func `choices suggest the word that was meant`() {
    #expect(
      refusal(.choice(["vertical", "horizontal"]), .string("horizonal"))
        == "\"horizonal\" is not a valid it; did you mean \"horizontal\"?")
    #expect(
      refusal(.choice(["a", "b", "c"]), .string("zzz"))
        == "\"zzz\" is not a valid it; use a, b or c")
  }

  @Test func `a number outside of a property's range is refused`() {
    #expect(fitted(.whole(0...3), .int(3)) == .success(.int(3)))
    #expect(refusal(.whole(0...3), .int(4)) == "4 is not a valid it; use a whole number, 0 to 3")
    #expect(fitted(.number(0...1), .int(1)) == .success(.double(1)))
    #expect(refusal(.number(0...1), .double(1.5)) == "1.5 is not a valid it; use a number, 0 to 1")
    #expect(fitted(PropertyType.anyNumber, .double(.infinity)) == .success(.double(.infinity)))
  }

  @Test func `separators, accessories, runs and columns have keys of their own`() {
    #expect(
      fitted(.separator, .map(["color": .string("error"), "insets": .int(4)]))
        == .success(.map(["color": .string("color.error"), "insets": .double(4)])))
    #expect(
      refusal(.separator, .map(["colour": .int(1)]))
        == "it has no \"colour\"; did you mean \"color\"?")
    #expect(fitted(.accessory, .string("disclosure")) == .success(.string("disclosure")))
    #expect(
      fitted(.accessory, .map(["image": .string("go-next")]))
        == .success(.map(["image": .string("go-next")])))
    #expect(refusal(.accessory, .map(["image": .string("a"), "node": .string("b")])) != nil)
    #expect(
      fitted(.runs, .list([.string("a"), .map(["text": .int(3), "weight": .string("bold")])]))
        == .success(
          .list([
            .map(["text": .string("a")]),
            .map(["text": .string("3"), "weight": .string("bold")]),
          ])))
    #expect(
      refusal(.runs, .list([.map(["weight": .string("heavy")])]))
        == "\"heavy\" is not a valid it[0].weight; use regular, bold or light")
    for (run, words) in [
      (
        ValueMap(dictionaryLiteral: ("weight", .string("bolt"))),
        "\"bolt\" is not a valid it[1].weight; did you mean \"bold\"? Use regular, bold or light"
      ),
      (
        ["italic": .string("yes")],
        "it[1].italic: expected a value of type bool, not string; use bool"
      ),
      (
        ["color": .string("bleu")],
        "it[1].color: \"bleu\" is not a colour; "
          + "write #rrggbb, #rrggbbaa or a token like color.primary"
      ),
    ] {
      #expect(refusal(.runs, .list([.string("a"), .map(run)])) == words)
    }
    #expect(
      fitted(
        .columns, .list([.string("CPU"), .map(["title": .string("%"), "align": .string("end")])]))
        == .success(
          .list([.string("CPU"), .map(["title": .string("%"), "align": .string("end")])])))
    #expect(refusal(.columns, .string("CPU")) == "it is a list, not a value of type string")
  }

  @Test func `a theme's colours come back as they are written`() {
    for text in ["#000000", "#1e90ff", "#1e90ff80", "#ffffff00"] {
      #expect(ThemeColor(text)?.description == text)
    }
    #expect(ThemeColor("1e90ff") == nil)
    #expect(ThemeColor("#1e90f") == nil)
  }
}
