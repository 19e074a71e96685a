import WidgetBundle
import WidgetModel

/// A bundle that runs from a folder. Only `RunningBundles` changes it.
struct RunningBundle: Sendable {
  fileprivate(set) var instance: BundleInstance
  fileprivate(set) var folder: String
  let loaded: Timestamp
  /// The data of its kinds that no source sets.
  let settable: SettableData
  /// The uptime of the host at that time.
  let loadedAt: Duration
  /// Whether the daemon has taken this version.
  fileprivate(set) var isTaken = false
  /// The former version, until the daemon has taken this one.
  fileprivate(set) var previous: Bundle?
  fileprivate(set) var refusal: String?
  /// The version in the folder, which the daemon has refused, while this one runs.
  fileprivate(set) var refused: Bundle?
  /// The reason of that refusal.
  fileprivate(set) var refusedFor: String?
  /// The last refusal of this version in the log. Nil after the daemon has taken the version.
  fileprivate(set) var told: String?
  /// The values of others that this version has removed with their widgets, for people.
  fileprivate(set) var losses = LossLines()
  /// The numbers of events that the daemon has dropped. They are of the epoch.
  fileprivate(set) var drops: [ClosedRange<UInt64>] = []
  fileprivate(set) var epoch: UInt64?
  /// The widgets that the file lacks, and that wait for their removal.
  fileprivate(set) var held: [Holds.Waiting] = []
  /// The kinds of all such widgets that the daemon still has.
  fileprivate(set) var heldKinds: Set<KindName> = []
  /// The edits of the file that have no effect, because somebody else has set the fields.
  fileprivate(set) var edits: [BundleClaims.KeptField] = []
  /// The widgets of the last version that the daemon has taken, until it has taken this one. The
  /// log names those of dropped kinds.
  fileprivate(set) var formerWidgets: FormerWidgets?
  /// Whether the daemon has told all widgets since it has taken this version.
  fileprivate(set) var knowsWidgets = false
  /// The kinds of its widgets that the file lacks.
  let foreignKinds: Set<KindName>
  /// Whether these kinds are registered. A kind is left out until the daemon has told a widget of it.
  fileprivate(set) var registrations: [KindName: Bool] = [:]

  init(_ instance: BundleInstance, folder: String, loaded now: HostTime, previous: Bundle?) {
    self.instance = instance
    self.folder = folder
    loaded = now.wall
    loadedAt = now.uptime
    settable = SettableData(of: instance.bundle)
    foreignKinds = Set(instance.bundle.remarks.compactMap(\.foreignKind))
    self.previous = previous
  }
}

/// The bundles that run, by id. A folder has at most one of them. A change of a bundle that does not
/// run has no effect.
struct RunningBundles: Sendable {
  private var bundles: [String: RunningBundle] = [:]
  /// The bundles of which the daemon has taken a version, until they are removed, each with the kinds of
  /// the last such version.
  private var taken: [String: Set<KindName>] = [:]

  subscript(id: String) -> RunningBundle? { bundles[id] }

  /// In order.
  var ids: [String] { bundles.keys.sorted() }

  /// The bundle that runs from a folder.
  func bundle(in path: String) -> String? { bundles.first { $0.value.folder == path }?.key }

  func id(of generation: UInt64) -> String? {
    bundles.first { $0.value.instance.generation == generation }?.key
  }

  // MARK: The life of a bundle

  /// A version begins, in the place of an earlier one.
  mutating func start(_ bundle: RunningBundle) { bundles[bundle.instance.bundle.id] = bundle }

  /// Ends a bundle.
  ///
  /// - Returns: the bundle, in its last state.
  mutating func end(_ id: String) -> RunningBundle? { bundles.removeValue(forKey: id) }

  /// The folder has another name.
  mutating func move(_ id: String, to path: String) { bundles[id]?.folder = path }

