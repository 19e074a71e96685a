import WidgetBundle
public import WidgetModel

/// The widget of the host: whether it runs, and which folders of bundles it runs. It is stale while
/// the host is away, like every widget of a provider.
public enum HostWidget {
  /// Both the id of the widget and the name of its kind.
  public static let name = "widgetd-host"

  /// The data with the marks of removed bundles, for the next host; see `KnownMarks`.
  private static let marksKey = "marks"

  public static var kind: Kind? {
    KindName(name).map { name in
      Kind(
        name: name, displayName: "Bundles", summary: "The program that runs bundles.",
        data: [
          Field(
            name: "state", type: .string, defaultValue: .string(""),
            summary: "running; stopped, if the host has ended."),
          Field(
            name: "folders", type: .list(.string), defaultValue: .list([]),
            summary: "The folders of bundles that it runs."),
          Field(
            name: "bundles", type: .int, defaultValue: .int(0),
            summary: "How many bundles there are."),
          Field(
            name: "failed", type: .int, defaultValue: .int(0),
            summary: "How many of them cannot be run."),
          Field(
            name: "stub", type: .bool, defaultValue: .bool(false),
            summary: "Whether sources and actions give their stub values (--stub)."),
          Field(
            name: "problem", type: .string, defaultValue: .string(""),
            summary: "The folders that cannot be read or watched, each with the reason and the"
              + " time."),
          Field(
            name: marksKey, type: .list(.string), defaultValue: .list([]),
            summary: "The ids of the last removals of bundles. For the next host, copies of their"
              + " files do not mean that a bundle is removed again."),
        ], content: [ContentTemplate(root: content)],
        sample: [
          "state": .string("running"), "folders": .list([.string("/home/ann/widgets")]),
          "bundles": .int(3),
        ])
    }
  }

  /// `widgetd-host running: 7 bundles, 1 failed`, and the folders below.
  private static var content: NodeTemplate {
    NodeTemplate(
      id: "host", type: .stack,
      children: [
        NodeTemplate(
          id: "state", type: .label,
          properties: [
            "text": Binding(
              "'widgetd-host ' + data.state + (data.stub ? ' with --stub: ' : ': ') + string(data.bundles)"
                + " + (data.bundles == 1 ? ' bundle' : ' bundles')"
                + " + (data.failed == 0 ? '' : ', ' + string(data.failed) + ' failed')"),
            "font": Binding(value: .string("headline")),
          ]),
        NodeTemplate(
          id: "folders", type: .label,
          properties: ["text": Binding("data.folders.join('\\n')")],
          condition: "data.folders != []"),
        NodeTemplate(
          id: "problem", type: .label, properties: ["text": Binding("data.problem")],
          condition: "data.problem != ''"),
      ])
  }

  /// All characters of the name are allowed in ids, so the id is never nil.
  static func spec(
    folders: [String], standings: [HostState.Standing], isStopped: Bool, isStub: Bool = false,
    problem: String = "", marks: [String] = []
  ) -> WidgetSpec? {
    guard let id = WidgetID(name), let kind = KindName(name) else { return nil }
    return WidgetSpec(
      id: id, kind: kind, family: .small,
      data: [
        "state": .string(isStopped ? "stopped" : "running"),
        "folders": .list(folders.map { .string($0) }),
        "bundles": .int(Int64(standings.count)),
        "failed": .int(Int64(standings.count { $0.state == .failed })), "stub": .bool(isStub),
        "problem": .string(problem), marksKey: .list(marks.map { .string($0) }),
      ])
  }

  /// The marks of removed bundles in the data of the widget, as the last host has left it.
  static func marks(in data: ValueMap) -> [String] {
    guard case .list(let marks)? = data[marksKey] else { return [] }
    return marks.compactMap { if case .string(let mark) = $0 { mark } else { nil } }
  }
}
