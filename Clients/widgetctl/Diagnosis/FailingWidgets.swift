import WidgetClient
import WidgetModel
import WidgetTimers

/// The widgets that fail now, the number of stale ones, and what else does not fit: widgets of
/// unregistered kinds, and values that are set aside.
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
  /// The number of widgets whose kinds are not registered, and these kinds by name.
  private(set) var unregisteredCount: Int
  private(set) var unregisteredKinds: [String]
  /// The widgets with values that are set aside, and the number of these values.
  private(set) var asideIDs: [WidgetID] = []
  private(set) var asideCount = 0
  /// Whether there may be more widgets.
  var isCut: Bool

  var count: Int { widgets.count }

  init(_ widgets: [Widget] = [], isCut: Bool = false) {
    self.widgets = widgets.sorted { $0.position < $1.position }
      .map { Entry(id: $0.id, failures: $0.failures) }.filter { !$0.failures.isEmpty }
    staleCount = widgets.count(where: \.isStale)
    let unregistered = widgets.filter(\.isOfUnknownKind)
    unregisteredCount = unregistered.count
    unregisteredKinds = Set(unregistered.map(\.kind.rawValue)).sorted()
    self.isCut = isCut
  }

  init(_ tagged: [TaggedWidget], isCut: Bool) {
    self.init(tagged.map(\.widget), isCut: isCut)
    let asides = tagged.map { ($0.widget, $0.owners.count(where: \.isAside)) }
      .filter { $0.1 > 0 }.sorted { $0.0.position < $1.0.position }
    asideIDs = asides.map(\.0.id)
    asideCount = asides.reduce(0) { $0 + $1.1 }
  }

  /// The number of pages that `ask` reads. A page can have few widgets, because the daemon limits the cost of a
  /// page.
  private static let pagesMax = 50

  /// Asks the daemon. Nil if it does not answer.
  static func ask(_ global: GlobalOptions) async -> FailingWidgets? {
    guard let session = try? global.session(),
      let mask = try? ReadMask(
        paths: ["position", "stale", "owners", "kind", "apply_set"] + Widget.failurePaths)
    else { return nil }
    var request = ListWidgetsRequest(pageSize: 1000, readMask: mask)
    var found: [TaggedWidget] = []
    for _ in 0..<pagesMax {
      let answer = try? await session.client.listWidgets(
        request, options: CallOptions(timeout: global.limit ?? Facts.callTimeout))
      guard let answer else { return nil }
      found += answer.widgets.filter {
        $0.widget.hasFailed || $0.widget.isStale || $0.widget.isOfUnknownKind
          || $0.owners.contains(where: \.isAside)
      }
      request.pageToken = answer.nextPageToken
      if request.pageToken.isEmpty || found.count >= 1000 { break }
    }
    let now = Timestamp.wallClock()
    let promising = found.map(\.widget).filter(\.hasPromise)
    var facts = ProviderFacts()
    if !promising.isEmpty { await facts.look(for: promising, session) }
    return FailingWidgets(
      FailingWidgets.keepingPromises(found, at: now, facts), isCut: !request.pageToken.isEmpty)
  }

  /// The widgets, with a reason in the place of each promised time that does not count, as in `view`.
  static func keepingPromises(
    _ tagged: [TaggedWidget], at now: Timestamp, _ facts: ProviderFacts
  ) -> [TaggedWidget] {
    tagged.map { one in
      var one = one
      one.widget = one.widget.keepingPromises(at: now, facts.staleness(of: one.widget))
      return one
    }
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

  /// The lines of `status` about widgets that do not fail: stale ones, those of unregistered kinds,
  /// and those with values that are set aside.
  var notices: [(name: String, text: String)] {
    var lines: [(name: String, text: String)] = []
    if staleCount > 0 {
      lines.append(("Stale", "\(amount(staleCount)); `widgetctl ls --where widget.stale`"))
    }
    if unregisteredCount > 0 {
      let kinds = FailingWidgets.list(unregisteredKinds)
      lines.append(
        (
          "Unknown",
          "\(amount(unregisteredCount)) of unregistered kinds: \(kinds); `widgetctl ls` marks them"
        ))
    }
    if asideCount > 0 {
      let values = asideCount == 1 ? "1 value" : "\(asideCount) values"
      let ids = FailingWidgets.list(asideIDs.map(\.rawValue))
      lines.append(
        (
          "Set aside",
          "\(values) of \(amount(asideIDs.count)): \(ids); `widgetctl get ID` shows them"
        ))
    }
    return lines
  }

  /// `1 widget`, `at least 3 widgets`.
  func amount(_ count: Int) -> String {
    (isCut ? "at least " : "") + "\(count) \(count == 1 ? "widget" : "widgets")"
  }

  private static func list(_ names: [String]) -> String {
    names.prefix(shown).joined(separator: ", ") + (names.count > shown ? ", …" : "")
  }

  /// The count of each way, and the widgets that `status` names.
  var document: Value {
    var map: ValueMap = [
      "count": .int(Int64(count)), "complete": .bool(!isCut), "stale": .int(Int64(staleCount)),
      "unregistered": .int(Int64(unregisteredCount)), "setAside": .int(Int64(asideCount)),
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
  /// `{type, reason, message, since}` or `{type, node, message, since}`.
  var document: Value {
    var map: ValueMap =
      switch self {
      case .error(let error):
        [
          "type": .string("error"), "reason": .string(error.reason),
          "message": .string(error.message),
        ]
      case .timeline(let problem, _):
        ["type": .string("timeline"), "message": .string(problem)]
      case .activity(let status, _):
        ["type": .string("activity"), "message": .string(status)]
      case .content(let node, let problem, _):
        ["type": .string("content"), "node": .string(node), "message": .string(problem)]
      }
    if let since { map["since"] = .string(RFC3339.text(since)) }
    return .map(map)
  }
}
