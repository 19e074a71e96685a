import WidgetBundle
import WidgetModel

// Widgets that a bundle's file no longer has (`Holds`), and the declarations that lack them.
extension DaemonConversation {
  /// The claims of a bundle, with those that it takes over from bundles with former ids.
  func claims(of bundle: Bundle) -> BundleClaims {
    let inherited = withdrawals.inherited(by: bundle.id)
    return BundleClaims(of: bundle, inherited: Set(inherited.map(HostState.provider(of:))))
  }

  /// The claims of the declaration under way. It knows nothing of bundles that came later.
  func claims(of link: BundleLink) -> BundleClaims {
    let inherited = withdrawals.inherited(by: link.bundle.id).intersection(link.inheriting)
    return BundleClaims(
      of: link.bundle, inherited: Set(inherited.map(HostState.provider(of:))),
      taking: Set(link.taking.keys))
  }

  /// The kinds of the widgets to ask for before a declaration; empty for all. nil: ask for none.
  ///
  /// Widgets that the file no longer has can have other kinds. This host knows these kinds only
  /// from its own declarations, so its first question is about all widgets.
  func askedKinds(_ bundle: Bundle) -> [KindName]? {
    guard let declared = declarations.kinds(of: bundle.id),
      withdrawals.inherited(by: bundle.id).isEmpty
    else { return [] }
    let held = holds.kinds(of: claims(of: bundle))
    let kinds = declared.union(bundle.widgets.map(\.kind)).union(held)
    return kinds.isEmpty ? nil : kinds.sorted { $0.rawValue < $1.rawValue }
  }

  /// The widgets of the bundle that the file no longer has, or has with another kind; in order.
  func leaving(_ link: BundleLink, _ known: [Widget]) -> [Widget] {
    let claims = claims(of: link)
    let kinds = link.bundle.kindsOfWidgets
    return known.filter { claims.isOwn($0) && kinds[$0.id] != $0.kind }
      .sorted { WidgetID.inOrder($0.id, $1.id) }
  }

  /// A version is loaded that has some of the widgets again.
  mutating func suspendHolds(for bundle: Bundle) { holds.suspend(claims(of: bundle)) }

  /// The values that go with the widgets are known.
  ///
  /// - Parameter owners: the owners of their fields, by widget.
  mutating func foreseen(
    _ results: [ApplyResult], _ known: [Widget], _ owners: [WidgetID: [FieldOwner]],
    _ generation: UInt64, at now: HostTime
  ) {
    guard let link = links[generation] else { return }
    let bundle = link.bundle
    var lost = Dictionary(grouping: BundleClaims.lost(results), by: \.widget)
    for widget in leaving(link, known) {
      lost[widget.id, default: []] += unrecorded(in: widget, owners[widget.id], of: bundle)
    }
    // A widget that the daemon does not name has moved to another set meanwhile.
    let going = Set(results.lazy.filter { $0.action == .deleted }.map(\.id))
    let all = leaving(link, known)
    let staying = all.filter { !going.contains($0.id) }
    for widget in staying { holds.end(widget.id) }
    endWaits(of: Set(staying.map(\.id)))
    let leaving = all.filter { going.contains($0.id) }
    var rest: [Widget] = []
    var problems = heldProblems
    for widget in leaving {
      let fields = lost[widget.id]?.map(\.field.path) ?? []
      // The daemon names a limited number of values.
      let isNamed = !fields.isEmpty || BundleClaims.areCut(results)
      if !isNamed || (link.removesAtOnce && !isWanted(widget)) {
        holds.end(widget.id)
        rest.append(widget)
      } else if isRecalled(widget.id) {
        recall(widget, of: bundle, beside: &problems, at: now)
      } else {
        switch holds.leave(widget, until: now.uptime + limits.absenceMax) {
        case .waits: break
        case .goes: rest.append(widget)
        case .begins:
          rests.begin(offer: widget.id)
          hold(widget, of: bundle, losing: fields, beside: &problems, at: now)
        case .beginsAgain: hold(widget, of: bundle, losing: fields, beside: &problems, at: now)
        }
      }
    }
    let own = HostState.provider(of: bundle.id)
    // The declaration itself removes widgets of the bundle's own set.
    guard rest.count < leaving.count || rest.contains(where: { $0.applySet != own }) else {
      links.change(generation) { $0.expect(rest.flatMap { lost[$0.id] ?? [] }) }
      return self.own(known, generation)
    }
    guard !rest.isEmpty else { return keep(known, generation) }
    let ids = rest.map(\.id)
    let call = call(.remove(ids), for: .work(generation))
    links.change(generation) {
      $0.begin(.removing(call, known: known.filter { !ids.contains($0.id) }))
    }
    for field in ids.flatMap({ lost[$0] ?? [] }) { put(.kept(field, bundle: bundle.id)) }
  }

