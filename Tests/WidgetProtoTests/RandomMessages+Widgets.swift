import SeededRandom
import WidgetModel

@testable import WidgetProto

/// Widgets, kinds, contents, and the other parts of messages.
extension RandomMessages {
  mutating func bareWidget() -> Widget {
    Widget(
      id: id(), kind: kind(), family: pick(Family.allCases), labels: labels(),
      presence: presence(), position: Int64(bitPattern: number()), isStale: flag(),
      error: maybe { $0.error() }, createdRevision: number(), revision: number(),
      createTime: time(), updateTime: time(), ownerUID: UInt32(truncatingIfNeeded: number()),
      applySet: pick(["", name()]), content: maybe { $0.content() })
  }

  mutating func widget() -> Widget {
    var widget = bareWidget()
    widget.parameters = map()
    widget.data = map()
    widget.timeline = maybe { $0.timelineStatus() }
    widget.activity = maybe { $0.activity() }
    return widget
  }

  mutating func spec() -> WidgetSpec {
    WidgetSpec(
      id: maybe { $0.id() }, kind: kind(), family: pick(Family.allCases + [nil]),
      labels: labels(), isVisible: maybe { $0.flag() }, isEnabled: maybe { $0.flag() },
      parameters: map(), data: map(), timeline: maybe { $0.timeline() })
  }

  mutating func registeredKind() -> RegisteredKind {
    var registered = RegisteredKind(
      kind: Kind(
        name: kind(), displayName: text(), summary: text(),
        families: many { $0.pick(Family.allCases) }, parameters: many { $0.field() },
        data: many { $0.field() }, isOpen: flag(), events: many { $0.eventType() },
        transition: maybe { $0.transition() }, reducers: many { $0.reducer() },
        content: many { $0.contentTemplate() },
        persistence: pick(Kind.Persistence.allCases), hasLosableEvents: flag(),
        entry: many { $0.field() }, schedule: maybe { $0.schedule() }, sample: map(),
        recommendations: many { $0.recommendation() }, refreshesPerHour: maybe { _ in 7 }),
      provider: text(), ownerUID: UInt32(truncatingIfNeeded: number()), revision: max(1, number()),
      updateTime: time(), isAttended: flag())
    registered.isProviderConnected = flag()
    registered.providerSilence = maybe { $0.silence() }
    registered.refreshBudget = maybe { $0.budget() }
    return registered
  }

  mutating func field() -> Field {
    Field(
      name: text(),
      type: pick([.any, .bool, .int, .list(.double), .map(.list(.any)), .timestamp, .duration]),
      defaultValue: maybe { $0.value() }, summary: text(), isRequired: flag(),
      choices: many { $0.value() })
  }

  mutating func dated() -> TimelineEntry {
    TimelineEntry(
      date: time(), values: map(), score: pick([0, 0.5, 1_000]),
      duration: maybe { $0.pick([.zero, .seconds(3), .milliseconds(1_500)]) })
  }

  mutating func timeline() -> Timeline {
    Timeline(
      entries: many { $0.dated() }, policy: pick(Timeline.Policy.allCases),
      refreshTime: maybe { $0.time() }, staleTime: maybe { $0.time() })
  }

  mutating func storedTimeline() -> Timeline {
    var stored = timeline()
    stored.setTime = time()
    stored.asides = many { $0.dated() }
    return stored
  }

  mutating func timelineStatus() -> TimelineStatus {
    TimelineStatus(
      current: maybe { $0.dated() }, nextTime: maybe { $0.time() },
      refreshTime: maybe { $0.time() }, staleTime: maybe { $0.time() }, problem: text(),
      problemSince: maybe { $0.time() })
  }

  mutating func schedule() -> EntrySchedule {
    EntrySchedule(
      every: maybe { $0.duration() }, offset: .seconds(5), cron: text(), zone: text(),
      entries: text())
  }

  mutating func recommendation() -> Recommendation {
    Recommendation(name: text(), displayName: text(), parameters: map())
  }

  mutating func budget() -> RefreshBudget {
    RefreshBudget(kind: kind(), remaining: 3, capacity: 9, nextTime: maybe { $0.time() })
  }

  mutating func preview() -> Preview {
    Preview(
      kind: kind(), family: pick(Family.allCases), parameters: map(), data: map(),
      content: maybe { $0.content() }, isSample: flag(), reason: text())
  }

