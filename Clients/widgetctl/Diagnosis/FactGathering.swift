import Glibc
import WidgetBundle
import WidgetBundleInstaller
import WidgetClient
import WidgetModel
import WidgetTimers

/// Asks the system and the daemon. Every question has a time limit. The questions change nothing,
/// except that connecting starts a service whose socket systemd holds.
extension Facts {
  /// The timeout of each call of systemctl.
  static let systemctlTimeout: Duration = .seconds(2)
  /// The default timeout for the connection, and for each call. `--timeout` replaces it.
  static let callTimeout: Duration = .seconds(3)

  /// - Parameters:
  ///   - socket: `--socket`.
  ///   - connection: the result of an earlier attempt to connect; nil to try it.
  static func gather(
    socket: String?, timeout: Duration?, connection: ConnectAttempt? = nil
  ) async -> Facts {
    let choice = SocketChoice.ofProcess(explicit: socket)
    let folders = folders(to: choice.path)
    let file = file(choice.path, isHidden: folders.contains { !$0.isSearchable })
    var facts = Facts(
      user: User(uid: geteuid(), name: userName(geteuid())), choice: choice, file: file,
      folders: folders, connection: .notTried, clientVersion: Widgetctl.version)
    facts.isWritable = faccessat(AT_FDCWD, choice.path, W_OK, AT_EACCESS) == 0
    for manager in SystemdScope.allCases {
      facts.units[manager] = units(of: manager)
      if Remedies(facts).hasUnits(of: manager) { facts.providers[manager] = providers(of: manager) }
    }
    facts.isDaemonInstalled = isInstalled("widgetd")
    if file == .missing { facts.daemonWithoutFile = lockHolder(of: choice.path) }
    if let connection {
      facts.connection = connection
    } else if case .socket = file, !choice.isTooLong {
      facts.connection = await Facts.connection(choice.path, timeout: timeout ?? callTimeout)
    }
    if case .answered(let answers) = facts.connection, let stats = answers.stats {
      facts.isDaemonReplaced = isReplaced(stats.pid)
    }
    // A daemon that is silent would keep each further question waiting.
    if case .answered(let answers) = facts.connection, !answers.isSilent {
      facts.bundles = await bundles(at: choice.path)
    }
    if facts.isListenerOfInterest { facts.listener = facts.findListener() }
    facts.now = Timestamp.wallClock()
    return facts
  }

  /// The bundles in the folder that `bundle install` uses.
  private static func bundles(at socket: String) async -> Bundles? {
    guard let folder = try? BundleFolderOptions.usual(),
      let installed = try? BundleInstaller(path: folder).list()
    else { return nil }
    let host = await BundleHost.ask(WidgetClient(socketPath: socket))
    let standings = await BundleStanding.all(at: socket)
    return Bundles(
      folder: folder, count: installed.count, host: host,
      declared: host.isMissing ? standings.count : 0,
      failed: host.isMissing ? [] : standings.filter(\.hasFailed).map(\.title),
      failing: host.isMissing ? [] : standings.filter(\.isFailing).map(\.title),
      stopped: host.isMissing ? [] : standings.filter(\.isElsewhere).map(\.title),
      marks: marks(in: [folder] + host.folders(besides: folder), host, standings))
  }

  /// A host deletes the mark of a removal within seconds. Younger marks do not count.
  private static let markAge = Duration.seconds(60)