  /// Whether the daemon refuses a version of the widget's bundle that has the widget again.
  func isRecalled(_ id: WidgetID) -> Bool {
    guard let set = holds.set(of: id), let kind = holds.kind(of: id) else { return false }
    return rests.bundles.contains { $0.kindsOfWidgets[id] == kind && claims(of: $0).has(set) }
  }

  /// Shows that a widget stays, stale, because the daemon refuses the file that has it again.
  private mutating func recall(
    _ widget: Widget, of bundle: Bundle, beside problems: inout HeldProblems, at now: HostTime
  ) {
    let words =
      "the daemon refuses the file of bundle \(bundle.id), which has this widget again; the widget"
      + " and its values stay until the daemon takes the file, or the file lacks the widget again,"
      + " or the bundle is removed;"
      + " \"widgetctl bundle ls\" has the reason of the refusal"
    holds.recall(widget.id, saying: words)
    show(widget.id, beside: &problems, at: now)
  }

  /// Shows that a widget stays for a while, stale.
  private mutating func hold(
    _ widget: Widget, of bundle: Bundle, losing fields: [String],
    beside problems: inout HeldProblems, at now: HostTime
  ) {
    var what =
      bundle.widgets.contains { $0.id == widget.id }
      ? "gives this widget another kind" : "no longer has this widget"
    let prefix = HostState.provider(of: "")
    let former = String(widget.applySet.dropFirst(prefix.count))
    if former != bundle.id { what += ", which bundle \(former) had" }
    let list =
      fields.isEmpty
      ? "too many to name"
      : fields.prefix(limits.othersShownMax).joined(separator: ", ")
        + (fields.count > limits.othersShownMax ? ", …" : "")
    let cause = Holds.Cause(
      change: "the file of bundle \(bundle.id) \(what)",
      isDeclared: bundle.kindsOfWidgets[widget.id] != nil, values: list)
    holds.set(cause, of: widget.id)
    if let problem = show(widget.id, beside: &problems, at: now) {
      report(hold: "bundle \(bundle.id): widget \(widget.id): \(problem)", of: widget.id)
    }
    tellWait(of: widget.id, widget.kind)
  }

  /// Sets the error of a widget that waits, if it changes.
  ///
  /// - Returns: its words.
  @discardableResult
  private mutating func show(
    _ id: WidgetID, beside problems: inout HeldProblems, at now: HostTime
  ) -> String? {
    let others = problems.errors(on: id, holds, marks)
    guard let error = holds.show(id, beside: others, at: now) else { return nil }
    let patch = WidgetPatch(isStale: true, error: .some(error))
    heldChanges.set(HeldChanges.Change(patch: patch, isWaiting: true), of: id)
    return error.message
  }

  /// Shows the ends that have moved since they were shown, and the problems that have changed.
  mutating func showHolds(at now: HostTime) {
    // Another host may serve the daemon.
    guard host.isHolding, !holds.isEmpty else { return }
    let ids = holds.takeUnshown()
    guard !ids.isEmpty else { return }
    var problems = heldProblems
    for id in ids { show(id, beside: &problems, at: now) }
  }

  /// Declares the widgets of the file beside those that stay for a while.
  mutating func keep(_ known: [Widget], _ generation: UInt64) {
    guard let link = links[generation] else { return }
    let (bundle, claims) = (link.bundle, claims(of: link))
    let held = holds.widgets(of: claims)
    let taken = claims.taken(from: known, before: declarations.fields(of: bundle.id))
    let call = call(
      .keep(specs(link, known, without: held), set: HostState.provider(of: bundle.id)),
      for: .work(generation))
    links.change(generation) { $0.own(call, taking: taken) }
  }

