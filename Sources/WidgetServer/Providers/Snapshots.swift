import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of GetSnapshot that wait for a provider. Each asks a separate question, so concurrent
/// calls do not disturb one another. They do not use the store.
///
/// The parameters of a waiting call count as an incomplete request of its user.
final class Snapshots {
  private let context: ServiceContext
  private var waiting: [UInt64: Waiting] = [:]
  /// The number of calls that wait for a provider or for their answer, by user.
  private var countsByUID: [UInt32: Int] = [:]
  private var lastNumber: UInt64 = 0
  /// The calls that have ended without the provider, and wait to be answered, by their users.
  private var ended: [UInt32: EndedSnapshots] = [:]
  private var endedCount = 0

  /// Makes the answer of a call, from the provider's data, or from nil and the reason.
  typealias Completion = (SnapshotData?, String) throws(RPCStatus) -> GetSnapshotResponse

  /// The time for a provider's answer. An answer that has come in time may wait to be read or
  /// processed. So an unanswered call is checked again, as an expired lease is.
  var patience = TimeAmount.seconds(2)
  /// The maximum number of waiting calls.
  private static let waitingMax = 256
  /// The same for the calls of one user.
  private static let waitingOfUserMax = waitingMax / 2

  init(_ context: ServiceContext) { self.context = context }

  private struct Waiting {
    let call: UInt32
    let responder: any CallResponder
    unowned let session: ServedSession
    var timer: Scheduled<Void>
    let end: NIODeadline
    var watch = LeaseWatch()
    let parameters: IncompleteRequest
    let complete: Completion
  }

  /// Asks the provider of a kind, if it answers snapshots. Otherwise the call is answered at once.
  ///
  /// - Parameter asked: The widget of the snapshot, with the kind's defaults.
  /// - Parameter parameters: The account of the request's parameters, while the call waits.
  func begin(
    _ request: GetSnapshotRequest, as asked: WidgetSpec, _ call: UInt32,
    _ responder: any CallResponder, in table: ProviderTable,
    counting parameters: @autoclosure () -> IncompleteRequest, _ complete: @escaping Completion
  ) throws(RPCStatus) {
    guard let name = context.store.provider(of: request.kind), let session = table.byName[name],
      session.isStarted, !session.isOver
    else {
      return respond(
        call, responder, complete, nil, "The kind has no running provider.", now: false)
    }
    guard session.answersSnapshots else {
      return respond(
        call, responder, complete, nil, "The kind's provider does not support snapshots.",
        now: false)
    }
    // The daemon keeps no questions for a provider that does not read: its output is limited, and
    // its user's connections share the limit.
    guard session.sink.isWritable else {
      return respond(
        call, responder, complete, nil, "The kind's provider does not read the daemon's frames.",
        now: false)
    }
    let uid = responder.peer.uid
    guard waiting.count + endedCount < Snapshots.waitingMax,
      countsByUID[uid, default: 0] < Snapshots.waitingOfUserMax
    else {
      return respond(
        call, responder, complete, nil, "Too many snapshots are being made; try again.", now: false)
    }
    let parameters = parameters()
    // The provider has a shorter time limit than a request that arrives.
    parameters.isTimed = false
    if let refusal = parameters.hold(request.parameterBytes) { throw refusal }
    countsByUID[uid, default: 0] += 1
    lastNumber += 1
    let number = lastNumber
    let end = NIODeadline.now() + patience
    waiting[number] = Waiting(
      call: call, responder: responder, session: session, timer: check(number, at: end), end: end,
      parameters: parameters, complete: complete)
    session.send(
      .snapshotRequest(
        SnapshotRequest(
          id: number, kind: request.kind, family: asked.family ?? .medium,
          parameters: asked.parameters, isByOwner: responder.level >= .owner, uid: uid)))
  }

  /// Checks at a time whether a call has waited too long.
  private func check(_ number: UInt64, at instant: NIODeadline) -> Scheduled<Void> {
    context.schedule(at: instant) { self.check(number) }
  }

  private func check(_ number: UInt64) {
    guard var asked = waiting[number] else { return }
    switch asked.watch.look(at: .now(), end: asked.end) {
    case .lookAgain(let next):
      asked.timer = check(number, at: next)
      waiting[number] = asked
    case .isOver: giveUp(number, "The provider did not answer within 2 s.")
    }
  }

