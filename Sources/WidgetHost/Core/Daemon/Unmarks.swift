import WidgetModel

/// The errors of bundles that are removed, or have other ids, on widgets that stay: finding the
/// widgets, then ending the errors on each. Widgets whose kind is gone become stale. By bundle, one
/// after the other: a change sets all errors of a widget, so it must know the earlier changes. If
/// somebody else has changed a widget since the listing, the daemon does not make the change, and
/// the widgets are listed again. While a bundle waits for that, the next one goes on.
struct Unmarks: Sendable {
  private struct Unmark: Sendable {
    var errors: HostState.LeftErrors
    /// Whether the kinds that somebody else has are known, and are no longer in `errors`.
    var knowsOwners = false
    /// The widgets to change, each with its change; nil before they are known.
    var widgets: [(id: WidgetID, kind: KindName, patch: WidgetPatch, etag: String)]?
    var call: CallID?
    var attempts = 0
    /// Whether a listed widget has changed before its change. After the other changes, the widgets
    /// are listed again, but not before `retryAt`.
    var isOutdated = false
    /// The listings in a row with such widgets.
    var outdatedAttempts = 0
    var retryAt: Duration?

    var isWaiting: Bool { widgets == nil && call == nil && retryAt != nil }

    /// Lists the widgets again, and asks again who has the kinds.
    mutating func listAgain() { (widgets, knowsOwners, isOutdated) = (nil, false, false) }
  }

  private var unmarks: [String: Unmark] = [:]
  /// The bundle whose widgets are changed now.
  private var current: String?

  var isEmpty: Bool { unmarks.isEmpty }

  /// Whether there is nothing to do before `nextDeadline`.
  var isIdle: Bool { unmarks.values.allSatisfy(\.isWaiting) }

  /// - Returns: the call to cancel.
  mutating func begin(_ errors: HostState.LeftErrors) -> CallID? {
    defer { unmarks[errors.bundle] = Unmark(errors: errors) }
    return unmarks[errors.bundle]?.call
  }

  /// A bundle serves widgets of these kinds, and ends errors on them itself.
  mutating func serve(_ kinds: Set<KindName>) {
    for id in unmarks.keys {
      unmarks[id]?.errors.others.formUnion(kinds)
      unmarks[id]?.widgets?.removeAll { kinds.contains($0.kind) }
    }
  }

  /// - Parameter held: the widgets that wait for their removal. Their errors say this.
  /// - Returns: the call to make now, and its bundle.
  mutating func nextCall(beside held: Set<WidgetID>) -> (id: String, call: DaemonCall)? {
    while let id = current ?? unmarks.filter({ !$0.value.isWaiting }).keys.min(),
      let unmark = unmarks[id]
    {
      current = id
      guard unmark.call == nil else { return nil }
      guard let known = unmark.widgets else {
        guard unmark.retryAt == nil else {
          current = nil
          continue
        }
        return (id, Unmarks.question(of: unmark))
      }
      let widgets = known.filter { !held.contains($0.id) }
      guard let first = widgets.first else {
        if unmark.isOutdated { unmarks[id]?.listAgain() } else { end(id) }
        continue
      }
      // The call takes it, whatever the answer is.
      unmarks[id]?.widgets = Array(widgets.dropFirst())
      return (id, .update(first.id, first.patch, provider: "", etag: first.etag))
    }
    return nil
  }

  private mutating func end(_ id: String) {
    unmarks[id] = nil
    if current == id { current = nil }
  }

  /// Who has the kinds of the bundle, and then, which widgets there are.
  private static func question(of unmark: Unmark) -> DaemonCall {
    let kinds = unmark.errors.kinds
    guard !unmark.knowsOwners, !kinds.isEmpty else { return .errors([]) }
    return .standing(kinds: kinds.sorted { $0.rawValue < $1.rawValue }, widgets: [])
  }

  /// The kinds of a removed bundle. Those that somebody else has are missing when they are known.
  func kinds(of id: String) -> Set<KindName> { unmarks[id]?.errors.kinds ?? [] }

  mutating func called(_ id: String, with call: CallID) { unmarks[id]?.call = call }

  /// - Returns: a line for the log.
  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, _ id: String, at uptime: Duration,
    _ limits: HostLimits
  ) -> String? {
    guard var unmark = unmarks[id] else { return nil }
    unmark.call = nil
    switch result {
    case .success(.standing(let found)):
      let others = found.kinds.filter { $0.provider != HostState.provider(of: id) }
      unmark.errors.kinds.subtract(others.map(\.name))
      unmark.knowsOwners = true
    case .success(.listed(let listed)):
      unmark.widgets = listed.compactMap { item in
        unmark.errors.patch(for: item.widget).map {
          (id: item.widget.id, kind: item.widget.kind, patch: $0, etag: item.etag)
        }
      }
    case .success: break
    // Somebody has removed the widget meanwhile.
    case .failure(let failure) where failure.code == "NOT_FOUND" && unmark.widgets != nil: break
    case .failure(let failure) where failure.isETagMismatch && unmark.widgets != nil:
      guard !unmark.isOutdated else { break }
      unmark.isOutdated = true
      unmark.outdatedAttempts += 1
      unmark.retryAt = uptime + limits.outdatedWait(unmark.outdatedAttempts)
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      unmark.listAgain()
      unmark.attempts += 1
      unmark.retryAt = uptime + limits.daemonWait(unmark.attempts)
    case .failure(let failure):
      end(id)
      return failure.message
    }
    unmarks[id] = unmark
    return nil
  }

  // MARK: Time

  var nextDeadline: Duration? { unmarks.values.compactMap(\.retryAt).min() }

  mutating func tick(at uptime: Duration) {
    for (id, unmark) in unmarks {
      if let retryAt = unmark.retryAt, retryAt <= uptime { unmarks[id]?.retryAt = nil }
    }
  }
}