  /// The bundle has declared its widgets. So it has taken over those of former bundles, and the
  /// widgets whose time is over are gone.
  mutating func takenOver(_ generation: UInt64) {
    guard let link = links[generation] else { return }
    withdrawals.taken(link.inheriting, by: link.bundle.id)
    holds.declared(claims(of: link))
    for (id, set) in link.taking.sorted(by: { WidgetID.inOrder($0.key, $1.key) }) {
      let patch = holds.freshening(id)
      holds.end(id)
      declareRivals(of: id, in: HostState.provider(of: link.bundle.id))
      let former = set.dropFirst(HostState.provider(of: "").count)
      put(
        .note(
          "bundle \(link.bundle.id) has taken over widget \(id) from bundle \(former), with the"
            + " values that users, events and actions have set"))
      heldChanges.set(HeldChanges.Change(patch: patch, isWaiting: false), of: id)
    }
    links.change(generation) { $0.take([:]) }
  }

  // MARK: Widgets that move to another bundle

  /// The reason why the bundle cannot declare its widgets. If there is none, the bundle takes over
  /// widgets that other bundles no longer have.
  mutating func conflict(with known: [Widget], _ generation: UInt64) -> String? {
    giveBack(generation)
    guard let link = links[generation] else { return nil }
    let kinds = link.bundle.kindsOfWidgets
    let own = claims(of: link)
    let taking = known.filter { widget in
      kinds[widget.id] == widget.kind && !own.isOwn(widget) && holds.offers(widget)
        && isGivenUp(widget)
    }
    links.change(generation) {
      $0.tries(Set(taking.map(\.id)))
      $0.take(Dictionary(taking.map { ($0.id, $0.applySet) }) { first, _ in first })
    }
    let claims = links[generation].map { self.claims(of: $0) } ?? own
    if let rival = rival(of: claims, among: known, generation) {
      links.change(generation) { $0.take([:]) }
      return words(of: claims, on: rival)
    }
    holds.take(Set(taking.map(\.id)))
    return nil
  }

  /// The widget of another owner that prevents the declaration under way.
  mutating func rival(
    of claims: BundleClaims, among known: [Widget], _ generation: UInt64
  ) -> Circumstances.WidgetStanding? {
    let rival = claims.rival(among: known)
    links.change(generation) { $0.meets(rival) }
    return rival
  }

  /// The reason why a bundle cannot declare its widgets.
  func words(of claims: BundleClaims, on rival: Circumstances.WidgetStanding) -> String {
    claims.words(
      on: rival, isLeaving: leaving(wantedBy: claims.bundle).contains(rival.id),
      isDropped: isDropped(rival))
  }

  /// The widgets of a bundle that other bundles are giving up: their files no longer have these ids, and
  /// the widgets wait for their removal.
  func leaving(wantedBy bundle: Bundle) -> Set<WidgetID> {
    guard !holds.isEmpty else { return [] }
    let wanted = bundle.kindsOfWidgets
    let own = claims(of: bundle)
    return holds.ids.filter { id in
      guard wanted[id] != nil, let set = holds.set(of: id), !own.has(set), !isRecalled(id) else {
        return false
      }
      return links.all.allSatisfy { link in
        !claims(of: link.bundle).has(set) || link.bundle.kindsOfWidgets[id] == nil
      }
    }
  }

  /// Whether a new version of the widget's bundle lacks the widget, although the daemon has not
  /// taken this version.
  private func isDropped(_ rival: Circumstances.WidgetStanding) -> Bool {
    let versions = rests.bundles + links.all.filter { !$0.hasDeclared }.map(\.bundle)
    return versions.contains {
      $0.kindsOfWidgets[rival.id] == nil && claims(of: $0).has(rival.applySet)
    }
  }

  /// The same for the widget that the last refusal of a bundle names.
  func isRivalDropped(of id: String) -> Bool {
    rests.rival(of: id).map { isDropped($0) } ?? false
  }

