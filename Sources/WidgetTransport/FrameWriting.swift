public import NIOCore

extension ByteBuffer {
  /// Writes a header; the caller writes `header.dataBytes` bytes after it.
  public mutating func writeFrameHeader(_ header: FrameHeader) {
    // The bytes are written by hand, because each answer has a header, and `writeMultipleIntegers`
    // takes three times as many instructions.
    writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.bytes) { bytes in
      bytes.storeBytes(of: header.dataBytes.bigEndian, as: UInt32.self)
      bytes.storeBytes(of: header.streamID.bigEndian, toByteOffset: 4, as: UInt32.self)
      bytes[8] = header.type.rawValue
      bytes[9] = header.flags.rawValue
      return FrameHeader.bytes
    }
  }

  /// Reads a header without consuming it; nil if fewer than ten bytes are there.
  public func peekFrameHeader() -> FrameHeader? {
    guard
      let (dataBytes, streamID, type, flags) = getMultipleIntegers(
        at: readerIndex, as: (UInt32, UInt32, UInt8, UInt8).self)
    else { return nil }
    return FrameHeader(
      dataBytes: dataBytes, streamID: streamID, type: FrameType(rawValue: type),
      flags: FrameFlags(rawValue: flags))
  }

  /// Writes a whole frame, copying the data.
  ///
  /// - Throws: `FrameTooLong` if the data is longer than a frame may carry; nothing is written.
  public mutating func writeFrame(
    _ type: FrameType, flags: FrameFlags = [], streamID: UInt32, data: ByteBuffer
  ) throws(FrameTooLong) {
    let dataBytes = try FrameTooLong.check(data.readableBytes)
    reserveCapacity(minimumWritableBytes: FrameHeader.bytes + data.readableBytes)
    writeFrameHeader(
      FrameHeader(dataBytes: dataBytes, streamID: streamID, type: type, flags: flags))
    writeImmutableBuffer(data)
  }

  /// Writes a whole frame whose data `body` writes directly into this buffer.
  ///
  /// - Throws: the error of `body`, or `FrameTooLong`; the buffer is then as it was before.
  public mutating func writeFrame<Failure: Error>(
    _ type: FrameType, flags: FrameFlags = [], streamID: UInt32,
    body: (inout ByteBuffer) throws(Failure) -> Void
  ) throws(FrameBodyError<Failure>) {
    let start = writerIndex
    writeFrameHeader(FrameHeader(dataBytes: 0, streamID: streamID, type: type, flags: flags))
    do throws(Failure) {
      try body(&self)
    } catch {
      moveWriterIndex(to: start)
      throw .body(error)
    }
    do throws(FrameTooLong) {
      let dataBytes = try FrameTooLong.check(writerIndex - start - FrameHeader.bytes)
      setInteger(dataBytes, at: start)
    } catch {
      moveWriterIndex(to: start)
      throw .tooLong(error)
    }
  }

  /// Writes the data frame that ends this side of a stream without an error and without a message.
  public mutating func writeEndOfStream(streamID: UInt32) {
    writeFrameHeader(
      FrameHeader(dataBytes: 0, streamID: streamID, type: .data, flags: .endOfStream))
  }
}

/// A message does not fit in a frame. The peer would refuse it, so it is not sent.
public struct FrameTooLong: Error, Hashable, Sendable, CustomStringConvertible {
  /// The size of the data.
  public let dataBytes: Int

  public init(dataBytes: Int) { self.dataBytes = dataBytes }

  /// The length in the form of a header.
  static func check(_ dataBytes: Int) throws(FrameTooLong) -> UInt32 {
    guard dataBytes <= FrameHeader.frameDataBytesMax else {
      throw FrameTooLong(dataBytes: dataBytes)
    }
    return UInt32(dataBytes)
  }

  public var description: String {
    "a message of \(dataBytes) bytes is longer than the \(FrameHeader.frameDataBytesMax) bytes"
      + " that a frame carries; \(FrameHeader.oversizeAdvice)"
  }
}

/// The reason why a frame could not be written.
public enum FrameBodyError<Failure: Error>: Error {
  /// The closure that writes the data failed.
  case body(Failure)
  /// The data is longer than a frame may carry.
  case tooLong(FrameTooLong)
}