  /// Calls functions of a bundle's instance.
  ///
  /// - Returns: their result; nil if the bundle does not run.
  @discardableResult
  mutating func change<R>(_ id: String, _ body: (inout BundleInstance) -> R) -> R? {
    guard let index = bundles.index(forKey: id) else { return nil }
    return body(&bundles.values[index].instance)
  }

  /// A value of others is gone with its widget. The newest `countMax` lines are kept.
  mutating func lost(_ line: String, of id: String, countMax: Int) {
    bundles[id]?.losses.add(line, countMax: countMax)
  }

  /// Takes over what an earlier host or version has shown. In another epoch, the numbers of events
  /// are those of others.
  mutating func restore(_ former: FormerLosses, of id: String, countMax: Int) {
    guard let bundle = bundles[id] else { return }
    bundles[id]?.losses.add(earlier: former.lines, countMax: countMax)
    guard let epoch = former.epoch, bundle.epoch == nil || bundle.epoch == epoch else { return }
    let earlier = former.drops.filter { !bundle.drops.contains($0) }
    bundles[id]?.epoch = epoch
    bundles[id]?.drops = Array((earlier + bundle.drops).suffix(countMax))
  }

  /// The session of a bundle is open. In another epoch, numbers of events begin again.
  mutating func opened(_ id: String, epoch: UInt64) {
    guard let bundle = bundles[id], bundle.epoch != epoch else { return }
    bundles[id]?.epoch = epoch
    bundles[id]?.drops = []
  }

  /// The daemon has dropped events. The newest `countMax` ranges are kept.
  ///
  /// - Returns: whether this is new: the daemon sends a range again if its acknowledgement was lost.
  mutating func dropped(_ events: ClosedRange<UInt64>, of id: String, countMax: Int) -> Bool {
    guard let bundle = bundles[id], !bundle.drops.contains(events) else { return false }
    bundles[id]?.drops = Array((bundle.drops + [events]).suffix(countMax))
    return true
  }

  mutating func set(_ id: String, held widgets: [Holds.Waiting], of kinds: Set<KindName>) {
    bundles[id]?.held = widgets
    bundles[id]?.heldKinds = kinds
  }

  mutating func set(_ id: String, edits: [BundleClaims.KeptField]) { bundles[id]?.edits = edits }

  mutating func set(_ id: String, formerWidgets widgets: FormerWidgets?) {
    bundles[id]?.formerWidgets = widgets
  }

  mutating func takeFormerWidgets(of id: String) -> FormerWidgets? {
    let widgets = bundles[id]?.formerWidgets
    bundles[id]?.formerWidgets = nil
    return widgets
  }

  /// The daemon has told all widgets of a bundle's kinds. A version that the daemon has not taken
  /// may not see those of others.
  mutating func toldWidgets(of id: String) {
    if bundles[id]?.isTaken == true { bundles[id]?.knowsWidgets = true }
  }

  // MARK: The daemon

  /// Notes which kinds of other programs are registered: the content of a widget says so. The
  /// daemon can have no widget of a kind for a moment. Then the last known value stays.
  ///
  /// - Returns: the kinds that were registered before, and no longer are. Nil if nothing has changed.
  mutating func noteRegistrations(in input: BundleInput, of id: String) -> Set<KindName>? {
    guard let bundle = bundles[id], !bundle.foreignKinds.isEmpty else { return nil }
    var registrations = bundle.registrations
    let widgets: [Widget]
    switch input {
    case .snapshot(let all): widgets = all
    case .widget(let widget): widgets = [widget]
    default: return nil
    }
    for widget in widgets where bundle.foreignKinds.contains(widget.kind) {
      registrations[widget.kind] = !widget.isOfUnknownKind
    }
    guard registrations != bundle.registrations else { return nil }
    bundles[id]?.registrations = registrations
    return bundle.foreignKinds.filter {
      bundle.registrations[$0] == true && registrations[$0] == false
    }
  }

  /// Whether a kind that the bundle lacks is registered. Nil until the daemon has told a widget of it.
  func isRegistered(_ kind: KindName, for id: String) -> Bool? { bundles[id]?.registrations[kind] }

