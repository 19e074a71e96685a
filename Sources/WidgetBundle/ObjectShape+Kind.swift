import WidgetModel

/// The objects of a kind.
extension ObjectShape {
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
        "schedule", .shape("schedule"), "Entries of a timeline, which the daemon computes."
      ),
      Key(
        "sample", .map(.constant),
        "Example data, which `widgetctl gallery` and `widgetctl placeholder` show. Other fields "
          + "have their default."),
      Key(
        "recommendations", .map(.shape("recommendation")),
        "Named sets of parameters to choose from."),
      Key(
        "refreshesPerHour", .int,
        "Maximum number of `widgetctl refresh` calls for the kind in an hour. Default: "
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
    "A parameter, a data key, or a detail of an event. In an object of fields, you can write only "
      + "the default. The field then has the type of the default.",
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
      Key("choices", .list(.constant), "Allowed values. Default: all values of the type."),
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
        "offset", .shift,
        "For `every`: shift of all entries, such as `6h`, or `-6h` for earlier entries. At most "
          + "one period. Default: 0."),
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
    "reducer", "The effect of an event on the data, in one commit with the event.",
    [
      Key("event", .text, "Name of the event.", isRequired: true),
      Key("nodeId", .text, "Node of the event. Default: any node."),
      Key("condition", .expression, "Condition for the effect. Default: true."),
      Key("set", .map(.expression), "Data keys and the expressions for their new values."),
      Key(
        "unset", .oneOrMore(.text),
        "Data keys to set to their default. A key without a default is removed."),
    ])

  public static let node = ObjectShape(
    "node",
    "A part of a widget's content. The type is a key (`label: TEXT`), or the value of `type`. "
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
        "Steps for the node's events, by the name of the event."),
    ]
      + NodeType.allCases.map { type in
        Key(type.name, mainType(type), type.summary)
      } + propertyKeys)

  public static let binding = ObjectShape(
    "binding",
    "A property's value with several keys. If the value is null, the placeholder is used.",
    [
      Key(
        "value", .template,
        "The value, as a template. To write only an expression, use `from` instead."),
      Key("from", .expression, "The value, as an expression."),
      Key(
        "if", .expression,
        "Condition that chooses `then` or `else`. It reads `value`. Without `then` and `else`, the "
          + "result is true or false."),
      Key(
        "then", .template,
        "Result if the condition is true, or if there is no `if`. It can read `value`."),
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

  public static let on = ObjectShape(
    "on",
    "Steps for events, intervals and new widgets. Any other key is the name of an event, from "
      + "any node or from no node.",
    [
      Key("load", .steps, "Steps when the widget is created or the bundle is loaded."),
      Key("every", .oneOrMore(.shape("every")), "Steps at intervals."),
    ], others: .any([.shape("handler"), .steps]))
}
