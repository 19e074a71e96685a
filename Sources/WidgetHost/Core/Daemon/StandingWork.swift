import WidgetBundle
import WidgetModel

/// The declarations of the widgets that show the host and its bundles.
struct StandingWork: Sendable {
  private enum Phase: Hashable, Sendable {
    case idle
    /// Reads which bundles an earlier host ran, before its widgets are removed.
    case listing
    /// Looks into the folders of bundles that are not in a folder of this host.
    case looking
    /// The version that is being declared.
    case declaring(UInt64)
    /// Asks which widgets of others have ids of the host's widgets.
    case inspecting(Failure)
  }

  enum Step: Hashable, Sendable { case list, declare, admit }

  /// The effect of an answer.
  enum Answered: Sendable {
    case nothing
    /// The daemon has taken the widgets.
    case declared
    /// Look into the folders of these bundles, which are not folders of this host.
    case look([HostState.Remembered])
    /// The bundles that an earlier host ran, and lines for the log.
    case remembered([HostState.Remembered], reports: [String])
    /// The daemon refuses the widgets. The bundles do not need them, so they run without them. The
    /// line is for the log; nil if it is not news.
    case refused(report: String?)
    /// Ask for the kinds and owners of these widgets, because one of them has another kind.
    case inspect([WidgetID])
    /// Widgets of others have ids of the host's widgets. The lines are for the log.
    case blocked(reports: [String])
  }

  private var phase = Phase.idle
  private var call: CallID?
  /// The widgets of the host and its bundles.
  private var specs: [WidgetSpec] = []
  /// The folders of this host.
  private var folders: Set<String> = []
  /// The state of bundles in folders of other hosts.
  private var elsewhere: [WidgetSpec] = []
  /// The last declaration.
  private var sent: [WidgetSpec] = []
  /// Counts the changes of `specs`, and every other reason to declare them.
  private(set) var version: UInt64 = 0
  /// The version that the daemon has taken, or refused.
  private(set) var declared: UInt64 = 0
  /// The version of the declaration with which the bundles may run.
  private var admission: UInt64?
  private var isDaemonKnown = false
  /// The widgets of bundles that the daemon has.
  private var known: [Widget] = []
  /// The marks of bundles that earlier hosts have removed, as the daemon has them.
  private(set) var formerMarks: [String] = []
  private var attempts = 0
  private(set) var retryAt: Duration?
  private var refusal: String?
  /// The widgets of others with ids of the host's widgets. The next declaration leaves these out, so
  /// the daemon takes the rest.
  private var blocked: [WidgetID: Circumstances.WidgetStanding] = [:]
  /// Those that were reported.
  private var told: Set<Circumstances.WidgetStanding> = []
  /// The time at which all widgets are declared again, because the others may be gone.
  private var unblockAt: Duration?

  // MARK: The widgets

  /// The widgets of bundles in folders of other hosts, except bundles that this host runs by now.
  private func others(than specs: [WidgetSpec]) -> [WidgetSpec] {
    let ids = Set(specs.map(\.id))
    return elsewhere.filter { !ids.contains($0.id) }
  }

  /// The widgets of bundles that are still being removed, so that the next host removes them.
  ///
  /// A folder whose bundle does not run can be shown under the same id. Its widget does not tell the
  /// next host what to remove, so it waits. The kept widget has its problem meanwhile.
  ///
  /// - Parameter heirs: by the id of such a widget, the bundle that takes over, if there is one.
  private func kept(_ heirs: [WidgetID: String?], beside specs: [WidgetSpec]) -> [WidgetSpec] {
    let known = Dictionary(specs.map { ($0.id, $0) }) { first, _ in first }
    return sent.compactMap { spec -> WidgetSpec? in
      guard let id = spec.id, let heir = heirs[id] else { return nil }
      let other = known[id]
      guard other.map({ spec.hasRun && !$0.hasRun }) ?? true else { return nil }
      var spec = spec
      var problems: [String] = []
      spec.data["state"] = .string(HostState.Standing.State.stopped.rawValue)
      spec.data["runs"] = .bool(false)
      if let heir {
        spec.data["heir"] = .string(heir)
        problems.append("bundle \(heir) takes over its kinds and widgets")
      } else {
        problems.append(BundleRemovalMark.problem)
      }
      if case .string(let problem)? = other?.data["problem"] { problems.append(problem) }
      spec.data["problem"] = .string(problems.joined(separator: "\n"))
      return spec
    }
  }

  var all: [WidgetSpec] { specs + others(than: specs) }

