import WidgetBundle
import WidgetClient
import WidgetModel

// The conversations of bundles with the daemon.
extension Host {
  func open(_ generation: UInt64, _ bundle: Bundle) {
    withdrawals.removeValue(forKey: bundle.id)?.cancel()
    links[generation] = Link(bundle: bundle)
    start(generation)
  }

  /// Begins a bundle's conversation, if the host has its own already.
  private func start(_ generation: UInt64) {
    guard isServing, let link = links[generation], link.following == nil else { return }
    links[generation]?.following = Task { await self.follow(generation, link.bundle) }
  }

  func close(_ generation: UInt64) {
    guard let link = links.removeValue(forKey: generation) else { return }
    link.following?.cancel()
    link.watching?.cancel()
    link.restoring?.cancel()
    link.pause?.cancel()
    link.calling?.cancel()
    if let session = link.session { retiring[link.bundle.id, default: []].append(session) }
  }

  /// Closes the sessions of bundles that are not there any more.
  func closeRetired() {
    guard !retiring.isEmpty, !isStopped else { return }
    let known = Set(links.values.map(\.bundle.id))
    for id in Array(retiring.keys) where !known.contains(id) { closeRetired(id) }
  }

  private func closeRetired(_ id: String) {
    guard let sessions = retiring.removeValue(forKey: id) else { return }
    Task { for session in sessions { await session.close() } }
  }

  /// Provides a bundle's kinds until it is closed.
  private func follow(_ generation: UInt64, _ bundle: Bundle) async {
    // Make the bundle's own widget (`bundle/ID`) first. If the folder is removed while no host
    // runs, the next host knows from that widget what to remove.
    await standingTask?.value
    var attempts = 0
    while !Task.isCancelled, links[generation] != nil {
      // Send the acknowledgements of the former version, so that its events do not come again.
      for session in retiring[bundle.id] ?? [] { await session.flush() }
      guard links[generation] != nil else { return }
      let session = daemon.session(
        HostState.provider(of: bundle.id), kinds: bundle.kinds.map(\.kind),
        takesOver: retiring[bundle.id] != nil,
        includesAudience: bundle.kinds.contains { $0.sources.contains(where: \.isWhileWatched) })
      links[generation]?.session = session
      do throws(Failure) {
        return try await session.follow { await self.heard($0, generation, session) }
      } catch {
        if Task.isCancelled { return }
        links[generation]?.session = nil
        endWatch(generation)
        await session.close()
        attempts += 1
        // The daemon may not know yet that a former host has ended.
        if error.isProvidedAlready, attempts < Host.attemptsMax {
          try? await clock.sleep(for: Host.wait(attempts))
          continue
        }
        guard links[generation] != nil else { return }
        handle(state.declared(generation: generation, refusal: error.message, at: now))
      }
      // The daemon may refuse the bundle because of others' kinds or widgets, and others may remove
      // them.
      await rest(generation, bundle)
    }
  }

  /// How often another host's session is waited for.
  static var attemptsMax: Int { 6 }

  /// Waits after a refusal until the bundle's kinds or widgets change, somebody asks for a retry,
  /// or the time for a retry has come.
  private func rest(_ generation: UInt64, _ bundle: Bundle) async {
    let pause = Task {
      await waitForChange(of: bundle, until: clock.now + options.limits.refusalRetryInterval)
    }
    links[generation]?.pause = pause
    await withTaskCancellationHandler {
      await pause.value
    } onCancel: {
      pause.cancel()
    }
    links[generation]?.pause = nil
  }

