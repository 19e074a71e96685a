import WidgetModel

extension ObjectShape {
  public static let set = ObjectShape(
    "set", "Kinds and widgets for `widgetctl apply`, which the daemon runs without a host.",
    [
      Key("$schema", .text, "Path or URL of the schema, for editors."),
      Key("set", .text, "Name of the set. Default: `default`."),
      Key(
        "let", .map(.expression),
        "Names for expressions, which the expressions of all kinds can use."),
      Key(
        "transforms", .map(.expression),
        "Transforms, by name: expressions that read `value`. Bindings name them."),
      Key(
        "kinds", .any([.map(.shape("kind")), .list(.shape("kind"))]),
        "Kinds of widgets, by name. `sources`, `actions`, and steps other than `set` and `unset` "
          + "need a bundle."),
      Key(
        "widgets", .any([.list(.shape("widget")), .map(.shape("widget"))]), "Widgets, by id."),
    ])

  public static let bundle = ObjectShape(
    "bundle", "A bundle: widgets without code.",
    [
      Key("$schema", .text, "Path or URL of the schema, for editors. The host ignores it."),
      Key(
        "bundle", .name(pattern: "^[a-z0-9][a-z0-9-]{0,63}$"),
        "Id: 1 to 64 lowercase letters, digits and `-`. Also the name of the bundle's "
          + "folder.",
        isRequired: true),
      Key("format", .words(["1"]), "Format of this file: 1.", isRequired: true),
      Key(
        "version", .name(pattern: "^[0-9]{1,9}\\.[0-9]{1,9}\\.[0-9]{1,9}$"),
        "Version: three numbers, such as `1.0.0`.", isRequired: true),
      Key("name", .text, "Name for people."),
      Key("description", .text, "Purpose of the bundle."),
      Key(
        "permissions", .shape("permissions"),
        "Files, hosts, programs, variables, sockets and D-Bus services that the bundle may use."),
      Key(
        "defaults", .shape("fields"),
        "Settings of the bundle: `defaults.NAME` in expressions. Users change them with "
          + "`widgetctl bundle set`."),
      Key(
        "services", .map(.shape("service")),
        "Servers, by name, with the common values of their requests. A request names its "
          + "server with `service`."
      ),
      Key(
        "let", .map(.expression),
        "Names for expressions, which the expressions of all kinds can use."),
      Key(
        "transforms", .map(.expression),
        "Transforms, by name: expressions that read `value`. Bindings name them."),
      Key(
        "kinds", .any([.map(.shape("kind")), .list(.shape("kind"))]),
        "Kinds of widgets, by name."),
      Key(
        "widgets", .any([.list(.shape("widget")), .map(.shape("widget"))]),
        "Widgets that exist as long as the bundle is installed."),
    ])

  public static let permissions = ObjectShape(
    "permissions",
    "The files, hosts, programs, variables, sockets and D-Bus services that a bundle may use. "
      + "Everything else is refused.",
    [
      Key(
        "read", .list(.text),
        "Files, and folders with everything below them: absolute paths, or paths below "
          + "`${home}`. The bundle's folder, `${bundle}`, may always be read."),
      Key(
        "hosts", .list(.text),
        "Hosts for HTTP: `api.example.org` (ports 80 and 443), `127.0.0.1:8080`, `*.example.org`."),
      Key(
        "commands", .list(.text),
        "Programs: absolute paths, names, or paths that begin with `${bundle}/`."),
      Key(
        "environment", .list(.text),
        "Environment variables of the host, such as `SWAYSOCK` or `XDG_*`. Programs get "
          + "them, and expressions read them as `environment.NAME`."),
      Key(
        "sockets", .list(.text),
        "Paths of Unix sockets: absolute, below `${home}`, or with a variable, "
          + "`${environment.XDG_RUNTIME_DIR}/mpd.sock`."),
      Key(
        "dbus", .list(.text),
        "Names of services on D-Bus: `org.freedesktop.UPower`, `org.mpris.MediaPlayer2.*`. "
          + "Covers all properties, signals and methods of the service."),
    ])

  public static let service = ObjectShape(
    "service",
    "Common values of the requests to a server. They cannot read the data of "
      + "widgets. A request adds values, and replaces values with the same name.",
    [
      Key(
        "url", .textTemplate, "`http://` or `https://`, the host, and the beginning of the path.",
        isRequired: true),
      Key("query", .map(.template), "Query parameters of each request. They are encoded."),
      Key("headers", .map(.textTemplate), "Headers of each request."),
      Key(
        "auth", .any([.textTemplate, .shape("auth")]),
        "Path of a file with a bearer token. No client sees the token."),
      Key("timeout", .duration, "Time limit of a request. Default: 15 s."),
    ])

