/// "did you mean": the known name that is closest to a misspelt one.
enum Suggestion {
  /// The closest of the names, if it is close enough to be meant; ties go to the first by name.
  static func closest(to name: String, among names: some Sequence<String>) -> String? {
    // Long names would cost time, and nobody mistypes them by two letters of sixty.
    guard !name.isEmpty, name.utf8.count <= 60 else { return nil }
    let allowed = name.utf8.count <= 3 ? 1 : 2
    var best: (distance: Int, name: String)?
    for candidate in names where abs(candidate.utf8.count - name.utf8.count) <= allowed {
      let distance = distance(Array(name.utf8), Array(candidate.utf8))
      guard distance <= allowed, distance < max(name.utf8.count, candidate.utf8.count) else {
        continue
      }
      if let found = best, (found.distance, found.name) <= (distance, candidate) { continue }
      best = (distance, candidate)
    }
    return best?.name
  }

  /// `; did you mean 'x'?` or nothing.
  static func hint(for name: String, among names: some Sequence<String>) -> String {
    closest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// Letters to insert, remove, change or swap with the next. A letter in the other case counts as
  /// right. O(n·m).
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    func lower(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte + 32 : byte }
    var rows = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count { rows[i][0] = i }
    for j in 0...b.count { rows[0][j] = j }
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    for i in 1...a.count {
      for j in 1...b.count {
        let isSame = lower(a[i - 1]) == lower(b[j - 1])
        var best = rows[i - 1][j - 1] + (isSame ? 0 : 1)
        best = min(best, rows[i - 1][j] + 1, rows[i][j - 1] + 1)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          best = min(best, rows[i - 2][j - 2] + 1)
        }
        rows[i][j] = best
      }
    }
    return rows[a.count][b.count]
  }
}