  /// Takes the answer of a provider. Ignores the answer if its call has ended.
  func answer(_ answer: ProvideSnapshot, of session: ServedSession) {
    guard waiting[answer.snapshotRequestID]?.session === session else { return }
    switch answer.outcome {
    case .data(let data): end(answer.snapshotRequestID, data, "")
    case .error(let error):
      end(answer.snapshotRequestID, nil, "The provider has no data: \(error.message)")
    }
  }

  /// Ends the calls that wait for a session that is over.
  func endAll(of session: ServedSession) {
    for number in waiting.keys.sorted() where waiting[number]?.session === session {
      giveUp(number, "The provider left before it answered.")
    }
  }

  /// Answers the calls that have ended, because the process ends.
  func answerEnded() {
    for work in Array(ended.values) { work.abandon() }
  }

  /// Ends a call without the provider. The sample can be costly to make, and many calls can end at
  /// once. So they are answered one after the other, in slices of their users' time. At the end of the
  /// process, they are answered at once, because no slices follow.
  private func giveUp(_ number: UInt64, _ reason: String) {
    guard context.phase == .serving else { return end(number, nil, reason) }
    guard let asked = waiting.removeValue(forKey: number) else { return }
    asked.timer.cancel()
    endedCount += 1
    let uid = asked.responder.peer.uid
    let work = ended[uid] ?? EndedSnapshots(uid: uid)
    ended[uid] = work
    work.add { [self] in
      endedCount -= 1
      // Until then, the users' costs count for their next calls.
      if endedCount == 0, waiting.isEmpty { ended = [:] }
      respond(to: asked, nil, reason)
    }
    context.work.enqueue(work)
  }

  private func end(_ number: UInt64, _ data: SnapshotData?, _ reason: String) {
    guard let asked = waiting.removeValue(forKey: number) else { return }
    asked.timer.cancel()
    respond(to: asked, data, reason)
  }

  private func respond(to asked: Waiting, _ data: SnapshotData?, _ reason: String) {
    respond(asked.call, asked.responder, asked.complete, data, reason, now: true)
    _ = asked.parameters.hold(0)
    let uid = asked.responder.peer.uid
    let count = countsByUID[uid, default: 0] - 1
    countsByUID[uid] = count > 0 ? count : nil
  }

  /// The time is `now`, because this runs outside of the turn that read the call.
  private func respond(
    _ call: UInt32, _ responder: any CallResponder, _ complete: Completion, _ data: SnapshotData?,
    _ reason: String, now: Bool
  ) {
    var result: Result<GetSnapshotResponse, RPCStatus>
    do throws(RPCStatus) {
      result = .success(try complete(data, reason))
    } catch {
      // If the data does not fit the kind, the mistake is the provider's, not the caller's.
      let words = "The provider's data do not fit the kind: \(error.message)"
      do throws(RPCStatus) { result = .success(try complete(nil, words)) } catch {
        result = .failure(error)
      }
    }
    let send = {
      switch result {
      case .success(let response): responder.respond(response, to: call)
      case .failure(let status): responder.refuse(status, to: call)
      }
    }
    if now { responder.answerNow(send) } else { send() }
  }
}

/// The answers to a user's calls of GetSnapshot that have ended without the provider.
private final class EndedSnapshots: SlicedWork {
  let share: WorkShare
  private var answers = CircularBuffer<() -> Void>()

  init(uid: UInt32) { share = WorkShare(uid: uid) }

  func add(_ answer: @escaping () -> Void) { answers.append(answer) }

  func work(_ slice: TimeSlice) -> Bool {
    repeat {
      guard let answer = answers.popFirst() else { return false }
      answer()
    } while !slice.isOver
    return !answers.isEmpty
  }

  /// Gives all answers. Later work gives none.
  func abandon() {
    while let answer = answers.popFirst() { answer() }
  }
}

extension GetSnapshotRequest {
  /// The memory of its parameters, in bytes.
  fileprivate var parameterBytes: Int {
    parameters.entries.reduce(0) { $0 + 32 + $1.key.utf8.count + $1.value.costBytes }
  }
}