  static func marks(
    in folders: [String], _ host: BundleHost, _ standings: [BundleStanding]
  ) -> [Mark] {
    let end = Timestamp.wallClock().advanced(by: .zero - markAge)
    let known = Dictionary(standings.map { ($0.path, $0) }) { _, later in later }
    return Set(folders.map { BundleHost.resolved($0) }).sorted().flatMap { folder -> [Mark] in
      guard let isRun = host.runs(folder) else { return [] }
      let installer = BundleInstaller(path: folder)
      return installer.markedRemovals(before: end).map { id in
        let places = installer.target(ofMark: id).map { [id: $0] } ?? [:]
        return Mark(
          path: "\(folder)/\(BundleRemovalMark.name(of: id))", bundle: id, isRun: isRun,
          isKnown: BundleRemoveCommand.isKnown(id, in: folder, at: places, among: known),
          isRemovable: faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) == 0)
      }
    }
  }

  // MARK: - Files

  /// The daemon that holds the lock beside a socket, from the process in the lock's file. The lock
  /// itself is not tried, because a daemon that starts at this moment could not take it.
  private static func lockHolder(of socket: String) -> Listener? {
    let file = open(socket + ".lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = read(file, &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    guard let process = text.split(separator: "\n").first.flatMap({ Int32($0) }), process > 0,
      var holder = Facts.listener(pid: process, uid: 0), holder.name == "widgetd"
    else { return nil }
    // A daemon takes only its user's lock file.
    var status = stat()
    if fstat(file, &status) == 0 {
      (holder.uid, holder.owner) = (status.st_uid, userName(status.st_uid))
    }
    return holder
  }

  /// The folders on the path, with symbolic links followed one by one. The list ends at the first
  /// folder that is missing or may not be searched. The kernel follows the same path, but does not
  /// report the place of a failure.
  static func folders(to path: String) -> [Folder] {
    var absolute = path
    if !path.hasPrefix("/"), let current = getcwd(nil, 0) {
      absolute = String(cString: current) + "/" + path
      free(current)
    }
    var result: [Folder] = []
    var link: Link?
    var linksLeft = linksMax
    /// Records a folder. Returns whether the path can continue from there.
    func enter(_ folder: String) -> Bool {
      if result.contains(where: { $0.path == folder }) { return true }
      var status = stat()
      guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
      let isSearchable = faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) == 0
      result.append(
        Folder(
          path: folder, ownership: Ownership(status), isSearchable: isSearchable, link: link))
      return isSearchable
    }
    guard enter("/") else { return result }
    // The parts that are still to visit, the next one last, and the present place without links and
    // "..".
    var pending = Array(absolute.split(separator: "/").map(String.init).reversed())
    var here: [String] = []
    while let name = pending.popLast() {
      switch name {
      case ".": continue
      case "..":
        _ = here.popLast()
        continue
      default: break
      }
      let next = "/" + (here + [name]).joined(separator: "/")
      if let target = SocketFile.target(ofLink: next) {
        linksLeft -= 1
        guard linksLeft > 0 else { break }
        link = Link(path: next, target: target)
        if target.hasPrefix("/") { here = [] }
        pending += target.split(separator: "/").map(String.init).reversed()
      } else {
        guard !pending.isEmpty, enter(next) else { break }
        here.append(name)
      }
    }
    return result
  }

  /// The maximum number of symbolic links that the kernel follows for one path.
  private static let linksMax = 40

  static func file(_ path: String, isHidden: Bool) -> File {
    var status = stat()
    guard stat(path, &status) == 0 else { return isHidden || errno == EACCES ? .hidden : .missing }
    if let kind = SocketFile.kindOfOther(path) { return .other(kind: kind) }
    return .socket(Ownership(status))
  }

  /// Whether a program is in one of the usual folders. Programs of services are often outside
  /// users' `$PATH`.
  private static func isInstalled(_ program: String) -> Bool {
    let path = (Terminal.environment("PATH") ?? "") + ":/usr/local/sbin:/usr/sbin:/usr/bin"
    return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
  }

  fileprivate static func userName(_ uid: UInt32) -> String { name(ofUser: uid) ?? "\(uid)" }

  /// nil if the number has no user.
  static func name(ofUser uid: UInt32) -> String? {
    withEntry({ getpwuid_r(uid, $0, $1, $2, $3) }, passwd()) { String(cString: $0.pw_name) }
  }

  fileprivate static func groupName(_ gid: UInt32) -> String {
    withEntry({ getgrgid_r(gid, $0, $1, $2, $3) }, group()) { String(cString: $0.gr_name) }
      ?? "\(gid)"
  }

  fileprivate static func membership(of gid: UInt32) -> Membership {
    var groups = [gid_t](repeating: 0, count: Int(max(1, getgroups(0, nil))))
    let count = getgroups(Int32(groups.count), &groups)
    if getegid() == gid || groups.prefix(Int(max(0, count))).contains(gid) { return .inSession }
    let listed: [gid_t]? = withEntry({ getpwuid_r(geteuid(), $0, $1, $2, $3) }, passwd()) { user in
      var count: Int32 = 1024
      var groups = [gid_t](repeating: 0, count: Int(count))
      guard getgrouplist(user.pw_name, user.pw_gid, &groups, &count) >= 0 else { return [] }
      return Array(groups.prefix(Int(count)))
    }
    return listed?.contains(gid) == true ? .afterLogin : .none
  }

  /// Looks up an entry of the users' or the groups' database; nil if there is none.
  private static func withEntry<Entry, Result>(
    _ look: (
      UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
    ) -> Int32, _ empty: Entry, _ body: (Entry) -> Result
  ) -> Result? {
    var entry = empty
    var size = 4096
    while size <= 1 << 20 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      var found: UnsafeMutablePointer<Entry>?
      switch look(&entry, buffer, size, &found) {
      case ERANGE: size *= 4
      default: return found.map { body($0.pointee) }
      }
    }
    return nil
  }

  // MARK: - Units

  static let unitNames = ["widgetd.socket", "widgetd.service"]

  private static func units(of manager: SystemdScope) -> Units {
    let place: String
    switch manager {
    case .system: place = "/run/systemd/system"
    case .user:
      guard let directory = Terminal.environment("XDG_RUNTIME_DIR") else { return .absent }
      place = directory + "/systemd/private"
    }
    // Without a running systemd, systemctl prints a long message, or asks other programs.
    guard SocketPath.isThere(place) else { return .absent }
    return switch show(unitNames, unitProperties, of: manager) {
    case .ended(0?, let output): .known(units(in: output))
    case .timedOut: .timedOut
    case .ended, .notFound: .absent
    }
  }

  private static let unitProperties = "Id,LoadState,ActiveState,Result,MainPID,UnitFileState"

  private static func show(
    _ names: [String], _ properties: String, of manager: SystemdScope
  ) -> BoundedCommand.Outcome {
    BoundedCommand.run(
      ["systemctl"] + (manager == .user ? ["--user"] : [])
        + ["show", "--no-pager", "--property=\(properties)", "--"] + names,
      within: systemctlTimeout)
  }

  /// The maximum number of services to ask about.
  static let providersMax = 64

  /// The services that the socket starts, or that require it.
  private static func providers(of manager: SystemdScope) -> [Unit] {
    guard
      case .ended(0?, let related) = show([unitNames[0]], "Wants,RequiredBy,WantedBy", of: manager)
    else { return [] }
    let names = providerNames(in: related)
    guard !names.isEmpty,
      case .ended(0?, let output) = show(names, unitProperties, of: manager)
    else { return [] }
    return units(in: output).map { unit in
      var unit = unit
      unit.isReplaced = unit.mainPID.map { isReplaced(UInt32($0)) } ?? false
      return unit
    }
  }

  /// The services in lines of `NAME=UNIT UNIT …`, each once, except for the daemon's.
  static func providerNames(in output: String) -> [String] {
    let names = output.split(separator: "\n").flatMap { line in
      line.drop { $0 != "=" }.dropFirst().split(separator: " ").map(String.init)
    }
    let services = Set(names).filter { $0.hasSuffix(".service") && !unitNames.contains($0) }
    return Array(services.sorted { $0.precedesByBytes($1) }.prefix(providersMax))
  }

  /// Whether the file of a process's program was removed or replaced, by the kernel's report.
  private static func isReplaced(_ pid: UInt32) -> Bool {
    SocketFile.target(ofLink: "/proc/\(pid)/exe")?.hasSuffix(" (deleted)") == true
  }

  /// Reads what `systemctl show` prints: `NAME=VALUE` lines, an empty line between units.
  static func units(in output: String) -> [Unit] {
    var units: [Unit] = []
    var values: [Substring: String] = [:]
    func finish() {
      guard let name = values["Id"] else { return }
      units.append(
        Unit(
          name: name, load: values["LoadState"] ?? "", active: values["ActiveState"] ?? "",
          result: values["Result"] ?? "",
          mainPID: values["MainPID"].flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil },
          isEnabled: values["UnitFileState"]?.hasPrefix("enabled") ?? false))
      values = [:]
    }
    for line in output.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { finish() }
      guard let sign = line.firstIndex(of: "=") else { continue }
      values[line[..<sign]] = String(line[line.index(after: sign)...])
    }
    finish()
    return units
  }

  // MARK: - The daemon

  /// Connects and asks, until the first question without an answer in time.
  static func connection(_ path: String, timeout: Duration) async -> ConnectAttempt {
    let client = WidgetClient(socketPath: path, connectTimeout: timeout)
    let options = CallOptions(timeout: timeout)
    let health: HealthCheckResponse
    do throws(ClientError) {
      try await client.connect()
      health = try await client.checkHealth(options: options)
    } catch {
      await client.close()
      if case .unavailable(let failure, _) = error { return .failed(failure) }
      return .mute(error)
    }
    var answers = Answers(health: health.status, level: .unknown)
    await answers.findLevel(client, options)
    if !answers.isSilent { answers.store = await StoreTrouble.ask(client, options) }
    await client.close()
    return .answered(answers)
  }

  /// Whether the listener is of interest: one exists, and must be ended or restarted.
  private var isListenerOfInterest: Bool {
    switch connection {
    case .notTried, .failed: false
    case .mute: true
    case .answered(let answers): answers.stats.map { $0.version != clientVersion } ?? false
    }
  }

  /// The listener: the process that the kernel names. If that is the systemd that holds the socket,
  /// the service.
  private func findListener() -> Listener? {
    guard let (pid, uid) = Facts.peer(at: choice.path),
      let listener = Facts.listener(pid: pid, uid: uid)
    else { return nil }
    guard let manager = listener.holder(for: user.uid),
      case .known(let units)? = units[manager],
      let process = units.lazy.compactMap(\.mainPID).first,
      var service = Facts.listener(pid: process, uid: uid)
    else { return listener }
    service.manager = manager
    return service
  }

  /// The process that called listen(2) on the socket, from the kernel. Nil if the kernel does not
  /// name it, as for a process in another container. Connects without waiting.
  private static func peer(at path: String) -> (pid: Int32, uid: UInt32)? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(
      AF_UNIX,
      Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let connected = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else { return nil }
    // glibc hides `struct ucred` without _GNU_SOURCE; its layout is the kernel's.
    var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
    var length = socklen_t(MemoryLayout.size(ofValue: credentials))
    guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0,
      credentials.pid > 0
    else { return nil }
    return (credentials.pid, credentials.uid)
  }

  /// A process as /proc shows it. Nil if it has ended.
  static func listener(pid: Int32, uid: UInt32) -> Listener? {
    guard let (line, owner) = processFile("/proc/\(pid)/stat") else { return nil }
    var result = listener(pid: pid, uid: owner ?? uid, stat: line)
    result?.owner = userName(owner ?? uid)
    result?.filesMax = processFile("/proc/\(pid)/limits").flatMap { filesMax(limits: $0.text) }
    return result
  }

  /// The beginning of a file of /proc, and its owner; nil if this user may not read it.
  private static func processFile(_ path: String) -> (text: String, owner: UInt32?)? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    let owner = fstat(descriptor, &status) == 0 ? status.st_uid : nil
    var text = [UInt8](repeating: 0, count: 4_096)
    let count = read(descriptor, &text, text.count)
    guard count > 0 else { return nil }
    return (String(decoding: text[..<count], as: UTF8.self), owner)
  }

  /// Reads the soft limit of open files from proc_pid_limits(5): `Max open files  64  64  files`.
  static func filesMax(limits: String) -> Int? {
    let name = "Max open files"
    return limits.split(separator: "\n").first { $0.hasPrefix(name) }
      .flatMap { $0.dropFirst(name.count).split(separator: " ").first }.flatMap { Int($0) }
  }

  /// Reads the line of proc_pid_stat(5): `42 (widgetd) S 1 …`. The name may have brackets and
  /// spaces. Nil for a process that has ended, also if its parent has not noticed it yet.
  static func listener(pid: Int32, uid: UInt32, stat line: String) -> Listener? {
    guard let start = line.firstIndex(of: "("), let end = line.lastIndex(of: ")"), start < end
    else { return nil }
    let state = line[end...].dropFirst(2).first
    guard state != "Z", state != "X" else { return nil }
    return Listener(
      pid: pid, uid: uid, name: String(line[line.index(after: start)..<end]),
      isStopped: state == "T" || state == "t")
  }
}