  /// Retries bundles whose refusal describes the widgets of other bundles wrongly by now, or gives
  /// the refusal new words.
  mutating func retryOutdatedRefusals() {
    guard !rests.isEmpty else { return }
    let outdated = rests.outdated { (leaving(wantedBy: $0), isRivalDropped(of: $0.id)) }
    for (holder, bundle, needsWords) in outdated {
      guard needsWords, let rival = rests.rival(of: bundle.id) else {
        endRest(holder)
        continue
      }
      rests.set(holder, isDropped: isDropped(rival))
      put(.reworded(id: bundle.id, refusal: words(of: claims(of: bundle), on: rival)))
    }
  }

  /// Whether the daemon has taken a version of the widget's bundle that lacks the widget. If it
  /// refuses the version, the former one runs again, and needs the widget. A version with another
  /// kind needs the id.
  private func isGivenUp(_ widget: Widget) -> Bool {
    let owners = links.all.filter { claims(of: $0.bundle).has(widget.applySet) }
    return !owners.isEmpty
      && owners.allSatisfy { $0.hasDeclared && $0.bundle.kindsOfWidgets[widget.id] == nil }
  }

  /// A set owns the widget now. A bundle whose file has the same id may have left it out because of a
  /// hold. Such a bundle declares its widgets again. The daemon then accepts the id or names its owner.
  mutating func declareRivals(of id: WidgetID, in set: String) {
    for generation in links.generations {
      guard let link = links[generation], link.hasDeclared,
        link.bundle.kindsOfWidgets[id] != nil, !claims(of: link.bundle).has(set)
      else { continue }
      links.change(generation) { $0.declareAgain() }
    }
  }

  /// Whether another bundle declares the widget with the same kind.
  private func isWanted(_ widget: Widget) -> Bool {
    !rests.wanting(widget.id, widget.kind).isEmpty
      || links.all.contains { $0.bundle.kindsOfWidgets[widget.id] == widget.kind }
  }

  /// The bundle has not declared its widgets, so it has not taken over those of others.
  mutating func giveBack(_ generation: UInt64) {
    guard let link = links[generation], !link.taking.isEmpty else { return }
    holds.giveBack(Set(link.taking.keys))
    links.change(generation) { $0.take([:]) }
    // A third bundle may have been refused meanwhile.
    for id in link.taking.keys.sorted(by: WidgetID.inOrder) {
      if let kind = link.bundle.kindsOfWidgets[id] { retryBundles(wanting: id, kind, but: link) }
    }
  }

  /// Retries refused bundles that declare widgets which this bundle no longer has.
  mutating func offerHolds(_ generation: UInt64) {
    guard let link = links[generation] else { return }
    for (id, kind) in holds.offered(by: claims(of: link)) {
      retryBundles(wanting: id, kind, but: link)
    }
  }

  /// Retries the refused bundles that declare a widget with this kind, except one. If a bundle was
  /// refused although it was taking the widget over, another cause must end first.
  private mutating func retryBundles(wanting id: WidgetID, _ kind: KindName, but link: BundleLink) {
    for holder in rests.wanting(id, kind) where rests.dependsOnHolds(holder) {
      guard let refused = bundle(of: holder), refused != link.bundle.id,
        !rests.hasTried(refused, id)
      else { continue }
      endRest(holder)
    }
  }

  /// Tells which widgets of a bundle wait for their removal.
  mutating func tellHolds(_ generation: UInt64) {
    guard let link = links[generation], !holds.isEmpty || link.hasToldHeld else { return }
    let claims = claims(of: link.bundle)
    let (widgets, kinds) = (holds.shown(of: claims), holds.kinds(of: claims))
    if links.change(generation, { $0.tell(held: widgets, of: kinds) }) == true {
      put(.held(widgets, kinds: kinds, generation: generation))
    }
  }

