public import WidgetBundle
public import WidgetModel

/// All bundles: the folders, the bundle in each folder, the version that runs, and the widgets that
/// show this to clients.
///
/// A value without I/O. Adapters report what folders contain; the outputs say what to declare,
/// start and end. If a bundle's file becomes broken, the former version keeps running. If two
/// folders have the same bundle, the first folder counts. When it is removed, the next one in
/// `BundleFolderOrder` counts.
public struct HostState: Sendable {
  /// The content of a folder.
  public enum Found: Sendable {
    /// A bundle, and the digest of its file.
    case bundle(Bundle, digest: UInt64)
    /// The same, as the installer wrote it: nobody has edited the file since.
    case installed(Bundle, digest: UInt64)
    /// A file that is not a bundle: the mistakes, with the file's name and the place.
    case broken(problem: String, digest: UInt64)
  }

  public enum Output: Sendable {
    /// Declare the bundle's kinds and widgets, and declare them again whenever the daemon comes
    /// back. Report the changes of its widgets.
    case open(generation: UInt64, Bundle)
    /// End everything of this generation.
    case close(generation: UInt64)
    /// Remove the kinds and widgets of this bundle. The note is for the log, when they are gone; nil
    /// for none.
    case withdraw(id: String, note: RemovalNote?)
    /// The same, but another bundle takes over what it declares, too.
    case handOver(id: String, to: String)
    /// The daemon refused this version, and the former version still runs. Retry when the owners of
    /// its kinds or widgets change. nil: do not retry any more.
    case refused(id: String, Bundle?)
    /// The problems of bundles, by the set of their widgets. Show them on widgets that no instance
    /// serves.
    case troubles([String: BundleTrouble])
    /// End these errors of a bundle that is removed, or has another id.
    case unmark(LeftErrors)
    case effect(Effect)
    /// Change a widget that a bundle has served, after the bundle has ended. Nobody waits for the
    /// answer.
    case leave(WidgetID, WidgetPatch, bundle: String)
    /// The state of bundles has changed: declare these widgets of kind `bundle`.
    case standing([WidgetSpec])
    /// An error or a warning, for the log.
    case report(String)
    /// The host's progress, for the log.
    case note(String)
  }

  let limits: HostLimits
  private let isStub: Bool
  private let home: String
  private let programFolders: [String]
  private let uid: UInt32
  /// The name of a user; nil if no user has the number.
  let userName: @Sendable (UInt32) -> String?
  private var numbers: SeededNumbers
  private var lastGeneration: UInt64 = 0
  // Both have private state, which only their functions change.
  var folders: FolderTable
  var running = RunningBundles()
  /// The bundles of earlier hosts, since the first answer of the daemon.
  private(set) var formerIDs: Set<String>?
  /// The bundles that this host has removed, or has handed over to others. The daemon may still have
  /// their widgets.
  var removedIDs: Set<String> = []
  /// The last known kinds of each bundle, for suggestions. Missing bundles and bundles of earlier
  /// hosts count, but not bundles that somebody has removed on purpose.
  var lastKinds: [String: Set<KindName>] = [:]
  /// The kinds of programs, as the daemon last told them, for suggestions.
  var programKinds: Set<KindName> = []
  /// The hints of the last standings.
  var kindHints = KindHints()
  /// The marks of removals that no longer count.
  var knownMarks = KnownMarks()
  /// The data of former versions that no source set.
  var formerData = FormerData()
  /// The lines about lost values of bundles that do not run yet.
  var formerLosses: [String: FormerLosses] = [:]
  /// The reports that wait for the end of a look.
  var unsaid = UnsaidReports()
  private(set) var isStopping = false
  /// Whether problems of bundles may have changed since `toldTroubles`.
  var mayHaveNewTroubles = false
  /// The problems of the last output `troubles`.
  var toldTroubles: [String: BundleTrouble] = [:]
  /// Whether the daemon does not have this host now. See `HostState+Absence`.
  var isDaemonAway = true
  /// The widgets of the last output `standing`, to output only changes.
  var told: [WidgetSpec]?
  /// The ends of the traces, by bundle.
  private var traceEnds: [String: Duration] = [:]

