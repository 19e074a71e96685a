import WidgetClient
import WidgetModel

/// The reason and the time of a widget's staleness, as far as the daemon's answers show them.
///
/// A pure value: it reads no clock and asks no daemon.
struct Staleness: Sendable {
  /// A failed source or action of a bundle's widget.
  struct Failure: Hashable, Sendable {
    let name: String
    let since: Timestamp?
    let message: String
    /// Whether the host has made the widget stale because of it.
    var makesStale = false
  }

  enum Cause: Hashable, Sendable {
    /// Sources of the widget's bundle have failed.
    case sources([Failure])
    /// The host ended at this time.
    case hostEnded(Timestamp)
    /// The daemon knows no host.
    case noHost
    /// The bundle is in a state other than running.
    case bundle(state: String, problem: String)
    /// The process of the provider, or of the host, runs and does not answer.
    case silent(String, SilentProcess)
    /// The provider has no session.
    case providerAway(String)
    /// The provider has a session. It has marked the widget, or not updated it since its return.
    case providerSilent(String)
    /// The provider is away, or it has marked the widget: the kind was not declared in a session.
    case provider(String)
    /// The kind has no provider, so a program or user has marked the widget.
    case mark
    /// The stale time of the widget's timeline has passed, and no other timeline has come.
    case timeline(Timestamp)
    /// Nobody has updated the activity in time.
    case activitySilent
    /// The activity's lifetime expired before the activity was ended.
    case activityExpired
    /// The daemon was not asked yet, or did not answer.
    case unknown
  }

  let widget: Widget
  /// The widget's kind. Nil until the daemon has described it.
  var kind: RegisteredKind?
  /// The status widgets of the bundle and its host, if they exist.
  var bundle: Widget?
  var host: Widget?

  /// The id of the host's status widget.
  static let hostID = WidgetID(BundleHost.widget)

  /// The cause. Call it for stale widgets only.
  var cause: Cause {
    // An activity gets its data from the program that started it, for every kind.
    if let activity = widget.activity {
      return activity.state == .expired ? .activityExpired : .activitySilent
    }
    let failed = oldSources
    guard let kind else { return failed.isEmpty ? .unknown : .sources(failed) }
    // The mark as stale is a change of the widget, so the stale time has passed.
    let old = widget.timeline?.staleTime.flatMap { $0 <= widget.updateTime ? $0 : nil }
    if let silence = kind.providerSilence {
      return .silent(
        kind.isOfHost ? BundleHost.widget : "its provider \"\(kind.provider.onOneLine)\"",
        SilentProcess(silence))
    }
    guard kind.isOfHost else {
      if kind.isAttended, !kind.isProviderConnected { return .providerAway(kind.provider) }
      if !failed.isEmpty { return .sources(failed) }
      if let old { return .timeline(old) }
      if kind.isAttended { return .providerSilent(kind.provider) }
      // The provider is an apply set, which is not a program.
      let isProvided = !kind.provider.isEmpty && kind.provider != widget.applySet
      return isProvided ? .provider(kind.provider) : .mark
    }
    if let host, host.isStale { return .hostEnded(host.updateTime) }
    if let bundle, let state = bundle.data["state"]?.plainText.onOneLine, state != "running",
      state != "failing", failed.isEmpty || bundle.data["runs"] != .bool(true)
    {
      return .bundle(state: state, problem: problem(of: bundle, kind))
    }
    if !failed.isEmpty { return .sources(failed) }
    return host == nil ? .noHost : .unknown
  }

  /// The failures that are a reason. A failed action makes no widget stale. While the host is away,
  /// older failures are not the reason.
  var oldSources: [Failure] {
    guard host?.isStale != true else { return [] }
    // Another program does not say which of its failures make the widget stale.
    let isOfProgram = kind.map { !$0.isOfHost } ?? false
    return widget.failedStatuses.filter { isOfProgram || $0.makesStale }
  }

  /// The problem of the widget's bundle. Widgets of others stay when the bundle is removed, so their
  /// problem does not have the loss.
  private func problem(of bundle: Widget, _ kind: RegisteredKind) -> String {
    let problem = bundle.data["problem"]?.plainText.onOneLine ?? ""
    guard widget.applySet != kind.provider,
      let loss = problem.firstRange(of: ", or the widgets of the bundle are removed")
    else { return problem }
    return String(problem[..<loss.lowerBound])
  }

  /// `has failed`, `is stopped`
  static func words(forState state: String) -> String {
    state == "failed" ? "has failed" : "is \(state)"
  }

