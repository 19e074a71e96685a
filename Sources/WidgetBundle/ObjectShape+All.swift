import WidgetModel

extension ObjectShape {
  public static let bundle = ObjectShape(
    "bundle", "A bundle: widgets without code.",
    [
      Key("$schema", .text, "Where the schema is, for editors. Not read."),
      Key(
        "bundle", .name(pattern: "^[a-z0-9][a-z0-9-]{0,63}$"),
        "The bundle's id: 1 to 64 lowercase letters, digits and `-`. Also the name of its folder.",
        isRequired: true),
      Key("format", .words(["1"]), "The format of this file: 1.", isRequired: true),
      Key(
        "version", .name(pattern: "^[0-9]{1,9}\\.[0-9]{1,9}\\.[0-9]{1,9}$"),
        "Three numbers: `1.0.0`.", isRequired: true),
      Key("name", .text, "What people call it."),
      Key("description", .text, "What it is for."),
      Key("permissions", .shape("permissions"), "What it may touch; nothing else."),
      Key(
        "defaults", .shape("fields"),
        "The bundle's settings: `defaults.NAME` in expressions. Users change them with `widgetctl bundle "
          + "set`."),
      Key(
        "services", .map(.shape("service")),
        "Servers that requests name with `service`, by name: what all requests to one have in common."
      ),
      Key(
        "transforms", .map(.expression),
        "Ways to show values, for bindings to name: expressions that read `value`."),
      Key(
        "kinds", .any([.map(.shape("kind")), .list(.shape("kind"))]),
        "The kinds of widgets that it brings, by name."),
      Key(
        "widgets", .any([.list(.shape("widget")), .map(.shape("widget"))]),
        "The widgets that are there as long as the bundle is installed."),
    ])

  public static let permissions = ObjectShape(
    "permissions", "What a bundle may touch. Everything else is refused.",
    [
      Key(
        "read", .list(.text),
        "Files, and folders with all below them: absolute, or below `${home}`. What is in the bundle's "
          + "own folder, `${bundle}`, may always be read."),
      Key(
        "hosts", .list(.text),
        "Hosts for HTTP: `api.example.org` (ports 80 and 443), `127.0.0.1:8080`, `*.example.org`."),
      Key(
        "commands", .list(.text),
        "Programs: absolute paths, names, or what begins with `${bundle}/`."),
      Key(
        "environment", .list(.text),
        "Variables of the host's environment that programs get, and that expressions read as "
          + "`environment.NAME`: `SWAYSOCK`, `XDG_*`."),
      Key(
        "sockets", .list(.text),
        "Paths of Unix sockets: absolute, below `${home}`, or with a variable, "
          + "`${environment.XDG_RUNTIME_DIR}/mpd.sock`."),
    ])

  public static let service = ObjectShape(
    "service",
    "What requests to a server have in common. Nothing in it reads the data of widgets; a request adds"
      + " to it, and replaces what has the same name.",
    [
      Key(
        "url", .textTemplate, "`http://` or `https://`, host and the beginning of the path.",
        isRequired: true),
      Key("query", .map(.template), "Encoded into the query of each request."),
      Key("headers", .map(.textTemplate), "Headers of each request."),
      Key(
        "auth", .any([.textTemplate, .shape("auth")]),
        "A file that holds what to authenticate with, which no client sees; a bearer token."),
      Key("timeout", .duration, "How long a request may take. Default: 15 s."),
    ])

  public static let socket = ObjectShape(
    "socket",
    "A Unix stream socket that goes on giving lines. The host connects again if it is closed.",
    [
      Key("path", .textTemplate, "The path of the socket.", isRequired: true),
      Key("send", .textTemplate, "What is sent once it is connected, as a line."),
    ])

  public static let kind = ObjectShape(
    "kind", "What all widgets of one sort have in common.",
    [
      Key("name", .text, "Its name, if kinds are a list."),
      Key("displayName", .text, "What people call it."),
      Key("description", .text, "What it shows and what it is for."),
      Key(
        "families", .list(.words(Family.allCases.map(\.name))),
        "The families it is made for; without, all."),
      Key(
        "persistence", .words(Kind.Persistence.allCases.map { "\($0)" }),
        "Whether data outlives a restart of the daemon (`durable`, without) or begins anew."),
      Key("transition", .text, "How changes may be animated: `spring:400ms`, `opacity`."),
      Key("open", .bool, "Whether it takes data, parameters and events that are not declared."),
      Key(
        "losableEvents", .bool,
        "Whether events may be lost while the host is away; then they are not stored."),
      Key("parameters", .shape("fields"), "What a widget is configured with."),
      Key("data", .shape("fields"), "What a widget holds."),
      Key(
        "events", .any([.list(.shape("event")), .map(.shape("event"))]),
        "What happens to a widget; without, anything. Those of its nodes are always among them."),
      Key("reducers", .list(.shape("reducer")), "What events do to the data, in order."),
      Key(
        "content", .any([.shape("node"), .byFamily(.shape("node"))]),
        "What a widget shows: one node, or one by family (`small`, `\"medium, large\"`, `\"*\"`)."),
      Key("sources", .map(.shape("source")), "Where data comes from, by name."),
      Key(
        "actions", .map(.any([.shape("action"), .steps])),
        "What can be done, by name: an object with `do`, or steps."),
      Key("on", .shape("on"), "What is done when."),
    ])

