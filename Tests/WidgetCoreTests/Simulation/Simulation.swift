import SeededRandom
import WidgetModel

@testable import WidgetCore

/// One random history: commands, groups, rollbacks, restarts and readers, all decided by a seed,
/// with the store beside the model.
struct Simulation {
  private var workload: Workload
  private var store: Store
  private var model: Model
  /// The model at the begin of the group.
  private var groupStart: Model
  private var image = StoreImage(epoch: 7)
  private var readers: [Reader] = []
  /// The chance that a group ends after a command, in percent.
  private let groupEndChance: Int
  private var now: Int64 = 0
  /// The widgets in each chunk at each of its revisions.
  private var chunks: [[Revision: [Widget]]] = []
  private var violations: [String] = []
  private(set) var counts = Counts()

  /// The counts of what happened, to check the coverage of a run.
  struct Counts {
    var commands = 0
    var refused = 0
    var commits = 0
    var rollbacks = 0
    var restarts = 0
    var compactions = 0
    var reads = 0
    /// Widgets of managers, and fields of these that others have set, over all states.
    var owned = 0
    var kept = 0
    /// Changes of the theme, and those that were refused.
    var themes = 0
    var refusedThemes = 0
    /// Calls about activities that were carried out, and activities that time changed.
    var activities = 0
    var stale = 0
    var expired = 0
    var dismissed = 0

    static func += (a: inout Counts, b: Counts) {
      a.commands += b.commands
      a.refused += b.refused
      a.commits += b.commits
      a.rollbacks += b.rollbacks
      a.restarts += b.restarts
      a.compactions += b.compactions
      a.reads += b.reads
      a.owned += b.owned
      a.kept += b.kept
      a.themes += b.themes
      a.refusedThemes += b.refusedThemes
      a.activities += b.activities
      a.stale += b.stale
      a.expired += b.expired
      a.dismissed += b.dismissed
    }
  }

  init(seed: UInt64) throws {
    workload = Workload(seed: seed)
    groupEndChance = workload.rng.pick([60, 60, 15])
    let limits = workload.limits()
    store = Store(image: image, limits: limits, isRevocable: true)
    model = Model(limits: limits)
    groupStart = model
    for _ in 0..<(1 + workload.rng.below(5)) {
      readers.append(Reader(selector: workload.selector(), mask: try workload.mask()))
    }
  }

  /// Runs a number of steps, and stops at the first mistake. Returns the mistake as text.
  mutating func run(steps: Int) -> [String] {
    for step in 0..<steps {
      now += Int64(workload.rng.below(3))
      applyCommand()
      if workload.rng.chance(15) { useRequestID() }
      if workload.rng.chance(10) { checkEvents() }
      if workload.rng.chance(groupEndChance) { endGroup() }
      violations += store.checkInvariants()
      if !violations.isEmpty { return ["in step \(step):"] + violations }
    }
    return []
  }

  // MARK: - Steps

  private mutating func applyCommand() {
    let command = workload.command(for: model)
    let caller = workload.caller()
    counts.commands += 1
    let actual: Result<Commit, StoreError>
    do throws(StoreError) {
      actual = .success(try store.apply(command, by: caller, at: .at(now)))
    } catch {
      actual = .failure(error)
      counts.refused += 1
    }
    let expected: Result<Model.Effect, StoreError>
    do throws(StoreError) {
      expected = .success(try model.apply(command, by: caller, at: .at(now)))
    } catch {
      expected = .failure(error)
    }
    switch (actual, expected) {
    case (.success(let commit), .success(let effect)):
      if commit.outcome != effect.outcome || commit.isChange != effect.isChange {
        violations.append("\(command) did \(commit) and should have done \(effect)")
      }
      if effect.isChange { counts.commits += 1 }
      switch command {
      case .updateTheme where effect.isChange: counts.themes += 1
      case .startActivity, .updateActivity, .endActivity: counts.activities += 1
      default: break
      }
    case (.failure(let error), .failure(let other)):
      if case .updateTheme = command { counts.refusedThemes += 1 }
      if !error.isSame(as: other) {
        violations.append("\(command) failed with \(error) and should have with \(other)")
      }
    default:
      violations.append("\(command) gave \(actual) and should have given \(expected)")
    }
    checkState(after: command)
  }

  /// Compares all widgets. After nil, which stands for time, a rollback or a restart, no position
  /// may have changed.
  private mutating func checkState(after command: Command?) {
    guard violations.isEmpty else { return }
    if store.revision != model.revision {
      violations.append("the revision is \(store.revision) and should be \(model.revision)")
      return
    }
    if let command {
      let isMove = if case .move = command { true } else { false }
      violations += model.adoptPositions(from: store, mayMoveAll: isMove)
    }
    let widgets = store.selected(by: Selector())
    if widgets != model.widgets {
      violations.append(
        "after \(command as Any): the store is \(widgets) and should be \(model.widgets)")
    }
    for id in model.order {
      let (actual, expected) = (store.owners(of: id), model.owners[id]?.all ?? [])
      if actual != expected {
        violations.append(
          "after \(command as Any): the owners of \(id) are \(actual) and should be \(expected)")
      }
    }
    let theme = RevisedTheme(overrides: model.theme.values, revision: model.theme.revision)
    if store.theme != theme {
      violations.append(
        "after \(command as Any): the theme is \(store.theme) and should be \(theme)")
    }
    counts.owned += model.owners.count
    counts.kept += model.owners.values.reduce(0) { $0 + $1.all.count { !$0.manager.isEmpty } }
    if store.lastEventSequence != model.events.last {
      violations.append("the last event is \(store.lastEventSequence)")
    }
  }

