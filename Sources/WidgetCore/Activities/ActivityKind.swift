import WidgetModel

/// The kind of activities without another kind: a title, the current step, the progress, and the
/// result. It is built in, so `widgetctl activity` works without a registered kind.
enum ActivityKind {
  static let schema = KindSchema(
    Kind(
      name: .activity, displayName: "Activity",
      summary: "Shows a task while it lasts: its progress, and how it ended.",
      parameters: [
        Field(
          name: "title", type: .string, defaultValue: .string("Activity"),
          summary: "Name of the task.")
      ],
      // The fields have no defaults, because the state has only the values that the task sets.
      data: [
        Field(name: "status", type: .string, summary: "Present step, in a few words."),
        Field(
          name: "progress", type: .double,
          summary: "Finished part, from 0 to 1. Without it, the widget shows that work goes on."),
        Field(
          name: "outcome", type: .string, summary: "How it ended.",
          choices: ["succeeded", "failed", "stopped"].map { .string($0) }),
      ], content: content,
      sample: ["status": .string("Copying files"), "progress": .double(0.6)]))

  static let content: [ContentTemplate] = [
    ContentTemplate(
      families: [.inline],
      root: label(
        "line",
        "\(title) + (\(hasProgress) ? ' ' + \(percent) : '') + (\(words) == '' ? '' : "
          + "': ' + \(words)) + (\(hasDuration) ? ', ' + \(duration) : '')", color: color)),
    ContentTemplate(
      families: [.circular],
      root: NodeTemplate(
        id: "activity", type: .stack,
        children: [
          NodeTemplate(
            id: "gauge", type: .gauge,
            properties: [
              "value": Binding("data.progress"), "text": Binding(title),
              "style": Binding(value: .string("ring")),
            ], condition: hasProgress),
          label("mark", "\(mark) + ' ' + \(title)", when: "!(\(hasProgress))", color: color),
        ])),
    ContentTemplate(
      root: NodeTemplate(
        id: "activity", type: .stack,
        children: [
          label("title", title, font: "headline"),
          NodeTemplate(
            id: "progress", type: .gauge,
            properties: ["value": Binding("data.progress")], condition: hasProgress),
          NodeTemplate(
            id: "working", type: .spinner,
            properties: ["text": Binding("data.status", placeholder: .string("Working"))],
            condition: "\(isActive) && !(\(hasProgress))"),
          label(
            "status", words, when: "\(words) != '' && (!\(isActive) || \(hasProgress))",
            color: color),
          NodeTemplate(
            id: "elapsed", type: .date,
            properties: [
              "date": Binding("widget.activity.started"), "style": Binding(value: .string("timer")),
              "font": Binding(value: .string("caption")),
            ], condition: "\(isThere) && \(isActive)"),
          label("duration", duration, font: "caption", when: hasDuration),
        ])),
  ]

  /// Samples, and widgets of this kind that are not activities, have no times.
  private static let isThere = "has(widget.activity)"
  private static let isActive = "(!\(isThere) || widget.activity.state == 'active')"
  private static let title = "parameters.title"
  private static let hasOutcome = "(has(data.outcome) && data.outcome != null)"
  private static let hasProgress =
    "(\(isActive) && has(data.progress) && data.progress != null)"
  private static let percent =
    "'%d%%'.format([int(math.round(math.greatest(0.0, math.least(1.0, data.progress)) * 100.0))])"
  private static let hasDuration = "(\(isThere) && has(widget.activity.ended))"
  private static let duration = "formatDuration(widget.activity.ended - widget.activity.started)"
  private static let hasStatus = "(has(data.status) && data.status != null && data.status != '')"
  /// The current step; after the end, the result.
  private static let words =
    "(\(isActive) ? (\(hasStatus) ? data.status : '') : "
    + "(\(hasOutcome) ? data.outcome : \(state)) + (\(hasStatus) ? ': ' + data.status : ''))"
  private static let state = "(\(isThere) ? widget.activity.state : '')"
  private static let mark =
    "(\(isActive) ? '…' : \(hasOutcome) && data.outcome != 'succeeded' ? '✗' : '✓')"
  private static let color =
    "\(isActive) || !\(hasOutcome) ? 'color.text' : data.outcome == 'succeeded' ? 'color.success' : "
    + "'color.error'"

  private static func label(
    _ id: String, _ expression: String, font: String = "body", when condition: String = "",
    color: String = ""
  ) -> NodeTemplate {
    var properties = [
      "text": Binding(expression), "font": Binding(value: .string(font)),
    ]
    if !color.isEmpty { properties["color"] = Binding(color) }
    return NodeTemplate(id: id, type: .label, properties: properties, condition: condition)
  }
}
