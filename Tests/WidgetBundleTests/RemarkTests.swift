import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

/// Possible mistakes, which cause remarks.
@Suite struct RemarkTests {
  private static let time = #"timestamp("2026-01-01T00:00:00Z")"#

  @Test func `a widget of a kind outside the bundle causes a remark, and is kept`() throws {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds: {clock: {}}\nwidgets:\n"
        + "  a: {kind: clokc, data: {n: 1}}\n  d: {kind: smart-stak}\n"
        + "  b: {kind: sysmon/load}\n  c: {kind: clock}\n")
    #expect(bundle.widgets.map(\.kind.rawValue) == ["clokc", "smart-stak", "sysmon/load", "clock"])
    #expect(bundle.remarks.map(\.line) == [6, 7, 8])
    #expect(bundle.remarks[1].hint == "did you mean \"smart-stack\"?")
    #expect(bundle.remarks.first?.message.contains("no kind \"clokc\"") == true)
    #expect(bundle.remarks.first?.hint == "did you mean \"clock\"?")
    #expect(bundle.remarks.first?.excerpt.contains("clokc") == true)
    #expect(bundle.remarks.last?.message.contains("no other program provides it") == true)
  }

  /// Readers check the widgets before the texts with a lost quote.
  @Test func `remarks are in the order of the file`() throws {
    let parts = "kinds: {k: {content: {label: x\"}}}\nwidgets: {w: {kind: clokc}}\n"
    let bundle = try Samples.read("bundle: b\nformat: 1\nversion: 1.0.0\n" + parts)
    #expect(bundle.remarks.map(\.line) == [4, 5])
  }

  @Test func `at most 500 remarks are kept`() throws {
    let widgets = (0..<600).map { "w\($0): {kind: clokc}" }.joined(separator: ", ")
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds: {clock: {}}\nwidgets: {\(widgets)}\n")
    #expect(bundle.widgets.count == 600)
    #expect(bundle.remarks.count == 500)
  }

  @Test(
    arguments: [
      (#"=formatDate(\#(time), "longish")"#, "or a date and a time"),
      (#"=formatDate(\#(time), "Long")"#, #"did you mean "long"?"#),
      (#"=formatDate(\#(time), "time long")"#, "or a date and a time"),
      ("data.n", "write =data.n for its value"),
      ("data.list[0]", "write =data.list[0] for its value"),
      ("{data.n} %", "write an expression, such as =\"…\" + string(data.n)"),
      ("at ${data.n}", "write an expression, such as =\"…\" + string(data.n)"),
      ("{n} and {data.}", nil),
      (#"=formatDate(\#(time), "long time", "UTC", "de")"#, nil),
      (#"=formatDate(\#(time), "%H:%M")"#, nil), ("data.other", nil), ("data", nil), ("Data.", nil),
    ] as [(String, String?)])
  func `a probable mistake in a text or a date causes a remark`(
    text: String, hint: String?
  ) throws {
    let bundle = try Samples.read(Samples.kind("content: {label: '\(text)'}"))
    #expect(bundle.remarks.count == (hint == nil ? 0 : 1), "\(bundle.remarks)")
    if let hint { #expect(bundle.remarks.first?.hint.contains(hint) == true) }
  }

  @Test(arguments: [
    ("displayName: # 1", "\"displayName\" has no value, because \"#\" begins a comment"),
    ("parameters: {n: 0, # m\n  m: 1}", nil), ("displayName: 'a' # b", nil), ("displayName:", nil),
    ("parameters: # fields\n  n: 0", nil),
    ("parameters:\n  n: # none", "\"n\" has no value, because \"#\" begins a comment"),
  ])
  func `a comment in place of a value causes a remark`(body: String, message: String?) throws {
    let bundle = try Samples.read(Samples.kind(body))
    #expect(bundle.remarks.map(\.message) == (message.map { [$0] } ?? []))
    if message != nil { #expect(bundle.remarks.first?.hint.contains("quotes") == true) }
  }

  @Test(arguments: [
    ("{s.success: {set: {q: data.q + 1}}}", true), ("{s.success: b}", true),
    ("{s.success: {do: {run: b}}}", true), ("{s.success: c}", false), ("{press: b}", false),
  ])
  func `a source that changes its own input causes a remark`(on: String, isTold: Bool) throws {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {n: 0, q: 0, m: 0}\n"
        + "    sources: {s: {value: =data.q, set: {n: result}}}\n"
        + "    actions: {b: {do: {set: {q: data.q + 1}}}, c: {do: {set: {m: data.q}}}}\n"
        + "    on: \(on)\n")
    let words = "the source changes data that it reads, so the host reads it again and again"
    #expect(bundle.remarks.map(\.message).contains(words) == isTold, "\(bundle.remarks)")
  }

  @Test(arguments: [
    ("hello\"", 22), ("hello'", 22), ("'hello\"'", nil), ("it's", nil),
    ("=data.text + \"x\"", nil), ("it's 5\"", nil), ("24\"", nil), ("all users'", nil),
  ])
  func `a text whose only quote is at its end causes a remark`(text: String, column: Int?) throws {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {n: 0, text: x}\n"
        + "    content: {label: \(text)}\n")
    #expect(bundle.remarks.map(\.column) == (column.map { [$0] } ?? []), "\(bundle.remarks)")
    guard let remark = bundle.remarks.first else { return }
    #expect(remark.message == "this text has a quote only at its end")
    #expect(remark.hint.hasPrefix("add the opening quote"))
    #expect(remark.line == 7)
    #expect(remark.path == "kinds.k.content.label")
  }

  @Test func `many texts with a lost quote cause few remarks`() throws {
    let list = Array(repeating: "x\"", count: 30).joined(separator: ", ")
    let bundle = try Samples.read(Samples.kind("parameters: {p: [\(list)]}"))
    #expect(bundle.remarks.count == 20)
    #expect(bundle.remarks.last?.path == "kinds.k.parameters.p[19]")
    let set = try DeclaredSet.read("kinds: {k: {content: {label: x\"}}}")
    #expect(set.remarks.map(\.path) == ["kinds.k.content.label"])
  }

  @Test(arguments: [
    ("laod", "did you mean \"load\"?"), ("evry", "did you mean \"every\"?"),
    ("pres", "did you mean \"press\"?"), ("save.sucess", "did you mean \"save.success\"?"),
    ("feed.done", "there is: start, progress, ready, success, error"), ("load", nil),
    ("press", nil), ("save.success", nil), ("wake-up", nil), ("mail.read", nil),
  ])
  func `a misspelt event is remarked on`(event: String, hint: String?) throws {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {n: 0}\n"
        + "    sources: {feed: {value: 1, set: {n: result}}}\n    actions: {save: {do: {set: {n: 1}}}}\n"
        + "    on: {\(event): {set: {n: 2}}}\n")
    #expect(bundle.remarks.map(\.hint) == (hint.map { [$0] } ?? []))
    #expect(bundle.remarks.map(\.line) == (hint == nil ? [] : [9]))
  }

  @Test(arguments: [
    ("string", true), ("list(int)", true), ("{type: int}", false), ("hello", false),
    ("{default: int}", false), ("''", false),
  ])
  func `a type in the place of a default is remarked on`(field: String, isRemarked: Bool) throws {
    let bundle = try Samples.read(
      Samples.kind("content: {label: x}", data: "    data: {n: \(field)}\n"))
    #expect(bundle.remarks.count == (isRemarked ? 1 : 0), "\(bundle.remarks)")
    if isRemarked {
      #expect(bundle.remarks.first?.hint.hasPrefix("write {type: \(field)}") == true)
    }
  }

  @Test(arguments: [
    ("secret", true), ("search, id: s", true), ("secret, mode: secret", false),
    ("number, mode: text", false), ("text", false), ("query, mode: search", false),
    ("password", false),
  ])
  func `an input with the name of a mode and no mode is remarked on`(
    input: String, isRemarked: Bool
  ) throws {
    let bundle = try Samples.read(Samples.kind("content: {input: \(input)}"))
    #expect(bundle.remarks.count == (isRemarked ? 1 : 0), "\(bundle.remarks)")
    guard let remark = bundle.remarks.first else { return }
    let name = input.prefix { $0 != "," }
    #expect(remark.message.hasPrefix("input: \(name) names the input \"\(name)\""))
    #expect(remark.hint.hasPrefix("write mode: \(name)"))
  }

  @Test(arguments: [
    ("{toggle: Urgent}", true), ("{toggle: Urgent, name: urgent}", false),
    ("{toggle: Urgent, on: {change: {set: {n: 1}}}}", false),
  ])
  func `a toggle that its form does not submit is remarked on`(toggle: String, isRemarked: Bool)
    throws
  {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {n: 0}\n"
        + "    actions: {go: {set: {n: '1'}}}\n    content:\n      form:\n        - \(toggle)\n"
        + "      on: {submit: go}\n")
    #expect(bundle.remarks.map(\.line) == (isRemarked ? [10] : []))
    if isRemarked { #expect(bundle.remarks.first?.hint.hasPrefix("add name: NAME") == true) }
  }

  @Test(arguments: [
    ("button: Go", "", 1), ("{button: Go, on: {press: {set: {n: 1}}}}", "", 0),
    ("button: Go", "    on: {press: {set: {n: 1}}}\n", 0),
    ("button: Go", "    events: {press: }\n", 0),
    ("button: Go", "    on: {change: {set: {n: 1}}}\n", 1),
    ("button: Go", "    reducers: [{event: press, set: {n: data.n + 1}}]\n", 0),
    ("{button: Go, id: a}", "    reducers: [{event: press, nodeId: b, set: {n: 1}}]\n", 1),
  ])
  func `a button that does nothing is remarked on`(content: String, rest: String, count: Int) throws
  {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {n: 0}\n    content:\n      stack:\n"
        + "        - \(content)\n        - {label: x, id: b}\n" + rest)
    #expect(bundle.remarks.map(\.line) == Array(repeating: 9, count: count))
    if count > 0 { #expect(bundle.remarks.first?.hint == "add on: {press: …}") }
  }

  @Test(arguments: [
    (
      "{a: {value: '=data.y + 1', set: {x: result}}, b: {value: '=data.x + 1', set: {y: result}}}",
      "a → b → a"
    ),
    (
      """
      {c: {value: 1, set: {w: result}}, p: {value: =data.z, set: {x: result}},
       q: {value: =data.x, set: {y: result}}, r: {value: =data.y, set: {z: result}}}
      """, "p → q → r → p"
    ),
    ("{a: {value: =data.y, set: {x: result}}, b: {value: =data.w, set: {y: result}}}", nil),
    ("{a: {value: '=data.x + 1', set: {x: result}}}", nil),
    ("{a: {value: 1, set: {x: data.y}}, b: {value: 1, set: {y: data.x}}}", nil),
  ])
  func `a remark names sources that make each other read for ever`(
    sources: String, cycle: String?
  ) throws {
    let bundle = try Samples.read(
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds:\n  k:\n    data: {x: 0, y: 0, z: 0, w: 0}\n"
        + "    sources: \(sources)\nwidgets: {w: {kind: k}}\n")
    #expect(bundle.remarks.count == (cycle == nil ? 0 : 1))
    if let cycle { #expect(bundle.remarks.first?.message.hasSuffix(": \(cycle)") == true) }
  }

  @Test(
    arguments: [
      ("{file: /proc/uptime, set: {text: result}}", "/proc"),
      ("{folder: /sys/class, set: {list: result}}", "/sys"),
      ("{file: /proc/uptime, every: 1s, set: {text: result}}", nil),
      ("{file: /processes, set: {text: result}}", nil),
    ] as [(String, String?)])
  func `a file whose changes are not reported causes a remark without an interval`(
    source: String, root: String?
  ) throws {
    let bundle = try Samples.read(
      Samples.kind(
        "sources: {s: \(source)}", permissions: "{read: [/proc, /sys, /processes]}"))
    #expect(bundle.remarks.count == (root == nil ? 0 : 1), "\(bundle.remarks)")
    guard let root else { return }
    #expect(
      bundle.remarks.first?.message
        == "the kernel does not report changes below \(root), so the source keeps its first value")
    #expect(bundle.remarks.first?.hint == "add every: DURATION")
  }

  @Test(
    arguments: [
      ("{read: ['/srv/f-*']}", "/srv/f-*", "name the folder"),
      ("{read: [/srv, '${home}/*/notes']}", "${home}/*/notes", "name the folder"),
      ("{commands: ['/opt/bin/*']}", "/opt/bin/*", "name each program"),
      ("{commands: ['git-*']}", "git-*", "name each program"),
      ("{sockets: ['/run/mail/*.sock']}", "/run/mail/*.sock", "name each socket"),
      (
        "{read: [/srv], hosts: ['*.example.org'], environment: ['XDG_*'], dbus: ['org.example.*']}",
        nil, ""
      ),
    ] as [(String, String?, String)])
  func `a pattern in a path of the permissions causes a remark`(
    permissions: String, text: String?, hint: String
  ) throws {
    let bundle = try Samples.read(Samples.kind("content: {label: a}", permissions: permissions))
    #expect(bundle.remarks.count == (text == nil ? 0 : 1), "\(bundle.remarks)")
    guard let text else { return }
    let remark = try #require(bundle.remarks.first)
    #expect(
      remark.message == "paths have no patterns, so the * in \"\(text)\" is part of a name")
    #expect(remark.hint == hint && remark.line == 4 && remark.path.hasPrefix("permissions."))
    #expect(remark.excerpt.contains(text))
  }

  @Test func `a timeline beside the schedule of the kind causes a remark`() throws {
    func remarks(_ head: String) throws -> [BundleProblem] {
      try Samples.read(
        Samples.kind(head)
          + "widgets:\n  w: {kind: k, timeline: {entries: [{date: 2026-01-01T00:00:00Z}]}}\n"
      ).remarks
    }
    #expect(try remarks("") == [])
    let remark = try #require(try remarks("schedule: {every: 1m}").first)
    #expect(
      remark.message == "the widget has a timeline, so the schedule of kind \"k\" is ignored")
    #expect(remark.excerpt.contains("timeline"))
  }
}