  /// - Parameters:
  ///   - roots: the folders that hold bundles' folders, without symbolic links.
  ///   - uid: the user of the host.
  public init(
    limits: HostLimits = HostLimits(), roots: [String] = [], isStub: Bool = false, home: String,
    programFolders: [String] = BundlePermissions.systemFolders, uid: UInt32 = 0, seed: UInt64,
    userName: @escaping @Sendable (UInt32) -> String? = { _ in nil }
  ) {
    folders = FolderTable(roots: roots)
    self.programFolders = programFolders
    self.uid = uid
    self.userName = userName
    self.limits = limits
    self.isStub = isStub
    self.home = home
    numbers = SeededNumbers(seed: seed)
  }

  // MARK: Folders

  /// The host has looked into a folder.
  ///
  /// - Parameter path: the folder's, absolute, without symbolic links.
  public mutating func found(_ found: Found, in path: String, at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    switch found {
    case .broken(let problem, let digest):
      guard folders.found(broken: problem, digest: digest, in: path, at: now.wall) else {
        return []
      }
      outputs.append(.report(problem))
      if let id = running.bundle(in: path) { outputs += setProblem(problem, of: id, at: now) }
    case .bundle(let bundle, let digest), .installed(let bundle, let digest):
      let isInstalled = if case .installed = found { true } else { false }
      let (isNews, before) = folders.found(
        bundle, digest: digest, isInstalled: isInstalled, in: path)
      guard isNews else { return [] }
      if before?.absence != nil {
        folders.returned(path, at: now.wall)
        outputs.append(.note("bundle \(bundle.id) is back in \(path)"))
      }
      let isMended = before?.goodDigest == digest && running[bundle.id]?.folder == path
      if let former = before?.bundle?.id, former != bundle.id, running[former]?.folder == path {
        outputs += rename(former, to: bundle, in: path, at: now)
      }
      outputs += inherit(before?.remembered ?? [], by: bundle)
      outputs += leaveAbsent(bundle, for: path)
      outputs += inherit(bundle, at: now)
      if let holder = running[bundle.id], holder.folder != path {
        noteCopy(of: holder, in: path)
      } else if isMended {
        outputs += setProblem(running[bundle.id]?.refusal, of: bundle.id, at: now)
        if before?.absence == nil {
          outputs.append(.note("bundle \(bundle.id): the file is valid again; nothing has changed"))
        }
      } else {
        outputs += start(bundle, in: path, at: now)
      }
    }
    return outputs + standing()
  }

  /// Notes that a folder has a bundle that the host uses from another folder.
  private mutating func noteCopy(of holder: RunningBundle, in path: String) {
    let id = holder.instance.bundle.id
    let isHolderMisnamed =
      Paths.lastComponent(path) == id && Paths.lastComponent(holder.folder) != id
    let problem =
      (runs(holder)
        ? "bundle \(id) runs from \(holder.folder), so \(path) does not run"
        : "bundle \(id) is in \(holder.folder), too, and the host uses that one")
      + "; remove \(isHolderMisnamed ? holder.folder : path), or change the id in its file"
    folders.set(path, problem: problem)
    unsaid.doubles[path] = problem
  }

  /// Withdraws a bundle that an earlier host left behind, unless this host runs it.
  mutating func forget(_ known: Remembered) -> [Output] {
    let id = known.id
    guard running[id] == nil else { return [] }
    removedIDs.insert(id)
    knownMarks.removed(id)
    formerData.forget(id)
    formerLosses[id] = nil
    return [unmark(known)] + withdraw(removalNote(of: known))
  }

  /// The bundles that run although nobody knows the widgets of their file: it has a mistake, or is
  /// missing. `removals` has the times at which missing ones are removed.
  var unread: (broken: Set<String>, missing: Set<String>, removals: [String: Duration]) {
    var (broken, missing): (Set<String>, Set<String>) = ([], [])
    var removals: [String: Duration] = [:]
    for (path, folder) in folders.all where folder.isBroken || folder.absence != nil {
      guard let id = running.bundle(in: path) else { continue }
      if folder.absence == nil { broken.insert(id) } else { missing.insert(id) }
      removals[id] = folder.removeAt
    }
    return (broken, missing, removals)
  }

  /// The folders that are known.
  public var knownFolders: [String] { folders.paths }

