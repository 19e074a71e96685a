import SeededRandom
import Testing
import WidgetTerminal

struct InputParserTests {
  struct Case: CustomTestStringConvertible {
    let bytes: String
    let events: [TerminalInput]

    init(_ bytes: String, _ events: TerminalInput...) {
      (self.bytes, self.events) = (bytes, events)
    }

    var testDescription: String { bytes.debugDescription }
  }

  private static func key(_ key: TerminalKey, _ modifiers: KeyModifiers = []) -> TerminalInput {
    .key(key, modifiers)
  }

  private static func mouse(
    _ action: MouseEvent.Action, _ column: Int, _ row: Int, _ modifiers: KeyModifiers = []
  ) -> TerminalInput {
    .mouse(MouseEvent(action: action, column: column, row: row, modifiers: modifiers))
  }

  static let cases: [Case] = [
    Case("aZ", key(.character("a")), key(.character("Z"))),
    Case("é日👍", key(.character("é")), key(.character("日")), key(.character("👍"))),
    Case("\r\t\u{7F}", key(.enter), key(.tab), key(.backspace)),
    Case(
      "\u{3}\u{0}\u{8}\u{1C}", key(.character("c"), .control), key(.character(" "), .control),
      key(.backspace, .control), key(.character("\\"), .control)),
    Case("\u{1B}[A\u{1B}OB", key(.up), key(.down)),
    Case(
      "\u{1B}[1;5C\u{1B}[1;2D\u{1B}[1;3H", key(.right, .control), key(.left, .shift),
      key(.home, .alt)),
    Case("\u{1B}[Z", key(.tab, .shift)),
    Case(
      "\u{1B}[3~\u{1B}[5;6~\u{1B}[6~", key(.delete), key(.pageUp, [.shift, .control]),
      key(.pageDown)),
    Case(
      "\u{1B}OP\u{1B}[1;2Q\u{1B}[15~\u{1B}[24~\u{1B}[34~", key(.function(1)),
      key(.function(2), .shift), key(.function(5)), key(.function(12)), key(.function(20))),
    Case("\u{1B}[[A\u{1B}[[E", key(.function(1)), key(.function(5))),
    Case(
      "\u{1B}[a\u{1B}[3^\u{1B}[7@\u{1B}[5$", key(.up, .shift), key(.delete, .control),
      key(.home, [.control, .shift]), key(.pageUp, .shift)),
    Case(
      "\u{1B}a\u{1B}é\u{1B}\u{7F}", key(.character("a"), .alt), key(.character("é"), .alt),
      key(.backspace, .alt)),
    Case("\u{1B}\u{1B}[A", key(.up, .alt)),
    Case(
      "\u{1B}[97;5u\u{1B}[27u\u{1B}[13;2u", key(.character("a"), .control), key(.escape),
      key(.enter, .shift)),
    Case("\u{1B}[27;5;105~", key(.character("i"), .control)),
    Case("\u{1B}[<0;1;1M\u{1B}[<0;1;1m", mouse(.press(.left), 0, 0), mouse(.release(.left), 0, 0)),
    Case("\u{1B}[<34;200;50M", mouse(.drag(.right), 199, 49)),
    Case(
      "\u{1B}[<64;5;6M\u{1B}[<65;5;6M\u{1B}[<67;5;6M", mouse(.wheel(.up), 4, 5),
      mouse(.wheel(.down), 4, 5), mouse(.wheel(.right), 4, 5)),
    Case(
      "\u{1B}[<35;3;4M\u{1B}[<20;3;4M", mouse(.move, 2, 3),
      mouse(.press(.left), 2, 3, [.shift, .control])),
    Case("\u{1B}[M !!\u{1B}[M#!!", mouse(.press(.left), 0, 0), mouse(.release(nil), 0, 0)),
    Case("\u{1B}[200~a\r\n\u{1B}[Ab\u{1B}[201~c", .paste("a\r\n\u{1B}[Ab"), key(.character("c"))),
    Case("\u{1B}[I\u{1B}[O", .focus(true), .focus(false)),
    Case("\u{1B}]11;rgb:ffff/8080/0000\u{1B}\\", .background(255, 128, 0)),
    Case("\u{1B}_Gi=31;OK\u{1B}\\", .graphics(isKnown: true)),
    Case("\u{1B}_Gi=31;ENOTSUPPORTED:no\u{1B}\\x", .graphics(isKnown: false), key(.character("x"))),
    Case("\u{1B}_Gi=7;OK\u{1B}\\x", key(.character("x"))),
    Case("\u{1B}]11;rgb:f/80/000\u{7}x", .background(255, 128, 0), key(.character("x"))),
    Case("\u{1B}[?62;4;22c", .attributes([62, 4, 22])),
    Case("\u{1B}[?997;1n", .colorScheme(isDark: true)),
    // Unknown, unfinished and wrong sequences are dropped whole.
    Case("\u{1B}[12;40R\u{1B}[?2026;2$yx", key(.character("x"))),
    Case("\u{1B}P1$r0m\u{1B}\\\u{1B}_Gi=1;OK\u{1B}\\y", key(.character("y"))),
    Case("\u{1B}]52;c;AAAA\u{3}", key(.character("c"), .control)),
    Case("\u{1B}[1;\u{1B}[B", key(.down)),
    Case("\u{1B}[<0;0;0M\u{1B}[<999999999999999999999;1;1M\u{1B}[<0;1Mz", key(.character("z"))),
    Case("\u{9B}Aq", key(.character("A")), key(.character("q"))),
  ]

