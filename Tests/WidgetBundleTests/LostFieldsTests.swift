import Testing
import WidgetBundle
import WidgetModel

/// The values that are lost with a widget of a bundle.
@Suite struct LostFieldsTests {
  private let bundle: Bundle
  private let rule: LostFields

  init() throws {
    bundle = try BundleReader.read(
      """
      {bundle: todo, format: 1, version: 1.0.0,
       kinds: {todo: {data: {items: [], clicks: 0, now: 0}, content: {label: x},
         sources: {clock: {timer: 1s, set: {now: '1'}}}}},
       widgets: {td: {kind: todo, data: {clicks: 2}}}}
      """)
    rule = LostFields(try #require(bundle.kinds.first))
  }

  private func widget(_ data: ValueMap) throws -> Widget {
    Widget(
      id: try #require(WidgetID("td")), kind: try #require(KindName("todo")), data: data,
      applySet: "bundle/todo")
  }

  private func paths(_ data: ValueMap, _ owners: [FieldOwner]) throws -> [String] {
    LostFields.values(of: try widget(data), owners, by: rule).map(\.path).sorted()
  }

  @Test func `without owners, values that differ from the file count, but not those of sources`()
    throws
  {
    let spec = bundle.widgets.first
    let data: ValueMap = ["items": .list([.int(1)]), "clicks": .int(2), "now": .int(1)]
    #expect(rule.values(of: try widget(data), declaredAs: spec).map(\.path) == ["data.items"])
    let clicked: ValueMap = ["items": .list([]), "clicks": .int(3), "now": .int(1)]
    #expect(
      rule.values(of: try widget(clicked), declaredAs: spec) == [
        FieldOwner(path: "data.clicks", owner: FieldOwner.unrecorded, declared: .int(3))
      ])
  }

  @Test func `with owners, undeclared fields of events and actions count, too`() throws {
    let data: ValueMap = ["items": .list([.int(1)]), "clicks": .int(2), "now": .int(1)]
    let file = FieldOwner(path: "data.clicks", owner: "bundle/todo")
    #expect(try paths(data, [file]) == ["data.items"])
    let event = FieldOwner(
      path: "data.clicks", owner: "events of kind todo", manager: "bundle/todo",
      declared: .int(0))
    #expect(try paths(data, [event]) == ["data.clicks", "data.items"])
    // The host sets data after an action, and the file declares the field.
    let action = FieldOwner(
      path: "data.clicks", owner: "provider bundle/todo", manager: "bundle/todo",
      declared: .int(0))
    #expect(try paths(data, [action]) == ["data.clicks", "data.items"])
    let same = FieldOwner(
      path: "data.clicks", owner: "provider bundle/todo", manager: "bundle/todo",
      declared: .int(2))
    #expect(try paths(data, [same]) == ["data.items"])
  }

  @Test func `a source's field counts only if a user has set it`() throws {
    let data: ValueMap = ["now": .int(7)]
    let user = FieldOwner(path: "data.now", owner: "user 1000")
    #expect(try paths(data, [user]) == ["data.now"])
    #expect(try paths(data, [FieldOwner(path: "data.now", owner: "provider bundle/todo")]) == [])
    #expect(try paths(data, []) == [])
  }

  @Test func `without the file, only values with a recorded owner count`() throws {
    let data: ValueMap = ["items": .list([.int(1)]), "clicks": .int(3)]
    let user = FieldOwner(path: "data.clicks", owner: "user 1000")
    let values = LostFields.values(of: try widget(data), [user], by: nil)
    #expect(
      values == [FieldOwner(path: "data.clicks", owner: "user 1000", declared: .int(3))])
  }
}
