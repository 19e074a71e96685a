import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimers

/// Whether this is the first attempt of a call, or a retry because the group of its turn failed.
enum Attempt {
  case first
  /// The disk has no room. Only the removals of the turn are stored, and this call is one of them.
  case amongRemovals
  case repeated(after: StorageError)

  var isFirst: Bool {
    if case .first = self { true } else { false }
  }

  /// Whether the changes of the call become a part of a group.
  var isStored: Bool {
    if case .repeated = self { false } else { true }
  }

  /// Throws for a call that changes something, if the store takes no changes.
  func checkChanges() throws(RPCStatus) {
    if case .repeated(let error) = self { throw .storageFailed(error) }
  }
}

/// One pass of the event loop: its participants, and the work that waits for its end.
///
/// Transports open the turn when they have read something. The turn ends when everything readable
/// was read. Then `atEnd` makes the turn's group durable and sends the waiting output.
///
/// Confined to the event loop.
final class Turn {
  private let eventLoop: any EventLoop
  /// Whether the turn's group may fail, so that calls have to be repeated.
  let remembersCalls: Bool
  /// Begins the turn, before its first call. Set once, by the service.
  var atStart: () -> Void = {}
  /// Ends the turn. Set once, by the service.
  var atEnd: () -> Void = {}
  /// The number of the loop's pass. Set once, by the server. nil if each turn is a pass of its own.
  var loopPass: (() -> UInt64)?
  /// The time of the turn; the same for everything in it.
  private(set) var now: Timestamp
  /// The running time of the store when the turn began.
  private(set) var runningTime: RunningTime
  /// The running time of the store when this process began.
  private let runningBefore: RunningTime
  /// Reads the time since the boot of the machine.
  private let uptime: () -> NIODeadline
  private let begin: NIODeadline
  /// The wall clock, which can step. Tests move it.
  var clock: () -> Timestamp
  private var isOpen = false
  private var calls: [Call] = []
  /// Whether the daemon itself has changed something that is stored with the turn's group.
  private var hasOwnChanges = false
  private var participants: [any TurnParticipant] = []
  private var durable: [() -> Void] = []
  /// The streams to be opened.
  let openings = UserLines<Opening>()
  /// Opens a turn that resumes the work of the last one.
  private var nextTimer: Scheduled<Void>?

  private struct Call {
    let uid: UInt32
    let roomUse: Method.RoomUse
    let perform: (Attempt) -> Void
  }

  /// A requested stream.
  struct Opening {
    let share: WorkShare
    /// Opens the stream; or refuses it, if there is a reason.
    let begin: (_ refusal: RPCStatus?) -> Void
  }

  /// The pause for reads before a turn that only resumes work.
  private static let pause = TimeAmount.microseconds(50)

  init(
    eventLoop: any EventLoop, remembersCalls: Bool, runningTime: RunningTime = .zero,
    clock: @escaping () -> Timestamp = { .wallClock() },
    uptime: @escaping () -> NIODeadline = { .now() }
  ) {
    self.clock = clock
    self.uptime = uptime
    begin = uptime()
    self.runningTime = runningTime
    runningBefore = runningTime
    self.eventLoop = eventLoop
    self.remembersCalls = remembersCalls
    now = clock()
  }

  // MARK: - Taking part

  /// Opens the turn if it is not open.
  func open() {
    guard !isOpen else { return }
    isOpen = true
    now = clock()
    runningTime = runningBefore.advanced(by: .nanoseconds((uptime() - begin).nanoseconds))
    eventLoop.assumeIsolated().execute { self.finish() }
    atStart()
  }

  /// Opens the turn when the loop has read after a pass, for a timer that was set in this pass. A
  /// timer can be due in the same pass, if other tasks took long: turns of such timers would starve
  /// calls.
  func open(afterPass pass: UInt64?) {
    guard pass != nil, pass == loopPass?() else { return open() }
    if nextTimer == nil { openAfterReads(in: pass) }
  }

  /// Takes the time again, because the clock was moved in the turn.
  func takeTime() { now = clock() }

  /// Opens the turn, and has a participant send its answers at the end of it.
  func join(_ participant: any TurnParticipant) {
    open()
    participants.append(participant)
  }

  /// Remembers how to repeat a call, in case the turn's group fails.
  func remember(
    callOf peer: Peer, _ roomUse: Method.RoomUse, _ perform: @escaping (Attempt) -> Void
  ) {
    guard remembersCalls else { return }
    calls.append(Call(uid: peer.uid, roomUse: roomUse, perform: perform))
  }

