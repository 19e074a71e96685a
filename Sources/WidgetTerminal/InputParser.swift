/// Makes events from the bytes that a terminal sends.
///
/// A value without clock or descriptor: bytes in, events out. The bytes can be split anywhere. It
/// knows the sequences of xterm, rxvt, the Linux console and kitty's `CSI u`. Other sequences are
/// dropped whole. The buffer for an unfinished sequence is bounded, and no input traps.
///
/// An Escape key sends a byte that also begins sequences. After a read that leaves `isAmbiguous`, wait
/// about 50 ms for more bytes, then call `timeout`.
public struct InputParser: Sendable {
  /// The maximum size of one paste, in bytes. Further bytes are dropped.
  public static let pasteBytesMaxDefault = 1 << 20
  /// The maximum size of one sequence, in bytes. A longer sequence is dropped.
  public static let sequenceBytesMax = 4096

  private enum State: Sendable {
    case ground
    /// After the first bytes of a character of UTF-8.
    case utf8
    case escape
    /// After `ESC O`.
    case ss3
    /// After `ESC [`, and what followed.
    case csi
    /// After `ESC [ [`, of the Linux console.
    case console
    /// Before the three bytes of an old mouse report.
    case oldMouse
    /// In a string that `ESC \` or BEL ends. `kind` is its introducer.
    case string(kind: UInt8)
    /// In a string, after ESC.
    case stringEscape(kind: UInt8)
    case paste
    /// In bytes that may be the rest of an answer whose first bytes were reported as a key.
    /// `answer` is the expected start of that rest.
    case late(answer: [UInt8])
  }

  /// The start of an OSC 11 answer after ESC: the only answer that could be mistaken for keys.
  private static let lateAnswer = Array("]11;".utf8)

  private var state = State.ground
  private var pending: [UInt8] = []
  /// Whether the sequence began with two ESC: what rxvt sends for Alt with a key.
  private var hasAlt = false
  /// The expected start of the rest of an answer, if its first bytes were just reported as a key.
  private var expected: [UInt8] = []
  private let pasteBytesMax: Int
  /// Whether a paste has paused.
  private var isStalled = false

  public init(pasteBytesMax: Int = InputParser.pasteBytesMaxDefault) {
    self.pasteBytesMax = max(pasteBytesMax, 0)
  }

  /// Whether the bytes so far could be whole keys, or the start of a sequence.
  public var isAmbiguous: Bool {
    switch state {
    case .escape, .ss3: true
    case .csi, .string: pending.isEmpty
    // One byte may be a typed key. Two bytes cannot be keys, because nobody types so fast.
    case .late: pending.count == 1
    default: false
    }
  }

  /// The events that some more bytes complete.
  public mutating func feed(_ bytes: some Sequence<UInt8>) -> [TerminalInput] {
    var events: [TerminalInput] = []
    for byte in bytes { take(byte, &events) }
    return events
  }

  /// Whether a paste has begun, not ended and not paused. Wait about a second for more bytes, then
  /// call `timeout`.
  public var isPasting: Bool {
    if case .paste = state { !isStalled } else { false }
  }

  /// The caller reports that no more bytes arrived. Returns ambiguous bytes as typed keys.
  public mutating func timeout() -> [TerminalInput] {
    if case .paste = state { isStalled = true }
    guard isAmbiguous else { return [] }
    var events: [TerminalInput] = []
    if case .late = state {
      flushLate(&events)
      return events
    }
    if hasAlt { events.append(.key(.escape, [])) }
    var rest: [UInt8] = []
    switch state {
    case .string(kind: 0x5D): rest = Array(InputParser.lateAnswer.dropFirst())
    case .escape: rest = InputParser.lateAnswer
    default: break
    }
    defer { expected = rest }
    switch state {
    case .ss3: events.append(.key(.character("O"), .alt))
    case .csi: events.append(.key(.character("["), .alt))
    case .string(let kind):
      events.append(.key(.character(Character(Unicode.Scalar(kind))), .alt))
    default: events.append(.key(.escape, []))
    }
    reset()
    return events
  }

  private mutating func reset() {
    state = .ground
    pending.removeAll(keepingCapacity: pending.capacity <= InputParser.sequenceBytesMax)
    hasAlt = false
    isStalled = false
  }

  // MARK: One byte

  private mutating func take(_ byte: UInt8, _ events: inout [TerminalInput]) {
    switch state {
    case .ground: ground(byte, modifiers: [], &events)
    case .utf8: utf8(byte, &events)
    case .escape: escape(byte, &events)
    case .ss3:
      let modifiers: KeyModifiers = hasAlt ? .alt : []
      reset()
      if byte < 0x20 {
        ground(byte, modifiers: [], &events)
      } else if let key = KeyTable.ss3[byte] {
        events.append(.key(key, modifiers))
      }
    case .csi: csi(byte, &events)
    case .console:
      reset()
      if (0x41...0x45).contains(byte) { events.append(.key(.function(Int(byte) - 0x40), [])) }
    case .oldMouse:
      pending.append(byte)
      guard pending.count == 3 else { return }
      let numbers = pending.map { Int($0) - 32 }
      reset()
      mouse(numbers[0], numbers[1], numbers[2], isRelease: false, &events)
    case .string(let kind): string(byte, kind, &events)
    case .stringEscape(let kind):
      if byte == 0x5C {
        finishString(kind, &events)
      } else {
        reset()
        state = .escape
        take(byte, &events)
      }
    case .paste: paste(byte, &events)
    case .late(let answer): late(byte, answer, &events)
    }
  }

