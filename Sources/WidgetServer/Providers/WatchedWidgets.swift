import NIOCore
import WidgetCore
import WidgetModel

/// The selectors of all streams that count as watchers.
///
/// Selectors of ids or kinds alone become reference counts, so one lookup tests them all.
struct WatchedSelectors {
  private var everything = 0
  private var ids = CountedIDs()
  private var kinds: [KindName: Int] = [:]
  private var plain: [KeptHash<Selector>: Counted] = [:]
  private var expressions: [KeptHash<Selector>: Counted] = [:]

  private struct Counted {
    let test: WidgetTest
    var count: Int
  }

  /// The cost of a test with an expression, without the steps of the expression. A test without one
  /// costs 1.
  static let expressionCost = 16
  /// The steps of an expression that cost as much as a test without one.
  static let stepsOfTest = 8
  /// The limit of different selectors with expressions. Beyond it, all widgets count as watched, so
  /// the cost of one widget stays bounded.
  static let expressionsMax = 256
  /// The same limit for selectors without expressions.
  static let plainMax = 4_096
  /// The limit of the cost of one widget's tests. Beyond it, the widget counts as watched, and no
  /// more selectors are tested.
  static let widgetCostMax = 8_192

  mutating func add(_ selector: Selector, in store: borrowing WidgetStore) {
    if count(selector, by: 1) { return }
    let (key, isPlain) = (KeptHash(selector), selector.expression.isEmpty)
    let known = isPlain ? plain[key] : expressions[key]
    var counted = known ?? Counted(test: store.test(for: selector), count: 0)
    counted.count += 1
    if isPlain { plain[key] = counted } else { expressions[key] = counted }
  }

  mutating func remove(_ selector: Selector) {
    if count(selector, by: -1) { return }
    let key = KeptHash(selector)
    for path in [\WatchedSelectors.plain, \.expressions] {
      guard var counted = self[keyPath: path][key] else { continue }
      counted.count -= 1
      self[keyPath: path][key] = counted.count > 0 ? counted : nil
    }
  }

  /// Changes the reference counts of a selector of ids or kinds alone. Returns false for others.
  private mutating func count(_ selector: Selector, by step: Int) -> Bool {
    guard selector.families.isEmpty, selector.labels.isEmpty, selector.expression.isEmpty else {
      return false
    }
    if selector.isEverything {
      everything += step
    } else if selector.kinds.isEmpty {
      // An id that is named twice counts twice.
      for id in selector.ids { if step > 0 { ids.add(id) } else { ids.remove(id) } }
    } else if selector.ids.isEmpty {
      for kind in Set(selector.kinds) { WatchedSelectors.add(step, to: &kinds[kind]) }
    } else {
      return false
    }
    return true
  }

  private static func add(_ step: Int, to count: inout Int?) {
    let sum = (count ?? 0) + step
    count = sum > 0 ? sum : nil
  }

  /// Whether a selector matches an existing widget, or one that shows it in an embed. Adds the cost
  /// of the tests to `cost`. Each link from another widget costs 1, too.
  func select(
    _ id: WidgetID, _ kind: KindName, in store: borrowing WidgetStore, cost: inout Int
  ) -> Bool {
    let costMax = cost + WatchedSelectors.widgetCostMax
    if selectAlone(id, kind, in: store, cost: &cost, atMost: costMax) { return true }
    guard !store.embedders(of: id).isEmpty else { return false }
    var above: Set<WidgetID> = [id]
    var waiting = [id]
    while let next = waiting.popLast() {
      // The set of the store stays without a copy, because it can have all widgets.
      let embedders = store.embedders(of: next)
      // Above this number, the widget counts as watched.
      guard embedders.count <= WatchedSelectors.embeddersMax else { return true }
      for further in embedders {
        cost += 1
        guard above.insert(further).inserted else { continue }
        guard above.count <= WatchedSelectors.embeddersMax else { return true }
        if let kind = store.kind(of: further),
          selectAlone(further, kind, in: store, cost: &cost, atMost: costMax)
        {
          return true
        }
        waiting.append(further)
      }
    }
    return false
  }