  public static let socket = ObjectShape(
    "socket",
    "A Unix stream socket that sends lines, or the socket of i3 or sway. If the connection ends, "
      + "the host reconnects. A step has `path`, `format: i3` and `send`.",
    [
      Key("path", .textTemplate, "The path of the socket.", isRequired: true),
      Key(
        "send", .textTemplate,
        "A line that is sent after the connection is made. Of a step: a command for i3 or sway."),
      Key(
        "format", .words(["lines", "i3"]),
        "`lines`: every line is a result. `i3`: the protocol of i3 and sway. Default: `lines`."),
      Key(
        "request", .words(I3Input.Request.allCases.map(\.rawValue)),
        "With `format: i3`: request to i3 or sway, at first and at each event of `subscribe`. "
          + "`result` is the answer. `focused` gives the focused container."),
      Key(
        "subscribe", .list(.words(I3Input.Event.allCases.map(\.rawValue))),
        "With `format: i3`: events to subscribe to. Without `request`, each event is a result."),
    ])

  public static let dbus = ObjectShape(
    "dbus",
    "A request to a service on D-Bus. A source has one of `properties`, `signal` and `call`. A "
      + "step has `call`.",
    [
      Key(
        "bus", .words(BusInput.Bus.allCases.map(\.rawValue)), "The bus. Default: `session`."),
      Key(
        "name", .textTemplate,
        "The name of the service: `org.freedesktop.UPower`. Of `properties`: with `.*` at the end, all "
          + "services with this prefix.", isRequired: true),
      Key(
        "path", .textTemplate,
        "The path of the object. Default for `signal`: all objects."),
      Key("interface", .text, "The interface of the object.", isRequired: true),
      Key(
        "properties", .list(.text),
        "The properties to read and to follow; an empty list for all. `result` has them by name."),
      Key("signal", .text, "The signal to wait for. `result` is the list of its arguments."),
      Key("call", .text, "The method to call. `result` is the list of the values that it returns."),
      Key("arguments", .list(.template), "Of `call`: the arguments."),
      Key(
        "signature", .text, "Of `call`: the D-Bus types of the arguments, such as `su`."),
      Key("timeout", .duration, "Of `call`: time limit. Default: 25 s."),
    ])

  public static let kind = ObjectShape(
    "kind", "What the widgets of a kind have in common.",
    [
      Key("name", .text, "Name, if kinds are a list."),
      Key("displayName", .text, "Name for people."),
      Key("description", .text, "What the widgets show, and their purpose."),
      Key(
        "families", .list(.words(Family.allCases.map(\.name))),
        "Families of its widgets. Default: all."),
      Key(
        "persistence", .words(Kind.Persistence.allCases.map { "\($0)" }),
        "Whether data survives a restart of the daemon (`durable`) or gets its defaults "
          + "again (`volatile`). Default: `durable`."),
      Key("transition", .text, "Animation hint for changes: `spring:400ms`, `opacity`."),
      Key(
        "open", .bool,
        "Whether widgets take undeclared data, parameters and events. Default: false."),
      Key(
        "losableEvents", .bool,
        "Whether events may be lost while the host is away. The daemon then does not store them. "
          + "Default: false."),
      Key("parameters", .shape("fields"), "Configuration of a widget."),
      Key("data", .shape("fields"), "State of a widget."),
      Key(
        "entry", .shape("fields"),
        "Values of a timeline's entries. Content reads the current entry as `entry`."),
      Key(
        "schedule", .shape("schedule"), "Entries that the daemon computes, at certain times."
      ),
      Key(
        "sample", .map(.constant),
        "Data that shows what the kind looks like, for the placeholder. Other fields have their "
          + "default."),
      Key(
        "recommendations", .map(.shape("recommendation")),
        "Named sets of parameters to choose from."),
      Key(
        "refreshesPerHour", .int,
        "Number of times in an hour that `widgetctl refresh` can ask for data of the kind. Default: "
          + "the daemon's `refreshes_per_hour_max`."),
      Key(
        "events", .any([.list(.shape("event")), .map(.shape("event"))]),
        "Events that a widget takes. Default: any. Events of its nodes need no "
          + "declaration."),
      Key("reducers", .list(.shape("reducer")), "Effects of events on the data, in order."),
      Key(
        "content", .any([.shape("node"), .byFamily(.shape("node"))]),
        "Content of a widget: one node, or one node per family (`small`, `\"medium, "
          + "large\"`, `\"*\"`)."),
      Key(
        "let", .map(.expression),
        "Names for expressions, which the kind's other expressions can use."),
      Key("sources", .map(.shape("source")), "Sources of data, by name."),
      Key(
        "actions", .map(.any([.shape("action"), .steps])),
        "Actions, by name: an object with `do`, or steps."),
      Key("on", .shape("on"), "Steps for events, intervals and new widgets."),
    ])

