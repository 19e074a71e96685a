import WidgetClient
import WidgetModel

/// The widgets that fail now, and the number of stale ones.
struct FailingWidgets: Hashable {
  struct Entry: Hashable {
    var id: WidgetID
    /// At least one.
    var failures: [WidgetFailure]
  }

  /// The number of widgets that `status` names.
  static let shown = 3

  /// In display order.
  private(set) var widgets: [Entry]
  private(set) var staleCount: Int
  /// Whether there may be more widgets.
  var isCut: Bool

  var count: Int { widgets.count }

  init(_ widgets: [Widget] = [], isCut: Bool = false) {
    self.widgets = widgets.sorted { $0.position < $1.position }
      .map { Entry(id: $0.id, failures: $0.failures) }.filter { !$0.failures.isEmpty }
    staleCount = widgets.count(where: \.isStale)
    self.isCut = isCut
  }

  /// The number of pages that `ask` reads. A page can have few widgets, because the daemon limits the cost of a
  /// page.
  private static let pagesMax = 50

  /// Asks the daemon. Nil if it does not answer.
  static func ask(_ global: GlobalOptions) async -> FailingWidgets? {
    guard let session = try? global.session(),
      let mask = try? ReadMask(paths: ["position", "stale"] + Widget.failurePaths)
    else { return nil }
    var request = ListWidgetsRequest(pageSize: 1000, readMask: mask)
    var found: [Widget] = []
    for _ in 0..<pagesMax {
      let answer = try? await session.client.listWidgets(
        request, options: CallOptions(timeout: global.limit ?? Facts.callTimeout))
      guard let answer else { return nil }
      found += answer.widgets.map(\.widget).filter { $0.hasFailed || $0.isStale }
      request.pageToken = answer.nextPageToken
      if request.pageToken.isEmpty || found.count >= 1000 { break }
    }
    return FailingWidgets(found, isCut: !request.pageToken.isEmpty)
  }

  /// The number of widgets for each type of failure: `2 errors, 1 timeline`. A widget can have
  /// several types.
  var words: String {
    ways.filter { $0.count > 0 }.map { "\($0.count) \($0.count == 1 ? $0.one : $0.many)" }
      .joined(separator: ", ")
  }

  private var ways: [(one: String, many: String, count: Int)] {
    func count(_ isOne: (WidgetFailure) -> Bool) -> Int {
      widgets.count { $0.failures.contains(where: isOne) }
    }
    return [
      ("error", "errors", count { if case .error = $0 { true } else { false } }),
      ("timeline", "timelines", count { if case .timeline = $0 { true } else { false } }),
      ("activity", "activities", count { if case .activity = $0 { true } else { false } }),
      ("content", "contents", count { if case .content = $0 { true } else { false } }),
    ]
  }

  /// The count of each type of failure, and the widgets that `status` names.
  var document: Value {
    var map: ValueMap = [
      "count": .int(Int64(count)), "complete": .bool(!isCut), "stale": .int(Int64(staleCount)),
      "widgets": .list(
        widgets.prefix(FailingWidgets.shown).map { entry in
          .map([
            "id": .string(entry.id.rawValue),
            "failures": .list(entry.failures.map(\.document)),
          ])
        }),
    ]
    for way in ways { map[way.many] = .int(Int64(way.count)) }
    return .map(map)
  }
}

extension WidgetFailure {
  /// `{type, reason, message}` or `{type, node, message}`.
  var document: Value {
    switch self {
    case .error(let error):
      .map([
        "type": .string("error"), "reason": .string(error.reason),
        "message": .string(error.message),
      ])
    case .timeline(let problem):
      .map(["type": .string("timeline"), "message": .string(problem)])
    case .activity(let status):
      .map(["type": .string("activity"), "message": .string(status)])
    case .content(let node, let problem):
      .map(["type": .string("content"), "node": .string(node), "message": .string(problem)])
    }
  }
}
