import Glibc
import WidgetClient
import WidgetModel

/// The judgement: facts in, findings out, in the order in which one would look.
extension Facts {
  /// At least one; what a check cannot tell, because an earlier one failed, is left out.
  var findings: [Finding] {
    [
      socketFinding, fileFinding, unitFinding, permissionFinding, connectFinding, healthFinding,
      levelFinding, versionFinding, providersFinding, bundlesFinding, errorsFinding,
    ].compactMap { $0 }
  }

  /// What keeps one from using the daemon: the first thing that failed.
  var trouble: Finding? { findings.first { $0.grade == .fail } }

  /// How long an error of the daemon's is news.
  static let newsAge: Duration = .seconds(86_400)

  // MARK: - Before connecting

  private var socketFinding: Finding {
    let check = "socket"
    let reason =
      switch choice.why {
      case .flag: "named by --socket"
      case .variable: "named by $\(SocketPath.variable)"
      case .user: "your own daemon's, below $XDG_RUNTIME_DIR, which comes before the system's"
      case .system:
        choice.user.map { "the system's; there is no \($0.path)" }
          ?? "the system's; $XDG_RUNTIME_DIR is not set, so your own daemon is not looked for"
      case .nowhere:
        choice.user.map { "the system's place, since there is none at \($0.path) either" }
          ?? "the system's place; $XDG_RUNTIME_DIR is not set, so your own daemon is not looked for"
      }
    var found = "\(choice.path): \(reason)"
    guard let other = choice.other else {
      guard let overlooked = choice.overlooked, choice.why == .system || choice.why == .nowhere
      else { return .ok(check, found) }
      found += ", although there is \(overlooked)"
      let directory = SocketChoice.runtimeDirectory(of: user.uid)
      return isReached
        ? .ok(check, found) : .warn(check, found, mend: "export XDG_RUNTIME_DIR=\(directory)")
    }
    let whose = other.path == choice.system.path ? "the system's daemon" : "your own daemon"
    found += "; \(whose) has one too, \(other.path)"
    if isReached { return .ok(check, found) }
    return .warn(check, found, mend: "widgetctl doctor --socket \(other.path.shellQuoted)")
  }

  private var fileFinding: Finding? {
    let check = "file"
    // Before the file: whatever is there, or is started there, cannot be used.
    guard !choice.isTooLong else {
      return .fail(
        check,
        "\(choice.path) has \(choice.path.utf8.count) bytes, and the path of a socket at most "
          + "\(SocketChoice.pathBytesMax)", mend: remedies.shorten)
    }
    switch file {
    case .hidden:
      // Which folder it is that hides it is told by `permission`, if that is known.
      guard folders.allSatisfy(\.isSearchable) else { return nil }
      return .fail(
        check, "\(choice.path) leads into a folder that \(user.name) may not search",
        mend: "namei -l \(choice.path.shellQuoted)")
    case .socket(let ownership): return .ok(check, "a socket, \(ownership.text)")
    case .missing: return .fail(check, missing.found, mend: missing.mend)
    case .other(let kind):
      return .fail(
        check, "\(choice.path) is \(kind), not a socket",
        mend: remedies.unname ?? remedies.sudo + "rm -ri \(choice.path.shellQuoted)")
    }
  }

  /// There is no socket: why, and what makes one.
  private var missing: (found: String, mend: String) {
    let found = "there is nothing at \(choice.path)"
    let isUsual = choice.path == choice.user?.path || choice.path == choice.system.path
    if !isUsual, let unname = remedies.unname, choice.user?.exists == true || choice.system.exists {
      return (found, unname)
    }
    if let unit = unitFinding, unit.grade == .fail, let mend = unit.mend { return (found, mend) }
    guard let manager = remedies.managerWithUnits else {
      return isDaemonInstalled
        ? (found, remedies.byHand)
        : (
          found + "; widgetd is not installed here",
          remedies.sudo + "apt install ./widgetd_*.deb ./widgetctl_*.deb"
        )
    }
    if unit("widgetd.socket", of: manager)?.active == "active" {
      return (found + ", although widgetd.socket is active: its file was removed", remedies.restart)
    }
    return (found, "\(remedies.systemctl(manager)) enable --now widgetd.socket")
  }

