import SeededRandom
import WidgetModel

@testable import WidgetProto

/// Makes messages of every type from a seed, with all that the domain allows.
struct RandomMessages {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// One message of every type.
  static func everyType(seed: UInt64) -> [Sample] {
    var make = RandomMessages(seed: seed)
    return make.everyType() + make.providerTypes()
  }

  private mutating func everyType() -> [Sample] {
    [
      Sample(value()), Sample(ListValue(values: many { $0.value() })), Sample(map()),
      Sample(TaggedWidget(widget: widget(), etag: text())), Sample(widget()), Sample(presence()),
      Sample(error()), Sample(transition()), Sample(labels()), Sample(selector()),
      Sample(requirement()), Sample(event()), Sample(event().origin),
      Sample(EventBatch(events: many { $0.event() })),
      Sample(EventGap(firstSequence: number(), lastSequence: number())), Sample(spec()),
      Sample(patch()),
      Sample(
        CreateWidgetRequest(
          widget: spec(), requestID: name(), transition: maybe { $0.transition() })
      ),
      Sample(CreateWidgetResponse(widget: widget(), etag: text(), warnings: warnings())),
      Sample(GetWidgetRequest(id: id(), readMask: mask(), isRedacted: flag())),
      Sample(GetWidgetResponse(widget: widget(), etag: text())),
      Sample(
        ListWidgetsRequest(
          selector: selector(), pageSize: Int32(truncatingIfNeeded: number()), pageToken: text(),
          readMask: mask(), isRedacted: flag())),
      Sample(
        ListWidgetsResponse(
          widgets: many { TaggedWidget(widget: $0.widget(), etag: $0.text()) },
          nextPageToken: text(), revision: number())),
      Sample(
        UpdateWidgetRequest(
          id: id(), patch: patch(), etag: text(), requestID: name(),
          transition: maybe { $0.transition() }, omitWidget: flag(), provider: name())),
      Sample(UpdateWidgetResponse(widget: widget(), etag: text(), revision: number())),
      Sample(UpdateWidgetResponse(revision: number(), changed: flag())),
      Sample(DeleteWidgetRequest(id: id(), etag: text(), allowMissing: flag(), requestID: name())),
      Sample(DeleteWidgetResponse(revision: number())),
      Sample(
        SetPresenceRequest(
          target: pick([.ids([id(), id()]), .selector(selector()), .all]),
          action: pick(PresenceAction.allCases), requestID: name())),
      Sample(SetPresenceResponse(changedIDs: many { $0.id() }, revision: number())),
      Sample(
        MoveWidgetRequest(
          id: id(), destination: pick([.first, .last, .before(id()), .after(id())]))),
      Sample(MoveWidgetResponse(widget: widget(), etag: text())),
      Sample(
        ApplyWidgetsRequest(
          applySet: name(),
          widgets: many {
            var spec = $0.spec()
            spec.id = $0.id()
            return spec
          }, prune: flag(), validateOnly: flag(), requestID: name())),
      Sample(
        ApplyResult(
          id: id(), action: pick(ApplyAction.allCases), changedFields: many { $0.text() },
          keptFields: many { $0.owner() })),
      Sample(
        ApplyWidgetsResponse(
          results: many { ApplyResult(id: $0.id(), action: .created) }, revision: number(),
          warnings: warnings())),
      Sample(RequestWarning(reason: text(), message: text(), metadata: ["kind": text()])),
      Sample(registeredKind()), Sample(field()), Sample(eventType()), Sample(reducer()),
      Sample(contentTemplate()), Sample(nodeTemplate()),
      Sample(ListedEvents(names: many { $0.text() })), Sample(binding()), Sample(rows()),
      Sample(content()), Sample(node()), Sample(contentChange()),
      Sample(
        ApplyKindsRequest(
          provider: name(), kinds: many { $0.registeredKind().kind }, prune: flag(),
          validateOnly: flag(), requestID: name())),
      Sample(kindResult()),
      Sample(LostField(widgetID: id(), path: text(), isSetAside: flag())),
      Sample(ApplyKindsResponse(results: many { $0.kindResult() }, revision: number())),
      Sample(GetKindRequest(name: kind())), Sample(GetKindResponse(kind: registeredKind())),
      Sample(
        ListKindsRequest(pageSize: Int32(truncatingIfNeeded: number()), pageToken: text())),
      Sample(
        ListKindsResponse(
          kinds: many { $0.registeredKind() }, nextPageToken: text(), revision: number())),
      Sample(DeleteKindRequest(name: kind(), allowMissing: flag(), requestID: name())),
      Sample(DeleteKindResponse(revision: number())),
      Sample(themeState()), Sample(themeValue()), Sample(themeColors()), Sample(themeFont()),
      Sample(GetThemeRequest()), Sample(GetThemeResponse(theme: themeState())),
      Sample(
        UpdateThemeRequest(
          set: themeValues(), unset: many { $0.text() }, replace: flag(), validateOnly: flag(),
          etag: text(), requestID: name())),
      Sample(
        UpdateThemeResponse(theme: themeState(), changed: flag(), revision: number())),
      Sample(
        UploadBlobRequest(
          blobID: text(), offset: number(), data: bytes(), name: text(), contentType: text())),
      Sample(UploadBlobResponse(blobID: text(), size: number(), idle: duration())),
      Sample(
        ReadBlobRequest(
          blobID: text(), offset: number(), sizeMax: UInt32(truncatingIfNeeded: number()),
          forUID: flag() ? UInt32(truncatingIfNeeded: number()) : nil)),
      Sample(
        ReadBlobResponse(data: bytes(), size: number(), name: text(), contentType: text())),
      Sample(DeleteBlobRequest(blobID: text())), Sample(DeleteBlobResponse()),
      Sample(
        SendEventRequest(
          widgetID: id(), nodeID: text(), name: name(), payload: map(), force: flag(),
          client: name(), requestID: name(), wantsOutcome: flag())),
      Sample(SendEventResponse(sequence: number(), revision: number())),
      Sample(
        WatchWidgetsRequest(
          selector: selector(), readMask: mask(), resumeToken: bytes(),
          minInterval: maybe { $0.duration() }, progressInterval: maybe { $0.duration() },
          includeEvents: flag(), afterSequence: maybe { $0.number() }, includeTheme: flag(),
          isPassive: flag(), upcomingEntries: 7, isRedacted: flag())),
      Sample(frame()), Sample(WatchOpened(subscriptionID: number(), epoch: number())),
      Sample(snapshot()), Sample(WatchSynced(revision: number(), resumeToken: bytes())),
      Sample(changes()), Sample(update()),
      Sample(
        WatchProgress(revision: number(), resumeToken: bytes(), lastSequence: number())),
      Sample(
        WatchEventsRequest(
          selector: selector(), names: many { $0.text() }, afterSequence: maybe { $0.number() })),
      Sample(
        pick([
          WatchEventsResponse.opened(WatchEventsOpened(subscriptionID: number())),
          .events(EventBatch(events: many { $0.event() })), .gap(EventGap(firstSequence: 1)),
          .unknown,
        ])),
      Sample(WatchEventsOpened(subscriptionID: number(), afterSequence: number())),
      Sample(UnsubscribeRequest(subscriptionID: number())), Sample(UnsubscribeResponse()),
      Sample(RequestProgressRequest(subscriptionID: number())), Sample(RequestProgressResponse()),
      Sample(GetStatsRequest()),
      Sample(
        GetStatsResponse(
          version: text(), startTime: time(), uptime: duration(), store: text(), epoch: number(),
          revision: number(), compactRevision: number(), widgets: number(), stateBytes: number(),
          lastSequence: number(), connections: number(), subscriptions: number(),
          counters: Dictionary(many { ($0.name(), $0.number()) }, uniquingKeysWith: { $1 }),
          limits: [name(): number()],
          pid: UInt32(truncatingIfNeeded: number()), recentErrors: many { $0.recentError() },
          usage: [name(): number()], memoryBytes: number(), providers: number())),
      Sample(recentError()),
      Sample(ReloadRequest()),
      Sample(ReloadResponse(applied: many { $0.text() }, needsRestart: many { $0.text() })),
      Sample(SetLogLevelRequest(level: pick(LogLevel.allCases))),
      Sample(SetLogLevelResponse(previous: pick(LogLevel.allCases + [nil]))),
      Sample(
        StoredWidget(
          widget: bareWidget(), data: many { $0.entry() }, parameters: many { $0.entry() },
          labelsRevision: number(), presenceRevision: number(), positionRevision: number(),
          statusRevision: number(), transition: maybe { $0.transition() },
          transitionRevision: number(), contentRevision: number(), contentIsCut: flag(),
          owners: maybe { $0.many { $0.owner() } }, dataKeysRevision: number(),
          timeline: maybe { $0.storedTimeline() })),
      Sample(owner()),
      Sample(entry()),
      Sample(
        StoredTombstone(
          id: id(), kind: kind(),
          createdRevision: number(), revision: number(), transition: maybe { $0.transition() })),
      Sample(status()), Sample(ErrorInfo(reason: text(), metadata: [name(): text()])),
      Sample(RetryInfo(retryDelay: duration())),
      Sample(BadRequest(fieldViolations: [FieldViolation(field: text(), description: text())])),
      Sample(FieldViolation(field: text(), description: text())),
      Sample(HealthCheckRequest(service: text())),
      Sample(HealthCheckResponse(status: pick(HealthCheckResponse.ServingStatus.allCases))),
      Sample(HealthListRequest()),
      Sample(
        Handover(
          epoch: number(), revision: number(), lastSubscriptionID: number(), connectionCount: 3,
          lastSequence: number())),
      Sample(
        HandedConnection(
          name: text(), lastStreamID: 7, received: [1, 2], discardBytes: 3, unsent: [4],
          streams: [handedStream(), handedStream()])),
      Sample(handedStream()), Sample(HandedTransfer(isSnapshot: true, startedRevision: number())),
      Sample(reflectionQuestion()),
      Sample(ReflectionExtension(containingType: text(), number: 7)),
      Sample(
        ReflectionResponse(
          question: reflectionQuestion(),
          answer: pick([
            .files([[1, 2], []]), .services([text(), text()]), .error(.notFound, text()),
            .extensionNumbers(ofType: text(), [1, 2]), .files([]),
          ]))),
      Sample(
        HealthListResponse(statuses: [
          name(): HealthCheckResponse(status: pick(HealthCheckResponse.ServingStatus.allCases)),
          "": HealthCheckResponse(status: .serving),
        ])),
      Sample(
        TTRPCRequest(
          service: text(), method: text(), payload: bytes(),
          timeoutNanoseconds: Int64(bitPattern: number()),
          metadata: many { MetadataEntry(key: $0.text(), value: $0.text()) })),
      Sample(TTRPCResponse(status: maybe { $0.status() }, payload: bytes())),
      Sample(MetadataEntry(key: text(), value: text())),
    ]
  }

