import WidgetModel

/// The position of a watch: the history, the revision, and the selector and mask.
///
/// On the wire 24 opaque bytes: epoch, filter hash, revision, each big-endian.
struct ResumeToken: Hashable {
  var epoch: UInt64
  var filterHash: UInt64
  var revision: Revision

  static let byteCount = 24

  init(epoch: UInt64, filterHash: UInt64, revision: Revision) {
    self.epoch = epoch
    self.filterHash = filterHash
    self.revision = revision
  }

  /// nil if the bytes are no token.
  init?(bytes: [UInt8]) {
    guard bytes.count == ResumeToken.byteCount else { return nil }
    func integer(at offset: Int) -> UInt64 {
      bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    self.init(epoch: integer(at: 0), filterHash: integer(at: 8), revision: integer(at: 16))
  }

  var bytes: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(ResumeToken.byteCount)
    for word in [epoch, filterHash, revision] {
      for shift in stride(from: 56, through: 0, by: -8) {
        result.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return result
  }
}

/// FNV-1a, 64 bits: the same in every process and version, unlike `Hasher`. Not for adversaries: a
/// client that provokes a collision harms only itself.
struct StableHash {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
  }

  /// Adds a text and its end, so that two neighbouring texts differ from one joined text.
  mutating func combine(_ text: String) {
    combine(text.utf8)
    combine(CollectionOfOne(0xff))
  }
}
