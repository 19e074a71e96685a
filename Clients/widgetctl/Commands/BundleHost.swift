import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel

/// The host of a folder's bundles, as far as the daemon knows.
enum BundleHost: Hashable {
  /// A host runs these folders. With `stub`, it gives stub values, and has no effects outside.
  /// `problem` says which folders it cannot read or watch.
  case running(folders: [String], stub: Bool = false, problem: String = "")
  /// The daemon has restarted, and the host of these folders has not returned yet. The daemon gives
  /// it some time before it marks the widgets as stale.
  case returning(folders: [String])
  /// The process of the host runs and does not answer. It ran these folders.
  case silent(SilentProcess, folders: [String])
  /// The daemon has no host. The last one ran the `former` folders; empty if none is known.
  case missing(former: [String] = [])
  /// The daemon could not be asked.
  case unknown

  /// The id of the widget that shows the host.
  static let widget = "widgetd-host"

  /// Asks the daemon, for a limited time, because bundles can be installed without a daemon.
  ///
  /// - Parameter limit: the time for each of the two questions at most. Nil for `--timeout`.
  static func ask(_ global: GlobalOptions, within limit: Duration? = nil) async -> BundleHost {
    guard let session = try? global.session() else { return .unknown }
    return await ask(
      session.client, limit.map { CallOptions(timeout: $0) } ?? global.optionalCall)
  }

  static func ask(_ client: WidgetClient, within limit: Duration = .seconds(2)) async -> BundleHost
  {
    await ask(client, CallOptions(timeout: limit))
  }

  static func ask(_ client: WidgetClient, _ options: CallOptions) async -> BundleHost {
    guard let id = WidgetID(widget) else { return .missing() }
    defer { Task { await client.close() } }
    do throws(ClientError) {
      let request = GetWidgetRequest(id: id)
      let widget = try await client.getWidget(request, options: options).widget
      if let problem = hiddenProblem(by: widget) {
        return await withoutWidget(client, options, problem)
      }
      return BundleHost(widget, await HostSession.ask(client, widget.kind, options))
    } catch {
      guard error.reason == "WIDGET_NOT_FOUND" else { return .unknown }
      return await withoutWidget(client, options, unreported)
    }
  }

  /// The problem of a host whose widget cannot exist, because another widget has its id; nil if the
  /// widget is the host's.
  static func hiddenProblem(by widget: Widget) -> String? {
    guard widget.kind.rawValue != self.widget else { return nil }
    let uid = widget.ownerUID
    let user = Facts.name(ofUser: uid).map { "\($0) (\(uid))" } ?? "\(uid)"
    let owner =
      widget.applySet.isEmpty
      ? "was created by user \(user)" : "belongs to \(OwnerName.words(ofSet: widget.applySet))"
    return
      "it cannot report its folders and bundles: the widget \"\(widget.id)\" already exists and "
      + "\(owner); remove that widget with its data (`widgetctl rm \(widget.id)`)"
  }

  /// The host, if the daemon has no widget that shows it: a connected host has its session, but the
  /// daemon may have no room for its widget.
  private static func withoutWidget(
    _ client: WidgetClient, _ options: CallOptions, _ problem: String
  ) async -> BundleHost {
    guard let name = KindName(widget) else { return .missing() }
    let kind = try? await client.getKind(GetKindRequest(name: name), options: options).kind
    guard let kind, kind.isAttended, kind.isProviderConnected else { return .missing() }
    return .running(folders: [], problem: problem)
  }

  /// The problem of a connected host that has no widget.
  static let unreported =
    "it could not report its folders and bundles; `widgetctl status` shows which limits of the "
    + "daemon are reached, and the log of widgetd-host shows the reason"

  /// Whether the host runs, and nothing else is known.
  private var isUnreported: Bool {
    // Problems of a host that reports are about its folders.
    guard case .running(let folders, _, let problem) = self else { return false }
    return folders.isEmpty && !problem.isEmpty
  }