  public static let field = ObjectShape(
    "field",
    "A parameter, a data key, or a detail of an event. In an object of fields, you "
      + "can write only the default. Its type is then the field's type.",
    [
      Key("name", .text, "Name, if fields are a list: letters, digits and `_`."),
      Key(
        "type", .text,
        "`bool`, `int`, `double`, `string`, `bytes`, `timestamp`, `duration`, "
          + "`list(TYPE)`, `map(string, TYPE)`, or `dyn` for any type. Default: `dyn`."),
      Key("default", .constant, "Value if none is given. Default for data: null."),
      Key("description", .text, "Meaning, unit and range."),
      Key(
        "required", .bool,
        "Whether a value must be given. Not for data, and not with a default. Default: false."),
      Key("choices", .list(.constant), "The values that it can have. Default: all of its type."),
    ])

  public static let schedule = ObjectShape(
    "schedule",
    "Entries at certain times, which the daemon computes without a program. A schedule has exactly "
      + "one of `every`, `cron` and `entries`.",
    [
      Key(
        "every", .duration,
        "One entry in each period of this length: whole seconds, 1 s to 366 days."),
      Key(
        "offset", .duration,
        "For `every`: shift of all entries. At most one period. Default: 0."),
      Key(
        "cron", .text,
        "One entry at each time that fits: minute, hour, day of the month, month, day of the week."),
      Key(
        "zone", .textTemplate,
        "Time zone: a name such as `Europe/Berlin`, or an expression that reads `parameters`. Default: "
          + "UTC."),
      Key(
        "entries", .expression,
        "A list of maps, one for each entry: `date` (a timestamp), `score`, `duration`, and the fields of `entry`. "
          + "The expression reads `data` and `parameters`."),
    ])

  public static let recommendation = ObjectShape(
    "recommendation", "A named set of parameters.",
    [
      Key("displayName", .text, "Name for people."),
      Key("parameters", .map(.constant), "Parameters. Default: those of the kind."),
    ])

  public static let event = ObjectShape(
    "event", "An event of a widget.",
    [
      Key("name", .text, "Name, if events are a list."),
      Key("description", .text, "When the event happens."),
      Key("payload", .shape("fields"), "Details of the event."),
    ])

  public static let reducer = ObjectShape(
    "reducer", "The effect of an event on the data, in one change with the event.",
    [
      Key("event", .text, "Name of the event.", isRequired: true),
      Key("nodeId", .text, "Node of the event. Default: any node."),
      Key("condition", .expression, "Condition for the effect. Default: true."),
      Key("set", .map(.expression), "Data keys and the expressions for their new values."),
      Key("unset", .oneOrMore(.text), "Data keys to remove, or to set to their default."),
    ])

  public static let node = ObjectShape(
    "node",
    "A part of a widget's content. The type is a key (`label: TEXT`), or `type:`. "
      + "Text alone is a label.",
    [
      Key("type", .words(NodeType.allCases.map(\.name)), "Type, if no key names it."),
      Key("id", .text, "Id: letters, digits, `_` and `-`. Default: the type and a number."),
      Key("if", .expression, "Condition: the node and its children exist only while it is true."),
      Key(
        "rows", .any([.expression, .shape("rows")]),
        "Repeats the node for each element of a list. Not for the top node."),
      Key("children", .oneOrMore(.shape("node")), "Child nodes."),
      Key(
        "on", .map(.any([.shape("handler"), .steps])),
        "Steps for events that users cause on the node, by event."),
    ]
      + NodeType.allCases.map { type in
        Key(type.name, mainType(type), "\(mainSummary(type))")
      } + propertyKeys + [
        Key("maxLength", .int, "Of an input in a form: maximum number of characters.")
      ])

