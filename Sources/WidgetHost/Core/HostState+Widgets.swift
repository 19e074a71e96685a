import WidgetBundle
public import WidgetModel

// The widgets that show the state of bundles, and the names of the sets that declare them.
extension HostState {
  /// The set and provider of the host's kinds and widgets.
  public static let provider = "widgetd-host"

  /// The set and provider of a bundle's kinds and widgets.
  public static func provider(of id: String) -> String { "bundle/\(id)" }

  /// The data of a widget `bundle/ID` for the next host; see `SettableData`.
  static let settableKey = "settable"
  /// The same data of kinds that former versions had.
  static let droppedKey = "dropped"
  /// The data of a widget `bundle/ID` for the next host; see `FormerLosses`.
  static let lossesKey = "losses"
  /// The data of a widget `bundle/ID` for the next host; see `RemovalMark`.
  static let marksKey = "marks"

  static func value(of marks: Set<String>) -> Value { .list(marks.sorted().map { .string($0) }) }

  /// The kind of the widgets that show the state of bundles.
  public static var kind: Kind? {
    KindName("bundle").map { name in
      Kind(
        name: name, displayName: "Bundle", summary: "The state of a bundle that widgetd-host runs.",
        data: [
          Field(name: "id", type: .string, defaultValue: .string(""), summary: "The bundle's id."),
          Field(
            name: "name", type: .string, defaultValue: .string(""), summary: "Its name for people."),
          Field(
            name: "version", type: .string, defaultValue: .string(""),
            summary: "The version that runs."),
          Field(
            name: "state", type: .string, defaultValue: .string(""),
            summary:
              "running; failing, if a source, an action or the timeline of its widgets has failed;"
              + " failed, if its file has a mistake or is missing, or the daemon refuses the bundle"
              + " (the previous version can still run); stopped, if the host has ended, has"
              + " another folder, or removes the bundle."),
          Field(
            name: "problem", type: .string, defaultValue: .string(""),
            summary: "The mistake or failure, with its place; empty if there is none."),
          Field(name: "path", type: .string, defaultValue: .string(""), summary: "Its folder."),
          Field(
            name: "heir", type: .string, defaultValue: .string(""),
            summary: "The bundle that takes over its kinds and widgets, because the id in its file"
              + " has changed; empty if there is none."),
          Field(
            name: "loaded", type: .timestamp, defaultValue: .null,
            summary: "When the version that runs, or ran last, was loaded; null if none has run."),
          Field(
            name: "widgets", type: .int, defaultValue: .int(0),
            summary: "The number of its own widgets."),
          Field(
            name: "failures", type: .list(.map(.any)), defaultValue: .list([]),
            summary: "The failures of its widgets: widget, title, message, code, since."),
          Field(
            name: "others", type: .int, defaultValue: .int(0),
            summary: "The number of widgets of its kinds that are not its own."),
          Field(
            name: "othersFirst", type: .list(.string), defaultValue: .list([]),
            summary: "The ids of the first of these, each with its bundle or set."),
          Field(
            name: "runs", type: .bool, defaultValue: .bool(false),
            summary: "Whether a version runs. In the state failed, it is the previous one."),
          Field(
            name: "handled", type: .map(.list(.string)), defaultValue: .map([:]),
            summary: "The events that its kinds handle, by kind; without events of nodes, and"
              + " without events that the daemon handles with reducers."),
          Field(
            name: settableKey, type: .map(.map(.any)), defaultValue: .map([:]),
            summary: "The data of its kinds that no source sets, by kind, each with its default."
              + " The next host compares its file with this."),
          Field(
            name: droppedKey, type: .map(.map(.any)), defaultValue: .map([:]),
            summary: "The same data of kinds that its former versions had. If a bundle has such a"
              + " kind again, the host compares its defaults with this."),
          Field(
            name: marksKey, type: .list(.string), defaultValue: .null,
            summary: "The ids of former removals whose files a host saw beside the file of the"
              + " bundle, and of those that it carried out. For the next host, these files do not"
              + " mean that the bundle is removed. Null if no host has noted them."),
          Field(
            name: "remarks", type: .list(.string), defaultValue: .list([]),
            summary: "Widgets that wait for their removal, edits of its file without effect, values"
              + " that are gone with removed widgets, dropped events, sources that notice changes"
              + " late, settings that are not in force, and possible mistakes in its file, with line"
              + " and column: at most 20 of each, and the number of earlier values that are gone."),
          Field(
            name: lossesKey, type: .map(.any), defaultValue: .map([:]),
            summary: "The newest remarks about values that are gone with removed widgets (lines),"
              + " the number of earlier ones (earlier), the numbers of dropped events (drops) with their"
              + " epoch (epoch), and the digest of the file (file). The next host shows them until"
              + " the file changes."),
          Field(
            name: "droppedEvents", type: .list(.map(.any)), defaultValue: .list([]),
            summary: "The numbers of events that the bundle did not get: first, last."),
        ],
        events: [
          EventType(
            name: "trace",
            summary: "Asks the host to trace the bundle with `traced` events; for owners.",
            payload: [
              Field(
                name: "lease", type: .duration, defaultValue: .duration(.seconds(10)),
                summary: "How long, at most a minute. To continue, send the event again.")
            ]),
          EventType(
            name: "traced", summary: "What the bundle did; sent only while a client asks.",
            payload: [
              Field(
                name: "lines", type: .list(.map(.any)), defaultValue: .list([]),
                summary: "Each with time, widget, subject, name and text."),
              Field(
                name: "dropped", type: .int, defaultValue: .int(0),
                summary: "How many lines were left out, because there were too many."),
            ]),
        ], content: [ContentTemplate(root: content)],
        hasLosableEvents: true,
        sample: [
          "name": .string("Clock"), "version": .string("1.0.0"), "state": .string("running"),
          "widgets": .int(1),
        ])
    }
  }