  init(_ widget: Widget, _ session: HostSession = .connected) {
    let listed: [Value]? = if case .list(let list)? = widget.data["folders"] { list } else { nil }
    let folders = (listed ?? []).compactMap { if case .string(let path) = $0 { path } else { nil } }
    let wasRunning = listed != nil && widget.data["state"] == .string("running")
    if wasRunning, case .silent(let process) = session {
      self = .silent(process, folders: folders)
      return
    }
    guard wasRunning, !widget.isStale else {
      self = .missing(former: folders)
      return
    }
    guard session == .connected else {
      self = .returning(folders: folders)
      return
    }
    let problem = if case .string(let text)? = widget.data["problem"] { text } else { "" }
    self = .running(folders: folders, stub: widget.data["stub"] == .bool(true), problem: problem)
  }

  /// Whether a host runs and answers.
  var isRunning: Bool { if case .running = self { true } else { false } }

  /// Whether the daemon has no host.
  var isMissing: Bool { if case .missing = self { true } else { false } }

  /// Whether the bundles in a folder are live; nil if this is unknown.
  func runs(_ folder: String) -> Bool? {
    switch self {
    case .running where isUnreported: nil
    case .running(let folders, _, _):
      folders.contains { BundleHost.resolved($0) == BundleHost.resolved(folder) }
    case .missing: false
    case .returning, .silent, .unknown: nil
    }
  }

  /// The command that starts the host; nil if a missing host is not the problem.
  var mend: String? {
    guard case .missing(let former) = self else { return nil }
    return HostStart.ofProcess.command(former)
  }

  /// The state after a restart of the daemon.
  static let waiting = "the daemon has restarted, and widgetd-host has not returned yet"

  /// The folders that the host runs, and how: `/a, /b with --stub`; nil if no host is known to run.
  var words: String? {
    guard case .running(let folders, let stub, _) = self else { return nil }
    if isUnreported { return "folders that it could not report" }
    return (folders.isEmpty ? "no folder" : folders.joined(separator: ", "))
      + (stub ? " with --stub" : "")
  }

  /// The problems of a running host, whatever folder is asked for: each folder that it cannot read,
  /// and stub values.
  var troubles: [String] {
    guard case .running(let folders, let stub, let problem) = self else { return [] }
    if isUnreported { return ["widgetd-host runs, but \(problem)"] }
    return problem.split(whereSeparator: \.isNewline).map { "widgetd-host: \($0)" }
      + (stub ? [BundleHost.stubbed(folders.joined(separator: ", "))] : [])
  }

  private static func stubbed(_ folder: String) -> String {
    "widgetd-host runs \(folder) with --stub: sources and actions give their stub values; "
      + "start widgetd-host without --stub to use the real ones"
  }

  /// The reason why the bundles in a folder are not live, and the next step; nil if they are live.
  func problem(of folder: String) -> String? {
    switch self {
    case .running(let folders, let stub, let problem):
      if isUnreported { return "widgetd-host runs, but \(problem)" }
      guard runs(folder) != true else {
        if let problem = BundleStanding.firstLine(of: problem).nonEmpty {
          return "widgetd-host: \(problem)"
        }
        return stub ? BundleHost.stubbed(folder) : nil
      }
      guard let first = folders.first else {
        return "widgetd-host runs no folder of bundles; start it with `widgetd-host --bundles "
          + "\(folder.shellQuoted)`"
      }
      return
        "no host runs the folder \(folder): widgetd-host runs \(folders.joined(separator: ", ")); "
        + "install with --dir \(first.shellQuoted), or restart widgetd-host with "
        + "`\(HostStart.options(folders + [folder]).dropFirst())`"
    case .returning(let folders):
      return
        "\(BundleHost.waiting); it ran \(folders.isEmpty ? "no folder" : folders.joined(separator: ", "));"
        + " if it does not return, start it with `\(HostStart.ofProcess.command(folders))`"
    case .silent(let process, _): return process.words("widgetd-host")
    case .missing(let former):
      return
        "no host runs the folder \(folder): widgetd-host is not running; start it with "
        + HostStart.ofProcess.words(for: folder, former: former)
    case .unknown:
      return
        "cannot tell whether a host runs the folder \(folder): the daemon does not answer; "
        + "run `widgetctl doctor`"
    }
  }

  /// The warnings after a change of a bundle in a folder: the problem of the folders of the host, and
  /// the reason why the host runs the bundle from another folder.
  ///
  /// - Parameter rival: nil if the host does not run it from another folder.
  func warnings(changing folder: String, _ rival: String?) -> [String] {
    // If the host does not run the folder, the other one is no surprise.
    [
      seeing(folder).problem(of: folder), absence(from: folder) == nil ? rival : nil,
    ].compactMap(\.self)
  }

