import WidgetModel

// Actions and their steps.
extension ObjectShape {
  private static let actionKeys: [Key] = [
    Key(
      "require", .oneOrMore(.shape("require")),
      "Conditions. If one is false, the action is refused."),
    Key("if", .expression, "Condition for the steps."),
    Key("else", .steps, "Steps if the condition is false."),
    Key(
      "delay", .duration,
      "Delay before the steps. If the action is triggered again meanwhile, the delay "
        + "restarts."),
    Key(
      "optimistic", .map(.expression),
      "Data that is set before the steps, and reverted if they fail or the host is "
        + "killed."),
    Key("do", .steps, "Steps, in order. The first failure ends the action.", isRequired: true),
    Key("then", .steps, "Steps after success. `result` is the result of the last step."),
    Key("catch", .steps, "Steps after a failure. `error` has `code`, `title` and `message`."),
    Key("title", .textTemplate, "Title of a failure, for people."),
    Key("message", .textTemplate, "Message after success."),
  ]

  public static let action = ObjectShape(
    "action", "An action. If it has a name, its state is `status.NAME`.",
    actionKeys)

  public static let handler = ObjectShape(
    "handler", "The steps for an event: an action with two more keys.",
    [
      Key(
        "throttle", .duration,
        "Debounce: the steps run when no event has come for this time, and only for the last "
          + "event."),
      Key(
        "minLength", .int,
        "Minimum length of the payload's `value`. Shorter values are ignored, except the empty "
          + "value."),
    ] + actionKeys)

  public static let require = ObjectShape(
    "require", "A condition. If it is false, the action is refused.",
    [
      Key("if", .expression, "Must be true.", isRequired: true),
      Key("code", .text, "Name of a gRPC code. Default: `PERMISSION_DENIED`."),
      Key("message", .textTemplate, "Message for people."),
    ])

  public static let step = ObjectShape(
    "step",
    "A step. If a step is only the name of an action, the host runs this action. If it is only "
      + "the name of a source, the host reads this source again. An object with `do` is an action "
      + "without a name.",
    [
      Key(
        "set", .map(.expression),
        "Data keys and expressions. Also allowed beside `http`, `command`, `dbus` and `socket`."),
      Key(
        "unset", .oneOrMore(.text),
        "Data keys to set to their default. A key without a default is removed."),
      Key("http", .any([.textTemplate, .shape("http")]), "A request, or only a URL."),
      Key("command", .list(.textTemplate), "A program and its arguments."),
      Key("dbus", .shape("dbus"), "A call of a method of a service on D-Bus."),
      Key("socket", .shape("socket"), "A command to send to i3 or sway over its socket."),
      Key("input", .textTemplate, "Of a command: its standard input."),
      Key(
        "timeout", .duration,
        "Of a command: time limit, after which the program is killed. Default: 30 s."),
      Key(
        "parse", .any([.words(Parse.Format.allCases.map(\.rawValue)), .shape("parse")]),
        "How to parse bytes into `result`."),
      Key("stub", .template, "Value of `result` if the host runs with `--stub`."),
      Key("debugDelay", .duration, "With `--stub`: duration of the step."),
      Key("show", .oneOrMore(.textTemplate), "Shows widgets, by id; `self` is the widget itself."),
      Key("hide", .oneOrMore(.textTemplate), "Hides widgets."),
      Key("enable", .oneOrMore(.textTemplate), "Enables widgets."),
      Key("disable", .oneOrMore(.textTemplate), "Disables widgets."),
      Key("toggle", .oneOrMore(.textTemplate), "Shows hidden widgets, and hides shown ones."),
      Key("reload", .oneOrMore(.text), "Reads sources again, by name; `all` for all of them."),
      Key("emit", .text, "Sends an event with this name."),
      Key("widget", .textTemplate, "Of `emit`: receiving widget. Default: the widget itself."),
      Key("payload", .map(.template), "Of `emit`: details of the event."),
      Key("run", .text, "Runs the action with this name. This action reads the same event."),
      Key("cancel", .text, "Cancels the running action with this name."),
    ])
}