  /// Whether a bundle runs from a folder, or ran from it under an earlier host.
  func hasBundle(in path: String) -> Bool {
    running.bundle(in: path) != nil || folders[path]?.remembered.isEmpty == false
  }

  /// Why a version starts.
  enum Start {
    /// The file was read.
    case read
    /// The daemon has refused the version, and is asked again. The log has the version already.
    case retry
    /// The daemon has refused a later version.
    case fallback
  }

  mutating func start(
    _ bundle: Bundle, in path: String, as start: Start = .read, at now: HostTime
  ) -> [Output] {
    var outputs: [Output] = []
    let before = running[bundle.id]
    if before?.refused != nil { outputs.append(.refused(id: bundle.id, nil)) }
    if let before {
      // The next version continues the others.
      outputs += interrupt(bundle.id, but: Set(bundle.kinds.map(\.kind.name)), at: now)
      outputs += (running.change(bundle.id) { $0.stop() } ?? []).map { .effect($0) }
      outputs.append(.close(generation: before.instance.generation))
    }
    lastGeneration += 1
    removedIDs.remove(bundle.id)
    var instance = BundleInstance(
      bundle, generation: lastGeneration, folder: path, home: home,
      programFolders: programFolders, limits: limits, isStub: isStub, isReload: before != nil,
      hostUID: uid, seed: numbers.next())
    if let before { instance.keepAges(of: before.instance) }
    let isTraced = traceEnds[bundle.id].map { $0 > now.uptime } ?? false
    if isTraced, let end = traceEnds[bundle.id] { instance.trace(until: end) }
    running.start(
      RunningBundle(
        instance, folder: path, loaded: now, previous: running.fallback(of: bundle.id)))
    let losses = before.flatMap { FormerLosses(of: $0) } ?? formerLosses[bundle.id]
    formerLosses[bundle.id] = nil
    restoreLosses(losses, of: bundle.id)
    // They stay until the daemon has taken the new version.
    if let before {
      running.set(bundle.id, edits: before.edits)
      running.set(bundle.id, formerWidgets: formerWidgets(of: before))
      formerData.replace(before.settable, of: bundle.id, wasTaken: before.isTaken)
    }
    let kinds = Set(bundle.kinds.map(\.kind.name))
    formerData.returned(kinds.subtracting(before?.settable.names ?? []), to: bundle.id)
    noteKinds(kinds, of: bundle.id)
    outputs.append(.open(generation: lastGeneration, bundle))
    if isTraced { outputs.append(tell(instance, "\(bundle.version) is loaded", at: now)) }
    guard start == .read else { return outputs }
    outputs.append(.note("bundle \(bundle.id) \(bundle.version) read from \(path)"))
    unsaid.bundles.insert(bundle.id)
    for remark in bundle.remarks where remark.foreignKind == nil {
      outputs.append(.report("bundle \(bundle.id): \(remark)"))
    }
    for line in before.map({ keptDefaults(of: bundle, after: $0.instance) }) ?? [] {
      outputs.append(.report("bundle \(bundle.id): \(line)"))
    }
    for problem in bundle.defaults.problems {
      outputs.append(.report("bundle \(bundle.id): \(problem)"))
    }
    return outputs
  }

  /// Ends a bundle. If another folder has the same bundle, that folder counts from now on.
  mutating func letGo(_ id: String, at now: HostTime) -> [Output] {
    let next = folders.holding(id).first.flatMap { folders[$0]?.bundle }
    guard let (ended, ends) = end(id, replacedBy: next, at: now) else { return [] }
    if let path = folders.holding(id).first, let bundle = folders[path]?.bundle {
      folders.set(path, problem: nil)
      formerLosses[id] = FormerLosses(of: ended)
      let starts = start(bundle, in: path, at: now)
      // The problems of further copies name the former folder.
      if let holder = running[id] {
        for copy in folders.holding(id).dropFirst() where folders[copy]?.isBroken == false {
          noteCopy(of: holder, in: copy)
        }
      }
      return ends + starts
    }
    let note = mayHaveRun(id) ? removalNote(of: ended) : nil
    let unmark = unmark(ended)
    running.forget(id)
    formerData.forget(id)
    removedIDs.insert(id)
    knownMarks.removed(id)
    guard let note else {
      return ends
        + [unmark, .withdraw(id: id, note: nil), .note("bundle \(id) removed; it has never run")]
    }
    return ends + [unmark] + withdraw(note)
  }

