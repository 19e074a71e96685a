/// Checks that an archive is complete. libarchive accepts incomplete archives: a zip without its
/// directory, a tar without an end, a gzip stream without its checksum. A bundle is installed as a
/// whole or not at all, so this type checks the end of an archive before libarchive reads it.
///
/// Sources: PKWARE APPNOTE 6.3.10 (sections 4.3.7, 4.3.12, 4.3.16), POSIX.1-2017 pax (ustar interchange
/// format), RFC 1952 (section 2.3).
enum ArchiveCompleteness {
  /// Checks that a zip ends with its directory, and that the directory lists every entry.
  ///
  /// - Returns: the number of entries in the directory.
  static func checkZip(
    _ bytes: [UInt8], entriesMax: Int
  ) throws(BundleInstallerError) -> Int {
    guard let end = endOfZip(bytes) else { throw cut("the directory at its end is missing") }
    let count = Int(bytes.littleEndian16(at: end + 10))
    let length = Int(bytes.littleEndian32(at: end + 12))
    let start = Int(bytes.littleEndian32(at: end + 16))
    guard count != 0xFFFF, length != 0xFFFF_FFFF, start != 0xFFFF_FFFF else {
      throw .refused("the archive is a zip64", hint: "pack it as a plain zip")
    }
    guard bytes.littleEndian32(at: end + 4) == 0, Int(bytes.littleEndian16(at: end + 8)) == count
    else { throw .refused("the archive is one of several parts", hint: "pack it as one file") }
    guard count <= entriesMax else { throw .tooManyEntries(entriesMax) }
    guard start + length == end else { throw cut("its directory is not where its end says") }
    var place = start
    for _ in 0..<count {
      guard place + 46 <= end, bytes.littleEndian32(at: place) == 0x0201_4B50 else {
        throw cut("its directory has fewer entries than its end says")
      }
      let local = Int(bytes.littleEndian32(at: place + 42))
      guard local + 30 <= start, bytes.littleEndian32(at: local) == 0x0403_4B50 else {
        throw cut("an entry of its directory leads nowhere")
      }
      guard agree(bytes, entry: place, local: local, start: start) else {
        throw cut("its directory describes another entry than the one it leads to")
      }
      place +=
        46 + Int(bytes.littleEndian16(at: place + 28)) + Int(bytes.littleEndian16(at: place + 30))
        + Int(bytes.littleEndian16(at: place + 32))
    }
    guard place == end else { throw cut("its directory is longer than its end says") }
    return count
  }

  /// Whether an entry of the directory and the header before its contents describe the same file:
  /// its name, method, checksum and sizes. libarchive reads only the headers.
  ///
  /// - Parameters:
  ///   - entry: the offset of the directory's entry.
  ///   - local: the offset of the entry's header.
  ///   - start: the offset of the directory.
  private static func agree(_ bytes: [UInt8], entry: Int, local: Int, start: Int) -> Bool {
    // Encrypted (bit 0), and whether checksum and sizes follow the contents (bit 3).
    let flags = bytes.littleEndian16(at: entry + 8) & 0x9
    let nameLength = Int(bytes.littleEndian16(at: entry + 28))
    guard bytes.littleEndian16(at: local + 6) & 0x9 == flags,
      bytes.littleEndian16(at: local + 8) == bytes.littleEndian16(at: entry + 10),
      Int(bytes.littleEndian16(at: local + 26)) == nameLength,
      entry + 46 + nameLength <= bytes.count, local + 30 + nameLength <= start,
      bytes[(entry + 46)...].prefix(nameLength) == bytes[(local + 30)...].prefix(nameLength)
    else { return false }
    let checksum = bytes.littleEndian32(at: entry + 16)
    let packed = bytes.littleEndian32(at: entry + 20)
    let unpacked = bytes.littleEndian32(at: entry + 24)
    let contents = local + 30 + nameLength + Int(bytes.littleEndian16(at: local + 28))
    let end = contents + Int(packed)
    guard end <= start else { return false }
    guard flags & 0x8 != 0 else {
      // All ones: the size is in a field for zip64.
      let sizes = [(local + 18, packed), (local + 22, unpacked)]
      return bytes.littleEndian32(at: local + 14) == checksum
        && sizes.allSatisfy {
          [$0.1, 0xFFFF_FFFF].contains(bytes.littleEndian32(at: $0.0))
        }
    }
    // The record behind the contents may begin with a mark; its sizes have 4 or 8 bytes.
    return [end, end + 4].contains { record in
      record + 12 <= start && bytes.littleEndian32(at: record) == checksum
        && bytes.littleEndian32(at: record + 4) == packed
        && [record + 8, record + 12].contains {
          $0 + 4 <= start && bytes.littleEndian32(at: $0) == unpacked
        }
    }
  }

