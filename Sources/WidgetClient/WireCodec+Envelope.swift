import NIOCore
import WidgetProto
import WidgetTransport

extension WireCodec {
  /// Decodes one message from a buffer.
  func decode<M: WireMessage>(_ type: M.Type, from buffer: ByteBuffer) throws(WireError) -> M {
    let result: Result<M, WireError> = buffer.withUnsafeReadableBytes { bytes in
      do throws(WireError) { return .success(try decode(type, from: bytes)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// The frame that opens a call.
  func requestFrame<Request: WireMessage>(
    _ method: RPCMethod, _ request: Request, streamID: UInt32, kind: ClientStreams.Kind,
    timeout: Duration?, metadata: [MetadataEntry], allocator: ByteBufferAllocator
  ) throws(ClientError) -> ByteBuffer {
    typealias Written = Result<ByteBuffer, FrameTooLong>
    let written: Written
    do throws(WireError) {
      written = try withEncodedRequest(
        service: "\(method.service.name)", method: "\(method.name)", payload: request,
        timeoutNanoseconds: timeout?.wireNanoseconds ?? 0, metadata: metadata
      ) { message -> Written in
        guard message.byteCount <= FrameHeader.frameDataBytesMax else {
          return .failure(FrameTooLong(dataBytes: message.byteCount))
        }
        var frame = allocator.buffer(capacity: FrameHeader.bytes + message.byteCount)
        frame.writeFrameHeader(
          FrameHeader(
            dataBytes: UInt32(message.byteCount), streamID: streamID, type: .request,
            flags: kind.requestFlags))
        frame.writeWithUnsafeMutableBytes(minimumWritableBytes: message.byteCount) { bytes in
          if let start = bytes.baseAddress { message.pack(into: start) }
          return message.byteCount
        }
        return .success(frame)
      }
    } catch {
      throw .wire(error)
    }
    do throws(FrameTooLong) { return try written.get() } catch { throw .requestTooLong(error) }
  }

  /// The payload of a response, or the error that it carries.
  func decodeResponse(_ data: ByteBuffer) throws(ClientError) -> ByteBuffer {
    let response: TTRPCResponse
    do throws(WireError) {
      response = try decode(TTRPCResponse.self, from: data)
    } catch {
      throw .wire(error)
    }
    if let status = response.status, status.code != .ok { throw .status(status) }
    return ByteBuffer(bytes: response.payload)
  }
}

extension Duration {
  /// The envelope's value: at least 1, because 0 means no timeout.
  fileprivate var wireNanoseconds: Int64 { max(1, TimeAmount(self).nanoseconds) }
}