  public static let binding = ObjectShape(
    "binding",
    "The long form of a property's value. If the value is null, the placeholder is "
      + "used.",
    [
      Key("value", .template, "The value, as a template. `from` is the same for an expression."),
      Key("from", .expression, "The value, as an expression."),
      Key("if", .expression, "Condition that chooses `then` or `else`. It reads `value`."),
      Key(
        "then", .template,
        "Result if the condition is true, or if there is no `if`. It can read `value`. With `if` "
          + "alone, the result is true or false."),
      Key("else", .template, "Result if the condition is false."),
      Key(
        "transform", .any([.text, .list(.text)]),
        "Names of transforms, applied in this order before `format`: transforms of the bundle, "
          + "or `string`, `int`, `double`, `number`, `percent`, `bytes`, `duration`."),
      Key("format", .text, "Text with `%@` for the value, and `%%` for a percent sign."),
      Key("placeholder", .constant, "Value that is used if the result is null or fails."),
    ])

  public static let rows = ObjectShape(
    "rows", "The rows of a repeated node.",
    [
      Key("list", .expression, "The list. Each element makes a row.", isRequired: true),
      Key(
        "as", .text,
        "Name of the variable with the element. Default: `item`. `NAMEIndex` is the "
          + "index, from 0."),
      Key(
        "key", .expression,
        "Text or number that identifies a row when the list changes. Default: the index."),
    ])

  public static let source = ObjectShape(
    "source",
    "A source of data. Has one of `file`, `folder`, `http`, `command`, `socket`, `dbus`, "
      + "`timer` and `value`.",
    [
      Key(
        "file", .textTemplate,
        "Path of a file. The host watches it, and reads it again when it changes."),
      Key(
        "folder", .textTemplate,
        "Path of a folder. `result` is the list of its entries. The host watches it, and reads it "
          + "again when it changes."
      ),
      Key("http", .any([.textTemplate, .shape("http")]), "A request, or only a URL."),
      Key("command", .list(.textTemplate), "A program and its arguments. No shell is involved."),
      Key(
        "socket", .any([.textTemplate, .shape("socket")]),
        "A Unix socket, or only its path. Every line from the socket is a result."),
      Key("dbus", .shape("dbus"), "A service on D-Bus: properties, signals, or a method."),
      Key("timer", .duration, "An interval. `result` is the current time."),
      Key("value", .template, "A value."),
      Key("every", .duration, "Interval between readings, 100 ms or more."),
      Key(
        "aligned", .bool,
        "Whether to read at multiples of the interval since midnight (UTC). Default: false."),
      Key(
        "start", .bool,
        "Whether to read when the widget is created or the bundle is loaded. Default: true."),
      Key("when", .expression, "Condition: the source is read only while it is true."),
      Key(
        "filter", .expression,
        "Of a socket, of a command with `lines`, of `properties` and `signal`: condition for a "
          + "result. It reads `result`. If it is false, the host ignores the result."),
      Key(
        "whileWatched", .bool,
        "Whether to read only while a client watches the widget. Default: false."),
      Key(
        "optional", .bool,
        "Whether the file, folder, program, socket or service can be missing without a failure. "
          + "`status.NAME.missing` is then true. Default: false."),
      Key(
        "staleAfter", .duration,
        "The widget is stale after the source has failed for this time. Default: 30 s."),
      Key(
        "parse", .any([.words(Parse.Format.allCases.map(\.rawValue)), .shape("parse")]),
        "How to parse bytes into `result`. Default: `json` for an HTTP answer of a JSON type, a "
          + "file `*.json`, and `format: i3`; else `text`."),
      Key(
        "set", .map(.expression), "Data keys and expressions for their values. They read `result`."),
      Key("title", .textTemplate, "Title of a failure, for people."),
      Key("message", .textTemplate, "Message after a successful reading. It reads `result`."),
      Key("stub", .template, "Value of `result` if the host runs with `--stub`."),
      Key("debugDelay", .duration, "With `--stub`: duration of a reading."),
      Key("input", .textTemplate, "Of a command: its standard input."),
      Key(
        "timeout", .duration,
        "Of a command: time limit, after which the program is killed. Default: 30 s; none with "
          + "`lines`."),
      Key(
        "lines", .bool,
        "Of a command: whether each line of the output is a result, while the program runs. "
          + "Default: false."),
    ])