  @Test(arguments: cases)
  func `a sequence is an event, wherever it is split`(example: Case) {
    let bytes = Array(example.bytes.utf8)
    var whole = InputParser()
    #expect(whole.feed(bytes) == example.events)
    var single = InputParser()
    #expect(bytes.flatMap { single.feed([$0]) } == example.events)
    for split in 0...bytes.count {
      var parser = InputParser()
      #expect(parser.feed(bytes[..<split]) + parser.feed(bytes[split...]) == example.events)
    }
  }

  @Test(arguments: [
    ("\u{1B}", [InputParserTests.key(.escape)]), ("\u{1B}\u{1B}", [key(.escape), key(.escape)]),
    ("\u{1B}[", [key(.character("["), .alt)]), ("\u{1B}O", [key(.character("O"), .alt)]),
    ("\u{1B}]", [key(.character("]"), .alt)]),
  ])
  func `an incomplete sequence is a key after the timeout`(
    bytes: String, _ events: [TerminalInput]
  ) {
    var parser = InputParser()
    #expect(parser.feed(bytes.utf8) == [])
    #expect(parser.isAmbiguous)
    #expect(parser.timeout() == events)
    #expect(!parser.isAmbiguous)
    #expect(parser.feed("x".utf8) == [Self.key(.character("x"))])
  }

  @Test func `an unambiguous sequence waits for its rest, without a timeout`() {
    var parser = InputParser()
    #expect(parser.feed("\u{1B}[1;".utf8) == [])
    #expect(!parser.isAmbiguous)
    #expect(parser.timeout() == [])
    #expect(parser.feed("5A".utf8) == [Self.key(.up, .control)])
  }

  @Test(arguments: 1...20)
  func `an answer about the background is read in parts with pauses between them`(length: Int) {
    let answer = Array("\u{1B}]11;rgb:ffff/8080/0000\u{1B}\\".utf8)
    var parser = InputParser()
    var events = parser.feed(answer.prefix(length)) + parser.timeout()
    for byte in answer.dropFirst(length) {
      events += parser.feed([byte])
      // Only bytes that a person may have typed are keys, and nobody types two bytes in so short a
      // time.
      if byte != UInt8(ascii: "]"), byte != UInt8(ascii: "1") { events += parser.timeout() }
    }
    events += parser.feed("x".utf8)
    let lost: [TerminalInput] =
      length == 1 ? [Self.key(.escape)] : length == 2 ? [Self.key(.character("]"), .alt)] : []
    #expect(events == lost + [.background(255, 128, 0), Self.key(.character("x"))])
  }

  @Test func `typed keys that look like the rest of an answer are keys`() {
    var parser = InputParser()
    #expect(parser.feed([0x1B]) + parser.timeout() == [Self.key(.escape)])
    #expect(parser.feed("]".utf8) == [])
    #expect(parser.isAmbiguous)
    #expect(parser.timeout() == [Self.key(.character("]"))])
    #expect(parser.feed("1".utf8) == [Self.key(.character("1"))])
    #expect(parser.feed([0x1B]) + parser.timeout() == [Self.key(.escape)])
    #expect(
      parser.feed("]1x".utf8) == ["]", "1", "x"].map { Self.key(.character($0)) })
  }

  @Test func `bytes that are not UTF-8 are dropped`() {
    var parser = InputParser()
    #expect(parser.feed([0xFF, 0xC3, 0x41, 0xE6, 0x97, 0x1B]) == [Self.key(.character("A"))])
    #expect(parser.timeout() == [Self.key(.escape)])
    #expect(parser.feed([0xED, 0xA0, 0x80, 0x42]) == [Self.key(.character("B"))])
  }

  @Test func `a paste is cut at its limit, and its end is still found`() {
    for length in 0...40 {
      var parser = InputParser(pasteBytesMax: 8)
      let text = String(repeating: "p", count: length)
      let events = "\u{1B}[200~\(text)\u{1B}[201~x".utf8.flatMap { parser.feed([$0]) }
      #expect(events == [.paste(String(text.prefix(8))), Self.key(.character("x"))])
    }
  }

  @Test func `a paste whose end is lost lets Ctrl-C through after a pause, and only then`() {
    var parser = InputParser()
    #expect(parser.feed("\u{1B}[200~ab\u{3}c".utf8) == [])
    #expect(parser.isPasting)
    #expect(parser.timeout() == [])
    #expect(!parser.isPasting)
    // The paste goes on, because its first byte is not Ctrl-C.
    #expect(parser.feed("d\u{3}".utf8) == [])
    #expect(parser.isPasting)
    _ = parser.timeout()
    #expect(
      parser.feed([0x03, 0x78]) == [
        .paste("ab\u{3}cd\u{3}"), Self.key(.character("c"), .control), Self.key(.character("x")),
      ])
  }

  @Test func `an endless sequence uses no memory and ends`() {
    var parser = InputParser()
    _ = parser.feed("\u{1B}[".utf8)
    _ = parser.feed(repeatElement(UInt8(ascii: "1"), count: 1 << 20))
    #expect(parser.feed("mx".utf8) == [Self.key(.character("x"))])
  }

  @Test(arguments: 0..<300)
  func `no terminal input traps, and each split of it gives the same events`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let pieces = Self.cases.map { Array($0.bytes.utf8) }
    var bytes: [UInt8] = []
    for _ in 0..<60 {
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes.append(.random(in: 0...255, using: &random))
      case 1: bytes += pieces[Int.random(in: 0..<pieces.count, using: &random)]
      default:
        let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
        bytes += piece.prefix(Int.random(in: 0...piece.count, using: &random))
      }
    }
    var whole = InputParser(pasteBytesMax: 16)
    let expected = whole.feed(bytes)
    var split = InputParser(pasteBytesMax: 16)
    #expect(bytes.flatMap { split.feed([$0]) } == expected)
    #expect(split.timeout() == whole.timeout())
  }
}
