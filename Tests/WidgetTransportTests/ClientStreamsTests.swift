import Testing
import WidgetTransport

@Suite struct ClientStreamsTests {
  @Test func `ids are odd, increase, and are never used again`() {
    var streams = ClientStreams()
    #expect(streams.open(.unary) == 1)
    #expect(streams.open(.server) == 3)
    streams.abandon(1)
    #expect(streams.open(.bidirectional) == 5)
    #expect(streams.openStreamIDs == [3, 5])
  }

  @Test func `no call can be opened once the ids are used up`() {
    var streams = ClientStreams(firstStreamID: .max - 2)
    #expect(streams.open(.unary) == UInt32.max - 2)
    #expect(streams.open(.unary) == UInt32.max)
    #expect(streams.open(.unary) == nil)
    #expect(streams.receive(.response(.max)) == .response(streamID: .max))
  }

  @Test(arguments: [
    (ClientStreams.Kind.unary, FrameFlags()), (.server, .remoteClosed),
    (.bidirectional, .remoteOpen),
  ])
  func `the kind of a call decides the flags of its request`(
    kind: ClientStreams.Kind, flags: FrameFlags
  ) {
    #expect(kind.requestFlags == flags)
  }

  @Test func `answers out of order reach their calls`() {
    var streams = ClientStreams()
    for _ in 0..<3 { _ = streams.open(.unary) }
    #expect(streams.receive(.response(5)) == .response(streamID: 5))
    #expect(streams.receive(.response(1)) == .response(streamID: 1))
    #expect(streams.openStreamIDs == [3])
  }

  /// The result of one data frame for a stream, and whether the stream stays open.
  @Test(
    arguments: [
      (FrameFlags(), 3, ClientStreams.Action.message(streamID: 1, isLast: false), true),
      ([], 0, .message(streamID: 1, isLast: false), true),
      (.remoteClosed, 3, .message(streamID: 1, isLast: true), false),
      (.endOfStream, 0, .end(streamID: 1), false),
      (.noData, 0, .ignore, true),
      (.noData, 1, .violation(.dataInNoData(streamID: 1)), true),
    ] as [(FrameFlags, UInt32, ClientStreams.Action, Bool)])
  func `a data frame is a message, the end, both or nothing`(
    flags: FrameFlags, bytes: UInt32, expected: ClientStreams.Action, staysOpen: Bool
  ) {
    for kind in [ClientStreams.Kind.server, .bidirectional] {
      var streams = ClientStreams()
      _ = streams.open(kind)
      #expect(streams.receive(.data(1, flags, bytes: bytes)) == expected)
      #expect(streams.isOpen(1) == staysOpen)
    }
  }

  @Test func `a response ends a stream`() {
    var streams = ClientStreams()
    _ = streams.open(.server)
    #expect(streams.receive(.data(1)) == .message(streamID: 1, isLast: false))
    #expect(streams.receive(.response(1)) == .response(streamID: 1))
    #expect(streams.receive(.data(1)) == .ignore)
  }

  @Test func `a late answer to an abandoned call is ignored`() {
    var streams = ClientStreams()
    _ = streams.open(.unary)
    #expect(streams.abandon(1) == true)
    #expect(streams.abandon(1) == false)
    #expect(streams.receive(.response(1)) == .ignore)
  }

  @Test(arguments: [
    (FrameHeader.request(1), ClientStreams.Violation.requestFromServer(streamID: 1)),
    (.response(2), .unknownStream(streamID: 2)),
    (.response(0), .unknownStream(streamID: 0)),
    (.response(3), .unknownStream(streamID: 3)),
    (.data(3), .unknownStream(streamID: 3)),
    (.data(1), .dataOnUnaryCall(streamID: 1)),
    (.response(1, bytes: 5 << 20), .oversize(streamID: 1, dataBytes: 5 << 20)),
    // The bytes of `HTTP/1.1 400`, read as a frame.
    (
      FrameHeader(
        dataBytes: 0x4854_5450, streamID: 0x2F31_2E31, type: FrameType(rawValue: 0x20), flags: []),
      .oversize(streamID: 0x2F31_2E31, dataBytes: 0x4854_5450)
    ),
  ])
  func `a server that breaks the protocol is detected`(
    header: FrameHeader, violation: ClientStreams.Violation
  ) {
    var streams = ClientStreams()
    _ = streams.open(.unary)
    #expect(streams.receive(header) == .violation(violation))
  }

  @Test func `a frame of an unknown type is ignored`() {
    var streams = ClientStreams()
    let header = FrameHeader(dataBytes: 0, streamID: 4, type: FrameType(rawValue: 9))
    #expect(streams.receive(header) == .ignore)
  }

  @Test func `only an open bidirectional stream can send, and only until it is half-closed`() {
    var streams = ClientStreams()
    _ = streams.open(.unary)
    _ = streams.open(.server)
    _ = streams.open(.bidirectional)
    #expect([1, 3, 5, 7].map(streams.canSend) == [false, false, true, false])
    #expect([1, 3, 7].map { streams.halfClose($0) } == [false, false, false])
    #expect(streams.halfClose(5) == true)
    #expect(streams.halfClose(5) == false)
    #expect(!streams.canSend(5))
    #expect(streams.receive(.data(5)) == .message(streamID: 5, isLast: false))
    #expect(streams.receive(.data(5, .endOfStream, bytes: 0)) == .end(streamID: 5))
  }
}