  /// The message about the absent program that would take the widget's events, such as `no
  /// widgetd-host runs the kind "k"`. Nil if no program is known to be absent.
  var absence: String? {
    guard widget.isStale, let kind else { return nil }
    switch cause {
    case .silent(let name, _): return "no answer comes from \(name)"
    case .hostEnded, .noHost: return "no widgetd-host runs the kind \"\(kind.kind.name)\""
    case .bundle(let state, _):
      guard self.bundle?.data["runs"] != .bool(true) else { return nil }
      let bundle = OwnerName.bundle(kind.provider) ?? kind.provider
      guard !isLeaving else { return "bundle \(bundle) is being removed" }
      guard !lacksFolder else { return "the folder of bundle \(bundle) is missing" }
      return "bundle \(bundle) \(state == "failed" ? "does not run" : "is \(state)")"
    case .provider(let name), .providerAway(let name):
      return "no provider \"\(name.onOneLine)\" runs the kind \"\(kind.kind.name)\""
    case .sources, .providerSilent, .mark, .unknown, .timeline, .activitySilent, .activityExpired:
      return nil
    }
  }

  /// Whether the host removes the bundle of the widget's kind at this moment.
  var isLeaving: Bool {
    guard case .bundle(state: "stopped", _) = cause else { return false }
    return bundle?.showsRemoval == true
  }

  /// Whether the host misses the folder of the bundle of the widget's kind. If the host has read the
  /// folder before, it runs the events. The daemon does not know this.
  var lacksFolder: Bool {
    guard case .bundle = cause, let bundle else { return false }
    return BundleStanding(bundle).isToldMissing
  }

  /// The command that starts the host, with the folders of the last one if they are known.
  var hostStart: String {
    let host = host.map { BundleHost($0) } ?? .missing()
    return host.mend ?? HostStart.ofProcess.command()
  }

  /// The next step of a user while the program is absent. Empty if none is known.
  var remedy: String {
    switch cause {
    case .silent(_, let process):
      process.mend.map { "continue it with `\($0)`" } ?? "restart it"
    case .hostEnded, .noHost: "run `\(hostStart)`"
    case .bundle: "`widgetctl bundle ls` shows why"
    case .provider, .providerAway: "start its program"
    case .sources, .providerSilent, .mark, .unknown, .timeline, .activitySilent, .activityExpired:
      ""
    }
  }

  /// The reason and the age on one line, such as `posts failed for 5m: no answer`. The age comes
  /// first, because the end may be cut.
  ///
  /// - Parameters:
  ///   - span: Makes the words for the time since then: `for 5m`.
  ///   - moment: Makes the words for the time itself: `5m ago`. Nil to use `span`.
  func words(
    _ span: (Timestamp) -> String, moment: ((Timestamp) -> String)? = nil
  ) -> String {
    // The mark is a change of the widget. A later change of its data hides the time of the mark.
    let time = span(widget.updateTime)
    switch cause {
    case .sources(let failures):
      let first = failures.first
      let others = failures.count - 1
      let more = others <= 0 ? "" : others == 1 ? " (and 1 more)" : " (and \(others) more)"
      let words = "\(first?.name ?? "") failed" + (first?.since.map { " \(span($0))" } ?? "")
      return words + (first?.message.isEmpty == false ? ": \(first?.message ?? "")" : "") + more
    case .silent(let name, let process):
      let silence = process.silence
      return "\(name) (process \(silence.pid)) has not answered \(span(silence.since))"
    case .hostEnded(let end): return "widgetd-host has been away \(span(end))"
    case .noHost: return "not updated \(time): no widgetd-host runs"
    case .bundle where isLeaving: return "its bundle is being removed"
    case .bundle(let state, let problem):
      let words =
        if state == "failed", let moment {
          "failed \(moment(bundleTime))"
        } else {
          "\(Staleness.words(forState: state)) \(span(bundleTime))"
        }
      return "its bundle \(words)" + (problem.isEmpty ? "" : ": \(problem)")
    case .providerAway(let name):
      return "not updated \(time): its provider \"\(name.onOneLine)\" is not connected"
    case .providerSilent(let name):
      return
        "not updated \(time): its provider \"\(name.onOneLine)\" is connected, but sends nothing"
    case .provider(let name):
      return "a program or user has marked it as stale (\(time)); its kind is declared by "
        + "\"\(name.onOneLine)\""
    case .mark: return "a program or user has marked it as stale (\(time))"
    case .timeline(let since): return "its timeline is out of date \(span(since))"
    case .activitySilent:
      return "not updated \(time): the program that started it is gone, or hangs"
    case .activityExpired: return "its lifetime is over, and nobody has ended it (\(time))"
    case .unknown: return "not updated \(time)"
    }
  }