  mutating func timelineMessages() -> [Sample] {
    let snapshot = SnapshotRequest(
      id: number(), kind: kind(), family: pick(Family.allCases), parameters: map(),
      isByOwner: flag(), uid: pick([0, 1, .max]))
    let answer = ProvideSnapshot(
      id: number(), snapshotRequestID: number(),
      outcome: flag() ? .data(SnapshotData(data: map(), entry: map())) : .error(error()))
    return [
      Sample(dated()), Sample(timeline()), Sample(timelineStatus()), Sample(schedule()),
      Sample(recommendation()), Sample(budget()), Sample(preview()), Sample(snapshot),
      Sample(answer), Sample(SnapshotData(data: map(), entry: map())),
      Sample(
        GetTimelineRequest(
          id: id(), limit: 12, startTime: maybe { $0.time() }, includeContent: flag(),
          contentFamily: maybe { $0.pick(Family.allCases) })),
      Sample(ShownEntry(entry: dated(), content: maybe { $0.content() })),
      Sample(upcoming()), Sample(upcomingEntries()),
      Sample(
        GetTimelineResponse(
          entries: many { ShownEntry(entry: $0.dated(), content: $0.content()) }, more: flag(),
          policy: maybe { $0.pick(Timeline.Policy.allCases) },
          status: maybe { $0.timelineStatus() }, scheduled: flag(), revision: number())),
      Sample(GetPlaceholderRequest(kind: kind(), family: maybe { $0.pick(Family.allCases) })),
      Sample(GetPlaceholderResponse(preview: preview())),
      Sample(
        GetSnapshotRequest(
          kind: kind(), family: maybe { $0.pick(Family.allCases) }, parameters: map())),
      Sample(GetSnapshotResponse(preview: preview())),
      Sample(SetTimeRequest(pick([nil, .time(time()), .advance(duration())]))),
      Sample(SetTimeResponse(time: time(), isFake: flag())),
    ]
  }

  mutating func activity() -> Activity {
    Activity(
      state: pick(Activity.State.allCases), startTime: time(), expireTime: time(),
      staleTime: maybe { $0.time() }, endTime: maybe { $0.time() },
      dismissTime: maybe { $0.time() })
  }

  mutating func statePatch() -> StatePatch {
    StatePatch(setData: map(), unsetData: many { $0.text() })
  }

  mutating func activityMessages() -> [Sample] {
    [
      Sample(activity()), Sample(statePatch()),
      Sample(
        StartActivityRequest(
          widget: spec(), lifetime: maybe { $0.duration() }, staleAfter: maybe { $0.duration() },
          requestID: text(), transition: maybe { $0.transition() })),
      Sample(
        StartActivityResponse(
          widget: widget(), etag: text(),
          warnings: many { RequestWarning(reason: $0.text(), message: $0.text()) })),
      Sample(
        UpdateActivityRequest(
          id: id(), patch: statePatch(), staleAfter: maybe { $0.duration() }, requestID: text(),
          transition: maybe { $0.transition() })),
      Sample(UpdateActivityResponse(widget: widget(), etag: text())),
      Sample(
        EndActivityRequest(
          id: id(), patch: statePatch(),
          dismissal: pick([.standard, .immediate, .after(duration())]), requestID: text(),
          transition: maybe { $0.transition() })),
      Sample(EndActivityResponse(widget: widget(), etag: text(), revision: number())),
      Sample(EndActivityResponse(revision: number())),
    ]
  }

  mutating func eventType() -> EventType {
    EventType(name: text(), summary: text(), payload: many { $0.field() })
  }

  mutating func reducer() -> Reducer {
    Reducer(
      event: text(), nodeID: text(), condition: text(),
      assignments: Dictionary(many { ($0.name(), $0.text()) }, uniquingKeysWith: { $1 }),
      unset: many { $0.text() })
  }

  mutating func contentTemplate() -> ContentTemplate {
    ContentTemplate(families: many { $0.pick(Family.allCases) }, root: nodeTemplate())
  }

  mutating func nodeTemplate(depth: Int = 0) -> NodeTemplate {
    NodeTemplate(
      id: text(), type: pick(NodeType.allCases),
      properties: Dictionary(
        many { ($0.name(), $0.binding()) }, uniquingKeysWith: { first, _ in first }),
      condition: text(), rows: maybe { $0.rows() },
      children: depth > 2 ? [] : many { $0.nodeTemplate(depth: depth + 1) },
      events: maybe { $0.many { $0.text() } })
  }

