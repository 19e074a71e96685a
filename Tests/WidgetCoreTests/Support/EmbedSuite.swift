import Testing
import WidgetModel

@testable import WidgetCore

/// The kinds and the steps of the tests about embeds.
protocol EmbedSuite {}

extension EmbedSuite {
  /// Shows the widget that its data names, in the family that its data names.
  static var frame: Kind {
    Kind(
      name: "frame",
      data: [
        Field(name: "widget", type: .string, defaultValue: .string("")),
        Field(name: "title", type: .string, defaultValue: .string("title")),
        Field(name: "open", type: .bool, defaultValue: .bool(true)),
        Field(name: "fallback", type: .string),
      ],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "frame", type: .stack,
            children: [
              NodeTemplate(id: "title", type: .label, properties: ["text": Binding("data.title")]),
              NodeTemplate(
                id: "inner", type: .embed,
                properties: [
                  "widget": Binding("data.widget"), "fallback": Binding("data.fallback"),
                ],
                condition: "data.open"),
            ]))
      ])
  }

  static var counter: Kind {
    Kind(
      name: "counter",
      data: [Field(name: "n", type: .int, defaultValue: .int(0))],
      reducers: [
        Reducer(event: "press", nodeID: "plus", assignments: ["n": "data.n + 1"])
      ],
      content: [
        ContentTemplate(
          families: [.inline],
          root: NodeTemplate(
            id: "line", type: .label, properties: ["text": Binding("'#' + string(data.n)")])),
        ContentTemplate(
          root: NodeTemplate(
            id: "counter", type: .stack,
            children: [
              NodeTemplate(
                id: "count", type: .label, properties: ["text": Binding("string(data.n)")]),
              NodeTemplate(
                id: "plus", type: .button, properties: ["text": Binding(value: .string("+"))]),
            ])),
      ])
  }

  static func grid(_ family: String = "") -> Kind {
    Kind(
      name: "grid", data: [Field(name: "ids", type: .list(.string), defaultValue: .list([]))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "grid", type: .grid,
            children: [
              NodeTemplate(
                id: "cell", type: .embed,
                properties: family.isEmpty
                  ? ["widget": Binding("id")]
                  : ["widget": Binding("id"), "family": Binding(value: .string(family))],
                rows: RowTemplate(list: "data.ids", name: "id", key: "id"))
            ]))
      ])
  }

  func store(
    _ kinds: [Kind] = [Self.frame, Self.counter, Self.grid()], limits: StoreLimits = StoreLimits()
  ) throws -> Store {
    var store = Store(limits: limits)
    try store.register(kinds)
    store.commitGroup(at: .at(0))
    return store
  }

  /// Ends the group, and lets embeds follow, as the daemon does.
  func settle(_ store: inout Store, costMax: Int = .max) {
    store.commitGroup(at: .at(0))
    store.settleEmbeds(costMax: costMax)
    #expect(store.checkInvariants().isEmpty)
  }

  func frame(_ id: WidgetID, showing other: String, _ store: inout Store) throws {
    try store.create(id, kind: "frame", data: ["widget": .string(other)])
  }

  func text(_ node: String, of id: WidgetID, _ store: Store) -> String? {
    store.widget(id)?.content?[node]?.properties["text"]?.words
  }

  func problem(of id: WidgetID, _ store: Store) -> String? {
    store.widget(id)?.content?["inner"]?.problem
  }
}

extension Value {
  fileprivate var words: String? { if case .string(let text) = self { text } else { nil } }
}