  /// The limit of widgets around one that are tested.
  private static let embeddersMax = 64

  private func selectAlone(
    _ id: WidgetID, _ kind: KindName, in store: borrowing WidgetStore, cost: inout Int,
    atMost costMax: Int
  ) -> Bool {
    cost += 1
    if everything > 0 || ids.contains(id) || kinds[kind] != nil { return true }
    guard plain.count <= WatchedSelectors.plainMax else { return true }
    for counted in plain.values {
      guard cost < costMax else { return true }
      var budget = Int.max
      let passes = store.passes(id, counted.test, spending: &budget)
      cost += 1 + (Int.max - budget) / WatchedSelectors.stepsOfTest
      if passes { return true }
    }
    guard expressions.count <= WatchedSelectors.expressionsMax else { return true }
    for counted in expressions.values {
      guard cost < costMax else { return true }
      var budget = Int.max
      let passes = store.passes(id, counted.test, spending: &budget)
      cost +=
        WatchedSelectors.expressionCost + (Int.max - budget) / WatchedSelectors.stepsOfTest
      if passes { return true }
    }
    return false
  }
}

/// The watched widgets of each provider that has set `include_audience`.
///
/// After a change of watches or providers, a pass tests all widgets of these providers. After
/// commits, only changed widgets are tested. An update starts at most once per `interval`. A pass
/// that has used the turn's budget continues after `pause`. The result is stale until it ends.
struct WatchedWidgets {
  /// The watched widgets of one provider.
  struct Share {
    var ids: Set<WidgetID> = []
    /// Changes with `ids`. Unique among all shares; 0 without widgets.
    var version: UInt64 = 0
  }

  private struct Pass {
    /// The next slot to test.
    var slot = 0
    let revision: Revision
    var found: [String: Set<WidgetID>] = [:]
    /// The providers with a found widget that their shares do not have.
    var grown: Set<String> = []
  }

  /// The providers with watched widgets.
  private var shares: [String: Share] = [:]
  /// The provider of each kind to test.
  private var owners: [KindName: String] = [:]
  private var pass: Pass?
  private var needsPass = false
  /// The revision of the store that `shares` reflects.
  private var revision: Revision = 0
  /// The version of the embeds that `shares` reflects.
  private var embedVersion: UInt64 = 0
  private var lastVersion: UInt64 = 0
  /// Counts the passes that have begun and ended.
  private(set) var passesBegun: UInt64 = 0
  private(set) var passesEnded: UInt64 = 0
  private(set) var nextLookAt = NIODeadline.uptimeNanoseconds(0)
  /// The start of the last update.
  private var lookedAt = NIODeadline.uptimeNanoseconds(0)

  static let interval = TimeAmount.milliseconds(200)
  /// The pause between two parts of a pass, in which the loop serves others.
  static let pause = TimeAmount.milliseconds(1)
  /// The budget of one turn, in units of `cost`.
  static let costMax = 4_096

  subscript(provider: String) -> Share { shares[provider] ?? Share() }

  var isInPass: Bool { pass != nil }

  /// Whether `shares` may be out of date.
  func isBehind(_ current: Revision) -> Bool {
    pass != nil || needsPass || revision != current
  }

  /// The number of providers with a share, for tests.
  var shareCount: Int { shares.count }

  /// Drops the share of a provider that is gone. A pass that has begun may still find widgets for it,
  /// so another one follows. O(kinds of the provider).
  ///
  /// - Parameter kinds: The kinds of its session.
  mutating func forget(_ provider: String, kinds: some Sequence<KindName>) {
    shares[provider] = nil
    pass?.found[provider] = nil
    pass?.grown.remove(provider)
    for kind in kinds where owners[kind] == provider { owners[kind] = nil }
    needsPass = needsPass || pass != nil
  }

  /// Requests a pass after a change of watches or providers.
  mutating func invalidate() { needsPass = true }

  /// Drops all state, because no provider asks for it any more.
  mutating func clear() {
    (shares, owners, pass, needsPass) = ([:], [:], nil, false)
    // A pass that is dropped counts as ended: a session that begins now waits for the next one.
    passesEnded = passesBegun
  }