  /// The widgets in the last declaration that show bundles that have run. The next host takes these
  /// bundles for its own.
  var sentBundles: Set<WidgetID> { Set(sent.filter(\.hasRun).compactMap(\.id)) }

  /// All widgets to declare. The widget of the host names those that cannot be declared.
  ///
  /// - Parameters:
  ///   - last: the widgets of the host and its bundles at the end; nil for the present ones.
  ///   - heirs: the bundles that are still being removed; see `kept`.
  func declaration(
    _ last: [WidgetSpec]? = nil, keeping heirs: [WidgetID: String?]
  ) -> [WidgetSpec] {
    var specs = last ?? specs
    specs += others(than: specs)
    let kept = kept(heirs, beside: specs)
    specs.removeAll { spec in kept.contains { $0.id == spec.id } }
    specs += kept
    guard !blocked.isEmpty else { return specs }
    specs.removeAll { spec in spec.id.map { blocked[$0] != nil } ?? false }
    if let host = specs.firstIndex(where: { $0.id?.rawValue == HostWidget.name }) {
      var lines = blocked.keys.sorted(by: WidgetID.inOrder).compactMap { blocked[$0]?.words }
      if case .string(let problem)? = specs[host].data["problem"], !problem.isEmpty {
        lines.insert(problem, at: 0)
      }
      specs[host].data["problem"] = .string(lines.joined(separator: "\n"))
    }
    return specs
  }

  mutating func set(_ specs: [WidgetSpec]) {
    self.specs = specs
    version += 1
    // The daemon may take the changed declaration, so retry at once.
    if refusal != nil { retryAt = nil }
  }

  mutating func set(folders: Set<String>) { self.folders = folders }

  /// Something else has changed, so that the widgets must be declared again.
  mutating func declareAgain() { version += 1 }

  // MARK: The host's session

  /// The host holds the daemon. Another host may have served it meanwhile.
  mutating func begin() {
    isDaemonKnown = false
    version += 1
    admission = version
    retryAt = nil
  }

  /// Another host may change the data that this host was about to read or to declare.
  ///
  /// - Returns: the call to cancel.
  mutating func suspend() -> CallID? {
    admission = nil
    phase = .idle
    defer { call = nil }
    return call
  }

  // MARK: Steps

  /// The next step; nil if there is none now.
  var step: Step? {
    guard phase == .idle, retryAt == nil else { return nil }
    guard version > declared || refusal != nil else { return .admit }
    return isDaemonKnown ? .declare : .list
  }

  mutating func list(with call: CallID) { (phase, self.call) = (.listing, call) }

  mutating func look(with call: CallID) { (phase, self.call) = (.looking, call) }

  mutating func inspect(with call: CallID) { self.call = call }

  mutating func declare(_ specs: [WidgetSpec], with call: CallID) {
    (phase, self.call) = (.declaring(version), call)
    sent = specs
  }

  /// - Returns: whether the bundles may run from now on.
  mutating func takeAdmission() -> Bool {
    guard let admission, declared >= admission else { return false }
    self.admission = nil
    return true
  }

  mutating func answered(
    _ result: Result<DaemonAnswer, Failure>, at uptime: Duration, _ limits: HostLimits
  ) -> Answered {
    let phase = phase
    (self.phase, call) = (.idle, nil)
    switch result {
    case .success(let answer):
      attempts = 0
      switch (phase, answer) {
      case (.listing, .widgets(let widgets)): return listed(widgets)
      case (.looking, .absences(let absences, let marks)):
        return looked(finding: absences, marks)
      case (.declaring(let version), _):
        declared = version
        refusal = nil
        told = Set(blocked.values)
        unblockAt = blocked.isEmpty ? nil : uptime + limits.refusalRetryInterval
        return .declared
      case (.inspecting(let failure), .standing(let found)):
        return inspected(found, failure, at: uptime, limits)
      default: break
      }
      return .nothing
    case .failure(let failure) where failure.isTransient || failure.code == "CANCELLED":
      attempts += 1
      retryAt = uptime + limits.daemonWait(attempts)
      return .nothing
    case .failure(let failure):
      guard failure.isKindMismatch, case .declaring = phase else {
        return refused(failure, at: uptime, limits)
      }
      self.phase = .inspecting(failure)
      return .inspect(sent.compactMap(\.id))
    }
  }

  private mutating func refused(
    _ failure: Failure, at uptime: Duration, _ limits: HostLimits
  ) -> Answered {
    let isNews = failure.message != refusal
    refusal = failure.message
    declared = version
    retryAt = uptime + limits.refusalRetryInterval
    return .refused(report: isNews ? failure.message : nil)
  }