  public static let field = ObjectShape(
    "field",
    "A parameter, a data key, or a detail of an event. In an object of fields, a value alone "
      + "is the default, which gives the type.",
    [
      Key("name", .text, "Its name, if fields are a list: letters, digits and `_`."),
      Key(
        "type", .text,
        "`bool`, `int`, `double`, `string`, `bytes`, `timestamp`, `duration`, `list(TYPE)`, "
          + "`map(string, TYPE)`, or `dyn` for any, which is also what no type means."),
      Key("default", .constant, "What it is where nothing is said. Of data, null without."),
      Key("description", .text, "What it means, its unit and range."),
      Key("required", .bool, "Must be given. Not for data, and not with a default."),
    ])

  public static let event = ObjectShape(
    "event", "Something that happens to a widget.",
    [
      Key("name", .text, "Its name, if events are a list."),
      Key("description", .text, "When it happens."),
      Key("payload", .shape("fields"), "Its details."),
    ])

  public static let reducer = ObjectShape(
    "reducer", "What an event does to the data, in one change with it.",
    [
      Key("event", .text, "The event's name.", isRequired: true),
      Key("nodeId", .text, "The node that it must be on; without, any."),
      Key("condition", .expression, "Must be true; without, always."),
      Key("set", .map(.expression), "Data keys, and the expressions that give their new values."),
      Key("unset", .oneOrMore(.text), "Data keys to remove, or to set to their default."),
    ])

  public static let node = ObjectShape(
    "node",
    "A part of what a widget shows. Its type is a key (`label: TEXT`), or `type:`. Text alone is "
      + "a label.",
    [
      Key("type", .words(NodeType.allCases.map(\.name)), "What it is, if no key says it."),
      Key("id", .text, "Its id: letters, digits, `_` and `-`. Without, its type and a number."),
      Key("if", .expression, "Must be true for the node to be there, with all below it."),
      Key(
        "rows", .any([.expression, .shape("rows")]),
        "One such node for each element of a list; not for the node at the top."),
      Key("children", .oneOrMore(.shape("node")), "The nodes in it."),
      Key(
        "on", .map(.any([.shape("handler"), .steps])),
        "What is done when users do something with it, by event."),
    ]
      + NodeType.allCases.map { type in
        Key(type.name, mainType(type), "\(mainSummary(type))")
      } + propertyKeys + [
        Key("maxLength", .int, "Of an input in a form: how many characters it takes at most.")
      ])

  /// What stands behind a type's name.
  private static func mainType(_ type: NodeType) -> KeyType {
    let children = KeyType.oneOrMore(.shape("node"))
    return switch type {
    case .stack, .grid, .table, .form: children
    case .button, .link: .any([.template, .list(.shape("node"))])
    default: .template
    }
  }

  private static func mainSummary(_ type: NodeType) -> String {
    switch type {
    case .label: "A text: `text`."
    case .image: "A picture or an icon: `source`."
    case .button: "Something to press: `text`, or nodes."
    case .toggle: "Something to switch on and off: `text`."
    case .input: "A field to type into: `name`."
    case .gauge: "A number between two others: `value`."
    case .chart: "A series of numbers: `values`."
    case .stack: "Nodes side by side or one below the other."
    case .grid: "Nodes in columns."
    case .table: "Nodes as rows."
    case .space: "Empty room: `size`."
    case .date:
      "A point in time: `date`. Of a node whose `type` is `date`, the point in time itself."
    case .form: "Inputs that are submitted together, to the action that `on: {submit: NAME}` names."
    case .spinner: "Says that something is going on: `text`."
    case .link: "Something to open elsewhere: `text`, or nodes."
    }
  }