  /// The offset of the record at the end of a zip. Only the zip's comment may follow it.
  private static func endOfZip(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 22 else { return nil }
    let last = bytes.count - 22
    return stride(from: last, through: max(0, last - 0xFFFF), by: -1).first { place in
      bytes.littleEndian32(at: place) == 0x0605_4B50
        && place + 22 + Int(bytes.littleEndian16(at: place + 20)) == bytes.count
    }
  }

  /// Checks that a tar has its entries as a whole, and the two empty blocks at its end.
  static func checkTar(_ bytes: [UInt8]) throws(BundleInstallerError) {
    let block = 512
    guard bytes.count % block == 0 else { throw cut("its last block is not whole") }
    var place = 0
    while place + block <= bytes.count {
      let header = bytes[place..<place + block]
      if header.allSatisfy({ $0 == 0 }) {
        guard bytes.count - place >= 2 * block, bytes[place...].allSatisfy({ $0 == 0 }) else {
          throw cut("the two empty blocks at its end are missing")
        }
        return
      }
      guard let size = tarSize(header) else { throw cut("the size of an entry is not a number") }
      guard size >= 0, size <= bytes.count else { throw cut("an entry is not whole") }
      place += block + (size + block - 1) / block * block
    }
    throw cut("the two empty blocks at its end are missing")
  }

  /// The size in a header: octal digits, or a number of 64 bits where the first bit is set.
  private static func tarSize(_ header: ArraySlice<UInt8>) -> Int? {
    let field = header[(header.startIndex + 124)..<(header.startIndex + 136)]
    if let first = field.first, first & 0x80 != 0 {
      let high = field.dropFirst(1).prefix(3)
      guard first == 0x80, high.allSatisfy({ $0 == 0 }) else { return nil }
      let size = field.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int(exactly: size)
    }
    let text = String(decoding: field.prefix { $0 != 0 }, as: UTF8.self)
    let digits = text.filter { $0 != " " }
    return digits.isEmpty ? 0 : Int(digits, radix: 8)
  }

  /// Checks the CRC-32 and the length of a gzip stream's contents.
  static func checkGzip(_ bytes: [UInt8], contents: [UInt8]) throws(BundleInstallerError) {
    guard bytes.count >= 18,
      bytes.littleEndian32(at: bytes.count - 8) == CRC32.of(contents),
      bytes.littleEndian32(at: bytes.count - 4) == UInt32(truncatingIfNeeded: contents.count)
    else { throw cut("its checksum does not fit") }
  }

  static func cut(_ reason: String) -> BundleInstallerError {
    .refused(
      "the archive is damaged or not complete: \(reason)", hint: "fetch it again, or pack it again")
  }
}

/// CRC-32 as in ISO 3309, which gzip and zip use.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320
    }
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    let table = table
    return ~bytes.reduce(~UInt32(0)) { crc, byte in
      crc >> 8 ^ table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)]
    }
  }
}

extension [UInt8] {
  /// A number of two bytes; the array has both.
  fileprivate func littleEndian16(at place: Int) -> UInt16 {
    UInt16(self[place]) | UInt16(self[place + 1]) << 8
  }

  /// A number of four bytes; the array has all of them.
  fileprivate func littleEndian32(at place: Int) -> UInt32 {
    UInt32(littleEndian16(at: place)) | UInt32(littleEndian16(at: place + 2)) << 16
  }
}
