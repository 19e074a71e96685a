import WidgetBundle
import WidgetClient
import WidgetModel

// The host's own session, the widgets that show the state of the host and its bundles, and calls
// about bundles.
extension Host {
  /// Updates the widgets that show the state of the host and its bundles.
  func updateStanding() {
    guard isHolding, isStandingDirty, standingTask == nil, !isStopped else { return }
    standingTask = Task {
      while let specs = self.nextStanding() {
        _ = await self.persist { () async throws(Failure) in
          // The declaration below removes the widgets of an earlier host. They tell which bundles
          // it ran, so read them before.
          try await self.remember()
          let all = self.ownWidget + specs + self.others(than: specs)
          try await self.daemon.declare(widgets: all, set: HostState.provider)
        }
      }
    }
  }

  func nextStanding() -> [WidgetSpec]? {
    guard isStandingDirty, isHolding, !isStopped else {
      standingTask = nil
      return nil
    }
    isStandingDirty = false
    return standing
  }

  /// The widgets of bundles in folders of other hosts, except bundles that this host runs by now.
  func others(than specs: [WidgetSpec]) -> [WidgetSpec] {
    let ids = Set(specs.map(\.id))
    return elsewhere.filter { !ids.contains($0.id) }
  }

  /// The widget that shows this host.
  var ownWidget: [WidgetSpec] {
    let spec = HostWidget.spec(
      folders: options.roots, standings: state.standings, isStopped: isStopped,
      isStub: options.isStub)
    return spec.map { [$0] } ?? []
  }

  func remember() async throws(Failure) {
    guard !isDaemonKnown, let kind = KindName("bundle") else { return }
    let widgets = try await daemon.widgets(kinds: [kind])
    isDaemonKnown = true
    let known = widgets.compactMap { widget -> (id: String, path: String)? in
      guard widget.applySet == HostState.provider, case .string(let id)? = widget.data["id"],
        case .string(let path)? = widget.data["path"]
      else { return nil }
      // A bundle whose folder still exists belongs to another host, or to this host with other
      // settings.
      guard !state.knownFolders.contains(path), BundleFolders.isBundle(path) else {
        return (id, path)
      }
      report("bundle \(id) in \(path) is not in a folder of this host; its widgets stay, stale")
      var data = widget.data
      data["state"] = .string(HostState.Standing.State.stopped.rawValue)
      elsewhere.append(WidgetSpec(id: widget.id, kind: widget.kind, family: .small, data: data))
      return nil
    }
    handle(state.remembered(known))
    for id in Array(withdrawals.keys) { await withdrawals[id]?.value }
  }

  /// Provides the kinds `widgetd-host` and `bundle`, whose widgets show the state of the host and
  /// its bundles. Bundles run only while this session is open, because a daemon has one host.
  ///
  /// - Throws: why the daemon refuses this host.
  func serve() async throws(Failure) {
    let kinds = [HostState.kind, HostWidget.kind].compactMap(\.self)
    var attempts = 0
    while !Task.isCancelled {
      let session = daemon.session(
        HostState.provider, kinds: kinds, takesOver: false, includesAudience: false)
      do throws(Failure) {
        return try await session.follow { await self.heard($0, session) }
      } catch {
        // `stop` closes a session that was open, after the host has sent everything.
        if Task.isCancelled, self.session != nil { return }
        await session.close()
        if Task.isCancelled { return }
        attempts += 1
        if error.isProvidedAlready, attempts == 1 {
          sayNow(
            .report("another widgetd-host serves this daemon; waiting some seconds for it to end"))
        }
        guard error.isProvidedAlready, attempts < Host.attemptsMax else {
          if error.isProvidedAlready { discard() }
          throw error.isProvidedAlready
            ? Failure(
              error.code,
              "another widgetd-host serves this daemon already; stop it, or put the bundles into its"
                + " folders (widgetctl ls --kind bundle shows what it runs)") : error
        }
        try? await clock.sleep(for: Host.wait(attempts))
      }
    }
  }

  func heard(_ news: SessionNews, _ session: any DaemonSession) async {
    switch news {
    case .opened:
      release()
      if self.session != nil { note("the daemon is back") }
      self.session = session
      do throws(Failure) { try await session.ready() } catch { return }
      isHolding = true
      isStandingDirty = true
      updateStanding()
      await standingTask?.value
      admit()
    case .lost(let words), .refused(let words):
      // Another host may get the session before this one.
      (isHolding, isServing) = (false, false)
      release()
      report(
        self.session == nil
          ? "waiting for the daemon: \(words)"
          : "lost the daemon; trying again: \(words)")
    // The data of the host's widgets is always fresh, so the answer is an empty patch.
    case .asked(let id, let isRefresh):
      if isRefresh {
        retry(id.rawValue.hasPrefix("bundle/") ? String(id.rawValue.dropFirst(7)) : nil)
      }
      try? await session.answer(id, WidgetPatch())
    case .event(let event):
      startTrace(event)
      session.acknowledge(event)
    case .missed(let last): try? await session.acknowledge(missed: last)
    case .removed(let ids):
      // The host itself removes the widgets of removed bundles: restore only those that it
      // declares.
      let declared = Set((ownWidget + standing + others(than: standing)).compactMap(\.id))
      restoreOwn(declared.intersection(ids), session)
    case .kindsRemoved(let names): restoreOwn(kinds: Set(names), session)
    case .bundles(let request): manage(request, session)
    case .audience: break
    }
  }

  /// Carries out calls about bundles one after the other, because they change the same folder.
  private func manage(_ request: ProviderBundleRequest, _ session: any DaemonSession) {
    let (earlier, manager) = (managing, manager)
    managing = Task {
      await earlier?.value
      let outcome = await Task.detached { manager(request.request) }.value
      // The host watches the folder, so an installed bundle runs without a call from here.
      try? await session.answer(request, with: outcome)
    }
  }

  /// Declares removed kinds and widgets of the host again.
  private func restoreOwn(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], _ session: any DaemonSession
  ) {
    guard !ids.isEmpty || !kinds.isEmpty, !isStopped else { return }
    restoration.lost(ids, kinds: kinds, at: now.uptime, options.limits)
    guard restoring == nil else { return }
    restoring = Task {
      while !restoration.isComplete {
        try? await clock.sleep(for: restoration.wait(options.limits))
        guard !Task.isCancelled else { return }
        let (ids, kinds) = restoration.begin(at: now.uptime)
        report(
          "restoring what somebody removed: "
            + (kinds.map { "kind \($0)" } + ids.map(\.rawValue)).joined(separator: ", "))
        if !kinds.isEmpty {
          do throws(Failure) { try await session.declareKinds() } catch { report(error.message) }
        }
        guard !ids.isEmpty else { continue }
        isStandingDirty = true
        updateStanding()
      }
      restoring = nil
    }
  }
}
