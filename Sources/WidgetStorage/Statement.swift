import CSQLite

/// A prepared statement. Parameters are numbered from 1, columns from 0.
final class Statement {
  private let handle: OpaquePointer
  private let connection: DatabaseConnection

  init(_ sql: String, on connection: DatabaseConnection) throws(StorageError) {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK else { throw connection.error(code) }
    guard let prepared else {
      throw .unexpected(path: connection.path, detail: "empty statement")
    }
    handle = prepared
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  // MARK: Parameters

  func bind(_ number: Int64, at index: Int32) throws(StorageError) {
    try connection.check(sqlite3_bind_int64(handle, index, number))
  }

  /// Numbers are stored by their bit pattern. That changes the order from 2^63 on, but only epochs
  /// and fingerprints are so large.
  func bind(_ number: UInt64, at index: Int32) throws(StorageError) {
    try bind(Int64(bitPattern: number), at: index)
  }

  func bind(_ text: String, at index: Int32) throws(StorageError) {
    var text = text
    let code = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bytes in
        sqlite3_bind_text(handle, index, bytes.baseAddress, Int32(bytes.count), transient)
      }
    }
    try connection.check(code)
  }

  /// Binds text without copying it: the bytes must stay until `run` has returned.
  func bindText(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(StorageError) {
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    try connection.check(sqlite3_bind_text(handle, index, start, Int32(bytes.count), nil))
  }

  /// Binds bytes without copying them: they must stay until `run` has returned.
  func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32) throws(StorageError) {
    guard bytes.count > 0 else {
      return try connection.check(sqlite3_bind_zeroblob(handle, index, 0))
    }
    guard let count = Int32(exactly: bytes.count) else {
      throw .unrepresentable(path: connection.path, detail: "\(bytes.count) bytes")
    }
    try connection.check(sqlite3_bind_blob(handle, index, bytes.baseAddress, count, nil))
  }

  // MARK: Running

  /// Goes to the next row. Returns false after the last row; the statement can then run again.
  func step() throws(StorageError) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    // Resetting repeats the error of the last step.
    let reset = sqlite3_reset(handle)
    guard code == SQLITE_DONE else { throw connection.error(code) }
    try connection.check(reset)
    return false
  }

  /// Runs a statement that has no rows.
  func run() throws(StorageError) {
    while try step() {}
  }

  // MARK: Columns of the current row

  func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// The bytes of a text or a blob. Valid until the next step, and until `text` or `number` of the
  /// same column.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer { blob(column) }

  /// Valid until the next step.
  func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }
}

/// Makes SQLite copy the bound data.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
