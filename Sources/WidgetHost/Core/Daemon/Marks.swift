import WidgetModel

/// The problems of bundles on widgets that no instance serves: finding the widgets, then setting the
/// error of each. The kind of such a widget belongs to a program, or to a bundle that does not run,
/// or to nobody.
///
/// A change sets all errors of its widget, so it depends on the errors that the listing had. If
/// somebody has changed the widget since, the daemon does not make the change, and the widgets are
/// listed again.
struct Marks: Sendable {
  private struct Change: Sendable {
    let id: WidgetID
    let kind: KindName
    let patch: WidgetPatch
    /// The etag of the widget in the listing.
    let etag: String
    /// Whether Marks makes the change even if an instance serves the widget.
    var isForServed = false
  }

  /// The present problems, by set.
  private var troubles: [String: BundleTrouble] = [:]
  /// The problems that have ended, and whose errors may be left, by set.
  private var ended: [String: BundleTrouble] = [:]
  /// The widgets that this has made stale because of a problem, with their kinds. When an instance
  /// serves a widget, the instance makes the widget fresh, so the widget leaves this list.
  private var stale: [WidgetID: KindName] = [:]
  /// The kinds that this leaves to instances: their watches have the widgets, or this has skipped a
  /// widget because an instance was about to watch it.
  private var left: Set<KindName> = []
  /// The kinds that instances watch.
  private var watched: Set<KindName> = []
  /// The widgets that wait for their removal.
  private var held: Set<WidgetID> = []
  /// Whether the widgets must be found.
  private var isDue = false
  /// The providers of the kinds that bundles of earlier hosts declared; nil before they are known.
  private var owners: [KindName: String]?
  /// The last known ones of these providers.
  private var lastOwners: [KindName: String] = [:]
  /// The widgets to change; nil before they are known.
  private var changes: [Change]?
  /// The change that has no answer.
  private var calling: Change?
  private var call: CallID?
  private var attempts = 0
  /// Whether a listed widget has changed before its change. After the other changes, the widgets
  /// are listed again, but not before `retryAt`.
  private var isOutdated = false
  /// The listings in a row with such widgets.
  private var outdatedAttempts = 0
  private var retryAt: Duration?
  /// When the widgets are listed again, because somebody may have cleared errors. No watch has
  /// these widgets. Nil if no widget shows a problem.
  private var lookAt: Duration?
  /// Whether the listing is only for that. It sets missing errors, and leaves the rest alone: the
  /// program of a widget may have made it fresh.
  private var isRoutine = false
  /// The kinds of the widgets that show a problem. A routine lists only these.
  private var shownKinds: Set<KindName> = []
  /// The changes that the daemon has refused for good. A routine does not repeat them.
  private var refused: [WidgetID: WidgetPatch] = [:]

  /// - Returns: the call to cancel.
  mutating func set(_ new: [String: BundleTrouble]) -> CallID? {
    guard new != troubles else { return nil }
    for (set, former) in troubles where new[set] == nil { ended[set] = former }
    // The folder may have another name now.
    for (set, trouble) in new {
      let former = troubles[set] ?? ended[set]
      ended[set] = former.flatMap { $0.path == trouble.path ? nil : $0 }
    }
    troubles = new
    return begin()
  }

  /// The daemon has the host again. It may have other widgets.
  ///
  /// - Returns: the call to cancel.
  mutating func lookAgain() -> CallID? {
    troubles.isEmpty && ended.isEmpty && stale.isEmpty ? nil : begin()
  }

