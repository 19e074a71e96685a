import Glibc
import WidgetClient
import WidgetModel

/// The daemon's answers, and their consequences.
extension Facts {
  var connectFinding: Finding? {
    let check = "connect"
    switch connection {
    case .notTried: return nil
    case .answered, .mute: return .ok(check, "connected")
    case .failed(.refused):
      return .fail(
        check, "no program listens on the socket: a daemon that has ended left it",
        mend: remedies.restart)
    case .failed(.permissionDenied):
      // `permission` reports the obstacle, unless it is not in the mode bits.
      guard isWritable else { return nil }
      return .fail(
        check,
        "the kernel refuses the connection although the mode permits it: see its security modules",
        mend: remedies.kernelLog)
    case .failed(.backlogFull):
      return .fail(
        check, "more connections wait than the daemon can queue: it is overloaded or hangs",
        mend: remedies.restart)
    case .failed(.pathTooLong):
      // `file` has reported this.
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

  var healthFinding: Finding? {
    let check = "health"
    switch connection {
    case .notTried, .failed: return nil
    case .mute(.deadlineExceeded(let limit, _)):
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
    case .mute(.status(let status)):
      return .fail(check, CommandFailure(.status(status)).message, mend: mend(for: status.code))
    case .mute(.connectionLost):
      if let listener, !listener.mayBeDaemon {
        return .fail(check, "\(notWidgetd): it closed the connection", mend: remedies.dislodge)
      }
      let cause =
        listener?.fewFiles.map {
          "it has too many, because the system lets it open only \($0) files, or it has just ended;"
            + " to take more, raise LimitNOFILE= of its unit, or `ulimit -n` of its shell"
        } ?? "it has too many, or has just ended; its log says which"
      return .fail(
        check, "the daemon closed the connection: \(cause)",
        mend: remedies.managerWithUnits.map {
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
        // Only owners see the errors.
        mend: answers.level == .owner
          ? choice.command("status") : remedies.sudo + choice.asRoot("status"))
    }
  }

  /// The next step after the daemon has refused to tell its health.
  private func mend(for code: StatusCode) -> String {
    switch code {
    case .permissionDenied, .unauthenticated:
      remedies.sudo.isEmpty ? remedies.restart : remedies.sudo + choice.asRoot("doctor")
    case .resourceExhausted, .unavailable, .failedPrecondition, .aborted, .deadlineExceeded,
      .cancelled:
      choice.command("status")
    case .ok, .unknown, .invalidArgument, .notFound, .alreadyExists, .outOfRange, .unimplemented,
      .internalError, .dataLoss:
      remedies.restart
    }
  }

  /// A store that takes no changes. The check `health` reports a store whose files are gone.
  var storeFinding: Finding? {
    guard case .answered(let answers) = connection, answers.health == .serving,
      let store = answers.store
    else { return nil }
    return .fail(
      "store", store.text,
      mend: store.failure == nil
        ? remedies.sudo + choice.asRoot("status") : choice.command("status"))
  }

  var levelFinding: Finding? {
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
        "nothing: \(user.name) may only ask for health, because \(user.name) is not root, not the "
        + "daemon's user, and not in the client group"
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

  var versionFinding: Finding? {
    guard let stats else { return nil }
    let check = "version"
    let isOther = stats.version != clientVersion
    guard isOther || isDaemonReplaced else {
      return .ok(check, "client and daemon are \(clientVersion)")
    }
    var found =
      isOther
      ? "the client is \(clientVersion), and the daemon is \(stats.version)"
      : "client and daemon are \(clientVersion)"
    if isDaemonReplaced {
      found += ", but the daemon's program was replaced or removed after the daemon started; "
    } else {
      found += "; install both from one release, "
    }
    if let manager = remedies.managerWithUnits {
      // The socket works. If it is not restarted, it keeps the connections.
      let mend = "\(remedies.systemctl(manager)) restart widgetd.service"
      return .warn(
        check, found + (isDaemonReplaced ? "restart it" : "and start the new daemon"), mend: mend
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
    // No unit has its arguments, so only its user can start it again.
    return .warn(
      check, found + "and restart that daemon with its arguments, which this command shows",
      mend: "ps -ww -o user=,args= -p \(listener.pid)")
  }

  /// Providers that are enabled but do not run. Their widgets no longer change, and no other check
  /// reports this.
  var providersFinding: Finding? {
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
  var bundlesFinding: Finding? {
    guard isReached, let bundles else { return nil }
    let check = "bundles"
    if case .running = bundles.host { return runningFinding(bundles) }
    if bundles.count == 0 {
      switch bundles.host {
      case .unknown, .running: return nil
      case .missing where bundles.declared > 0:
        let count = bundles.declared == 1 ? "a bundle" : "\(bundles.declared) bundles"
        return .warn(
          check, "no widgetd-host runs, but the daemon has \(count) of a former one",
          mend: hostStart(bundles))
      case .returning:
        return .warn(check, bundles.host.problem(of: bundles.folder) ?? "", mend: nil)
      case .silent(let process, _):
        return .warn(check, process.words("widgetd-host"), mend: process.mend)
      case .missing: return .ok(check, "none in \(bundles.folder), and no widgetd-host runs")
      }
    }
    guard bundles.host != .unknown, let problem = bundles.host.problem(of: bundles.folder) else {
      return nil
    }
    return .warn(check, problem, mend: hostStart(bundles))
  }

  /// The marks of removals that stay. The next step is that of the first one.
  var marksFinding: Finding? {
    guard isReached, let bundles, let first = bundles.marks.first else { return nil }
    let shown = bundles.marks.prefix(3).map(\.words)
    let more = bundles.marks.count - shown.count
    let mend: String? =
      switch (first.isKnown, first.isRun) {
      case (true, true):
        remedies.managerWithUnits.map { "\(remedies.journalctl($0)) -u widgetd-host -n 20" }
      case (true, false): hostStart(bundles)
      case (false, _):
        (first.isRemovable ? "" : remedies.sudo) + "rm \(first.path.shellQuoted)"
      }
    return .warn(
      "removals", (shown + (more > 0 ? ["and \(more) more"] : [])).joined(separator: "; "),
      mend: mend)
  }

  /// The command that starts the host, if none runs: with the folders of the last one, and with the
  /// usual folder if it has bundles. No unit starts a host for a daemon with another socket.
  private func hostStart(_ bundles: Facts.Bundles) -> String? {
    if case .silent(let process, _) = bundles.host { return process.mend }
    guard case .missing(var folders) = bundles.host, choice.why != .nowhere, choice.manager == nil
    else { return bundles.host.mend }
    let isKnown = folders.contains {
      BundleHost.resolved($0) == BundleHost.resolved(bundles.folder)
    }
    if folders.isEmpty || (bundles.count > 0 && !isKnown) { folders.append(bundles.folder) }
    let options = folders.map { " --bundles \($0.shellQuoted)" }.joined()
    return "widgetd-host --socket \(choice.path.shellQuoted)\(options)"
  }

  /// A running host: installed bundles that it does not run, its own problems, and the bundles that
  /// have failed, that are failing, or that it no longer runs.
  private func runningFinding(_ bundles: Facts.Bundles) -> Finding {
    let host = bundles.host
    let hasUsual = bundles.count > 0
    let isElsewhere = hasUsual && host.runs(bundles.folder) == false
    let troubles =
      [isElsewhere ? host.problem(of: bundles.folder) : nil].compactMap(\.self) + host.troubles
    let runs = "widgetd-host runs \(host.words ?? bundles.folder)"
    let bad = [
      BundleStanding.words(forFailed: bundles.failed),
      BundleStanding.words(forFailing: bundles.failing),
    ].compactMap(\.self)
    let stopped = BundleStanding.words(forStopped: bundles.stopped)
    let parts = (troubles.isEmpty ? [runs] : troubles) + bad + [stopped].compactMap(\.self)
    guard parts != [runs] else { return .ok("bundles", runs) }
    let list: String? =
      bad.isEmpty && stopped == nil ? nil : "bundle ls --remote"
    return .warn(
      "bundles", parts.joined(separator: "; "), mend: list.map { choice.command($0) })
  }

  var errorsFinding: Finding? {
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
}

extension Facts.Mark {
  /// `/b/.removed-desk: no host has carried out the removal of bundle desk`
  fileprivate var words: String {
    let state =
      switch (isKnown, isRun) {
      case (true, true): "widgetd-host has not removed bundle \(bundle); its log has the reason"
      case (true, false): "no host has carried out the removal of bundle \(bundle)"
      case (false, true):
        "the daemon has no bundle \(bundle) from this folder, but widgetd-host has not deleted this "
          + "file"
      case (false, false):
        "the daemon has no bundle \(bundle) from this folder, so nobody needs this file"
      }
    return "\(path): \(state)"
  }
}

extension RecentError {
  /// `, 3 times` if it was more than once.
  var times: String { count > 1 ? ", \(count) times" : "" }
}