extension SocketChoice {
  /// The choice of this process.
  static func ofProcess(explicit: String?) -> SocketChoice {
    SocketChoice(
      explicit: explicit, uid: geteuid(), environment: { SocketPath.ofProcess($0) },
      exists: { SocketPath.isThere($0) })
  }
}

extension Facts.Answers {

  /// Finds the level from refused requests, since no call returns it.
  fileprivate mutating func findLevel(_ client: WidgetClient, _ options: CallOptions) async {
    do throws(ClientError) {
      stats = try await client.getStats(options: options)
      level = .owner
      return
    } catch {
      isSilent = error.isLateAnswer
      guard error.status?.code == .permissionDenied else { return }
    }
    do throws(ClientError) {
      let request = ListWidgetsRequest(pageSize: 1, readMask: .idsOnly)
      revision = try await client.listWidgets(request, options: options).revision
      level = .client
    } catch {
      isSilent = error.isLateAnswer
      if error.status?.code == .permissionDenied { level = .nothing }
    }
  }
}

extension ClientError {
  /// Whether no answer came in time.
  fileprivate var isLateAnswer: Bool { if case .deadlineExceeded = self { true } else { false } }
}

extension Facts.Ownership {
  fileprivate init(_ status: stat) {
    self.init(
      mode: status.st_mode & 0o7777, uid: status.st_uid, owner: Facts.userName(status.st_uid),
      group: Facts.groupName(status.st_gid), membership: Facts.membership(of: status.st_gid))
  }
}
