package import WidgetModel

/// Sample contents: each type of node in its forms and states.
package enum Gallery {
  /// A node with its children, before it is part of a content.
  package struct Part {
    package var node: Node
    package var children: [Part]

    package var all: [Node] { [node] + children.flatMap(\.all) }
  }

  package static func part(
    _ type: NodeType?, _ id: String, _ properties: ValueMap = [:], problem: String = "",
    events: [String] = [], _ children: [Part] = []
  ) -> Part {
    Part(
      node: Node(
        id: id, type: type, properties: properties, childIDs: children.map(\.node.id),
        problem: problem, events: events),
      children: children)
  }

  package static func content(_ root: Part) -> Content {
    Content(rootID: root.node.id, nodes: root.all)
  }

  private static func column(_ children: [Part]) -> Content {
    content(part(.stack, "root", [:], children))
  }

  private static let cells: [Value] = [.double(1), .double(4), .double(2), .double(8), .double(5)]

  package static let contents: [(name: String, content: Content)] = [
    (
      "label",
      column([
        part(.label, "title", ["text": "Title", "font": "title"]),
        part(.label, "headline", ["text": "Headline", "font": "font.headline"]),
        part(.label, "caption", ["text": "Caption", "font": "caption"]),
        part(.label, "color", ["text": "In the colour of errors", "color": "error"]),
        part(.label, "back", ["text": "On a background", "background": "#204060"]),
        part(.label, "center", ["text": "In the middle", "align": "center"]),
        part(.label, "long", ["text": "A text that is too long for one line of a narrow place."]),
        part(.label, "cut", ["text": "A text that is cut where its line ends.", "lines": .int(1)]),
        part(.label, "wide", ["text": "日本語 👍🏽 e\u{301}\u{1B}[31m"]),
        part(
          .label, "runs",
          [
            "runs": .list([
              .map(["text": "bold ", "weight": "bold"]),
              .map(["text": "light ", "weight": "light"]),
              .map(["text": "under", "underline": true]),
              .map(["text": " struck", "strikethrough": true]),
              .map(["text": " red", "color": "#ff0000"]),
              .map(["text": " link", "link": "https://a.example"]),
              .map(["text": " marked", "background": "#ffee00"]),
            ])
          ]),
        part(.label, "private", ["text": "secret", "privacy": true]),
        part(.label, "problem", ["text": "half"], problem: "no such field"),
        part(.label, "off", ["text": "disabled", "enabled": false]),
        part(
          .label, "offpress", ["text": "pressed when enabled", "enabled": false], events: ["press"]),
      ])
    ),
    (
      "image",
      column([
        part(.image, "words", ["alt": "A cat"]),
        part(.image, "box", ["alt": "A cat", "width": 96.0, "height": 64.0]),
        part(.image, "pixels", ["source": "pixels", "width": 64.0, "height": 48.0]),
      ])
    ),
    (
      "button",
      column([
        part(.button, "plain", ["text": "Plain"]),
        part(.button, "primary", ["text": "Primary", "style": "primary"]),
        part(.button, "destructive", ["text": "Delete", "style": "destructive"]),
        part(.button, "off", ["text": "Off", "enabled": false]),
        part(.button, "focused", ["text": "Focused"]),
        part(.button, "pressed", ["text": "Pressed"]),
        part(.button, "hovered", ["text": "Hovered"]),
        part(
          .button, "rich", [:], [part(.label, "in", ["text": "with a child", "font": "caption"])]),
      ])
    ),
    (
      "toggle",
      column([
        part(.toggle, "on", ["text": "On", "value": true]),
        part(.toggle, "out", ["text": "Off"]),
        part(.toggle, "off", ["text": "Disabled", "value": true, "enabled": false]),
        part(.toggle, "focused", ["text": "Focused"]),
      ])
    ),
    (
      "input",
      column([
        part(.input, "value", ["text": "Name", "value": "Ada"]),
        part(.input, "empty", ["text": "City", "placeholder": "Where?"]),
        part(.input, "wrong", ["text": "Age", "value": "x", "problem": "A number is needed."]),
        part(.input, "secret", ["value": "hush", "mode": "secret"]),
        part(.input, "fixed", ["value": "to read", "readOnly": true]),
        part(.input, "lines", ["value": "one\ntwo", "mode": "multiline"]),
        part(.input, "focused", ["value": "focused"]),
        part(.input, "off", ["value": "disabled", "enabled": false]),
      ])
    ),
    (
      "gauge",
      column([
        part(.gauge, "half", ["text": "CPU", "value": 0.47]),
        part(.gauge, "tint", ["value": 30.0, "max": 40.0, "tint": "warning"]),
        part(.gauge, "none", ["text": "Unknown"]),
        part(.gauge, "ring", ["text": "Ring", "value": 1.0, "style": "ring"]),
        part(.gauge, "private", ["text": "Secret", "value": 0.9, "privacy": true]),
      ])
    ),
    (
      "chart",
      column([
        part(.chart, "line", ["text": "Load", "values": .list(cells), "height": 64.0]),
        part(.chart, "spark", ["text": "Spark", "values": .list(cells), "style": "sparkline"]),
        part(
          .chart, "bar",
          [
            "values": .list(cells), "style": "bar", "min": 0.0,
            "labels": .list(["a", "b", "c", "d", "e"]),
          ]),
        part(.chart, "gap", ["values": .list([1.0, .null, 3.0]), "style": "sparkline"]),
      ])
    ),
    (
      "stack",
      column([
        part(
          .stack, "row", ["axis": "horizontal", "spacing": 8.0, "divider": true],
          [
            part(.label, "left", ["text": "left", "grow": 1.0]),
            part(.label, "right", ["text": "right"]),
          ]),
        part(
          .stack, "list", ["divider": true],
          [
            part(.label, "one", ["text": "one", "accessory": "disclosure"]),
            part(.label, "two", ["text": "two", "accessory": "checkmark"]),
            part(.label, "three", ["text": "three", "accessory": "activity"]),
          ]),
        part(
          .stack, "card", ["padding": 16.0, "corner": 8.0, "background": "surface"],
          [part(.label, "inside", ["text": "in a box"])]),
        part(
          .stack, "over", ["axis": "layered"],
          [part(.label, "below", ["text": "below it"]), part(.label, "above", ["text": "on"])]),
        part(.label, "line", ["text": "above a line", "separator": .map(["color": "primary"])]),
        part(.stack, "off", ["enabled": false], [part(.button, "inoff", ["text": "In it"])]),
        part(nil, "new", ["text": "?"], [part(.label, "innew", ["text": "of a type to come"])]),
      ])
    ),
    (
      "grid",
      content(
        part(
          .grid, "root", ["columns": .int(3), "spacing": 8.0],
          (1...5).map { part(.label, "c\($0)", ["text": .string("cell \($0)")]) }))
    ),
    (
      "table",
      column([
        part(
          .table, "jobs",
          [
            "columns": .list(["Job", .map(["title": "Size", "align": "end"])]), "divider": true,
            "selection": "single", "selected": .list(["b"]), "more": true,
          ],
          [
            part(.stack, "head", ["section": true], [part(.label, "h", ["text": "Today"])]),
            row("row/a", "Backup", "12"), row("row/b", "Index", "7"),
            row("focused", "Mail", "105"), row("row/off", "Print", "1", isEnabled: false),
          ]),
        part(.table, "none", ["columns": .list(["Name"]), "empty": "Nothing here."]),
      ])
    ),
    (
      "space",
      content(
        part(
          .stack, "root", ["axis": "horizontal"],
          [
            part(.label, "a", ["text": "a"]), part(.space, "s"), part(.label, "b", ["text": "b"]),
          ]))
    ),
    (
      "date", column([part(.date, "date", ["date": .timestamp(.epoch), "style": "date"])])
    ),
    (
      "form",
      content(
        part(
          .form, "focused", ["text": "New entry", "submit": "Add"],
          [
            part(.input, "title", ["text": "Title", "value": "Milk"]),
            part(.toggle, "urgent", ["text": "Urgent"]),
          ]))
    ),
    (
      "spinner",
      column([
        part(.spinner, "on", ["text": "Loading"]),
        part(.spinner, "done", ["text": "Done", "active": false]),
      ])
    ),
    (
      "link",
      column([
        part(.link, "plain", ["text": "Manual", "url": "https://a.example/manual"]),
        part(.link, "bad", ["text": "Harm", "url": "javascript:alert(1)"]),
        part(.link, "off", ["text": "Off", "url": "https://a.example", "enabled": false]),
        part(.link, "focused", ["text": "Focused", "url": "https://a.example"]),
      ])
    ),
    (
      "embed",
      column([
        part(
          .embed, "shown", ["widget": "counter"],
          [
            part(
              .stack, "shown::counter", ["axis": "horizontal"],
              [
                part(.label, "shown::count", ["text": "7"]),
                part(.button, "shown::plus", ["text": "+"]),
              ])
          ]),
        part(
          .embed, "missing", ["widget": "gone"], problem: "content: There is no widget \"gone\".",
          [part(.label, "missing::problem", ["text": "There is no widget \"gone\"."])]),
        part(.embed, "hidden", ["widget": "hidden"]),
      ])
    ),
  ]

  private static func row(
    _ id: String, _ name: String, _ size: String, isEnabled: Bool = true
  ) -> Part {
    part(
      .stack, id, ["axis": "horizontal", "enabled": .bool(isEnabled)],
      [
        part(.label, id + "/name", ["text": .string(name)]),
        part(.label, id + "/size", ["text": .string(size)]),
      ])
  }
}