  /// What nodes can have, of whatever type: a constant, `=EXPRESSION`, or a binding.
  private static let propertyKeys: [Key] = {
    let typeNames = Set(NodeType.allCases.map(\.name))
    var names: [String] = []
    for property in NodeType.common + NodeType.allCases.flatMap(\.properties)
    where !typeNames.contains(property.name) && !names.contains(property.name) {
      names.append(property.name)
    }
    return names.map { name in
      if let property = NodeType.common.first(where: { $0.name == name }) {
        return propertyKey([property], property.words(ofDefault: name != "padding"))
      }
      let owners = NodeType.allCases.compactMap { type in
        type.properties.first { $0.name == name }.map { (type, $0) }
      }
      let isSame = Set(owners.map(\.1)).count == 1
      let types = owners.map(\.0.name).joined(separator: ", ")
      return propertyKey(
        owners.map(\.1),
        isSame
          ? "Of \(types): \(owners[0].1.words())"
          : owners.map { "\($0.name): \($1.words())" }.joined(separator: " "))
    }
  }()

  private static func propertyKey(_ properties: [NodeProperty], _ summary: String) -> Key {
    let words = properties.flatMap { property in
      if case .choice(let words) = property.type { words } else { [] as [String] }
    }
    let constant: KeyType = words.isEmpty ? .template : .any([.words(words.unique), .expression])
    return Key(properties[0].name, .any([constant, .shape("binding")]), summary)
  }

  public static let binding = ObjectShape(
    "binding",
    "Where a property's value comes from, at length. Null goes straight to the placeholder.",
    [
      Key("value", .template, "The value. The same as `from`, which only takes expressions."),
      Key("from", .expression, "The value, before what follows."),
      Key("if", .expression, "Chooses between `then` and `else`; reads `value`."),
      Key(
        "then", .template,
        "If so; without `if`, always: what is made of `value`. With neither `then` nor `else`, true or "
          + "false."),
      Key("else", .template, "If not."),
      Key(
        "transform", .any([.text, .list(.text)]),
        "Names of transforms, applied in this order before `format`: the bundle's, or one of `string`, "
          + "`int`, `double`, `number`, `percent`, `bytes` and `duration`."),
      Key("format", .text, "Text in which `%@` is the value, and `%%` a percent sign."),
      Key("placeholder", .constant, "What stands in for nothing, and while the value fails."),
    ])

  public static let rows = ObjectShape(
    "rows", "Which rows a node is repeated for.",
    [
      Key("list", .expression, "Gives the list: one row for each element.", isRequired: true),
      Key(
        "as", .text,
        "What expressions call the element, `item` without; `NAMEIndex` is its place, from 0."),
      Key(
        "key", .expression, "Tells a row from the others when the list changes: text or a number."),
    ])

  public static let source = ObjectShape(
    "source",
    "Where data comes from. Has one of `file`, `http`, `command`, `socket`, `timer` and `value`.",
    [
      Key("file", .textTemplate, "A file; watched, so that changes are seen at once."),
      Key("http", .any([.textTemplate, .shape("http")]), "A request, or just a URL."),
      Key("command", .list(.textTemplate), "A program and its arguments. No shell is involved."),
      Key(
        "socket", .any([.textTemplate, .shape("socket")]),
        "A Unix socket, or just its path: every line that comes from it is a result."),
      Key("timer", .duration, "Nothing but the time: `result` is now, so often."),
      Key("value", .template, "A value."),
      Key("every", .duration, "How often it is read again; 100 ms or more."),
      Key("aligned", .bool, "Read at multiples of the interval since midnight (UTC)."),
      Key("start", .bool, "Read when the widget comes to life. True without."),
      Key("when", .expression, "Not read while this is false."),
      Key("whileWatched", .bool, "Read only while somebody watches the widget."),
      Key(
        "optional", .bool,
        "It is no failure if the file, program or socket does not exist: `status.NAME.missing` is then true."
      ),
      Key(
        "staleAfter", .duration,
        "How long readings may fail before the widget is stale. Default: 30s."),
      Key(
        "parse", .any([.words(Parse.Format.allCases.map(\.rawValue)), .shape("parse")]),
        "How bytes become `result`. Without: JSON if they are said to be, else text."),
      Key("set", .map(.expression), "What becomes of `result`: data keys and expressions."),
      Key("title", .textTemplate, "What a failure is called where people see it."),
      Key("message", .textTemplate, "What is said after a reading; reads `result`."),
      Key("stub", .template, "What `result` is when the host runs with `--stub`."),
      Key("debugDelay", .duration, "With `--stub`: how long a reading takes."),
      Key("input", .textTemplate, "Of a command: what it reads from its standard input."),
      Key("timeout", .duration, "Of a command: when it is killed."),
      Key("lines", .bool, "Of a command: every line is a result, as long as it runs."),
    ])

