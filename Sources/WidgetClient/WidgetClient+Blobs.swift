public import WidgetProto

/// Uploads and downloads of files, in pieces.
extension WidgetClient {
  /// The size of one call's piece of a file, in bytes.
  static let blobPieceBytes = 512 << 10

  /// The time for the deletion of the uploaded part of a file. The caller has no answer before. If the
  /// daemon reads the request later, it still deletes the part.
  static let abandonTime = Duration.milliseconds(500)

  /// Uploads a file. If that fails, the daemon deletes the uploaded part, at the latest when it expires
  /// (`blob_idle_seconds`).
  ///
  /// - Parameters:
  ///   - next: the next piece of the file, of any size; empty at its end.
  ///   - name: the name of the file.
  ///   - contentType: the media type of the file, or empty.
  /// - Returns: the blob's id, for use in an event.
  public func upload(
    name: String, contentType: String = "", options: CallOptions = CallOptions(),
    next: (_ bytesMax: Int) throws -> [UInt8]
  ) async throws -> String {
    var answer = UploadBlobResponse()
    do {
      while true {
        let piece = try next(WidgetClient.blobPieceBytes)
        if piece.isEmpty, !answer.blobID.isEmpty { break }
        answer = try await uploadBlob(
          UploadBlobRequest(
            blobID: answer.blobID, offset: answer.size, data: piece,
            name: answer.blobID.isEmpty ? name : "",
            contentType: answer.blobID.isEmpty ? contentType : ""), options: options)
        if piece.isEmpty { break }
      }
    } catch {
      // Nobody can use an unfinished blob.
      await abandon(answer.blobID)
      throw error
    }
    return answer.blobID
  }

  /// Deletes the uploaded part of a file, even if the task is cancelled: cancellation may be the
  /// reason.
  private func abandon(_ blobID: String) async {
    guard !blobID.isEmpty else { return }
    let options = CallOptions(timeout: WidgetClient.abandonTime)
    await Task {
      _ = try? await self.deleteBlob(DeleteBlobRequest(blobID: blobID), options: options)
    }
    .value
  }

  /// Reads a whole blob.
  ///
  /// - Parameters:
  ///   - bytesMax: the maximum size; a larger blob is an error.
  ///   - uid: the user who must have uploaded the blob: the sender of the event that names it. nil
  ///     for any blob that the caller may read.
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
