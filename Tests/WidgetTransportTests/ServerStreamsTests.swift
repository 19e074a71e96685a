import Testing
import WidgetTransport

@Suite struct ServerStreamsTests {
  private typealias Action = ServerStreams.Action

  @Test(arguments: [
    (FrameFlags(), Action.unaryCall(streamID: 1)),
    (.noData, .unaryCall(streamID: 1)),
    (.remoteClosed, .openStream(streamID: 1, kind: .server)),
    (.remoteOpen, .openStream(streamID: 1, kind: .bidirectional)),
  ])
  func `the flags of a request decide the kind of the call`(
    flags: FrameFlags, expected: ServerStreams.Action
  ) {
    var streams = ServerStreams()
    #expect(streams.receive(.request(1, flags)) == expected)
  }

  @Test func `a request cannot both close and open`() {
    var streams = ServerStreams()
    #expect(streams.receive(.request(1, [.remoteClosed, .remoteOpen])).code == .invalidArgument)
    #expect(streams.openCount == 0)
  }

  @Test(arguments: [0, 2, 0xFFFF_FFFE] as [UInt32])
  func `an even stream id is refused on that id and the connection goes on`(id: UInt32) {
    var streams = ServerStreams()
    for header in [FrameHeader.request(id), .request(id, .remoteOpen), .data(id)] {
      let action = streams.receive(header)
      #expect(action.refused == id)
      #expect(action.code == .invalidArgument)
    }
    #expect(streams.receive(.request(1)) == .unaryCall(streamID: 1))
    #expect(streams.faultyFrames == 3)
  }

  @Test(arguments: [5, 3, 1] as [UInt32])
  func `a stream id that does not increase is refused`(id: UInt32) {
    var streams = ServerStreams()
    #expect(streams.receive(.request(5)) == .unaryCall(streamID: 5))
    let action = streams.receive(.request(id))
    #expect(action.refused == id)
    #expect(action.code == .invalidArgument)
    #expect(streams.receive(.request(7)) == .unaryCall(streamID: 7))
  }