  /// Whether the daemon has, or may have, widgets of a bundle, from this host or an earlier one.
  func mayHaveRun(_ id: String) -> Bool {
    running.wasTaken(id) || formerIDs?.contains(id) != false
  }

  /// Interrupts the actions of a bundle that ends, except on widgets of kinds that another instance
  /// serves next. That instance ends the others.
  private mutating func interrupt(
    _ id: String, but kinds: Set<KindName>, at now: HostTime
  ) -> [Output] {
    (running.change(id) { $0.interruptRuns(but: kinds, at: now) } ?? []).map { effect in
      if case .patch(_, let widget, let patch) = effect {
        .leave(widget, patch, bundle: id)
      } else {
        .effect(effect)
      }
    }
  }

  /// Ends a bundle.
  ///
  /// - Parameter next: the bundle that has its kinds from now on; nil for none.
  /// - Returns: the bundle, in its last state.
  mutating func end(
    _ id: String, replacedBy next: Bundle?, at now: HostTime
  ) -> (bundle: RunningBundle, outputs: [Output])? {
    let kinds = Set(next?.kinds.map(\.kind.name) ?? [])
    let interrupted = interrupt(id, but: kinds, at: now)
    guard let stopped = running.change(id, { $0.stop() }), let ended = running.end(id) else {
      return nil
    }
    var outputs: [Output] = ended.refused == nil ? [] : [.refused(id: id, nil)]
    outputs += interrupted + stopped.map { .effect($0) }
    outputs.append(.close(generation: ended.instance.generation))
    return (ended, outputs)
  }

  mutating func setProblem(
    _ problem: String?, of id: String, forOthers words: String? = nil, isAbsent: Bool = false,
    since: Timestamp? = nil, at now: HostTime
  ) -> [Output] {
    let effects = running.change(id) {
      $0.setProblem(problem, forOthers: words, isAbsent: isAbsent, since: since, at: now)
    }
    return (effects ?? []).map { .effect($0) }
  }

  static func id(ofFolder path: String) -> String {
    let name = Paths.lastComponent(path).map { character -> Character in
      let isPlain = character.isASCII && (character.isLetter || character.isNumber)
      return isPlain || character == "-" ? character : "-"
    }
    let text = String(name.drop { $0 == "-" }.prefix(64))
    return text.isEmpty ? "unnamed" : text
  }

  // MARK: The daemon

  /// The daemon has taken a bundle's declaration, or refused it.
  ///
  /// A refused version does not run. The former version continues, as with a broken file.
  ///
  /// - Parameter isLimit: whether the refusal names a limit. Nothing tells the host that there is
  ///   room again, and a retry would end the former version for a moment. So the user asks for it.
  public mutating func declared(
    generation: UInt64, refusal: String?, isLimit: Bool = false, at now: HostTime
  ) -> [Output] {
    guard let id = running.id(of: generation), let current = running[id] else { return [] }
    guard let refusal else {
      running.taken(id)
      let drops = reportDroppedKinds(of: id)
      formerData.taken(current.settable, of: id)
      forgetFormerKinds(of: id)
      let shown = current.refusal == nil ? [] : showRefusal(nil, of: current, at: now)
      let outputs = shown + drops + reportAwaitedKinds() + keptDefaultsOfTaken(id)
      guard let told = current.told else { return outputs + standing() }
      // If an earlier version runs in the place of a refused one, the problem of the file stays.
      if current.refused == nil, folders[current.folder]?.problem == told {
        folders.set(current.folder, problem: nil)
      }
      let bundle = current.instance.bundle
      let words = "bundle \(id) \(bundle.version) runs: the daemon no longer refuses it"
      return outputs + [.note(words)] + standing()
    }
    let problem = HostState.problem(
      of: current, refusedFor: refusal, isRetried: !isLimit || current.previous == nil)
    let isNews = current.told != problem
    var outputs: [Output] = isNews ? [.report(problem)] : []
    if let previous = current.previous {
      outputs += start(previous, in: current.folder, as: .fallback, at: now)
      running.returned(id, from: current.instance.bundle, problem: problem)
      outputs.append(.refused(id: id, current.instance.bundle))
      folders.refused(current.folder, problem: problem)
      let since = folders[current.folder]?.returnedAt
      outputs += setProblem(problem, of: id, since: since, at: now)
    } else if isNews {
      running.refused(id, problem: problem)
      outputs += showRefusal(problem, of: current, at: now)
    }
    return outputs + reportAwaitedKinds() + standing()
  }

