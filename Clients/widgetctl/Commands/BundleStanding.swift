import Glibc
import WidgetBundle
import WidgetClient
import WidgetModel
import WidgetTimers

/// The state of a bundle that a host runs, from the bundle's status widget.
struct BundleStanding: Hashable, Sendable {
  let id: String
  let version: String
  /// Its folder; empty if nobody knows it.
  let path: String
  private(set) var state: String
  private(set) var problem: String
  /// When the host removes its widgets, if nothing changes. Nil if it does not, or while the time
  /// stands still.
  private(set) var removal: Timestamp?
  let failures: Value
  /// The number of its kinds; nil if it is not known.
  let kindCount: Int?
  let widgetCount: Int
  /// The number of widgets of its kinds that others made, and the first of these.
  var others = 0
  var othersFirst: [String] = []
  /// Possible mistakes in its file.
  var remarks: [String] = []
  /// Whether a version runs. In the state `failed`, it is the previous one.
  private(set) var runs = false
  /// Whether a host runs, and this bundle is not in its folders.
  private(set) var isElsewhere = false
  /// Whether a host runs, and removes the bundle at this moment.
  private(set) var isLeaving = false
  /// Whether a host has a session.
  private(set) var isHosted = false
  /// Whether the store takes no changes, so that the widget has the state from before.
  private(set) var isFrozen = false

  /// The bundle of which the folder has a second copy. The host runs another copy. Nil for other
  /// folders.
  private(set) var original: String?

  /// `zed`, `zed (second copy in /b/zed)`
  var title: String { original.map { "\($0) (second copy in \(path))" } ?? id }

  /// Whether it should run and does not. In the state `failed`, the previous version can run.
  var hasFailed: Bool { isBad && !isElsewhere && !isLeaving && !isFailing }

  /// Whether it runs, and a source, an action or the content of its widgets fails.
  var isFailing: Bool { state == "failing" }

  var isBad: Bool { state != "running" }

  /// Whether no host answers for it: the host has ended, hangs, or has not returned.
  var lacksHost: Bool { !isHosted && !isElsewhere && !isLeaving }

