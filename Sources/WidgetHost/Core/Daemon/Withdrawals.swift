import WidgetBundle
import WidgetModel

/// The removals of bundles' widgets and kinds, by bundle.
///
/// A removed bundle loses its widgets, then its kinds. Before that, the daemon names the values of
/// users that go with the widgets. If the id in the file has changed, another
/// bundle is the heir: the kinds go first, so that the heir can register them. The rest of the widgets
/// goes after the heir has declared its widgets.
struct Withdrawals: Sendable {
  private enum Phase: Hashable, Sendable { case widgets, kinds }

  private struct Withdrawal: Hashable, Sendable {
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
    /// Whether the call in flight only asks about the values or their widgets, and removes nothing.
    var isForeseeing = false
    var heir: String?
    /// The line for the log, when the bundle is removed.
    var note: HostState.RemovalNote?
    /// Whether the heir has declared its widgets since, so that it has taken over those it has.
    var isTaken = false
    /// The values of users that go with the widgets, as the daemon foresees them; nil before its
    /// answer. The answer to the removal has them, too, but it can be lost.
    var losses: [BundleClaims.KeptField]?
    /// Whether `note` has the values whose owners the daemon does not record.
    var isAttributed = false
    /// Those of them that a removal without an answer may have removed. Somebody can also have taken
    /// over their widgets.
    var doubtful: [BundleClaims.KeptField] = []
    /// Those of them whose widgets do not exist any more.
    var gone: [BundleClaims.KeptField] = []

    /// Whether the next call asks for these values. An heir may take widgets over with their values,
    /// so nothing can be foreseen then.
    var mustForesee: Bool { phase == .widgets && heir == nil && losses == nil }
    /// Whether the next call asks for further values, because only an earlier host knew the widgets.
    var mustAttribute: Bool {
      phase == .widgets && heir == nil && losses != nil && !isAttributed
        && note?.settable.kinds.isEmpty == false
    }
    /// Whether the next call asks which widgets with doubtful values exist.
    var mustLook: Bool { phase == .widgets && !doubtful.isEmpty }
  }

  /// The effect of an answer.
  enum Answered: Hashable, Sendable {
    case nothing
    /// The daemon refuses the removal, for a new reason.
    case refused(String)
    /// The bundle is removed.
    ///
    /// - Parameter showsBundle: whether a declaration may have kept the widget `bundle/ID`.
    case removed(showsBundle: Bool)
  }

  private var withdrawals: [String: Withdrawal] = [:]
  /// The removed bundles that the daemon still has or shows, as far as this host knows. The next host
  /// needs their marks (`BundleRemovalMark`).
  private(set) var unconfirmed: Set<String> = []

  func contains(_ id: String) -> Bool { withdrawals[id] != nil }

  /// The bundles that are being removed.
  var ids: some Collection<String> { withdrawals.keys }

  /// Whether a removal is under way. Its widgets must not count as widgets of others. Refused
  /// removals can last, so they do not count.
  var isRemoving: Bool {
    withdrawals.values.contains { $0.refusal == nil && $0.heir == nil }
  }

  // MARK: Heirs

  func heir(of id: String) -> String? { withdrawals[id]?.heir }

  /// The line for the log, when the bundle is removed.
  func note(of id: String) -> HostState.RemovalNote? { withdrawals[id]?.note }

  /// The log has these values, so the line about the removal leaves them out.
  mutating func tell(_ values: [BundleClaims.KeptField], of id: String) {
    withdrawals[id]?.note?.tell(values)
  }

  /// Whether the kinds of a former bundle must go before the bundle can register them.
  func isInheriting(_ id: String) -> Bool {
    withdrawals.values.contains { $0.heir == id && $0.phase == .kinds }
  }

  /// The bundles whose kinds and widgets this bundle takes over.
  func inherited(by id: String) -> Set<String> {
    Set(withdrawals.filter { $0.value.heir == id && !$0.value.isUnwanted }.keys)
  }

  /// The widgets of bundles that are still being removed, each with the bundle that takes over.
  var heirs: [WidgetID: String?] {
    var heirs: [WidgetID: String?] = [:]
    for (id, withdrawal) in withdrawals {
      if let widget = WidgetID(HostState.provider(of: id)) {
        heirs.updateValue(withdrawal.heir, forKey: widget)
      }
    }
    return heirs
  }

  /// The heir has declared its widgets, so it has taken over from these bundles.
  mutating func taken(_ ids: Set<String>, by heir: String) {
    for id in ids where withdrawals[id]?.heir == heir { withdrawals[id]?.isTaken = true }
  }

  /// Whether the rest of the bundle's widgets waits until the heir has declared its widgets.
  func waitsForHeir(_ id: String, isHolding: Bool) -> Bool {
    guard let withdrawal = withdrawals[id], withdrawal.heir != nil, withdrawal.phase == .widgets
    else { return false }
    return !withdrawal.isTaken || isHolding
  }

  // MARK: Beginning and ending

  /// Begins a removal.
  ///
  /// - Parameters:
  ///   - heir: the bundle that takes over what it declares, too. It also takes over from the bundles
  ///     whose heir was this one.
  ///   - note: the line for the log, when the bundle is removed.
  /// - Returns: the bundles from which the heir takes over from now on; nil if this removal is under
  ///   way already.
  mutating func begin(
    _ id: String, heir: String?, note: HostState.RemovalNote? = nil
  ) -> Set<String>? {
    if let heir, let known = withdrawals[id], known.heir == heir, !known.isUnwanted { return nil }
    let formers: Set<String> = heir == nil ? [] : inherited(by: id).filter { $0 != heir }
    for former in formers {
      withdrawals[former]?.heir = heir
      withdrawals[former]?.isTaken = false
    }
    // A call in flight of an earlier withdrawal must be answered first.
    let earlier = withdrawals[id]
    if heir == nil { unconfirmed.insert(id) }
    withdrawals[id] = Withdrawal(
      phase: heir == nil ? .widgets : .kinds, call: earlier?.call,
      isCallOfEarlier: earlier?.call != nil, isForeseeing: earlier?.isForeseeing ?? false,
      heir: heir, note: note)
    return heir == nil ? [] : formers.union([id])
  }

