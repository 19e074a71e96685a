import CWidgetProto
import MessageTypes
import NIOCore
import WidgetTransport

@testable import WidgetProto

#if GRPC
  @testable import WidgetGRPC
#endif

/// ttrpc: the frames are the same however the bytes are split, and the state machine opens no more
/// streams than allowed.
func fuzzFrames(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let bytes = input.dropFirst()
  func read(_ lengths: [Int]) -> [FrameReader.Item] {
    var reader = FrameReader()
    var server = ServerStreams(openStreamsMax: 4)
    var items: [FrameReader.Item] = []
    var offset = bytes.startIndex
    for length in lengths {
      reader.append(ByteBuffer(bytes: bytes[offset..<(offset + length)]))
      offset += length
      while let item = reader.next() {
        items.append(item)
        let header: FrameHeader
        switch item {
        case .frame(let frame):
          require(frame.data.readableBytes == Int(frame.header.dataBytes), "a frame is cut")
          header = frame.header
        case .oversize(let found): header = found
        }
        let action = server.receive(header)
        require(server.openCount <= 4, "\(server.openCount) streams are open")
        switch action {
        case .openStream(let id, _), .message(let id, _), .halfClose(let id):
          require(server.isOpen(id), "\(action) is for a stream that is not open")
          if header.flags.rawValue & 0x80 != 0 { require(server.end(id), "it was open") }
        case .fail(let id, _), .refuse(let id, _), .unaryCall(let id):
          require(!server.isOpen(id), "\(action) leaves the stream open")
        default: break
        }
      }
      require(
        reader.bufferedBytes <= FrameHeader.bytes + FrameHeader.frameDataBytesMax,
        "\(reader.bufferedBytes) bytes are held")
    }
    return items
  }
  let whole = read([bytes.count])
  require(read(pieces(of: bytes.count, by: choice)) == whole, "pieces give other frames")
}

/// Every type of message: decoded bytes have a stable meaning, which is that of protobuf-c's own reader.
/// The first byte chooses the type.
func fuzzMessages(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let type = MessageType.all[Int(choice) % MessageType.all.count]
  do throws(WireError) {
    let bytes = Array(input.dropFirst())
    let once = try type.recode(codec, bytes)
    let twice: [UInt8]
    do throws(WireError) { twice = try type.recode(codec, once) } catch {
      fatalError("\(type.name) cannot read what it has written: \(error)")
    }
    require(once == twice, "\(type.name) changes when it is encoded again")
    type.accept(LibraryReader(bytes: bytes, recoded: once))
  } catch {
    require(!error.reason.isEmpty, "an error without a reason")
  }
  compareReaders(Array(input.dropFirst()))
}

/// Bytes that our reader takes have the same meaning for protobuf-c's.
private struct LibraryReader: MessageVisitor {
  let bytes: [UInt8]
  let recoded: [UInt8]

  func visit<M: WireMessage>(_ type: M.Type) {
    let read = bytes.withUnsafeBufferPointer {
      protobuf_c_message_unpack(M.schema.descriptor, nil, $0.count, $0.baseAddress)
    }
    guard let read else { fatalError("protobuf-c does not read a \(type) that we read") }
    defer { protobuf_c_message_free_unpacked(read, nil) }
    let source = WireSource(message: UnsafeRawPointer(read), reader: Reader(codec: codec))
    do throws(WireError) {
      require(
        try codec.encode(try M(unpacked: source)) == recoded, "protobuf-c reads another \(type)")
    } catch {
      fatalError("only protobuf-c's \(type) cannot be converted: \(error)")
    }
  }
}

/// A message that is read without structs is equal to the message of the structs.
private func compareReaders(_ bytes: [UInt8]) {
  bytes.withUnsafeBytes { raw in
    guard let direct = UpdateWidgetRequest.readDirectly(raw) else { return }
    do throws(WireError) {
      let byStructs = try codec.decodeByStructs(UpdateWidgetRequest.self, from: raw)
      require(
        try codec.encode(direct) == codec.encode(byStructs), "two readers read different requests")
    } catch {
      // Only the structs need the arena.
      guard case .budgetExceeded = error else { fatalError("only one reader takes it: \(error)") }
    }
  }
}

private nonisolated(unsafe) let codec = WireCodec(limits: WireLimits(arenaBytesMax: 1 << 20))

#if GRPC
  /// HTTP/2: every byte passes once and in order, and the split into pieces does not matter.
  func fuzzHTTP2(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let bytes = Array(input.dropFirst())
    typealias Scan = (passed: [UInt8], controls: [ControlFrameScanner.Piece], isFlood: Bool)
    func scan(_ lengths: [Int]) -> Scan {
      // A short opening leaves more of the input for the frames.
      var scanner = ControlFrameScanner(openingBytes: 1)
      var passed: [UInt8] = []
      var controls: [ControlFrameScanner.Piece] = []
      var offset = 0
      for length in lengths {
        scanner.receive(ByteBuffer(bytes: bytes[offset..<(offset + length)]))
        offset += length
        while let piece = scanner.next() {
          switch piece {
          case .ping(_, let frame), .reset(_, let frame):
            controls.append(piece)
            passed += Array(frame.readableBytesView)
          case .other(let frame):
            require(frame.readableBytes > 0, "an empty piece")
            passed += Array(frame.readableBytesView)
          }
        }
        // Nothing passes after the bytes before a flood.
        if scanner.isFlood { break }
        let held = offset - passed.count
        require((0..<17).contains(held), "\(held) bytes are held")
      }
      return (passed, controls, scanner.isFlood)
    }
    let (whole, parts) = (scan([bytes.count]), scan(pieces(of: bytes.count, by: choice)))
    require(bytes.starts(with: whole.passed), "bytes are missing or out of order")
    require(whole.passed == parts.passed && whole.controls == parts.controls, "pieces differ")
    require(whole.isFlood == parts.isFlood, "only some splits are a flood")

    func cut(_ lengths: [Int]) -> [UInt8] {
      var cutter = FrameCutter(openingBytes: 1)
      var passed: [UInt8] = []
      var offset = 0
      for length in lengths {
        cutter.receive(ByteBuffer(bytes: bytes[offset..<(offset + length)]))
        offset += length
        while cutter.hasMore {
          let piece = cutter.next().map { Array($0.readableBytesView) } ?? []
          require(!piece.isEmpty, "an empty piece")
          passed += piece
        }
        require((0..<9).contains(offset - passed.count), "a part of a head is held at most")
      }
      return passed
    }
    require(bytes.starts(with: cut([bytes.count])), "bytes are missing or out of order")
    require(
      cut([bytes.count]) == cut(pieces(of: bytes.count, by: choice)), "pieces change what passes")

    func follow(_ lengths: [Int]) -> (MessageScanner.Fault?, Int) {
      var scanner = MessageScanner(bytesMax: 1 << 16)
      scanner.allowsCompressed = choice & 1 == 1
      var offset = 0
      for length in lengths {
        let fault = scanner.scan(ByteBuffer(bytes: bytes[offset..<(offset + length)]))
        offset += length
        if let fault { return (fault, 0) }
        require(scanner.incompleteBytes <= offset, "more is incomplete than has arrived")
      }
      return (nil, scanner.incompleteBytes)
    }
    require(
      follow([bytes.count]) == follow(pieces(of: bytes.count, by: choice)),
      "pieces give other messages")
  }
#endif
