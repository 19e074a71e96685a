#if GRPC
  import GRPCCore
  import WidgetProto

  extension RPCStatus {
    /// A call that broke the rules of the transport.
    static func refused(
      _ code: StatusCode, _ reason: String, _ message: String, metadata: [String: String] = [:]
    ) -> RPCStatus {
      RPCStatus(
        code: code, message: message, errorInfo: ErrorInfo(reason: reason, metadata: metadata))
    }

    static func protocolError(_ message: String) -> RPCStatus {
      refused(.invalidArgument, "PROTOCOL_ERROR", message)
    }
  }

  extension RPCError {
    /// The metadata key of an error's details in gRPC: the encoded `google.rpc.Status`.
    static let detailsKey = "grpc-status-details-bin"
    /// Clients take 8 KiB of metadata; details larger than this are left out. They are sent as
    /// base64, which makes 4 bytes of 3.
    private static let detailsBytesMax = 3 << 10
    /// The maximum size of an error's message. Each byte may become 3.
    private static let messageBytesMax = 1 << 10

    /// An error of the service, with its details.
    init(_ status: RPCStatus) {
      var metadata = Metadata()
      // A new codec, because errors are rare and codecs belong to one thread.
      if let details = try? WireCodec().encode(status),
        details.count <= RPCError.detailsBytesMax
      {
        metadata.addBinary(details, forKey: RPCError.detailsKey)
      }
      let code = Status.Code(rawValue: Int(status.code.rawValue)).flatMap { RPCError.Code($0) }
      self.init(
        code: code ?? .unknown, message: RPCError.shortened(status.message), metadata: metadata)
    }

    private static func shortened(_ message: String) -> String {
      guard message.utf8.count > messageBytesMax else { return message }
      var end = message.utf8.index(message.startIndex, offsetBy: messageBytesMax)
      // The cut is not inside a character.
      while end.samePosition(in: message.unicodeScalars) == nil {
        message.utf8.formIndex(before: &end)
      }
      return message[..<end] + "…"
    }
  }
#endif