  /// The bundle is loaded again.
  mutating func revoke(_ id: String) {
    unconfirmed.remove(id)
    if withdrawals[id]?.call == nil {
      withdrawals[id] = nil
    } else {
      // The daemon may carry the call out late, so the bundle waits for the answer.
      withdrawals[id]?.isUnwanted = true
    }
  }

  /// The daemon has taken the widgets that show bundles.
  ///
  /// - Parameter shown: those of bundles that have run.
  /// - Returns: whether the daemon has lost further removed bundles.
  mutating func confirm(showing shown: Set<WidgetID>) -> Bool {
    let left = unconfirmed.filter { id in
      withdrawals[id] != nil || shown.contains { $0.rawValue == HostState.provider(of: id) }
    }
    defer { unconfirmed = left }
    return left.count < unconfirmed.count
  }

  // MARK: Calls

  /// The bundles whose next call can be made, in order.
  var idle: [String] {
    withdrawals.filter { $0.value.call == nil && $0.value.retryAt == nil }.keys.sorted()
  }

  /// The next call of a removal.
  func nextCall(of id: String) -> DaemonCall? {
    guard let withdrawal = withdrawals[id] else { return nil }
    let set = HostState.provider(of: id)
    return switch withdrawal.phase {
    case .widgets where withdrawal.mustLook:
      .standing(
        kinds: [], widgets: Set(withdrawal.doubtful.map(\.widget)).sorted(by: WidgetID.inOrder))
    case .widgets where withdrawal.mustForesee: .foresee([], set: set)
    case .widgets where withdrawal.mustAttribute:
      .owners(of: withdrawal.note?.settable.names ?? [])
    case .widgets: .declare([], set: set)
    case .kinds: .removeKinds(of: set)
    }
  }

  mutating func called(_ id: String, with call: CallID) {
    guard var withdrawal = withdrawals[id] else { return }
    withdrawal.isForeseeing =
      withdrawal.mustLook || withdrawal.mustForesee || withdrawal.mustAttribute
    withdrawal.call = call
    withdrawals[id] = withdrawal
  }

  /// The values of users that are gone after an answer to the call in flight: those that it names,
  /// and those that earlier calls without an answer have removed.
  func losses(of id: String, after answer: DaemonAnswer) -> [BundleClaims.KeptField] {
    guard let withdrawal = withdrawals[id], !withdrawal.isForeseeing,
      case .results(let results) = answer
    else { return [] }
    let told = BundleClaims.lost(results)
    return withdrawal.gone + told
  }

  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at uptime: Duration,
    _ limits: HostLimits
  ) -> Answered {
    guard var withdrawal = withdrawals[id] else { return .nothing }
    let (isCallOfEarlier, isForeseeing) = (withdrawal.isCallOfEarlier, withdrawal.isForeseeing)
    (withdrawal.call, withdrawal.isCallOfEarlier, withdrawal.isForeseeing) = (nil, false, false)
    guard !withdrawal.isUnwanted else {
      withdrawals[id] = nil
      return .nothing
    }
    if case .success(.results(let results)) = result { withdrawal.note?.add(results) }
    var news: String?
    switch result {
    case .success where isCallOfEarlier: break
    case .success(let answer) where isForeseeing && withdrawal.mustLook:
      if case .standing(let found) = answer {
        let there = Set(found.widgets.map(\.id))
        withdrawal.gone += withdrawal.doubtful.filter { !there.contains($0.widget) }
      }
      withdrawal.doubtful = []
    case .success(let answer) where isForeseeing && withdrawal.mustAttribute:
      withdrawal.isAttributed = true
      if case .listed(let listed) = answer { withdrawal.note?.add(listed) }
    case .success(let answer) where isForeseeing:
      withdrawal.losses = []
      if case .results(let results) = answer { withdrawal.losses = BundleClaims.lost(results) }
    case .success:
      (withdrawal.attempts, withdrawal.gone) = (0, [])
      let last: Phase = withdrawal.heir == nil ? .kinds : .widgets
      if withdrawal.phase == last {
        withdrawals[id] = nil
        return .removed(showsBundle: withdrawal.heir != nil || withdrawal.refusal != nil)
      }
      withdrawal.phase = last
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      if !isForeseeing, withdrawal.phase == .widgets, let losses = withdrawal.losses {
        (withdrawal.doubtful, withdrawal.losses) = (losses, nil)
      }
      withdrawal.attempts += 1
      withdrawal.retryAt = uptime + limits.daemonWait(withdrawal.attempts)
    // A longer list of values is not worth a delay of the removal.
    case .failure where isForeseeing && withdrawal.mustAttribute: withdrawal.isAttributed = true
    case .failure(let failure):
      if failure.message != withdrawal.refusal { news = failure.message }
      withdrawal.refusal = failure.message
      withdrawal.retryAt = uptime + limits.refusalRetryInterval
    }
    withdrawals[id] = withdrawal
    return news.map { .refused($0) } ?? .nothing
  }

  // MARK: Time

  var nextDeadline: Duration? { withdrawals.values.compactMap(\.retryAt).min() }

  mutating func tick(at uptime: Duration) {
    for (id, withdrawal) in withdrawals {
      if let retryAt = withdrawal.retryAt, retryAt <= uptime { withdrawals[id]?.retryAt = nil }
    }
  }
}