  private mutating func late(
    _ byte: UInt8, _ answer: [UInt8], _ events: inout [TerminalInput]
  ) {
    guard byte == answer[pending.count] else {
      flushLate(&events)
      return take(byte, &events)
    }
    pending.append(byte)
    guard pending.count == answer.count else { return }
    reset()
    state = .string(kind: 0x5D)
    pending = Array(InputParser.lateAnswer.dropFirst())
  }

  /// Reports the bytes as keys, because they are not an answer.
  private mutating func flushLate(_ events: inout [TerminalInput]) {
    let bytes = pending
    reset()
    for byte in bytes { ground(byte, modifiers: [], &events) }
  }

  private mutating func ground(
    _ byte: UInt8, modifiers: KeyModifiers, _ events: inout [TerminalInput]
  ) {
    let rest = expected
    expected = []
    if byte == rest.first {
      state = .late(answer: rest)
      pending = [byte]
      return
    }
    switch byte {
    case 0x1B: state = .escape
    case 0..<0x20, 0x7F:
      if let (key, held) = KeyTable.control(byte) {
        events.append(.key(key, modifiers.union(held)))
      }
    case 0x20..<0x7F:
      events.append(.key(.character(Character(Unicode.Scalar(byte))), modifiers))
    case 0xC2...0xF4:
      state = .utf8
      hasAlt = modifiers.contains(.alt)
      pending = [byte]
    default: break  // The byte cannot begin a character of UTF-8.
    }
  }

  private mutating func utf8(_ byte: UInt8, _ events: inout [TerminalInput]) {
    guard (0x80..<0xC0).contains(byte) else {
      reset()
      return take(byte, &events)
    }
    pending.append(byte)
    let count = pending[0] < 0xE0 ? 2 : pending[0] < 0xF0 ? 3 : 4
    guard pending.count == count else { return }
    // C1 controls come as two bytes too; no key sends them.
    if let text = String(validating: pending, as: UTF8.self), let character = text.first,
      !(0x80..<0xA0).contains(text.unicodeScalars.first?.value ?? 0)
    {
      events.append(.key(.character(character), hasAlt ? .alt : []))
    }
    reset()
  }

  private mutating func escape(_ byte: UInt8, _ events: inout [TerminalInput]) {
    switch byte {
    case 0x1B where !hasAlt: hasAlt = true
    case 0x1B: events.append(.key(.escape, []))
    case 0x5B: state = .csi
    case 0x4F: state = .ss3
    case 0x5D, 0x50, 0x5F, 0x5E, 0x58: state = .string(kind: byte)
    default:
      if hasAlt { events.append(.key(.escape, [])) }
      reset()
      ground(byte, modifiers: .alt, &events)
    }
  }

  private mutating func csi(_ byte: UInt8, _ events: inout [TerminalInput]) {
    switch byte {
    case 0x1B, 0..<0x20:
      reset()
      take(byte, &events)
    case 0x5B where pending.isEmpty: state = .console
    case 0x4D where pending.isEmpty: state = .oldMouse
    // In rxvt, sequences of keys with shift end with `$`, which is an intermediate byte in other
    // terminals.
    case 0x24 where pending.first.map { (0x30...0x39).contains($0) } ?? false:
      finishCSI(byte, &events)
    case 0x20..<0x40:
      // A sequence that is too long is read to its end, and then dropped.
      if pending.count < InputParser.sequenceBytesMax { pending.append(byte) }
    case 0x40..<0x7F: finishCSI(byte, &events)
    default:
      reset()
      take(byte, &events)
    }
  }

  private mutating func string(_ byte: UInt8, _ kind: UInt8, _ events: inout [TerminalInput]) {
    switch byte {
    case 0x07: finishString(kind, &events)
    case 0x1B: state = .stringEscape(kind: kind)
    case 0..<0x20:
      // Strings do not have these bytes, so the end of the string is missing. Ctrl-C must have its
      // effect.
      reset()
      take(byte, &events)
    default:
      // A longer string is no known answer, but its end must still be found.
      if pending.count < InputParser.sequenceBytesMax { pending.append(byte) }
    }
  }

