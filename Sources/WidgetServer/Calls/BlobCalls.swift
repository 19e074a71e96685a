import NIOCore
import WidgetProto

/// The calls of BlobService, and the timer of the blobs that expire.
///
/// A disk that is full of waiting writes lets every further write wait. So another thread reads and
/// writes the files, and the call is answered when that is done. `BlobQueue` bounds the calls under
/// way. The callers ask `holds` before each call.
final class Blobs {
  private let context: ServiceContext
  private let gate: LoopGate
  private var table: BlobTable
  private var timer: Scheduled<Void>?
  /// The time of the timer.
  private(set) var nextExpiry = NIODeadline.distantFuture
  /// The users whose slices will free a part of a file.
  private var freeing: Set<UInt32> = []
  private(set) var queue = BlobQueue()
  /// The calls that another thread works on, by number.
  private var underWay: [UInt64: UnderWay] = [:]
  private var lastNumber: UInt64 = 0
  /// The users whose next waiting call will go on in a slice.
  private var waking: Set<UInt32> = []
  private var isStopped = false
  /// Carries out work on another thread, in order. Tests replace it.
  var run: (@escaping @Sendable () -> Void) -> Void

  private struct UnderWay {
    let method: Method
    let call: UInt32
    let responder: any CallResponder
    var uid: UInt32 { responder.peer.uid }
    var isOwner: Bool { responder.level >= .owner }
  }

  /// - Parameter folder: the folder for the files.
  init(_ context: ServiceContext, gate: LoopGate, folder: String) {
    self.context = context
    self.gate = gate
    table = BlobTable(folder: folder)
    let thread = BlobThread()
    run = { thread.run($0) }
  }

  /// UploadBlob.
  func upload(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(UploadBlobRequest.self, payload)
    guard !isStopped else { throw .shuttingDown }
    defer { scheduleExpiry() }
    let upload = try table.prepare(
      request, by: responder.peer.uid, isOwner: responder.level >= .owner, at: .now(),
      context.limits)
    carryOut(
      UnderWay(method: .uploadBlob, call: call, responder: responder), { upload.run() }
    ) { [self] (result: Result<BlobFile, RPCStatus>) throws(RPCStatus) -> UploadBlobResponse in
      try table.finish(upload, result, at: .now(), context.limits)
    }
  }

  /// ReadBlob.
  func read(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(ReadBlobRequest.self, payload)
    guard !isStopped else { throw .shuttingDown }
    defer { scheduleExpiry() }
    let piece = try table.prepare(
      request, for: responder.peer.uid, isOwner: responder.level >= .owner, at: .now(),
      context.limits)
    carryOut(
      UnderWay(method: .readBlob, call: call, responder: responder), { piece.run() }
    ) { (result: Result<ReadBlobResponse, RPCStatus>) throws(RPCStatus) -> ReadBlobResponse in
      try result.get()
    }
  }

  /// Does the work of a call on another thread, and then the rest of the call here.
  private func carryOut<Outcome: Sendable, Answer: WireMessage>(
    _ caller: UnderWay, _ work: @escaping @Sendable () -> Result<Outcome, RPCStatus>,
    then rest: @escaping (Result<Outcome, RPCStatus>) throws(RPCStatus) -> Answer
  ) {
    lastNumber += 1
    let number = lastNumber
    underWay[number] = caller
    queue.begin(caller.uid, isOwner: caller.isOwner)
    let end = NIOLoopBound(
      { [self] (result: Result<Outcome, RPCStatus>) in
        // The time to encode the answer counts for the user.
        context.upkeep.add(of: caller.uid) { [self] in
          // A call that `stop` has answered is over.
          guard underWay.removeValue(forKey: number) != nil else { return }
          answer(caller) { () throws(RPCStatus) -> Answer in try rest(result) }
          wake(queue.end(caller.uid, isOwner: caller.isOwner))
        }
      }, eventLoop: context.eventLoop)
    run { [gate] in
      let result = work()
      _ = gate.run { end.value(result) }
    }
  }

