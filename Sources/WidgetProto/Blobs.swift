import CWidgetProto

// The messages of BlobService.

/// Adds a piece to a blob, or begins one.
public struct UploadBlobRequest: Hashable, Sendable {
  /// Empty to begin a new blob.
  public var blobID: String
  /// The number of bytes before the piece.
  public var offset: UInt64
  public var data: [UInt8]
  /// The name of the file; with the first piece.
  public var name: String
  /// The media type of the file; with the first piece.
  public var contentType: String

  public init(
    blobID: String = "", offset: UInt64 = 0, data: [UInt8], name: String = "",
    contentType: String = ""
  ) {
    self.blobID = blobID
    self.offset = offset
    self.data = data
    self.name = name
    self.contentType = contentType
  }
}

extension UploadBlobRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UploadBlobRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      blobID: reader.string(c.pointee.blob_id), offset: c.pointee.offset,
      data: reader.bytes(c.pointee.data), name: reader.string(c.pointee.name),
      contentType: reader.string(c.pointee.content_type))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UploadBlobRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.blob_id = try writer.string("blob_id", blobID)
    c.pointee.offset = offset
    c.pointee.data = try writer.bytes(data)
    c.pointee.name = try writer.string("name", name)
    c.pointee.content_type = try writer.string("content_type", contentType)
  }
}

/// The blob after a piece was added.
public struct UploadBlobResponse: Hashable, Sendable {
  public var blobID: String
  /// The size in bytes.
  public var size: UInt64
  /// The time for which the daemon keeps an unused blob.
  public var idle: Duration?

  public init(blobID: String = "", size: UInt64 = 0, idle: Duration? = nil) {
    self.blobID = blobID
    self.size = size
    self.idle = idle
  }
}

extension UploadBlobResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__UploadBlobResponse>, _ reader: Reader) throws(WireError) {
    self.init(
      blobID: reader.string(c.pointee.blob_id), size: c.pointee.size,
      idle: try reader.duration("idle", c.pointee.idle))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__UploadBlobResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.blob_id = try writer.string("blob_id", blobID)
    c.pointee.size = size
    c.pointee.idle = try writer.duration("idle", optional: idle)
  }
}

/// Asks for a piece of a blob.
public struct ReadBlobRequest: Hashable, Sendable {
  public var blobID: String
  public var offset: UInt64
  /// The maximum number of bytes. Default (0): as many bytes as fit.
  public var sizeMax: UInt32
  /// The blob must be this user's; nil for any that the caller may read.
  public var forUID: UInt32?

  public init(blobID: String, offset: UInt64 = 0, sizeMax: UInt32 = 0, forUID: UInt32? = nil) {
    self.blobID = blobID
    self.offset = offset
    self.sizeMax = sizeMax
    self.forUID = forUID
  }
}

extension ReadBlobRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ReadBlobRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      blobID: reader.string(c.pointee.blob_id), offset: c.pointee.offset,
      sizeMax: c.pointee.size_max)
    if c.pointee._for_uid_case == WIDGETD__V1__READ_BLOB_REQUEST___FOR_UID_FOR_UID {
      forUID = c.pointee.for_uid
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ReadBlobRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.blob_id = try writer.string("blob_id", blobID)
    c.pointee.offset = offset
    c.pointee.size_max = sizeMax
    if let forUID {
      c.pointee._for_uid_case = WIDGETD__V1__READ_BLOB_REQUEST___FOR_UID_FOR_UID
      c.pointee.for_uid = forUID
    }
  }
}

/// A piece of a blob.
public struct ReadBlobResponse: Hashable, Sendable {
  /// Empty at the end.
  public var data: [UInt8]
  /// The size of the blob, in bytes.
  public var size: UInt64
  public var name: String
  public var contentType: String

  public init(data: [UInt8] = [], size: UInt64 = 0, name: String = "", contentType: String = "") {
    self.data = data
    self.size = size
    self.name = name
    self.contentType = contentType
  }
}

extension ReadBlobResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ReadBlobResponse>, _ reader: Reader) throws(WireError) {
    self.init(
      data: reader.bytes(c.pointee.data), size: c.pointee.size,
      name: reader.string(c.pointee.name), contentType: reader.string(c.pointee.content_type))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ReadBlobResponse>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.data = try writer.bytes(data)
    c.pointee.size = size
    c.pointee.name = try writer.string("name", name)
    c.pointee.content_type = try writer.string("content_type", contentType)
  }
}

/// Deletes a blob.
public struct DeleteBlobRequest: Hashable, Sendable {
  public var blobID: String

  public init(blobID: String) { self.blobID = blobID }
}

extension DeleteBlobRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteBlobRequest>, _ reader: Reader) throws(WireError) {
    self.init(blobID: reader.string(c.pointee.blob_id))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteBlobRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.blob_id = try writer.string("blob_id", blobID)
  }
}

/// The answer to `DeleteBlobRequest`: there is no such blob any more.
public struct DeleteBlobResponse: Hashable, Sendable {
  public init() {}
}

extension DeleteBlobResponse: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__DeleteBlobResponse>, _ reader: Reader) throws(WireError) {}

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__DeleteBlobResponse>, _ writer: Writer
  ) throws(WireError) {}
}
