import Testing
import WidgetModel

struct IdentifierTests {
  @Test(arguments: [
    ("a", true), ("0", true), ("Z9", true), ("a.b_c-d/e:f", true), ("", false), (".a", false),
    ("_a", false), ("-a", false), ("/a", false), (":a", false), ("a b", false), ("a\u{0}", false),
    ("\u{E9}", false), ("a\n", false), ("a@", false), ("a[", false), ("a`", false), ("a{", false),
  ])
  func `an id has a safe alphabet and begins with a letter or digit`(text: String, isValid: Bool) {
    #expect((WidgetID(text) != nil) == isValid)
    #expect((KindName(text) != nil) == isValid)
    #expect(WidgetID(text)?.description ?? text == text)
    #expect(KindName(text)?.description ?? text == text)
  }

  @Test func `an id has at most 128 characters and a kind 64`() {
    #expect(WidgetID(String(repeating: "a", count: 128)) != nil)
    #expect(WidgetID(String(repeating: "a", count: 129)) == nil)
    #expect(KindName(String(repeating: "a", count: 64)) != nil)
    #expect(KindName(String(repeating: "a", count: 65)) == nil)
  }

  @Test(
    arguments: [
      (true, true, .visible), (true, false, .disabled), (false, true, .hidden),
      (false, false, .hidden),
    ] as [(Bool, Bool, Presence.State)])
  func `the presence state follows from visible and enabled`(
    isVisible: Bool, isEnabled: Bool, state: Presence.State
  ) {
    #expect(Presence(isVisible: isVisible, isEnabled: isEnabled).state == state)
  }
}

struct SelectorTests {
  private func matches(
    _ selector: Selector, id: String = "w", kind: String = "clock", family: Family = .medium,
    labels: Labels = ["room": "kitchen"]
  ) throws -> Bool {
    let id = try #require(WidgetID(id))
    let kind = try #require(KindName(kind))
    return selector.matches(id: id, kind: kind, family: family, labels: labels)
  }

  @Test func `the empty selector picks everything`() throws {
    #expect(Selector().isEverything)
    #expect(!Selector().dependsOnState)
    #expect(try matches(Selector()))
  }

  @Test func `ids, kinds and families each pick one of several`() throws {
    let (w, x) = (try #require(WidgetID("w")), try #require(WidgetID("x")))
    let (clock, sun) = (try #require(KindName("clock")), try #require(KindName("sun")))
    #expect(try matches(Selector(ids: [x, w])))
    #expect(try !matches(Selector(ids: [x])))
    var changed = Selector(ids: [x, x])
    changed.ids = [w]
    #expect(try matches(changed))
    #expect(changed == Selector(ids: [w]))
    #expect(try matches(Selector(kinds: [sun, clock])))
    #expect(try !matches(Selector(kinds: [sun])))
    #expect(try matches(Selector(families: [.large, .medium])))
    #expect(try !matches(Selector(families: [.large])))
  }

  @Test func `a selector with several conditions matches only if all hold`() throws {
    let (w, clock) = (try #require(WidgetID("w")), try #require(KindName("clock")))
    let room = LabelRequirement(key: "room", operator: .exists)
    let all = Selector(ids: [w], kinds: [clock], families: [.medium], labels: [room])
    #expect(try matches(all))
    #expect(try !matches(all, id: "x"))
    #expect(try !matches(all, kind: "sun"))
    #expect(try !matches(all, family: .small))
    #expect(try !matches(all, labels: [:]))
    let floor = LabelRequirement(key: "floor", operator: .exists)
    #expect(try !matches(Selector(labels: [room, floor])))
    #expect(try matches(Selector(labels: [room, floor]), labels: ["room": "", "floor": ""]))
  }

  @Test func `only labels and families can change what a selector picks`() throws {
    #expect(!Selector(ids: [try #require(WidgetID("w"))]).dependsOnState)
    #expect(!Selector(kinds: [try #require(KindName("k"))]).dependsOnState)
    #expect(Selector(families: [.small]).dependsOnState)
    #expect(Selector(labels: [.init(key: "a", operator: .exists)]).dependsOnState)
    #expect(!Selector(families: [.small]).isEverything)
  }

  @Test(
    arguments: [
      (.isIn, ["kitchen", "hall"], true), (.isIn, ["hall"], false), (.isIn, [], false),
      (.notIn, ["kitchen"], false), (.notIn, ["hall"], true), (.notIn, [], true),
      (.exists, [], true), (.notExists, [], false),
    ] as [(LabelRequirement.Operator, [String], Bool)])
  func `requirements match an existing label by their operator`(
    operator: LabelRequirement.Operator, values: [String], holds: Bool
  ) {
    let requirement = LabelRequirement(key: "room", operator: `operator`, values: values)
    #expect(requirement.holds(for: ["room": "kitchen"]) == holds)
  }

  @Test(
    arguments: [
      (.isIn, ["kitchen"], false), (.notIn, ["kitchen"], true), (.exists, [], false),
      (.notExists, [], true),
    ] as [(LabelRequirement.Operator, [String], Bool)])
  func `requirements match a missing label by their operator`(
    operator: LabelRequirement.Operator, values: [String], holds: Bool
  ) {
    let requirement = LabelRequirement(key: "room", operator: `operator`, values: values)
    #expect(requirement.holds(for: ["floor": "kitchen"]) == holds)
  }

  @Test func `label values are compared by their bytes`() {
    let isIn = LabelRequirement(key: "k", operator: .isIn, values: ["\u{E9}"])
    #expect(isIn.holds(for: ["k": "\u{E9}"]))
    #expect(!isIn.holds(for: ["k": "e\u{301}"]))
    let notIn = LabelRequirement(key: "k", operator: .notIn, values: ["\u{E9}"])
    #expect(notIn.holds(for: ["k": "e\u{301}"]))
  }
}
