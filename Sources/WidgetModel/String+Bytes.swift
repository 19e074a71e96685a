/// Text comparison by bytes: the same for every language and library version.
extension String {
  /// Whether both hold the same UTF-8 bytes. Swift's `==` also takes canonically equivalent text
  /// for equal, which would lose a change from "é" to "e\u{301}".
  public func hasSameBytes(as other: String) -> Bool {
    withBytes { a in
      other.withBytes { b in a.count == b.count && a.commonPrefix(with: b) == a.count }
    }
  }

  /// Orders by UTF-8 bytes.
  public func precedesByBytes(_ other: String) -> Bool { compareBytes(with: other) < 0 }

  /// Compares the UTF-8 bytes. Negative if this text precedes the other, 0 if both are equal.
  func compareBytes(with other: String) -> Int {
    withBytes { a in
      other.withBytes { b in
        let common = a.commonPrefix(with: b)
        if common == min(a.count, b.count) { return a.count - b.count }
        return Int(a[common]) - Int(b[common])
      }
    }
  }

  /// The first eight UTF-8 bytes as a number that has the order of the text, filled up with zeros.
  var firstBytes: UInt64 {
    withBytes { bytes in
      var number: UInt64 = 0
      for index in 0..<min(8, bytes.count) { number |= UInt64(bytes[index]) << (56 - 8 * index) }
      return number
    }
  }

  /// Passes the bytes to a closure. Copies them only if the text is bridged from Objective-C or C.
  @inline(__always)
  private func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    var copy = self
    return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

extension UnsafeRawBufferPointer {
  /// The number of equal bytes at the start. Compares eight bytes at a time.
  @inline(__always)
  fileprivate func commonPrefix(with other: UnsafeRawBufferPointer) -> Int {
    let length = Swift.min(count, other.count)
    var index = 0
    while index + 8 <= length {
      let a = loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let b = other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if a != b {
        return index + (UInt64(littleEndian: a) ^ UInt64(littleEndian: b)).trailingZeroBitCount / 8
      }
      index += 8
    }
    while index < length, self[index] == other[index] { index += 1 }
    return index
  }
}

extension String {
  /// The rest of the string after a prefix of ASCII characters; nil if nothing follows. Compares
  /// bytes: a key may begin with a combining mark, which would form one character with the dot
  /// before it.
  func key(behind prefix: String) -> String? {
    guard utf8.starts(with: prefix.utf8), utf8.count > prefix.utf8.count else { return nil }
    return String(self[utf8.index(utf8.startIndex, offsetBy: prefix.utf8.count)...])
  }
}

extension [String] {
  /// The texts in order of their UTF-8 bytes, each once.
  package var sortedByBytes: [String] {
    sorted { $0.precedesByBytes($1) }.reduce(into: []) { unique, text in
      if unique.last?.hasSameBytes(as: text) != true { unique.append(text) }
    }
  }

  /// Whether a list in order of bytes holds a text, byte by byte. O(log n).
  package func containsBytes(of text: String) -> Bool {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].precedesByBytes(text) { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].hasSameBytes(as: text)
  }
}

extension StringProtocol {
  /// The text with `⏎` in place of each newline. So a text of a user cannot look like another line of
  /// a log.
  package var withMarkedNewlines: String {
    reduce(into: "") { $1.isNewline ? $0.append("⏎") : $0.append($1) }
  }
}
