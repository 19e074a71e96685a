import Foundation
import TestThreads
import WidgetCore
import WidgetModel
import WidgetStorage

/// A commit log in memory that can be told to fail, and that a gate can stop.
final class TestLog: CommitLog {
  private let state: State

  init(_ state: State) { self.state = state }

  var name: String { "test" }
  var needsGroups: Bool { true }

  func load() -> StoreImage { state.image }

  func append(_ group: CommitGroup) throws(StorageError) {
    state.waitAtGate()
    if let error = state.failure ?? state.refusal?(group) { throw error }
    state.keep(group)
  }

  func check() throws(StorageError) {
    if case .removed? = state.failure, let error = state.failure { throw error }
  }

  var isBehind: Bool { state.isBehind }
  func whenCaughtUp(_ body: @escaping @Sendable () -> Void) { state.whenCaughtUp(body) }

  func close() { state.noteClosed() }

  /// The medium, which outlives the log. Shared with the test's thread.
  final class State: @unchecked Sendable {
    private let lock = NSLock()
    private let gate = NSCondition()
    private var isGateClosed = false
    private var waiters = 0
    private var storedImage: StoreImage
    private var storedGroups: [CommitGroup] = []
    private var storedFailure: StorageError?
    private var storedRefusal: (@Sendable (CommitGroup) -> StorageError?)?
    private var closes = 0
    private var storedIsBehind = false
    private var waitingForLog: [@Sendable () -> Void] = []

    init(image: StoreImage = StoreImage(epoch: 77)) { storedImage = image }

    var image: StoreImage { lock.withLock { storedImage } }
    var groups: [CommitGroup] { lock.withLock { storedGroups } }
    var closeCount: Int { lock.withLock { closes } }

    /// While set, appending throws this.
    var failure: StorageError? {
      get { lock.withLock { storedFailure } }
      set { lock.withLock { storedFailure = newValue } }
    }

    /// The error of appending a group, if it has one.
    var refusal: (@Sendable (CommitGroup) -> StorageError?)? {
      get { lock.withLock { storedRefusal } }
      set { lock.withLock { storedRefusal = newValue } }
    }

    /// Whether changes should wait for `catchUp`.
    var isBehind: Bool {
      get { lock.withLock { storedIsBehind } }
      set { lock.withLock { storedIsBehind = newValue } }
    }

    func catchUp() {
      let waiting = lock.withLock {
        storedIsBehind = false
        defer { waitingForLog = [] }
        return waitingForLog
      }
      for body in waiting { body() }
    }

    fileprivate func whenCaughtUp(_ body: @escaping @Sendable () -> Void) {
      let isOver = lock.withLock {
        if storedIsBehind { waitingForLog.append(body) }
        return !storedIsBehind
      }
      if isOver { body() }
    }

    fileprivate func noteClosed() { lock.withLock { closes += 1 } }

    fileprivate func keep(_ group: CommitGroup) {
      lock.withLock {
        storedGroups.append(group)
        storedImage.apply(group)
      }
    }

    // MARK: The gate

    /// From now on `append`, and with it the server's event loop, waits.
    func closeGate() { gate.withLock { isGateClosed = true } }

    func openGate() {
      gate.withLock {
        isGateClosed = false
        gate.broadcast()
      }
    }

    /// Waits until `append` waits at the gate.
    func waitForAppend() throws {
      let deadline = Date(timeIntervalSinceNow: Double(Patience.seconds))
      try gate.withLock {
        while waiters == 0 {
          guard gate.wait(until: deadline) else {
            throw TestFault("nothing was appended within \(Patience.seconds) s")
          }
        }
      }
    }

    fileprivate func waitAtGate() {
      gate.withLock {
        guard isGateClosed else { return }
        waiters += 1
        gate.broadcast()
        while isGateClosed { gate.wait() }
        waiters -= 1
      }
    }
  }
}

extension StoreImage {
  mutating func apply(_ group: CommitGroup) {
    revision = group.revision
    compactRevision = group.compactRevision
    eventSequenceCeiling = group.eventSequenceCeiling
    runningTime = max(runningTime, group.runningTime)
    let gone = Set(group.deletions).union(group.upserts.map(\.widget.id))
    records.removeAll { gone.contains($0.widget.id) }
    records += group.upserts
    tombstones += group.tombstones
    let named = Set(group.kindDeletions).union(group.kindUpserts.map(\.kind.name))
    kinds.removeAll { named.contains($0.kind.name) }
    kinds += group.kindUpserts
    for trim in group.eventTrims {
      events.removeAll { $0.kind == trim.kind && $0.event.sequence < trim.before }
      lostEvents[trim.kind] = trim.lost
    }
    events += group.events
    requests += group.requests
    if let theme = group.theme { self.theme = theme }
    let budgets = Set(group.refreshBudgets.map(\.kind)).union(group.refreshBudgetDeletions)
    refreshBudgets.removeAll { budgets.contains($0.kind) }
    refreshBudgets += group.refreshBudgets
  }

  /// A store of widgets "w0", "w1", …, each made by a separate commit.
  static func sample(
    count: Int, kind: String = "clock", epoch: UInt64 = 77, ownerUID: UInt32 = geteuid(),
    data: (Int) -> ValueMap = { ["n": .int(Int64($0))] }
  ) -> StoreImage {
    var image = StoreImage(epoch: epoch, revision: Revision(count))
    for index in 0..<count {
      guard let id = WidgetID("w\(index)"), let kind = KindName(kind) else { continue }
      let revision = Revision(index + 1)
      let entries = data(index).entries.map {
        RevisedEntry(key: $0.key, value: $0.value, revision: revision)
      }
      image.records.append(
        RecordImage(
          widget: Widget(
            id: id, kind: kind, position: Int64(index) << 32, createdRevision: revision,
            revision: revision, ownerUID: ownerUID),
          data: entries, parameters: [], labelsRevision: revision, presenceRevision: revision,
          positionRevision: revision, statusRevision: revision, transition: nil,
          transitionRevision: 0))
    }
    return image
  }
}