  /// Waits until the owners of a bundle's kinds and widgets change.
  func waitForChange(of bundle: Bundle, until end: ContinuousClock.Instant?) async {
    let kinds = Array(Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind)))
    let ids = bundle.widgets.compactMap(\.id)
    var known = try? await daemon.standing(kinds: kinds, widgets: ids)
    while !Task.isCancelled, end.map({ clock.now < $0 }) ?? true {
      try? await clock.sleep(for: options.limits.refusalLookInterval)
      // No answer from the daemon is not a change.
      guard !Task.isCancelled, let now = try? await daemon.standing(kinds: kinds, widgets: ids)
      else { continue }
      if let known, known != now { return }
      known = now
    }
  }

  /// Retries bundles that the daemon has refused: one, or all if `id` is nil.
  func retry(_ id: String?) {
    for link in links.values where id == nil || link.bundle.id == id { link.pause?.cancel() }
    for key in Array(retries.keys) where id == nil || key == id { retries[key]?.cancel() }
  }

  /// Retries a refused version, whose former version still runs, when its kinds or widgets change.
  func awaitRetry(_ id: String, _ bundle: Bundle?) {
    retries.removeValue(forKey: id)?.cancel()
    guard let bundle, !isStopped else { return }
    let number = (lastRetry &+ 1)
    lastRetry = number
    retries[id] = Task {
      // A cancelled wait means: retry now. If the retry is not wanted at all, `retries[id]` is nil.
      await waitForChange(of: bundle, until: nil)
      guard !isStopped, retries[id] != nil, retryNumbers[id] == number else { return }
      retries[id] = nil
      handle(state.retry(id, at: now))
    }
    retryNumbers[id] = number
  }

  private func heard(
    _ news: SessionNews, _ generation: UInt64, _ session: any DaemonSession
  ) async {
    guard let bundle = links[generation]?.bundle else { return }
    switch news {
    case .opened(let epoch, let tellsAudience):
      tell(.opened(epoch: epoch, tellsAudience: tellsAudience), generation)
      endWatch(generation)
      links[generation]?.watching = Task { await self.watch(generation, bundle, session) }
    case .lost: break
    case .refused(let words):
      handle(state.declared(generation: generation, refusal: words, at: now))
    case .event(let event): tell(.event(event), generation)
    case .missed(let last):
      report("bundle \(bundle.id): events may be lost: the daemon does not have them any more")
      try? await session.acknowledge(missed: last)
    case .asked(let id, let isRefresh): tell(.asked(id, isRefresh: isRefresh), generation)
    // The watch reports widgets that exist, so this reports only the end of data requests.
    case .removed(let ids): for id in ids { tell(.unasked(id), generation) }
    case .audience(let attached, let detached):
      tell(.audience(attached: attached, detached: detached), generation)
    case .kindsRemoved(let names):
      restore(kinds: Set(bundle.kinds.map(\.kind.name)).intersection(names), generation)
    case .bundles: break
    }
  }

  private func endWatch(_ generation: UInt64) {
    links[generation]?.watching?.cancel()
    links[generation]?.restoring?.cancel()
    links[generation]?.restoring = nil
    links[generation]?.restoration.settle()
  }

  /// Declares a bundle's widgets and follows their changes, until the session is opened again or
  /// closed.
  private func watch(
    _ generation: UInt64, _ bundle: Bundle, _ session: any DaemonSession
  ) async {
    do throws(Failure) { try await session.ready() } catch { return }
    guard !Task.isCancelled, links[generation] != nil else { return }
    // The new version's kinds are registered, so the session of the former version can close.
    closeRetired(bundle.id)
    // The bundle needs the widgets of its kinds. Widgets of other kinds are watched to restore
    // them.
    let kinds = Array(Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind)))
    var last: Failure?
    while !Task.isCancelled, links[generation] != nil {
      guard await declare(generation, bundle) else {
        await rest(generation, bundle)
        continue
      }
      if kinds.isEmpty { return }
      do throws(Failure) {
        try await daemon.follow(kinds: kinds) { await self.heard($0, generation) }
      } catch {
        if Task.isCancelled { return }
        if error != last { report("bundle \(bundle.id): \(error.message)") }
        last = error
        try? await clock.sleep(for: .seconds(1))
      }
    }
  }

  private func heard(_ news: DaemonNews, _ generation: UInt64) {
    guard !Task.isCancelled, let bundle = links[generation]?.bundle else { return }
    let declared = Set(bundle.widgets.compactMap(\.id))
    switch news {
    case .snapshot(let widgets):
      tell(.snapshot(widgets), generation)
      restore(declared.subtracting(widgets.map(\.id)), generation)
    case .widget(let widget):
      tell(.widget(widget), generation)
      // Somebody removed the bundle's widget and made one with the same id. To declare it again
      // gives a refusal that names the owner.
      if widget.applySet != HostState.provider(of: bundle.id) {
        restore(declared.intersection([widget.id]), generation)
      }
    case .removed(let id):
      tell(.removed(id), generation)
      restore(declared.intersection([id]), generation)
    }
  }

  /// Starts to declare removed widgets and kinds of a bundle again.
  private func restore(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], _ generation: UInt64
  ) {
    guard !ids.isEmpty || !kinds.isEmpty, let link = links[generation], !isStopped else { return }
    links[generation]?.restoration.lost(ids, kinds: kinds, at: now.uptime, options.limits)
    guard link.restoring == nil else { return }
    links[generation]?.restoring = Task { await self.restoreLost(generation, link.bundle) }
  }

  private func restoreLost(_ generation: UInt64, _ bundle: Bundle) async {
    while let wait = nextRestoration(generation) {
      try? await clock.sleep(for: wait)
      guard !Task.isCancelled else { return }
      guard let link = links[generation] else { return }
      let (ids, kinds) = links[generation]?.restoration.begin(at: now.uptime) ?? ([], [])
      report(
        "bundle \(bundle.id): restoring what somebody removed: "
          + (kinds.map { "kind \($0)" } + ids.map(\.rawValue)).joined(separator: ", "))
      // If the session is lost meanwhile, it declares its kinds when it is opened again.
      if !kinds.isEmpty { await restoreKinds(link.session, of: generation) }
      while !(await declare(generation, bundle)) {
        guard !Task.isCancelled, links[generation] != nil else { return }
        await rest(generation, bundle)
      }
    }
  }

  /// Declares a bundle's kinds again.
  private func restoreKinds(_ session: (any DaemonSession)?, of generation: UInt64) async {
    do throws(Failure) {
      try await session?.declareKinds()
    } catch {
      guard !error.isTransient, error.code != "CANCELLED" else { return }
      handle(state.declared(generation: generation, refusal: error.message, at: now))
    }
  }

  /// - Returns: the wait before the next restoration; nil if nothing is missing.
  private func nextRestoration(_ generation: UInt64) -> Duration? {
    guard !Task.isCancelled, let link = links[generation] else { return nil }
    guard !link.restoration.isComplete else {
      links[generation]?.restoring = nil
      return nil
    }
    return link.restoration.wait(options.limits)
  }

  /// Declares a bundle's widgets, as often as it takes.
  ///
  /// - Returns: whether the daemon has taken them.
  private func declare(_ generation: UInt64, _ bundle: Bundle) async -> Bool {
    var attempts = 0
    while !Task.isCancelled, links[generation] != nil {
      do throws(Failure) {
        // Widgets of a bundle that is being removed are no conflict, so wait for the removal.
        for task in Array(withdrawals.values) { await task.value }
        let known = try await daemon.widgets(kinds: Array(Set(bundle.widgets.map(\.kind))))
        if let conflict = HostState.conflict(of: bundle, with: known) {
          throw Failure("ALREADY_EXISTS", conflict)
        }
        let results = try await daemon.own(
          widgets: HostState.specs(of: bundle, beside: known),
          set: HostState.provider(of: bundle.id))
        let kept = Set(HostState.kept(results))
        // A bundle is declared again after each edit and reconnect: report each field once.
        for field in HostState.kept(results) where toldKept[bundle.id]?.contains(field) != true {
          report(field.message(by: bundle.id, names: BundleFolders.name(ofUser:)))
        }
        toldKept[bundle.id] = kept
        guard !Task.isCancelled, links[generation] != nil else { return false }
        handle(state.declared(generation: generation, refusal: nil, at: now))
        return true
      } catch {
        guard !Task.isCancelled, links[generation] != nil, error.code != "CANCELLED" else {
          return false
        }
        guard error.isTransient else {
          handle(state.declared(generation: generation, refusal: error.message, at: now))
          return false
        }
        attempts += 1
        try? await clock.sleep(for: Host.wait(attempts))
      }
    }
    return false
  }

  static func wait(_ attempts: Int) -> Duration {
    min(.milliseconds(100) * (1 << min(attempts, 7)), .seconds(5))
  }

  /// Makes the calls of a bundle, one after the other.
  func makeCalls(_ generation: UInt64) {
    guard links[generation]?.calling == nil, links[generation]?.calls.isEmpty == false else {
      return
    }
    links[generation]?.calling = Task {
      while let call = self.nextCall(generation) {
        let link = self.links[generation]
        let input = await self.answer(
          to: call, link?.session,
          for: link.map { HostState.provider(of: $0.bundle.id) } ?? "")
        if Task.isCancelled { return }
        if let input { self.tell(input, generation) }
      }
    }
  }

  func nextCall(_ generation: UInt64) -> Effect? {
    guard let link = links[generation], !link.calls.isEmpty, !Task.isCancelled else {
      links[generation]?.calling = nil
      return nil
    }
    return links[generation]?.calls.removeFirst()
  }

  private nonisolated func answer(
    to call: Effect, _ session: (any DaemonSession)?, for provider: String
  ) async -> BundleInput? {
    switch call {
    case .patch(let request, let id, let patch):
      do throws(Failure) {
        return .sent(request, try await daemon.update(id, patch, for: provider))
      } catch {
        return .failed(request, error)
      }
    case .presence(let request, let action, let ids):
      do throws(Failure) {
        try await daemon.setPresence(ids, action)
        return .sent(request, 0)
      } catch {
        return .failed(request, error)
      }
    case .send(let request, let id, let name, let payload, let force):
      do throws(Failure) {
        let sequence = try await daemon.send(id, name: name, payload: payload, force: force)
        return .emitted(request, sequence: sequence)
      } catch {
        return .failed(request, error)
      }
    case .fetchWidget(let request, let id):
      do throws(Failure) {
        return .fetched(request, try await daemon.widget(id))
      } catch {
        return .failed(request, error)
      }
    case .answer(_, let id, let patch):
      try? await session?.answer(id, patch)
      return nil
    case .acknowledge, .readFile, .readFolder, .watchFile, .run, .web, .connect, .bus, .cancel,
      .trace, .report,
      .note:
      return nil
    }
  }

  /// Removes what is left of a bundle, as often as it takes.
  func withdraw(_ id: String) {
    let earlier = withdrawals[id]
    earlier?.cancel()
    withdrawals[id] = Task {
      await earlier?.value
      let name = HostState.provider(of: id)
      let isDone = await self.persist { () async throws(Failure) in
        try await self.daemon.declare(widgets: [], set: name)
        try await self.daemon.removeKinds(of: name)
      }
      if isDone, !Task.isCancelled { self.withdrawals[id] = nil }
    }
  }

  /// Shows a problem on what an earlier host declared for a bundle.
  func mark(_ id: String, _ problem: String) {
    let set = HostState.provider(of: id)
    let error = WidgetError(reason: BundleInstance.invalid, message: problem)
    Task {
      _ = await self.persist { () async throws(Failure) in
        for widget in try await self.daemon.widgets(kinds: [])
        where widget.applySet == set && widget.error != error.continuing(widget.error) {
          _ = try await self.daemon.update(
            widget.id, WidgetPatch(isStale: true, error: .some(error)), for: "")
        }
      }
    }
  }

  /// Lets the bundles speak with the daemon.
  func admit() {
    guard !isStopped else { return }
    isServing = true
    for generation in links.keys { start(generation) }
  }

  /// Does something as often as it takes, unless it can never be done.
  func persist(_ body: () async throws(Failure) -> Void) async -> Bool {
    var attempts = 0
    while !Task.isCancelled {
      do throws(Failure) {
        try await body()
        return true
      } catch {
        guard error.isTransient else {
          if error.code != "CANCELLED" { report(error.message) }
          return error.code != "CANCELLED"
        }
        attempts += 1
        try? await clock.sleep(for: Host.wait(attempts))
      }
    }
    return false
  }
}