  /// Follows which widgets others see to. If there are fewer, this looks for widgets again. It also
  /// does so when an instance begins to watch widgets that this has made stale.
  ///
  /// - Parameters:
  ///   - served: the kinds whose widgets instances serve, now or soon.
  ///   - watched: those that they serve now.
  /// - Returns: the call to cancel.
  mutating func follow(
    served: Set<KindName>, watched: Set<KindName>, beside held: Set<WidgetID>
  ) -> CallID? {
    left.formUnion(watched)
    let isLess = !left.isSubset(of: served) || !self.held.isSubset(of: held)
    left.formIntersection(served)
    (self.watched, self.held) = (watched, held)
    if isLess { return lookAgain() }
    guard !isDue, changes == nil else { return nil }
    forgetEnded()
    let isWatched = stale.contains { watched.contains($0.value) && !held.contains($0.key) }
    return isWatched ? begin() : nil
  }

  /// All errors of problems that have ended are over, unless an instance has not begun yet to see to
  /// them.
  private mutating func forgetEnded() { if left.isSubset(of: watched) { ended = [:] } }

  private mutating func begin() -> CallID? {
    (isDue, owners, changes, attempts, retryAt) = (true, nil, nil, 0, nil)
    (isRoutine, lookAt, refused) = (false, nil, [:])
    (isOutdated, outdatedAttempts) = (false, 0)
    noteLostChange()
    calling = nil
    defer { call = nil }
    return call
  }

  /// The widgets of a bundle go, or another bundle takes them over. Their errors end in another way.
  mutating func forget(_ set: String) { ended[set] = nil }

  /// The present problem that an error is about; nil if there is none.
  func trouble(of error: WidgetError) -> BundleTrouble? {
    troubles.values.first { $0.has(error) }
  }

  /// Whether bundles have problems now.
  var hasTroubles: Bool { !troubles.isEmpty }

  /// Whether the bundle with this set has a problem now.
  func hasTrouble(of set: String) -> Bool { troubles[set] != nil }

  /// The errors for the present problems of a widget's bundle, and of other bundles.
  ///
  /// - Parameters:
  ///   - set: the set of the widget's bundle.
  ///   - others: the sets of the other bundles. Bundles that only earlier hosts ran count, too, if
  ///     they have the widget's kind.
  func errors(of set: String, beside others: Set<String>, on kind: KindName) -> [WidgetError] {
    let rest = troubles.filter { other, trouble in
      // Somebody else can have the kind by now.
      let hasKind = trouble.kinds.contains(kind) && (lastOwners[kind] ?? other) == other
      return other != set && (others.contains(other) || hasKind)
    }
    return [troubles[set]?.error()].compactMap(\.self)
      + rest.sorted { $0.key < $1.key }.map { $0.value.error(forOthers: true) }
  }

  /// Nobody provides these kinds any more, so their widgets stay stale.
  mutating func drop(_ kinds: Set<KindName>) { stale = stale.filter { !kinds.contains($0.value) } }

  /// Whether there is nothing to do, whatever others see to.
  var isIdle: Bool {
    troubles.isEmpty && ended.isEmpty && stale.isEmpty && !isDue && changes == nil
  }

  /// Whether `nextCall` can have a call.
  var isWaiting: Bool { call == nil && (isDue ? retryAt == nil : changes != nil) }

  /// - Parameters:
  ///   - served: the kinds whose widgets instances serve.
  ///   - held: the widgets that wait for their removal. Their errors say this.
  /// - Returns: the call to make now.
  mutating func nextCall(
    served: Set<KindName>, beside held: Set<WidgetID>
  ) -> DaemonCall? {
    guard isWaiting else { return nil }
    if isDue { return question }
    guard let known = changes else { return nil }
    let rest = known.drop { change in
      served.contains(change.kind) && !change.isForServed || held.contains(change.id)
    }
    leave(known.prefix(known.count - rest.count).map(\.kind), to: served)
    guard let next = rest.first else {
      changes = nil
      guard !isOutdated else {
        (isDue, owners, isOutdated) = (true, nil, false)
        return retryAt == nil ? question : nil
      }
      outdatedAttempts = 0
      forgetEnded()
      return nil
    }
    // The call takes it, whatever the answer is.
    changes = Array(rest.dropFirst())
    if next.isForServed { stale[next.id] = nil }
    calling = next
    return .update(next.id, next.patch, provider: "", etag: next.etag)
  }

