import WidgetBundle
import WidgetModel

// What the daemon is told, and what it tells.
extension Host {
  func open(_ generation: UInt64, _ bundle: Bundle) {
    withdrawals.removeValue(forKey: bundle.id)?.cancel()
    links[generation] = Link(bundle: bundle)
    links[generation]?.following = Task { await self.follow(generation, bundle) }
  }

  func close(_ generation: UInt64) {
    guard let link = links.removeValue(forKey: generation) else { return }
    link.following?.cancel()
    link.calling?.cancel()
  }

  /// Declares a bundle and follows its widgets, until it is closed.
  func follow(_ generation: UInt64, _ bundle: Bundle) async {
    // Without kinds of its own there is nothing to follow but the daemon itself.
    var kinds = bundle.kinds.map(\.kind.name)
    if kinds.isEmpty { kinds = KindName("bundle").map { [$0] } ?? [] }
    // The widget that tells of a bundle is there before anything of the bundle is: by it the next host
    // knows what to remove if the folder goes while none runs.
    await standingTask?.value
    var last: Failure?
    while !Task.isCancelled {
      guard await declare(generation, bundle) else {
        // Another may have what the daemon refuses this one, and let go of it some time.
        try? await clock.sleep(for: .seconds(30))
        continue
      }
      do throws(Failure) {
        try await daemon.follow(kinds: kinds) { await self.heard($0, generation, bundle) }
      } catch {
        if Task.isCancelled { return }
        if error != last { report("bundle \(bundle.id): \(error.message)") }
        last = error
        try? await clock.sleep(for: .seconds(1))
      }
    }
  }

  func heard(_ news: DaemonNews, _ generation: UInt64, _ bundle: Bundle) async {
    guard links[generation] != nil else { return }
    switch news {
    case .returned: _ = await declare(generation, bundle)
    case .lost: break
    case .snapshot(let widgets): tell(.snapshot(widgets), generation)
    case .widget(let widget): tell(.widget(widget), generation)
    case .removed(let id): tell(.removed(id), generation)
    case .event(let event): tell(.event(event), generation)
    case .missedEvents: report("bundle \(bundle.id): more events came than could be told of")
    }
  }

  /// Declares a bundle's kinds and widgets, as often as it takes.
  ///
  /// - Returns: whether the daemon has taken them.
  func declare(_ generation: UInt64, _ bundle: Bundle) async -> Bool {
    let name = HostState.provider(of: bundle.id)
    var attempts = 0
    while !Task.isCancelled, links[generation] != nil {
      do throws(Failure) {
        try await daemon.declare(kinds: bundle.kinds.map(\.kind), provider: name)
        let known = try await daemon.widgets(kinds: Array(Set(bundle.widgets.map(\.kind))))
        try await daemon.declare(
          widgets: HostState.specs(of: bundle, beside: known),
          set: name)
        guard links[generation] != nil else { return false }
        handle(state.declared(generation: generation, refusal: nil, at: now))
        return true
      } catch {
        guard links[generation] != nil, error.code != "CANCELLED" else { return false }
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
        let input = await self.answer(to: call)
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

  nonisolated func answer(to call: Effect) async -> BundleInput? {
    switch call {
    case .patch(let request, let id, let patch):
      do throws(Failure) {
        return .sent(request, try await daemon.update(id, patch))
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
        try await daemon.send(id, name: name, payload: payload, force: force)
        return .sent(request, 0)
      } catch {
        return .failed(request, error)
      }
    case .fetchWidget(let request, let id):
      do throws(Failure) {
        return .fetched(request, try await daemon.widget(id))
      } catch {
        return .failed(request, error)
      }
    case .readFile, .watchFile, .run, .web, .cancel, .report: return nil
    }
  }

  /// Removes what is left of a bundle, as often as it takes.
  func withdraw(_ id: String) {
    withdrawals[id]?.cancel()
    withdrawals[id] = Task {
      let name = HostState.provider(of: id)
      let isDone = await self.persist { () async throws(Failure) in
        try await self.daemon.declare(widgets: [], set: name)
        try await self.daemon.declare(kinds: [], provider: name)
      }
      if isDone { self.withdrawals[id] = nil }
    }
  }

  /// Shows a problem on what an earlier host declared for a bundle.
  func mark(_ id: String, _ problem: String) {
    let set = HostState.provider(of: id)
    let error = WidgetError(reason: BundleInstance.invalid, message: problem)
    Task {
      _ = await self.persist { () async throws(Failure) in
        for widget in try await self.daemon.widgets(kinds: [])
        where widget.applySet == set && widget.error != error {
          _ = try await self.daemon.update(
            widget.id, WidgetPatch(isStale: true, error: .some(error)))
        }
      }
    }
  }

  /// Shows how all bundles stand.
  func updateStanding() {
    guard isStandingDirty, standingTask == nil, !isStopped else { return }
    standingTask = Task {
      while let specs = self.nextStanding() {
        _ = await self.persist { () async throws(Failure) in
          try await self.daemon.declare(
            kinds: HostState.kind.map { [$0] } ?? [], provider: HostState.provider)
          // What an earlier host left is taken care of before its widget, which tells of it, is gone.
          try await self.remember()
          try await self.daemon.declare(widgets: specs, set: HostState.provider)
        }
      }
    }
  }

  func nextStanding() -> [WidgetSpec]? {
    guard isStandingDirty, !isStopped else {
      standingTask = nil
      return nil
    }
    isStandingDirty = false
    return standing
  }

  func remember() async throws(Failure) {
    guard !isDaemonKnown, let kind = KindName("bundle") else { return }
    let widgets = try await daemon.widgets(kinds: [kind])
    isDaemonKnown = true
    let known = widgets.compactMap { widget -> (id: String, path: String)? in
      guard widget.applySet == HostState.provider, case .string(let id)? = widget.data["id"],
        case .string(let path)? = widget.data["path"]
      else { return nil }
      return (id, path)
    }
    handle(state.remembered(known))
    for id in Array(withdrawals.keys) { await withdrawals[id]?.value }
  }

  /// Follows the daemon itself: when it comes back it may have forgotten everything.
  func followDaemon() async {
    guard let kind = KindName("bundle") else { return }
    var last: Failure?
    while !Task.isCancelled {
      do throws(Failure) {
        try await daemon.follow(kinds: [kind]) { await self.heard($0) }
      } catch {
        if Task.isCancelled { return }
        if error != last { report(error.message) }
        last = error
        try? await clock.sleep(for: .seconds(1))
      }
    }
  }

  func heard(_ news: DaemonNews) {
    switch news {
    case .returned:
      report("the daemon is back")
      isStandingDirty = true
      updateStanding()
    case .lost(let words): report("lost the daemon, and try to reach it again: \(words)")
    default: break
    }
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
