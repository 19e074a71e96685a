import WidgetBundle
import WidgetModel

// Actions: how a run goes from step to step until it waits or ends.
extension BundleInstance {
  /// The progress of a run after one step.
  private enum Progress { case done, waits, entered }

  /// Continues a run until it waits for something or has ended.
  mutating func advance(_ id: UInt64) {
    while let run = runs[id], run.wait == .nothing {
      guard let frame = run.frames.last else { return end(id) }
      guard frame.index < frame.current.count else {
        complete(id)
        continue
      }
      let step = frame.current[frame.index]
      runs.beginStep(id)
      do throws(Failure) {
        guard run.stepCount < limits.stepsMax else {
          throw Failure(
            "RESOURCE_EXHAUSTED", "more than \(limits.stepsMax) steps; is there a circle?")
        }
        _ = try perform(step, id)
      } catch {
        fail(id, error)
      }
    }
  }

  func moment(of run: Run, result: Value? = nil) throws(Failure) -> BundleScope.Moment {
    let frame = run.frames.last
    // Steps after a failure see the error, at any depth.
    let error = run.frames.last { $0.phase == .failure }?.error
    return try moment(
      run.widgetID, event: run.event, row: run.row, result: result ?? frame?.result ?? .null,
      error: error)
  }

  private mutating func perform(_ step: Step, _ id: UInt64) throws(Failure) -> Progress {
    guard let run = runs[id], let facts = facts(of: run.widgetID) else { return .done }
    let widget = run.widgetID
    switch step {
    case .set(let assignments):
      let values = try values(assignments, try moment(of: run))
      if isTraced {
        trace(
          widget, .action, traceName(run),
          "sets "
            + values.map { "\($0.key) = \(BundleInstance.traced($0.value))" }.joined(
              separator: ", "))
      }
      set(widget, values)
      noteChange(of: widget, by: run.event)
      return .done
    case .unset(let keys):
      for key in keys {
        if let value = facts.types[key]?.defaultValue {
          widgets.set(widget, key, value)
        } else {
          widgets.unset(widget, key)
        }
      }
      widgets.touch(widget)
      noteChange(of: widget, by: run.event)
      return .done
    case .http(let http, let parse, let assignments, let stub):
      if isStub { return try beginStub(id, stub, assignments) }
      guard waitsForTurn(id) == false else { return .waits }
      let request = try webRequest(http, parse, try moment(of: run))
      wait(id) { .web($0, request) }
      return .waits
    case .command(let command, _, let assignments, let stub):
      if isStub { return try beginStub(id, stub, assignments) }
      guard waitsForTurn(id) == false else { return .waits }
      let request = try commandRequest(command, try moment(of: run), isContinuous: false)
      wait(id) { .run($0, request) }
      return .waits
    case .bus(let bus, let assignments, let stub):
      if isStub { return try beginStub(id, stub, assignments) }
      guard waitsForTurn(id) == false else { return .waits }
      let request = try busRequest(bus, try moment(of: run))
      wait(id) { .bus($0, request) }
      return .waits
    case .socket(let socket, let assignments, let stub):
      if isStub { return try beginStub(id, stub, assignments) }
      guard waitsForTurn(id) == false else { return .waits }
      let command = try socketCommand(socket, try moment(of: run))
      wait(id) { .tellSocket($0, command) }
      return .waits
    case .presence(let action, let templates):
      var ids: [WidgetID] = []
      for template in templates {
        ids.append(try widgetID(try text(template, try moment(of: run))))
      }
      if ids.isEmpty { ids = [widget] }
      let all = ids
      flush(widget, isForced: true)
      wait(id) { .presence($0, action, all) }
      return .waits
    case .reload(let names):
      for (index, source) in facts.kind.sources.enumerated()
      where names.isEmpty || names.contains(source.name) {
        read(widget, index, isAsked: true, isDemanded: true)
        awaitReading(of: widget, index, for: run.event)
      }
      return .done
    case .emit(let name, let target, let payload):
      let moment = try moment(of: run)
      var target = target
      let receiver = try target.take().map { (template) throws(Failure) in
        try widgetID(try text(template, moment))
      }
      var map = ValueMap()
      for (key, template) in payload { map[key] = try value(template, moment) }
      try extendChain(of: run, sending: name, to: receiver ?? widget)
      flush(widget, isForced: true)
      let details = map
      wait(id) {
        .send($0, receiver ?? widget, name: name, payload: details, force: false)
      }
      return .waits
    case .run(let name):
      guard let action = facts.kind.actions[name] else {
        throw Failure("NOT_FOUND", "kind \"\(facts.kind.kind.name)\" has no action \"\(name)\"")
      }
      return try enter(action, id)
    case .cancel(let name):
      for other in runs.of(widget)
      where runs[other]?.frames.contains(where: { $0.action.name == name }) == true {
        abandon(other, because: "Another event cancelled the action \"\(name)\".")
      }
      return .done
    case .action(let action):
      return try enter(action, id)
    }
  }

