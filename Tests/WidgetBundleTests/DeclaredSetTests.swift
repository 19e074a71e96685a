import Testing
import WidgetBundle
import WidgetModel

/// Kinds and widgets in the short form of bundles, for a daemon without a host.
@Suite struct DeclaredSetTests {
  private func kind(_ body: String) throws -> Kind {
    let set = try DeclaredSet.read("{set: s, kinds: {k: \(body)}}")
    return try #require(set.kinds?.first).kind
  }

  @Test(arguments: ["", " \n", "# A remark.", "---"])
  func `a text without a document is refused with a message`(text: String) {
    let refusal = #expect(throws: InvalidBundle.self) { try DeclaredSet.read(text) }
    #expect(refusal?.description == "1:1: there is nothing in it; declare kinds: or widgets:")
  }

  @Test func `kinds and widgets are read by name and as lists`() throws {
    for text in [
      "{set: s, kinds: {k: {data: {n: 0}}}, widgets: {w: {kind: k, data: {n: 5}}}}",
      "{set: s, kinds: [{name: k, data: [{name: n, type: int, default: 0}]}], "
        + "widgets: [{id: w, kind: k, data: {n: 5}}]}",
    ] {
      let set = try DeclaredSet.read(text)
      #expect(set.name == "s")
      #expect(
        set.kinds?.map(\.kind) == [
          Kind(
            name: try #require(KindName("k")),
            data: [Field(name: "n", type: .int, defaultValue: .int(0))])
        ])
      #expect(
        set.widgets?.map(\.spec) == [
          WidgetSpec(
            id: WidgetID("w"), kind: try #require(KindName("k")), data: ["n": .int(5)])
        ])
    }
  }

  @Test func `an empty object or list is the default of its field`() throws {
    let set = try DeclaredSet.read(
      "{kinds: {k: {data: {m: {}, l: []}}}, widgets: {w: {kind: k, data: {m: {}, l: []}}}}")
    #expect(
      set.kinds?.first?.kind.data == [
        Field(name: "m", type: .map(.any), defaultValue: .map([:])),
        Field(name: "l", type: .list(.any), defaultValue: .list([])),
      ])
    #expect(set.widgets?.first?.spec.data == ["m": .map([:]), "l": .list([])])
  }

  @Test func `undeclared fields of a document are nil`() throws {
    let set = try DeclaredSet.read("{widgets: {w: {kind: gauge}}}")
    #expect(set.name == nil && set.kinds == nil && set.widgets?.count == 1)
    #expect(try DeclaredSet.read("{kinds: {}}").widgets == nil)
    #expect(try DeclaredSet.read("{kinds: {}}").kinds?.isEmpty == true)
  }

  @Test func `one document of several is read`() throws {
    let text = "kinds: {a: {}}\n---\n\n---\nkinds: {b: {data: {x: =}}}\n"
    #expect(try DeclaredSet.read(text).kinds?.map(\.kind.name.rawValue) == ["a"])
    #expect(try DeclaredSet.read(text, document: 1).kinds?.map(\.kind.name.rawValue) == ["b"])
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read("a: 1\n---\nkinds: {b: {dta: 1}}\n", document: 1)
    }
    #expect(invalid.problems.map(\.line) == [3])
  }

  @Test func `a handler of a form reads its values in nodes, and limits may be expressions`() throws
  {
    let kind = try kind(
      """
      {data: {t: "", least: 2}, content: {form: [{input: title, minLength: =data.least}], id: f,
      on: {submit: {set: {t: string(nodes.title.value)}}}}}
      """)
    #expect(kind.reducers.map(\.assignments) == [["t": "string(nodes.title.value)"]])
    let input = try #require(kind.content.first?.root.children.first)
    #expect(input.properties["minLength"] == Binding("data.least"))
    let invalid = try #require(throws: InvalidBundle.self) {
      try self.kind(
        """
        {data: {t: ""}, content: {form: [{input: title}], id: f,
        on: {submit: {set: {t: nodes.titel.value}}}}}
        """)
    }
    #expect(invalid.problems.first?.hint.contains("title") == true, "\(invalid)")
  }

  @Test func `a handler in a declared set becomes a reducer`() throws {
    let kind = try kind(
      """
      {data: {n: 0, text: ""}, let: {more: data.n + 1}, on: {click: {set: {n: more}},
        add: {if: event.payload.by > 0, do: {set: {n: data.n + event.payload.by}}}, reset: {unset: n}},
        content: {stack: [{button: More, id: go, on: {press: [{set: {n: '1'}}, {set: {text: '"x"'}}]}},
          {form: [{input: title}], id: new, on: {submit: {set: {text: event.payload.values.title}}}}]}}
      """)
    #expect(
      kind.reducers == [
        Reducer(event: "press", nodeID: "go", assignments: ["n": "1"]),
        Reducer(event: "press", nodeID: "go", assignments: ["text": "\"x\""]),
        Reducer(
          event: "submit", nodeID: "new", assignments: ["text": "event.payload.values.title"]),
        Reducer(event: "click", assignments: ["n": "cel.bind(more, (data.n + 1), (more))"]),
        Reducer(
          event: "add", condition: "event.payload.by > 0",
          assignments: ["n": "data.n + event.payload.by"]),
        Reducer(event: "reset", unset: ["n"]),
      ])
    // Programs may handle events that no node has a handler for.
    #expect(kind.content.first?.root.children.allSatisfy { $0.events == nil } == true)
  }

  @Test(arguments: [
    ("sources: {f: {file: /x, every: 1s}}", "\"sources\""),
    ("actions: {go: {set: {n: '1'}}}", "\"actions\""),
    ("on: {load: {set: {n: '1'}}}", "\"load\""),
    ("on: {every: {interval: 5s, do: {set: {n: '1'}}}}", "\"every\""),
    ("on: {click: {show: self}}", "\"show\""), ("on: {click: {emit: other}}", "\"emit\""),
    ("on: {click: {http: {url: 'https://x'}}}", "\"http\""),
    ("on: {click: {do: [{set: {n: '1'}}, {reload: all}]}}", "\"reload\""),
    ("on: {click: {throttle: 5s, do: {set: {n: '1'}}}}", "\"throttle\""),
    ("on: {click: {if: data.n > 1, do: {set: {n: '1'}}, else: {set: {n: '2'}}}}", "\"else\""),
    ("on: {click: go}", "an action's name"),
    ("on: {click: {if: data.n > 1, do: [{set: {n: '1'}}, {set: {n: '2'}}]}}", "several steps"),
    ("on: {click: {set: {n: bundle.version.size()}}}", "an expression that reads more"),
    ("content: {button: x, on: {press: {command: [sleep, '1']}}}", "\"command\""),
    ("on: {click: {http: {service: posts}}}", "\"service\""),
    ("on: {click: {reload: posts}}", "\"reload\""), ("on: {click: {cancel: go}}", "\"cancel\""),
    ("on: {click: {hide: other}}", "\"hide\""),
    ("on: {click: {socket: {path: /run/x, format: i3, send: y}}}", "\"socket\""),
  ])
  func `keys that need a host are refused`(body: String, words: String) throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read("{set: s, kinds: {k: {data: {n: 0}, \(body)}}}")
    }
    let problem = try #require(
      invalid.problems.first { $0.message.contains("needs widgetd-host") }, "\(invalid)")
    // The file is no bundle, so it has no permissions, sources, actions and services.
    #expect(
      !invalid.problems.contains { problem in
        ["the bundle ", "there is no "].contains { problem.message.contains($0) }
      }, "\(invalid)")
    #expect(problem.message.contains(words))
    #expect(problem.hint.contains("widgetctl bundle install"))
  }

  @Test(arguments: [
    ("set: {n: data.n + event.paylod.by}", "did you mean 'payload'?"),
    ("set: {m: '1'}", ""), ("set: {n: '\"three\"'}", "convert it with int(…)"),
    ("set: {n: three}", "there are data, event, nodes, now, parameters, widget"),
    ("set: {n: bundel}", "there are data, event, nodes, now, parameters, widget"),
  ])
  func `a mistake in the step of an if is the only one`(step: String, hint: String) throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read(
        "{kinds: {k: {data: {n: 0}, on: {add: {if: data.n > 0, do: {\(step)}}}}}}")
    }
    #expect(invalid.problems.count == 1, "\(invalid)")
    #expect(!invalid.description.contains("widgetd-host"), "\(invalid)")
    #expect(invalid.problems.first?.hint.hasSuffix(hint) == true, "\(invalid)")
  }

  @Test func `a mistake beside a key that needs a host hides neither`() throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read(
        "{kinds: {k: {data: {n: 0}, on: {add: {if: dta.n > 0, do: {set: {n: '1'}}, "
          + "else: {unset: n}}}}}}")
    }
    #expect(invalid.problems.map(\.message).contains("\"else\" needs widgetd-host"), "\(invalid)")
    #expect(invalid.problems.contains { $0.message.contains("'dta'") }, "\(invalid)")
  }

  @Test(arguments: [
    "permissions: {}", "services: {}", "defaults: {}", "version: 1.0.0", "format: 1",
  ])
  func `keys of a bundle are refused`(key: String) throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read("{set: s, \(key)}")
    }
    #expect(invalid.problems.map(\.column) == [10])
    #expect(invalid.problems[0].message.hasSuffix("needs widgetd-host"))
  }

  @Test func `the advice to make the file a bundle is given once`() throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read("{version: 1.0.0, permissions: {}, kinds: {k: {sources: {}}}}")
    }
    #expect(invalid.problems.count == 3)
    #expect(invalid.problems.filter { !$0.hint.isEmpty }.count == 1)
  }

  @Test func `other mistakes are reported as in a bundle`() throws {
    let invalid = try #require(throws: InvalidBundle.self) {
      try DeclaredSet.read(
        """
        sett: s
        kinds: {k: {data: {n: 0}, content: {lable: x}}}
        widgets: {w: {kind: k, data: {m: 1}}, v: {kind: k, family: smal}}
        """)
    }
    #expect(
      invalid.problems.map { "\($0.line):\($0.column) \($0.hint)" } == [
        "1:1 did you mean \"set\"?", "2:37 did you mean \"label\"?",
        "3:31 did you mean \"n\"?", "3:60 did you mean \"small\"?",
      ])
  }

  @Test func `a widget's kind may have any provider`() throws {
    #expect(try DeclaredSet.read("{widgets: {w: {kind: gauge}}}").remarks.isEmpty)
  }
}
