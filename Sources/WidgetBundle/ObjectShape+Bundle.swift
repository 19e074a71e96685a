import WidgetModel

/// The objects at the top of a file, and the list of all objects.
extension ObjectShape {
  private static let lets = Key(
    "let", .map(.expression), "Names for expressions, which the expressions of all kinds can use.")
  private static let transforms = Key(
    "transforms", .map(.expression),
    "Transforms, by name: expressions that read `value`. Bindings name them.")

  public static let set = ObjectShape(
    "set", "Kinds and widgets for `widgetctl apply`, which the daemon runs without a host.",
    [
      Key("$schema", .text, "Path or URL of the schema, for editors."),
      Key("set", .text, "Name of the set. Default: `default`."),
      lets, transforms,
      Key(
        "kinds", .any([.map(.shape("kind")), .list(.shape("kind"))]),
        "Kinds of widgets, by name. `sources`, `actions`, steps other than `set` and `unset`, and "
          + "keys such as `else` need a bundle."),
      Key(
        "widgets", .any([.list(.shape("widget")), .map(.shape("widget"))]), "Widgets, by id."),
    ])

  public static let bundle = ObjectShape(
    "bundle", "A bundle: widgets without code.",
    [
      Key("$schema", .text, "Path or URL of the schema, for editors. The host ignores it."),
      Key(
        "bundle", .name(pattern: "^[a-z0-9][a-z0-9-]{0,63}$"),
        "Id: 1 to 64 lowercase letters, digits and `-`. `bundle install` gives this name to the "
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
        "Files, servers, programs, environment variables, sockets and D-Bus services that the bundle "
          + "may use."),
      Key(
        "defaults", .shape("fields"),
        "Settings of the bundle: `defaults.NAME` in expressions. Users change them with "
          + "`widgetctl bundle set`."),
      Key(
        "services", .map(.shape("service")),
        "Servers, by name, with the common values of their requests. A request names its "
          + "server with `service`."
      ),
      lets, transforms,
      Key(
        "kinds", .any([.map(.shape("kind")), .list(.shape("kind"))]),
        "Kinds of widgets, by name."),
      Key(
        "widgets", .any([.list(.shape("widget")), .map(.shape("widget"))]),
        "Widgets that exist as long as the bundle is installed."),
    ])

  public static let permissions = ObjectShape(
    "permissions",
    "The files, servers, programs, environment variables, sockets and D-Bus services that a bundle "
      + "may use. The host refuses everything else.",
    [
      Key(
        "read", .list(.text),
        "Files, and folders with everything below them: absolute paths, or paths below "
          + "`${home}`. The bundle's folder, `${bundle}`, may always be read."),
      Key(
        "hosts", .list(.text),
        "HTTP servers: `api.example.org` (ports 80 and 443), `127.0.0.1:8080`, `*.example.org`."),
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
        "url", .textTemplate,
        "`http://` or `https://`, the server's name, and the beginning of the path.",
        isRequired: true),
      Key("query", .map(.template), "Query parameters of each request. They are encoded."),
      Key("headers", .map(.textTemplate), "Headers of each request."),
      Key(
        "auth", .any([.textTemplate, .shape("auth")]),
        "Path of a file with a bearer token. No client sees the token."),
      Key("timeout", .duration, "Time limit of a request. Default: 15 s."),
    ])

  public static let widget = ObjectShape(
    "widget", "A widget that exists as long as the bundle is installed.",
    [
      Key("id", .text, "Id, if widgets are a list."),
      Key(
        "kind", .text, "Kind: any bundle's or program's, or the daemon's `help` or `smart-stack`.",
        isRequired: true),
      Key("family", .words(Family.allCases.map(\.name)), "Family."),
      Key("labels", .map(.text), "Labels."),
      Key(
        "visible", .bool,
        "Whether a new widget is shown. An existing widget stays as it is. "
          + "Default: true."),
      Key(
        "enabled", .bool,
        "Whether a new widget takes events. An existing widget stays as it is. "
          + "Default: true."),
      Key("parameters", .map(.constant), "Parameters."),
      Key("data", .map(.constant), "Values of data keys. The other keys have their default."),
      Key(
        "timeline", .shape("timeline"),
        "Entries with a date. Leave out this key if a program sets timelines of the widget."),
    ])

  public static let timeline = ObjectShape(
    "timeline", "Entries of a widget, each shown from its date on.",
    [
      Key(
        "entries", .list(.shape("entry")),
        "Entries, in any order. Of entries with the same date, the last one counts.",
        isRequired: true),
      Key(
        "policy", .words(Timeline.Policy.allCases.map(\.name)),
        "When the kind's provider is asked for a new timeline: when the last entry becomes current "
          + "(`at-end`), at `refreshTime` (`after`), or `never`. Default: `at-end`."),
      Key(
        "refreshTime", .text,
        "For `after`: the time of the request, such as `2026-01-01T08:00:00Z`."
      ),
      Key("staleTime", .text, "Time from which the widget is stale. Default: never."),
    ])

  public static let timelineEntry = ObjectShape(
    "entry", "An entry of a timeline.",
    [
      Key(
        "date", .text, "Time from which the entry is current, such as `2026-01-01T08:00:00Z`.",
        isRequired: true),
      Key("values", .map(.constant), "Values of the fields that the kind declares under `entry`."),
      Key(
        "score", .constant,
        "Relevance for widgets of the kind `smart-stack`, 0 to 1,000,000. Default: 0."),
      Key(
        "duration", .duration,
        "How long the score counts. Default: as long as the entry is current."),
    ])

  public static let all = [
    bundle, set, permissions, service, kind, field, schedule, recommendation, event,
    reducer, node, binding, rows, source,
    socket,
    dbus, http,
    auth, part,
    parse,
    action, handler, require, step, on, every, widget, timeline,
    timelineEntry,
  ]
}