  private func widgetID(_ text: String) throws(Failure) -> WidgetID {
    guard let id = WidgetID(text) else {
      throw Failure("INVALID_ARGUMENT", "\"\(text.prefix(100))\" is not a widget's id")
    }
    return id
  }

  private mutating func wait(_ id: UInt64, _ effect: (RequestID) -> Effect) {
    let request = requests.begin(.run(id))
    runs.wait(id, for: request)
    let asked = effect(request)
    effects.append(asked)
    if let run = runs[id] { trace(run.widgetID, effect: asked, of: traceName(run), .action) }
  }

  /// The innermost action with a name, or else the trigger of the run.
  func traceName(_ run: Run) -> String {
    run.frames.last { !$0.action.name.isEmpty }?.action.name
      ?? triggerName(run.widgetID, run.trigger)
  }

  /// Defers a step until there is room for its effect.
  private mutating func waitsForTurn(_ id: UInt64) -> Bool {
    guard let run = runs[id] else { return false }
    let isHeld =
      run.sharer != .bundle
      && runs.actingCount(of: run.sharer) >= requests.effectsOfUserMax
    guard !requests.hasRoom || isHeld else { return false }
    runs.deferStep(id)
    requests.wait(.run(id))
    return true
  }

  private mutating func beginStub(
    _ id: UInt64, _ stub: Stub?, _ assignments: Assignments
  ) throws(Failure) -> Progress {
    guard let delay = stub?.delay, delay > .zero else {
      try finishStub(id, stub, assignments)
      return .done
    }
    let request = requests.begin(.run(id))
    runs.wait(id, for: request)
    timers.set(.stub(request), at: now.uptime + delay)
    return .waits
  }

  private mutating func finishStub(
    _ id: UInt64, _ stub: Stub?, _ assignments: Assignments
  ) throws(Failure) {
    guard let run = runs[id] else { return }
    let result = try stub?.value.map { (template) throws(Failure) in
      try value(template, try moment(of: run))
    }
    try finish(
      id, result ?? .null, result == nil ? Assignments() : assignments, lacksStub: result == nil)
  }

  /// The delay of a step's stub is over.
  mutating func stepStubbed(_ id: UInt64) {
    runs.resume(id)
    switch waitingStep(id) {
    case .http(_, _, let assignments, let stub)?, .command(_, _, let assignments, let stub)?,
      .bus(_, let assignments, let stub)?, .socket(_, let assignments, let stub)?:
      do throws(Failure) { try finishStub(id, stub, assignments) } catch { fail(id, error) }
    default: break
    }
    advance(id)
  }

  /// A step has a result.
  private mutating func finish(
    _ id: UInt64, _ result: Value, _ assignments: Assignments, lacksStub: Bool = false
  ) throws(Failure) {
    guard let run = runs[id], !run.frames.isEmpty else { return }
    trace(run.widgetID, .action, traceName(run), "result: \(BundleInstance.shape(result))")
    runs.setResult(id, result, lacksStub: lacksStub)
    if let name = run.frames.last(where: { !$0.action.name.isEmpty })?.action.name {
      tellLife(.ready, of: name, run.widgetID, run: run)
    }
    set(run.widgetID, try values(assignments, try moment(of: run, result: result)))
    noteChange(of: run.widgetID, by: run.event)
  }

  // MARK: Actions begin