  /// Notes that the daemon itself has changed something that is stored with the turn's group.
  func noteOwnChange() { hasOwnChanges = true }

  /// Runs a closure when the turn's group is durable and its answers are sent.
  func whenDurable(_ body: @escaping () -> Void) { durable.append(body) }

  /// Opens a stream when the turn's group is durable and its answers are sent, or in a later turn.
  ///
  /// - Parameter begin: Called once. It gets the reason if the stream must not be opened.
  func whenDurable(for share: WorkShare, _ begin: @escaping (_ refusal: RPCStatus?) -> Void) {
    openings.add(Opening(share: share, begin: begin), of: share.uid)
  }

  /// Refuses all streams that wait to be opened.
  func refuseOpenings(_ status: RPCStatus) {
    for opening in openings.removeAll() { opening.begin(status) }
  }

  // MARK: - The end

  /// Ends the turn now, if it is open.
  func finish() {
    if isOpen { atEnd() }
  }

  /// The users who made the turn's calls.
  var callers: Set<UInt32> { Set(calls.map(\.uid)) }

  /// Drops the answers of the turn, because its group failed. Nobody has seen them.
  func discardAnswers() {
    for participant in participants { participant.discardResponses() }
  }

  /// Whether all changes of the turn are removals by calls.
  var onlyRemoves: Bool {
    guard !hasOwnChanges else { return false }
    var removes = false
    for call in calls {
      switch call.roomUse {
      case .needs: return false
      case .frees, .freesWithChanges: removes = true
      case .unused: break
      }
    }
    return removes
  }

  /// The sets of calls to store alone on a full disk, in the order of the attempts. The second set
  /// leaves removals of kinds out, because they write the kinds' widgets again.
  var removals: [Set<Method.RoomUse>] {
    let found = Set(calls.map(\.roomUse))
    var choices: [Set<Method.RoomUse>] = []
    if found.contains(.freesWithChanges) { choices.append([.frees, .freesWithChanges]) }
    if found.contains(.frees) { choices.append([.frees]) }
    // The group that failed was the first set.
    return onlyRemoves ? Array(choices.dropFirst()) : choices
  }

  /// Repeats the turn's calls in their order, after its group failed.
  ///
  /// - Parameter removals: The calls that can change the store.
  func repeatCalls(after error: StorageError, storing removals: Set<Method.RoomUse> = []) {
    let calls = self.calls
    for call in calls {
      call.perform(removals.contains(call.roomUse) ? .amongRemovals : .repeated(after: error))
    }
  }

  /// Sends the answers. A participant that joins meanwhile, because a write has shown that a peer is
  /// gone, sends its answers the next time.
  func sendAnswers() {
    guard !participants.isEmpty else { return }
    var sending: [any TurnParticipant] = []
    swap(&sending, &participants)
    for participant in sending { participant.flushResponses() }
    guard participants.isEmpty else { return }
    // The next turn uses the same memory.
    sending.removeAll(keepingCapacity: true)
    participants = sending
  }

  /// The turn's group has ended. Later changes of the daemon belong to the next group.
  func groupEnded() { hasOwnChanges = false }

  /// Carries out the work that waited for the group. The calls are final.
  func carryOutDurable() {
    calls.removeAll(keepingCapacity: true)
    let durable = self.durable
    self.durable.removeAll()
    for body in durable { body() }
  }

  /// Whether streams are to be opened.
  var hasOpenings: Bool { !openings.isEmpty }

  /// Closes the turn. Opens the next one if something waits for it.
  ///
  /// - Parameter hasMore: Whether work is left. The next turn begins after a pause, in which the
  ///   loop reads: long work does not starve calls.
  func close(hasMore: Bool) {
    isOpen = false
    if !durable.isEmpty || !participants.isEmpty { open() }
    guard hasMore || hasOpenings, nextTimer == nil, !isOpen else { return }
    openAfterReads(in: loopPass?())
  }

  /// Opens the next turn when the loop has read. The pause alone is not enough: the loop's other
  /// tasks can take longer than the pause.
  private func openAfterReads(in pass: UInt64?) {
    nextTimer = eventLoop.assumeIsolated().scheduleTask(in: Turn.pause) {
      self.nextTimer = nil
      guard pass == nil || pass != self.loopPass?() else { return self.openAfterReads(in: pass) }
      self.open()
    }
  }

  func cancelTimer() {
    nextTimer?.cancel()
    nextTimer = nil
  }
}