  public static let http = ObjectShape(
    "http", "An HTTP request. Success is a status of 200 to 299.",
    [
      Key("method", .text, "`GET` without; `POST` with a body."),
      Key(
        "url", .textTemplate, "`http://` or `https://`, host and path. Required without `service`."),
      Key("service", .text, "A service of the bundle, instead of `url`."),
      Key(
        "path", .oneOrMore(.template),
        "Components behind the URL's path, each encoded. Text that is written out is split at `/`."),
      Key("query", .map(.template), "Encoded into the query; null leaves one out, a list is many."),
      Key("headers", .map(.textTemplate), "Headers."),
      Key(
        "auth", .any([.textTemplate, .shape("auth")]),
        "A file that holds what to authenticate with, which no client sees; a bearer token."),
      Key("json", .template, "The body, as JSON."),
      Key("form", .map(.template), "The body, as a web form's."),
      Key("multipart", .map(.any([.template, .shape("part")])), "The body, in parts."),
      Key("text", .textTemplate, "The body, as it is."),
      Key("contentType", .text, "Of `text`; `text/plain; charset=utf-8` without."),
      Key("timeout", .duration, "How long it may take; 15 s without."),
    ])

  public static let auth = ObjectShape(
    "auth",
    "What to authenticate with: sent over https and to this machine only, and nowhere that a redirect"
      + " leads.",
    [
      Key(
        "file", .textTemplate, "The path of a file of one line that the bundle may read.",
        isRequired: true),
      Key(
        "scheme", .words(HTTPRequest.Auth.Scheme.allCases.map(\.rawValue)),
        "`bearer`, without: the file holds a token. `basic`: it holds USER:PASSWORD."),
    ])

  public static let part = ObjectShape(
    "part", "A part of a multipart body: a file, an uploaded file, or a value.",
    [
      Key("value", .template, "The value."),
      Key("file", .textTemplate, "The path of a file that the bundle may read."),
      Key(
        "blob", .textTemplate,
        "The id of a file that a client uploaded: `=nodes.photo.value` of an input with `mode: file`."
      ),
      Key("contentType", .text, "Of the file. Of a blob: what the client said."),
    ])

  public static let parse = ObjectShape(
    "parse", "How bytes become `result`.",
    [
      Key(
        "format", .words(Parse.Format.allCases.map(\.rawValue)),
        "`text`, `lines` (a list of texts), `words` (a list of lists of texts), or `json`."),
      Key(
        "shape", .words(Parse.Shape.allCases.map(\.rawValue)),
        "Of JSON: what must be there. Another shape is a failure."),
      Key(
        "path", .any([.text, .list(.constant)]),
        "Of JSON: where the result is: `data.items[0]`, or a list of keys and indexes."),
      Key(
        "errorPath", .any([.text, .list(.constant)]),
        "Of JSON that tells of an error: its words. An answer with words there has failed, whatever its"
          + " status."),
    ])

  private static let actionKeys: [Key] = [
    Key(
      "require", .oneOrMore(.shape("require")),
      "Conditions without which the action is refused."),
    Key("if", .expression, "Done only if this is true."),
    Key("else", .steps, "Done otherwise."),
    Key("delay", .duration, "Waits first; asked again meanwhile, it begins to wait anew."),
    Key(
      "optimistic", .map(.expression),
      "Set before the steps, and taken back if they fail or the host is killed."),
    Key("do", .steps, "What is done, in order; the first that fails ends it.", isRequired: true),
    Key("then", .steps, "Done after success; `result` is the last step's."),
    Key("catch", .steps, "Done after a failure; `error` has `code`, `title` and `message`."),
    Key("title", .textTemplate, "What the failure is called where people see it."),
    Key("message", .textTemplate, "What is said after success."),
  ]

  public static let action = ObjectShape(
    "action", "Something that can be done. If it has a name, its state is `status.NAME`.",
    actionKeys)

  public static let handler = ObjectShape(
    "handler", "What is done on an event, and how eagerly: an action with two more keys.",
    [
      Key(
        "throttle", .duration, "Waits for so long a rest: of several in a row, the last is done."),
      Key("minLength", .int, "The payload's `value` must have so many characters, or none."),
    ] + actionKeys)

  public static let require = ObjectShape(
    "require", "A condition without which an action is refused.",
    [
      Key("if", .expression, "Must be true.", isRequired: true),
      Key("code", .text, "The name of a gRPC code; `PERMISSION_DENIED` without."),
      Key("message", .textTemplate, "What people are told."),
    ])