  public static let http = ObjectShape(
    "http", "An HTTP request. Success is a status of 200 to 299.",
    [
      Key("method", .text, "HTTP method. Default: `GET`, or `POST` with a body."),
      Key(
        "url", .textTemplate, "`http://` or `https://`, host and path. Required without `service`."),
      Key("service", .text, "A service of the bundle, instead of `url`."),
      Key(
        "path", .oneOrMore(.template),
        "Path components after the URL's path, each encoded. Constant text is split at "
          + "`/`."),
      Key(
        "query", .map(.template),
        "Query parameters. They are encoded. Null omits a parameter, and a list repeats "
          + "it."),
      Key("headers", .map(.textTemplate), "Headers."),
      Key(
        "auth", .any([.textTemplate, .shape("auth")]),
        "Path of a file with a bearer token. No client sees the token."),
      Key("json", .template, "The body, as JSON."),
      Key("form", .map(.template), "The body, encoded as a web form."),
      Key("multipart", .map(.any([.template, .shape("part")])), "The body, in parts."),
      Key("text", .textTemplate, "The body, as text."),
      Key("contentType", .text, "Content type of `text`. Default: `text/plain; charset=utf-8`."),
      Key("timeout", .duration, "Time limit. Default: 15 s."),
    ])

  public static let auth = ObjectShape(
    "auth",
    "Credentials. The host sends them only over https or to this machine, and never "
      + "after a redirect.",
    [
      Key(
        "file", .textTemplate,
        "Path of a file with one line. The bundle must have permission to read it.",
        isRequired: true),
      Key(
        "scheme", .words(HTTPRequest.Auth.Scheme.allCases.map(\.rawValue)),
        "`bearer`: the file has a token. `basic`: the file has USER:PASSWORD. Default: "
          + "`bearer`."),
    ])

  public static let part = ObjectShape(
    "part", "A part of a multipart body: a file, an uploaded file, or a value.",
    [
      Key("value", .template, "The value."),
      Key("file", .textTemplate, "Path of a file. The bundle must have permission to read it."),
      Key(
        "blob", .textTemplate,
        "Id of an uploaded file: `=nodes.photo.value` of an input with `mode: file`."
      ),
      Key("contentType", .text, "Content type of the file. Default for a blob: the client's."),
    ])

  public static let parse = ObjectShape(
    "parse", "How to parse bytes into `result`.",
    [
      Key(
        "format", .words(Parse.Format.allCases.map(\.rawValue)),
        "`text`, `lines` (a list of texts), `words` (a list of lists of texts), or `json`."),
      Key(
        "shape", .words(Parse.Shape.allCases.map(\.rawValue)),
        "Of JSON: required shape. Another shape is a failure."),
      Key(
        "path", .any([.text, .list(.constant)]),
        "Of JSON: path of the result, such as `data.items[0]`, or a list of keys and "
          + "indexes."),
      Key(
        "errorPath", .any([.text, .list(.constant)]),
        "Of JSON: path of an error message. An answer with text at this path is a failure, even "
          + "with a status of success."),
    ])

  public static let on = ObjectShape(
    "on",
    "Steps for events, intervals and new widgets. Any other key is the name of an "
      + "event of the whole widget.",
    [
      Key("load", .steps, "Steps when the widget is created or the bundle is loaded."),
      Key("every", .oneOrMore(.shape("every")), "Steps at intervals."),
    ], others: .any([.shape("handler"), .steps]))

  public static let every = ObjectShape(
    "every", "Steps at an interval.",
    [
      Key("interval", .duration, "Interval, 100 ms or more.", isRequired: true),
      Key("do", .steps, "Steps.", isRequired: true),
    ])

  public static let widget = ObjectShape(
    "widget", "A widget that exists as long as the bundle is installed.",
    [
      Key("id", .text, "Id, if widgets are a list."),
      Key("kind", .text, "Kind: one of the bundle's, or `help`.", isRequired: true),
      Key("family", .words(Family.allCases.map(\.name)), "Family."),
      Key("labels", .map(.text), "Labels."),
      Key("visible", .bool, "Whether the widget is shown at first. Default: true."),
      Key("enabled", .bool, "Whether the widget takes events at first. Default: true."),
      Key("parameters", .map(.constant), "Parameters."),
      Key("data", .map(.constant), "Initial data, beside the defaults."),
    ])

  public static let all = [
    bundle, set, permissions, service, kind, field, schedule, recommendation, event,
    reducer, node, binding, rows, source,
    socket,
    dbus, http,
    auth, part,
    parse,
    action, handler, require, step, on, every, widget,
  ]
}