  /// The same with the age relative to now.
  func words(_ dates: DateText) -> String {
    words({ "for \(dates.age(of: $0))" }, moment: { "\(dates.age(of: $0)) ago" })
  }

  /// The time of the bundle's state, as far as the widgets show it. Later changes of the widget, such
  /// as the end of its error, do not count.
  private var bundleTime: Timestamp {
    guard let bundle, bundle.updateTime > .epoch else { return widget.updateTime }
    return min(bundle.updateTime, widget.updateTime)
  }

  /// The time whose age the words have.
  var since: Timestamp {
    switch cause {
    case .sources(let failures): failures.first?.since ?? widget.updateTime
    case .hostEnded(let end): end
    case .silent(_, let process): process.silence.since
    case .timeline(let since): since
    case .bundle: bundleTime
    case .noHost, .providerAway, .providerSilent, .provider, .mark, .unknown,
      .activitySilent, .activityExpired:
      widget.updateTime
    }
  }
}

extension RegisteredKind {
  /// Whether a host runs the kind: it is a bundle's, or the host's own.
  var isOfHost: Bool { provider.hasPrefix("bundle/") || provider == BundleHost.widget }
}

extension Widget {
  /// The failed sources and actions of a bundle's widget, the oldest failure first: a source makes the
  /// widget stale only after some time.
  var failedStatuses: [Staleness.Failure] {
    guard case .map(let all)? = data["status"] else { return [] }
    let failures = all.entries.compactMap { entry -> Staleness.Failure? in
      guard case .map(let map) = entry.value, map["failed"] == .bool(true) else { return nil }
      var since: Timestamp?
      if case .timestamp(let time)? = map["since"] { since = time }
      return Staleness.Failure(
        name: entry.key.onOneLine, since: since, message: map["message"]?.plainText.onOneLine ?? "",
        makesStale: map["stale"] == .bool(true))
    }
    return failures.sorted { one, other in
      guard let first = one.since, let second = other.since else { return one.since != nil }
      return (first, one.name) < (second, other.name)
    }
  }
}

/// The daemon's facts about the providers of stale widgets.
struct ProviderFacts: Sendable {
  var kinds: [KindName: RegisteredKind] = [:]
  /// The status widgets of hosts and bundles.
  var widgets: [WidgetID: Widget] = [:]
  /// The stale widgets that the daemon was asked about.
  private(set) var asked: Set<WidgetID> = []

  /// The reason of a widget's staleness. Nil if the widget is fresh.
  func staleness(of widget: Widget) -> Staleness? {
    guard widget.isStale else { return nil }
    let kind = kinds[widget.kind]
    return Staleness(
      widget: widget, kind: kind,
      bundle: kind.flatMap { WidgetID($0.provider) }
        .flatMap { widgets[$0] },
      host: Staleness.hostID.flatMap { widgets[$0] })
  }

  /// Whether the set of stale widgets differs from the widgets that the daemon was asked about.
  func isDue(for widgets: [Widget]) -> Bool {
    Set(widgets.lazy.filter(\.isStale).map(\.id)) != asked
  }

  /// Asks the daemon about the stale widgets, if the set of stale widgets has changed since the
  /// last call. An error leaves the reason unknown.
  mutating func look(for widgets: [Widget], _ session: Session) async {
    guard isDue(for: widgets) else { return }
    let stale = widgets.filter(\.isStale)
    asked = Set(stale.map(\.id))
    // Known kinds are asked about again, too, because their providers can leave and return.
    for name in Set(stale.map(\.kind)) {
      let answer = try? await session.client.getKind(
        GetKindRequest(name: name), options: session.options)
      if let kind = answer?.kind { kinds[name] = kind }
    }
    await look(atProvidersOf: Set(stale.map(\.kind)), session)
    // A widget of a bundle can have the kind of a program. Its host promises its removal.
    guard let id = Staleness.hostID, self.widgets[id] == nil,
      stale.contains(where: { OwnerName.bundle($0.applySet) != nil })
    else { return }
    let answer = try? await session.client.getWidget(
      GetWidgetRequest(id: id), options: session.options)
    self.widgets[id] = answer?.widget
  }

  /// Asks for the status widgets of the kinds' bundles and of the host.
  mutating func look(atProvidersOf names: Set<KindName>, _ session: Session) async {
    let providers = Set(names.compactMap { kinds[$0] }.filter(\.isOfHost).map(\.provider))
    guard !providers.isEmpty else { return }
    for id in Set(providers.compactMap { WidgetID($0) } + [Staleness.hostID].compactMap(\.self)) {
      let answer = try? await session.client.getWidget(
        GetWidgetRequest(id: id), options: session.options)
      widgets[id] = answer?.widget
    }
  }
}