  /// Retries the version that the daemon has refused, while the former version runs.
  public mutating func retry(_ id: String, at now: HostTime) -> [Output] {
    // A version that starts would hide that the folder is missing. The folder's return starts it.
    guard let current = running[id], let bundle = current.refused,
      let folder = folders[current.folder], folder.bundle?.version == bundle.version,
      folder.absence == nil
    else { return [] }
    folders.retry(current.folder)
    let outputs = start(bundle, in: current.folder, as: .retry, at: now)
    running.retried(id, told: current.refusedFor)
    return outputs + standing()
  }

  /// The daemon has told which bundles earlier hosts ran.
  mutating func note(former bundles: [Remembered]) {
    formerIDs = formerIDs ?? Set(bundles.map(\.id))
    removedIDs.formIntersection(bundles.map(\.id))
  }

  /// Traces a bundle for `lease` from now on.
  public mutating func trace(_ id: String, for lease: Duration, at now: HostTime) -> [Output] {
    guard let instance = running[id]?.instance else { return [] }
    let isNew = traceEnds[id].map { $0 <= now.uptime } ?? true
    let end = now.uptime + min(max(lease, .zero), limits.traceLeaseMax)
    traceEnds[id] = end
    running.change(id) { $0.trace(until: end) }
    guard isNew else { return [] }
    return [tell(instance, "is traced: \(instance.bundle.version) runs", at: now)]
  }

  private func tell(_ instance: BundleInstance, _ text: String, at now: HostTime) -> Output {
    .effect(
      .trace(
        .unanswered(instance.generation),
        [
          TraceLine(
            time: now.wall, widgetID: nil, subject: .bundle, name: instance.bundle.id, text: text)
        ], dropped: 0))
  }

  public mutating func handle(
    _ input: BundleInput, generation: UInt64, at now: HostTime
  ) -> [Output] {
    guard let id = running.id(of: generation) else { return [] }
    let before = running[id]?.instance.summary
    let edits = editRemarks(running[id])
    let losses = losses(by: input, of: id)
    let drops = running[id]?.drops
    if case .opened(let epoch, _) = input { running.opened(id, epoch: epoch) }
    let registrations = noteRegistrations(in: input, of: id)
    let effects = running.change(id) { $0.handle(input, at: now) } ?? []
    for loss in losses { running.lost(loss, of: id, countMax: limits.failuresShownMax) }
    var lines = losses
    if case .snapshot = input {
      running.toldWidgets(of: id)
      lines += lateKeptDefaults(of: id)
    }
    var outputs =
      lines.map { Output.report("bundle \(id): \($0)") } + effects.map { Output.effect($0) }
    outputs += registrations.outputs
    let isSame =
      losses.isEmpty && !registrations.hasChanged && running[id]?.instance.summary == before
      && running[id]?.drops == drops && editRemarks(running[id]) == edits
    return isSame ? outputs : outputs + standing()
  }

  /// A running bundle, and an instance of it for a preview.
  mutating func preview(
    of generation: UInt64
  ) -> (bundle: BundleInstance, instance: BundleInstance)? {
    guard let bundle = running.id(of: generation).flatMap({ running[$0]?.instance }) else {
      return nil
    }
    lastGeneration += 1
    return (bundle, bundle.preview(generation: lastGeneration, seed: numbers.next()))
  }

  /// Ends everything. Returns the effects to cancel, and the bundles' widgets to show.
  public mutating func stop() -> (cancelled: [Effect], standing: [WidgetSpec]) {
    isStopping = true
    var cancelled: [Effect] = []
    for id in running.ids { cancelled += running.change(id) { $0.stop() } ?? [] }
    return (cancelled, standings.compactMap(HostState.spec))
  }
}
