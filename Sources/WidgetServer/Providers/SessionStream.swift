import NIOCore
import WidgetProto

/// A session as its transport sees it.
///
/// `Providers` opens, serves and ends sessions, and a session does not know it.
final class SessionStream: ServedStream {
  private let session: ServedSession
  private let providers: Providers

  init(_ session: ServedSession, of providers: Providers) {
    self.session = session
    self.providers = providers
  }

  var uid: UInt32 { session.peer.uid }

  func end(at deadline: StreamDeadline) { session.end(at: deadline) }
  func becameWritable() { if session.isStarted { providers.resume() } }
  func receive(_ message: ByteBuffer) { providers.receive(message, session) }
  func halfClosed() { providers.end(session, nil) }
  func messagesWait() { session.heard(at: .now()) }
  func forget() { providers.forget(session) }
  func finish(_ status: RPCStatus?) { providers.finish(session, status) }

  func handOver(streamID: UInt32) -> HandedStream {
    // Sessions end before connections are handed over.
    HandedStream(streamID: streamID)
  }
}
