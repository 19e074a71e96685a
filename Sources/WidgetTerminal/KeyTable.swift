/// The key of a byte or a sequence.
enum KeyTable {
  /// The key of a control character; nil if none sends it.
  static func control(_ byte: UInt8) -> (TerminalKey, KeyModifiers)? {
    switch byte {
    case 0x00: (.character(" "), .control)
    case 0x08: (.backspace, .control)
    case 0x09: (.tab, [])
    case 0x0A, 0x0D: (.enter, [])
    case 0x7F: (.backspace, [])
    case 0x01...0x1A: (.character(Character(Unicode.Scalar(byte + 0x60))), .control)
    case 0x1C...0x1F: (.character(Character(Unicode.Scalar(byte + 0x40))), .control)
    default: nil
    }
  }

  /// After `ESC O`: arrows and function keys, and those of the number pad.
  static let ss3: [UInt8: TerminalKey] = [
    0x41: .up, 0x42: .down, 0x43: .right, 0x44: .left, 0x46: .end, 0x48: .home, 0x4D: .enter,
    0x50: .function(1), 0x51: .function(2), 0x52: .function(3), 0x53: .function(4),
    0x6A: .character("*"), 0x6B: .character("+"), 0x6C: .character(","), 0x6D: .character("-"),
    0x6E: .character("."), 0x6F: .character("/"), 0x70: .character("0"), 0x71: .character("1"),
    0x72: .character("2"), 0x73: .character("3"), 0x74: .character("4"), 0x75: .character("5"),
    0x76: .character("6"), 0x77: .character("7"), 0x78: .character("8"), 0x79: .character("9"),
  ]

  /// Before `~`.
  private static let tilde: [Int: TerminalKey] = [
    1: .home, 2: .insert, 3: .delete, 4: .end, 5: .pageUp, 6: .pageDown, 7: .home, 8: .end,
    11: .function(1), 12: .function(2), 13: .function(3), 14: .function(4), 15: .function(5),
    17: .function(6), 18: .function(7), 19: .function(8), 20: .function(9), 21: .function(10),
    23: .function(11), 24: .function(12), 25: .function(13), 26: .function(14),
    28: .function(15), 29: .function(16), 31: .function(17), 32: .function(18),
    33: .function(19), 34: .function(20),
  ]

  /// The key of a CSI sequence without a prefix.
  static func csi(_ numbers: [Int?], _ final: UInt8) -> (TerminalKey, KeyModifiers)? {
    let first = numbers.first ?? nil
    let held = modifiers(numbers.count > 1 ? numbers[1] : nil)
    switch final {
    case 0x41...0x44, 0x46, 0x48, 0x50...0x53:
      // The first parameter of a key is 1. Other sequences with R report the cursor's place.
      guard final < 0x50 || first ?? 1 == 1 else { return nil }
      return ss3[final].map { ($0, held) }
    case 0x5A: return (.tab, held.union(.shift))
    // rxvt: arrows with shift, keys with shift, control, and both.
    case 0x61...0x64: return ss3[final - 0x20].map { ($0, .shift) }
    case 0x24: return first.flatMap { tilde[$0] }.map { ($0, .shift) }
    case 0x5E: return first.flatMap { tilde[$0] }.map { ($0, .control) }
    case 0x40: return first.flatMap { tilde[$0] }.map { ($0, [.control, .shift]) }
    // xterm's modifyOtherKeys: 27 ; modifiers ; code.
    case 0x7E where first == 27 && numbers.count == 3: return numbers[2].flatMap { typed($0, held) }
    case 0x7E: return first.flatMap { tilde[$0] }.map { ($0, held) }
    case 0x75: return first.flatMap { typed($0, held) }
    default: return nil
    }
  }

  /// A key by its code point.
  private static func typed(_ code: Int, _ held: KeyModifiers) -> (TerminalKey, KeyModifiers)? {
    switch code {
    case 9: return (.tab, held)
    case 13, 57414: return (.enter, held)
    case 27: return (.escape, held)
    case 8, 127: return (.backspace, held)
    case 0..<32, 128..<160: return nil
    // Kitty's keys that write nothing are in a private area.
    case 57344...63743: return nil
    default:
      guard let scalar = UInt32(exactly: code).flatMap(Unicode.Scalar.init) else { return nil }
      return (.character(Character(scalar)), held)
    }
  }

  /// The parameter is a set of bits plus 1. Meta counts as alt.
  private static func modifiers(_ number: Int?) -> KeyModifiers {
    guard let number, number >= 1, number <= 256 else { return [] }
    var held = KeyModifiers(rawValue: UInt8((number - 1) & 7))
    if (number - 1) & 32 != 0 { held.insert(.alt) }
    return held
  }
}
