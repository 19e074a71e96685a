public import WidgetBundle
public import WidgetModel

/// All bundles: the folders, the bundle in each folder, the version that runs, and the widgets that
/// show this to clients.
///
/// A value without I/O. Adapters report what folders contain; the outputs say what to declare,
/// start and end. If a bundle's file becomes broken, the former version keeps running. If two
/// folders have the same bundle, the first folder counts; the second one counts when the first is
/// removed.
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
    /// Remove the kinds and widgets of this bundle.
    case withdraw(id: String)
    /// The same, but another bundle takes over what it declares, too.
    case handOver(id: String, to: String)
    /// The daemon refused this version, and the former version still runs. Retry when the owners of
    /// its kinds or widgets change. nil: do not retry any more.
    case refused(id: String, Bundle?)
    /// Show a problem on the widgets of a bundle that does not run.
    case mark(id: String, problem: String)
    case effect(Effect)
    /// The state of bundles has changed: declare these widgets of kind `bundle`.
    case standing([WidgetSpec])
    /// An error or a warning, for the log.
    case report(String)
    /// The host's progress, for the log.
    case note(String)
  }

  /// The state of a bundle, as its widget shows it.
  public struct Standing: Hashable, Sendable {
    public enum State: String, Hashable, Sendable { case running, failing, failed, stopped }

    public var id: String
    public var name: String
    public var version: String
    public var state: State
    public var problem: String
    public var path: String
    /// The load time of the version that runs, or ran last.
    public var loaded: Timestamp?
    public var widgetCount: Int
    /// The failures that the content of its widgets does not show, the newest first.
    public var failures: [BundleFailure] = []
    /// The number of widgets of its kinds that it has not declared, and the ids of the first ones.
    public var otherCount = 0
    public var others: [String] = []
    /// The events that its kinds react to, by kind, without events of nodes and events that the
    /// daemon handles.
    public var handled: [KindName: [String]] = [:]
    /// Values that are gone with removed widgets, and possible mistakes in the bundle's file, with
    /// the place.
    public var remarks: [String] = []
  }

  struct Folder: Sendable {
    var digest: UInt64
    /// The digest of the file of the running version; nil if the daemon refused that version.
    var goodDigest: UInt64?
    var problem: String?
    /// The last valid bundle in the folder.
    var bundle: Bundle?
    /// The id to use before a valid file gives one.
    var fallbackID: String
    /// The bundles that earlier hosts ran in the folder, before this host has read a valid file.
    /// They are in the order in which they ran. The last one was to take over the widgets of the
    /// others.
    var remembered: [Remembered] = []
    /// A file that probably was meant as the file of the missing bundle.
    var suspicion: Found?
    /// The reason why the folder has no bundle's file now; nil if it has one.
    var absence: Absence?
    /// The time at which the widgets of the missing bundle are removed; nil for never.
    var removeAt: Duration?
    /// Whether the file is as the installer wrote it.
    var isInstalled = false

    var id: String { bundle?.id ?? fallbackID }

    /// Whether an earlier host ran this bundle in the folder.
    func remembers(_ id: String) -> Bool { remembered.contains { $0.id == id } }

    mutating func remember(_ bundle: Remembered) {
      remembered.removeAll { $0.id == bundle.id }
      remembered.append(bundle)
      fallbackID = bundle.id
    }
  }

  struct Running: Sendable {
    var instance: BundleInstance
    var folder: String
    let loaded: Timestamp
    /// The former version, until the daemon has taken this one.
    var previous: Bundle?
    var refusal: String?
    /// The version in the folder, which the daemon has refused.
    var refused: Bundle?
    /// The values of others that this version has removed with their widgets, for people.
    var losses: [String] = []
  }

  let limits: HostLimits
  private let isStub: Bool
  private let home: String
  private let programFolders: [String]
  private var numbers: SeededNumbers
  private var lastGeneration: UInt64 = 0
  var folders: [String: Folder] = [:]
  /// The folders in the order in which they were found. The order decides which folder has a
  /// bundle.
  var order: [String] = []
  /// By bundle id.
  var running: [String: Running] = [:]
  /// The bundles of earlier hosts, since the first answer of the daemon.
  var formerIDs: Set<String>?
  private var isStopping = false
  /// The widgets of the last output `standing`, to output only changes.
  private var told: [WidgetSpec]?
  /// The ends of the traces, by bundle.
  private var traceEnds: [String: Duration] = [:]

  public init(
    limits: HostLimits = HostLimits(), isStub: Bool = false, home: String,
    programFolders: [String] = BundlePermissions.systemFolders, seed: UInt64
  ) {
    self.programFolders = programFolders
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
    var folder =
      folders[path]
      ?? Folder(
        digest: 0, goodDigest: nil, problem: nil, bundle: nil,
        fallbackID: HostState.id(ofFolder: path))
    let isNew = folders[path] == nil
    if isNew { order.append(path) }
    switch found {
    case .broken(let problem, let digest):
      guard isNew || folder.digest != digest || folder.problem != problem else { return [] }
      folder.digest = digest
      folder.problem = problem
      (folder.absence, folder.removeAt, folder.suspicion) = (nil, nil, nil)
      folders[path] = folder
      outputs.append(.report(problem))
      if let id = owned(by: path) { outputs += setProblem(problem, of: id, at: now) }
      for known in folder.remembered { outputs.append(.mark(id: known.id, problem: problem)) }
    case .bundle(let bundle, let digest), .installed(let bundle, let digest):
      let isInstalled = if case .installed = found { true } else { false }
      guard isNew || folder.digest != digest || folder.absence != nil else { return [] }
      if folder.absence != nil {
        outputs.append(.note("bundle \(bundle.id) is back in \(path)"))
      }
      (folder.absence, folder.removeAt, folder.suspicion) = (nil, nil, nil)
      let before = folder.bundle
      let isMended = folder.goodDigest == digest && running[bundle.id]?.folder == path
      let remembered = folder.remembered
      folder.remembered = []
      folder.digest = digest
      folder.goodDigest = digest
      folder.problem = nil
      folder.bundle = bundle
      folder.isInstalled = isInstalled
      folders[path] = folder
      if let before, before.id != bundle.id, running[before.id]?.folder == path {
        outputs += rename(before.id, to: bundle, in: path, at: now)
      }
      outputs += inherit(remembered, by: bundle.id)
      outputs += leaveAbsent(bundle.id, for: path)
      outputs += inherit(bundle, at: now)
      if let holder = running[bundle.id], holder.folder != path {
        let problem =
          "\(path): the bundle \"\(bundle.id)\" already exists in \(holder.folder);"
          + " remove one of the two folders, or give one another id"
        folders[path]?.problem = problem
        outputs.append(.report(problem))
      } else if isMended {
        outputs += setProblem(nil, of: bundle.id, at: now)
      } else {
        outputs += start(bundle, in: path, at: now)
      }
    }
    return outputs + standing()
  }

  /// Withdraws a bundle that an earlier host left behind, unless this host runs it.
  func forget(_ id: String) -> [Output] {
    guard running[id] == nil else { return [] }
    return [.withdraw(id: id), .note("bundle \(id) removed with its widgets and their data")]
  }

  /// The folders that are known.
  public var knownFolders: [String] { order }

  /// Whether a bundle runs from a folder, or ran from it under an earlier host.
  func hasBundle(in path: String) -> Bool {
    owned(by: path) != nil || folders[path]?.remembered.isEmpty == false
  }

  func owned(by path: String) -> String? {
    running.first { $0.value.folder == path }?.key
  }

  mutating func start(_ bundle: Bundle, in path: String, at now: HostTime) -> [Output] {
    var outputs: [Output] = []
    let before = running[bundle.id]
    if before?.refused != nil { outputs.append(.refused(id: bundle.id, nil)) }
    if var before {
      outputs += before.instance.stop().map { .effect($0) }
      outputs.append(.close(generation: before.instance.generation))
    }
    lastGeneration += 1
    var instance = BundleInstance(
      bundle, generation: lastGeneration, folder: path, home: home,
      programFolders: programFolders, limits: limits, isStub: isStub, isReload: before != nil,
      seed: numbers.next())
    let isTraced = traceEnds[bundle.id].map { $0 > now.uptime } ?? false
    if isTraced, let end = traceEnds[bundle.id] { instance.trace(until: end) }
    running[bundle.id] = Running(
      instance: instance, folder: path, loaded: now.wall, previous: before?.instance.bundle)
    outputs.append(.open(generation: lastGeneration, bundle))
    if isTraced { outputs.append(tell(instance, "\(bundle.version) is loaded", at: now)) }
    let what = before == nil ? "loaded" : "loaded again"
    outputs.append(.note("bundle \(bundle.id) \(bundle.version) \(what) from \(path)"))
    for remark in bundle.remarks { outputs.append(.report("bundle \(bundle.id): \(remark)")) }
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
    guard var ended = running.removeValue(forKey: id) else { return [] }
    let given: [Output] = ended.refused == nil ? [] : [.refused(id: id, nil)]
    var outputs: [Output] = given + ended.instance.stop().map { .effect($0) }
    outputs.append(.close(generation: ended.instance.generation))
    for path in order {
      guard let bundle = folders[path]?.bundle, bundle.id == id else { continue }
      folders[path]?.problem = nil
      return outputs + start(bundle, in: path, at: now)
    }
    outputs.append(.withdraw(id: id))
    outputs.append(.note("bundle \(id) removed" + removalWords(of: ended.instance)))
    return outputs
  }

  mutating func setProblem(
    _ problem: String?, of id: String, isAbsent: Bool = false, at now: HostTime
  ) -> [Output] {
    running[id]?.instance.setProblem(problem, isAbsent: isAbsent, at: now).map { .effect($0) } ?? []
  }

  private static func id(ofFolder path: String) -> String {
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
  public mutating func declared(
    generation: UInt64, refusal: String?, at now: HostTime
  ) -> [Output] {
    guard let (id, current) = running.first(where: { $0.value.instance.generation == generation })
    else { return [] }
    guard let refusal else {
      running[id]?.previous = nil
      running[id]?.refusal = nil
      return standing()
    }
    let problem =
      "\(current.folder): the daemon refuses the bundle: \(refusal); widgetd-host tries again when"
      + " this changes, or at once with `widgetctl refresh bundle/\(id)`"
    guard current.refusal != problem else { return [] }
    var outputs: [Output] = [.report(problem)]
    if let previous = current.previous {
      outputs += start(previous, in: current.folder, at: now)
      running[id]?.previous = nil
      running[id]?.refused = current.instance.bundle
      outputs.append(.refused(id: id, current.instance.bundle))
      folders[current.folder]?.problem = problem
      folders[current.folder]?.goodDigest = nil
      outputs += setProblem(problem, of: id, at: now)
    } else {
      running[id]?.refusal = problem
    }
    return outputs + standing()
  }

  /// Retries the version that the daemon has refused, while the former version runs.
  public mutating func retry(_ id: String, at now: HostTime) -> [Output] {
    guard let current = running[id], let bundle = current.refused,
      let folder = folders[current.folder], folder.bundle?.version == bundle.version
    else { return [] }
    folders[current.folder]?.problem = nil
    folders[current.folder]?.goodDigest = folder.digest
    return start(bundle, in: current.folder, at: now) + standing()
  }

  /// Traces a bundle for `lease` from now on.
  public mutating func trace(_ id: String, for lease: Duration, at now: HostTime) -> [Output] {
    guard var current = running[id] else { return [] }
    let isNew = traceEnds[id].map { $0 <= now.uptime } ?? true
    let end = now.uptime + min(max(lease, .zero), limits.traceLeaseMax)
    traceEnds[id] = end
    current.instance.trace(until: end)
    running[id] = current
    guard isNew else { return [] }
    return [tell(current.instance, "is traced: \(current.instance.bundle.version) runs", at: now)]
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
    guard let id = id(of: generation) else { return [] }
    let before = running[id]?.instance.summary
    let effects = running[id]?.instance.handle(input, at: now) ?? []
    let outputs = effects.map { Output.effect($0) }
    return running[id]?.instance.summary == before ? outputs : outputs + standing()
  }

  /// Tells the time to all bundles whose deadline has come.
  public mutating func tick(at now: HostTime) -> [Output] {
    var outputs = removeAbsent(at: now)
    var hasChanged = !outputs.isEmpty
    for id in running.keys.sorted() {
      guard let deadline = running[id]?.instance.nextDeadline, deadline <= now.uptime else {
        continue
      }
      let before = running[id]?.instance.summary
      outputs += (running[id]?.instance.handle(.tick, at: now) ?? []).map { .effect($0) }
      hasChanged = hasChanged || running[id]?.instance.summary != before
    }
    return hasChanged ? outputs + standing() : outputs
  }

  public var nextDeadline: Duration? {
    (running.values.compactMap(\.instance.nextDeadline) + folders.values.compactMap(\.removeAt))
      .min()
  }

  /// A running bundle, and an instance of it for a preview.
  mutating func preview(
    of generation: UInt64
  ) -> (bundle: BundleInstance, instance: BundleInstance)? {
    guard let bundle = id(of: generation).flatMap({ running[$0]?.instance }) else { return nil }
    lastGeneration += 1
    return (bundle, bundle.preview(generation: lastGeneration, seed: numbers.next()))
  }

  private func id(of generation: UInt64) -> String? {
    running.first { $0.value.instance.generation == generation }?.key
  }

  /// Ends everything. Returns the effects to cancel, and the bundles' widgets to show.
  public mutating func stop() -> (cancelled: [Effect], standing: [WidgetSpec]) {
    isStopping = true
    var cancelled: [Effect] = []
    for id in running.keys.sorted() { cancelled += running[id]?.instance.stop() ?? [] }
    return (cancelled, standings.compactMap(HostState.spec))
  }

  // MARK: How things stand

  public var standings: [Standing] {
    var result: [Standing] = []
    var taken: Set<String> = []
    for path in order {
      guard let folder = folders[path] else { continue }
      let current = running[folder.id].flatMap { $0.folder == path ? $0 : nil }
      let problem = folder.problem ?? current?.refusal
      var id = folder.id
      // If two folders have the same bundle, the second folder is shown under its fallback name.
      if current == nil, folder.bundle != nil || taken.contains(id) { id = folder.fallbackID }
      var name = id
      var number = 1
      while taken.contains(name) || (current == nil && running[name] != nil) {
        number += 1
        name = "\(id)-\(number)"
      }
      taken.insert(name)
      let shown = current?.instance.bundle ?? folder.bundle
      let failures = current?.instance.failures ?? []
      let others = current?.instance.others.ids ?? []
      let lines = failures.prefix(limits.failuresShownMax).map(\.line)
      let more = failures.count - lines.count
      result.append(
        Standing(
          id: name, name: shown?.name ?? "", version: shown?.version ?? "",
          state: isStopping
            ? .stopped : problem != nil ? .failed : failures.isEmpty ? .running : .failing,
          problem: problem
            ?? (lines + (more > 0 ? ["(and \(more) more)"] : [])).joined(separator: "\n"),
          path: path, loaded: current?.loaded ?? folder.remembered.last?.loaded,
          widgetCount: current?.instance.widgetCount ?? 0,
          failures: Array(failures.prefix(limits.failuresShownMax)),
          otherCount: others.count,
          others: Array(others.map(\.rawValue).sorted().prefix(limits.othersShownMax)),
          handled: current?.instance.bundle.handledEvents ?? [:],
          remarks: (current?.losses ?? []) + (shown?.defaults.problems ?? [])
            + (shown?.remarks ?? []).prefix(limits.failuresShownMax).map(\.description)))
    }
    return result
  }

  /// Notes a value that is gone with its widget, so that the bundle's widget shows it.
  mutating func lost(_ field: BundleClaims.KeptField, of id: String) -> [Output] {
    guard let current = running[id], current.losses.count < limits.failuresShownMax else {
      return []
    }
    running[id]?.losses.append(field.message(by: ""))
    return standing()
  }

  mutating func standing() -> [Output] {
    let specs = standings.compactMap(HostState.spec)
    guard specs != told else { return [] }
    told = specs
    return [.standing(specs)]
  }
}
