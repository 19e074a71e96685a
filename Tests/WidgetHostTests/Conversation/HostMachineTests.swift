import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The host without I/O, call by call.
struct HostMachineTests {
  private var machine = HostMachine(home: "/home/me", uid: 0, seed: 1)
  private var now = Duration.zero
  private var outputs: [HostMachine.Output] = []
  private var watch: WatchID?
  private var keptLines: [String] = []
  private var declared: [Widget] = []

  private var time: HostTime { HostTime(wall: .epoch, uptime: now) }

  private mutating func tell(_ input: DaemonInput) {
    outputs = machine.handle(input, at: time)
  }

  /// Answers the last call, which must be the only one.
  private mutating func answer(_ answer: DaemonAnswer = .done) throws {
    let id = try #require(calls.first?.id)
    tell(.answered(id, .success(answer)))
  }

  private var calls: [(id: CallID, call: DaemonCall)] {
    outputs.compactMap { if case .daemon(.call(let id, let call)) = $0 { (id, call) } else { nil } }
  }

  private var opened: [SessionID] {
    outputs.compactMap { if case .daemon(.open(let id, _)) = $0 { id } else { nil } }
  }

  /// Loads bundle `a` and lets the daemon take the host.
  ///
  /// - Returns: the sessions of the host and of the bundle.
  private mutating func serve() throws -> (host: SessionID, bundle: SessionID) {
    outputs = machine.found(
      .bundle(Bundle(id: "a", version: "1.0.0"), digest: 1), in: "/b/a", at: time)
    outputs = machine.start(at: time)
    let host = try #require(opened.first)
    tell(.session(host, .opened(epoch: 1)))
    try answer()
    try answer(.widgets([]))
    try answer()
    return (host, try #require(opened.first))
  }

  @Test mutating func `a host whose session another host has taken closes its bundles' sessions`()
    throws
  {
    let (host, bundle) = try serve()
    tell(.sessionEnded(host, Failure("PROVIDER_ACTIVE", "taken")))
    let closed = calls.compactMap { if case .close(let id) = $0.call { id } else { nil } }
    #expect(Set(closed) == [host, bundle])
    #expect(machine.nextDeadline == HostLimits().daemonWaitInitial)
  }

  @Test(arguments: [true, false])
  mutating func `a host that is stopped while it waits for another reports no bundles`(
    isTaken: Bool
  ) throws {
    outputs = machine.found(
      .bundle(Bundle(id: "a", version: "1.0.0"), digest: 1), in: "/b/a", at: time)
    outputs = machine.start(at: time)
    let host = try #require(opened.first)
    tell(.sessionEnded(host, Failure(isTaken ? "PROVIDER_ACTIVE" : "UNAVAILABLE", "no")))
    let notes = (outputs + machine.stop(at: time)).filter {
      if case .note(let text) = $0 { text.contains("read from") } else { false }
    }
    #expect(notes.isEmpty == isTaken)
  }

  @Test mutating func `the host's widget says which folder of bundles cannot be read, since when`()
    throws
  {
    machine = HostMachine(roots: ["/b", "/c"], home: "/home/me", uid: 0, seed: 1)
    _ = try serve()
    func problem() -> [Value?] {
      calls.compactMap {
        if case .declare(let specs, _) = $0.call {
          specs.first { $0.id?.rawValue == HostWidget.name }?.data["problem"]
        } else {
          nil
        }
      }
    }
    let reason = "/c does not exist; make it a folder that widgetd-host can read"
    outputs = machine.looked(atRoots: ["/c": reason], at: time)
    #expect(problem() == [.string("\(reason) (since 1970-01-01T00:00:00Z)")])
    try answer()
    outputs = machine.looked(
      atRoots: ["/c": reason], at: HostTime(wall: Timestamp(nanosecondsSinceEpoch: 9), uptime: now))
    #expect(outputs.isEmpty)
    outputs = machine.looked(atRoots: [:], at: time)
    #expect(problem() == [.string("")])
  }

  @Test mutating func `a host that stops before a bundle is removed leaves the bundle's widget`()
    throws
  {
    _ = try serve()
    outputs = machine.found(nil, in: "/b/a", absence: .removed, at: time)
    outputs = machine.stop(at: time)
    var ids: [String] = []
    for case .declare(let specs, _) in calls.map(\.call) { ids = specs.compactMap(\.id?.rawValue) }
    #expect(ids == ["widgetd-host", "bundle/a"])
  }

  @Test mutating func `a host stops although the daemon does not answer`() throws {
    _ = try serve()
    outputs = machine.stop(at: time)
    now = try #require(machine.nextDeadline)
    #expect(now == HostLimits().closeWaitMax)
    outputs = machine.tick(at: time)
    #expect(outputs.contains { if case .ended(nil) = $0 { true } else { false } })
    #expect(machine.nextDeadline == nil)
  }

  @Test mutating func `widgets of the host that the daemon refused are declared again`() throws {
    outputs = machine.start(at: time)
    tell(.session(try #require(opened.first), .opened(epoch: 1)))
    try answer()
    try answer(.widgets([]))
    let id = try #require(calls.first?.id)
    tell(.answered(id, .failure(Failure("RESOURCE_EXHAUSTED", "full"))))
    #expect(machine.daemon.host.isServing)
    now = try #require(machine.nextDeadline)
    #expect(now == HostLimits().refusalRetryInterval)
    outputs = machine.tick(at: time)
    #expect(calls.count == 1)
  }

  /// Opens every session and answers every call.
  ///
  /// - Returns: the lines of the log.
  private mutating func settle(_ known: [Widget], kinds: [KindResult] = []) -> [String] {
    var lines: [String] = []
    var inputs: [DaemonInput] = []
    while true {
      for output in outputs {
        switch output {
        case .daemon(.open(let id, _)): inputs.append(.session(id, .opened(epoch: 1)))
        case .daemon(.call(let id, let call)) where call.asksForWidgets:
          inputs.append(.answered(id, .success(call.answer(with: known))))
        case .daemon(.call(let id, .ready)): inputs.append(.answered(id, .success(.kinds(kinds))))
        case .daemon(.call(let id, .own)): inputs.append(.answered(id, .success(.results([]))))
        case .daemon(.call(let id, _)): inputs.append(.answered(id, .success(.done)))
        case .report(let text): lines.append(text)
        default: break
        }
      }
      guard !inputs.isEmpty else { return lines }
      tell(inputs.removeFirst())
    }
  }

  /// Answers every call. Returns the calls that declare widgets or make them stale or fresh.
  private mutating func follow(_ known: [Widget], _ results: [ApplyResult]) -> [String] {
    keptLines = []
    var words: [String] = []
    var inputs: [DaemonInput] = []
    while true {
      for output in outputs {
        switch output {
        case .daemon(.open(let id, _)): inputs.append(.session(id, .opened(epoch: 1)))
        case .daemon(.watch(let id, _)):
          inputs.append(
            .watch(
              id,
              .snapshot(
                known
                  + declared.filter { widget in
                    !known.contains { $0.id == widget.id }
                  })))
          watch = id
        case .daemon(.call(let id, let call)):
          var answer = DaemonAnswer.done
          switch call {
          case .widgets, .errors, .error: answer = call.answer(with: known)
          case .ready: answer = .kinds([])
          case .own(let specs, let set), .keep(let specs, let set), .foresee(let specs, let set):
            let name = call.signature.prefix { $0 != " " }
            if set == "bundle/a" {
              words.append("\(name) " + specs.compactMap(\.id?.rawValue).joined(separator: " "))
            }
            if name != "foresee", set == "bundle/a" {
              declared = specs.compactMap { spec in
                spec.id.map { Widget(id: $0, kind: spec.kind, applySet: set) }
              }
            }
            answer = .results(name == "keep" ? [] : results)
          case .update(let id, let patch, _, _):
            if let isStale = patch.isStale { words.append("\(isStale ? "stale" : "fresh") \(id)") }
          default: break
          }
          inputs.append(.answered(id, .success(answer)))
        case .kept(let field, let bundle): keptLines.append(field.message(by: bundle))
        default: break
        }
      }
      guard !inputs.isEmpty else { return words }
      tell(inputs.removeFirst())
    }
  }

  private func removal(_ id: String) throws -> DaemonInput {
    .watch(try #require(watch), .removed(try #require(WidgetID(id))))
  }

  private func bundle(_ version: String, _ widget: String) throws -> Bundle {
    try BundleReader.read(
      """
      bundle: a
      format: 1
      version: \(version)
      kinds: {k: {data: {n: 1, m: 2}, content: {label: x}}}
      widgets: {w: {kind: k, \(widget)}}
      """)
  }

  @Test(arguments: [
    ("data: {m: 3}", 7, true), ("data: {m: 3}", 1, false), ("data: {m: 3, n: 7}", 7, false),
    ("data: {m: 3}", 50, false),
  ])
  mutating func `the log names a field that the file declares now, and a program has set`(
    first: String, value: Int64, isNamed: Bool
  ) throws {
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    let known = Widget(
      id: id, kind: kind, data: ["n": .int(value), "m": .int(9)], applySet: "bundle/a")
    outputs = machine.found(
      .bundle(try bundle("1.0.0", first), digest: 1), in: "/b/a", at: time)
    _ = settle([known])
    outputs = machine.start(at: time)
    #expect(settle([known]).allSatisfy { !$0.contains("data.n") })
    outputs = machine.found(
      .bundle(try bundle("1.0.1", "data: {m: 3, n: 50}"), digest: 2), in: "/b/a", at: time)
    let lines = settle([known]).filter { $0.contains("declares data") }
    let words = "bundle a: widget w: the file declares data.n now and has replaced its value, 7, "
    #expect(lines.count == (isNamed ? 1 : 0) && lines.allSatisfy { $0.hasPrefix(words) })
  }

  @Test mutating func `the log names values that a changed kind sets aside or drops`() throws {
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    outputs = machine.found(
      .bundle(
        try BundleReader.read(
          """
          bundle: a
          format: 1
          version: 1.0.1
          kinds:
            k:
              data: {n: 1, read: 2, mode: {type: string, choices: [x, y]}}
              sources: {s: {value: 2, set: {read: result}}}
              content: {label: x}
          """), digest: 1), in: "/b/a", at: time)
    outputs = machine.start(at: time)
    let fields = ["data.n", "data.mode", "parameters.old"].map {
      LostField(widgetID: id, path: $0, isSetAside: true)
    }
    let result = KindResult(
      name: kind, action: .updated, widgetsChanged: 1,
      lostFields: fields + [
        LostField(widgetID: id, path: "data.gone", value: .list([.int(7)])),
        LostField(widgetID: id, path: "data.read"),
      ], lostFieldsCount: 7)
    let shows = "\"widgetctl get w --owners\" shows it"
    let lines = settle([], kinds: [result]).filter { $0.contains(" value") }
    #expect(
      lines == [
        "bundle a: widget w: the value of data.n is set aside until it fits again: the field takes"
          + " values of type int now; \(shows)",
        "bundle a: widget w: the value of data.mode is set aside until it fits again: the field takes"
          + " one of these now: x, y; \(shows)",
        "bundle a: widget w: the value of parameters.old is set aside until it fits again: the kind"
          + " \"k\" no longer has this field; \(shows)",
        "bundle a: widget w: the value of data.gone, [7], is lost: the kind \"k\" no longer has this"
          + " field",
        "bundle a: 2 more values do not fit the changed kinds",
      ])
    let shown = machine.bundles.standings.flatMap(\.remarks).filter { $0.contains(" value") }
    #expect(shown.map { "bundle a: \($0)" } == lines.filter { $0.contains("is lost") })
  }

  /// - Parameter isRestarted: whether an earlier host declared the former version.
  @Test(arguments: [true, false])
  mutating func `a value of a widget that the same version removes is not kept for later`(
    isRestarted: Bool
  ) throws {
    if !isRestarted {
      outputs = machine.found(
        .bundle(try bundle("1.0.0", "data: {m: 3}"), digest: 1), in: "/b/a", at: time)
      _ = settle([])
    }
    outputs = machine.start(at: time)
    _ = settle([])
    let dropped = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.1, kinds: {k: {data: {n: ''}, content: {label: x}}},"
        + " widgets: {v: {kind: k}}}")
    outputs = machine.found(.bundle(dropped, digest: 2), in: "/b/a", at: time)
    let kind = try #require(KindName("k"))
    let ids = try ["w", "v"].map { try #require(WidgetID($0)) }
    let fields = ids.map { LostField(widgetID: $0, path: "data.n", isSetAside: true) }
    let result = KindResult(
      name: kind, action: .updated, widgetsChanged: 2, lostFields: fields, lostFieldsCount: 2)
    let known = ids.map { Widget(id: $0, kind: kind, applySet: "bundle/a") }
    let lines = settle(isRestarted ? known : [], kinds: [result]).filter { $0.contains(" value") }
    let reason = "the field takes values of type string now"
    #expect(
      lines == [
        "bundle a: widget w: the value of data.n is set aside, and is lost when the widget is removed:"
          + " \(reason)",
        "bundle a: widget v: the value of data.n is set aside until it fits again: \(reason);"
          + " \"widgetctl get v --owners\" shows it",
      ])
  }

  @Test(arguments: [("bundle/a", true), ("bundle/b", false)])
  mutating func `a widget whose kind the file changes is replaced if the bundle owns it`(
    set: String, isReplaced: Bool
  ) throws {
    let id = try #require(WidgetID("w"))
    let former = try #require(KindName("former"))
    outputs = machine.found(
      .bundle(try bundle("1.0.0", "data: {m: 3}"), digest: 1), in: "/b/a", at: time)
    _ = settle([])
    outputs = machine.start(at: time)
    var owned: [[String]] = []
    var lines: [String] = []
    var inputs: [DaemonInput] = []
    repeat {
      for output in outputs {
        switch output {
        case .daemon(.open(let id, _)): inputs.append(.session(id, .opened(epoch: 1)))
        case .daemon(.call(let id, let call)) where call.asksForWidgets:
          inputs.append(.answered(id, .success(call.answer(with: []))))
        case .daemon(.call(let call, .own(let specs, _))):
          owned.append(specs.compactMap(\.id?.rawValue))
          inputs.append(
            .answered(
              call,
              owned.count == 1
                ? .failure(Failure("KIND_MISMATCH", "w is a former")) : .success(.results([]))))
        case .daemon(.call(let call, .standing(_, let ids))):
          var standing = Circumstances()
          if ids == [id] { standing.widgets = [.init(id: id, kind: former, applySet: set)] }
          inputs.append(.answered(call, .success(.standing(standing))))
        case .daemon(.call(let call, _)): inputs.append(.answered(call, .success(.done)))
        case .report(let text): lines.append(text)
        default: break
        }
      }
      guard !inputs.isEmpty else { break }
      tell(inputs.removeFirst())
    } while true
    #expect(owned == (isReplaced ? [["w"], [], ["w"]] : [["w"]]))
    // The daemon names the values of users that are gone, if there are any.
    let change = "from former to k; a new widget with the data of the file replaces it"
    #expect(lines.contains { $0.hasSuffix(change) } == isReplaced)
    let words = "refuses the bundle: widget \"w\" already exists and belongs to bundle b; give"
    #expect(lines.contains { $0.contains(words) } != isReplaced)
  }

  @Test mutating func `a widget with values of users that the file drops stays for a while`()
    throws
  {
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    let known = Widget(id: id, kind: kind, data: ["n": .int(7)], applySet: "bundle/a")
    outputs = machine.found(
      .bundle(try bundle("1.0.0", "data: {m: 3}"), digest: 1), in: "/b/a", at: time)
    _ = settle([])
    outputs = machine.start(at: time)
    _ = settle([])
    let dropped = try BundleReader.read(
      """
      bundle: a
      format: 1
      version: 1.0.1
      kinds: {k: {data: {n: 1, m: 2}, content: {label: x}}}
      widgets: {v: {kind: k}}
      """)
    let lost = FieldOwner(path: "data.n", owner: "user 1", declared: .int(7))
    let results = [ApplyResult(id: id, action: .deleted, keptFields: [lost])]
    outputs = machine.found(.bundle(dropped, digest: 2), in: "/b/a", at: time)
    #expect(follow([known], results) == ["foresee v", "keep v", "stale w"])
    #expect(machine.nextDeadline == HostLimits().absenceMax)
    // Each further declaration keeps it, too.
    now += .seconds(10)
    outputs = machine.handle(try removal("v"), at: time)
    #expect(follow([known], results) == [])
    now += HostLimits().restoreWaitInitial
    outputs = machine.tick(at: time)
    #expect(follow([known], results) == ["foresee v", "keep v"])
    var other = machine
    swap(&machine, &other)
    outputs = machine.found(
      .bundle(try bundle("1.0.2", "data: {m: 3}"), digest: 3), in: "/b/a", at: time)
    var waiting = known
    waiting.isStale = true
    #expect(follow([waiting], []) == ["own w", "fresh w"])
    swap(&machine, &other)
    now = HostLimits().absenceMax
    outputs = machine.tick(at: time)
    #expect(follow([known], results) == ["foresee v", "own v"])
    let line = try #require(keptLines.first)
    #expect(line.contains("widget w is removed, and with it the value of data.n, 7"))
    #expect(machine.nextDeadline == nil)
  }

  @Test mutating func `a version that was installed removes widgets at once`() throws {
    let id = try #require(WidgetID("w"))
    let known = Widget(id: id, kind: try #require(KindName("k")), applySet: "bundle/a")
    let empty = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.1, kinds: {k: {content: {label: x}}},"
        + " widgets: {v: {kind: k}}}")
    outputs = machine.found(
      .bundle(try bundle("1.0.0", "data: {m: 3}"), digest: 1), in: "/b/a", at: time)
    _ = settle([])
    outputs = machine.start(at: time)
    _ = settle([])
    outputs = machine.found(.installed(empty, digest: 2), in: "/b/a", at: time)
    // The answer to the declaration can be lost, so the values are asked for before.
    #expect(follow([known], []) == ["foresee v", "own v"])
  }

  @Test(arguments: [(1, 200), (2, 400), (3, 800), (5, 3200), (6, 5000), (100, 5000)])
  func `the wait doubles with each failed attempt, up to a limit`(attempts: Int, wait: Int) {
    #expect(HostLimits().daemonWait(attempts) == .milliseconds(wait))
  }

  @Test(arguments: ["opens", "ends", "is refused", "is silent"])
  mutating func `bundles declare their first widgets in the order of their ids`(
    firstSession: String
  ) throws {
    for id in ["b", "a"] {
      let text = """
        bundle: \(id)
        format: 1
        version: 1.0.0
        kinds: {\(id)-k: {content: {label: x}}}
        widgets: {\(id)-w: {kind: \(id)-k}}
        """
      outputs = machine.found(
        .bundle(try BundleReader.read(text), digest: 1), in: "/b/\(id)", at: time)
    }
    var opened: [String: SessionID] = [:]
    var order: [String] = []
    var held: [DaemonInput] = []
    var waiting = machine.start(at: time)
    var (now, isLater) = (time, false)
    while !waiting.isEmpty || !held.isEmpty || firstSession == "is silent" && !isLater {
      if waiting.isEmpty, held.isEmpty {
        #expect(order == [], "bundle b waits, but not for ever")
        now.uptime += HostLimits().turnWaitMax
        isLater = true
        waiting = machine.tick(at: now)
        continue
      }
      if waiting.isEmpty {
        // The daemon answers bundle a last.
        waiting = machine.handle(held.removeFirst(), at: now)
        continue
      }
      let output = waiting.removeFirst()
      switch output {
      case .daemon(.open(let id, let request)):
        opened[request.provider] = id
        let answer: DaemonInput? =
          switch request.provider == "bundle/a" ? firstSession : "opens" {
          case "ends": .sessionEnded(id, Failure("UNAVAILABLE", "no"))
          case "is refused": .session(id, .refused("no room"))
          case "is silent": nil
          default: .session(id, .opened(epoch: 1))
          }
        guard let answer else { continue }
        if request.provider == "bundle/a" {
          held.append(answer)
        } else {
          waiting += machine.handle(answer, at: now)
        }
      case .daemon(.call(let id, let call)) where call.asksForWidgets:
        waiting += machine.handle(.answered(id, .success(call.answer(with: []))), at: now)
      case .daemon(.call(let id, .own(_, let set))):
        order.append(set)
        waiting += machine.handle(.answered(id, .success(.results([]))), at: now)
      case .daemon(.call(let id, _)):
        waiting += machine.handle(.answered(id, .success(.done)), at: now)
      default: break
      }
    }
    #expect(opened.count == 3)
    // A bundle without a session does not delay others.
    #expect(order == (firstSession == "opens" ? ["bundle/a", "bundle/b"] : ["bundle/b"]))
  }
}