  public static let step = ObjectShape(
    "step",
    "One thing that is done. Instead of it: an action's name, which runs it; a source's name, "
      + "which reads it again; or an action without a name (an object with `do`).",
    [
      Key("set", .map(.expression), "Data keys and expressions. Also beside `http` and `command`."),
      Key("unset", .oneOrMore(.text), "Data keys to remove, or to set to their default."),
      Key("http", .any([.textTemplate, .shape("http")]), "A request, or just a URL."),
      Key("command", .list(.textTemplate), "A program and its arguments."),
      Key("input", .textTemplate, "Of a command: what it reads."),
      Key("timeout", .duration, "Of a command: when it is killed."),
      Key(
        "parse", .any([.words(Parse.Format.allCases.map(\.rawValue)), .shape("parse")]),
        "How bytes become `result`."),
      Key("stub", .template, "What `result` is when the host runs with `--stub`."),
      Key("debugDelay", .duration, "With `--stub`: how long it takes."),
      Key("show", .oneOrMore(.textTemplate), "Shows widgets, by id; `self` is the widget itself."),
      Key("hide", .oneOrMore(.textTemplate), "Hides widgets."),
      Key("enable", .oneOrMore(.textTemplate), "Enables widgets."),
      Key("disable", .oneOrMore(.textTemplate), "Disables widgets."),
      Key("toggle", .oneOrMore(.textTemplate), "Shows what is hidden, and hides what is shown."),
      Key("reload", .oneOrMore(.text), "Reads sources again, by name; `all` for all of them."),
      Key("emit", .text, "Sends an event, by its name."),
      Key("widget", .textTemplate, "Of `emit`: to which widget; without, to itself."),
      Key("payload", .map(.template), "Of `emit`: its details."),
      Key("run", .text, "Runs an action, by its name; it sees the same event."),
      Key("cancel", .text, "Ends an action that is under way."),
    ])

  public static let on = ObjectShape(
    "on",
    "What is done when. A key that is none of these is the name of an event of the whole widget.",
    [
      Key("load", .steps, "When a widget comes to life."),
      Key("every", .oneOrMore(.shape("every")), "Again and again."),
    ], others: .any([.shape("handler"), .steps]))

  public static let every = ObjectShape(
    "every", "What is done again and again.",
    [
      Key("interval", .duration, "How often; 100 ms or more.", isRequired: true),
      Key("do", .steps, "What.", isRequired: true),
    ])

  public static let widget = ObjectShape(
    "widget", "A widget that is there as long as the bundle is.",
    [
      Key("id", .text, "Its id, if widgets are a list."),
      Key("kind", .text, "Its kind: one of the bundle's, or `help`.", isRequired: true),
      Key("family", .words(Family.allCases.map(\.name)), "Its family."),
      Key("labels", .map(.text), "Its labels."),
      Key("visible", .bool, "Whether it is shown at first; true without."),
      Key("enabled", .bool, "Whether it takes events at first; true without."),
      Key("parameters", .map(.constant), "How it is configured."),
      Key("data", .map(.constant), "What it holds at first, beside the defaults."),
    ])

  public static let all = [
    bundle, permissions, service, kind, field, event, reducer, node, binding, rows, source, socket,
    http,
    auth, part,
    parse,
    action, handler, require, step, on, every, widget,
  ]
}

extension NodeProperty {
  /// What it means, what it takes, its unit and its default, in words.
  fileprivate func words(ofDefault tellsDefault: Bool = true) -> String {
    var facts: [String] = []
    switch type {
    case .field(let type):
      if type != .string { facts.append("`\(type)`") }
    case .choice(let words): facts.append(words.map { "`\($0)`" }.joined(separator: ", "))
    default: facts.append(type.words)
    }
    if let unit, unit != .points { facts.append(unit.rawValue) }
    if tellsDefault, let value = defaultValue, value != .string("") {
      facts.append("default `\(value.inReference)`")
    }
    return facts.isEmpty ? summary : "\(summary.dropLast()) (\(facts.joined(separator: "; ")))."
  }
}

extension Value {
  /// A default as the reference has it.
  fileprivate var inReference: String {
    switch self {
    case .string(let text): text
    case .bool(let flag): "\(flag)"
    case .int(let number): "\(number)"
    case .double(let number): "\(Int(number))"
    default: "\(self)"
    }
  }
}

extension [String] {
  /// Each once, in order.
  fileprivate var unique: [String] {
    reduce(into: []) { words, word in if !words.contains(word) { words.append(word) } }
  }
}
