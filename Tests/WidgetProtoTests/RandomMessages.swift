import SeededRandom
import WidgetModel

@testable import WidgetProto

/// Makes messages of every type from a seed, with everything that the domain allows.
struct RandomMessages {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// One message of every type.
  static func everyType(seed: UInt64) -> [Sample] {
    var make = RandomMessages(seed: seed)
    return make.everyType() + make.providerTypes()
  }

  mutating func everyType() -> [Sample] {
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
      Sample(
        LostField(
          widgetID: id(), path: text(), isSetAside: flag(), value: maybe { $0.value() })),
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
          isPassive: flag(), upcomingEntries: 7, isRedacted: flag(),
          batchDelay: maybe { $0.duration() })),
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
          usage: [name(): number()], memoryBytes: number(), providers: number(),
          storeFailure: maybe { StoreFailure(message: $0.text(), since: $0.time()) })),
      Sample(StoreFailure(message: text(), since: time())),
      Sample(WatchStore(failure: maybe { StoreFailure(message: $0.text(), since: $0.time()) })),
      Sample(recentError()), Sample(silence()),
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
          timeline: maybe { $0.storedTimeline() }, failures: many { $0.storedFailure() },
          timelineProblemTime: maybe { $0.time() }, replacedRevision: number())),
      Sample(storedFailure()), Sample(owner()),
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
  mutating func providerTypes() -> [Sample] {
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
      formerVersion: text(), kinds: many { $0.text() }, widgets: many { $0.text() },
      widgetKinds: many { $0.text() })
    let install = InstallBundleRequest(
      content: many { UInt8(truncatingIfNeeded: $0.number()) }, fileName: text(), sha256: text(),
      force: flag())
    let didInstall = InstallBundleResponse(
      bundle: installed, formerVersion: text(), warnings: many { $0.text() }, formerID: text(),
      isUnchanged: flag())
    let listed = ListBundlesResponse(bundles: [installed, installed], folder: text())
    let delete = DeleteBundleRequest(id: text(), force: number() % 2 == 0)
    let didDelete = DeleteBundleResponse(warnings: many { $0.text() })
    let rollback = RollbackBundleRequest(id: text(), version: text())
    let didRollBack = RollbackBundleResponse(
      bundle: installed, formerVersion: text(), warnings: many { $0.text() }, formerID: text(),
      kinds: many { $0.registeredKind().kind })
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
        .install(didInstall), .list(listed), .delete(didDelete),
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
      Sample(didDelete), Sample(rollback), Sample(didRollBack),
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

  mutating func providedUpdate() -> ProvidedUpdate {
    ProvidedUpdate(id(), patch(), transition: maybe { $0.transition() })
  }

  mutating func provideError() -> ProvideError {
    let words = text()
    return ProvideError(
      RPCStatus(
        code: .failedPrecondition, message: "patch: \(words)",
        errorInfo: ErrorInfo(reason: text(), metadata: [name(): text()]),
        fieldViolations: flag() ? [FieldViolation(field: "patch", description: words)] : [],
        retryDelay: maybe { $0.duration() }))
  }

  // MARK: Parts

  mutating func pick<T>(_ choices: [T]) -> T {
    choices[Int.random(in: choices.indices, using: &random)]
  }

  mutating func flag() -> Bool { Bool.random(using: &random) }

  mutating func maybe<T>(_ make: (inout RandomMessages) -> T) -> T? {
    flag() ? make(&self) : nil
  }

  mutating func many<T>(_ make: (inout RandomMessages) -> T) -> [T] {
    (0..<pick([0, 1, 3])).map { _ in make(&self) }
  }

  mutating func warnings() -> [RequestWarning] {
    many { RequestWarning(reason: $0.text(), message: $0.text(), metadata: ["kind": $0.text()]) }
  }

  mutating func number() -> UInt64 { pick([0, 1, 127, 128, .max, random.next()]) }

  mutating func bytes() -> [UInt8] {
    (0..<pick([0, 1, 20, 200])).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  mutating func text() -> String {
    pick([
      "", "a", "73.3 °C", "e\u{301} or \u{e9}", "日本語", "\u{1f9ea}\u{10ffff}", "\u{7f}\u{80}\u{7ff}",
      String(repeating: "x", count: 300),
    ])
  }

  mutating func name() -> String {
    "n" + String((0..<pick([1, 5, 20])).map { _ in pick(Array("abcXYZ019._-/:")) })
  }

  mutating func id() -> WidgetID {
    guard let id = WidgetID(name()) else { preconditionFailure("a name is not an id") }
    return id
  }

  mutating func kind() -> KindName {
    guard let kind = KindName(name()) else { preconditionFailure("a name is not a kind") }
    return kind
  }

  mutating func time() -> Timestamp {
    pick([.epoch, .earliest, .latest, Timestamp(nanosecondsSinceEpoch: 1_763_700_000_123_456_789)])
  }

  mutating func duration() -> Duration {
    pick([
      .zero, .milliseconds(250), .nanoseconds(-1), .seconds(315_576_000_000),
      .seconds(-315_576_000_000),
    ])
  }

  mutating func value(depth: Int = 0) -> Value {
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

  mutating func map(depth: Int = 0) -> ValueMap {
    ValueMap(many { ValueMap.Entry(key: $0.text() + $0.name(), value: $0.value(depth: depth)) })
  }

  mutating func labels() -> Labels { Labels(many { (key: $0.text(), value: $0.text()) }) }

  mutating func presence() -> Presence {
    Presence(isVisible: flag(), isEnabled: flag())
  }

  mutating func error() -> WidgetError {
    WidgetError(reason: "NO_SIGNAL", message: text(), since: maybe { $0.time() })
  }

  mutating func transition() -> Transition {
    Transition(
      curve: pick(Transition.Curve.allCases), duration: maybe { $0.duration() },
      springResponse: pick([0, 0.5]), springDamping: pick([0, 1]))
  }
}
