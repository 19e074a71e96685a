import Logging
import NIOCore
import WidgetProto

extension TTRPCConnection {
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    service.context.logger.debug(
      "connection failed", metadata: ["uid": "\(peer.uid)", "error": "\(error)"])
    context.close(promise: nil)
  }

  /// The connection is over before it began.
  func neverOpened() { unsent.close() }
}

/// The answers of calls, encoded.
extension TTRPCConnection {
  func respond<M: WireMessage>(_ message: M, to call: UInt32) {
    do throws(WireError) {
      try service.context.codec.withEncodedResponse(payload: message) { packed in
        append(packed, to: call)
      }
    } catch {
      refuse(.unencodable(error), to: call)
    }
  }

  func respond(encoded message: [UInt8], to call: UInt32) {
    do throws(WireError) {
      try service.context.codec.withEncodedResponse(payload: message) { packed in
        append(packed, to: call)
      }
    } catch {
      refuse(.unencodable(error), to: call)
    }
  }

  func refuseNow(_ status: RPCStatus, _ streamID: UInt32) {
    answerNow { refuse(status, to: streamID) }
  }

  func refuse(_ status: RPCStatus, to call: UInt32) {
    do throws(WireError) {
      try service.context.codec.withEncoded(TTRPCResponse(status: status)) { packed in
        append(packed, to: call)
      }
    } catch {
      service.context.log(
        .error, "an error cannot be encoded", about: "encoding", of: peer.uid, ["error": "\(error)"]
      )
      close()
    }
  }
}
