extension String {
  /// The word with its indefinite article, for messages: `a label`, `an image`.
  public var withArticle: String {
    let word = lowercased()
    let isSpoken =
      ["hour"].contains(word) || ["a", "e", "i", "o"].contains { word.hasPrefix($0) }
      || word.hasPrefix("un") && !word.hasPrefix("uni")
    return (isSpoken ? "an " : "a ") + self
  }
}
