// The standard library searches text for text in its module for regular expressions, which is
// 1.1 MB of a program. These functions have the same names and the same results, and Swift prefers
// them. `scripts/lib/thin` refuses the module in thin programs.

extension String {
  /// Whether a text is in this text. Texts are compared by their characters, and an empty text is
  /// in each text.
  package func contains(_ part: String) -> Bool { place(of: part, from: startIndex) != nil }

  /// The first place of a text.
  package func firstRange(of part: String) -> Range<Index>? { place(of: part, from: startIndex) }

  /// The places of a text that is not empty, without overlaps.
  package func ranges(of part: String) -> [Range<Index>] {
    var found: [Range<Index>] = []
    while let next = place(of: part, from: found.last?.upperBound ?? startIndex), !next.isEmpty {
      found.append(next)
    }
    return found
  }

  /// The parts between the places of a text, or between the first ones.
  package func parts(between separator: String, maxSplits: Int = .max) -> [Substring] {
    var parts: [Substring] = []
    var start = startIndex
    for place in ranges(of: separator).prefix(maxSplits) {
      parts.append(self[start..<place.lowerBound])
      start = place.upperBound
    }
    return parts + [self[start...]]
  }

  /// This text with another text in each place of a text.
  package func replacing(_ part: String, with other: some StringProtocol) -> String {
    parts(between: part).joined(separator: String(other))
  }
}

extension Substring {
  /// Whether a text is in this text.
  package func contains(_ part: String) -> Bool { place(of: part, from: startIndex) != nil }

  /// The first place of a text.
  package func firstRange(of part: String) -> Range<Index>? { place(of: part, from: startIndex) }
}

extension StringProtocol {
  /// The next place of a text.
  fileprivate func place(of part: String, from start: Index) -> Range<Index>? {
    var start = start
    while true {
      var here = start
      var there = part.startIndex
      while there < part.endIndex, here < endIndex, self[here] == part[there] {
        formIndex(after: &here)
        part.formIndex(after: &there)
      }
      if there == part.endIndex { return start..<here }
      guard here < endIndex else { return nil }
      formIndex(after: &start)
    }
  }
}
