import Testing
import WidgetBundle
import WidgetModel
import WidgetProto

@testable import widgetctl

struct KindTextTests {
  private func text(_ kind: Kind) -> String {
    KindText(RegisteredKind(kind: kind, provider: "desk"), Samples.plain).text(width: nil)
  }

  @Test(arguments: [(nil, nil), (true, "connected"), (false, "away")] as [(Bool?, String?)])
  func `describe shows whether the provider of a kind is connected`(
    isConnected: Bool?, state: String?
  ) throws {
    let kind = Kind(name: try #require(KindName("note")))
    var registered = RegisteredKind(
      kind: kind, provider: "desk", isAttended: isConnected != nil)
    registered.isProviderConnected = isConnected == true
    #expect(registered.providerState == state)
    let text = KindText(registered, Samples.plain).text(width: nil)
    for word in ["connected", "away"] { #expect(text.contains(word) == (state == word), "\(text)") }
    #expect(
      text.contains("Refreshes: none; no program provides the data of its widgets\n")
        == (isConnected == nil))
  }

  @Test(arguments: [
    ([], ""),
    (["a"], "1 widget stays, and is unregistered now: a; `widgetctl rm --kind note` removes it\n"),
    (
      ["a", "b", "c", "d", "e", "f"],
      "6 widgets stay, and are unregistered now: a, b, c, d, e, …; `widgetctl rm --kind note` removes "
        + "them\n"
    ),
  ])
  func `the removal of a kind counts its widgets`(ids: [String], text: String) throws {
    #expect(RemoveKindCommand.text(ofWidgets: ids, of: try #require(KindName("note"))) == text)
  }

  @Test(arguments: [false, true])
  func `each value that a changed kind removes from a widget is named`(dryRun: Bool) throws {
    let (a, b) = (try #require(WidgetID("a")), try #require(WidgetID("b")))
    let result = KindResult(
      name: try #require(KindName("note")), action: .updated, widgetsChanged: 2,
      lostFields: [
        LostField(widgetID: a, path: "data.text", value: .string("mine")),
        LostField(widgetID: b, path: "data.text", isSetAside: true),
      ], lostFieldsCount: 5)
    let text = ApplyCommand.text(ApplyKindsResponse(results: [result], revision: 1), dryRun: dryRun)
    #expect(
      text == """
        kind note updated, 2 widgets converted\(dryRun ? " (dry run)" : "")
          a: data.text \(dryRun ? "would lose" : "has lost") its value, "mine": the changed kind does \
        not declare the field, or only with another type or other choices
          b: data.text \(dryRun ? "would be" : "is") set aside until it fits the kind again, or somebody sets the field
          more values that do not fit the changed kind: 3

        """)
  }

  @Test func `a value that the same file replaces is not reported as set aside`() throws {
    let (a, b) = (try #require(WidgetID("a")), try #require(WidgetID("b")))
    let note = try #require(KindName("note"))
    let result = KindResult(
      name: note, action: .updated, widgetsChanged: 2,
      lostFields: [
        LostField(widgetID: a, path: "data.n", isSetAside: true),
        LostField(widgetID: a, path: "entry.n", isSetAside: true),
        LostField(widgetID: b, path: "data.n", isSetAside: true),
      ], lostFieldsCount: 3)
    var spec = WidgetSpec(id: a, kind: note, data: ["n": .string("7")])
    spec.timeline = Timeline()
    let text = ApplyCommand.text(
      ApplyKindsResponse(results: [result], revision: 1), dryRun: false, replacedBy: [spec])
    #expect(
      text == """
        kind note updated, 2 widgets converted
          a: data.n did not fit the changed kind; the file's value replaces it
          a: entry.n did not fit the changed kind; the file's value replaces it
          b: data.n is set aside until it fits the kind again, or somebody sets the field

        """)
  }

  @Test func `widgets without a newly required parameter are named`() throws {
    let note = try #require(KindName("note"))
    let kind = Kind(
      name: note,
      parameters: [
        Field(name: "place", type: .string, isRequired: true), Field(name: "free", type: .string),
      ])
    func widget(_ id: String, _ parameters: ValueMap) -> Widget {
      var widget = Samples.widget
      (widget.id, widget.kind, widget.parameters) = (Samples.id(id), note, parameters)
      return widget
    }
    let lines = LackingWidgets.lines(
      [kind], [widget("a", [:]), widget("b", ["place": .string("x")])])
    #expect(
      lines == [
        "  a: lacks the parameter \"place\", which the changed kind requires; "
          + "set it with `widgetctl set a --param place=VALUE`"
      ])
    let many = LackingWidgets.lines([kind], (1...25).map { widget("w\($0)", [:]) })
    #expect(many.count == 21 && many.last == "  and 5 more without a required parameter")
  }

