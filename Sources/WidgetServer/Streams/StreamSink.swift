import NIOCore
import WidgetModel
import WidgetProto

/// The receiver of a stream's messages: the interface between the service and a transport.
///
/// Confined to the service's event loop, like everything that holds one.
protocol StreamSink: AnyObject {
  /// Whether the transport takes more right now. When this becomes true again, the transport calls
  /// `ServedStream.becameWritable`.
  var isWritable: Bool { get }

  /// Whether the peer takes no message any more, although the stream ends in a later turn.
  var isLost: Bool { get }

  /// Sends one message. The sink takes it even if it is not writable, but the service then stops
  /// sending.
  func send(_ message: EncodedMessage)

  /// Ends the stream; nil means success.
  func finish(_ status: RPCStatus?)
}

extension StreamSink {
  var isLost: Bool { false }
}

/// An object with output for the end of a turn.
protocol TurnParticipant: AnyObject {
  /// Sends the output since the last call.
  func flushResponses()

  /// Forgets the answers since the last call.
  func discardResponses()
}

/// The receiver of the answers to unary calls.
protocol CallResponder: TurnParticipant {
  var peer: Peer { get }
  var level: AccessPolicy.Level { get }

  /// Answers a call with a message.
  func respond<M: WireMessage>(_ message: M, to call: UInt32)

  /// Answers a call with a message that is encoded already.
  func respond(encoded message: [UInt8], to call: UInt32)

  /// Answers a call with an error.
  func refuse(_ status: RPCStatus, to call: UInt32)

  /// Answers a call even if the turn's group fails, for answers that do not depend on the store.
  func answerNow(_ body: () -> Void)
}

/// A stream that is being served, as its transport sees it.
///
/// Confined to the service's event loop.
protocol ServedStream: AnyObject {
  var uid: UInt32 { get }

  /// Takes the time of its end with DEADLINE_EXCEEDED, and cancels it if it ends before.
  func end(at deadline: StreamDeadline)

  /// The transport takes more again.
  func becameWritable()

  /// A message of the peer's arrived.
  func receive(_ message: ByteBuffer)

  /// The peer sends no more messages.
  func halfClosed()

  /// Messages of the peer may wait in the daemon, so the peer is not silent.
  func messagesWait()

  /// The state that another process needs to continue the stream.
  func handOver(streamID: UInt32) -> HandedStream

  /// The reader is gone.
  func forget()

  /// Ends the stream and tells its reader why; nil means well.
  func finish(_ status: RPCStatus?)
}

/// The time at which a stream ends with DEADLINE_EXCEEDED. Very many streams can have the same, so
/// each ends in a slice of its user.
struct StreamDeadline {
  private let instant: NIODeadline
  private let timer: Scheduled<Void>

  init(in delay: Duration, of stream: any ServedStream, _ context: ServiceContext) {
    instant = .now() + .nanoseconds(delay.nanoseconds)
    timer = context.schedule(at: instant) { [upkeep = context.upkeep] in
      upkeep.add(of: stream.uid) { stream.finish(.deadlineExceeded) }
    }
  }

  /// The time that is left, for another process: at least 1 ns, because 0 means no deadline.
  var remainingNanoseconds: Int64 { max(1, (instant - .now()).nanoseconds) }

  func cancel() { timer.cancel() }
}

extension ServedStream {
  /// Ends the stream with DEADLINE_EXCEEDED after a while.
  func setDeadline(in delay: Duration, _ context: ServiceContext) {
    end(at: StreamDeadline(in: delay, of: self, context))
  }

  // Most streams get no message after their request.
  func receive(_ message: ByteBuffer) {}
  func halfClosed() {}
  func messagesWait() {}
}
