import WidgetBundle
import WidgetModel

/// The waits after refusals. A wait lasts until the owners of a bundle's kinds and widgets change,
/// somebody asks for a retry, or the time for a retry has come.
struct Rests: Sendable {
  /// The work that continues after the wait.
  enum Holder: Hashable, Comparable, Sendable {
    case connection(UInt64)
    case work(UInt64)
    /// A refused version of this bundle, while the former version runs.
    case version(String)
  }

  private struct Rest: Sendable {
    let bundle: Bundle
    /// The widgets that other bundles were giving up at the refusal.
    let leaving: Set<WidgetID>
    /// Whether a version of the bundle with the rival lacked the rival, as the words of the refusal
    /// say.
    var isDropped: Bool
    let kinds: [KindName]
    /// The kinds of the bundle's widgets, by widget.
    let widgets: [WidgetID: KindName]
    /// The set and provider of the bundle.
    let set: String
    /// The time of the retry in any case; nil for never.
    let end: Duration?
    var known: Circumstances?
    /// The question about the owners that has no answer.
    var look: CallID?
    var lookAt: Duration?
  }

  private struct Refusal: Sendable {
    /// Whether it names one of the daemon's limits.
    let isLimit: Bool
    /// The widgets whose offer by other bundles cannot end the refusal.
    var tried: Set<WidgetID>
    /// The widget of another owner that the refusal names.
    let rival: Circumstances.WidgetStanding?
  }

  private var rests: [Holder: Rest] = [:]
  /// The last refusals, by bundle.
  private var refusals: [String: Refusal] = [:]

  var isEmpty: Bool { rests.isEmpty }

  /// In order.
  var holders: [Holder] { rests.keys.sorted() }

  /// The refused versions, in order of their holders.
  var bundles: [Bundle] { holders.compactMap { rests[$0]?.bundle } }

  /// The daemon has refused a bundle. The wait must follow.
  ///
  /// - Parameters:
  ///   - ids: the widgets that the bundle was taking over from other bundles. A further offer of
  ///     these widgets would only give the same refusal. A refusal of kinds has nothing to do with
  ///     widgets, so `ids` then has all widgets.
  ///   - rival: the widget of another owner that the refusal names.
  mutating func refused(
    _ id: String, for failure: Failure, trying ids: Set<WidgetID>,
    rival: Circumstances.WidgetStanding? = nil
  ) {
    refusals[id] = Refusal(isLimit: failure.isLimit, tried: ids, rival: rival)
  }

  /// The widget of another owner that the last refusal of a bundle names.
  func rival(of id: String) -> Circumstances.WidgetStanding? { refusals[id]?.rival }

  /// A bundle is removed.
  mutating func forget(_ id: String) { refusals[id] = nil }

  /// Another bundle gives a widget up.
  mutating func begin(offer id: WidgetID) {
    for bundle in refusals.keys { refusals[bundle]?.tried.remove(id) }
  }

  /// Begins a wait. The question about the owners must follow.
  ///
  /// - Parameters:
  ///   - leaving: the widgets of the bundle that other bundles are giving up.
  ///   - isDropped: whether a version of the bundle with the rival lacks the rival. The daemon has
  ///     not taken that version.
  mutating func begin(
    _ holder: Holder, _ bundle: Bundle, leaving: Set<WidgetID>, isDropped: Bool,
    until end: Duration?
  ) {
    let kinds = Set(bundle.kinds.map(\.kind.name) + bundle.widgets.map(\.kind))
    rests[holder] = Rest(
      bundle: bundle, leaving: leaving, isDropped: isDropped,
      kinds: kinds.sorted { $0.rawValue < $1.rawValue },
      widgets: bundle.kindsOfWidgets, set: HostState.provider(of: bundle.id), end: end)
  }

  /// Ends a wait.
  ///
  /// - Returns: whether there was one, and the call to cancel.
  mutating func end(_ holder: Holder) -> (wasWaiting: Bool, call: CallID?) {
    let rest = rests.removeValue(forKey: holder)
    return (rest != nil, rest?.look)
  }

  /// The question about the owners of a bundle's kinds and widgets.
  func question(of holder: Holder) -> DaemonCall? {
    rests[holder].map { rest in
      .standing(kinds: rest.kinds, widgets: rest.widgets.keys.sorted(by: WidgetID.inOrder))
    }
  }

