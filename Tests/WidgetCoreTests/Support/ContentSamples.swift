import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// A kind with content, and a store with one widget of it, for suites about content.
protocol ContentSamples {}

extension ContentSamples {
  static var root: NodeTemplate {
    NodeTemplate(
      id: "root", type: .stack,
      children: [
        NodeTemplate(
          id: "title", type: .label,
          properties: [
            "text": Binding(
              "parameters.name + ': ' + string(data.count)", placeholder: .string("--")),
            "lines": Binding(value: .int(1)),
          ]),
        NodeTemplate(
          id: "more", type: .stack, condition: "data.count > 2",
          children: [
            NodeTemplate(id: "much", type: .label, properties: ["text": Binding("'much'")])
          ]),
        NodeTemplate(
          id: "list", type: .table,
          children: [
            NodeTemplate(
              id: "row", type: .stack, condition: "!('hidden' in item)",
              rows: RowTemplate(list: "data.items", key: "item.id"),
              children: [
                NodeTemplate(
                  id: "name", type: .label,
                  properties: ["text": Binding("item.name + data.suffix")]),
                NodeTemplate(
                  id: "drop", type: .button,
                  properties: ["enabled": Binding("widget.enabled && itemIndex > 0")]),
                NodeTemplate(
                  id: "tag", type: .label,
                  properties: ["text": Binding("tag + ' of ' + item.name")],
                  rows: RowTemplate(
                    list: "has(item.tags) ? item.tags : []", name: "tag", key: "tag")),
              ])
          ]),
      ])
  }

  private static var drop: Reducer {
    Reducer(
      event: "press", nodeID: "drop",
      assignments: ["items": "data.items.filter(i, string(i.id) != event.row)"])
  }

  static func kind(_ content: [ContentTemplate]) -> Kind {
    Kind(
      name: "list",
      parameters: [Field(name: "name", type: .string, defaultValue: .string("n"))],
      data: [
        Field(name: "count", type: .int, defaultValue: .int(0)),
        Field(name: "suffix", type: .string, defaultValue: .string("")),
        Field(name: "items", type: .list(.map(.any)), defaultValue: .list([])),
        Field(name: "any"),
      ],
      reducers: content.contains { $0.root == root } ? [drop] : [], content: content)
  }

  func store(limits: StoreLimits = StoreLimits()) throws -> Store {
    var store = Store(limits: limits)
    try store.register([Self.kind([ContentTemplate(root: Self.root)])])
    try store.create("a", kind: "list")
    store.commitGroup(at: .at(0))
    return store
  }

  static func item(_ id: String, _ name: String, tags: [String] = []) -> Value {
    var map: ValueMap = ["id": .string(id), "name": .string(name)]
    if !tags.isEmpty { map["tags"] = .list(tags.map { .string($0) }) }
    return .map(map)
  }

  func ids(_ store: Store) -> [String] {
    store.widget("a")?.content?.nodes.map(\.id) ?? []
  }

  func text(_ id: String, _ store: Store) -> Value? {
    store.widget("a")?.content?[id]?.properties["text"]
  }

  func update(_ store: Store, since cursor: Revision) throws -> ContentChange? {
    guard case .updated(let update)? = try store.changes(since: cursor).changes.first else {
      return nil
    }
    return update.content
  }

  static func image(of store: Store, _ group: CommitGroup? = nil) -> StoreImage {
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = group?.upserts ?? store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    return image
  }
}