  /// - Parameters:
  ///   - session: whether a host has a session. After a restart of the daemon, the widget has the state
  ///     from before.
  ///   - store: the problem of a store that takes no changes. The host then cannot update its
  ///     widgets.
  ///   - now: The time before which promises have passed.
  init(
    _ widget: Widget, _ session: HostSession = .connected, store: StoreTrouble? = nil,
    now: Timestamp = .wallClock()
  ) {
    func text(_ key: String) -> String {
      if case .string(let text)? = widget.data[key] { text } else { "" }
    }
    func number(_ key: String) -> Int {
      if case .int(let number)? = widget.data[key] { Int(clamping: number) } else { 0 }
    }
    func texts(_ key: String) -> [String] {
      guard case .list(let list)? = widget.data[key] else { return [] }
      return list.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
    isHosted = session == .connected && !widget.isStale
    let absence = Promise.reason(session, isStale: widget.isStale)
    // Nobody is there to remove widgets at a later time either.
    let isLeft = absence == Promise.stopped && (widget.isStale || text("state") == "stopped")
    func kept(_ text: String) -> String {
      Promise.text(text, absence, at: isLeft ? nil : now)
    }
    id = text("id")
    version = text("version")
    path = text("path")
    let told: String
    let reason: String
    switch session {
    case _ where text("state") == "stopped": (told, reason) = ("stopped", kept(text("problem")))
    case .silent(let process): (told, reason) = ("no answer", process.words("widgetd-host"))
    // A killed host leaves its last state in the widget; the daemon marks it stale.
    case _ where widget.isStale: (told, reason) = ("stopped", "widgetd-host is not running")
    case .away: (told, reason) = ("waiting", BundleHost.waiting)
    case .connected: (told, reason) = (text("state"), kept(text("problem")))
    }
    removal = isHosted && told == "failed" ? Promise.time(in: reason) : nil
    let isStopped = session == .connected && text("state") == "stopped"
    isLeaving = isStopped && widget.showsRemoval
    isElsewhere = isStopped && !widget.showsRemoval
    let isFrozen = store != nil && ["running", "failing"].contains(told)
    self.isFrozen = isFrozen
    state = isFrozen ? "failing" : told
    problem = [isFrozen ? store?.text : nil, reason.nonEmpty].compactMap(\.self)
      .joined(separator: "\n")
    failures = widget.data["failures"] ?? .list([])
    let kinds: ValueMap? = if case .map(let map)? = widget.data["handled"] { map } else { nil }
    kindCount = kinds?.entries.count
    widgetCount = number("widgets")
    others = number("others")
    othersFirst = texts("othersFirst")
    remarks = texts("remarks").map(kept)
    runs = widget.data["runs"] == .bool(true)
    // The widget of a second copy has another id. That of an older host has the words alone.
    let isCopy = !id.isEmpty && (OwnerName.bundle(widget.id.rawValue) ?? id) != id
    original = isCopy ? id : BundleStanding.original(in: text("problem"), at: path)
  }

  /// A bundle whose state no widget shows.
  init(left id: String, widgetCount: Int, problem: String) {
    (self.id, version, path, state) = (id, "", "", BundleStanding.missingState)
    (self.problem, failures, kindCount) = (problem, .list([]), nil)
    self.widgetCount = widgetCount
  }

  func with(state: String, problem: String) -> BundleStanding {
    var standing = self
    (standing.state, standing.problem) = (state, problem)
    return standing
  }

  /// On one line: `failing: widget note: Feed failed: no answer (since …)`, `running, +2 of others: a, b`
  var text: String { standing + othersText }

  /// `, +2 of others: a, b`; empty if there are none.
  var othersText: String {
    guard others > 0 else { return "" }
    let more = others > othersFirst.count ? ", …" : ""
    return ", +\(others) of others: \(othersFirst.joined(separator: ", "))\(more)"
  }

  private var standing: String {
    let line = BundleStanding.firstLine(of: problem)
    return line.isEmpty ? stateWords : "\(stateWords): \(line)"
  }

  /// The state if the file has another version than the one that runs: the host loads a version a
  /// moment after its installation. Nil if the host has loaded it, or says why not.
  ///
  /// - Parameters:
  ///   - version: in the file.
  ///   - bundle: the id in the file.
  func awaiting(_ version: String, of bundle: String) -> String? {
    guard isHosted, !isFrozen, id == bundle, !self.version.isEmpty, self.version != version,
      state == "running" || isFailing
    else { return nil }
    let words =
      isFailing ? "is failing: \(BundleStanding.firstLine(of: problem))" : "runs"
    return "\(self.version) \(words); \(version) is not loaded yet"
  }

  /// `failing`, `failed, the previous version runs`
  var stateWords: String {
    state == "failed" && runs ? "failed, the previous version runs" : state
  }

  /// `a bundle has failed: clock`, `2 bundles have failed: clock, feed`. Nil if none has failed.
  static func words(forFailed ids: [String]) -> String? {
    guard !ids.isEmpty else { return nil }
    let count = ids.count == 1 ? "a bundle has" : "\(ids.count) bundles have"
    return "\(count) failed: \(ids.joined(separator: ", "))"
  }

  /// `a bundle is failing: clock`, `2 bundles are failing: clock, feed`. Nil if none is failing.
  static func words(forFailing ids: [String]) -> String? {
    guard !ids.isEmpty else { return nil }
    let count = ids.count == 1 ? "a bundle is" : "\(ids.count) bundles are"
    return "\(count) failing: \(ids.joined(separator: ", "))"
  }

  /// `stopped: not in a folder of this host: clock`. Nil if there are none.
  static func words(forStopped ids: [String]) -> String? {
    ids.isEmpty ? nil : "stopped: not in a folder of this host: \(ids.joined(separator: ", "))"
  }

  /// Whether a problem says that the host removes the bundle.
  static func isRemoval(_ problem: String) -> Bool {
    problem.split(whereSeparator: \.isNewline).first.map(String.init) == BundleRemovalMark.problem
  }

  /// The first of several problems, with the number of the others.
  static func firstLine(of problems: String) -> String {
    let lines = problems.split(whereSeparator: \.isNewline)
    let more = lines.count > 1 ? " (and \(lines.count - 1) more)" : ""
    return lines.first.map { "\($0)\(more)" } ?? ""
  }

  /// The command that removes a bundle where its host runs it.
  static func removal(of bundle: String, _ session: Session) async -> String {
    let standing = await shown(bundle, session.client, session.options)
    return removal(of: bundle, at: standing?.path, usual: try? BundleFolderOptions.usual())
  }

  /// A bundle that a host runs; nil if no host is known to run it.
  private static func shown(
    _ bundle: String, _ client: WidgetClient, _ options: CallOptions
  ) async -> BundleStanding? {
    guard let id = WidgetID("bundle/\(bundle)"),
      let widget = try? await client.getWidget(GetWidgetRequest(id: id), options: options).widget,
      widget.showsBundle
    else { return nil }
    return BundleStanding(widget)
  }

  /// The folder of bundles from which a host runs a bundle; nil if no host is known to run it.
  static func folder(of bundle: String, _ global: GlobalOptions) async -> String? {
    guard let session = try? global.session() else { return nil }
    let standing = await shown(bundle, session.client, global.optionalCall)
    await session.client.close()
    return standing?.folder
  }

  /// The reason why an installed bundle does not run, although the host runs its folder: the host
  /// uses the same bundle from another folder. Nil if it does not, or if this is unknown.
  static func rival(
    of bundle: String, installedIn folder: String, _ host: BundleHost, _ global: GlobalOptions
  ) async -> String? {
    guard host.isRunning, let session = try? global.session() else { return nil }
    let standing = await shown(bundle, session.client, global.optionalCall)
    await session.client.close()
    return rival(of: bundle, standing?.holder, installedIn: folder, host)
  }

  /// - Parameter holder: the folder from which the host uses the bundle; nil if nobody knows.
  static func rival(
    of bundle: String, _ holder: Holder?, installedIn folder: String, _ host: BundleHost
  ) -> String? {
    guard let holder, let slash = holder.path.lastIndex(of: "/"), slash != holder.path.startIndex
    else { return nil }
    let other = String(holder.path[..<slash])
    guard runsElsewhere(other, than: folder, host) else { return nil }
    let reason =
      holder.isRefused
      ? "widgetd-host uses bundle \(bundle) in \(holder.path), which the daemon refuses"
      : "widgetd-host runs bundle \(bundle) from \(holder.path)"
    let name = removable(bundle, inFolder: holder.path[holder.path.index(after: slash)...])
    return
      "\(reason), so the version in \(folder) does not run; remove the other one with `widgetctl "
      + "bundle rm \(name) --dir \(other.asArgument)`, or install with --dir "
      + other.asArgument
  }

  /// - Parameters:
  ///   - path: the bundle's folder; nil if it is unknown.
  ///   - usual: the folder of bundles that commands use without `--dir`.
  static func removal(of bundle: String, at path: String?, usual: String?) -> String {
    guard let path, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
      return "widgetctl bundle rm \(bundle)"
    }
    let folder = String(path[..<slash])
    let name = removable(bundle, inFolder: path[path.index(after: slash)...])
    let command = "widgetctl bundle rm \(name)"
    return folder == usual ? command : "\(command) --dir \(folder.asArgument)"
  }

