import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

/// Mistakes in bundles: their places, and the words of their errors.
@Suite struct ProblemTests {
  struct Mistake: Sendable, CustomTestStringConvertible {
    let body: String
    /// `line:column`, counted in the body of the kind.
    let place: String
    let message: String
    let hint: String
    var permissions = "{}"

    init(
      _ body: String, _ place: String, _ message: String, hint: String = "",
      permissions: String = "{}"
    ) {
      (self.body, self.place, self.message, self.hint) = (body, place, message, hint)
      self.permissions = permissions
    }

    var testDescription: String { message }
  }

  /// Each part of a long binding has its own mistakes, at its place.
  @Test func `a wrong part of a binding does not hide the mistakes of the others`() throws {
    let body = """
      content:
        label:
          from: dta.n
          if: value >
          then: =data.nope
          else: =zip
          transform: [nope, zap]
          format: '%q'
      """
    let text = Samples.kind(body)
    let head = text.split(separator: "\n", omittingEmptySubsequences: false)
      .firstIndex { $0 == "  k:" }
    let before = try #require(head) + 2
    let places = Samples.problems(text).map { "\($0.line - before):\($0.column - 4)" }
    #expect(places == ["3:11", "4:16", "5:17", "6:12", "7:17", "7:23", "8:13"])
  }

