import WidgetBundle
import WidgetModel

// The watches of bundles: the widgets that the instance of a bundle serves.
extension DaemonConversation {
  /// The daemon refuses the bundle, and others may have its kinds. So the instance forgets the
  /// widgets, and no longer changes them.
  mutating func stopServing(_ generation: UInt64) {
    endWatch(generation)
    tell(.snapshot([]), generation)
  }

  /// The daemon refuses removed kinds, which others may have, and the session goes on. So the
  /// instance forgets only the widgets of these kinds.
  mutating func serveRest(_ generation: UInt64, after before: Set<KindName>) {
    guard let link = links[generation], !link.servedKinds.isEmpty else {
      return stopServing(generation)
    }
    guard link.lostKinds != before else { return }
    endWatch(generation)
    watch(generation)
  }

  mutating func watch(_ generation: UInt64) {
    guard let link = links[generation] else { return }
    let id = exchange.watch(link.kinds, for: generation)
    links.change(generation) { $0.watch(id) }
  }

  mutating func endWatch(_ generation: UInt64) {
    if let watch = links.change(generation, { $0.takeWatch() }) ?? nil { exchange.endWatch(watch) }
  }

  mutating func heard(_ news: DaemonNews, _ generation: UInt64, at now: HostTime) {
    guard let link = links[generation] else { return }
    let bundle = link.bundle
    endOutdatedHolds(news)
    let held = holds.ids
    let watched = bundle.widgets.filter { !link.lostKinds.contains($0.kind) }
    let declared = Set(watched.compactMap(\.id)).subtracting(held)
    switch news {
    case .snapshot(let widgets):
      for widget in widgets where held.contains(widget.id) { holds.hear(widget) }
      tell(
        .snapshot(widgets),
        about: (toldWaiting[generation] ?? []).union(widgets.map(\.id)), generation)
      let own = HostState.provider(of: bundle.id)
      for widget in widgets where declared.contains(widget.id) && widget.applySet == own {
        see(widget, generation, at: now)
      }
      restore(declared.subtracting(widgets.map(\.id)), generation, at: now)
    case .widget(let widget):
      if held.contains(widget.id) { holds.hear(widget) }
      tell(.widget(widget), about: [widget.id], generation)
      if declared.contains(widget.id) { see(widget, generation, at: now) }
    case .removed(let id):
      tell(.removed(id), about: [id], generation)
      restore(declared.intersection([id]), generation, at: now)
    }
  }

  /// Tells an instance news about widgets. A widget whose wait begins waits before the news, so its
  /// sources do not begin. A widget whose wait is over waits until after the news, which has its
  /// present errors.
  mutating func tell(
    _ news: BundleInput, about ids: Set<WidgetID>, _ generation: UInt64
  ) {
    let held = ids.intersection(holds.ids)
    let before = toldWaiting[generation] ?? []
    tell(waiting: before.union(held), generation)
    tell(news, generation)
    tell(waiting: before.subtracting(ids).union(held), generation)
  }

  /// The wait of a widget begins. Its instance interrupts the actions.
  mutating func tellWait(of id: WidgetID, _ kind: KindName) {
    for generation in links.generations {
      guard links[generation]?.bundle.kinds.contains(where: { $0.kind.name == kind }) == true
      else { continue }
      tell(waiting: (toldWaiting[generation] ?? []).union([id]), generation)
    }
  }

  /// The time of these widgets is over. Their instances interrupt the actions.
  ///
  /// - Returns: the generations of these instances.
  mutating func tellEnds(of ids: Set<WidgetID>) -> Set<UInt64> {
    var servers: Set<UInt64> = []
    for (generation, told) in toldWaiting.sorted(by: { $0.key < $1.key }) {
      let ending = told.intersection(ids)
      guard !ending.isEmpty else { continue }
      servers.insert(generation)
      tell(ending: (toldEnding[generation] ?? []).union(ending), generation)
    }
    return servers
  }

  /// Tells the instances which widgets wait on, although their time was over. A new version that has
  /// a widget again decides later.
  mutating func tellResumed() {
    for (generation, told) in toldEnding.sorted(by: { $0.key < $1.key }) {
      let rest = told.filter { !holds.saysWaiting($0) }
      if rest != told { tell(ending: rest, generation) }
    }
  }

  private mutating func tell(ending ids: Set<WidgetID>, _ generation: UInt64) {
    toldEnding[generation] = ids.isEmpty ? nil : ids
    tell(.ending(ids), generation)
  }

  /// The waits of these widgets may be over, and no news follows.
  mutating func endWaits(of ids: Set<WidgetID>) {
    let ended = ids.subtracting(holds.ids)
    for (generation, told) in toldWaiting.sorted(by: { $0.key < $1.key }) {
      tell(waiting: told.subtracting(ended), generation)
    }
  }

  private mutating func tell(waiting ids: Set<WidgetID>, _ generation: UInt64) {
    guard ids != toldWaiting[generation] ?? [] else { return }
    toldWaiting[generation] = ids.isEmpty ? nil : ids
    let ending = toldEnding[generation]?.intersection(ids) ?? []
    toldEnding[generation] = ending.isEmpty ? nil : ending
    tell(.waiting(ids), generation)
  }

  mutating func watchEnded(_ failure: Failure, _ generation: UInt64, at now: HostTime) {
    guard let link = links[generation] else { return }
    let deadline = now.uptime + limits.watchWait
    let isNews = links.change(generation) { $0.watchEnded(failure, retryAt: deadline) }
    if isNews == true { report("bundle \(link.bundle.id): \(failure.message)") }
  }

  /// Sees a widget with the id of a bundle's widget. If it has another owner, declares it again after a
  /// wait: this gives a refusal that names the owner. If not, it need not be restored.
  private mutating func see(_ widget: Widget, _ generation: UInt64, at now: HostTime) {
    let limits = limits
    links.change(generation) { link in
      let isOwn = widget.applySet == HostState.provider(of: link.bundle.id)
      link.see(widget.id, isOwn: isOwn, at: now.uptime, limits)
    }
  }

  /// Declares removed widgets and kinds of a bundle again, after a wait.
  mutating func restore(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], _ generation: UInt64, at now: HostTime
  ) {
    guard !ids.isEmpty || !kinds.isEmpty else { return }
    let limits = limits
    links.change(generation) { $0.lost(ids, kinds: kinds, at: now.uptime, limits) }
  }
}