  private mutating func leave(_ kinds: [KindName], to served: Set<KindName>) {
    left.formUnion(served.intersection(kinds))
  }

  /// Who has the kinds that bundles of earlier hosts declared, and then, which widgets there are.
  private var question: DaemonCall {
    let kinds = Set([troubles, ended].flatMap { $0.values.flatMap(\.kinds) })
    guard owners == nil, !kinds.isEmpty else {
      return .errors(isRoutine ? shownKinds.sorted { $0.rawValue < $1.rawValue } : [])
    }
    return .standing(kinds: kinds.sorted { $0.rawValue < $1.rawValue }, widgets: [])
  }

  mutating func called(with call: CallID) { self.call = call }

  /// Notes whether the last change has made its widget stale, or fresh.
  private mutating func noteChange() {
    guard let calling, let isStale = calling.patch.isStale else { return }
    stale[calling.id] = isStale ? calling.kind : nil
  }

  /// The last change has no answer, so the daemon may have carried it out, or not.
  private mutating func noteLostChange() {
    guard let calling, calling.patch.isStale != nil else { return }
    stale[calling.id] = calling.kind
  }

  /// The daemon has not made the last change, because the widget has changed since the listing.
  private mutating func noteOutdatedChange(at uptime: Duration, _ limits: HostLimits) {
    if let calling, calling.isForServed { stale[calling.id] = calling.kind }
    guard !isOutdated else { return }
    isOutdated = true
    outdatedAttempts += 1
    retryAt = uptime + limits.outdatedWait(outdatedAttempts)
  }

