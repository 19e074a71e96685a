import CSQLite
import Glibc

/// The checksum of a row: XXH64 of the table's name and of the columns. The result for each part is
/// the seed for the next part. So the checksum detects a changed byte, and a row with the value of
/// another row or table.
///
/// It is the column `checksum` of each table. In SQL it is the function `row_checksum(table, …)`,
/// which gave old rows their checksums.
struct RowChecksum {
  private var hash: UInt64 = 0

  init(_ table: StaticString) {
    hash = csqlite_hash(table.utf8Start, table.utf8CodeUnitCount, 0)
  }

  init() {}

  init(_ table: StaticString, number: Int64? = nil, text: UnsafeRawBufferPointer) {
    self.init(table)
    if let number { add(number) }
    add(text)
  }

  init(_ table: StaticString, text: UnsafeRawBufferPointer, blob: UnsafeRawBufferPointer) {
    self.init(table, text: text)
    add(blob)
  }

  func adding(_ number: Int64) -> RowChecksum {
    var result = self
    result.add(number)
    return result
  }

  func adding(_ bytes: UnsafeRawBufferPointer) -> RowChecksum {
    var result = self
    result.add(bytes)
    return result
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    hash = csqlite_hash(bytes.baseAddress, bytes.count, hash)
  }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  mutating func add(_ number: Int64) {
    withUnsafeBytes(of: number.littleEndian) { add($0) }
  }

  mutating func add(_ number: UInt64) { add(Int64(bitPattern: number)) }

  /// The value in the database.
  var value: Int64 { Int64(bitPattern: hash) }

  /// Adds the function to a connection.
  static func register(on connection: DatabaseConnection) throws(StorageError) {
    let code = sqlite3_create_function_v2(
      connection.handle, "row_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, count, values in
        var checksum = RowChecksum()
        for index in 0..<Int(count) {
          guard let value = values?[index] else { continue }
          switch sqlite3_value_type(value) {
          case SQLITE_INTEGER: checksum.add(sqlite3_value_int64(value))
          default:
            // The bytes of text and of blobs need no conversion.
            let start = sqlite3_value_blob(value)
            checksum.add(
              UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
          }
        }
        sqlite3_result_int64(context, checksum.value)
      }, nil, nil, nil)
    try connection.check(code)
  }
}
