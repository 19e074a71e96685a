import WidgetModel

/// The content of help widgets: the kind's name and purpose, and a table for each list of fields.
extension HelpKind {
  static let content: [ContentTemplate] = [
    ContentTemplate(
      families: [.inline],
      root: label(
        "line", "\(title)\(known("data.description == ''", "''", "': ' + data.description"))")
    ),
    ContentTemplate(
      root: NodeTemplate(
        id: "help", type: .stack,
        children: [
          label("title", title, font: "title"),
          label(
            "description", "data.description",
            when: "has(data.description) && data.description != ''"),
          label(
            "families", "'Families: ' + data.families.join(', ')",
            when: "has(data.families) && data.families != []"),
          fields("parameters", "Parameters"), fields("data", "Data"), events,
        ])),
  ]

  private static let title =
    "(data.known ? data.display_name : 'There is no kind \"' + parameters.kind + '\".')"

  /// Text about a registered kind; after `title`.
  private static func known(_ condition: String, _ yes: String, _ no: String) -> String {
    " + (!data.known || \(condition) ? \(yes) : \(no))"
  }

  /// A text, cut to a length that people read in a table.
  private static func short(_ text: String) -> String {
    "cel.bind(whole, \(text), size(whole) > 24 ? whole.substring(0, 23) + '…' : whole)"
  }

  private static func label(
    _ id: String, _ expression: String, font: String = "body", when condition: String = ""
  ) -> NodeTemplate {
    NodeTemplate(
      id: id, type: .label,
      properties: ["text": Binding(expression), "font": Binding(value: .string(font))],
      condition: condition)
  }

  private static func heading(_ id: String, _ text: String) -> NodeTemplate {
    NodeTemplate(
      id: "\(id)-heading", type: .label,
      properties: [
        "text": Binding(value: .string(text)), "font": Binding(value: .string("headline")),
      ])
  }

  /// A heading and a row for each field; nothing if there are no fields.
  private static func fields(_ key: String, _ title: String) -> NodeTemplate {
    NodeTemplate(
      id: key, type: .stack, condition: "has(data.\(key)) && data.\(key) != []",
      children: [heading(key, title), table("\(key)-table", of: "data.\(key)")])
  }

  private static func table(
    _ id: String, of list: String, when condition: String = ""
  ) -> NodeTemplate {
    NodeTemplate(
      id: id, type: .table,
      properties: [
        "columns": Binding(value: .list(["Name", "Type", "Default", ""].map { .string($0) }))
      ],
      condition: condition,
      children: [
        NodeTemplate(
          id: "\(id)-row", type: .stack,
          properties: ["axis": Binding(value: .string("horizontal"))],
          rows: RowTemplate(list: list, name: "field", key: "string(field.name)"),
          children: [
            label("\(id)-name", "string(field.name)"), label("\(id)-type", "string(field.type)"),
            label(
              "\(id)-default",
              "has(field.default) ? \(short("'%s'.format([field.default])"))"
                + " : bool(field.required) ? 'required' : ''"
            ),
            label("\(id)-about", "string(field.description)"),
          ])
      ])
  }

  private static let events = NodeTemplate(
    id: "events", type: .stack, condition: "has(data.events) && data.events != []",
    children: [
      heading("events", "Events"),
      NodeTemplate(
        id: "event", type: .stack,
        rows: RowTemplate(list: "data.events", name: "event", key: "string(event.name)"),
        children: [
          label(
            "event-name",
            "string(event.name) + (event.description == '' ? '' : ': ' + string(event.description))"
          ),
          table("event-payload", of: "event.payload", when: "size(event.payload) > 0"),
        ]),
    ])
}