  /// - Returns: a line for the log.
  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, served: Set<KindName>, beside held: Set<WidgetID>,
    at uptime: Duration, _ limits: HostLimits
  ) -> String? {
    call = nil
    defer { calling = nil }
    switch result {
    case .success(.standing(let found)):
      lastOwners = Dictionary(found.kinds.map { ($0.name, $0.provider) }) { first, _ in first }
      owners = lastOwners
    case .success(.listed(let listed)):
      (isDue, isOutdated, attempts) = (false, false, 0)
      let widgets = listed.map(\.widget)
      // Somebody has made the others fresh, or has removed them.
      let staleIDs = Set(widgets.filter(\.isStale).map(\.id))
      stale = stale.filter { id, kind in
        staleIDs.contains(id) || isRoutine && !shownKinds.contains(kind)
      }
      leave(widgets.map(\.kind), to: served)
      let free = listed.filter { !held.contains($0.widget.id) }
      let unserved = free.filter { !served.contains($0.widget.kind) }
      for widget in unserved.map(\.widget) where isStaleSinceEarlierHost(widget) {
        stale[widget.id] = widget.kind
      }
      let watched = watched.intersection(served)
      let others = free.filter { watched.contains($0.widget.kind) }
      let fresh = others.compactMap { freshening($0) }
      // The instances make the rest of these widgets fresh.
      let ids = Set(fresh.map(\.id))
      stale = stale.filter { id, kind in
        !watched.contains(kind) || held.contains(id) || ids.contains(id)
      }
      changes = unserved.compactMap { change(of: $0) }.filter { refused[$0.id] != $0.patch } + fresh
      shownKinds = Set(unserved.map(\.widget).filter(showsTrouble).map(\.kind))
      if !shownKinds.isEmpty { lookAt = uptime + limits.clearedLookInterval }
    case .success: noteChange()
    // Somebody has removed the widget meanwhile.
    case .failure(let failure) where failure.code == "NOT_FOUND" && changes != nil: break
    case .failure(let failure) where failure.isETagMismatch && changes != nil:
      noteOutdatedChange(at: uptime, limits)
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      (isDue, owners, changes) = (true, nil, nil)
      noteLostChange()
      attempts += 1
      retryAt = uptime + limits.daemonWait(attempts)
    case .failure(let failure):
      guard changes == nil else {
        if let calling { refused[calling.id] = calling.patch }
        return failure.message
      }
      // A routine would repeat what the daemon refuses, and the line for the log.
      (isDue, lookAt) = (false, nil)
      // Otherwise `follow` would ask again at once, without end.
      stale = stale.filter { !watched.contains($0.value) || held.contains($0.key) }
      return failure.message
    }
    return nil
  }

  /// Whether a bundle has a problem that a widget shows if no instance serves it.
  private func showsTrouble(_ widget: Widget) -> Bool {
    troubles[widget.applySet] != nil || troubles.values.contains { $0.kinds.contains(widget.kind) }
  }

  /// Whether an earlier host has made a widget stale because of a problem, as its error says.
  private func isStaleSinceEarlierHost(_ widget: Widget) -> Bool {
    guard widget.isStale, let own = troubles[widget.applySet], !own.isRunning else { return false }
    return widget.error?.all.contains { own.has($0) } ?? false
  }

  /// Makes a widget fresh that Marks made stale and that an instance serves now. Nil: nothing to
  /// change. The instance knows by the error why the widget is stale. So this change is only for
  /// widgets whose error somebody has cleared.
  private func freshening(_ listed: ListedWidget) -> Change? {
    let widget = listed.widget
    let isMarked = widget.error?.all.contains { $0.reason == BundleInstance.invalid } ?? false
    guard stale[widget.id] == widget.kind, widget.isStale, !isMarked,
      troubles[widget.applySet]?.makesStale != true
    else { return nil }
    return Change(
      id: widget.id, kind: widget.kind, patch: WidgetPatch(isStale: false), etag: listed.etag,
      isForServed: true)
  }

  /// The change that sets the errors of a widget; nil if it has them.
  ///
  /// The problem of the widget's own bundle comes first, because this bundle can remove it.
  private func change(of listed: ListedWidget) -> Change? {
    let widget = listed.widget
    let own = troubles[widget.applySet]
    var (others, past): ([BundleTrouble], [BundleTrouble]) = ([], [])
    for (set, trouble) in troubles.sorted(by: { $0.key < $1.key })
    where set != widget.applySet && trouble.kinds.contains(widget.kind) {
      // Somebody else can have the kind by now.
      let hasKind = (owners?[widget.kind] ?? set) == set
      if hasKind { others.append(trouble) } else { past.append(trouble) }
    }
    // An instance has set such an error on widgets of others, and may serve them no more.
    past += ended.values
    let present = [own].compactMap(\.self) + others
    guard !present.isEmpty || !past.isEmpty else { return nil }
    let errors = widget.error?.all ?? []
    let rest = errors.filter { error in !(present + past).contains { $0.has(error) } }
    let marks = [own?.error()].compactMap(\.self) + others.map { $0.error(forOthers: true) }
    let wanted = WidgetError(joining: Array((marks + rest).prefix(BundleInstance.errorsMax)))
    let wantsStale = present.contains(where: \.makesStale)
    let isFreshAgain = !wantsStale && stale[widget.id] == widget.kind
    var patch = WidgetPatch()
    if wanted?.continuing(widget.error) != widget.error { patch.error = .some(wanted) }
    if wantsStale, !widget.isStale { patch.isStale = true }
    if isFreshAgain, widget.isStale { patch.isStale = false }
    guard patch != WidgetPatch(), !isRoutine || patch.error != nil else { return nil }
    return Change(id: widget.id, kind: widget.kind, patch: patch, etag: listed.etag)
  }

  // MARK: Time

  var nextDeadline: Duration? { [retryAt, lookAt].compactMap(\.self).min() }

  mutating func tick(at uptime: Duration) {
    if let deadline = retryAt, deadline <= uptime { retryAt = nil }
    guard let deadline = lookAt, deadline <= uptime else { return }
    lookAt = nil
    guard !isDue else { return }
    (isDue, isRoutine, owners) = (true, changes == nil, nil)
  }
}