  /// The messages of ProviderService, and of RefreshWidgets.
  private mutating func providerTypes() -> [Sample] {
    let open = ProvideOpen(
      provider: name(), lease: maybe { $0.duration() },
      acknowledgedSequence: maybe { $0.number() }, epoch: number(), takeOver: flag(),
      includeAudience: flag())
    let kinds = ProvideKinds(
      id: number(), kinds: many { $0.registeredKind().kind }, prune: flag())
    let update = ProvideUpdate(id: number(), updates: many { $0.providedUpdate() })
    let acknowledge = ProvideAcknowledge(
      id: number(), sequence: number(), error: maybe { $0.error() })
    let answer = ProvideAnswer(
      id: number(), dataRequestID: number(),
      outcome: flag() ? .patch(patch()) : .error(error()), transition: maybe { $0.transition() })
    let opened = ProvideOpened(
      sessionID: number(), epoch: number(), revision: number(), lease: duration(),
      firstSequence: number(), includesAudience: flag())
    let result = ProvideResult(
      id: number(), error: maybe { $0.provideError().status }, revision: number(),
      kinds: many { $0.kindResult() })
    let request = DataRequest(
      id: number(), widget: widget(), reason: pick(DataRequestReason.allCases))
    let removal = ProvidedRemoval(widgetIDs: many { $0.id() })
    let synced = ProvideSynced(revision: number())
    let installed = InstalledBundle(
      id: text(), version: text(), folder: text(), problem: text(), sha256: text(),
      formerVersion: text(), kinds: many { $0.text() }, widgets: many { $0.text() })
    let install = InstallBundleRequest(
      content: many { UInt8(truncatingIfNeeded: $0.number()) }, fileName: text(), sha256: text())
    let didInstall = InstallBundleResponse(
      bundle: installed, formerVersion: text(), warnings: many { $0.text() })
    let listed = ListBundlesResponse(bundles: [installed, installed], folder: text())
    let delete = DeleteBundleRequest(id: text(), force: number() % 2 == 0)
    let rollback = RollbackBundleRequest(id: text(), version: text())
    let didRollBack = RollbackBundleResponse(
      bundle: installed, formerVersion: text(), warnings: many { $0.text() })
    let setting = BundleSetting(
      name: text(), type: text(), value: maybe { $0.value() }, defaultValue: maybe { $0.value() },
      summary: text())
    let setDefaults = SetBundleDefaultsRequest(
      id: text(), values: map(), unset: many { $0.text() })
    let didSetDefaults = SetBundleDefaultsResponse(
      settings: [setting], warnings: many { $0.text() })
    let diff = DiffBundleRequest(
      content: many { UInt8(truncatingIfNeeded: $0.number()) }, fileName: text())
    let difference = DiffBundleResponse.Difference(
      path: text(), before: maybe { $0.text() }, after: maybe { $0.text() })
    let didDiff = DiffBundleResponse(
      id: text(), version: text(), isInstalled: flag(), differences: [difference],
      omitted: UInt32(truncatingIfNeeded: number()))
    let bundleRequest = ProvideBundleRequest(
      id: number(),
      request: pick([
        .install(install), .list(ListBundlesRequest()), .delete(delete), .rollback(rollback),
        .setDefaults(setDefaults), .diff(diff),
      ]))
    let bundleAnswer = ProvideBundleAnswer(
      id: number(), bundleRequestID: number(),
      outcome: pick([
        .install(didInstall), .list(listed), .delete(DeleteBundleResponse()),
        .rollback(didRollBack), .setDefaults(didSetDefaults), .diff(didDiff),
        .error(provideError().status),
      ]))
    let audience = ProvideAudience(attached: many { $0.id() }, detached: many { $0.id() })
    let kindRemoval = ProvidedKindRemoval(kinds: many { $0.kind() })
    return [
      Sample(open), Sample(kinds), Sample(update), Sample(providedUpdate()), Sample(acknowledge),
      Sample(answer), Sample(ProvideKeepAlive()),
      Sample(
        pick([
          ProvideRequest.open(open), .kinds(kinds), .update(update), .acknowledge(acknowledge),
          .answer(answer), .keepAlive, .bundleAnswer(bundleAnswer),
        ])),
      Sample(opened), Sample(result), Sample(provideError()), Sample(request), Sample(removal),
      Sample(synced), Sample(audience), Sample(kindRemoval), Sample(installed), Sample(install),
      Sample(didInstall), Sample(ListBundlesRequest()), Sample(listed), Sample(delete),
      Sample(DeleteBundleResponse()), Sample(rollback), Sample(didRollBack),
      Sample(setting), Sample(setDefaults), Sample(didSetDefaults), Sample(diff),
      Sample(difference), Sample(didDiff),
      Sample(bundleRequest), Sample(bundleAnswer),
      Sample(
        pick([
          ProvideResponse.opened(opened), .result(result), .event(event()),
          .gap(EventGap(firstSequence: number(), lastSequence: number())), .dataRequest(request),
          .removed(removal), .synced(synced), .keepAlive,
          .kindsRemoved(kindRemoval), .bundleRequest(bundleRequest), .audience(audience), .unknown,
        ])),
      Sample(RefreshWidgetsRequest(pick([.ids([id(), id()]), .selector(selector()), .all]))),
      Sample(
        RefreshWidgetsResponse(
          askedCount: number(), unprovidedCount: number(), limitedCount: number(),
          budgets: many { $0.budget() })),
    ] + timelineMessages() + activityMessages()
  }

