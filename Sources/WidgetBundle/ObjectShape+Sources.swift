import WidgetModel

/// The objects of sources.
extension ObjectShape {
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
      Key("value", .template, "A constant or an expression. `result` is its value."),
      Key("every", .duration, "Interval between readings, 100 ms or more."),
      Key(
        "aligned", .bool,
        "Whether to read at multiples of the interval since midnight (UTC). Default: false."),
      Key(
        "start", .bool,
        "Whether to read when the widget is created or the bundle is loaded. Default: true."),
      Key(
        "when", .expression,
        "Condition: the host reads the source only while the condition is true, and at once when it "
          + "becomes true."),
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
        "With `format: i3`: request to i3 or sway, at the start and at each event of `subscribe`. "
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

  public static let http = ObjectShape(
    "http", "An HTTP request. Success is a status of 200 to 299.",
    [
      Key("method", .text, "HTTP method. Default: `GET`, or `POST` with a body."),
      Key(
        "url", .textTemplate,
        "`http://` or `https://`, the server's name, and the path. Required without `service`."),
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

  public static let every = ObjectShape(
    "every", "Steps at an interval.",
    [
      Key("interval", .duration, "Interval, 100 ms or more.", isRequired: true),
      Key("do", .steps, "Steps.", isRequired: true),
    ])
}
