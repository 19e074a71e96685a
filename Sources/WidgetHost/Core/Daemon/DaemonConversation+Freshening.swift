import WidgetBundle
import WidgetModel

// The end of holds: widgets that a file has again, or that somebody else has taken.
extension DaemonConversation {
  /// Makes widgets fresh that the file has again.
  mutating func freshen(
    _ known: [Widget], but leaving: Set<WidgetID>, of link: BundleLink
  ) {
    let (bundle, claims) = (link.bundle, claims(of: link))
    let kinds = Set(bundle.kinds.map(\.kind.name))
    // Instances leave the errors of a wait alone. They see to all other widgets of these kinds.
    let watched = watchedKinds
    for widget in known where holds.set(of: widget.id).map(claims.has) == true {
      endHold(outdatedBy: widget)
    }
    for widget in known
    where claims.isOwn(widget) && !leaving.contains(widget.id) && link.taking[widget.id] == nil {
      let fresh = holds.freshening(widget.id, keeping: Holds.rest(of: widget))
      let isHeld = holds.end(widget.id)
      if isHeld { declareRivals(of: widget.id, in: widget.applySet) }
      // A widget with another problem of an earlier host did not leave.
      if isHeld || (widget.hasLeft && !kinds.contains(widget.kind)) {
        put(.note("bundle \(bundle.id): the file has widget \(widget.id) again"))
      }
      // The bundle's own instance sees to widgets of its kinds.
      guard isHeld || !(kinds.contains(widget.kind) || watched.contains(widget.kind)) else {
        continue
      }
      if let patch = isHeld ? fresh : freshening(widget) { endWait(of: widget.id, with: patch) }
    }
    holds.keep(only: leaving, of: claims)
    // Somebody took these while no host ran, or just before an earlier host ended.
    for widget in known where !claims.isOwn(widget) && holds.set(of: widget.id) == nil {
      let isLeft = widget.error?.all.contains { Holds.Cause.has($0, of: bundle.id) } ?? false
      guard isLeft, !watched.contains(widget.kind), let patch = freshening(widget) else { continue }
      endWait(of: widget.id, with: patch)
    }
  }

  private mutating func endWait(of id: WidgetID, with patch: WidgetPatch) {
    heldChanges.set(HeldChanges.Change(patch: patch, isWaiting: false), of: id)
  }

  /// Makes the next changes of widgets that wait, or no longer wait.
  mutating func changeHeld() {
    // Another host may serve the daemon.
    guard host.isHolding else { return }
    for id in heldChanges.takeReady(holds) { call(.error(of: id), for: .held(id)) }
  }

  private mutating func changeHeld(_ listed: ListedWidget, at now: HostTime) {
    guard let next = heldChanges.read(listed, holds, canChange: host.isHolding) else { return }
    let id = listed.widget.id
    guard holds.set(of: id) != nil || next.patch.changesStanding(of: listed.widget) else {
      // The daemon sends no news of a change without effect.
      _ = heldChanges.answered(.success(.done), id, at: now.uptime, limits)
      return endWaits(of: [id])
    }
    call(.update(id, next.patch, provider: "", etag: next.etag), for: .held(id))
  }

  mutating func heldAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ id: WidgetID, at now: HostTime
  ) {
    let wasEnding = heldChanges.isEnding
    if case .success(.listed(let listed)) = result, let widget = listed.first {
      changeHeld(widget, at: now)
    } else if heldChanges.answered(result, id, at: now.uptime, limits) {
      holds.forgetError(of: id)
      // No news follows, except of a widget that is gone.
      if case .failure(let failure) = result, failure.code != "NOT_FOUND" { endWaits(of: [id]) }
    }
    // The change may have replaced an error that the marks had set before.
    if wasEnding, !heldChanges.isEnding { cancel(marks.lookAgain()) }
  }

  /// The kinds whose widgets instances know now.
  var watchedKinds: Set<KindName> {
    Set(links.all.filter { $0.watch != nil }.flatMap(\.servedKinds))
  }

  /// The change that ends the errors about problems of bundles that are over; nil if there are none.
  /// Present problems stay.
  private func freshening(_ widget: Widget) -> WidgetPatch? {
    let errors = widget.error?.all ?? []
    let rest = errors.filter { error in
      guard error.reason == BundleInstance.invalid else { return true }
      return !Holds.Cause.has(error) && marks.trouble(of: error) != nil
    }
    guard rest.count < errors.count else { return nil }
    let isFresh = !rest.contains { marks.trouble(of: $0)?.makesStale == true }
    return WidgetPatch(
      isStale: isFresh ? false : nil, error: .some(WidgetError(joining: rest)))
  }

  /// Ends the holds of widgets that have moved to another set.
  mutating func endOutdatedHolds(_ news: DaemonNews) {
    guard !holds.isEmpty else { return }
    switch news {
    case .snapshot(let widgets): for widget in widgets { endHold(outdatedBy: widget) }
    case .widget(let widget): endHold(outdatedBy: widget)
    case .removed: break
    }
  }

  /// Makes a widget fresh that somebody else has taken, so nobody removes it.
  private mutating func endHold(outdatedBy widget: Widget) {
    guard holds.isOutdated(by: widget) else { return }
    let fresh = holds.freshening(widget.id, keeping: Holds.rest(of: widget))
    holds.end(widget.id)
    declareRivals(of: widget.id, in: widget.applySet)
    // Somebody can have cleared the error.
    endWait(of: widget.id, with: fresh)
  }
}

extension Widget {
  /// Whether the widget waits for its removal, as its errors say.
  fileprivate var hasLeft: Bool { error?.all.contains { Holds.Cause.has($0) } ?? false }
}

extension WidgetPatch {
  /// Whether the patch changes the staleness or the errors of a widget.
  fileprivate func changesStanding(of widget: Widget) -> Bool {
    if let isStale, isStale != widget.isStale { return true }
    if let error, error != widget.error { return true }
    return false
  }
}