  /// Updates the shares as far as the interval and the budget allow.
  ///
  /// - Parameter provided: Returns the provider of each kind now.
  mutating func look(
    in store: borrowing WidgetStore, _ selectors: WatchedSelectors, at instant: NIODeadline,
    provided: () -> [KindName: String]
  ) {
    guard isBehind(store.revision), instant >= nextLookAt else { return }
    if pass == nil {
      // Widgets in embeds may be watched now although they have not changed.
      if embedVersion != store.embedVersion {
        (embedVersion, needsPass) = (store.embedVersion, true)
      }
      lookedAt = instant
      nextLookAt = instant + WatchedWidgets.interval
      if !needsPass, lookAtChanges(in: store, selectors) { return }
      needsPass = false
      passesBegun += 1
      owners = provided()
      pass = Pass(revision: store.revision)
    }
    advance(in: store, selectors)
    nextLookAt =
      isInPass ? instant + WatchedWidgets.pause : lookedAt + WatchedWidgets.interval
  }

  /// Tests the widgets that changed. Returns false if they exceed the budget of one turn.
  private mutating func lookAtChanges(
    in store: borrowing WidgetStore, _ selectors: WatchedSelectors
  ) -> Bool {
    guard
      let changes = store.changedWidgets(since: revision, atMost: WatchedWidgets.costMax)
    else { return false }
    var cost = 0
    var tested: [(id: WidgetID, provider: String, isWatched: Bool)] = []
    for id in changes.changed {
      guard cost < WatchedWidgets.costMax else { return false }
      guard let kind = store.kind(of: id), let provider = owners[kind] else { continue }
      tested.append((id, provider, selectors.select(id, kind, in: store, cost: &cost)))
    }
    for (id, kind) in zip(changes.removed, changes.removedKinds) {
      if let provider = owners[kind] { update(id, of: provider, isWatched: false) }
    }
    for (id, provider, isWatched) in tested { update(id, of: provider, isWatched: isWatched) }
    revision = store.revision
    return true
  }

  /// Changes a share in place, because a copy of a large set takes long. A share without widgets is
  /// dropped; its version is 0.
  private mutating func update(_ id: WidgetID, of provider: String, isWatched: Bool) {
    guard self[provider].ids.contains(id) != isWatched else { return }
    if isWatched {
      shares[provider, default: Share()].ids.insert(id)
    } else {
      shares[provider]?.ids.remove(id)
      if shares[provider]?.ids.isEmpty == true {
        shares[provider] = nil
        return
      }
    }
    lastVersion += 1
    shares[provider]?.version = lastVersion
  }

  private mutating func advance(
    in store: borrowing WidgetStore, _ selectors: WatchedSelectors
  ) {
    guard var current = pass else { return }
    // Only one reference may exist, so that `found` grows without copies.
    pass = nil
    var cost = 0
    let next = store.scanWidgets(from: current.slot) { id, kind in
      guard let provider = owners[kind] else {
        cost += 1
        return cost < WatchedWidgets.costMax
      }
      if selectors.select(id, kind, in: store, cost: &cost) {
        current.found[provider, default: []].insert(id)
        if !current.grown.contains(provider), !self[provider].ids.contains(id) {
          current.grown.insert(provider)
        }
      }
      return cost < WatchedWidgets.costMax
    }
    if let next {
      current.slot = next
      pass = current
    } else {
      finish(current)
    }
  }

  /// Takes over the result of a pass. It compares no sets: sets without new widgets differ only if
  /// their counts do.
  private mutating func finish(_ pass: Pass) {
    passesEnded += 1
    revision = pass.revision
    for provider in Set(shares.keys).union(pass.found.keys) {
      guard let ids = pass.found[provider] else {
        shares[provider] = nil
        continue
      }
      guard pass.grown.contains(provider) || self[provider].ids.count != ids.count else { continue }
      lastVersion += 1
      shares[provider] = Share(ids: ids, version: lastVersion)
    }
  }
}
