/// The ids of nodes: the template's id and, in rows, the keys of the rows around it.
///
/// `title`, `title/42`, `cell/42/7`. In a key, letters, digits, `_` and `-` are written as they
/// are. Other characters are written as `.` and two hexadecimal digits for each byte. So a colon in
/// an id is never part of a key: `done/a:2` is the second row with the key `a`. Keys that are too
/// long become a colon and a hash.
public enum NodeID {
  /// The maximum length of the id of a template's node.
  public static let templateLengthMax = 64
  /// The maximum length of the rows' part of an id, with its first `/`.
  public static let rowsLengthMax = 64
  /// The room in it, with a colon, for the number of a row whose key is not unique.
  public static let rowNumberLengthMax = 8

  /// Whether this can be the id of a template's node.
  public static func isTemplateID(_ text: String) -> Bool {
    (1...templateLengthMax).contains(text.utf8.count) && text.utf8.allSatisfy(isPlain)
      && text.utf8.first.map { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") } ?? false
  }

  /// A row's key as written in ids.
  public static func encoded(key: String) -> String {
    var bytes = key
    if bytes.withUTF8({ $0.allSatisfy(isPlain) }) { return key }
    var result: [UInt8] = []
    for byte in key.utf8 {
      if isPlain(byte) {
        result.append(byte)
      } else {
        result += [UInt8(ascii: "."), hexDigit(byte >> 4), hexDigit(byte & 15)]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The keys of the rows around a node, the outermost first; none outside of rows.
  ///
  /// Rows with equal keys give the same key. Keys that are shortened in the id are not restored.
  public static func rowKeys(of id: String) -> [String] {
    id.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
      decoded(key: withoutNumber($0))
    }
  }

  /// Whether a node was made from the template's node with this id.
  public static func isNode(_ id: String, of templateID: String) -> Bool {
    guard id.utf8.starts(with: templateID.utf8) else { return false }
    let rest = id.utf8.dropFirst(templateID.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: "/")
  }

  /// The separator between the id of an embed and the id of a node in it. No other id has two
  /// colons side by side.
  public static let embedSeparator = "::"

  /// The id of a node of another widget in an embed. Ids that would be too long become a hash.
  public static func embedded(_ id: String, in embed: String) -> String {
    let joined = embed + embedSeparator + id
    guard joined.utf8.count > lengthMax else { return joined }
    let short = embed + embedSeparator + hash(id)
    return short.utf8.count > lengthMax ? hash(embed) + embedSeparator + hash(id) : short
  }

  /// The id of the outermost embed that a node is in, and the id of the node in it. Nil outside of
  /// embeds.
  public static func splitAtEmbed(_ id: String) -> (embed: String, inner: String)? {
    let bytes = Array(id.utf8)
    guard
      let place = bytes.indices.dropLast().first(where: {
        bytes[$0] == 0x3A && bytes[$0 + 1] == 0x3A
      })
    else { return nil }
    return (
      String(decoding: bytes[..<place], as: UTF8.self),
      String(decoding: bytes[(place + 2)...], as: UTF8.self)
    )
  }

  /// The maximum length of the id of a node.
  public static let lengthMax = 128

  /// 128 bits in hexadecimal: two hashes by FNV-1a, with different offsets.
  public static func hash(_ text: String) -> String {
    let hashes = [UInt64(0xcbf2_9ce4_8422_2325), 0x9e37_79b9_7f4a_7c15].map { start in
      text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    return hashes.map { String($0, radix: 16) }.joined()
  }

  /// A part of an id without the number that tells rows with equal keys apart.
  private static func withoutNumber(_ part: Substring) -> Substring {
    guard let colon = part.utf8.firstIndex(of: UInt8(ascii: ":")) else { return part }
    let isShortened = colon == part.startIndex && part.utf8.count > rowNumberLengthMax
    return isShortened ? part : part[..<colon]
  }

  private static func decoded(key: Substring) -> String {
    guard key.utf8.contains(UInt8(ascii: ".")) else { return String(key) }
    var result: [UInt8] = []
    let bytes = Array(key.utf8)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "."), index + 2 < bytes.count,
        let high = value(ofHex: bytes[index + 1]), let low = value(ofHex: bytes[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  private static func value(ofHex digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