  mutating func binding() -> Binding {
    Binding(text(), placeholder: maybe { $0.value() })
  }

  mutating func themeState() -> ThemeState {
    ThemeState(
      values: themeValues(), overridden: many { $0.text() }, revision: number(), etag: text())
  }

  mutating func themeValues() -> [String: ThemeValue] {
    Dictionary(many { ($0.name(), $0.themeValue()) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func themeValue() -> ThemeValue {
    pick([.color(themeColors()), .offset(Double(number() % 1_000)), .font(themeFont())])
  }

  mutating func themeColors() -> ThemeColors {
    ThemeColors(light: themeColor(), dark: themeColor(), highContrast: themeColor())
  }

  mutating func themeColor() -> ThemeColor {
    let bits = number()
    return ThemeColor(
      red: UInt8(bits & 255), green: UInt8(bits >> 8 & 255), blue: UInt8(bits >> 16 & 255),
      alpha: pick([255, UInt8(bits >> 24 & 255)]))
  }

  mutating func themeFont() -> ThemeFont {
    ThemeFont(
      size: Double(number() % 400), weight: pick(ThemeFont.Weight.allCases), isItalic: flag(),
      isMonospaced: flag())
  }

  mutating func rows() -> RowTemplate {
    RowTemplate(list: text(), name: name(), key: text())
  }

  mutating func content() -> Content {
    pick([Content(rootID: text(), nodes: many { $0.node() }), Content(dataTable())])
  }

  mutating func dataTable() -> DataTable {
    DataTable(
      kind: kind(),
      rows: many { DataTable.Row(path: "/\($0.name())", key: $0.text(), value: $0.text()) },
      moreCount: pick([0, 0, 7]))
  }

  mutating func node() -> Node {
    Node(
      id: text(), type: pick(NodeType.allCases + [nil]), properties: map(),
      childIDs: many { $0.text() }, problem: text(), problemSince: maybe { $0.time() },
      events: many { $0.text() })
  }

  mutating func contentChange() -> ContentChange {
    ContentChange(
      replaces: flag(), rootID: text(), setNodes: many { $0.node() },
      removedIDs: many { $0.text() })
  }

  mutating func kindResult() -> KindResult {
    KindResult(
      name: kind(), action: pick(ApplyAction.allCases),
      widgetsChanged: Int(UInt32(truncatingIfNeeded: number())),
      lostFields: many { LostField(widgetID: $0.id(), path: $0.text(), isSetAside: $0.flag()) },
      lostFieldsCount: Int(UInt32(truncatingIfNeeded: number())))
  }

  mutating func patch() -> WidgetPatch {
    WidgetPatch(
      setData: map(), unsetData: many { $0.text() }, replaceData: flag(), setParameters: map(),
      unsetParameters: many { $0.text() }, setLabels: labels(), unsetLabels: many { $0.text() },
      isStale: maybe { $0.flag() }, error: maybe { $0.maybe { $0.error() } },
      releases: many { $0.text() }, timeline: maybe { $0.maybe { $0.timeline() } })
  }

  mutating func requirement() -> LabelRequirement {
    LabelRequirement(
      key: text(), operator: pick(LabelRequirement.Operator.allCases), values: many { $0.text() })
  }

  mutating func selector() -> Selector {
    Selector(
      ids: many { $0.id() }, kinds: many { $0.kind() },
      families: many { $0.pick(Family.allCases) }, labels: many { $0.requirement() })
  }

  mutating func mask() -> ReadMask {
    let choices = [[], ["id"], ["data", "family"], ["data.a.b", "parameters.x", "etag", "id"]]
    do { return try ReadMask(paths: pick(choices)) } catch {
      preconditionFailure("\(error.path) is not a path")
    }
  }

  mutating func event() -> Event {
    Event(
      sequence: number(), widgetID: id(), nodeID: text(), name: name(), payload: map(),
      time: time(), revision: number(),
      origin: EventOrigin(uid: 1000, pid: UInt32(truncatingIfNeeded: number()), client: text()),
      isForced: flag(), wantsOutcome: flag())
  }

  mutating func update() -> WidgetUpdate {
    var update = WidgetUpdate(
      id: id(), revision: number(),
      updateTime: Timestamp(nanosecondsSinceEpoch: Int64(bitPattern: number())))
    update.setData = map()
    update.unsetData = many { $0.text() }
    update.setParameters = map()
    update.unsetParameters = many { $0.text() }
    update.labels = maybe { $0.labels() }
    update.presence = maybe { $0.presence() }
    update.position = maybe { Int64(bitPattern: $0.number()) }
    update.isStale = maybe { $0.flag() }
    update.error = maybe { $0.maybe { $0.error() } }
    update.transition = maybe { $0.transition() }
    update.applySet = maybe { $0.pick(["", "x"]) }
    update.family = maybe { $0.pick(Family.allCases) }
    update.content = maybe { $0.contentChange() }
    update.timeline = maybe { $0.maybe { $0.timelineStatus() } }
    update.activity = maybe { $0.activity() }
    return update
  }

  mutating func changes() -> ChangeSet {
    ChangeSet(
      fromRevision: number(), toRevision: number(),
      changes: many {
        $0.pick([
          .added($0.widget(), $0.maybe { $0.transition() }), .updated($0.update()),
          .removed($0.id(), $0.maybe { $0.transition() }),
        ])
      }, more: flag(), resumeToken: bytes())
  }

  mutating func snapshot() -> SnapshotChunk {
    SnapshotChunk(widgets: many { $0.widget() }, removedIDs: many { $0.id() })
  }

  mutating func frame() -> WatchWidgetsResponse {
    pick([
      .opened(WatchOpened(subscriptionID: number(), epoch: number(), revision: number())),
      .snapshot(snapshot()), .synced(WatchSynced(revision: number())), .changes(changes()),
      .events(EventBatch(events: many { $0.event() })), .gap(EventGap(lastSequence: number())),
      .progress(WatchProgress(revision: number())), .upcoming(upcoming()), .unknown,
    ])
  }

  mutating func upcoming() -> WatchUpcoming {
    WatchUpcoming(widgets: many { $0.upcomingEntries() }, hasFakeClock: flag())
  }

  mutating func upcomingEntries() -> UpcomingEntries {
    UpcomingEntries(
      id: id(), entries: many { ShownEntry(entry: $0.dated(), content: $0.content()) }, more: flag()
    )
  }

  mutating func owner() -> FieldOwner {
    FieldOwner(
      path: text(), owner: text(), manager: text(), declared: maybe { $0.value() })
  }

  mutating func storedFailure() -> StoredFailure {
    StoredFailure(nodeID: text(), part: text(), since: time())
  }

  mutating func entry() -> StoredEntry {
    StoredEntry(key: text(), value: maybe { $0.value() }, revision: number())
  }

  mutating func handedStream() -> HandedStream {
    HandedStream(
      streamID: 5,
      request: pick([
        .widgets(WatchWidgetsRequest(includeEvents: true)),
        .events(WatchEventsRequest(names: [text()])), .health(HealthCheckRequest(service: text())),
        nil,
      ]), subscriptionID: number(), timeoutNanoseconds: 9, cursor: number(),
      eventCursor: number(),
      transfer: pick([nil, HandedTransfer(isSnapshot: false, startedRevision: 4)]),
      wantsProgress: true, lacksStore: true)
  }

  mutating func reflectionQuestion() -> ReflectionRequest {
    ReflectionRequest(
      host: text(),
      question: pick([
        .fileByName(text()), .fileContainingSymbol(text()), .allExtensionNumbers(ofType: text()),
        .listServices(text()), nil,
        .fileContainingExtension(ReflectionExtension(containingType: text(), number: -1)),
      ]))
  }

  mutating func silence() -> ProviderSilence {
    ProviderSilence(since: time(), pid: UInt32(truncatingIfNeeded: number()))
  }

  mutating func recentError() -> RecentError {
    RecentError(
      time: time(), code: pick(StatusCode.allCases), reason: text(), area: text(),
      message: text(), count: number(),
      peerUID: pick([nil, 0, UInt32(truncatingIfNeeded: number())]))
  }

  mutating func status() -> RPCStatus {
    RPCStatus(
      code: pick(StatusCode.allCases), message: text(),
      errorInfo: maybe { ErrorInfo(reason: $0.text(), metadata: [$0.name(): $0.text()]) },
      fieldViolations: many { FieldViolation(field: $0.text(), description: $0.text()) },
      retryDelay: maybe { $0.duration() })
  }
}