  @Test func `a kind says which nodes its widgets show, and what they take`() throws {
    let name = try #require(KindName("todo"))
    let kind = Kind(
      name: name, families: [.small, .inline],
      data: [Field(name: "items", type: .list(.string), defaultValue: .list([]))],
      content: [
        ContentTemplate(
          families: [.inline],
          root: NodeTemplate(
            id: "line", type: .label, properties: ["text": Binding("size(data.items)")])),
        ContentTemplate(
          root: NodeTemplate(
            id: "all", type: .stack,
            children: [
              NodeTemplate(
                id: "title", type: .label, properties: ["text": Binding(value: .string("To do"))],
                condition: "data.items != []"),
              NodeTemplate(
                id: "item", type: .toggle, properties: ["text": Binding("item")],
                rows: RowTemplate(list: "data.items")),
              NodeTemplate(
                id: "more", type: .form,
                children: [
                  NodeTemplate(
                    id: "new", type: .input, properties: ["name": Binding(value: .string("text"))]),
                  NodeTemplate(
                    id: "soon", type: .toggle, properties: ["name": Binding(value: .string("soon"))]
                  ),
                ]),
            ])),
      ])
    #expect(
      text(kind) == """
        todo

        Declared by: desk
        Families: small, inline
        Refreshes: none; no program provides the data of its widgets

        Data
        NAME   TYPE          DEFAULT  DESCRIPTION
        items  list(string)  []

        Content (inline)
        NODE  TYPE   TAKES  SHOWS
        line  label  -      =size(data.items)

        Content (other families)
        NODE      TYPE    TAKES                           SHOWS
        all       stack   -
          title   label   -                               To do  if data.items != []
          item    toggle  change value=…                  =item  for each item in data.items
          more    form    submit values={text, soon}
            new   input   change value=…, submit value=…
            soon  toggle  change value=…

        """)
  }

  @Test func `expressions are shown as they were written, and names of let once`() throws {
    let set = try DeclaredSet.read(
      """
      kinds:
        mail:
          data: {unread: 0}
          let: {more: data.unread + 1, many: more > 20}
          on: {click: {if: many, do: {set: {unread: more}}}}
          content:
            stack:
              - {id: a, label: '=many ? "many" : string(more)'}
              - {id: b, label: {from: data.unread, transform: percent, placeholder: --}, if: many}
      """)
    let kind = try #require(set.kinds?.first).kind
    #expect(
      text(kind).hasSuffix(
        """

        NODE     TYPE   TAKES  SHOWS
        stack-1  stack  -
          a      label  -      =many ? "many" : string(more)
          b      label  -      {from: data.unread, transform: percent, placeholder: "--"}  if many

        Reducers
        on click if many
          unread = more

        Names (let)
        NAME  EXPRESSION
        more  data.unread + 1
        many  more > 20

        """), "\(text(kind))")
  }

  @Test func `a long expression does not fill the screen`() throws {
    let name = try #require(KindName("long"))
    let kind = Kind(
      name: name,
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "all", type: .label,
            properties: ["text": Binding(String(repeating: "x", count: 100))]))
      ])
    #expect(text(kind).hasSuffix("label  -      =\(String(repeating: "x", count: 58))…\n"))
  }

  @Test func `a wide default does not push the descriptions away`() throws {
    let name = try #require(KindName("feed"))
    let kind = Kind(
      name: name,
      data: [
        Field(
          name: "status", type: .map(.any),
          defaultValue: .map(["load": .map(["state": .string("idle"), "running": .bool(false)])]),
          summary: "How it goes.")
      ])
    #expect(
      text(kind).contains(
        #"status  map(string, dyn)  {"load":{"running":fals…  How it goes."#), "\(text(kind))")
  }
}
