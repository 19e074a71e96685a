import WidgetBundle
import WidgetModel

// The waits after refusals, and the remains of removed bundles.
extension DaemonConversation {
  /// The work that continues after the wait that follows a refusal.
  enum RestHolder: Hashable, Comparable, Sendable {
    case connection(UInt64)
    case work(UInt64)
    /// A refused version of this bundle, while the former version runs.
    case version(String)
  }

  /// The wait after a refusal, until the owners of a bundle's kinds and widgets change, somebody
  /// asks for a retry, or the time for a retry has come.
  struct Rest: Sendable {
    let kinds: [KindName]
    let ids: [WidgetID]
    var known: Circumstances?
    var look: CallID?
    var lookAt: Duration?
    /// The time of the retry in any case; nil for never.
    var end: Duration?
  }

  mutating func rest(_ holder: RestHolder, _ bundle: Bundle, until end: Duration?) {
    cancelRest(holder)
    let kinds = Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind))
    rests[holder] = Rest(
      kinds: kinds.sorted { $0.rawValue < $1.rawValue }, ids: bundle.widgets.compactMap(\.id),
      end: end)
    look(holder)
  }

  mutating func look(_ holder: RestHolder) {
    guard let rest = rests[holder] else { return }
    rests[holder]?.lookAt = nil
    let id = call(.standing(kinds: rest.kinds, widgets: rest.ids), for: .look(holder))
    rests[holder]?.look = id
  }

  mutating func looked(
    _ result: Result<DaemonAnswer, Failure>, _ holder: RestHolder, at now: HostTime
  ) {
    guard let rest = rests[holder] else { return }
    rests[holder]?.look = nil
    rests[holder]?.lookAt = now.uptime + limits.refusalLookInterval
    // No answer from the daemon is not a change.
    guard case .success(.standing(let circumstances)) = result else { return }
    rests[holder]?.known = circumstances
    tellOwners(circumstances, holder)
    if let known = rest.known, known != circumstances { endRest(holder) }
  }

  /// Tells which other bundles have what a refused bundle declares.
  private mutating func tellOwners(_ circumstances: Circumstances, _ holder: RestHolder) {
    let refused: String?
    switch holder {
    case .connection(let generation), .work(let generation):
      refused = links[generation]?.bundle.id
    case .version: return
    }
    guard let refused else { return }
    let prefix = HostState.provider(of: "")
    let owners = circumstances.kinds.map(\.provider) + circumstances.widgets.map(\.applySet)
    let others = Set(
      owners.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    )
    .subtracting([refused])
    if !others.isEmpty { outputs.append(.blocked(id: refused, by: others)) }
  }

  mutating func cancelRest(_ holder: RestHolder) {
    guard let rest = rests.removeValue(forKey: holder) else { return }
    cancel(rest.look)
  }

  /// Ends a wait: retries.
  mutating func endRest(_ holder: RestHolder) {
    guard rests[holder] != nil else { return }
    cancelRest(holder)
    switch holder {
    case .connection(let generation): links[generation]?.endConnectionRest()
    case .work(let generation): links[generation]?.endWorkRest()
    case .version(let id): outputs.append(.retry(id: id))
    }
  }

  /// Retries bundles that the daemon has refused: one, or all if `id` is nil.
  mutating func retry(_ id: String?) {
    for holder in rests.keys.sorted() {
      let bundle =
        switch holder {
        case .connection(let generation), .work(let generation): links[generation]?.bundle.id
        case .version(let bundle): bundle
        }
      if id == nil || bundle == id { endRest(holder) }
    }
  }

  /// The daemon has refused a version, and the former version runs. nil: do not retry any more.
  mutating func refusedVersion(_ id: String, _ bundle: Bundle?) {
    cancelRest(.version(id))
    if let bundle { rest(.version(id), bundle, until: nil) }
  }

  // MARK: Removed bundles

  /// Removes the widgets of a bundle, then its kinds.
  struct Withdrawal: Hashable, Sendable {
    enum Phase: Hashable, Sendable { case widgets, kinds }

    var phase = Phase.widgets
    var call: CallID?
    var attempts = 0
    var retryAt: Duration?
    var refusal: String?
    /// Whether the bundle is loaded again, so that the withdrawal ends after the call in flight.
    var isUnwanted = false
    /// Whether the call in flight belongs to an earlier withdrawal, so that its success says
    /// nothing about this one.
    var isCallOfEarlier = false
    /// The bundle that gets the kinds and widgets, because the id in the file has changed. The
    /// kinds go first, so that the heir can register them. The rest of the widgets goes last.
    var heir: String?
    /// Whether the heir has declared its widgets since, so that it has taken over those it has.
    var isTaken = false
  }

  /// Whether a removal is under way. Its widgets must not count as widgets of others. Refused
  /// removals can last, so they do not count.
  var isWithdrawing: Bool {
    withdrawals.values.contains { $0.refusal == nil && $0.heir == nil }
  }

  /// Whether the kinds of a former bundle must go before the bundle can register them.
  func isInheriting(_ id: String) -> Bool {
    withdrawals.values.contains { $0.heir == id && $0.phase == .kinds }
  }

  /// The bundles whose kinds and widgets this bundle takes over.
  func inherited(by id: String) -> Set<String> {
    Set(withdrawals.filter { $0.value.heir == id && !$0.value.isUnwanted }.keys)
  }

  /// - Parameter heir: the bundle that takes over what it declares, too. It also takes over from
  ///   the bundles whose heir was this one.
  mutating func withdraw(_ id: String, heir: String? = nil) {
    if let heir {
      if let known = withdrawals[id], known.heir == heir, !known.isUnwanted { return }
      for former in inherited(by: id) where former != heir {
        withdrawals[former]?.heir = heir
        withdrawals[former]?.isTaken = false
        for (generation, link) in links where link.bundle.id == heir {
          links[generation]?.inherit(former)
        }
      }
    } else {
      let gone = Set(inherited(by: id).union([id]).map(HostState.provider(of:)))
      holds = holds.filter { !gone.contains($0.value.set) }
    }
    // A call in flight of an earlier withdrawal must be answered first.
    let call = withdrawals[id]?.call
    withdrawals[id] = Withdrawal(
      phase: heir == nil ? .widgets : .kinds, call: call, isCallOfEarlier: call != nil, heir: heir)
    for (generation, link) in links where link.bundle.id == heir {
      links[generation]?.inherit(id)
    }
    marks.removeValue(forKey: id).map { cancel($0.call) }
    declaredKinds[id] = nil
    toldKept[id] = nil
    declaredFields[id] = nil
  }

  mutating func forgetWithdrawal(of id: String) {
    if withdrawals[id]?.call == nil {
      withdrawals[id] = nil
    } else {
      // The daemon may carry the call out late, so the bundle waits for the answer.
      withdrawals[id]?.isUnwanted = true
    }
  }

  mutating func proceedWithdrawals(at now: HostTime) {
    // Another host may run the bundle, unless this host has the session.
    guard host.isHolding else { return }
    for (id, withdrawal) in withdrawals.sorted(by: { $0.key < $1.key }) {
      // The removal waits, because a session that is not closed yet could register the kinds again.
      guard withdrawal.call == nil, withdrawal.retryAt == nil, retiring[id] == nil,
        !isClosing(id)
      else { continue }
      if let heir = withdrawal.heir, withdrawal.phase == .widgets,
        links.values.contains(where: { $0.bundle.id == heir }),
        !withdrawal.isTaken || isHolding(HostState.provider(of: id))
      {
        continue
      }
      let name = HostState.provider(of: id)
      let what: DaemonCall =
        switch withdrawal.phase {
        case .widgets: .declare([], set: name)
        case .kinds: .removeKinds(of: name)
        }
      let call = call(what, for: .withdrawal(id))
      withdrawals[id]?.call = call
    }
  }

  mutating func withdrawalAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at now: HostTime
  ) {
    guard var withdrawal = withdrawals[id] else { return }
    withdrawal.call = nil
    if case .success(let answer) = result { reportLosses(answer, of: withdrawal.heir ?? id) }
    let isCallOfEarlier = withdrawal.isCallOfEarlier
    withdrawal.isCallOfEarlier = false
    switch result {
    case _ where withdrawal.isUnwanted:
      withdrawals[id] = nil
      return
    case .success where isCallOfEarlier: break
    case .success:
      withdrawal.attempts = 0
      let last: Withdrawal.Phase = withdrawal.heir == nil ? .kinds : .widgets
      if withdrawal.phase == last {
        withdrawals[id] = nil
        // The widget of the former bundle goes, too.
        if withdrawal.heir != nil || withdrawal.refusal != nil { standing.version += 1 }
        return
      }
      withdrawal.phase = last
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      withdrawal.attempts += 1
      withdrawal.retryAt = now.uptime + limits.daemonWait(withdrawal.attempts)
    case .failure(let failure):
      if failure.message != withdrawal.refusal { report(failure.message) }
      withdrawal.refusal = failure.message
      withdrawal.retryAt = now.uptime + limits.refusalRetryInterval
    }
    withdrawals[id] = withdrawal
  }

  // MARK: Marks

  /// Shows a problem on the widgets that an earlier host declared for a bundle.
  struct Mark: Sendable {
    let error: WidgetError
    /// The widgets to change; nil before they are known.
    var ids: [WidgetID]?
    var call: CallID?
    var attempts = 0
    var retryAt: Duration?
  }

  mutating func mark(_ id: String, _ problem: String) {
    marks[id].map { cancel($0.call) }
    marks[id] = Mark(error: WidgetError(reason: BundleInstance.invalid, message: problem))
  }

  mutating func proceedMarks(at now: HostTime) {
    guard host.isHolding else { return }
    for (id, mark) in marks.sorted(by: { $0.key < $1.key })
    where mark.call == nil && mark.retryAt == nil {
      guard let ids = mark.ids else {
        let call = call(.widgets([]), for: .mark(id))
        marks[id]?.call = call
        continue
      }
      guard let first = ids.first else {
        marks[id] = nil
        continue
      }
      let patch = WidgetPatch(isStale: true, error: .some(mark.error))
      let call = call(.update(first, patch, provider: ""), for: .mark(id))
      marks[id]?.call = call
    }
  }

  mutating func markAnswered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at now: HostTime
  ) {
    guard var mark = marks[id] else { return }
    mark.call = nil
    let set = HostState.provider(of: id)
    switch result {
    case .success(.widgets(let widgets)):
      mark.ids = widgets.filter {
        $0.applySet == set && $0.error != mark.error.continuing($0.error)
      }.map(\.id)
    case .success: mark.ids?.removeFirst()
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      mark.ids = nil
      mark.attempts += 1
      mark.retryAt = now.uptime + limits.daemonWait(mark.attempts)
    case .failure(let failure):
      report(failure.message)
      marks[id] = nil
      return
    }
    marks[id] = mark
  }
}