  private mutating func inspected(
    _ found: Circumstances, _ failure: Failure, at uptime: Duration, _ limits: HostLimits
  ) -> Answered {
    let others = found.widgets.filter { other in
      blocked[other.id] == nil && sent.contains { $0.id == other.id && $0.kind != other.kind }
    }
    guard !others.isEmpty else { return refused(failure, at: uptime, limits) }
    for other in others { blocked[other.id] = other }
    return .blocked(
      reports: others.filter { !told.contains($0) }.map(\.words).sorted())
  }

  private mutating func listed(_ widgets: [Widget]) -> Answered {
    known = widgets.filter { $0.applySet == HostState.provider }
    let host = known.first { $0.id.rawValue == HostWidget.name }
    formerMarks = host.map { HostWidget.marks(in: $0.data) } ?? []
    let bundles = known.compactMap(\.bundle).filter { !folders.contains($0.path) }
    return bundles.isEmpty ? looked(finding: [:]) : .look(bundles)
  }

  /// - Parameter marks: those that tell of removals.
  private mutating func looked(
    finding absences: [String: HostState.Absence], _ marks: Set<String> = []
  ) -> Answered {
    let told = Set(elsewhere.map(\.id))
    isDaemonKnown = true
    elsewhere = []
    var bundles: [HostState.Remembered] = []
    var reports: [String] = []
    for widget in known {
      // A bundle that never ran has no kinds and widgets. If its folder still has a mistake, this
      // host shows it by itself.
      guard var bundle = widget.bundle, bundle.loaded != nil else { continue }
      if !sent.contains(where: { $0.id == widget.id }) {
        sent.append(WidgetSpec(id: widget.id, kind: widget.kind, family: .small, data: widget.data))
      }
      let isOwn = folders.contains(bundle.path)
      bundle.absence = isOwn ? nil : absences[bundle.path]
      if bundle.absence == .removed { bundle.note(marks) }
      guard !isOwn, bundle.absence == nil else {
        bundles.append(bundle)
        continue
      }
      // This host runs the bundle from another folder, so its widgets are fresh.
      guard !specs.contains(where: { $0.id == widget.id && $0.hasRun }) else { continue }
      // A bundle whose folder still exists belongs to another host, or to this host with other
      // settings.
      let words = "\(bundle.path) is not in a folder of this host"
      if !told.contains(widget.id) {
        reports.append("bundle \(bundle.id) in \(words); its widgets stay and are stale")
      }
      var data = widget.data
      data["state"] = .string(HostState.Standing.State.stopped.rawValue)
      data["runs"] = .bool(false)
      data["problem"] = .string(words)
      elsewhere.append(WidgetSpec(id: widget.id, kind: widget.kind, family: .small, data: data))
    }
    known = []
    return .remembered(bundles, reports: reports)
  }

  // MARK: Time

  var nextDeadline: Duration? { [retryAt, unblockAt].compactMap(\.self).min() }

  mutating func tick(at uptime: Duration) {
    if let deadline = retryAt, deadline <= uptime { retryAt = nil }
    if let deadline = unblockAt, deadline <= uptime {
      (unblockAt, blocked) = (nil, [:])
      version += 1
    }
  }
}

extension Circumstances.WidgetStanding {
  /// The reason why the host cannot declare a widget with this id, and the next step.
  fileprivate var words: String {
    let prefix = HostState.provider(of: "")
    let hidden =
      id.rawValue.hasPrefix(prefix)
      ? "the state of bundle \(id.rawValue.dropFirst(prefix.count))" : "the state of widgetd-host"
    let owner =
      applySet.isEmpty
      ? "was created by user \(ownerUID)" : "belongs to \(OwnerName.words(ofSet: applySet))"
    let step =
      applySet.hasPrefix(prefix)
      ? "give it another id in the file of that bundle"
      : "remove it with its data (`widgetctl rm \(id)`)"
    return "widget \"\(id)\" already exists and \(owner), so it hides \(hidden); \(step)"
  }
}

extension WidgetSpec {
  /// Whether the bundle of a widget of kind `bundle` has run.
  fileprivate var hasRun: Bool {
    if case .timestamp? = data["loaded"] { true } else { false }
  }
}

extension Widget {
  /// The bundle that a widget of kind `bundle` shows.
  fileprivate var bundle: HostState.Remembered? {
    guard case .string(let id)? = data["id"], case .string(let path)? = data["path"] else {
      return nil
    }
    let loaded: Timestamp? = if case .timestamp(let time)? = data["loaded"] { time } else { nil }
    return HostState.Remembered(id: id, path: path, loaded: loaded, shown: data)
  }
}