  static let mistakes: [Mistake] = [
    // Names.
    Mistake("dispalyName: x", "1:1", "unknown key \"dispalyName\"", hint: "\"displayName\""),
    Mistake(
      "staleAfter: 5s", "1:1", "unknown key \"staleAfter\"",
      hint: "\"staleAfter\" is a key of a source"),
    Mistake("hosts: [a]", "1:1", "unknown key \"hosts\"", hint: "a key of \"permissions\""),
    Mistake(
      "sources: {x: {value: 1, catch: x}}", "1:25", "unknown key \"catch\"",
      hint: "\"catch\" is a key of an action"),
    Mistake(
      "sources: {x: {value: 1, run: [a]}}", "1:25", "unknown key \"run\"",
      hint: "write \"command\" instead"),
    Mistake(
      "content: {input: a, autoValue: x}", "1:21", "unknown key \"autoValue\"",
      hint: "write \"value\" instead"),
    Mistake(
      "reducers: [{event: a, when: 'true', set: {n: 1}}]", "1:23", "unknown key \"when\"",
      hint: "write \"condition\" instead"),
    Mistake("families: [smal]", "1:12", "\"smal\" is not a family", hint: "\"small\""),
    Mistake("persistence: forever", "1:14", "not a valid persistence", hint: "durable, volatile"),
    Mistake("transition: jump", "1:13", "\"jump\" is not a transition"),
    Mistake("parameters: {a-b: 1}", "1:14", "\"a-b\" is not a name", hint: "A-Z, 0-9 and _"),
    Mistake(
      "data: {größe: 1}", "1:8", "\"größe\" is not a name",
      hint: "use 1 to 64 of a-z, A-Z, 0-9 and _, not a digit first"),
    Mistake(
      "parameters: {a: {type: strng}}", "1:24", "\"strng\" is not a type", hint: "list(TYPE)"),
    Mistake(
      "parameters: {a: {type: int, default: x}}", "1:38", "type int, not string"),
    Mistake(
      "parameters: {a: {required: true, default: 1}}", "1:28", "cannot be required"),
    Mistake("parameters: {a: =now}", "1:17", "an expression is not allowed here", hint: "=="),
    Mistake("parameters: [{name: a}, {name: a}]", "1:32", "\"a\" appears twice"),
    // Expressions.
    Mistake(
      "content: {label: =data.txt}", "1:24", "unknown field 'txt'", hint: "did you mean 'text'?"),
    Mistake("content: {label: '=data.txt'}", "1:25", "unknown field 'txt'"),
    Mistake("content: {label: =data.list}", "1:19", "gives list(dyn)", hint: "string("),
    Mistake("content: {label: x, if: data.n > 1}", "1:25", "the top cannot have a condition"),
    Mistake("content: {label: x, id: -a}", "1:25", "cannot be a node's id"),
    Mistake(
      "content: {small: {label: x, id: a}, large: {image: x, id: a}}", "1:59",
      "node \"a\" is a label in another template"),
    Mistake(
      "content:\n  stack:\n  - rows: '[1]'\n    stack:\n    - rows: '[1]'\n      stack:\n"
        + "      - rows: '[1]'\n        stack:\n        - rows: '[1]'\n          stack:\n"
        + "          - rows: '[1]'\n            label: x", "11:19", "4 deep at most"),
    Mistake("content: {label: =now}", "1:19", "unknown variable 'now'"),
    Mistake("content: {label: x, if: data.n}", "1:25", "gives int"),
    Mistake(
      "content:\n  label: |\n    =data.text +\n      dta.text", "4:7", "unknown variable 'dta'",
      hint: "'data'"),
    Mistake(
      "content:\n  label: >-\n    =data.text +\n    string(data.n) +\n\n    dta.text", "6:5",
      "unknown variable 'dta'",
      hint: "'data'"),
    Mistake("content: {label: =1 +}", "1:22", "ends too early"),
    Mistake("content: {label: \"=\\\"\\\" + x\"}", "1:27", "unknown variable 'x'"),
    Mistake("content: {label: \"=data.m + \\\"x\\\"\"}", "1:25", "unknown field 'm'"),
    Mistake("content: {label: '=1 == 1 ? ''a'' : data.m'}", "1:42", "unknown field 'm'"),
    Mistake("content: {label: \"=\\x27\\u00e9\\U0001f600' + x\"}", "1:44", "variable 'x'"),
    Mistake("content:\n  label: =1 +\n\n    dta.n", "4:5", "unknown variable 'dta'"),
    Mistake("content:\n  label: \"=1 + \\\n    2 +\n    dta.n\"", "4:5", "variable 'dta'"),
    Mistake("content: {gauge: =data.text}", "1:19", "gives string, but \"value\" of a gauge"),
    Mistake("on: {click: {set: {n: '\"x\"'}}}", "1:24", "gives string, but \"n\""),
    Mistake("on: {click: {set: {m: '1'}}}", "1:20", "no data \"m\"", hint: "\"n\""),
    Mistake("on: {click: {unset: m}}", "1:21", "no data \"m\""),
    Mistake("reducers: [{event: a, set: {n: event.paylod.x}}]", "1:38", "'paylod'"),
    // Content.
    Mistake(
      "sources: {x: {http: 'https://a.b/', errorPath: a}}", "1:37", "unknown key \"errorPath\"",
      hint: "\"errorPath\" is a key of \"parse\""),
    Mistake(
      "content: {label: x, visible: data.n > 1}", "1:30", "expected a value of type bool",
      hint: "write =data.n > 1 for its value"),
    Mistake(
      "on: {click: {set: {n: math.greatest(data.n, 2), text: data.text}}}", "1:45",
      "no data \"2)\"", hint: "the comma before it ended a value"),
    Mistake(
      "let: {a: math.greatest(1, 2)}", "1:27", "\"2)\" cannot be a name",
      hint: "the comma before it ended a value"),
    Mistake(
      "let: {a: math.greatest(1, 2)}", "1:25", "is expected to close",
      hint: "put the whole expression in quotes"),
    Mistake(
      "content: {label: =f(1, 2), color: =f(1, 2)}", "1:41", "the key \"2)\" appears twice",
      hint: "a comma ended the value before it"),
    Mistake(
      "data: {c: {type: string, default: d, choices: [a, b]}}", "1:35",
      "the default is not one of the choices", hint: "use a, b"),
    Mistake(
      "data: {c: {type: string, choices: []}}", "1:35", "the list of choices is empty",
      hint: "leave out choices"),
    Mistake(
      "data: {c: {type: string, choices: [a, b]}}\nsample: {c: z}", "2:13",
      "\"z\" is not one of the choices of \"c\"", hint: "use a, b"),
    Mistake(
      "parameters: {c: {type: int, choices: [1, 2]}}\n"
        + "recommendations: {two: {parameters: {c: 3}}}", "2:41",
      "\"3\" is not one of the choices of \"c\"", hint: "use 1, 2"),
    Mistake("content: {lable: x}", "1:11", "unknown key \"lable\"", hint: "\"label\""),
    Mistake("content: {lable: x, colr: red}", "1:21", "unknown key \"colr\"", hint: "\"color\""),
    Mistake(
      "content: {zzz: x}", "1:11", "\"zzz\" is neither a family nor a type of node",
      hint: "there is: small"),
    Mistake("content: {label: x, url: y}", "1:26", "a label has no \"url\""),
    Mistake(
      "content: {label: x, runs: [{text: a}, {text: b, weight: bolt}]}", "1:27",
      "\"bolt\" is not a valid runs[1].weight", hint: "Use regular, bold or light"),
    Mistake("content: {label: x, button: y}", "1:29", "a node is one thing"),
    Mistake("content: {type: labl}", "1:17", "not a valid type of node", hint: "\"label\""),
    Mistake("content: {label: x, children: [y]}", "1:31", "a label has no children"),
    Mistake("content: {stack: horizontal}", "1:18", "expected a list of nodes"),
    Mistake(
      "content: {stack: [{label: x, id: a}, {label: y, id: a}]}", "1:53",
      "a node \"a\" already"),
    Mistake("content: {stack: [], axis: upwards}", "1:28", "not a valid axis", hint: "vertical"),
    Mistake("content: {label: x, color: '#12'}", "1:28", "not a colour", hint: "#rrggbb"),
    Mistake(
      "content: {label: x, color: warnin}", "1:28", "\"warnin\" is not a colour", hint: "warning"),
    Mistake("content: {label: x, tint: '12ff00'}", "1:27", "not a colour", hint: "#rrggbbaa"),
    Mistake(
      "content: {label: x, color: '=data.n > 1 ? \"error\" : \"bloo\"'}", "1:53",
      "\"bloo\" is not a colour", hint: "#rrggbb"),
    Mistake(
      "content: {label: x, color: {from: data.n, if: value > 1, then: warning, else: bloo}}",
      "1:79",
      "\"bloo\" is not a colour", hint: "#rrggbb"),
    Mistake(
      "content: {label: x, lines: '=data.n > 1 ? 1 : 5000'}", "1:47", "5000 is not a valid lines"),
    Mistake("content: {label: x, rows: data.list}", "1:27", "the top cannot have rows"),
    Mistake("content: {stack: [{label: x, rows: data.n}]}", "1:36", "gives int"),
    Mistake(
      "content: {stack: [{label: x, rows: {list: data.list, as: data}}]}", "1:58", "\"data\""),
    Mistake("content: {button: x, on: {pres: y}}", "1:27", "no event \"pres\"", hint: "\"press\""),
    Mistake("content: {label: {from: data.n, format: '%d'}}", "1:41", "@ or % must follow %"),
    Mistake("content: {label: {from: data.n, else: x}}", "1:39", "\"else\" needs an \"if\""),
    Mistake("content: {gauge: {from: data.n, if: value > 1}}", "1:37", "without then and else"),
    Mistake("content: {label: {placeholder: x}}", "1:18", "the value is missing"),
    Mistake("content: {form: [{input: a}]}", "1:10", "a form needs the name of an action"),
    Mistake(
      "actions: {go: {set: {n: '1'}}}\ncontent: {form: [{input: }], on: {submit: go}}", "2:18",
      "an input in a form needs a name"),
    Mistake(
      "actions: {go: {set: {n: '1'}}}\n"
        + "content: {form: [{toggle: x, name: =data.text}], on: {submit: go}}", "2:36",
      "a toggle in a form needs a name", hint: "write name: NAME"),
    Mistake(
      "actions: {go: {set: {n: '1'}}}\n"
        + "content: {form: [{input: a}, {toggle: x, name: a}], on: {submit: go}}", "2:10",
      "the form has two fields \"a\""),
    Mistake("content: {stack: [{lable: x}]}", "1:20", "unknown key \"lable\"", hint: "\"label\""),
    Mistake(
      "content: {inlin: {label: x}}", "1:11", "\"inlin\" is not a family", hint: "\"inline\""),
    Mistake(
      "families: [small, large]\ncontent: {small: {label: x}}", "2:10", "no content for large",
      hint: "\"*\""),
    Mistake(
      """
      content:
        small: {button: x, id: go, on: {press: {set: {n: '1'}}}}
        large: {button: x, id: go, on: {press: {set: {n: '2'}}}}
      """, "3:42", "\"go\" does something else", hint: "another id"),
    // Sources.
    Mistake("sources: {a: {every: 1s}}", "1:14", "reads nothing", hint: "file, folder, http"),
    Mistake(
      "sources: {a: {file: /etc/x, set: {n: '1'}}}", "1:21", "may not read /etc/x",
      hint: "add /etc/x to permissions.read", permissions: "{read: [/etc/y]}"),
    Mistake("sources: {a: {file: notes}}", "1:21", "not an absolute path", hint: "${bundle}"),
    Mistake("sources: {a: {file: '${bundle}/../x'}}", "1:21", "has .. in it"),
    Mistake(
      "sources: {a: {http: http://127.0.0.1:8080/x}}", "1:21", "may not speak to 127.0.0.1:8080",
      hint: "add 127.0.0.1:8080 to permissions.hosts", permissions: "{hosts: [127.0.0.1]}"),
    Mistake("sources: {a: {http: ftp://x/}}", "1:21", "not a URL"),
    Mistake("sources: {a: {http: 'https://me@x/'}}", "1:21", "not have a user name"),
    Mistake(
      "sources: {a: {command: [df]}}", "1:25", "may not run df", hint: "permissions.commands"),
    Mistake("sources: {a: {command: df}}", "1:24", "expected a list"),
    Mistake("sources: {a: {timer: 10ms}}", "1:22", "too short", hint: "0.1s"),
    Mistake("sources: {a: {timer: soon}}", "1:22", "not a duration", hint: "500ms"),
    Mistake("sources: {a: {value: 1, aligned: true}}", "1:34", "be aligned", hint: "every"),
    Mistake(
      "sources: {a: {value: 1, optional: true}}", "1:35", "not for \"value\"",
      hint: "leave it out"),
    Mistake(
      "sources: {a: {dbus: {name: x, path: /, interface: org.x.I, properties: []}}}", "1:28",
      "\"x\" is not the name of a service", hint: "org.example.Name"),
    Mistake(
      "sources: {a: {dbus: {name: org.x.P, path: /, interface: org.x.I, properties: []}}}", "1:28",
      "may not use org.x.P", hint: "permissions.dbus"),
    Mistake(
      "sources: {a: {dbus: {name: org.x.P, path: x, interface: I, call: 1, signature: s}}}", "1:80",
      "has 1 types, but there are 0 arguments", permissions: "{dbus: [org.x.P]}"),
    Mistake(
      "on: {click: {dbus: {name: org.x.P, path: /, interface: org.x.I, call: M, signature: su, "
        + "arguments: [a, b]}}}", "1:104", "the signature asks for \"u\"",
      hint: "correct the signature", permissions: "{dbus: [org.x.P]}"),
    Mistake(
      "sources: {a: {dbus: {name: org.x.P, interface: org.x.I}}}", "1:21",
      "needs one of properties, signal and call", permissions: "{dbus: [org.x.P]}"),
    Mistake(
      "sources: {a: {dbus: {name: org.x.*, interface: org.x.I, signal: S}}}", "1:28",
      "only properties", permissions: "{dbus: [org.x.*]}"),
    Mistake(
      "on: {click: {dbus: {name: org.x.P, path: /, interface: org.x.I, signal: S}}}", "1:20",
      "a step calls a method", permissions: "{dbus: [org.x.P]}"),
    Mistake(
      "sources: {a: {dbus: {name: org.x.P, path: /, interface: org.x.I, signal: S}, every: 1s}}",
      "1:85", "changes come by themselves", permissions: "{dbus: [org.x.P]}"),
    Mistake(
      "sources: {a: {socket: {path: /s, format: i3}}}", "1:23", "nothing is asked",
      hint: "get_workspaces", permissions: "{sockets: [/s]}"),
    Mistake(
      "sources: {a: {socket: {path: /s, request: get_tree}}}", "1:43", "with format: i3",
      permissions: "{sockets: [/s]}"),
    Mistake(
      "sources: {a: {socket: {path: /s, format: i3, request: get_workspace}}}", "1:55",
      "not a valid request",
      hint: "\"get_workspaces\"", permissions: "{sockets: [/s]}"),
    Mistake("sources: {a: {value: 1, lines: true}}", "1:32", "is for commands"),
    Mistake(
      "sources: {a: {file: '${bundle}/x', parse: wrods}}", "1:43", "not a valid format",
      hint: "\"words\""),
    Mistake(
      "sources: {a: {file: '${bundle}/x', parse: {format: text, path: a}}}", "1:64",
      "is for JSON"),
    Mistake(
      "sources: {a: {file: '${bundle}/x', parse: words, set: {n: result.a}}}", "1:66",
      "of type list(list(string))"),
    Mistake("sources: {a: {file: '${bundle}/x', parse: {path: 'a..b'}}}", "1:50", "is not a path"),
    Mistake("sources: {a-b: {timer: 1s}}", "1:11", "cannot be the name"),
    Mistake(
      "sources: {a: {timer: 1s}}\nactions: {a: {reload: all}}", "2:11", "a source \"a\" already"),
    Mistake("data: {status: 1}\nsources: {a: {timer: 1s}}", "1:7", "\"status\" is the name of"),
    // Actions.
    Mistake("actions: {a: {run: b}}", "1:20", "no action \"b\"", hint: "\"a\""),
    Mistake(
      "actions: {a: b, b: [c], c: {do: {run: a}}}", "1:39", "a → b → c → a"),
    Mistake("actions: {a: a}", "1:14", "a → a"),
    Mistake("actions: {a: {then: a}}", "1:14", "nothing to do"),
    Mistake("actions: {a: {if: data.n > 1, set: {n: '1'}}}", "1:31", "\"set\""),
    Mistake(
      "sources: {a: {timer: 1s, filter: data.n > 1}}", "1:34", "\"filter\" is for sources",
      hint: "in set"),
    Mistake(
      "sources: {a: {command: [df], filter: data.n > 1}}", "1:38", "\"filter\" is for sources",
      hint: "lines: true", permissions: "{commands: [df]}"),
    Mistake(
      "sources: {a: {socket: /s, filter: data.n}}", "1:35", "gives int",
      permissions: "{sockets: [/s]}"),
    Mistake(
      "actions: {a: {socket: {path: /s, send: x}}}", "1:23", "to i3 or sway only",
      hint: "format: i3", permissions: "{sockets: [/s]}"),
    Mistake(
      "actions: {a: {socket: {path: /s, format: lines, send: x}}}", "1:42", "to i3 or sway only",
      permissions: "{sockets: [/s]}"),
    Mistake(
      "actions: {a: {socket: {path: /s, format: i3, request: focused}}}", "1:55",
      "\"request\" is for sources", hint: "send", permissions: "{sockets: [/s]}"),
    Mistake(
      "actions: {a: {socket: {path: /s, format: i3}}}", "1:23", "the command is missing",
      permissions: "{sockets: [/s]}"),
    Mistake(
      "actions: {a: {socket: {path: /s, format: i3, send: x}}}", "1:30", "may not use the socket",
      hint: "permissions.sockets"),
    Mistake("actions: {a: {reload: x}}", "1:23", "no source \"x\"", hint: "all"),
    Mistake("actions: {a: {show: nobody}}", "1:21", "no widget \"nobody\"", hint: "self"),
    Mistake("actions: {a: {http: x, command: [y]}}", "1:14", "a step does one thing"),
    Mistake("actions: {a: {reload: all, parse: text}}", "1:35", "is for http and command"),
    Mistake(
      "actions: {a: {do: [], require: {if: data.n > 1, code: NOPE}}}", "1:55", "not an error code"),
    Mistake("actions: {a: [[b]]}", "1:15", "list of steps"),
    Mistake(
      "events: [{name: click}]\non: {clik: {set: {n: '1'}}}", "2:6", "declares no event \"clik\"",
      hint: "\"click\""),
    Mistake("on: {every: {do: []}}", "1:13", "the interval is missing"),
    Mistake(
      "actions: {a: {http: {url: https://h/, method: GET, json: {}}}}", "1:47", "GET has no body",
      permissions: "{hosts: [h]}"),
    Mistake(
      "actions: {a: {http: {url: https://h/, method: FETCH}}}", "1:47", "not a method",
      permissions: "{hosts: [h]}"),
  ]