  /// The argument of `bundle rm`: the id. If the folder's name is no id, the name.
  ///
  /// - Parameter name: of the bundle's folder.
  private static func removable(_ bundle: String, inFolder name: Substring) -> String {
    BundleReader.isID(String(name)) ? bundle : String(name).asArgument
  }

  /// All bundles that the daemon knows, by the bundle's folder; none if the daemon cannot be asked.
  static func all(_ global: GlobalOptions) async -> [String: BundleStanding] {
    guard let path = try? SocketPath.discover(explicit: global.socket) else { return [:] }
    let client = WidgetClient(socketPath: path)
    let known = await all(client, ReadMask.all, global.optionalCall)
    await client.close()
    return Dictionary(known) { _, later in later }
  }

  /// The bundles that the daemon knows, of a present or former host; none if the daemon cannot be
  /// asked.
  static func all(at socket: String) async -> [BundleStanding] {
    let client = WidgetClient(socketPath: socket)
    let known = await all(
      client, (try? ReadMask(paths: ["apply_set", "data", "stale"])) ?? .all,
      CallOptions(timeout: .seconds(2)))
    await client.close()
    return known.map(\.1)
  }

  /// All bundles that the daemon knows, with their folders; none if the daemon cannot be asked. A
  /// bundle whose id has changed is left out, because its folder has another bundle.
  private static func all(
    _ client: WidgetClient, _ mask: ReadMask, _ options: CallOptions
  ) async -> [(String, BundleStanding)] {
    guard let kind = KindName("bundle"),
      let answer = try? await client.listWidgets(
        ListWidgetsRequest(selector: Selector(kinds: [kind]), pageSize: 1000, readMask: mask),
        options: options)
    else { return [] }
    let session = await HostSession.ask(client, kind, options)
    let store = await StoreTrouble.ask(client, options)
    return shown(by: answer.widgets.map(\.widget), session, store)
  }

