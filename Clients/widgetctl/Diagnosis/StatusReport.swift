import WidgetClient
import WidgetModel

/// The report of `status`: the daemon's state at a glance. Values only.
struct StatusReport: Hashable {
  enum State: Hashable {
    /// The daemon answers. Its health says whether it serves.
    case running(HealthCheckResponse.ServingStatus)
    /// No process listens.
    case notRunning
    /// The daemon may be running, but this user may not ask it, or it does not answer.
    case unknown
  }

  var socket: String
  var state: State
  /// If the daemon does not answer, the first problem that `doctor` finds.
  var trouble: Finding?
  /// The command for more information.
  var next = "widgetctl doctor"
  /// The command that shows root all facts.
  var asRoot = "sudo widgetctl status"
  var level = Facts.Level.unknown
  /// For owners.
  var stats: GetStatsResponse?
  /// For clients, which get no stats.
  var revision: Revision?
  /// Nil if the store takes changes, or if this is unknown.
  var store: StoreTrouble?
  /// The host that runs bundles, if it is known.
  var host = BundleHost.unknown
  /// The ids of the bundles that the host should run, and that have failed.
  var failedBundles: [String] = []
  /// The ids of the bundles that run, and of which a part fails.
  var failingBundles: [String] = []
  /// The ids of the bundles that are not in a folder of the running host.
  var stoppedBundles: [String] = []
  /// The widgets that fail; nil if they are not known.
  var failing: FailingWidgets?
  var now: Timestamp

  /// The exit status, as of `systemctl status`: 0 running, 3 not running, 4 unknown.
  var exitStatus: Int32 {
    switch state {
    case .running(.serving): 0
    case .running, .notRunning: 3
    case .unknown: 4
    }
  }

  /// One word, for programs.
  var word: String {
    switch state {
    case .running(.serving): "running"
    case .running: "not-serving"
    case .notRunning: "not-running"
    case .unknown: "unknown"
    }
  }

  /// A limit, and its used part.
  struct Limit: Hashable {
    var name: String
    var used: UInt64
    var maximum: UInt64
    /// Rounded down; 100 and more if nothing is left.
    var percent: Int {
      guard maximum > 0 else { return 100 }
      // The calculation has 128 bits, because the daemon can send any numbers.
      let (high, low) = used.multipliedFullWidth(by: 100)
      guard high < maximum else { return .max }
      return Int(clamping: maximum.dividingFullWidth((high, low)).quotient)
    }
    /// Whether most of it is used.
    var isNear: Bool { percent >= 80 }

    var text: String {
      let amounts =
        name.contains("bytes")
        ? "\(ByteCount.text(used)) of \(ByteCount.text(maximum))" : "\(used) of \(maximum)"
      // The daemon reports the highest use.
      let whose = name.contains("_per_uid_") ? " (the user with the most)" : ""
      return "\(name): \(amounts), \(percent) %\(whose)"
    }
  }

  /// The limits whose used part the daemon reports: limits that fill up over time.
  var limits: [Limit] {
    guard let stats else { return [] }
    return stats.usage.sorted { $0.key.precedesByBytes($1.key) }.compactMap { name, used in
      stats.limits[name].map { Limit(name: name, used: used, maximum: $0) }
    }
  }

  var nearLimits: [Limit] { limits.filter(\.isNear) }

  /// The counters that are 0 without problems. Refused calls are not among them, because their
  /// callers have the reasons. Readers that wait for their turn are not among them either.
  static let troubleCounters = [
    "groups_failed", "connections_refused", "protocol_errors", "readers_compacted",
  ]

  var troubles: [(name: String, count: UInt64)] {
    StatusReport.troubleCounters.compactMap { name in
      guard let count = stats?.counters[name], count > 0 else { return nil }
      return (name, count)
    }
  }

  /// Whether the running daemon has problems.
  private var isInTrouble: Bool {
    let news = stats?.recentErrors.contains { now.duration(since: $0.time) < .seconds(3600) }
    if case .silent = host { return true }
    return !nearLimits.isEmpty || news == true
  }
}

// MARK: - For people

extension StatusReport {
  /// The width of the names of the lines, with the colon and a space.
  private static let nameColumns = 12
  /// The minimum width of the values in a narrow terminal.
  private static let valueColumnsMin = 8

