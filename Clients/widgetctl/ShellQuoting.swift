extension String {
  /// The text, quoted as one word of a shell.
  var shellQuoted: String {
    let isPlain =
      !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "-_./:@%+,=".utf8.contains(byte)
        }
      }
    guard !isPlain else { return self }
    // The loop visits scalars, because a combining mark after a quote belongs to the same
    // `Character`.
    let quoted = unicodeScalars.reduce(into: "") { result, scalar in
      if scalar == "'" { result += #"'\''"# } else { result.unicodeScalars.append(scalar) }
    }
    return "'\(quoted)'"
  }
}