  private var unitFinding: Finding? {
    let check = "unit"
    let managers =
      choice.why == .nowhere ? SystemdScope.allCases : [choice.manager].compactMap { $0 }
    guard !managers.isEmpty else {
      return .ok(check, "not checked: no unit has its socket in this place")
    }
    let findings = managers.map { finding(check, of: $0) }
    // Of two daemons one that is up is enough to say so; else what is wrong with the first.
    return findings.first { $0.grade == .fail } ?? findings.first { $0.grade == .warn }
      ?? findings.first
  }

  private func finding(_ check: String, of manager: SystemdScope) -> Finding {
    switch units[manager] ?? .absent {
    case .absent: return .ok(check, "none: \(manager.name) systemd cannot be asked here")
    case .timedOut:
      return .warn(
        check, "\(manager.name) systemd does not answer",
        mend: "\(manager.systemctl) status widgetd.socket widgetd.service")
    case .known(let units):
      let words = units.map {
        "\($0.name) \($0.load == "loaded" ? $0.active : $0.load)"
          + ($0.active == "failed" ? " (\($0.result))" : "")
      }.joined(separator: ", ")
      let loaded = units.filter { $0.load == "loaded" }
      if loaded.contains(where: { $0.active == "failed" }) {
        return Finding(
          check: check, grade: isReached ? .warn : .fail,
          found: "\(words); `\(remedies.journalctl(manager)) -u widgetd -n 20` shows why",
          mend: "\(remedies.systemctl(manager)) reset-failed widgetd.socket widgetd.service; "
            + "\(remedies.systemctl(manager)) start widgetd.socket")
      }
      if units.contains(where: { $0.load == "masked" }), !isReached {
        return .fail(
          check, words,
          mend: "\(remedies.systemctl(manager)) unmask widgetd.socket widgetd.service")
      }
      if loaded.isEmpty {
        return .ok(check, "widgetd is not installed as a service of \(manager.name) systemd")
      }
      if !isReached, !loaded.contains(where: { $0.active.isUp }) {
        return .fail(
          check, words, mend: "\(remedies.systemctl(manager)) enable --now widgetd.socket")
      }
      return .ok(check, words)
    }
  }

  private var permissionFinding: Finding? {
    let check = "permission"
    if let closed = folders.first(where: { !$0.isSearchable }) {
      return .fail(
        check,
        "\(user.name) may not search \(closed.path) (\(closed.ownership.text))"
          + (closed.link.map { ", where the link \($0.path) leads, to \($0.target)" } ?? "")
          + hint(closed.ownership),
        mend: mend(closed.ownership, groupMay: closed.ownership.mode & 0o010 != 0))
    }
    guard case .socket(let ownership) = file else { return nil }
    if isWritable {
      let way =
        user.isRoot
        ? "root may open every socket"
        : ownership.uid == user.uid
          ? "it is your own"
          : ownership.membership == .inSession && ownership.mode & 0o020 != 0
            ? "you are in the group \(ownership.group)" : "everyone may open it"
      return .ok(check, "\(user.name) may open the socket: \(way)")
    }
    return .fail(
      check,
      "\(user.name) may not open the socket (\(ownership.text))" + hint(ownership)
        + (isOfGroup(ownership)
          ? "" : "; `widgetd --client-group GROUP` lets the members of a group in"),
      mend: mend(ownership, groupMay: ownership.mode & 0o020 != 0))
  }

  private func hint(_ ownership: Ownership) -> String {
    ownership.membership == .afterLogin
      ? "; you are in the group \(ownership.group), but not in this session: log in again, or open "
        + "a shell in it" : ""
  }

  /// Whether membership in the group of a file is something that users are given.
  private func isOfGroup(_ ownership: Ownership) -> Bool { ownership.group != "root" }

