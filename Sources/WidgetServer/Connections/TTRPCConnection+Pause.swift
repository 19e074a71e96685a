import NIOCore
import WidgetProto
import WidgetTransport

/// Changes that wait while the store's log catches up.
extension TTRPCConnection {
  /// Whether the next frame waits for the end of a pause. It stays unread, and its connection goes on
  /// after the pause.
  var waitsForPause: Bool {
    let pause = service.context.pause
    guard pause.isOn, nextIsChange else { return false }
    for sink in sinks.values { sink.stream?.messagesWait() }
    pause.wait(self) { [self] in resumeFrames() }
    return true
  }

  /// Whether the next frame is a call that changes something, or a message of a stream: only
  /// providers send more than one.
  private var nextIsChange: Bool {
    var ahead = reader
    guard case .frame(let frame) = ahead.next() else { return false }
    switch frame.header.type {
    case .request:
      return frame.data.withUnsafeReadableBytes { bytes in
        let method = try? service.context.codec.withRequestEnvelope(bytes) {
          Method.find(service: $0.service, method: $0.method)
        }
        return method.map(service.context.pause.holds) ?? false
      }
    case .data: return sinks[frame.header.streamID]?.stream != nil
    default: return false
    }
  }
}