  /// - Parameter width: the maximum width of lines, which continue below their start; nil for no
  ///   limit. Nothing is left out, because the lines have paths and commands.
  func text(_ painter: Painter, width: Int? = nil) -> String {
    var text = headline.lines(width: width, painter).map { "\($0)\n" }.joined()
    func line(_ name: String, _ value: String, _ style: Style = .plain) {
      let indent = StatusReport.nameColumns
      let room = width.map { max($0 - indent, StatusReport.valueColumnsMin) }
      let lines = WrappedText(value.safeForTerminal, style).lines(width: room, painter)
      text +=
        String(repeating: " ", count: max(0, indent - 2 - name.count)) + name
        + (name.isEmpty ? "  " : ": ")
        + lines.joined(separator: "\n" + String(repeating: " ", count: indent)) + "\n"
    }
    line("Socket", socket)
    switch state {
    case .notRunning, .unknown:
      if let trouble {
        line("Reason", trouble.found)
        if let mend = trouble.mend { line("Fix", mend) }
      }
      line("Next", "`\(next)` shows more")
      return text
    case .running: break
    }
    guard let stats else {
      if let store { line("Store", "\(store.text); widgets may be old", .bad) }
      if let revision { line("Revision", "\(revision)") }
      failureLines().forEach { line($0.name, $0.text, $0.style) }
      line("You may", rights)
      return text
    }
    line("Process", "\(stats.pid), \(memory(stats))")
    line(
      "Store",
      "\(stats.store), epoch \(stats.epoch), revision \(stats.revision) "
        + "(can resume from \(stats.compactRevision))")
    if let failure = store?.failure {
      let age = DateText(now: now).age(of: failure.since)
      line("", "has stored no change for \(age): \(failure.message)", .bad)
      line("", "widgets may be old; when the cause is gone, changes go through again", .bad)
    }
    line("Widgets", "\(stats.widgets), \(ByteCount.text(stats.stateBytes)) of state")
    failureLines().forEach { line($0.name, $0.text, $0.style) }
    line("Clients", StatusReport.clients(stats))
    line(
      "Events",
      "the next one gets the number \(stats.lastSequence + 1); a restart can skip numbers")
    switch host {
    case .running(_, _, let problem):
      line("Bundles", "widgetd-host runs \(host.words ?? "")")
      for text in problem.split(whereSeparator: \.isNewline) { line("", "\(text)", .bad) }
      for words in [
        BundleStanding.words(forFailed: failedBundles),
        BundleStanding.words(forFailing: failingBundles),
      ].compactMap(\.self) {
        line("", "\(words); `widgetctl bundle ls --remote`", .bad)
      }
      if let words = BundleStanding.words(forStopped: stoppedBundles) {
        line("", "\(words); `widgetctl bundle ls --remote`", .warning)
      }
    case .returning: line("Bundles", BundleHost.waiting, .warning)
    case .silent(let process, _): line("Bundles", process.words("widgetd-host"), .bad)
    case .missing(let former) where !former.isEmpty:
      let words = "no widgetd-host runs; the last one ran \(former.joined(separator: ", "))"
      line("Bundles", words + (host.mend.map { "; start it with `\($0)`" } ?? ""), .warning)
    case .missing: line("Bundles", "no widgetd-host runs")
    case .unknown: break
    }
    var heading = "Limits"
    for limit in limits {
      line(heading, limit.text, limit.isNear ? .warning : .plain)
      heading = ""
    }
    if !troubles.isEmpty {
      line("Trouble", troubles.map { TroubleWords.text($0.name, $0.count) }.joined(separator: ", "))
    }
    guard !stats.recentErrors.isEmpty else { return text }
    text += "\n"
    for error in stats.recentErrors {
      let user = error.peerUID.map { ", user \($0)" } ?? ""
      let words = " (\(error.code.name)) in \(error.area)\(error.times)\(user): \(error.message)"
      var entry = WrappedText(StatusReport.text(error.time), .dim)
      entry.add(" ")
      entry.add(error.reason.safeForTerminal, .bad)
      entry.add(words.safeForTerminal)
      text += entry.lines(width: width, painter).map { "\($0)\n" }.joined()
    }
    return text
  }

  /// `3 connections, 2 open watches of widgets or events`. The usage of `subscriptions_max` also has other
  /// streams.
  private static func clients(_ stats: GetStatsResponse) -> String {
    func amount(_ count: UInt64, _ one: String, _ many: String) -> String {
      "\(count) \(count == 1 ? one : many)"
    }
    return amount(stats.connections, "connection", "connections") + ", "
      + amount(stats.subscriptions, "open watch", "open watches") + " of widgets or events"
  }

  /// How many widgets fail, in which ways, and the first reasons; then the notices about others.
  /// Empty if there are none.
  private func failureLines() -> [(name: String, text: String, style: Style)] {
    guard let failing else { return [] }
    var lines: [(name: String, text: String, style: Style)] = []
    if failing.count > 0 || failing.isCut {
      let ways = failing.words.isEmpty ? "" : " (\(failing.words))"
      lines.append(
        ("Failing", "\(failing.amount(failing.count))\(ways); `widgetctl ls --failing`", .bad))
    }
    lines += failing.widgets.prefix(FailingWidgets.shown).map { entry in
      let more = entry.failures.count > 1 ? " (and \(entry.failures.count - 1) more)" : ""
      let dates = DateText(now: now)
      return (
        "",
        "\(entry.id): " + (entry.failures.first?.words { "for \(dates.age(of: $0))" } ?? "") + more,
        .bad
      )
    }
    return lines + failing.notices.map { ($0.name, $0.text, .warning) }
  }