  /// What lets the user in, if the group may do what is missing, or else.
  private func mend(_ ownership: Ownership, groupMay: Bool) -> String {
    guard groupMay, isOfGroup(ownership) else {
      return ownership.uid == 0
        ? "sudo " + choice.asRoot("doctor")
        : "sudo -u \(ownership.owner.shellQuoted) widgetctl doctor --socket \(choice.path.shellQuoted)"
    }
    return switch ownership.membership {
    case .afterLogin, .inSession: "newgrp \(ownership.group.shellQuoted)"
    case .none:
      remedies.sudo + "adduser \(user.name.shellQuoted) \(ownership.group.shellQuoted); "
        + "newgrp \(ownership.group.shellQuoted)"
    }
  }

  // MARK: - Connecting and after

  private var connectFinding: Finding? {
    let check = "connect"
    switch connection {
    case .notTried: return nil
    case .answered, .mute: return .ok(check, "connected")
    case .failed(.refused):
      return .fail(
        check, "no program listens on the socket: a daemon that has ended left it",
        mend: remedies.restart)
    case .failed(.permissionDenied):
      // What keeps one out is told by `permission`, unless it is none of the mode bits.
      guard isWritable else { return nil }
      return .fail(
        check,
        "the kernel refuses the connection although the mode permits it: see its security modules",
        mend: remedies.sudo + "journalctl -k -g widgetd")
    case .failed(.backlogFull):
      return .fail(
        check, "more connections wait than the daemon can queue: it is overloaded or hangs",
        mend: remedies.restart)
    case .failed(.pathTooLong):
      // `file` has said so.
      guard !choice.isTooLong else { return nil }
      return .fail(
        check,
        "the path has more than \(SocketChoice.pathBytesMax) bytes, the limit for a socket",
        mend: remedies.shorten)
    case .failed(.other(errno: EPROTOTYPE, _)):
      return .fail(
        check,
        "the socket is not a stream socket but one for datagrams or packets, so it is not widgetd's",
        mend: remedies.unname
          ?? (remedies.managerWithUnits == nil ? remedies.whoHasIt : remedies.restart))
    case .failed(let failure):
      return .fail(check, "\(failure)", mend: remedies.restart)
    }
  }

  private var healthFinding: Finding? {
    let check = "health"
    switch connection {
    case .notTried, .failed: return nil
    case .mute(.deadlineExceeded(let limit)):
      let wait = "does not answer within \(DurationSyntax.seconds(limit))"
      guard let listener else {
        return .fail(
          check, "the daemon \(wait): it hangs, or is overloaded", mend: remedies.restart)
      }
      if listener.isStopped {
        return .fail(
          check,
          "the program that listens (\(listener.text)) \(wait), because it is stopped by a signal",
          mend: remedies.kill("CONT", listener))
      }
      guard listener.mayBeDaemon else {
        return .fail(
          check, "the program that listens (\(listener.text)) \(wait), and is not widgetd",
          mend: remedies.dislodge)
      }
      return .fail(
        check, "the daemon (\(listener.text)) \(wait): it hangs, or is overloaded",
        mend: remedies.restart)
    case .mute(.protocolViolation(let what)):
      return .fail(check, "\(notWidgetd): \(what)", mend: remedies.dislodge)
    case .mute(.wire(let error)):
      return .fail(check, "\(notWidgetd): it answers with \(error)", mend: remedies.dislodge)
    case .mute(.status(let status)) where status.code == .unimplemented:
      return .fail(
        check, "\(notWidgetd): it has no health service", mend: remedies.dislodge)
    case .mute(.connectionLost):
      if let listener, !listener.mayBeDaemon {
        return .fail(check, "\(notWidgetd): it closed the connection", mend: remedies.dislodge)
      }
      return .fail(
        check,
        "the daemon closed the connection: it has too many, or has just ended; its log says which",
        mend: (choice.manager ?? remedies.holder).map {
          "\(remedies.journalctl($0)) -u widgetd -n 20"
        } ?? remedies.whoHasIt)
    case .mute(let error):
      return .fail(check, "\(error)".withoutFinalPeriod, mend: remedies.restart)
    case .answered(let answers):
      if answers.health == .serving { return .ok(check, "serving") }
      return .fail(
        check,
        "\(answers.health.name): the daemon is stopping, or its store was removed; its last errors"
          + " tell which",
        mend: choice.command("doctor"))
    }
  }

