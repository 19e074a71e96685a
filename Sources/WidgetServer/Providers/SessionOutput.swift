import WidgetProto

/// The way of sessions' frames to their sinks: encoded, and counted.
final class SessionOutput {
  private let context: ServiceContext
  /// Ends a session that cannot continue.
  private let fail: (ServedSession, RPCStatus) -> Void

  init(_ context: ServiceContext, fail: @escaping (ServedSession, RPCStatus) -> Void) {
    self.context = context
    self.fail = fail
  }

  /// Sends a frame, or ends the session if the frame is too large.
  func send(_ frame: ProvideResponse, of session: ServedSession) {
    guard let message = context.encode(frame) else { return fail(session, .frameTooLarge) }
    session.sink.send(message)
    context.counters.countFrames()
  }

  /// Ends a session that cannot continue.
  func end(_ session: ServedSession, _ status: RPCStatus) { fail(session, status) }
}
