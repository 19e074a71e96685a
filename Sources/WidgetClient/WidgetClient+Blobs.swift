public import WidgetProto

/// Files in pieces.
extension WidgetClient {
  /// How many bytes of a file one call carries.
  static let blobPieceBytes = 512 << 10

  /// Uploads a file.
  ///
  /// - Parameters:
  ///   - next: the next piece of the file, of any size; empty at its end.
  ///   - name: what the file is called.
  ///   - contentType: its media type, or empty.
  /// - Returns: the blob's id, to be named in an event.
  public func upload(
    name: String, contentType: String = "", options: CallOptions = CallOptions(),
    next: (_ bytesMax: Int) throws -> [UInt8]
  ) async throws -> String {
    var answer = UploadBlobResponse()
    repeat {
      let piece = try next(WidgetClient.blobPieceBytes)
      if piece.isEmpty, !answer.blobID.isEmpty { break }
      do {
        answer = try await uploadBlob(
          UploadBlobRequest(
            blobID: answer.blobID, offset: answer.size, data: piece,
            name: answer.blobID.isEmpty ? name : "",
            contentType: answer.blobID.isEmpty ? contentType : ""), options: options)
      } catch {
        // What cannot be finished is of use to nobody.
        if !answer.blobID.isEmpty {
          _ = try? await deleteBlob(DeleteBlobRequest(blobID: answer.blobID), options: options)
        }
        throw error
      }
      if piece.isEmpty { break }
    } while true
    return answer.blobID
  }

  /// Reads a whole blob.
  ///
  /// - Parameters:
  ///   - bytesMax: larger ones are an error.
  ///   - uid: whose it must be: the sender of the event that names it. nil for any that the caller may
  ///     read.
  public func blob(
    _ id: String, bytesMax: Int, of uid: UInt32? = nil, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ReadBlobResponse {
    var whole = ReadBlobResponse()
    while true {
      let piece = try await readBlob(
        ReadBlobRequest(blobID: id, offset: UInt64(whole.data.count), forUID: uid),
        options: options)
      (whole.size, whole.name, whole.contentType) = (piece.size, piece.name, piece.contentType)
      guard !piece.data.isEmpty, whole.size <= UInt64(bytesMax) else { return whole }
      whole.data += piece.data
    }
  }
}