  private mutating func providedUpdate() -> ProvidedUpdate {
    ProvidedUpdate(id(), patch(), transition: maybe { $0.transition() })
  }

  private mutating func provideError() -> ProvideError {
    let words = text()
    return ProvideError(
      RPCStatus(
        code: .failedPrecondition, message: "patch: \(words)",
        errorInfo: ErrorInfo(reason: text(), metadata: [name(): text()]),
        fieldViolations: flag() ? [FieldViolation(field: "patch", description: words)] : [],
        retryDelay: maybe { $0.duration() }))
  }

  // MARK: Parts

  private mutating func pick<T>(_ choices: [T]) -> T {
    choices[Int.random(in: choices.indices, using: &random)]
  }

  private mutating func flag() -> Bool { Bool.random(using: &random) }

  private mutating func maybe<T>(_ make: (inout RandomMessages) -> T) -> T? {
    flag() ? make(&self) : nil
  }

  private mutating func many<T>(_ make: (inout RandomMessages) -> T) -> [T] {
    (0..<pick([0, 1, 3])).map { _ in make(&self) }
  }

  private mutating func warnings() -> [RequestWarning] {
    many { RequestWarning(reason: $0.text(), message: $0.text(), metadata: ["kind": $0.text()]) }
  }

  private mutating func number() -> UInt64 { pick([0, 1, 127, 128, .max, random.next()]) }