  private mutating func paste(_ byte: UInt8, _ events: inout [TerminalInput]) {
    if isStalled {
      isStalled = false
      // Ctrl-C and Ctrl-Z after a pause are keys: the end of the paste was lost.
      if byte == 0x03 || byte == 0x1A {
        let text = String(decoding: pending.prefix(pasteBytesMax), as: UTF8.self)
        reset()
        events.append(.paste(text))
        return take(byte, &events)
      }
    }
    let end: [UInt8] = [0x1B, 0x5B, 0x32, 0x30, 0x31, 0x7E]
    pending.append(byte)
    if byte == 0x7E, pending.suffix(end.count) == end[...] {
      let text = String(decoding: pending.dropLast(end.count).prefix(pasteBytesMax), as: UTF8.self)
      reset()
      events.append(.paste(text))
    } else if pending.count >= 2 * (pasteBytesMax + end.count) {
      // The last bytes stay, because they may be the start of a split end mark.
      pending.removeSubrange(pasteBytesMax..<pending.count - end.count)
    }
  }

  // MARK: Whole sequences

  private mutating func finishString(_ kind: UInt8, _ events: inout [TerminalInput]) {
    let text = String(decoding: pending, as: UTF8.self)
    reset()
    if kind == 0x5D, text.hasPrefix("11;"),
      let (r, g, b) = ColorAnswer.components(text.dropFirst(3))
    {
      events.append(.background(r, g, b))
    } else if kind == 0x5F, text.hasPrefix("Gi=31;") {
      events.append(.graphics(isKnown: text.hasSuffix(";OK")))
    }
  }

  private mutating func finishCSI(_ final: UInt8, _ events: inout [TerminalInput]) {
    let prefix = pending.first.flatMap { (0x3C...0x3F).contains($0) ? $0 : nil }
    let digits = prefix == nil ? pending[...] : pending.dropFirst()
    let numbers = digits.split(separator: 0x3B, omittingEmptySubsequences: false).prefix(32)
      .map(InputParser.number)
    let alt: KeyModifiers = hasAlt ? .alt : []
    reset()
    switch (prefix, final) {
    case (0x3C, 0x4D), (0x3C, 0x6D):
      guard numbers.count == 3, let button = numbers[0], let x = numbers[1], let y = numbers[2]
      else { return }
      mouse(button, x, y, isRelease: final == 0x6D, &events)
    case (0x3F, 0x63): events.append(.attributes(numbers.compactMap { $0 }))
    case (0x3F, 0x6E) where numbers.first == 997 && numbers.count == 2:
      events.append(.colorScheme(isDark: numbers[1] == 1))
    case (nil, 0x49) where digits.isEmpty: events.append(.focus(true))
    case (nil, 0x4F) where digits.isEmpty: events.append(.focus(false))
    case (nil, 0x7E) where numbers.first == 200: state = .paste
    case (nil, _):
      if let (key, held) = KeyTable.csi(numbers, final) {
        events.append(.key(key, held.union(alt)))
      }
    default: break
    }
  }

  /// A parameter; nil if it is empty or does not begin with a digit. Sub-parameters are dropped.
  private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    let digits = bytes.prefix { (0x30...0x39).contains($0) }
    guard !digits.isEmpty, digits.count <= 7 else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  private func mouse(
    _ code: Int, _ x: Int, _ y: Int, isRelease: Bool, _ events: inout [TerminalInput]
  ) {
    guard code >= 0, code < 128, x >= 1, y >= 1 else { return }
    let button: MouseEvent.Button? =
      switch code & 3 {
      case 0: .left
      case 1: .middle
      case 2: .right
      default: nil
      }
    let action: MouseEvent.Action
    if code & 64 != 0 {
      guard !isRelease else { return }
      action = .wheel([.up, .down, .left, .right][code & 3])
    } else if code & 32 != 0 {
      action = button.map { .drag($0) } ?? .move
    } else if isRelease {
      action = .release(button)
    } else {
      action = button.map { .press($0) } ?? .release(nil)
    }
    var modifiers: KeyModifiers = []
    if code & 4 != 0 { modifiers.insert(.shift) }
    if code & 8 != 0 { modifiers.insert(.alt) }
    if code & 16 != 0 { modifiers.insert(.control) }
    events.append(
      .mouse(MouseEvent(action: action, column: x - 1, row: y - 1, modifiers: modifiers)))
  }
}

/// A colour as a terminal answers it: `rgb:RRRR/GGGG/BBBB`, with one to four digits each.
enum ColorAnswer {
  static func components(_ text: Substring) -> (UInt8, UInt8, UInt8)? {
    guard text.hasPrefix("rgb:") || text.hasPrefix("rgba:") else { return nil }
    let parts = text.drop { $0 != ":" }.dropFirst().split(separator: "/").prefix(3)
    let channels = parts.compactMap { part -> UInt8? in
      guard (1...4).contains(part.utf8.count), let number = UInt32(part, radix: 16) else {
        return nil
      }
      let most = (UInt32(1) << (4 * UInt32(part.utf8.count))) - 1
      return UInt8((number * 255 + most / 2) / most)
    }
    return channels.count == 3 ? (channels[0], channels[1], channels[2]) : nil
  }
}