  /// The same host without its remark that a folder is missing: the folder was made a moment ago, and
  /// the host may not have seen it yet.
  private func seeing(_ folder: String) -> BundleHost {
    guard case .running(let folders, let stub, let problem) = self else { return self }
    let lines = problem.split(whereSeparator: \.isNewline)
      .filter { !$0.hasPrefix("\(folder) does not exist") }
    return .running(folders: folders, stub: stub, problem: lines.joined(separator: "\n"))
  }

  /// The reason why the bundles in a folder change nothing in the daemon: a host runs, and it runs
  /// other folders. Nil if it runs the folder, if none runs, or if this is unknown.
  func absence(from folder: String) -> String? {
    guard case .running = self, runs(folder) == false else { return nil }
    return problem(of: folder)
  }

  /// The place of a bundle that a folder lacks, and the option for this place. Nil if the host runs
  /// no other folder that can have it.
  ///
  /// - Parameter isNamed: whether the command names the folder with `--dir`.
  func place(of id: String, besides folder: String, isNamed: Bool = false) -> String? {
    if let place = otherPlace(of: id, besides: folder) {
      let words =
        if case .running = self { "widgetd-host runs it in \(place)" } else { "\(place) has it" }
      return "\(words): \(isNamed ? "use" : "add") --dir \(place.asArgument)"
    }
    return isNamed ? nil : placeOfOthers(than: folder, isNamed: false)
  }

  /// The folders that the host runs, and the option for the first one. Nil if the host runs the
  /// folder, or if none runs.
  ///
  /// - Parameter isNamed: see `place`.
  private func placeOfOthers(than folder: String, isNamed: Bool) -> String? {
    guard case .running(let folders, _, _) = self, runs(folder) != true,
      let first = folders.first?.asArgument
    else { return nil }
    return "widgetd-host runs \(folders.joined(separator: ", ")): "
      + (isNamed ? "use --dir \(first) instead" : "add --dir \(first), or --remote")
  }

  /// The folder of the host, or of the last host, that has a bundle; nil if there is none.
  func place(of id: String) -> String? { BundleHost.place(of: id, in: folders) }

  /// The same without the named folder.
  private func otherPlace(of id: String, besides named: String) -> String? {
    BundleHost.place(of: id, in: folders(besides: named))
  }

  private static func place(of id: String, in folders: [String]) -> String? {
    folders.first { access("\($0)/\(id)", F_OK) == 0 }
  }

  /// The warning after the removal of bundles from a folder that the host does not run. Nil if it runs
  /// the folder, if none runs, or if this is unknown.
  ///
  /// - Parameter isNamed: see `place`.
  func warning(removing ids: [String], from folder: String, isNamed: Bool = false) -> String? {
    guard let id = ids.first, absence(from: folder) != nil,
      let words = place(of: id, besides: folder, isNamed: isNamed)
        ?? placeOfOthers(than: folder, isNamed: isNamed)
    else { return nil }
    return
      "no host runs the folder \(folder), so the removal changes nothing in the daemon; \(words)"
  }

  /// The reason why a call for the host fails; nil if a host is connected, or nothing is known.
  var troubleOfCall: String? {
    switch self {
    case .silent(let process, _): process.words("widgetd-host")
    case .missing(let former):
      "widgetd-host is not running; start it with `\(HostStart.ofProcess.command(former))`"
    case .returning: BundleHost.waiting
    case .running, .unknown: nil
    }
  }

  /// The error of a call for the host, if no host is connected.
  ///
  /// - Parameter former: the folders of the last host.
  static func notConnected(former: [String] = []) -> String {
    "no widgetd-host is connected, so nothing installs and runs bundles; start it with "
      + "`\(HostStart.ofProcess.command(former))`"
  }

  /// The first folder of the host, or of the last host, if it is not the named one.
  func folder(insteadOf named: String) -> String? { ran(named) ? nil : folders.first }

  /// The folders of the host, or of the last host, without the named one.
  func folders(besides named: String) -> [String] {
    folders.filter { BundleHost.resolved($0) != BundleHost.resolved(named) }
  }

  /// The folder with a bundle, by the id in its file, in the folders of the host, or of the last host.
  func folder(having id: String) -> String? {
    folders.lazy.compactMap { BundleFolderOptions.installer(at: $0).folder(having: id) }.first
  }

