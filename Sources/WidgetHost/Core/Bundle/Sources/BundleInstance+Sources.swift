import WidgetBundle
import WidgetExpression
import WidgetModel

// When sources are read, and how the results are processed.
extension BundleInstance {
  func source(_ id: WidgetID, _ index: Int) -> Source? {
    guard let sources = facts(of: id)?.kind.sources, sources.indices.contains(index) else {
      return nil
    }
    return sources[index]
  }

  /// For people: which source of which widget.
  func place(_ id: WidgetID, _ index: Int) -> String {
    "bundle \(bundle.id): widget \(id): source \(source(id, index)?.name ?? "?")"
  }

  /// Arms the timer for the next reading.
  ///
  /// - Parameter atLeast: the minimum wait, for a source that has failed.
  mutating func arm(_ id: WidgetID, _ index: Int, _ source: Source, atLeast: Duration = .zero) {
    guard !waiting.contains(id) else { return }
    let least = max(atLeast, .zero)
    guard let interval = source.interval.map({ max($0, limits.intervalMin) }) else {
      timers.cancel(.source(id, index))
      if least > .zero { timers.set(.source(id, index), at: now.uptime + least) }
      return
    }
    var delay = interval
    if source.isAligned { delay = interval - BundleInstance.past(now.wall, interval) }
    timers.set(.source(id, index), at: now.uptime + max(delay, least))
  }

  /// Reads a source, unless its condition is false or a reading is under way.
  ///
  /// - Parameters:
  ///   - isAsked: Whether a request, not the time, causes the reading. The source is then shown as
  ///     running.
  ///   - isDemanded: Whether to read it even if its widget is not watched.
  mutating func read(_ id: WidgetID, _ index: Int, isAsked: Bool, isDemanded: Bool = false) {
    // If the source does not start now, another one can take a kept place.
    defer { requests.releasePlace(id, index) }
    guard let source = source(id, index), let state = sources[id, index],
      !rests(source, of: id, isDemanded: isDemanded || state.isDemanded)
    else { return }
    guard !source.isWhileWatched || isWatched(id) || (isDemanded && !source.isContinuous) else {
      timers.cancel(.source(id, index))
      if state.isOn, state.request == nil { suspend(id, index) }
      return
    }
    arm(id, index, source)
    if isDemanded { sources.demand(id, index) }
    guard state.request == nil else {
      if isAsked {
        sources.wantAgain(id, index)
        showRunning(id, source)
      }
      return
    }
    do throws(Failure) {
      let moment = try moment(id)
      // A source whose condition fails follows its input, too.
      sources.set(id, index, inputs: values(of: source.dependencies, moment.widget))
      guard try checkCondition(id, index, source, moment) else { return turnOff(id, index) }
      try start(id, index, source, moment, isAsked: isAsked)
    } catch {
      sourceFailed(id, index, error)
    }
  }

  private mutating func checkCondition(
    _ id: WidgetID, _ index: Int, _ source: Source, _ moment: BundleScope.Moment
  ) throws(Failure) -> Bool {
    do throws(Failure) {
      let isOn = try holds(source.condition, moment)
      sources.set(id, index, isOn: isOn)
      return isOn
    } catch {
      sources.conditionFailed(id, index)
      throw error
    }
  }

  private mutating func start(
    _ id: WidgetID, _ index: Int, _ source: Source, _ moment: BundleScope.Moment, isAsked: Bool
  ) throws(Failure) {
    let delay = isStub ? source.stub?.delay ?? .zero : .zero
    if isStub || source.takesNoTime, delay <= .zero {
      // `lastRead` alone limits the rate of such sources that depend on each other.
      sources.tookNoTime(id, index, at: now.uptime)
      return try deliverWithoutEffect(id, index)
    }
    if isStub {
      let request = requests.begin(.source(id, index))
      sources.began(id, index, request, at: now.uptime)
      timers.set(.stub(request), at: now.uptime + delay)
      if isAsked { showRunning(id, source) }
      return
    }
    let isContinuous = source.isContinuous
    if isContinuous {
      guard requests.admits(id, index) else {
        requests.waitForPlace(id, index)
        throw Failure(
          "RESOURCE_EXHAUSTED",
          "the bundle already has \(requests.takenPlaces) running programs, sockets and services,"
            + " which is the limit", isTransient: true)
      }
    } else if !requests.hasRoom {
      if sources.queue(id, index) { requests.wait(.source(id, index)) }
      return
    }
    switch source.input {
    case .file(let template):
      let file = try fileRequest(template, moment)
      watch(id, index, file.path)
      begin(id, index, source, isAsked: false) { .readFile($0, file) }
    case .folder(let template):
      let folder = try folderRequest(template, moment)
      watch(id, index, folder.path, isFolder: true)
      begin(id, index, source, isAsked: false) { .readFolder($0, folder) }
    case .command(let command, _):
      let request = try commandRequest(command, moment, isContinuous: isContinuous)
      begin(id, index, source, isAsked: isAsked, isContinuous: isContinuous) { .run($0, request) }
    case .socket(let socket):
      let request = try socketRequest(socket, moment)
      unwatch(id, index)
      sources.set(id, index, missingPath: request.path)
      begin(id, index, source, isAsked: isAsked, isContinuous: true) { .connect($0, request) }
    case .bus(let bus):
      let request = try busRequest(bus, moment)
      begin(id, index, source, isAsked: isAsked, isContinuous: isContinuous) { .bus($0, request) }
    case .http(let http):
      let request = try webRequest(http, source.parse, moment)
      let sent = conditional(id, index, source, request)
      begin(id, index, source, isAsked: isAsked) { .web($0, sent) }
    case .timer, .constant: break
    }
  }