  /// The bundles that some widgets of the kind `bundle` show, with their folders.
  static func shown(
    by widgets: [Widget], _ session: HostSession = .connected, _ store: StoreTrouble? = nil
  ) -> [(String, BundleStanding)] {
    widgets.compactMap { widget in
      guard widget.showsBundle, case .string(let path)? = widget.data["path"],
        widget.data["heir"] ?? .string("") == .string("")
      else { return nil }
      return (path, BundleStanding(widget, session, store: store))
    }
  }

  /// A folder without symbolic links, as the host calls it.
  static func resolved(_ folder: String) -> String? {
    guard let resolved = realpath(folder, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// A line for each value of a bundle's widget that is set aside. Empty if the daemon does not
  /// answer.
  ///
  /// - Parameters:
  ///   - bundles: the ids of the bundles to report.
  ///   - declared: the widgets in the files that can be read, by bundle.
  static func keptFields(
    _ global: GlobalOptions, of bundles: Set<String>, declaring declared: [String: Set<WidgetID>]
  ) async -> [String] {
    guard !bundles.isEmpty, let session = global.optionalSession,
      let mask = try? ReadMask(paths: ["owners", "data", "parameters", "labels", "apply_set"]),
      let widgets = try? await session.list(Selector(), mask: mask).widgets
    else { return [] }
    return keptFields(in: widgets, of: bundles, declaring: declared)
  }

  static func keptFields(
    in widgets: [TaggedWidget], of bundles: Set<String>,
    declaring declared: [String: Set<WidgetID>] = [:]
  ) -> [String] {
    widgets.flatMap { tagged in
      tagged.owners.compactMap { field in
        let bundle = [field.manager, tagged.widget.applySet].lazy
          .compactMap { RemoveCommand.bundle(of: $0) }.first
        guard let bundle, bundles.contains(bundle),
          // The file has no value for a widget that it lacks.
          declared[bundle]?.contains(tagged.widget.id) != false
        else { return nil }
        return asideText(field, of: tagged.widget)
      }
    }
  }

  /// The message that a value of a bundle's widget is set aside; nil for other values and widgets.
  static func asideText(_ field: FieldOwner, of widget: Widget) -> String? {
    guard field.isAside, let value = field.declared,
      let bundle = RemoveCommand.bundle(of: widget.applySet)
    else { return nil }
    return "bundle \(bundle): widget \(widget.id): the value \(JSONWriter.compact(value)) of "
      + "\(field.path), set by \(field.ownerName(Facts.name(ofUser:))), is set aside, because it does "
      + "not fit the kind; the value comes back when it fits; "
      + "`widgetctl set \(widget.id) --release \(field.path)` discards the value"
  }
}

extension Widget {
  /// Whether the host has made the widget to show the state of a bundle. Users can make widgets of the
  /// same kind.
  var showsBundle: Bool { applySet == BundleHost.widget && OwnerName.bundle(id.rawValue) != nil }

  /// Whether the host removes the bundle that the widget shows.
  var showsRemoval: Bool {
    guard case .string(let problem)? = data["problem"] else { return false }
    return BundleStanding.isRemoval(problem)
  }
}