  /// Removes the widgets whose time is over.
  mutating func endHolds(at now: HostTime) {
    guard !holds.isEmpty else { return }
    postponeHolds(at: now)
    delayHolds(at: now)
    let ids = Set(holds.due(at: now.uptime))
    let due = holds.tick(at: now.uptime)
    guard !due.isEmpty else { return }
    let servers = tellEnds(of: ids)
    var known: Set<String> = []
    for generation in links.generations {
      guard let sets = links[generation].map({ claims(of: $0.bundle).sets }) else { continue }
      known.formUnion(sets)
      if !due.isDisjoint(with: sets) {
        endings[generation] = (servers, now.uptime + limits.endWaitMax)
      }
    }
    // Nobody is left to remove the others.
    let before = holds.ids
    holds.forgetAll(but: known)
    endWaits(of: before)
  }

  /// Removes the widgets whose time is over, when the changes that end their actions are made.
  mutating func declareEndings(_ generation: UInt64, at now: HostTime) {
    guard let ending = endings[generation] else { return }
    let isChanging = ending.servers.contains { server in
      links[server].map { $0.calling != nil || !$0.calls.isEmpty } ?? false
    }
    guard !isChanging || ending.latest <= now.uptime else { return }
    endings[generation] = nil
    links.change(generation) { $0.declareAgain() }
  }

  /// Lets the time of widgets run only while their bundles can remove them. Otherwise no bundle
  /// could take them over either. A missing file, or one with a mistake, may have the widgets
  /// again. If the running version has such a widget with another kind, it waits for the removal, so
  /// the time runs in spite of a mistake.
  private mutating func postponeHolds(at now: HostTime) {
    var (known, ready): (Set<String>, Set<String>) = ([], [])
    for link in links.all {
      let sets = claims(of: link.bundle).sets
      known.formUnion(sets)
      let end = now.uptime + limits.absenceMax
      let isMissing = missing.contains(link.bundle.id)
      if isMissing || broken.contains(link.bundle.id) {
        let kept: Set<WidgetID> = isMissing ? [] : Set(link.bundle.kindsOfWidgets.keys)
        holds.postpone(sets, but: kept, dueAt: now.uptime, until: end)
        // The declaration that removes widgets can be delayed.
        if link.work == .none { holds.resume(sets, but: kept, until: end) }
      }
      if host.isHolding, link.canDeclare { ready.formUnion(sets) }
    }
    holds.postpone(
      known.subtracting(ready), dueAt: now.uptime, until: now.uptime + limits.absenceMax)
  }

  /// Shows no time while a mistake in the file of a bundle, or a folder that cannot be read, lets the
  /// time of its widgets stand still. See `postponeHolds`.
  mutating func pauseHolds(at now: HostTime) {
    guard !holds.isEmpty else { return }
    var kept: [String: Set<WidgetID>] = [:]
    for link in links.all {
      let id = link.bundle.id
      let isMissing = missing.contains(id)
      let isUnreadable = isMissing && removals[id] == nil && host.isHolding
      guard isUnreadable || broken.contains(id) else { continue }
      for set in claims(of: link.bundle).sets {
        kept[set] = isMissing ? [] : Set(link.bundle.kindsOfWidgets.keys)
      }
    }
    holds.pause(at: now.uptime, whole: limits.absenceMax) { id, set in
      kept[set].map { !$0.contains(id) } ?? false
    }
  }

  /// A missing bundle takes its waiting widgets with it. So their time ends when the bundle is
  /// removed.
  mutating func followRemovals() {
    guard holds.takeOutdatedEnds(), !holds.isEmpty, !removals.isEmpty else { return }
    for link in links.all {
      guard let end = removals[link.bundle.id] else { continue }
      holds.postpone(claims(of: link.bundle).sets, dueAt: end, until: end)
    }
  }

  /// The daemon is back. The bundles need a moment to connect, and users may have saved files
  /// meanwhile, so each widget stays for its whole time.
  mutating func prolongHolds(at now: HostTime) {
    let end = now.uptime + limits.absenceMax
    holds.postpone(dueAt: end, until: end)
    for link in links.all where link.work == .none {
      holds.resume(claims(of: link.bundle).sets, until: end)
    }
  }

  /// The daemon refuses a bundle, so the bundle cannot remove widgets.
  mutating func resumeHolds(of bundle: Bundle, at now: HostTime) {
    holds.resume(claims(of: bundle).sets, until: now.uptime + limits.absenceMax)
  }
}