  /// Gives the result of a source that asks nobody: its stub, the time, or its value.
  private mutating func deliverWithoutEffect(_ id: WidgetID, _ index: Int) throws(Failure) {
    guard let source = source(id, index) else { return }
    if isStub, let stub = source.stub?.value {
      return deliver(id, index, try value(stub, try moment(id)))
    }
    switch source.input {
    case .timer: deliver(id, index, .timestamp(now.wall))
    case .constant(let template): deliver(id, index, try value(template, try moment(id)))
    case .file, .folder, .command, .http, .socket, .bus: succeeded(id, index, source, "")
    }
  }

  /// The delay of a source's stub is over.
  mutating func sourceStubbed(_ id: WidgetID, _ index: Int) {
    sources.ended(id, index)
    do throws(Failure) {
      try deliverWithoutEffect(id, index)
    } catch {
      sourceFailed(id, index, error)
    }
    readAgainIfWanted(id, index)
  }

  func state(_ id: WidgetID, _ index: Int) -> SourceState {
    sources[id, index] ?? SourceState()
  }

  private mutating func begin(
    _ id: WidgetID, _ index: Int, _ source: Source, isAsked: Bool, isContinuous: Bool = false,
    _ effect: (RequestID) -> Effect
  ) {
    let request = requests.begin(isContinuous ? .continuous(id, index) : .source(id, index))
    sources.began(id, index, request, at: now.uptime)
    let asked = effect(request)
    effects.append(asked)
    trace(id, effect: asked, of: source.name, .source)
    // A reading by interval does not show `running`, because that would change every second.
    if isAsked { showRunning(id, source) }
    if isContinuous { awaitQuiet(id, index, source) }
  }

  private mutating func showRunning(_ id: WidgetID, _ source: Source) {
    guard status(id, source.name) != .running else { return }
    setStatus(id, source.name, ActionStatus(state: .running))
  }

  // MARK: Files that change

  mutating func watch(
    _ id: WidgetID, _ index: Int, _ path: String, isFolder: Bool = false
  ) {
    // The kernel does not report changes of its virtual files.
    let isWatchable = !["/proc", "/sys", "/dev"].contains { Paths.contains($0, path) }
    guard state(id, index).watch?.path != path else { return }
    unwatch(id, index)
    guard isWatchable else { return }
    let request = requests.begin(.watch(id, index))
    sources.watch(id, index, request, path: path)
    effects.append(.watchFile(request, path: path, isFolder: isFolder))
  }

  private mutating func unwatch(_ id: WidgetID, _ index: Int) {
    if let request = sources.unwatch(id, index) { cancel(request) }
  }

  mutating func fileChanged(_ id: WidgetID, _ index: Int) {
    let state = state(id, index)
    // A socket is there before its program listens, so the next attempts follow soon.
    if status(id, source(id, index)?.name ?? "") == .missing {
      sources.set(id, index, attempts: 0)
    }
    guard state.request == nil else { return sources.wantAgain(id, index) }
    let earliest = state.lastRead.map { $0 + limits.fileSpacing } ?? .zero
    guard earliest > now.uptime else { return read(id, index, isAsked: true) }
    let timed = timers[.source(id, index)] ?? earliest
    timers.set(.source(id, index), at: min(timed, earliest))
  }

  mutating func readAgainIfWanted(_ id: WidgetID, _ index: Int) {
    if sources.takeWish(id, index) { fileChanged(id, index) }
  }

  // MARK: Dependencies of the input

  /// The values that expressions of a source with these references read now, besides the result.
  func values(of references: [ExpressionReference], _ widget: Widget) -> [Value] {
    references.map { reference in
      switch reference.variable {
      case "data": return widget.data.value(at: reference.path)
      case "parameters": return widget.parameters.value(at: reference.path)
      case "widget": return WidgetVariable.values(of: widget).value(at: reference.path)
      case "status":
        return widget.data.value(at: [.field(BundleScope.statusKey)] + reference.path)
      // Without an event, its time is now.
      case "now", "event": return .timestamp(now.wall)
      case "uptime": return .duration(now.machine)
      default: return .null
      }
    }
  }

