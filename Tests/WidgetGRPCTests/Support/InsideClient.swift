#if GRPC
  import NIOCore
  import WidgetModel
  import WidgetProto
  import WidgetServer

  /// Changes the state inside the process, without a connection.
  struct InsideClient {
    let client: InProcessClient

    init(_ client: InProcessClient) { self.client = client }

    private func call<A: WireMessage>(
      _ method: String, _ message: some WireMessage, as type: A.Type
    ) async throws -> A {
      let codec = WireCodec()
      let answer = try await client.call(
        "widgetd.v1.WidgetService/" + method, ByteBuffer(bytes: codec.encode(message)))
      return try codec.decode(type, from: Array(answer.readableBytesView))
    }

    func create(_ id: String) async throws {
      _ = try await call(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make(id), kind: .make("clock"))),
        as: CreateWidgetResponse.self)
    }

    /// Sets a number and bytes.
    @discardableResult
    func set(_ id: String, pad bytes: Int, _ n: Int) async throws -> Revision {
      let pad = Value.bytes([UInt8](repeating: UInt8(truncatingIfNeeded: n), count: bytes))
      return try await call(
        "UpdateWidget",
        UpdateWidgetRequest(
          id: .make(id), patch: WidgetPatch(setData: ["pad": pad, "n": .int(Int64(n))]),
          omitWidget: true), as: UpdateWidgetResponse.self
      ).revision
    }
  }
#endif