  private var levelFinding: Finding? {
    guard case .answered(let answers) = connection else { return nil }
    let check = "level"
    switch answers.level {
    case .owner: return .ok(check, "owner: \(user.name) may do everything")
    case .client:
      return .ok(
        check,
        "client: \(user.name) may read, watch and send events; changes are for the daemon's "
          + "user and root (`sudo \(choice.asRoot("…"))`)")
    case .nothing:
      let found =
        "nothing: \(user.name) may only ask for health, being neither root, nor the daemon's user, "
        + "nor in its client group"
      guard case .socket(let ownership) = file, ownership.group != "root",
        ownership.uid != user.uid,
        ownership.membership != .inSession
      else {
        return .fail(check, found, mend: "sudo " + choice.asRoot("doctor"))
      }
      return .fail(check, found + hint(ownership), mend: mend(ownership, groupMay: true))
    case .unknown:
      return .warn(
        check, "the daemon did not say what \(user.name) may do",
        mend: choice.command("ls"))
    }
  }

  private var versionFinding: Finding? {
    guard let stats else { return nil }
    let check = "version"
    let isOther = stats.version != clientVersion
    guard isOther || isDaemonReplaced else {
      return .ok(check, "client and daemon are \(clientVersion)")
    }
    var found =
      isOther
      ? "the client is \(clientVersion), the daemon \(stats.version)"
      : "client and daemon are \(clientVersion)"
    if isDaemonReplaced {
      found += ", but the daemon's program was replaced or removed after the daemon started; "
    } else {
      found += "; install both from one release, "
    }
    if let manager = remedies.managerWithUnits {
      // The socket is well: left alone, it keeps the connections.
      let mend = "\(remedies.systemctl(manager)) restart widgetd.service"
      return .warn(
        check, found + (isDaemonReplaced ? "restart it" : "and have the new daemon run"), mend: mend
      )
    }
    if isDaemonReplaced {
      return .warn(
        check, found + "restart it with its arguments, which this command shows",
        mend: "ps -ww -o user=,args= -p \(stats.pid)")
    }
    guard let listener, !listener.isSystemd, listener.pid != 1 else {
      return .warn(
        check, found + "and restart that daemon; this command shows its process",
        mend: remedies.whoHasIt)
    }
    // Its flags are its own: nobody else can start it again.
    return .warn(
      check, found + "and restart that daemon with its arguments, which this command shows",
      mend: "ps -ww -o user=,args= -p \(listener.pid)")
  }

  /// Those that are enabled and do not run: their widgets no longer change, and nobody else tells.
  private var providersFinding: Finding? {
    guard isReached, let manager = remedies.managerWithUnits else { return nil }
    let check = "providers"
    let expected = (providers[manager] ?? []).filter { $0.load == "loaded" && $0.isEnabled }
    guard !expected.isEmpty else { return nil }
    var problems: [String] = []
    var mends: [String] = []
    for unit in expected {
      let name = unit.name.shellQuoted
      let log = "`\(remedies.journalctl(manager)) -u \(name) -n 20` shows why"
      if unit.active == "failed" {
        problems.append("\(unit.name) failed (\(unit.result)); \(log)")
        mends.append("\(remedies.systemctl(manager)) reset-failed \(name)")
        mends.append("\(remedies.systemctl(manager)) start \(name)")
      } else if !unit.active.isUp {
        problems.append("\(unit.name) is enabled, but \(unit.active)")
        mends.append("\(remedies.systemctl(manager)) start \(name)")
      } else if unit.active == "activating", unit.result != "success" {
        problems.append("\(unit.name) fails again and again (\(unit.result)); \(log)")
        mends.append("\(remedies.journalctl(manager)) -u \(name) -n 20")
      } else if unit.isReplaced {
        problems.append("the program of \(unit.name) was replaced or removed after it started")
        mends.append("\(remedies.systemctl(manager)) restart \(name)")
      }
    }
    guard !problems.isEmpty else {
      return .ok(check, expected.map { "\($0.name) \($0.active)" }.joined(separator: ", "))
    }
    return .warn(
      check, problems.joined(separator: "; "), mend: mends.joined(separator: "; "))
  }