  private mutating func enter(_ action: Action, _ id: UInt64) throws(Failure) -> Progress {
    guard let run = runs[id] else { return .done }
    // The trigger's own steps are at the bottom and are no action.
    guard run.frames.count <= limits.depthMax else {
      throw Failure(
        "RESOURCE_EXHAUSTED",
        "actions run each other more than \(limits.depthMax) deep; is there a circle?")
    }
    note(action.name, isUnderWay: true, in: run)
    guard let delay = action.delay, delay > .zero else {
      runs.enter(id, action, isDelayed: false)
      begin(id)
      return .entered
    }
    runs.enter(id, action, isDelayed: true)
    for other in runs.of(run.widgetID) where other != id {
      guard let waiting = runs[other], waiting.isDelayed, let last = waiting.frames.last else {
        continue
      }
      let isSame =
        action.name.isEmpty ? waiting.trigger == run.trigger : last.action.name == action.name
      if isSame { abandon(other, because: BundleInstance.replaced) }
    }
    runs.delay(id)
    note(delayOf: action.name, run.widgetID, isUnderWay: true)
    timers.set(.delay(id), at: now.uptime + delay)
    startNext(QueueKey(widgetID: run.widgetID, trigger: run.trigger))
    return .waits
  }

  mutating func delayIsOver(_ id: UInt64) {
    guard let run = runs[id], run.isDelayed else { return }
    runs.endDelay(id)
    note(delayOf: run.frames.last?.action.name ?? "", run.widgetID, isUnderWay: false)
    begin(id)
    advance(id)
  }

  /// Begins an action before its steps: the condition, the requirements, the optimistic values.
  private mutating func begin(_ id: UInt64) {
    guard let run = runs[id], let frame = run.frames.last else { return }
    let action = frame.action
    do throws(Failure) {
      let moment = try moment(of: run)
      guard try holds(action.condition, moment) else {
        trace(run.widgetID, .action, traceName(run), "is skipped: `if` is false")
        runs.skipSteps(id)
        return
      }
      for requirement in action.requirements where try !holds(requirement.condition, moment) {
        throw Failure(requirement.code, try text(requirement.message, moment))
      }
      setStatus(run.widgetID, action.name, ActionStatus(state: .running), run: run)
      let optimistic = try values(action.optimistic, moment)
      let undo = optimistic.map {
        (key: $0.key, before: moment.widget.data[$0.key] ?? .null, set: $0.value)
      }
      runs.set(id, undo: undo)
      set(run.widgetID, optimistic)
      keep(undo, run.widgetID, action.name)
    } catch {
      fail(id, error)
    }
  }

  // MARK: Answers

  /// The step at which a run waits.
  func waitingStep(_ id: UInt64) -> Step? {
    guard let frame = runs[id]?.frames.last, frame.current.indices.contains(frame.index - 1) else {
      return nil
    }
    return frame.current[frame.index - 1]
  }

  /// - Parameter blank: the words for the input if it was empty; nil if it was not.
  mutating func stepSucceeded(_ id: UInt64, _ result: Value, blank: String? = nil) {
    runs.resume(id)
    let assignments: Assignments
    switch waitingStep(id) {
    case .http(_, _, let after, _)?, .command(_, _, let after, _)?, .bus(_, let after, _)?,
      .socket(_, let after, _)?:
      assignments = after
    default: return advance(id)
    }
    do throws(Failure) {
      try finish(id, result, assignments)
    } catch {
      fail(id, error.with(blank))
    }
    advance(id)
  }

  mutating func stepFailed(_ id: UInt64, _ failure: Failure) {
    retractChain(of: id)
    runs.resume(id)
    fail(id, failure)
    advance(id)
  }

  mutating func stepRead(_ id: UInt64, _ bytes: [UInt8]) {
    guard case .command(let command, let parse, _, _)? = waitingStep(id) else { return }
    do throws(Failure) {
      let input = command.outputWords
      let result = try ResultParsing.value(of: bytes, as: parse, hint: "", from: input)
      stepSucceeded(
        id, result, blank: ResultParsing.blankWords(result, of: bytes, from: input))
    } catch {
      stepFailed(id, error)
    }
  }

  mutating func stepAnswered(_ id: UInt64, _ answer: WebAnswer) {
    guard case .http(_, let parse, _, _)? = waitingStep(id) else { return }
    do throws(Failure) {
      guard (200..<300).contains(answer.status) else { throw Failure(answer, parse) }
      let result = try ResultParsing.value(of: answer, as: parse)
      stepSucceeded(
        id, result,
        blank: ResultParsing.blankWords(result, of: answer.body, from: answer.contentWords))
    } catch {
      stepFailed(id, error)
    }
  }
}
