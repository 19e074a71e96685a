/// A key of a dictionary that is hashed once.
///
/// To hash a filter with a thousand ids takes tens of microseconds. A dictionary hashes its keys
/// for each search, and all of them when it grows.
struct KeptHash<Value: Hashable>: Hashable {
  let value: Value
  private let kept: Int

  init(_ value: Value) {
    self.value = value
    kept = value.hashValue
  }

  static func == (a: KeptHash, b: KeptHash) -> Bool { a.kept == b.kept && a.value == b.value }

  func hash(into hasher: inout Hasher) { hasher.combine(kept) }
}