  private var headline: WrappedText {
    let version = (stats.map { " \($0.version)" } ?? "").safeForTerminal
    func begin(_ mark: String, _ style: Style) -> WrappedText {
      var line = WrappedText(mark, style)
      line.add(" widgetd\(version) - ")
      return line
    }
    var line: WrappedText
    switch state {
    case .running(.serving):
      let since =
        stats.map {
          " since \(StatusReport.text($0.startTime)); \(DurationSyntax.age($0.uptime)) ago"
        } ?? ""
      if store != nil {
        line = begin("●", .bad)
        line.add("running\(since), ")
        line.add("but it cannot store changes", .bad)
      } else {
        line = begin("●", isInTrouble ? .warning : .good)
        line.add("running", isInTrouble ? .warning : .good)
        line.add(since)
      }
    case .running(let health):
      line = begin("●", .bad)
      line.add("not serving (\(health.name))", .bad)
    case .notRunning:
      line = begin("○", .bad)
      line.add("not running", .bad)
    case .unknown:
      line = begin("○", .warning)
      line.add("unknown", .warning)
    }
    return line
  }

  /// The time in whole seconds, which is enough for people.
  private static func text(_ time: Timestamp) -> String {
    RFC3339.text(Timestamp(seconds: time.seconds, nanoseconds: 0) ?? time)
  }

  private func memory(_ stats: GetStatsResponse) -> String {
    stats.memoryBytes == 0
      ? "memory unknown" : "\(ByteCount.text(stats.memoryBytes)) of memory"
  }

  private var rights: String {
    switch level {
    case .owner: "do everything"
    case .client: "read, watch and send events; root sees more: `\(asRoot)`"
    case .nothing: "ask for health only; `\(next)` shows why"
    case .unknown: "the daemon did not say; see `\(next)`"
    }
  }
}

/// Sizes in bytes, as text for people.
enum ByteCount {
  /// `512 B`, `1.5 KiB`, `20.0 MiB`: one decimal, rounded down.
  static func text(_ bytes: UInt64) -> String {
    let units: [(name: String, shift: UInt64)] = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
    guard let unit = units.first(where: { bytes >> $0.shift > 0 }) else { return "\(bytes) B" }
    let whole = bytes >> unit.shift
    let tenths = ((bytes & (1 << unit.shift - 1)) * 10) >> unit.shift
    return "\(whole).\(tenths) \(unit.name)"
  }
}

// MARK: - For programs

extension StatusReport {
  /// The fields of GetStats, if the daemon gives them, with the conclusions of `status`.
  var document: Value {
    var map: ValueMap = [:]
    if case .map(let fields)? = stats?.document { map = fields }
    map["state"] = .string(word)
    map["socket"] = .string(socket)
    switch state {
    case .notRunning, .unknown:
      if let trouble {
        map["reason"] = .string(trouble.found)
        map["mend"] = trouble.mend.map { .string($0) }
      }
      map["next"] = .string(next)
    case .running(let health):
      map["health"] = .string(health.name)
      map["level"] = .string(level.rawValue)
      if let revision { map["revision"] = .revision(revision) }
      map["takesChanges"] = .bool(store == nil)
    }
    if let failing { map["failing"] = failing.document }
    guard stats != nil else { return .map(map) }
    switch host {
    case .running(let folders, let stub, let problem):
      map["host"] = .map([
        "running": .bool(true), "folders": .list(folders.map { .string($0) }),
        "stub": .bool(stub), "problem": .string(problem),
        "failed": .list(failedBundles.map { .string($0) }),
        "failing": .list(failingBundles.map { .string($0) }),
        "stopped": .list(stoppedBundles.map { .string($0) }),
      ])
    case .silent(let process, let folders):
      map["host"] = .map([
        "running": .bool(false), "folders": .list(folders.map { .string($0) }),
        "silence": process.silence.document,
      ])
    case .missing, .returning: map["host"] = .map(["running": .bool(false)])
    case .unknown: break
    }
    map["nearLimits"] = .list(
      nearLimits.map {
        .map([
          "name": .string($0.name), "used": .revision($0.used), "maximum": .revision($0.maximum),
        ])
      })
    map["troubles"] = .map(
      ValueMap(troubles.map { .init(key: $0.name, value: .revision($0.count)) }))
    return .map(map)
  }
}
