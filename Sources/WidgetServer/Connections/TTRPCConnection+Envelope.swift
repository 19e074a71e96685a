import WidgetProto

/// The envelopes of requests.
extension TTRPCConnection {
  /// Unpacks the envelope and finds the method. Refuses the call, and returns false, if it cannot.
  func withEnvelope(
    _ bytes: UnsafeRawBufferPointer, _ streamID: UInt32,
    _ body: (Method, RequestEnvelopeView) -> Void
  ) -> Bool {
    do throws(WireError) {
      return try service.context.codec.withRequestEnvelope(bytes) { envelope in
        guard let method = Method.find(service: envelope.service, method: envelope.method) else {
          refuseNow(
            .unknownMethod(
              String(decoding: envelope.service.prefix(nameBytesMax), as: UTF8.self),
              String(decoding: envelope.method.prefix(nameBytesMax), as: UTF8.self)), streamID)
          return false
        }
        body(method, envelope)
        return true
      }
    } catch {
      refuseNow(RPCStatus(error), streamID)
      return false
    }
  }

  /// The most bytes of an unknown name that the refusal repeats.
  private var nameBytesMax: Int { 256 }
}