  @Test func `a request on the id of an open stream ends that stream`() {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteClosed))
    #expect(streams.receive(.request(1)).failed == 1)
    #expect(!streams.isOpen(1))
  }

  @Test func `the highest stream id can be used`() {
    var streams = ServerStreams()
    #expect(streams.receive(.request(.max)) == .unaryCall(streamID: .max))
    #expect(streams.receive(.request(.max)).refused == .max)
  }

  /// The result of one data frame for a bidirectional stream.
  @Test(
    arguments: [
      (FrameFlags(), 3, Action.message(streamID: 1, isLast: false)),
      ([], 0, .message(streamID: 1, isLast: false)),
      (.remoteClosed, 3, .message(streamID: 1, isLast: true)),
      (.remoteClosed, 0, .message(streamID: 1, isLast: true)),
      (.endOfStream, 0, .halfClose(streamID: 1)),
      (.noData, 0, .ignore(.empty)),
    ] as [(FrameFlags, UInt32, ServerStreams.Action)])
  func `a data frame is a message, a half-close, both or nothing`(
    flags: FrameFlags, bytes: UInt32, expected: ServerStreams.Action
  ) {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteOpen))
    #expect(streams.receive(.data(1, flags, bytes: bytes)) == expected)
    #expect(streams.isOpen(1), "the server still has to end its half")
  }

  @Test(arguments: [FrameFlags(), .remoteClosed, .noData, .endOfStream])
  func `data after the client closed its half fails the stream`(flags: FrameFlags) {
    let ways: [[FrameHeader]] = [
      [.request(1, .remoteClosed)],
      [.request(1, .remoteOpen), .data(1, .endOfStream, bytes: 0)],
      [.request(1, .remoteOpen), .data(1, .remoteClosed)],
    ]
    for opening in ways {
      var streams = ServerStreams()
      for header in opening { _ = streams.receive(header) }
      let action = streams.receive(.data(1, flags, bytes: 0))
      #expect(action.failed == 1)
      #expect(action.code == .invalidArgument)
      #expect(streams.openCount == 0)
      #expect(streams.receive(.data(1)) == .ignore(.streamNotOpen(streamID: 1)))
    }
  }

  @Test(arguments: [FrameFlags.noData, .endOfStream])
  func `a no-data frame with data fails the stream`(flags: FrameFlags) {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteOpen))
    let action = streams.receive(.data(1, flags, bytes: 1))
    #expect(action.failed == 1)
    #expect(action.code == .invalidArgument)
  }

  @Test func `data for streams that are not open is ignored and counted`() {
    var streams = ServerStreams()
    #expect(streams.receive(.data(9)) == .ignore(.streamNotOpen(streamID: 9)))
    _ = streams.receive(.request(11))
    #expect(streams.receive(.data(11)) == .ignore(.streamNotOpen(streamID: 11)))
    _ = streams.receive(.request(13, .remoteOpen))
    #expect(streams.end(13) == true)
    #expect(streams.receive(.data(13)) == .ignore(.streamNotOpen(streamID: 13)))
    #expect(streams.ignoredFrames == 3)
    #expect(streams.faultyFrames == 0)
  }

  @Test(arguments: [0, 4, 9, 255] as [UInt8])
  func `a frame of an unknown type is ignored and counted`(type: UInt8) {
    var streams = ServerStreams()
    let type = FrameType(rawValue: type)
    for id in [0, 1, 2] as [UInt32] {
      let header = FrameHeader(dataBytes: 0, streamID: id, type: type)
      #expect(streams.receive(header) == .ignore(.unknownType(type)))
    }
    #expect(streams.ignoredFrames == 3)
    #expect(streams.receive(.request(1)) == .unaryCall(streamID: 1))
  }

  @Test func `a response from a client closes the connection`() {
    var streams = ServerStreams()
    #expect(streams.receive(.response(1)) == .close(.responseFromClient(streamID: 1)))
  }

  @Test func `a request that is too long is refused and its id is used up`() {
    var streams = ServerStreams()
    let tooLong = UInt32(FrameHeader.frameDataBytesMax) + 1
    let action = streams.receive(.request(3, .remoteOpen, bytes: tooLong))
    #expect(action.refused == 3)
    #expect(action.code == .resourceExhausted)
    #expect(streams.openCount == 0)
    #expect(streams.receive(.request(3)).refused == 3)
    #expect(streams.receive(.request(5)) == .unaryCall(streamID: 5))
  }

  @Test func `a message that is too long fails its stream`() {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteOpen))
    let action = streams.receive(.data(1, bytes: .max))
    #expect(action.failed == 1)
    #expect(action.code == .resourceExhausted)
    #expect(!streams.isOpen(1))
  }

  @Test func `a stream above the limit is refused until one ends`() {
    var streams = ServerStreams(openStreamsMax: 2)
    _ = streams.receive(.request(1, .remoteClosed))
    _ = streams.receive(.request(3, .remoteOpen))
    let action = streams.receive(.request(5, .remoteClosed))
    #expect(action.refused == 5)
    #expect(action.code == .resourceExhausted)
    #expect(streams.receive(.request(7)) == .unaryCall(streamID: 7), "calls are not streams")
    #expect(streams.end(1) == true)
    #expect(
      streams.receive(.request(9, .remoteClosed)) == .openStream(streamID: 9, kind: .server))
    #expect(streams.openStreamIDs.sorted() == [3, 9])
  }

  @Test func `a second end of a stream returns false`() {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteClosed))
    #expect(streams.end(1) == true)
    #expect(streams.end(1) == false)
    #expect(streams.end(99) == false)
  }

  @Test func `streams do not disturb each other`() {
    var streams = ServerStreams()
    _ = streams.receive(.request(1, .remoteOpen))
    _ = streams.receive(.request(3, .remoteOpen))
    #expect(streams.receive(.data(1, .endOfStream, bytes: 0)) == .halfClose(streamID: 1))
    #expect(streams.receive(.data(3)) == .message(streamID: 3, isLast: false))
    #expect(streams.receive(.data(1)).failed == 1)
    #expect(streams.receive(.data(3)) == .message(streamID: 3, isLast: false))
  }
}

extension ServerStreams.Action {
  var refused: UInt32? {
    if case .refuse(let streamID, _) = self { streamID } else { nil }
  }

  var failed: UInt32? {
    if case .fail(let streamID, _) = self { streamID } else { nil }
  }

  var code: ProtocolError.Code? {
    switch self {
    case .refuse(_, let error), .fail(_, let error): error.code
    default: nil
    }
  }
}