  /// The same, without the name of the bundle's folder.
  func folderOfBundles(having id: String) -> String? {
    folders.first { BundleFolderOptions.installer(at: $0).folder(having: id) != nil }
  }

  /// Whether the host runs a folder, or the last host ran it.
  func ran(_ folder: String) -> Bool {
    folders.contains { BundleHost.resolved($0) == BundleHost.resolved(folder) }
  }

  /// The folder that commands with `--remote` change; nil if it is unknown.
  var firstFolder: String? { folders.first }

  /// Whether a folder of bundles is one of the host, and not the first one.
  func runsLater(_ folder: String?) -> Bool {
    guard let folder, let first = firstFolder else { return false }
    return folders(besides: first).contains { BundleHost.resolved($0) == folder }
  }

  /// The folders of the host, or of the last host.
  private var folders: [String] {
    switch self {
    case .running(let folders, _, _), .returning(let folders), .silent(_, let folders),
      .missing(let folders):
      folders
    case .unknown: []
    }
  }

  /// The order of folders with the same bundle.
  var order: BundleFolderOrder {
    BundleFolderOrder(roots: folders.map { BundleHost.resolved($0) })
  }

  /// The message for a folder without bundles. If the host does not run that folder, names the
  /// folders that it runs.
  func nothing(in folder: String) -> String {
    guard case .running(let folders, _, _) = self, runs(folder) != true, !folders.isEmpty else {
      return "no bundles in \(folder)\n"
    }
    let list = folders.map { "  widgetctl bundle ls --dir \($0.asArgument)\n" }.joined()
    return "no bundles in \(folder); widgetd-host runs \(folders.joined(separator: ", ")):\n\(list)"
  }

  /// The path from the root, without links. A missing folder has the path that it will get.
  static func resolved(_ path: String) -> String {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    let parts = path.split(separator: "/")
    guard let last = parts.last, last != ".", last != ".." else { return path }
    let above = parts.dropLast().joined(separator: "/")
    let parent = resolved(path.hasPrefix("/") ? "/" + above : above.isEmpty ? "." : above)
    return parent == "/" ? "/\(last)" : "\(parent)/\(last)"
  }
}

/// Whether a host has its session.
enum HostSession: Hashable {
  case connected
  case away
  /// The process runs and does not answer.
  case silent(SilentProcess)

  /// Asks for the provider of a kind. Connected if the kind was not declared in a session, or if
  /// this is unknown.
  static func ask(
    _ client: WidgetClient, _ kind: KindName, _ options: CallOptions
  ) async -> HostSession {
    let kind = try? await client.getKind(GetKindRequest(name: kind), options: options).kind
    guard let kind, kind.isAttended, !kind.isProviderConnected else { return .connected }
    return kind.providerSilence.map { .silent(SilentProcess($0)) } ?? .away
  }
}

/// A provider's process that runs and does not answer.
struct SilentProcess: Hashable, Sendable {
  let silence: ProviderSilence
  /// Whether a signal has stopped it, as far as the system says.
  let isStopped: Bool
  /// Whether only another user or root can send it signals.
  let isOfOther: Bool

  init(_ silence: ProviderSilence, isStopped: Bool, isOfOther: Bool = false) {
    (self.silence, self.isStopped, self.isOfOther) = (silence, isStopped, isOfOther)
  }

  init(_ silence: ProviderSilence) {
    let process = Facts.listener(pid: Int32(clamping: silence.pid), uid: 0)
    let user = geteuid()
    self.init(
      silence, isStopped: process?.isStopped ?? false,
      isOfOther: user != 0 && process.map { $0.uid != user } ?? false)
  }

  /// `kill -CONT 42`; nil if the process is not stopped.
  var mend: String? {
    isStopped ? (isOfOther ? "sudo " : "") + "kill -CONT \(silence.pid)" : nil
  }

  /// `widgetd-host (process 42) has not answered since …: …`
  func words(_ name: String) -> String {
    "\(name) (process \(silence.pid)) has not answered since "
      + "\(RFC3339.text(silence.since.wholeSeconds)): "
      + (mend.map { "it is stopped by a signal; continue it with `\($0)`" }
        ?? "it hangs; restart it")
  }
}