  private mutating func bytes() -> [UInt8] {
    (0..<pick([0, 1, 20, 200])).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private mutating func text() -> String {
    pick([
      "", "a", "73.3 °C", "e\u{301} or \u{e9}", "日本語", "\u{1f9ea}\u{10ffff}", "\u{7f}\u{80}\u{7ff}",
      String(repeating: "x", count: 300),
    ])
  }

  private mutating func name() -> String {
    "n" + String((0..<pick([1, 5, 20])).map { _ in pick(Array("abcXYZ019._-/:")) })
  }

  private mutating func id() -> WidgetID {
    guard let id = WidgetID(name()) else { preconditionFailure("a name is not an id") }
    return id
  }

  private mutating func kind() -> KindName {
    guard let kind = KindName(name()) else { preconditionFailure("a name is not a kind") }
    return kind
  }

  private mutating func time() -> Timestamp {
    pick([.epoch, .earliest, .latest, Timestamp(nanosecondsSinceEpoch: 1_763_700_000_123_456_789)])
  }

  private mutating func duration() -> Duration {
    pick([
      .zero, .milliseconds(250), .nanoseconds(-1), .seconds(315_576_000_000),
      .seconds(-315_576_000_000),
    ])
  }

  private mutating func value(depth: Int = 0) -> Value {
    switch Int.random(in: 0..<(depth > 3 ? 8 : 10), using: &random) {
    case 0: .null
    case 1: .bool(flag())
    case 2: .int(Int64(bitPattern: number()))
    case 3: .double(pick([0, -0.0, 1.5, .nan, .infinity, .leastNonzeroMagnitude]))
    case 4: .string(text())
    case 5: .bytes(bytes())
    case 6: .timestamp(time())
    case 7: .duration(duration())
    case 8: .list(many { $0.value(depth: depth + 1) })
    default: .map(map(depth: depth + 1))
    }
  }

  private mutating func map(depth: Int = 0) -> ValueMap {
    ValueMap(many { ValueMap.Entry(key: $0.text() + $0.name(), value: $0.value(depth: depth)) })
  }

  private mutating func labels() -> Labels { Labels(many { (key: $0.text(), value: $0.text()) }) }

  private mutating func presence() -> Presence {
    Presence(isVisible: flag(), isEnabled: flag())
  }

  private mutating func error() -> WidgetError {
    WidgetError(reason: "NO_SIGNAL", message: text(), since: maybe { $0.time() })
  }

  private mutating func transition() -> Transition {
    Transition(
      curve: pick(Transition.Curve.allCases), duration: maybe { $0.duration() },
      springResponse: pick([0, 0.5]), springDamping: pick([0, 1]))
  }

  private mutating func bareWidget() -> Widget {
    Widget(
      id: id(), kind: kind(), family: pick(Family.allCases), labels: labels(),
      presence: presence(), position: Int64(bitPattern: number()), isStale: flag(),
      error: maybe { $0.error() }, createdRevision: number(), revision: number(),
      createTime: time(), updateTime: time(), ownerUID: UInt32(truncatingIfNeeded: number()),
      applySet: pick(["", name()]), content: maybe { $0.content() })
  }

  private mutating func widget() -> Widget {
    var widget = bareWidget()
    widget.parameters = map()
    widget.data = map()
    widget.timeline = maybe { $0.timelineStatus() }
    widget.activity = maybe { $0.activity() }
    return widget
  }

  private mutating func spec() -> WidgetSpec {
    WidgetSpec(
      id: maybe { $0.id() }, kind: kind(), family: pick(Family.allCases + [nil]),
      labels: labels(), isVisible: maybe { $0.flag() }, isEnabled: maybe { $0.flag() },
      parameters: map(), data: map(), timeline: maybe { $0.timeline() })
  }

  private mutating func registeredKind() -> RegisteredKind {
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
    registered.refreshBudget = maybe { $0.budget() }
    return registered
  }

  private mutating func field() -> Field {
    Field(
      name: text(),
      type: pick([.any, .bool, .int, .list(.double), .map(.list(.any)), .timestamp, .duration]),
      defaultValue: maybe { $0.value() }, summary: text(), isRequired: flag(),
      choices: many { $0.value() })
  }

  private mutating func dated() -> TimelineEntry {
    TimelineEntry(
      date: time(), values: map(), score: pick([0, 0.5, 1_000]),
      duration: maybe { $0.pick([.zero, .seconds(3), .milliseconds(1_500)]) })
  }

  private mutating func timeline() -> Timeline {
    Timeline(
      entries: many { $0.dated() }, policy: pick(Timeline.Policy.allCases),
      refreshTime: maybe { $0.time() }, staleTime: maybe { $0.time() })
  }

  private mutating func storedTimeline() -> Timeline {
    var stored = timeline()
    stored.setTime = time()
    stored.lostValues = many { $0.text() }
    return stored
  }

  private mutating func timelineStatus() -> TimelineStatus {
    TimelineStatus(
      current: maybe { $0.dated() }, nextTime: maybe { $0.time() },
      refreshTime: maybe { $0.time() }, staleTime: maybe { $0.time() }, problem: text())
  }

  private mutating func schedule() -> EntrySchedule {
    EntrySchedule(
      every: maybe { $0.duration() }, offset: .seconds(5), cron: text(), zone: text(),
      entries: text())
  }

  private mutating func recommendation() -> Recommendation {
    Recommendation(name: text(), displayName: text(), parameters: map())
  }

  private mutating func budget() -> RefreshBudget {
    RefreshBudget(kind: kind(), remaining: 3, capacity: 9, nextTime: maybe { $0.time() })
  }

  private mutating func preview() -> Preview {
    Preview(
      kind: kind(), family: pick(Family.allCases), parameters: map(), data: map(),
      content: maybe { $0.content() }, isSample: flag(), reason: text())
  }

  private mutating func timelineMessages() -> [Sample] {
    let snapshot = SnapshotRequest(
      id: number(), kind: kind(), family: pick(Family.allCases), parameters: map(),
      isByOwner: flag())
    let answer = ProvideSnapshot(
      id: number(), snapshotRequestID: number(),
      outcome: flag() ? .data(SnapshotData(data: map())) : .error(error()))
    return [
      Sample(dated()), Sample(timeline()), Sample(timelineStatus()), Sample(schedule()),
      Sample(recommendation()), Sample(budget()), Sample(preview()), Sample(snapshot),
      Sample(answer), Sample(SnapshotData(data: map())),
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

  private mutating func activity() -> Activity {
    Activity(
      state: pick(Activity.State.allCases), startTime: time(), expireTime: time(),
      staleTime: maybe { $0.time() }, endTime: maybe { $0.time() },
      dismissTime: maybe { $0.time() })
  }

  private mutating func statePatch() -> StatePatch {
    StatePatch(setData: map(), unsetData: many { $0.text() })
  }

  private mutating func activityMessages() -> [Sample] {
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

  private mutating func eventType() -> EventType {
    EventType(name: text(), summary: text(), payload: many { $0.field() })
  }

  private mutating func reducer() -> Reducer {
    Reducer(
      event: text(), nodeID: text(), condition: text(),
      assignments: Dictionary(many { ($0.name(), $0.text()) }, uniquingKeysWith: { $1 }),
      unset: many { $0.text() })
  }

  private mutating func contentTemplate() -> ContentTemplate {
    ContentTemplate(families: many { $0.pick(Family.allCases) }, root: nodeTemplate())
  }

  private mutating func nodeTemplate(depth: Int = 0) -> NodeTemplate {
    NodeTemplate(
      id: text(), type: pick(NodeType.allCases),
      properties: Dictionary(
        many { ($0.name(), $0.binding()) }, uniquingKeysWith: { first, _ in first }),
      condition: text(), rows: maybe { $0.rows() },
      children: depth > 2 ? [] : many { $0.nodeTemplate(depth: depth + 1) },
      events: maybe { $0.many { $0.text() } })
  }

  private mutating func binding() -> Binding {
    Binding(text(), placeholder: maybe { $0.value() })
  }

  private mutating func themeState() -> ThemeState {
    ThemeState(
      values: themeValues(), overridden: many { $0.text() }, revision: number(), etag: text())
  }

  private mutating func themeValues() -> [String: ThemeValue] {
    Dictionary(many { ($0.name(), $0.themeValue()) }, uniquingKeysWith: { first, _ in first })
  }

  private mutating func themeValue() -> ThemeValue {
    pick([.color(themeColors()), .offset(Double(number() % 1_000)), .font(themeFont())])
  }

  private mutating func themeColors() -> ThemeColors {
    ThemeColors(light: themeColor(), dark: themeColor(), highContrast: themeColor())
  }

  private mutating func themeColor() -> ThemeColor {
    let bits = number()
    return ThemeColor(
      red: UInt8(bits & 255), green: UInt8(bits >> 8 & 255), blue: UInt8(bits >> 16 & 255),
      alpha: pick([255, UInt8(bits >> 24 & 255)]))
  }

  private mutating func themeFont() -> ThemeFont {
    ThemeFont(
      size: Double(number() % 400), weight: pick(ThemeFont.Weight.allCases), isItalic: flag(),
      isMonospaced: flag())
  }

  private mutating func rows() -> RowTemplate {
    RowTemplate(list: text(), name: name(), key: text())
  }

  private mutating func content() -> Content {
    Content(rootID: text(), nodes: many { $0.node() })
  }

  private mutating func node() -> Node {
    Node(
      id: text(), type: pick(NodeType.allCases + [nil]), properties: map(),
      childIDs: many { $0.text() }, problem: text(), events: many { $0.text() })
  }

  private mutating func contentChange() -> ContentChange {
    ContentChange(
      replaces: flag(), rootID: text(), setNodes: many { $0.node() },
      removedIDs: many { $0.text() })
  }

  private mutating func kindResult() -> KindResult {
    KindResult(
      name: kind(), action: pick(ApplyAction.allCases),
      widgetsChanged: Int(UInt32(truncatingIfNeeded: number())),
      lostFields: many { LostField(widgetID: $0.id(), path: $0.text(), isSetAside: $0.flag()) },
      lostFieldsCount: Int(UInt32(truncatingIfNeeded: number())))
  }

  private mutating func patch() -> WidgetPatch {
    WidgetPatch(
      setData: map(), unsetData: many { $0.text() }, replaceData: flag(), setParameters: map(),
      unsetParameters: many { $0.text() }, setLabels: labels(), unsetLabels: many { $0.text() },
      isStale: maybe { $0.flag() }, error: maybe { $0.maybe { $0.error() } },
      releases: many { $0.text() }, timeline: maybe { $0.maybe { $0.timeline() } })
  }

  private mutating func requirement() -> LabelRequirement {
    LabelRequirement(
      key: text(), operator: pick(LabelRequirement.Operator.allCases), values: many { $0.text() })
  }

  private mutating func selector() -> Selector {
    Selector(
      ids: many { $0.id() }, kinds: many { $0.kind() },
      families: many { $0.pick(Family.allCases) }, labels: many { $0.requirement() })
  }

  private mutating func mask() -> ReadMask {
    let choices = [[], ["id"], ["data", "family"], ["data.a.b", "parameters.x", "etag", "id"]]
    do { return try ReadMask(paths: pick(choices)) } catch {
      preconditionFailure("\(error.path) is not a path")
    }
  }

  private mutating func event() -> Event {
    Event(
      sequence: number(), widgetID: id(), nodeID: text(), name: name(), payload: map(),
      time: time(), revision: number(),
      origin: EventOrigin(uid: 1000, pid: UInt32(truncatingIfNeeded: number()), client: text()),
      isForced: flag(), wantsOutcome: flag())
  }

  private mutating func update() -> WidgetUpdate {
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

  private mutating func changes() -> ChangeSet {
    ChangeSet(
      fromRevision: number(), toRevision: number(),
      changes: many {
        $0.pick([
          .added($0.widget(), $0.maybe { $0.transition() }), .updated($0.update()),
          .removed($0.id(), $0.maybe { $0.transition() }),
        ])
      }, more: flag(), resumeToken: bytes())
  }

  private mutating func snapshot() -> SnapshotChunk {
    SnapshotChunk(widgets: many { $0.widget() }, removedIDs: many { $0.id() })
  }

  private mutating func frame() -> WatchWidgetsResponse {
    pick([
      .opened(WatchOpened(subscriptionID: number(), epoch: number(), revision: number())),
      .snapshot(snapshot()), .synced(WatchSynced(revision: number())), .changes(changes()),
      .events(EventBatch(events: many { $0.event() })), .gap(EventGap(lastSequence: number())),
      .progress(WatchProgress(revision: number())), .upcoming(upcoming()), .unknown,
    ])
  }

  private mutating func upcoming() -> WatchUpcoming {
    WatchUpcoming(widgets: many { $0.upcomingEntries() }, hasFakeClock: flag())
  }

  private mutating func upcomingEntries() -> UpcomingEntries {
    UpcomingEntries(
      id: id(), entries: many { ShownEntry(entry: $0.dated(), content: $0.content()) }, more: flag()
    )
  }

  private mutating func owner() -> FieldOwner {
    FieldOwner(
      path: text(), owner: text(), manager: text(), declared: maybe { $0.value() })
  }

  private mutating func entry() -> StoredEntry {
    StoredEntry(key: text(), value: maybe { $0.value() }, revision: number())
  }

  private mutating func handedStream() -> HandedStream {
    HandedStream(
      streamID: 5,
      request: pick([
        .widgets(WatchWidgetsRequest(includeEvents: true)),
        .events(WatchEventsRequest(names: [text()])), .health(HealthCheckRequest(service: text())),
        nil,
      ]), subscriptionID: number(), timeoutNanoseconds: 9, cursor: number(),
      eventCursor: number(),
      transfer: pick([nil, HandedTransfer(isSnapshot: false, startedRevision: 4)]),
      wantsProgress: true)
  }

  private mutating func reflectionQuestion() -> ReflectionRequest {
    ReflectionRequest(
      host: text(),
      question: pick([
        .fileByName(text()), .fileContainingSymbol(text()), .allExtensionNumbers(ofType: text()),
        .listServices(text()), nil,
        .fileContainingExtension(ReflectionExtension(containingType: text(), number: -1)),
      ]))
  }

  private mutating func recentError() -> RecentError {
    RecentError(
      time: time(), code: pick(StatusCode.allCases), reason: text(), area: text(),
      message: text(), count: number(),
      peerUID: pick([nil, 0, UInt32(truncatingIfNeeded: number())]))
  }

  private mutating func status() -> RPCStatus {
    RPCStatus(
      code: pick(StatusCode.allCases), message: text(),
      errorInfo: maybe { ErrorInfo(reason: $0.text(), metadata: [$0.name(): $0.text()]) },
      fieldViolations: many { FieldViolation(field: $0.text(), description: $0.text()) },
      retryDelay: maybe { $0.duration() })
  }
}
