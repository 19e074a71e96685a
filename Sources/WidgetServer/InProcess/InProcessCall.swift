import NIOCore
import WidgetProto
import WidgetTransport

/// A unary call from inside the process, until it is answered. Confined to the event loop.
final class InProcessCall: CallResponder {
  typealias Answer = Result<ByteBuffer, RPCStatus>

  let peer: Peer
  let level: AccessPolicy.Level
  private let service: ServiceLoop
  private let calls: InProcessCalls
  private let admission: (any CallAdmission)?
  private var continuation: CheckedContinuation<Answer, Never>?
  /// The answer, while it may still be taken back.
  private var answer: Answer?
  /// The answer's bytes that `countAnswer` has returned; nil before its first call.
  private var countedBytes: Int?

  init(
    peer: Peer, service: ServiceLoop, calls: InProcessCalls, admission: (any CallAdmission)?,
    continuation: CheckedContinuation<Answer, Never>
  ) {
    self.peer = peer
    self.service = service
    self.calls = calls
    self.admission = admission
    self.continuation = continuation
    level = service.policy.level(of: peer)
  }

  func start(_ method: Method, _ request: ByteBuffer) {
    let pause = service.context.pause
    guard !pause.holds(method) || admission?.isLost == true else {
      return pause.wait(self) { [self] in
        calls.add { isAbandoned in isAbandoned ? self.cancel() : self.start(method, request) }
      }
    }
    guard method == .applyKinds, level >= method.requiredLevel,
      let kinds = request.withUnsafeReadableBytes({
        service.preparations.preparation(ofCall: $0, of: peer)
      })
    else { return carryOut(method, request) }
    kinds.isNeeded = { [admission] in admission?.isLost != true }
    calls.add(after: kinds) { [self] isAbandoned in
      guard !isAbandoned, kinds.isNeeded() else {
        kinds.cancel()
        return cancel()
      }
      kinds.carryOut { carryOut(method, request) }
    }
  }

  private func carryOut(_ method: Method, _ request: ByteBuffer) {
    service.turn.open()
    guard method.readsStore else {
      return answerNow { perform(method, request) }
    }
    service.turn.join(self)
    perform(method, request)
    guard service.turn.remembersCalls else { return }
    service.turn.remember(callOf: peer, method.roomUse) { [self] attempt in
      service.turn.join(self)
      perform(method, request, attempt)
    }
  }

  /// Ends the call without carrying it out.
  func cancel() {
    answer = .failure(service.context.phase == .draining ? .shuttingDown : .cancelled)
    flushResponses()
  }

  /// Returns the size of the answer so far, in bytes. The answer may come later.
  func countAnswer() -> Int {
    let bytes = answerBytes
    countedBytes = bytes
    return bytes
  }

  private var answerBytes: Int {
    if case .success(let message) = answer { message.readableBytes } else { 0 }
  }

  private func perform(_ method: Method, _ request: ByteBuffer, _ attempt: Attempt = .first) {
    request.withUnsafeReadableBytes { service.perform(method, $0, call: 0, for: self, attempt) }
  }

  // MARK: - Answers

  func respond<M: WireMessage>(_ message: M, to call: UInt32) {
    do throws(WireError) {
      let encoded = try service.context.codec.withEncoded(message) { packed in
        EncodedMessage(byteCount: packed.byteCount) { packed.pack(into: $0) }
      }
      take(encoded.payload)
    } catch {
      refuse(.unencodable(error), to: call)
    }
  }

  func respond(encoded message: [UInt8], to call: UInt32) { take(ByteBuffer(bytes: message)) }

  func refuse(_ status: RPCStatus, to call: UInt32) { answer = .failure(status) }

  private func take(_ message: ByteBuffer) {
    let size = message.readableBytes
    service.context.counters.countBytes(size)
    answer =
      size <= FrameHeader.frameDataBytesMax
      ? .success(message) : .failure(.responseTooLarge(size, FrameHeader.frameDataBytesMax))
  }

  func answerNow(_ body: () -> Void) {
    body()
    flushResponses()
  }

  func flushResponses() {
    guard let answer, let continuation else { return }
    self.continuation = nil
    if let countedBytes, answerBytes > countedBytes {
      admission?.answered(answerBytes - countedBytes)
    }
    continuation.resume(returning: answer)
  }

  func discardResponses() { answer = nil }
}
