import Testing
import WidgetModel
import WidgetProto

/// The ttrpc envelope, and statuses in it.
struct EnvelopeTests {
  let codec = WireCodec()

  @Test func `a request is decoded inside its envelope`() throws {
    let request = GetWidgetRequest(id: try #require(WidgetID("clock")))
    let metadata = [MetadataEntry(key: "k", value: "1"), MetadataEntry(key: "k", value: "2")]
    let bytes = try codec.withEncodedRequest(
      service: "widgetd.v1.WidgetService", method: "GetWidget", payload: request,
      timeoutNanoseconds: 5, metadata: metadata
    ) { $0.bytes }
    #expect(
      try codec.decode(TTRPCRequest.self, from: bytes)
        == TTRPCRequest(
          service: "widgetd.v1.WidgetService", method: "GetWidget",
          payload: try codec.encode(request), timeoutNanoseconds: 5, metadata: metadata))
    let decoded = try bytes.withUnsafeBytes { raw in
      try codec.withRequestEnvelope(raw) { (view) throws(WireError) in
        // Other uses of the codec do not change the borrowed bytes.
        _ = try codec.decode(GetWidgetRequest.self, from: view.payload)
        _ = try codec.encode(Value.bytes([UInt8](repeating: 1, count: 1 << 20)))
        #expect(view.service.elementsEqual("widgetd.v1.WidgetService".utf8))
        #expect(view.method.elementsEqual("GetWidget".utf8))
        #expect(String(cString: view.serviceCString) == "widgetd.v1.WidgetService")
        #expect(String(cString: view.methodCString) == "GetWidget")
        #expect(view.timeoutNanoseconds == 5)
        #expect(try view.metadata == metadata)
        return try codec.decode(GetWidgetRequest.self, from: view.payload)
      }
    }
    #expect(decoded == request)
  }

  @Test func `an empty envelope has empty names and no payload`() throws {
    try codec.withRequestEnvelope(UnsafeRawBufferPointer(start: nil, count: 0)) {
      (view) throws(WireError) in
      #expect(view.service.isEmpty && view.method.isEmpty && view.payload.isEmpty)
      #expect(try view.metadata.isEmpty)
    }
  }

  @Test func `an envelope is scanned like any message`() {
    let bytes = WireBytes.field(1, "a\0b")
    #expect(throws: WireError.nulInString(path: "service")) {
      try bytes.withUnsafeBytes { raw in
        try codec.withRequestEnvelope(raw) { (_) throws(WireError) in }
      }
    }
  }

  @Test func `a response around a message has the message's bytes as payload`() throws {
    let message = UpdateWidgetResponse(revision: 7, changed: true)
    let bytes = try codec.withEncodedResponse(payload: message) { packed in
      let bytes = packed.bytes
      #expect(bytes.count == packed.byteCount)
      return bytes
    }
    let response = try codec.decode(TTRPCResponse.self, from: bytes)
    #expect(response == TTRPCResponse(payload: try codec.encode(message)))
  }

  @Test func `a message is packed into room that the caller made`() throws {
    let message = Value.string("hello")
    var buffer = [UInt8](repeating: 0xee, count: 32)
    let count = try codec.withEncoded(message) { packed in
      buffer.withUnsafeMutableBytes { raw in
        if let start = raw.baseAddress { packed.pack(into: start + 10) }
      }
      return packed.byteCount
    }
    #expect(Array(buffer[10..<(10 + count)]) == (try codec.encode(message)))
    #expect(buffer[..<10].allSatisfy { $0 == 0xee })
    #expect(buffer[(10 + count)...].allSatisfy { $0 == 0xee })
  }

  @Test func `an empty message takes no bytes`() throws {
    #expect(try codec.encode(UnsubscribeResponse()) == [])
    #expect(try codec.decode(TTRPCResponse.self, from: []) == TTRPCResponse())
  }

  @Test func `a status carries its details`() throws {
    let status = RPCStatus(
      code: .notFound, message: "no widget \"clock\"",
      errorInfo: ErrorInfo(reason: "WIDGET_NOT_FOUND", metadata: ["widget_id": "clock"]),
      fieldViolations: [FieldViolation(field: "id", description: "does not exist")],
      retryDelay: .milliseconds(1500))
    let bytes = try codec.encode(TTRPCResponse(status: status))
    #expect(try codec.decode(TTRPCResponse.self, from: bytes).status == status)
    #expect(status.errorInfo?.domain == "widgetd")
  }

  @Test func `details of other types are skipped and broken ones refused`() throws {
    func detail(_ type: String, _ value: [UInt8]) -> [UInt8] {
      WireBytes.field(3, WireBytes.field(1, type) + WireBytes.field(2, value))
    }
    let bytes =
      WireBytes.field(1, 5) + detail("type.googleapis.com/google.rpc.Help", [0xff])
      + detail("example.com/prefix/google.rpc.ErrorInfo", WireBytes.field(1, "WHY"))
      + detail("", []) + detail("/", [])
    #expect(
      try codec.decode(RPCStatus.self, from: bytes)
        == RPCStatus(code: .notFound, errorInfo: ErrorInfo(reason: "WHY", domain: "")))
    #expect(throws: WireError.malformed(.truncated, path: "details[0].value.reason")) {
      try codec.decode(
        RPCStatus.self, from: detail("type.googleapis.com/google.rpc.ErrorInfo", [0x0a, 9]))
    }
  }

  @Test func `a code that is not canonical reads as unknown`() throws {
    for code: UInt64 in [17, 1000, UInt64(bitPattern: -1)] {
      #expect(try codec.decode(RPCStatus.self, from: WireBytes.field(1, code)).code == .unknown)
    }
  }

  @Test func `the codes have their canonical numbers and names`() {
    #expect(StatusCode.allCases.map(\.rawValue) == Array(0...16))
    #expect(StatusCode.notFound.name == "NOT_FOUND")
    #expect(StatusCode.internalError.name == "INTERNAL")
    #expect(StatusCode.unauthenticated.rawValue == 16)
    #expect(Set(StatusCode.allCases.map(\.name)).count == 17)
  }
}