  /// The daemon has taken the version.
  mutating func taken(_ id: String) {
    guard let bundle = bundles[id]?.instance.bundle else { return }
    taken[id] = Set(bundle.kinds.map(\.kind.name))
    bundles[id]?.isTaken = true
    bundles[id]?.previous = nil
    bundles[id]?.refusal = nil
    bundles[id]?.told = nil
  }

  /// The kinds that the daemon has from a bundle, as far as this host knows.
  func provided(by id: String) -> Set<KindName> {
    guard let bundle = bundles[id], bundle.refusal == nil else { return [] }
    return taken[id] ?? []
  }

  /// The kinds that the daemon has from the bundles, as far as this host knows.
  var provided: Set<KindName> {
    taken.keys.reduce(into: []) { kinds, id in kinds.formUnion(provided(by: id)) }
  }

  /// Whether the daemon has the kind from one of the bundles.
  func provides(_ kind: KindName) -> Bool {
    taken.keys.contains { provided(by: $0).contains(kind) }
  }

  /// Whether a bundle has the kind that runs, or is about to run.
  func declares(_ kind: KindName) -> Bool {
    bundles.values.contains { current in
      current.refusal == nil && current.instance.bundle.kinds.contains { $0.kind.name == kind }
    }
  }

  /// The first other bundle with a kind, by id, that runs or is about to run. A version that the
  /// daemon has refused counts only if the reason was the kind, because the host then retries it.
  func bundle(declaring kind: KindName, except id: String) -> String? {
    func declares(_ version: Bundle, refusedFor reason: String?) -> Bool {
      version.kinds.contains { $0.kind.name == kind }
        && reason?.contains("Kind \"\(kind)\" belongs to ") ?? true
    }
    return ids.first { other in
      guard other != id, let bundle = bundles[other] else { return false }
      return declares(bundle.instance.bundle, refusedFor: bundle.refusal)
        || bundle.refused.map { declares($0, refusedFor: bundle.refusedFor) } ?? false
    }
  }

  /// The kinds of all bundles that run, or are about to run.
  var kinds: Set<KindName> {
    let kinds = bundles.values.filter { $0.refusal == nil }.flatMap(\.instance.bundle.kinds)
    return Set(kinds.map(\.kind.name))
  }

  /// The version that runs again if the daemon refuses the next one: the last one that the daemon has
  /// not refused. Nil if there is none.
  func fallback(of id: String) -> Bundle? {
    guard let bundle = bundles[id] else { return nil }
    return bundle.previous ?? (bundle.refusal == nil ? bundle.instance.bundle : nil)
  }

  /// The bundles of which the daemon has taken a version.
  var takenIDs: some Collection<String> { taken.keys }

  /// Whether the daemon has taken a version of the bundle.
  func wasTaken(_ id: String) -> Bool { taken[id] != nil }

  /// The bundle is removed.
  mutating func forget(_ id: String) { taken[id] = nil }

  /// The daemon refuses the only version.
  mutating func refused(_ id: String, problem: String) {
    bundles[id]?.knowsWidgets = false
    bundles[id]?.refusal = problem
    bundles[id]?.told = problem
  }

  /// The former version runs again, because the daemon refuses the version in the folder.
  mutating func returned(_ id: String, from refused: Bundle, problem: String) {
    bundles[id]?.previous = nil
    bundles[id]?.refused = refused
    bundles[id]?.refusedFor = problem
  }

  /// The refusal of the version in the folder has new words.
  mutating func reworded(_ id: String, problem: String) { bundles[id]?.refusedFor = problem }

  /// The refused version runs again.
  ///
  /// - Parameter problem: the reason of its refusal.
  mutating func retried(_ id: String, told problem: String?) { bundles[id]?.told = problem }

  // MARK: Time

  var nextDeadline: Duration? { bundles.values.compactMap(\.instance.nextDeadline).min() }

  /// Whether a bundle must hear when the clock is set.
  var followsClock: Bool { bundles.values.contains { $0.instance.hasAlignedSources } }
}
