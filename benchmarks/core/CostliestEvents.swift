import WidgetCore
import WidgetModel

/// The time of the costliest event: a reducer that uses its budget, on a widget whose content needs
/// more than its budget. All limits have their defaults. Other clients wait for the event.
struct CostliestEvents {
  /// Content that reads the event's change. Each expression alone needs more than the whole budget.
  private static let texts: [(name: String, text: String)] = [
    (
      "comparisons of numbers",
      "data.items.exists(i, data.items.exists(j, i * j + data.n < 0)) ? 'a' : 'b'"
    ),
    ("new lists", "string(data.items.map(i, data.items.map(j, j + data.n).size() + i).size())"),
    (
      "new texts",
      "data.items.exists(i, data.items.exists(j, string(i + data.n) + ' ' + string(j) == '')) ? 'a' : 'b'"
    ),
    (
      "numbers as text",
      "data.items.exists(i, data.items.exists(j, formatNumber(i * 1234.5 + data.n, 2) == '')) ? 'a' : 'b'"
    ),
    (
      "dates",
      "data.items.exists(i, data.items.exists(j, "
        + "formatDate(timestamp(i + data.n + j), 'EEEE, d MMMM yyyy HH:mm') == '')) ? 'a' : 'b'"
    ),
    (
      "patterns",
      "data.items.exists(i, data.items.exists(j, ('aaaaaaaaaaaaaaaa' + string(i + data.n))"
        + ".matches('(a|b|ab)*c(x|y)+'))) ? 'a' : 'b'"
    ),
    (
      "maps",
      "data.items.exists(i, data.items.transformMap(j, x, x + data.n).size() < 0) ? 'a' : 'b'"
    ),
    (
      "long numbers",
      "data.items.exists(i, data.items.exists(j, int(data.text) + data.n < 0)) ? 'a' : 'b'"
    ),
    (
      "long keys",
      "cel.bind(m, {'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1, 'h': 1, 'i': 1}, "
        + "data.items.exists(i, data.items.exists(j, data.text in m && data.n < 0))) ? 'a' : 'b'"
    ),
    (
      "long bytes",
      "cel.bind(b, bytes(data.text), "
        + "data.items.exists(i, data.items.exists(j, b < b && data.n < 0))) ? 'a' : 'b'"
    ),
    (
      "hidden errors",
      "data.items.exists(i, data.items.exists(j, bool(data.text) || i + data.n < 0)) ? 'a' : 'b'"
    ),
    ("sorts", "data.items.exists(i, data.items.map(j, data.n - j).sort()[0] == -1) ? 'a' : 'b'"),
  ]

  static func report() {
    for (name, text) in texts {
      show(
        name,
        NodeTemplate(
          id: "top", type: .stack,
          children: (0..<100).map { number in
            NodeTemplate(id: "label\(number)", type: .label, properties: ["text": Binding(text)])
          }))
    }
    let row = NodeTemplate(
      id: "row", type: .label, properties: ["text": Binding("string(item + data.n)")],
      rows: RowTemplate(list: "lists.range(data.n % 2 == 0 ? 0 : 1990)"))
    show("new rows", NodeTemplate(id: "top", type: .stack, children: [row]))
    var changing = row
    changing.rows = RowTemplate(list: "lists.range(1990)")
    show("changed rows", NodeTemplate(id: "top", type: .stack, children: [changing]))
    show(
      "the same, cut",
      NodeTemplate(
        id: "top", type: .stack,
        children: [
          changing,
          NodeTemplate(id: "last", type: .label, properties: ["text": Binding(texts[0].text)]),
        ]))
  }

  private static func show(_ name: String, _ root: NodeTemplate) {
    var times: [Double] = []
    var store = WidgetStore(image: StoreImage(epoch: 1), limits: StoreLimits(), isRevocable: true)
    guard let kind = KindName("heavy"), let id = WidgetID("heavy") else { preconditionFailure() }
    let fields = [
      Field(name: "n", type: .int, defaultValue: .int(0)),
      Field(
        name: "items", type: .list(.int), defaultValue: .list((0..<2_000).map { .int($0) })),
      Field(name: "m", type: .int, defaultValue: .int(0)),
      Field(
        name: "text", type: .string,
        defaultValue: .string(String(repeating: "0", count: 16 << 10))),
    ]
    let reducer = Reducer(
      event: "go",
      assignments: [
        "n": "data.n + 1", "m": "data.items.filter(i, i * i + data.n < 0).size() + data.m",
      ])
    let heavy = Kind(
      name: kind, data: fields, events: [EventType(name: "go")], reducers: [reducer],
      content: [ContentTemplate(root: root)])
    do {
      _ = try store.apply(
        .applyKinds(KindDeclaration(provider: "benchmark", kinds: [heavy])), by: Caller(),
        at: .epoch)
      _ = try store.apply(.create(WidgetSpec(id: id, kind: kind)), by: Caller(), at: .epoch)
      for _ in 0..<30 {
        let time = try ContinuousClock().measure {
          _ = try store.apply(
            .sendEvent(EventDraft(widgetID: id, name: "go")), by: Caller(), at: .epoch)
        }
        store.commitGroup(at: .zero)
        times.append(Double(time.components.attoseconds) / 1e15)
      }
    } catch {
      preconditionFailure("the benchmark's own command was refused: \(error)")
    }
    times.sort()
    print("  \(name): \(times[0].hundredths) ms at least, \(times[15].hundredths) ms")
  }
}