  /// Reads sources again whose input has changed since the last reading.
  mutating func lookAtInputs(_ id: WidgetID) {
    guard let facts = facts(of: id), let view = widgets[id]?.view else { return }
    let widget = facts.completed(view)
    for (index, source) in facts.kind.sources.enumerated() where !source.dependencies.isEmpty {
      guard let known = state(id, index).inputs, state(id, index).isOn,
        case let inputs = values(of: source.dependencies, widget), inputs != known
      else { continue }
      sources.set(id, index, inputs: inputs)
      if source.isContinuous, let request = state(id, index).request {
        // A continuous program must be restarted, because it would not get its new arguments.
        cancel(request)
        sources.ended(id, index)
        requests.keepPlace(id, index)
      }
      fileChanged(id, index)
    }
  }

  /// Sends the volatile data of sources again, and reads the sources again. If the daemon was
  /// restarted, it has the defaults, and a source with a long interval would leave them there.
  mutating func restoreVolatileData() {
    for id in sortedIDs {
      guard let facts = facts(of: id), facts.kind.kind.persistence == .volatile else { continue }
      widgets.sendAgain(
        id,
        facts.kind.sources.flatMap { $0.assignments.values.map(\.key) } + [BundleScope.statusKey])
      for (index, source) in facts.kind.sources.enumerated() where source.isLoadedAtStart {
        if source.isContinuous, let request = state(id, index).request {
          cancel(request)
          sources.ended(id, index)
        }
        read(id, index, isAsked: true)
      }
    }
  }

  // MARK: Conditions

  /// Turns sources on and off whose conditions have changed.
  mutating func lookAtConditions(_ id: WidgetID) {
    guard let facts = facts(of: id) else { return }
    for (index, source) in facts.kind.sources.enumerated()
    where source.condition != nil && (!source.isWhileWatched || isWatched(id)) {
      let state = state(id, index)
      let isOn: Bool
      do throws(Failure) {
        isOn = try holds(source.condition, try moment(id))
      } catch {
        if error.isTransient {
          lookAgain(id)
        } else if state.inputs != nil, !state.hasFailedCondition, !waiting.contains(id) {
          conditionFails(id, index, error)
        }
        continue
      }
      if isOn, !state.isOn || state.hasFailedCondition { read(id, index, isAsked: true) }
      if !isOn, state.isOn || state.hasFailedCondition {
        sources.set(id, index, isOn: false)
        turnOff(id, index)
      }
    }
  }

  /// The condition of a source that was read before fails now. A reading, a program or a connection
  /// under way ends, as if the source began only now.
  private mutating func conditionFails(_ id: WidgetID, _ index: Int, _ failure: Failure) {
    sources.conditionFailed(id, index)
    endRequests(id, index)
    sourceFailed(id, index, failure)
  }

  private mutating func endRequests(_ id: WidgetID, _ index: Int) {
    for request in sources.dropRequests(id, index) { cancel(request) }
    requests.releasePlace(id, index)
  }

  /// Checks the conditions of a widget again in a moment, when the bundle may compute again.
  private mutating func lookAgain(_ id: WidgetID) {
    guard timers[.look(id)] == nil else { return }
    timers.set(.look(id), at: now.uptime + limits.backoffInitial)
  }

  mutating func turnOff(_ id: WidgetID, _ index: Int, _ why: String = "`when` is false") {
    timers.cancel(.source(id, index))
    timers.cancel(.quiet(id, index))
    endRequests(id, index)
    guard let source = source(id, index) else { return }
    trace(id, .source, source.name, "is off: \(why)")
    // A source that is turned off has no failure.
    let isFailed = standing[id, .source(index)] != nil
    if isFailed || [.running, .missing].contains(status(id, source.name)) {
      setStatus(id, source.name, ActionStatus())
    }
    if isFailed { forgetFailure(id, .source(index), because: "is off: \(why)") }
  }
}

extension Source {
  /// Whether the host has the result at once, without asking anybody.
  fileprivate var takesNoTime: Bool {
    switch input {
    case .timer, .constant: true
    case .file, .folder, .command, .http, .socket, .bus: false
    }
  }
}

extension ValueMap {
  /// The value at a path; null if there is none.
  fileprivate func value(at path: [ExpressionReference.Step]) -> Value {
    var value = Value.map(self)
    for step in path {
      switch (step, value) {
      case (.field(let key), .map(let map)): value = map[key] ?? .null
      case (.index(let index), .list(let list)):
        value = Int(exactly: index).flatMap { list.indices.contains($0) ? list[$0] : nil } ?? .null
      default: return .null
      }
    }
    return value
  }
}