  private func answer<Answer: WireMessage>(
    _ caller: UnderWay, _ rest: () throws(RPCStatus) -> Answer
  ) {
    do throws(RPCStatus) {
      let answer = try rest()
      caller.responder.answerNow { caller.responder.respond(answer, to: caller.call) }
    } catch {
      context.note(caller.method, error, of: caller.responder.peer)
      caller.responder.answerNow { caller.responder.refuse(error, to: caller.call) }
    }
    scheduleExpiry()
  }

  // MARK: - Calls that wait

  /// Whether a call waits, because others about blobs are under way.
  func holds(_ method: Method, of uid: UInt32, _ level: AccessPolicy.Level) -> Bool {
    guard queue.isBusy, !isStopped, level >= method.requiredLevel else { return false }
    switch method {
    case .uploadBlob, .readBlob, .deleteBlob: return queue.holds(uid, isOwner: level >= .owner)
    default: return false
    }
  }

  /// Calls a closure when the next call about a blob may be carried out. A later closure of the same
  /// owner replaces it.
  func wait(
    _ owner: AnyObject, of uid: UInt32, _ level: AccessPolicy.Level,
    _ resume: @escaping () -> Void
  ) {
    queue.wait(owner, of: uid, isOwner: level >= .owner, resume)
  }

  /// Forgets the closure of an owner that no longer waits.
  func forget(_ owner: AnyObject, of uid: UInt32) { queue.forget(owner, of: uid) }

  /// Lets the calls of users go on, one after the other, in slices of their time.
  private func wake(_ uids: [UInt32]) {
    for uid in uids where waking.insert(uid).inserted {
      context.upkeep.add(of: uid) { [self] in
        waking.remove(uid)
        guard let resume = queue.next(of: uid) else { return }
        resume()
        wake([uid])
      }
    }
  }

  /// Refuses the calls under way, and all further ones: the process ends or hands its connections over.
  /// The thread ends by itself.
  func stop() {
    isStopped = true
    let callers = underWay.values
    underWay = [:]
    for caller in callers {
      caller.responder.answerNow { caller.responder.refuse(.shuttingDown, to: caller.call) }
    }
    for resume in queue.removeAll() { resume() }
  }

  /// DeleteBlob.
  func delete(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(DeleteBlobRequest.self, payload)
    table.delete(
      request.blobID, by: responder.peer.uid, isOwner: responder.level >= .owner)
    freeFiles()
    responder.respond(DeleteBlobResponse(), to: call)
  }

  /// Sets the timer for the next blob that expires. Without blobs there is no timer. A call can find
  /// expired blobs before the timer does.
  private func scheduleExpiry() {
    freeFiles()
    // With a limit that was lowered, a blob can expire before all earlier ones.
    guard let expiry = table.nextExpiry, timer == nil || expiry < nextExpiry else { return }
    timer?.cancel()
    nextExpiry = expiry
    timer = context.schedule(at: expiry) {
      self.timer = nil
      self.expire(at: .now())
    }
  }

  /// Forgets the blobs that are due at a time.
  func expire(at now: NIODeadline) {
    table.expire(at: now)
    scheduleExpiry()
  }

  /// Frees the files of forgotten blobs in slices of their users' time. Many large blobs can expire
  /// together, and the kernel takes long to free their pages.
  private func freeFiles() {
    for uid in table.takeUsersToFree() where !freeing.contains(uid) { freePart(of: uid) }
  }

  private func freePart(of uid: UInt32) {
    freeing.insert(uid)
    context.upkeep.add(of: uid) { [self] in
      table.freePart(of: uid)
      freeing.remove(uid)
      if table.unusedCount(of: uid) > 0 { freePart(of: uid) }
    }
  }

  /// The number of files of forgotten blobs that are not closed yet.
  var unusedCount: Int { table.unusedCount }

  /// Deletes all blobs, because the process ends.
  func removeAll() {
    stop()
    timer?.cancel()
    table.removeAll()
  }
}

extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.BlobMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .uploadBlob: try blobs.upload(payload, call, responder)
    case .readBlob: try blobs.read(payload, call, responder)
    case .deleteBlob: try blobs.delete(payload, call, responder)
    }
  }
}