  mutating func asked(_ holder: Holder, with call: CallID) {
    rests[holder]?.look = call
    rests[holder]?.lookAt = nil
  }

  /// The question is answered, or has failed. A missing answer is not a change. Neither is a change
  /// of the bundle's own kinds and widgets: the refused version and the former one make these
  /// changes themselves, so each retry would cause the next one.
  ///
  /// - Returns: whether the owners have changed.
  mutating func answered(
    _ holder: Holder, _ circumstances: Circumstances?, lookAgainAt deadline: Duration
  ) -> Bool {
    rests[holder]?.look = nil
    rests[holder]?.lookAt = deadline
    guard let rest = rests[holder], let circumstances = circumstances?.without(rest.set) else {
      return false
    }
    let known = rests[holder]?.known ?? circumstances
    rests[holder]?.known = circumstances
    return known != circumstances
  }

  func contains(_ holder: Holder) -> Bool { rests[holder] != nil }

  /// Whether the refusal can end when widgets of other bundles begin or cease to wait for their removal.
  /// A removed widget can make room below a limit. But a retry of a version ends the running one,
  /// so it needs a better reason.
  func dependsOnHolds(_ holder: Holder) -> Bool {
    guard case .version(let id) = holder else { return true }
    return refusals[id]?.isLimit != true
  }

  /// The waits whose refusal may be outdated, in order. Since the refusal, the set of widgets that other
  /// bundles give up has changed, or a version lacks the rival by now.
  ///
  /// - Parameter now: the widgets of a bundle that other bundles give up, and whether its rival is
  ///   dropped.
  /// - Returns: with each wait, whether only the words of the refusal are outdated. Then a version
  ///   needs no retry, which would end the running one.
  func outdated(
    _ now: (Bundle) -> (leaving: Set<WidgetID>, isDropped: Bool)
  ) -> [(holder: Holder, bundle: Bundle, needsWords: Bool)] {
    holders.compactMap { holder in
      guard let rest = rests[holder] else { return nil }
      // The daemon has refused the kinds.
      if case .connection = holder { return nil }
      guard dependsOnHolds(holder) else { return nil }
      let (leaving, isDropped) = now(rest.bundle)
      guard leaving != rest.leaving || isDropped != rest.isDropped else { return nil }
      let isVersion = if case .version = holder { true } else { false }
      return (holder, rest.bundle, isVersion && leaving == rest.leaving)
    }
  }

  /// The refusal has new words.
  mutating func set(_ holder: Holder, isDropped: Bool) { rests[holder]?.isDropped = isDropped }

  /// Whether the last refusal of a bundle came although the bundle was taking this widget over.
  func hasTried(_ bundle: String, _ id: WidgetID) -> Bool {
    refusals[bundle]?.tried.contains(id) ?? false
  }

  /// The waits of bundles that declare the widget with this kind, in order.
  func wanting(_ id: WidgetID, _ kind: KindName) -> [Holder] {
    holders.filter { rests[$0]?.widgets[id] == kind }
  }

  // MARK: Time

  var nextDeadline: Duration? {
    rests.values.flatMap { [$0.lookAt, $0.end].compactMap(\.self) }.min()
  }

  /// The waits with something to do now, in order: those that are over, and those whose question is
  /// due.
  func due(at uptime: Duration) -> [(holder: Holder, isOver: Bool)] {
    func isDue(_ deadline: Duration?) -> Bool { deadline.map { $0 <= uptime } ?? false }
    return holders.compactMap { holder in
      guard let rest = rests[holder], isDue(rest.end) || isDue(rest.lookAt) else { return nil }
      return (holder, isDue(rest.end))
    }
  }
}

extension Circumstances {
  /// The kinds and widgets of others than the bundle.
  fileprivate func without(_ set: String) -> Circumstances {
    Circumstances(
      kinds: kinds.filter { $0.provider != set }, widgets: widgets.filter { $0.applySet != set })
  }
}

extension Bundle {
  /// The kinds of the widgets that the file has, by widget.
  var kindsOfWidgets: [WidgetID: KindName] {
    Dictionary(widgets.compactMap { spec in spec.id.map { ($0, spec.kind) } }) { first, _ in first }
  }
}
