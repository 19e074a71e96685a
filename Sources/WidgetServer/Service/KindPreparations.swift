import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The messages whose kinds are being compiled.
///
/// Thousands of expressions take longer than a turn. So a connection compiles the kinds of a
/// message in its slices of time, and then carries the message out like any other, in one group.
/// The connection owns the work: its user pays for it, and it ends with the connection. There is
/// no queue beside `WorkQueue`, and no other thread.
///
/// A user can have many connections. So all waiting messages of a user together, and their compiled
/// kinds, have the quota of the registered kinds again. A message without room is refused, and keeps
/// no memory.
///
/// Confined to the event loop.
final class KindPreparations {
  fileprivate let context: ServiceContext
  private var bytesByUID: [UInt32: Int] = [:]
  fileprivate private(set) var isEnding = false
  /// The caller that waits for all messages to end.
  private var drain: DrainWait?
  /// The maximum number of steps in a slice of time. Tests set 0, so that messages wait.
  var stepsMax = Int.max

  init(_ context: ServiceContext) { self.context = context }

  /// The memory of the user's compiled kinds that are not registered yet, in bytes.
  func bytes(of uid: UInt32) -> Int { bytesByUID[uid, default: 0] }

  /// The work for an encoded request of ApplyKinds. Returns nil if nothing is to be compiled.
  func preparation(ofCall payload: UnsafeRawBufferPointer, of peer: Peer) -> KindPreparation? {
    guard takesWork, let request = try? context.decode(ApplyKindsRequest.self, payload) else {
      return nil
    }
    return preparation(request, request.kinds, payload.count, of: peer)
  }

  /// The work for an encoded frame of a provider. Returns nil if nothing is to be compiled.
  func preparation(ofFrame frame: ByteBuffer, of peer: Peer) -> KindPreparation? {
    guard takesWork, KindPreparations.mayDeclareKinds(frame) else { return nil }
    let request = frame.withUnsafeReadableBytes { try? context.decode(ProvideRequest.self, $0) }
    guard let request, case .kinds(let declared) = request else { return nil }
    return preparation(request, declared.kinds, frame.readableBytes, of: peer)
  }

  private func preparation(
    _ message: any WireMessage, _ kinds: [Kind], _ size: Int, of peer: Peer
  ) -> KindPreparation? {
    // The command refuses more kinds before it looks at them.
    guard !kinds.isEmpty, kinds.count <= context.limits.store.kindsMax else { return nil }
    // Small fields take more memory as values than as bytes.
    let values = kinds.reduce(0) { $0 + $1.costBytes }
    let preparation = KindPreparation(
      message, context.store.compilation(of: kinds), uid: peer.uid,
      messageBytes: max(
        KindPreparations.copiesOfMessage * size, KindPreparations.copiesOfValues * values),
      in: self)
    preparation.hold()
    return preparation
  }

  /// The message as bytes, and its kinds as values.
  private static let copiesOfMessage = 4
  /// The kinds in the message, and those that wait for the compiler.
  private static let copiesOfValues = 2

  private var takesWork: Bool { !isEnding && context.phase != .draining }

  /// Succeeds when no message waits for its kinds, or when the time is over.
  func ended(within delay: TimeAmount) -> EventLoopFuture<Void> {
    guard !bytesByUID.isEmpty else { return context.eventLoop.makeSucceededVoidFuture() }
    finishDraining()
    let drain = DrainWait(delay, context) { [weak self] in self?.finishDraining() }
    self.drain = drain
    return drain.future
  }

  private func finishDraining() {
    drain?.end()
    drain = nil
  }

  /// Lets no more messages wait, because the process ends or hands its connections over.
  func end() { isEnding = true }

  /// Whether a frame may declare kinds: false if its only field is another one with a tag of one byte.
  /// So the other frames are decoded only once.
  private static func mayDeclareKinds(_ frame: ByteBuffer) -> Bool {
    var rest = frame
    guard let tag = rest.readInteger(as: UInt8.self), tag < 128, tag & 7 == 2,
      tag >> 3 != kindsField
    else { return true }
    var (length, shift) = (0, 0)
    while shift < 35, let byte = rest.readInteger(as: UInt8.self) {
      length |= Int(byte & 127) << shift
      shift += 7
      if byte < 128 { break }
    }
    return length != rest.readableBytes
  }

  /// The number of `kinds` in `ProvideRequest`.
  private static let kindsField: UInt8 = 2

  /// The memory of one user's messages together, and of one message's kinds, in bytes.
  fileprivate var bytesMax: Int { context.limits.store.kindMemoryBytesPerUIDMax }

  /// Counts the memory of a preparation. Returns false, and counts nothing more, if it has no room
  /// beside the other messages of its user. Alone it always has room: the command decides.
  fileprivate func hold(_ bytes: Int, for preparation: KindPreparation) -> Bool {
    let others = self.bytes(of: preparation.uid) - preparation.bytes
    let sum = others + bytes
    guard others == 0 || bytes == 0 || sum <= bytesMax else { return false }
    bytesByUID[preparation.uid] = sum > 0 ? sum : nil
    preparation.bytes = bytes
    if bytesByUID.isEmpty { finishDraining() }
    return true
  }
}

/// The work for one message. Its owner calls `work` until it is done, then `carryOut`, or `cancel`.
final class KindPreparation {
  fileprivate let uid: UInt32
  fileprivate var bytes = 0
  private let all: KindPreparations
  /// The message. Decoding it takes as long as a part of the work, so it is decoded only once.
  private let message: any WireMessage
  private let messageBytes: Int
  private var compilation: KindCompilation
  /// Whether the user's other messages leave no room. The command then refuses the kinds that are
  /// not compiled.
  private(set) var isRefused = false
  /// Called when the message has waited for a slice.
  var onWait: () -> Void = {}
  /// Whether somebody still waits for the message.
  var isNeeded: () -> Bool = { true }

  fileprivate init(
    _ message: any WireMessage, _ compilation: KindCompilation, uid: UInt32, messageBytes: Int,
    in all: KindPreparations
  ) {
    self.message = message
    self.compilation = compilation
    self.uid = uid
    self.messageBytes = messageBytes
    self.all = all
  }

  /// Compiles until the slice is over, after the former kinds of the user are freed. Returns whether
  /// the message can be carried out.
  func work(_ slice: TimeSlice) -> Bool {
    onWait()
    guard !isRefused, isNeeded() else { return true }
    guard all.context.disposals.free(of: uid, slice) else { return false }
    var steps = 0
    while steps < all.stepsMax {
      steps += 1
      // The command refuses kinds above the quota.
      guard compilation.step(in: all.context.store), compilation.schemaBytes <= all.bytesMax
      else { return true }
      hold()
      if isRefused || slice.isOver { break }
    }
    return isRefused
  }

  fileprivate func hold() {
    isRefused = !all.hold(messageBytes + compilation.memoryBytes, for: self)
  }

  /// Carries the message out with the kinds that are compiled, and ends the work.
  func carryOut(_ body: () -> Void) {
    all.context.carryOut(message, compilation.compiled(isRefused: isRefused), body)
    cancel()
  }

  /// Ends the work without the message.
  func cancel() {
    _ = all.hold(0, for: self)
    let kinds = compilation.drop()
    if !all.isEnding { all.context.disposals.add(kinds, of: uid) }
  }
}