  @Test(arguments: mistakes)
  func `a mistake is reported with its place and advice`(mistake: Mistake) throws {
    // The data of the mistake replaces the sample's own data.
    var text = Samples.kind(mistake.body, permissions: mistake.permissions)
    if mistake.body.hasPrefix("data:") {
      text = text.replacing("    data: {n: 0, text: \"\", list: []}\n", with: "")
    }
    let head = text.split(separator: "\n", omittingEmptySubsequences: false)
      .firstIndex { $0 == "  k:" }
    let before = try #require(head) + 1 + (mistake.body.hasPrefix("data:") ? 0 : 1)
    let problems = Samples.problems(text)
    let places = problems.map { "\($0.line - before):\($0.column - 4)" }
    let found = problems.firstIndex { $0.message.contains(mistake.message) }
    let index = try #require(found, "\(problems)")
    #expect(places[index] == mistake.place, "\(problems[index])")
    #expect(problems[index].hint.contains(mistake.hint), "\(problems[index])")
    #expect(problems[index].excerpt.contains("^"))
    #expect(!problems[index].message.hasSuffix("."))
    #expect(!problems[index].message.contains("(at "))
  }

  @Test func `a mistake behind escapes of JSON has its place`() throws {
    let json = #"""
      {"bundle": "b", "format": 1, "version": "1.0.0", "kinds": {"k": {"content":
        {"label": "=\"\ud83d\ude00\" + x"}}}}
      """#
    let problem = try #require(Samples.problems(json).first)
    #expect(problem.line == 2 && problem.column == 34, "\(problem)")
    #expect(problem.message == "unknown variable 'x'")
  }

  @Test(arguments: [
    ("schedule: {evry: 5m}", "evry"), ("events: [{nmae: go}]", "nmae"),
    ("content: {stack: [{rows: {lst: '[1]'}, label: a}]}", "lst"),
    ("actions: {a: {require: {iff: 'true'}, do: [{set: {n: 1}}]}}", "iff"),
  ])
  func `a misspelt required key is one problem`(body: String, key: String) {
    let problems = Samples.problems(Samples.kind(body))
    #expect(problems.first?.message == "unknown key \"\(key)\"")
    #expect(problems.count == 1, "\(problems)")
  }

  @Test func `a problem shows its line with a caret under the place`() throws {
    let problem = try #require(
      Samples.problems("bundle: b\nformat: 1\nversion: 1.0.0\nnmae: x\n").first)
    #expect(
      problem.description == "4:1: unknown key \"nmae\"; did you mean \"name\"?")
    #expect(problem.excerpt == "4 | nmae: x\n  | ^")
  }

  @Test(arguments: [
    ("", "1:1: there is nothing in it"),
    ("# only a remark\n", "1:1: there is nothing in it"),
    ("- a\n", "1:1: expected an object"),
    ("bundle: B_1\nformat: 1\nversion: 1.0.0", "1:9: \"B_1\" cannot be a bundle's id"),
    ("bundle: b\nformat: 2\nversion: 1.0.0", "2:9: format 2 is not known"),
    ("bundle\": b\nformat: 1", "1:1: unknown key \"bundle\"\"; its opening quote is missing"),
    ("bundle: b\nversion: 1.0.0", "1:1: the format is missing"),
    ("bundle: b\nformat: 1\nversion: 1.0", "3:10: \"1.0\" is not a version"),
    (
      "bundle: b\nformat: 1\nversion: 1.0.0\nbundle: c",
      "4:1: the key \"bundle\" appears twice: it is in line 1"
    ),
    ("{\"bundle\": 1,\n\"bundle\": 2}", "2:1: the key \"bundle\" appears twice"),
    (
      "bundle: b\n  format: 1",
      "2:3: this line is indented more than line 1, which has a value already; indent both keys"
    ),
    ("bundle: a: b", "1:10: a value has \": \" in it; put the value in quotes"),
    ("bundle: b\nkinds:\n\tk: 1", "3:1: a tab cannot indent YAML; indent with spaces"),
    ("bundle: @b", "1:9: a text cannot begin with \"@\"; put it in quotes"),
    ("bundle: {a: [1}", "1:13: \"[\" is not closed"),
    ("bundle: \"b", "1:9: the closing quote is missing; add it"),
    (
      "bundle: {a: =x.map(y, y).join(\", \")}",
      "1:34: a comma ended the value before this quote; put the value in quotes"
    ),
    ("{\"bundle\": \"b\",}\n{}", "2:1:"),
    ("--- {}\n--- {}\n", "2:1: there is more than one document"),
    ("bundle: !!python/object b", "1:9: tags such as"),
    ("? [a]\n: b\n", "1:3: a key must be plain text"),
  ])
  func `a text that is not a bundle is refused with a reason`(text: String, problem: String) throws
  {
    let problems = Samples.problems(text)
    #expect(problems.contains { $0.description.hasPrefix(problem) }, "\(problems)")
  }

  @Test(arguments: [
    "content: {stack: [{label: x, if: ! data.n}]}", "content: {stack: [{label: x, if: !data.n}]}",
    "content: {label: !!str x}", "content: {label: ! x}", "!!str content: {label: x}",
    "content: {stack: [! x]}", "on: {click: {set: {n: ! data.n}}}",
    "actions: {go: {if: ! data.n, set: {n: '1'}}}",
    "content:\n  stack:\n  - label: x\n    if: !\n      data.n",
  ])
  func `no tag is dropped`(body: String) throws {
    let problems = Samples.problems(Samples.kind(body))
    #expect(problems.count == 1, "\(problems)")
    let message = problems.first?.message ?? ""
    #expect(
      message.contains("tags such as !") || message.contains("begins with \"!\""), "\(problems)")
    #expect(problems.first?.excerpt.contains("!") == true, "\(problems)")
    if body.contains("data.n") {
      #expect(problems.first?.hint == "put it in quotes: '!data.n'", "\(problems)")
    }
  }

  @Test(arguments: [
    (
      "content: {form: [{input: count}], on: {submit: {set: {n: int(nodes.count.value)}}}}",
      "a form needs the name of an action to submit it to"
    ),
    (
      "actions: {go: {set: {n: int(nodes.count.value)}}}\n"
        + "content: {form: [{input: count}], on: {submit: aaa}}",
      "a form needs the name of an action to submit it to, not \"aaa\""
    ),
    (
      "content: {form: [{input: count}], on: {submit: {run: aaa}}}",
      "a form needs the name of an action to submit it to, not \"aaa\""
    ),
  ])
  func `one mistake of a form is one problem`(body: String, message: String) {
    let problems = Samples.problems(Samples.kind(body))
    #expect(problems.count == 1, "\(problems)")
    #expect(problems.first?.message == message, "\(problems)")
  }

  @Test func `rows with a wrong list cause no further problems`() {
    let problems = Samples.problems(
      Samples.kind(
        "content: {stack: [{label: =item.a, rows: {list: =data.nosuch, key: =item.id}, "
          + "color: =item.c}]}"))
    #expect(problems.count == 1, "\(problems)")
    #expect(problems.first?.message == "unknown field 'nosuch'", "\(problems)")
  }

  @Test func `all problems are reported together, in the order of the file`() {
    let problems = Samples.problems(
      Samples.kind("content: {label: =dta}\nfoo: 1\nactions: {a: b}\nfamilies: [x]"))
    #expect(problems.map(\.line) == [8, 9, 10, 11])
  }

  @Test func `at most fifty problems are reported`() {
    let many = (0..<80).map { "key\($0): 1" }.joined(separator: "\n")
    do throws(InvalidBundle) {
      _ = try BundleReader.read("bundle: b\nformat: 1\nversion: 1.0.0\n" + many)
      Issue.record("it was read")
    } catch {
      #expect(error.problems.count == 50)
      #expect(error.untold == 30)
      #expect(error.problems.first?.line == 4)
    }
  }
}
