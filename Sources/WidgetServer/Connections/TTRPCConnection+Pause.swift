import NIOCore
import WidgetProto
import WidgetTransport

/// Frames that stay unread: changes while the store's log catches up, and calls about blobs while
/// others are under way. The frames behind them wait, too.
extension TTRPCConnection {
  /// Whether the next frame waits. Its connection goes on when the wait is over.
  var nextWaits: Bool { waitsForPause || waitsForBlobs }

  /// Forgets that the connection waits, because it is over.
  func stopWaiting() {
    service.context.pause.forget(self)
    service.blobs.forget(self, of: peer.uid)
  }

  private var waitsForPause: Bool {
    let pause = service.context.pause
    guard pause.isOn, nextIsChange else { return false }
    messagesWait()
    pause.wait(self) { [self] in resumeFrames() }
    return true
  }

  private var waitsForBlobs: Bool {
    let blobs = service.blobs
    guard blobs.queue.isBusy, let method = nextMethod, blobs.holds(method, of: peer.uid, level)
    else { return false }
    messagesWait()
    blobs.wait(self, of: peer.uid, level) { [self] in resumeFrames() }
    return true
  }

  private func messagesWait() {
    for sink in sinks.values { sink.stream?.messagesWait() }
  }

  /// Whether the next frame is a call that changes something, or a message of a stream: only
  /// providers send more than one.
  private var nextIsChange: Bool {
    guard let frame = nextFrame else { return false }
    switch frame.header.type {
    case .request: return method(of: frame.data).map(service.context.pause.holds) ?? false
    case .data: return sinks[frame.header.streamID]?.stream != nil
    default: return false
    }
  }

  /// The method of the next frame; nil if the frame does not begin a call.
  private var nextMethod: Method? {
    guard let frame = nextFrame, frame.header.type == .request else { return nil }
    return method(of: frame.data)
  }

  private var nextFrame: (header: FrameHeader, data: ByteBuffer)? {
    var ahead = reader
    guard case .frame(let frame) = ahead.next() else { return nil }
    return (frame.header, frame.data)
  }

  private func method(of request: ByteBuffer) -> Method? {
    request.withUnsafeReadableBytes { bytes in
      try? service.context.codec.withRequestEnvelope(bytes) {
        Method.find(service: $0.service, method: $0.method)
      }
    }
  }
}
