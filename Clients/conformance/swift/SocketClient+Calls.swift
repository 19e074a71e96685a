import WidgetClient

extension SocketClient {
  typealias Call =
    @Sendable (WidgetClient, [UInt8], CallOptions) async throws(Ending) -> [UInt8]

  /// A function of the library, from bytes to bytes.
  static func typed<Q: WireMessage, A: WireMessage>(
    _ call: @escaping @Sendable (WidgetClient, Q, CallOptions) async throws(ClientError) -> A
  ) -> Call {
    { client, bytes, options throws(Ending) in
      let request: Q = try decoded(bytes)
      return try encoded(
        try await outcome { () throws(ClientError) in try await call(client, request, options) })
    }
  }
}
