import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

/// The kinds and widgets of a correct bundle.
@Suite struct ReaderTests {
  private let bundle: Bundle
  private let kind: BundleKind

  init() throws {
    bundle = try Samples.read(Samples.full)
    kind = try #require(bundle.kinds.first)
  }

  private func node(_ id: String) throws -> NodeTemplate {
    func find(_ node: NodeTemplate) -> NodeTemplate? {
      if node.id == id { return node }
      for child in node.children {
        if let found = find(child) { return found }
      }
      return nil
    }
    return try #require(kind.kind.content.lazy.compactMap { find($0.root) }.first)
  }

  private func source(_ name: String) throws -> Source {
    try #require(kind.sources.first { $0.name == name })
  }

  @Test func `a bundle has its id, version, permissions and widgets`() {
    #expect(bundle.id == "todo")
    #expect(bundle.version == "1.0.0")
    #expect(bundle.name == "To-do")
    #expect(bundle.permissions.hosts == ["api.example.org", "127.0.0.1:8080", "*.example.net"])
    #expect(bundle.widgets.map(\.id?.rawValue) == ["todo", "other"])
    #expect(bundle.widgets[0].family == .small)
    #expect(bundle.widgets[0].parameters == ["zone": .string("Europe/Berlin")])
    #expect(bundle.widgets[0].labels == ["panel": "top"])
    #expect(bundle.widgets[1].isVisible == false)
    #expect(bundle.widgets[1].data == ["count": .int(3)])
  }