  private mutating func useRequestID() {
    let id = workload.rng.pick(["r1", "r2", "r3"])
    let uid = UInt32(1 + workload.rng.below(2))
    let known = model.recall(id, of: uid, at: .at(now))
    let fingerprint = UInt64(workload.rng.below(2))
    do throws(StoreError) {
      let answer = try store.recall(
        requestID: id, of: uid, fingerprint: fingerprint, at: .at(now))
      let isMine = known == nil || known?.fingerprint == fingerprint
      if answer != known?.response || !isMine {
        violations.append("the answer to \(id) is \(answer ?? []) and should be \(known as Any)")
      }
    } catch {
      if error != .requestIDReused(id) || known == nil || known?.fingerprint == fingerprint {
        violations.append("\(id) was refused with \(error)")
      }
    }
    guard known == nil else { return }
    let response = [UInt8](
      repeating: UInt8(workload.rng.below(256)), count: workload.rng.below(200))
    store.remember(
      requestID: id, of: uid, fingerprint: fingerprint, response: response, at: .at(now))
    model.answers.append(
      RequestImage(
        uid: uid, requestID: id, fingerprint: fingerprint, response: response,
        expires: RunningTime.at(now).advanced(by: model.limits.requestLifetime)))
  }

  private mutating func checkEvents() {
    let back = UInt64(workload.rng.below(8))
    let cursor = model.events.last - min(model.events.last, back)
    let limit = workload.rng.pick([1, 2, Int.max])
    let selector = workload.selector()
    let actual = store.events(after: cursor, limit: limit, selecting: selector)
    let expected = model.events.page(
      after: cursor, limit: limit, selecting: selector, now: model.widgets)
    if actual != expected {
      violations.append("events after \(cursor) are \(actual) and should be \(expected)")
    }
  }

  // MARK: - Groups

  /// Time changes activities, as a part of the group.
  private mutating func settleActivities() {
    let before = model.revision
    let steps = store.settle(to: .at(now))
    let passed = model.settleActivities(at: .at(now))
    if steps != Int(model.revision - before) {
      violations.append("at \(now) s, time changed activities in \(steps) steps: \(passed)")
    }
    counts.stale += passed.stale
    counts.expired += passed.expired
    counts.dismissed += passed.dismissed
    checkState(after: nil)
  }

  private mutating func endGroup() {
    settleActivities()
    if workload.rng.chance(20) {
      store.rollbackGroup()
      model = groupStart
      counts.rollbacks += 1
      checkState(after: nil)
    } else {
      if store.hasPendingGroup { image.apply(store.pendingGroup()) }
      store.commitGroup(at: .at(now))
      model.commitGroup(at: .at(now))
      if model.compactRevision != groupStart.compactRevision { counts.compactions += 1 }
      checkImage()
      if workload.rng.chance(6) { restart() }
      if workload.rng.chance(4) {
        model.limits = workload.limits()
        store.limits = model.limits
      }
    }
    groupStart = model
    checkRest()
    checkChunks()
    for index in readers.indices where workload.rng.chance(index == 0 ? 10 : 45) {
      counts.reads += 1
      violations += readers[index].step(store, model, &workload.rng)
    }
  }

  private mutating func restart() {
    store = Store(image: image, limits: model.limits, isRevocable: true)
    model.restart(from: image)
    checkState(after: nil)
    chunks = []
    for index in readers.indices { readers[index].reconnect() }
    counts.restarts += 1
  }

  /// The image must have all durable state, and give the same store.
  private mutating func checkImage() {
    if image.revision != store.revision {
      violations.append("the image is at \(image.revision) and the store at \(store.revision)")
    }
    if Set(image.records.map(\.widget.id)) != Set(model.widgets.keys) {
      violations.append("the image holds other widgets")
    }
    if image.eventSequenceCeiling < store.lastEventSequence {
      violations.append("an event was accepted beyond the durable ceiling")
    }
    guard workload.rng.chance(10) else { return }
    let restored = Store(image: image, limits: model.limits, isRevocable: true)
    violations += restored.checkInvariants()
    for cursor in Array(model.compactRevision...model.revision).suffix(12) {
      for selector in Observation.selectors {
        let deltas = [store, restored].map { store in
          Result { () throws(StoreError) in
            try store.changes(since: cursor, selecting: selector).normalized
          }
        }
        if deltas[0] != deltas[1] {
          violations.append("since \(cursor) a restored store says \(deltas[1]), not \(deltas[0])")
        }
      }
    }
  }

  private mutating func checkRest() {
    if store.compactRevision != model.compactRevision {
      violations.append(
        "the compact revision is \(store.compactRevision) and should be \(model.compactRevision)")
    }
    if store.nextDeadline != model.answers.first?.expires {
      violations.append("the next deadline is \(store.nextDeadline as Any)")
    }
    if store.hasPendingGroup { violations.append("something is pending after a group") }
    if store.eventSequenceCeiling != model.events.ceiling {
      violations.append("the ceiling is \(store.eventSequenceCeiling)")
    }
    if store.answers != model.answers { violations.append("other answers are kept") }
  }

  private mutating func checkChunks() {
    for chunk in 0..<store.chunkCount {
      if chunks.count == chunk { chunks.append([:]) }
      let widgets = store.widgets(inChunk: chunk)
      let known = chunks[chunk].updateValue(widgets, forKey: store.chunkRevision(chunk))
      if let known, known != widgets {
        violations.append("chunk \(chunk) changed and its revision did not")
      }
    }
  }
}

extension StoreError {
  /// Whether the errors are equal, except for the text of descriptions.
  fileprivate func isSame(as other: StoreError) -> Bool {
    if case (.invalid(let a, _), .invalid(let b, _)) = (self, other) { return a == b }
    return self == other
  }
}