  /// The hosts that run bundles, and installed bundles that no host runs.
  private var bundlesFinding: Finding? {
    guard isReached, let bundles else { return nil }
    let check = "bundles"
    if bundles.count == 0 {
      switch bundles.host {
      case .unknown: return nil
      case .missing where bundles.declared > 0:
        let count = bundles.declared == 1 ? "a bundle" : "\(bundles.declared) bundles"
        return .warn(
          check, "no widgetd-host runs, but the daemon has \(count) of a former one",
          mend: hostStart(bundles))
      case .missing: return .ok(check, "none in \(bundles.folder), and no widgetd-host runs")
      case .running(let folders, stub: true):
        let stubbed = bundles.host.problem(of: folders.first ?? "") ?? ""
        return .warn(check, stubbed, mend: nil)
      case .running: return runningFinding(bundles, bundles.host.words ?? "")
      }
    }
    guard let problem = bundles.host.problem(of: bundles.folder) else {
      return runningFinding(bundles, bundles.folder)
    }
    return bundles.host == .unknown ? nil : .warn(check, problem, mend: hostStart(bundles))
  }

  /// The command that starts the host, if none runs. No unit starts one for a daemon with a socket of its
  /// own.
  private func hostStart(_ bundles: Facts.Bundles) -> String? {
    guard bundles.host == .missing, choice.why != .nowhere, choice.manager == nil else {
      return bundles.host.mend
    }
    return
      "widgetd-host --socket \(choice.path.shellQuoted) --bundles \(bundles.folder.shellQuoted)"
  }

  /// The bundles that a host runs, and those that have failed.
  private func runningFinding(_ bundles: Facts.Bundles, _ folders: String) -> Finding {
    let runs = "widgetd-host runs \(folders)"
    guard !bundles.failing.isEmpty else { return .ok("bundles", runs) }
    let count =
      bundles.failing.count == 1 ? "a bundle has" : "\(bundles.failing.count) bundles have"
    return .warn(
      "bundles", "\(runs); \(count) failed: \(bundles.failing.joined(separator: ", "))",
      mend: choice.command("bundle ls --remote"))
  }

  private var errorsFinding: Finding? {
    guard let stats else { return nil }
    let check = "errors"
    guard let last = stats.recentErrors.last else { return .ok(check, "the daemon had none") }
    let age = now.duration(since: last.time)
    let others = stats.recentErrors.count - 1
    let found =
      "\(DurationSyntax.age(age)) ago in \(last.area)\(last.times): \(last.reason): "
      + last.message.withoutFinalPeriod
      + (others > 0 ? "; and \(others) other\(others == 1 ? "" : "s")" : "")
    guard age < Facts.newsAge else { return .ok(check, found) }
    return .warn(check, found, mend: choice.command("status"))
  }

  // MARK: - Parts

  private var stats: GetStatsResponse? {
    if case .answered(let answers) = connection { answers.stats } else { nil }
  }

  var isReached: Bool {
    switch connection {
    case .answered, .mute: true
    case .notTried, .failed: false
    }
  }

  private var remedies: Remedies { Remedies(self) }

  private func unit(_ name: String, of manager: SystemdScope) -> Unit? {
    guard case .known(let units)? = units[manager] else { return nil }
    return units.first { $0.name == name }
  }

  /// What listens, if it is not the daemon.
  private var notWidgetd: String {
    "the program that listens" + (listener.map { " (\($0.text))" } ?? "") + " is not widgetd"
  }
}

extension RecentError {
  /// `, 3 times` if it was more than once.
  var times: String { count > 1 ? ", \(count) times" : "" }
}

extension String {
  /// As one word of a shell.
  var shellQuoted: String {
    let isPlain =
      !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
          UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ":"),
          UInt8(ascii: ","):
          true
        default: false
        }
      }
    guard !isPlain else { return self }
    return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
      + "'"
  }

  /// A sentence as a part of one.
  var withoutFinalPeriod: String { hasSuffix(".") ? String(dropLast()) : self }

  /// Whether a unit in this state lets clients connect, now or in a moment.
  fileprivate var isUp: Bool { ["active", "activating", "reloading"].contains(self) }
}