  @Test func `a kind has fields with types, of which a default alone gives one`() {
    let declared = kind.kind
    #expect(declared.displayName == "To-do")
    #expect(declared.persistence == .volatile)
    #expect(declared.transition == Transition(curve: .spring, duration: .milliseconds(400)))
    #expect(declared.parameters.map(\.name) == ["zone", "step"])
    #expect(declared.parameters[1].type == .int)
    let data = Dictionary(uniqueKeysWithValues: declared.data.map { ($0.name, $0) })
    #expect(data["items"]?.type == .list(.map(.any)))
    #expect(data["one"]?.defaultValue == .double(0))
    #expect(data["full"]?.type == .bool)
    #expect(data["pause"]?.defaultValue == .duration(.seconds(90)))
    #expect(
      data["seen"]?.defaultValue
        == Timestamp(seconds: 1_767_323_045, nanoseconds: 0).map { .timestamp($0) })
  }

  @Test func `sources and actions have a state in the data`() throws {
    let status = try #require(kind.kind.data.first { $0.name == "status" })
    guard case .map(let states)? = status.defaultValue else {
      Issue.record("status has no default")
      return
    }
    #expect(
      states.keys == ["demo", "feed", "load", "remove", "save", "tick", "tidy", "units"])
    #expect(states["save"] == ActionStatus().value)
  }

  @Test func `content is for families, with ids for all nodes`() throws {
    let content = kind.kind.content
    #expect(content.map(\.families) == [[.small, .medium, .large], [.inline]])
    let root = content[0].root
    #expect(root.type == .stack)
    #expect(root.children.first?.type == .label)
    #expect(root.children.first?.properties["text"] == Binding(value: .string("Load")))
    // Numbers continue from one template to the next, so that no two nodes have the same id.
    #expect(root.children.first?.id == "label-1")
    let ids = content.flatMap { allIDs($0.root) }
    #expect(Set(ids).count == ids.count)
  }

  private func allIDs(_ node: NodeTemplate) -> [String] {
    [node.id] + node.children.flatMap { allIDs($0) }
  }

  @Test func `a property is a constant, an expression, or a binding`() throws {
    let value = try node("label-2")
    #expect(value.properties["text"] == Binding("string(data.one)", placeholder: .string("--")))
    #expect(value.properties["font"] == Binding(value: .string("font.title")))
    #expect(try node("toggle-1").properties["value"] == Binding("data.full"))
    let chart = try node("chart-1")
    #expect(chart.properties["values"] == Binding("[1.0, (data.one), 2.5]"))
    let last = try #require(kind.kind.content[0].root.children.last)
    #expect(last.properties["text"] == Binding(value: .string("=escaped")))
  }

  @Test(arguments: [
    (5, "many of 100%"), (2, "2 of 100%"),
  ])
  func `a binding chooses, then formats`(count: Int64, text: String) throws {
    let binding = try #require(try node("total").properties["text"])
    let environment = ExpressionEnvironment(
      variables: [ExpressionVariable("data", .record(RecordType(["count": .int])))])
    let expression = try CompiledExpression(binding.expression, in: environment)
    let data: ValueMap = ["count": .int(count)]
    #expect(
      try expression.evaluate(SlotBindings([ExpressionValue(data)])) == .string(text))
    #expect(binding.value == .string("none"))
  }

  @Test func `a row is repeated for a list`() throws {
    let table = try node("table-1")
    #expect(table.condition == "size(data.items) > 0")
    let row = try #require(table.children.first)
    #expect(row.rows == RowTemplate(list: "data.items", name: "item", key: "item.id"))
  }

  @Test func `steps that only change data are a reducer, others a trigger`() throws {
    let reducers = kind.kind.reducers
    #expect(
      reducers.contains(
        Reducer(
          event: "press", nodeID: "more",
          assignments: ["count": "data.count + parameters.step"])))
    #expect(
      reducers.contains(
        Reducer(
          event: "change", nodeID: "toggle-1", assignments: ["full": "event.payload.value"])))
    #expect(
      reducers.contains(Reducer(event: "click", assignments: ["count": "data.count + 1"])))
    // Two steps are two reducers, in order.
    #expect(
      reducers.filter { $0.nodeID == "button-1" } == [
        Reducer(event: "press", nodeID: "button-1", unset: ["count"]),
        Reducer(event: "press", nodeID: "button-1", assignments: ["full": "false"]),
      ])
    let events = kind.triggers.compactMap { trigger -> String? in
      if case .event(let name, let nodeID) = trigger.when {
        "\(nodeID ?? "-") \(name)"
      } else {
        nil
      }
    }
    #expect(events == ["input-1 change", "label-3 press", "form-1 submit", "- mixed"])
    let typing = try #require(kind.triggers.first)
    #expect(typing.throttle == .milliseconds(500))
    #expect(typing.minLength == 1)
  }

  @Test func `a kind reads its sources at its load and at its intervals`() {
    let others = kind.triggers.filter {
      if case .event = $0.when { false } else { true }
    }
    #expect(others.count == 2)
    guard case .load = others[0].when, case .reload(let names)? = others[0].steps.first,
      case .every(let interval) = others[1].when, case .reload(let feed)? = others[1].steps.first
    else {
      Issue.record("the triggers are others: \(others)")
      return
    }
    #expect(names.isEmpty)
    #expect(interval == .seconds(60))
    #expect(feed == ["feed"])
  }

  @Test func `a form is known by its node, with its fields`() throws {
    let inputs = try node("form-1").children
    #expect(
      kind.forms == [
        "form-1": Form(
          fields: [
            FormField(
              name: "title", label: "Title", isRequired: true, minLength: 2, maxLength: 100,
              nodeID: inputs[0].id),
            FormField(name: "note", nodeID: inputs[1].id),
          ], action: "save")
      ])
    let input = inputs.first
    #expect(input?.properties["minLength"]?.value == .int(2))
    #expect(input?.properties["maxLength"]?.value == .int(100))
  }

  @Test func `sources read files, hosts, programs, the time, and values`() throws {
    let load = try source("load")
    #expect(load.interval == .seconds(2))
    #expect(load.parse.format == .words)
    guard case .file(.constant(.string("/proc/loadavg"))) = load.input else {
      Issue.record("load reads something else")
      return
    }
    let feed = try source("feed")
    #expect(feed.isAligned)
    #expect(feed.condition?.compiled.source == "!data.full")
    #expect(
      feed.parse
        == Parse(
          format: .json, shape: .list,
          path: [.key("data"), .key("items"), .index(0), .key("list")],
          errorPath: [.key("error"), .key("message")]))
    guard case .http(let request) = feed.input else {
      Issue.record("feed reads something else")
      return
    }
    #expect(request.method == "GET")
    #expect(request.query.map(\.name) == ["q", "page"])
    guard case .constant(let stub)? = feed.stub?.value else {
      Issue.record("feed has no constant stub")
      return
    }
    #expect(stub == .list([.map(["id": .int(1), "title": .string("stubbed")])]))
    guard case .command(let command, isContinuous: true) = try source("units").input else {
      Issue.record("units reads something else")
      return
    }
    #expect(command.arguments.count == 2)
    #expect(command.timeout == .seconds(5))
    guard case .timer = try source("tick").input else {
      Issue.record("tick is no timer")
      return
    }
    #expect(try source("tick").interval == .seconds(60))
    #expect(try !source("demo").isLoadedAtStart)
  }

  @Test func `an action has all its parts`() throws {
    let save = try #require(kind.actions["save"])
    #expect(save.requirements.map(\.code) == ["FAILED_PRECONDITION"])
    #expect(save.delay == .milliseconds(300))
    #expect(save.optimistic.values.map(\.key) == ["count"])
    #expect(save.otherwise.count == 1)
    #expect(save.steps.count == 2)
    #expect(save.failure.count == 1)
    guard case .http(let request, let parse, let assignments, _) = save.steps[0],
      case .json = request.body, case .reload(["feed"]) = save.success[0],
      case .presence(.show, let widgets) = save.success[1]
    else {
      Issue.record("the steps are others")
      return
    }
    #expect(request.method == "POST")
    #expect(request.path.count == 2)
    #expect(parse.format == .json)
    #expect(assignments.values.map(\.key) == ["count"])
    #expect(widgets.count == 2)
    let remove = try #require(kind.actions["remove"])
    guard case .run("tidy") = remove.steps[0], case .cancel("save") = remove.steps[5],
      case .presence(.hide, let ids) = remove.steps[6], case .action(let inner) = remove.steps[7]
    else {
      Issue.record("the steps of remove are others")
      return
    }
    #expect(ids.isEmpty)
    #expect(inner.condition?.compiled.source == "data.full")
  }

  @Test func `JSON gives the same as YAML`() throws {
    let json = """
      {
      \t"//": "A remark.", "bundle": "b", "format": 1, "version": "1.0.0",
      \t"kinds": {"k": {"data": {"text": {"type": "string", "default": "a\\u00e9\\ud83d\\ude00\\/\\t"}},
      \t\t"content": {"label": "=data.text + \\"!\\""}}}
      }
      """
    let kind = try #require(try Samples.read(json).kinds.first?.kind)
    #expect(kind.data.first?.defaultValue == .string("aé😀/\t"))
    #expect(kind.content.first?.root.properties["text"] == Binding("data.text + \"!\""))
  }

  @Test func `a kind that names its events takes those of its nodes undeclared`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        events: {click: , add: {payload: {by: 1}}}
        on: {add: {set: {n: data.n + event.payload.by}}}
        content: {toggle: A, id: a, on: {change: {set: {n: "event.payload.value ? 1 : 0"}}}}
        """))
    let kind = try #require(bundle.kinds.first?.kind)
    #expect(kind.events.map(\.name) == ["click", "add"])
    #expect(kind.reducers.map(\.nodeID) == ["a", ""])
  }

  @Test func `a node takes the events that it or its kind has steps for`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        actions: {save: {set: {n: "1"}}}
        on: {change: {set: {n: "2"}}}
        content:
          stack:
            - {button: Go, id: go, on: {press: {set: {n: "1"}}}}
            - {button: Idle, id: idle}
            - {label: Press me, id: words, on: {press: save}}
            - {label: Not me, id: other}
            - {toggle: All, id: all}
            - form:
                - {input: text, id: text}
              id: form
              on: {submit: save}
            - {table: [], id: rows, more: true, on: {more: save}}
        """))
    let root = try #require(bundle.kinds.first?.kind.content.first?.root)
    var events: [String: [String]?] = [:]
    func note(_ node: NodeTemplate) {
      events[node.id] = .some(node.events)
      for child in node.children { note(child) }
    }
    note(root)
    #expect(
      events == [
        "stack-1": nil, "go": ["press"], "idle": [], "words": ["press"], "other": nil,
        "all": [], "text": [], "form": ["submit"], "rows": ["more"],
      ])
  }

  @Test func `a condition beside rows is evaluated for each row`() throws {
    let bundle = try Samples.read(
      Samples.kind("content: {stack: [{label: =item, rows: data.list, if: item != null}]}"))
    let row = try #require(bundle.kinds.first?.kind.content.first?.root.children.first)
    #expect(row.condition == "item != null")
    #expect(row.properties["text"] == Binding("item"))
  }

  @Test func `numbers and times become text where text is shown`() throws {
    let bundle = try Samples.read(
      Samples.kind("content: {stack: [=data.n, {label: {from: data.n, placeholder: 5}}]}"))
    let labels = try #require(bundle.kinds.first?.kind.content.first?.root.children)
    #expect(labels.map { $0.properties["text"]?.expression } == ["data.n", "data.n"])
    #expect(labels[1].properties["text"]?.value == .string("5"))
  }

  @Test func `a reducer reads the state of an action as data`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        actions: {go: {reload: s}}
        sources: {s: {timer: 1s}}
        on: {click: {if: "!status.go.running // now", do: {set: {n: "1"}}}}
        """))
    let kind = try #require(bundle.kinds.first?.kind)
    #expect(
      kind.reducers.first?.condition
        == "cel.bind(status, data.status, (!status.go.running // now\n))")
    let environment = ExpressionEnvironment(
      variables: [
        ExpressionVariable("data", .record(RecordType(["status": .map(.string, .dyn)])))
      ], resultType: .bool)
    let expression = try CompiledExpression(
      try #require(kind.reducers.first?.condition), in: environment)
    let data: ValueMap = [
      "status": try #require(kind.data.first { $0.name == "status" }?.defaultValue)
    ]
    #expect(try expression.evaluate(SlotBindings([ExpressionValue(data)])) == .bool(true))
  }

  @Test func `a named action that only changes data is done by the daemon`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        actions:
          up: {if: data.n < 3, do: {set: {n: data.n + 1}}}
          later: {delay: 1s, do: {set: {n: "0"}}}
        on: {click: up, wait: later}
        """))
    let kind = try #require(bundle.kinds.first)
    #expect(
      kind.kind.reducers == [
        Reducer(event: "click", condition: "data.n < 3", assignments: ["n": "data.n + 1"])
      ])
    #expect(kind.triggers.count == 1)
  }

  @Test func `a new bundle is valid and works`() throws {
    let bundle = try Samples.read(BundleScaffold.text(id: "my-panel"))
    #expect(bundle.id == "my-panel")
    #expect(bundle.kinds[0].sources.map(\.name) == ["load"])
    #expect(bundle.kinds[0].kind.reducers.map(\.nodeID) == ["click"])
    #expect(bundle.widgets.count == 1)
  }

  @Test func `the host handles the submit of a form, because it checks the values`() throws {
    let bundle = try Samples.read(
      Samples.kind(
        """
        content:
          form:
            - {input: title, required: true}
          id: f
          on: {submit: save}
        actions: {save: {do: {set: {text: =event.payload.values.title}}}}
        on: {click: {set: {n: =data.n + 1}}}
        """))
    let kind = try #require(bundle.kinds.first)
    #expect(kind.kind.reducers.map(\.event) == ["click"])
    #expect(kind.triggers.count == 1)
  }
}