  /// `Desk 1.2.0`, `running, 3 widgets`, and below it the problem.
  private static var content: NodeTemplate {
    NodeTemplate(
      id: "bundle", type: .stack,
      children: [
        NodeTemplate(
          id: "name", type: .label,
          properties: [
            "text": Binding(
              "(data.name == '' ? data.id : data.name)"
                + " + (data.version == '' ? '' : ' ' + data.version)"),
            "font": Binding(value: .string("headline")), "tooltip": Binding("data.path"),
          ]),
        NodeTemplate(
          id: "state", type: .label,
          properties: [
            "text": Binding(
              "data.state"
                + " + (data.state == 'failed' && data.runs ? ', the previous version runs' : '')"
                + " + ', ' + string(data.widgets) + (data.widgets == 1 ? ' widget' : ' widgets')")
          ]),
        NodeTemplate(
          id: "others", type: .label,
          properties: [
            "text": Binding(
              "string(data.others) + (data.others == 1 ? ' widget' : ' widgets') "
                + "+ ' of others with its kinds: ' + "
                + "data.othersFirst.join(', ') "
                + "+ (data.others > size(data.othersFirst) ? ', …' : '')")
          ], condition: "data.others > 0"),
        NodeTemplate(
          id: "problem", type: .label, properties: ["text": Binding("data.problem")],
          condition: "data.problem != ''"),
        NodeTemplate(
          id: "remarks", type: .label,
          properties: ["text": Binding("data.remarks.map(line, 'note: ' + line).join('\\n')")],
          condition: "data.remarks != []"),
      ])
  }

  /// The number of a bundle's own widgets. Its instance knows only widgets of the bundle's kinds.
  func widgetCount(of current: RunningBundle) -> Int {
    let (instance, bundle) = (current.instance, current.instance.bundle)
    guard running.wasTaken(bundle.id) else { return instance.widgetCount }
    // Without its kinds, a bundle knows no widgets. They stay.
    guard current.refusal == nil else {
      return instance.widgets.count == 0 ? bundle.widgets.count : instance.widgetCount
    }
    return instance.widgetCount + bundle.widgets.count { instance.kinds[$0.kind] == nil }
  }

  /// All characters of both names are allowed in ids, so the id is never nil.
  static func spec(_ standing: Standing) -> WidgetSpec? {
    guard let id = WidgetID("bundle/\(standing.id)"), let kind = KindName("bundle") else {
      return nil
    }
    return WidgetSpec(
      id: id, kind: kind, family: .small,
      data: [
        "id": .string(standing.copyOf ?? standing.id), "name": .string(standing.name),
        "version": .string(standing.version), "state": .string(standing.state.rawValue),
        "problem": .string(standing.problem), "path": .string(standing.path), "heir": .string(""),
        "loaded": standing.loaded.map { .timestamp($0) } ?? .null,
        "widgets": .int(Int64(standing.widgetCount)),
        "failures": .list(standing.failures.map(\.value)),
        "runs": .bool(standing.runs), "others": .int(Int64(standing.otherCount)),
        "othersFirst": .list(standing.others.map { .string($0) }),
        "handled": .map(
          ValueMap(
            standing.handled.map { kind, names in
              ValueMap.Entry(key: kind.rawValue, value: .list(names.map { .string($0) }))
            })),
        settableKey: standing.settable.value, droppedKey: standing.dropped.value,
        lossesKey: standing.losses?.value ?? .map([:]),
        marksKey: standing.marks.map { value(of: $0) } ?? .null,
        "remarks": .list(standing.remarks.map { .string($0) }),
        "droppedEvents": .list(standing.drops.map { FormerLosses.value(of: $0) }),
      ])
  }
}

extension BundleFailure {
  /// `widget note: Feed failed: no answer`
  fileprivate var words: String {
    "widget \(widgetID): " + [title, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }

  /// The same, with the time.
  var line: String {
    "\(words.split(whereSeparator: \.isNewline).joined(separator: " ")) (since \(RFC3339.text(since.wholeSeconds)))"
  }

  fileprivate var value: Value {
    .map([
      "widget": .string(widgetID.rawValue), "title": .string(title), "message": .string(message),
      "code": .string(code), "since": .timestamp(since),
    ])
  }
}
