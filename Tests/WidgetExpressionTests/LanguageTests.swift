import SeededRandom
import Testing
import WidgetModel

@testable import WidgetExpression

/// The language, area by area: an expression, and the simplest expression for its result.
struct LanguageTests {
  private func expectSame(_ source: String, _ expected: String) throws {
    #expect(try Sample.value(source) == Sample.value(expected), "\(source)")
  }

  @Test(
    arguments: [
      ("0xFf", "255"), ("-0x10", "-16"), ("-9223372036854775808", "-9223372036854775807 - 1"),
      ("18446744073709551615u", "uint('18446744073709551615')"), (".5", "0.5"), ("1e3", "1000.0"),
      ("1.5E-1", "0.15"), ("'\\x41\\u0042\\U00000043\\104'", "'ABCD'"), ("r'\\n'", "'\\\\n'"),
      ("'''a\nb'''", "'a\\nb'"), ("b'\\xff'", "b'\\377'"), ("\"it's\"", "'it\\'s'"), ("''", "\"\""),
      ("'//'", "'/' + '/'"), ("1 // one\n+ 1", "2"), ("rb'\\x'", "b'\\\\x'"),
      ("[1, 2,]", "[1, 2]"), ("{'a': 1,}", "{'a': 1}"),
    ] as [(String, String)])
  func `each form of literal gives its value`(source: String, expected: String) throws {
    try expectSame(source, expected)
  }

  @Test(
    arguments: [
      ("2 + 3 * 4 - 5", "9"), ("[].sum()", "0.0"), ("[1, 2u, 0.5].sum()", "3.5"),
      ("double(timestamp('1969-12-31T23:59:59.75Z'))", "-0.25"), ("-2 * -3", "6"),
      ("!true || true", "true"),
      ("1 + 2 == 3 && 2 < 3", "true"),
      ("false || true && false", "false"), ("10 - 3 - 2", "5"), ("100 / 10 / 2", "5"),
      ("true ? 1 : false ? 2 : 3", "1"), ("false ? 1 : false ? 2 : 3", "3"), ("!!true", "true"),
      ("-(-5)", "5"), ("- 5", "-5"), ("(1 < 2) == true", "true"), ("-7 / 2", "-3"), ("7 % -3", "1"),
    ] as [(String, String)])
  func `operators bind as the specification says`(source: String, expected: String) throws {
    try expectSame(source, expected)
  }

  @Test(
    arguments: [
      ("dyn(1) == 1u", true), ("dyn(1u) == 1.0", true), ("dyn(1.5) == 1", false), ("1 < 1.5", true),
      ("2u > 1.5", true), ("-1 < 0u", true), ("double('NaN') == double('NaN')", false),
      ("double('NaN') != double('NaN')", true), ("1.0 < double('NaN')", false),
      ("dyn('1') == 1", false), ("[1, 2] == [1, 2]", true), ("dyn([1]) == [1.0]", true),
      ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", true), ("dyn({1: 'a'}) == {1u: 'a'}", true),
      ("'a' < 'b'", true), ("'a' < 'B'", false), ("'\\u00e9' == 'e\\u0301'", false),
      ("b'a' < b'b'", true), ("false < true", true), ("null == null", true),
      ("dyn(1u) in [1]", true), ("dyn(1.0) in {1: 'a'}", true), ("1 in {}", false),
      ("timestamp(1) < timestamp(2)", true), ("duration('1s') >= duration('1000ms')", true),
    ] as [(String, Bool)])
  func `values compare by content, numbers by value`(source: String, expected: Bool) throws {
    #expect(try Sample.value(source) == .bool(expected))
  }

  /// The record `parameters` declares `unit` and `cpus`; its value has only `cpus`.
  @Test(
    arguments: [
      ("parameters.unit == null", true), ("parameters['unit'] == null", true),
      ("parameters.unit in [null]", true), ("parameters.unit in ['C', null]", true),
      ("parameters.cpus == null", false), ("has(parameters.unit)", false),
      ("'unit' in parameters", false), ("has(parameters.cpus)", true),
    ] as [(String, Bool)])
  func `a declared field that a record lacks is null, and has() is false`(
    source: String, expected: Bool
  ) throws {
    let environment = ExpressionEnvironment(variables: [
      ExpressionVariable("parameters", .record(RecordType(["unit": .string, "cpus": .int])))
    ])
    let expression = try CompiledExpression(source, in: environment)
    #expect(
      try expression.evaluate(["parameters": ExpressionValue(["cpus": .int(4)])]) == .bool(expected)
    )
  }

  @Test(
    arguments: [
      ("data.name in [null]", false), ("data.`disk-free` in [null, 7]", true),
      ("null in data.load", false), ("null in ['a']", false), ("1 in [null]", false),
    ] as [(String, Bool)])
  func `membership takes null, as equality does`(source: String, expected: Bool) throws {
    #expect(try Sample.value(source) == .bool(expected))
  }

  @Test(
    arguments: [
      ("9223372036854775807 + 1", "OUT_OF_RANGE"), ("-9223372036854775808 - 1", "OUT_OF_RANGE"),
      ("9223372036854775807 * 2", "OUT_OF_RANGE"), ("-(-9223372036854775808)", "OUT_OF_RANGE"),
      ("-9223372036854775808 / -1", "OUT_OF_RANGE"), ("0u - 1u", "OUT_OF_RANGE"),
      ("1 / 0", "DIVISION_BY_ZERO"), ("1 % 0", "DIVISION_BY_ZERO"), ("1u / 0u", "DIVISION_BY_ZERO"),
      ("int(1e19)", "OUT_OF_RANGE"), ("int(double('NaN'))", "OUT_OF_RANGE"),
      ("uint(-1.0)", "OUT_OF_RANGE"), ("timestamp(dyn(253402300800))", "OUT_OF_RANGE"),
      ("timestamp('2026-02-29T00:00:00Z')", "INVALID_ARGUMENT"),
      ("duration('1 h')", "INVALID_ARGUMENT"),
      ("[1][2]", "INDEX_OUT_OF_RANGE"), ("[1][-1]", "INDEX_OUT_OF_RANGE"),
      ("{'a': 1}.b", "NO_SUCH_KEY"),
      ("{'a': 1, 'a': 2}", "DUPLICATE_KEY"), ("{1: 1, dyn(1u): 2}", "DUPLICATE_KEY"),
      ("dyn('a') + dyn(1)", "NO_SUCH_OVERLOAD"), ("dyn(1).f", "NO_SUCH_OVERLOAD"),
      ("dyn(1) ? 1 : 2", "NO_SUCH_OVERLOAD"), ("!dyn(1)", "NO_SUCH_OVERLOAD"),
      ("dyn(1).map(x, x)", "NO_SUCH_OVERLOAD"), ("dyn([1])['a']", "NO_SUCH_OVERLOAD"),
      ("string(b'\\xff')", "INVALID_ARGUMENT"), ("[1, 'a'].sum()", "NO_SUCH_OVERLOAD"),
      ("double('0x10')", "INVALID_ARGUMENT"),
      ("[1, 'a'].sort()", "NO_SUCH_OVERLOAD"), ("'a'.indexOf('', -1)", "INDEX_OUT_OF_RANGE"),
      ("'abc'.indexOf('', 4)", "INDEX_OUT_OF_RANGE"), ("[1].first(-1)", "INDEX_OUT_OF_RANGE"),
      ("'abc'.indexOf('c', 9)", "INDEX_OUT_OF_RANGE"),
      ("'abc'.lastIndexOf('c', 9)", "INDEX_OUT_OF_RANGE"),
      ("'abc'.substring(2, 1)", "INDEX_OUT_OF_RANGE"),
    ] as [(String, String)])
  func `an impossible operation is an error with a reason`(source: String, reason: String) {
    #expect(Sample.reason(source) == reason)
  }

  @Test(
    arguments: [
      ("[1, 2, 3].all(x, 6 / (2 - x) == 6)", "false"), ("[1, 0, 2].exists(x, 2 / x == 1)", "true"),
      ("{'a': 1}.map(k, k)", "['a']"), ("{'a': 1, 'b': 2}.filter(k, k != 'a')", "['b']"),
      ("[].all(x, 1 / 0 == x)", "true"), ("[1].map(x, [2].map(y, x + y))", "[[3]]"),
      ("[1].map(x, [2].map(x, x))", "[[2]]"), ("[3, 4].exists_one(i, x, x - i == 3)", "false"),
      ("{1: 'a', 2: 'b'}.transformList(k, v, k > 1, v)", "['b']"),
      ("[5, 6].transformMap(i, x, x)", "{0: 5, 1: 6}"),
      ("data.items.sortBy(x, x.n).map(x, x.n)", "[1, 2]"),
      ("data.cpu.all(k, v, v < 1.0)", "true"), ("cel.bind(a, 1, cel.bind(b, a + 1, a + b))", "3"),
      ("['a', 'b'].map(x, x + x).join(',')", "'aa,bb'"), ("[1, 2].map(x, x > 1, x)", "[2]"),
      ("[[2, 'b'], [1, 'a']].sortBy(p, p[0])[0][1]", "'a'"),
    ] as [(String, String)])
  func `macros iterate over lists and maps`(source: String, expected: String) throws {
    try expectSame(source, expected)
  }

  @Test(
    arguments: [
      ("'\\u00dcber \\u00c5ngstr\\u00f6m'.fold()", "'uber angstrom'"),
      (
        "'\\u03a3\\u03af\\u03c3\\u03c5\\u03c6\\u03bf\\u03c2'.fold()",
        "'\\u03c3\\u03b9\\u03c3\\u03c5\\u03c6\\u03bf\\u03c3'"
      ),
      ("'e\\u0301'.fold()", "'e'"), ("'\\u0130stanbul'.fold()", "'istanbul'"),
      ("'\\u304c'.fold()", "'\\u304c'"), ("'\\u304b\\u3099'.fold()", "'\\u304b\\u3099'"),
      ("'\\u0419'.fold()", "'\\u0438'"),
      ("'\\u1ec6'.fold()", "'e'"),
      ("formatNumber(-1234.0)", "'-1,234'"), ("formatNumber(999)", "'999'"),
      ("formatNumber(-0.0001)", "'0'"),
      ("formatNumber(1000000u, 1)", "'1,000,000.0'"), ("formatBytes(0)", "'0 B'"),
      ("formatBytes(1023)", "'1023 B'"), ("formatBytes(1024)", "'1.0 KiB'"),
      ("formatBytes(1048575)", "'1.0 MiB'"),
      ("formatBytes(-2048)", "'-2.0 KiB'"), ("formatBytes(102400)", "'100 KiB'"),
      ("formatRelative(now - duration('59s'), now)", "'59 seconds ago'"),
      ("formatRelative(now - duration('1h'), now)", "'1 hour ago'"),
      ("formatRelative(now + duration('240h'), now)", "'in 1 week'"),
      ("formatDuration(duration('26h'))", "'1d 2h'"),
      ("formatDuration(duration('-90s'))", "'-1m 30s'"),
      ("formatDuration(duration('1h5s'))", "'1h'"),
      ("formatDate(now, '%j %V %u %s')", "'325 47 6 1795271400'"),
      ("formatDate(timestamp('2027-01-01T00:00:00Z'), '%V')", "'53'"),
      ("formatDate(now, '%F %T %z', '-03:30')", "'2026-11-21 11:00:00 -0330'"),
      ("parseDate('Sep  3 7:05 PM 24', '%b %e %I:%M %p %y')", "timestamp('2024-09-03T19:05:00Z')"),
      ("parseDate('2026-07-01T12:00:00+0200', '%FT%T%z')", "timestamp('2026-07-01T10:00:00Z')"),
      (
        "parseDate('2026-10-25 02:30', '%F %R', 'Europe/Berlin')",
        "timestamp('2026-10-25T00:30:00Z')"
      ),
      (
        "parseDate('2026-03-29 02:30', '%F %R', 'Europe/Berlin')",
        "timestamp('2026-03-29T01:30:00Z')"
      ),
    ] as [(String, String)])
  func `the functions for widgets format and parse text for people`(
    source: String, expected: String
  ) throws {
    try expectSame(source, expected)
  }

  @Test(arguments: [
    ("Sat, 21 Nov 2026", "%a, %d %b %Y", true), ("Fri, 21 Nov 2026", "%a, %d %b %Y", false),
    ("sunday 21.11.26", "%A %-d.%m.%y", false), ("SATURDAY 2026-11-21", "%A %F", true),
    ("Sat 1795271400", "%a %s", true), ("Sun 1795271400", "%a %s", false),
    ("Sat 2026-11-21T23:30+0100", "%a %FT%R%z", true),
    ("Sun 2026-11-21T23:30-0100", "%a %FT%R%z", false),
    // Without a year, the date has no weekday.
    ("Fri, 21 Nov", "%a, %d %b", true), ("Mon 07:00", "%a %R", true),
    ("03:30 PM", "%H:%M %p", true), ("15:30 PM", "%H:%M %p", true),
    ("15:30 AM", "%H:%M %p", false),
  ])
  func `parseDate refuses a text that contradicts itself`(
    text: String, pattern: String, isRight: Bool
  ) {
    #expect(
      Sample.reason("parseDate('\(text)', '\(pattern)')") == (isRight ? nil : "INVALID_ARGUMENT"))
  }

  @Test func `parseDate compares the weekday with the date in the zone of the text`() {
    let text = "'Sun 2026-11-22 00:30', '%a %F %R'"
    #expect(Sample.reason("parseDate(\(text), 'Europe/Berlin')") == nil)
    #expect(Sample.reason("parseDate('Sun 1795303800', '%a %s', 'Europe/Berlin')") == nil)
    #expect(Sample.reason("parseDate('Sun 1795303800', '%a %s')") == "INVALID_ARGUMENT")
    #expect(
      Sample.reason("parseDate('dimanche 21 novembre 2026', 'full', 'UTC', 'fr')")
        == "INVALID_ARGUMENT")
  }

  @Test(
    arguments: [
      (0.1, 20, "0.10000000000000000555"), (2.5, 0, "2"), (3.5, 0, "4"), (0.5, 0, "0"),
      (1e23, 0, "99999999999999991611392"),
      (-1.005, 2, "-1.00"), (9.995, 2, "9.99"), (99.99, 1, "100.0"),
      (Double.leastNonzeroMagnitude, 3, "0.000"), (0, 2, "0.00"),
      (123456789.125, 2, "123456789.12"),
    ] as [(Double, Int, String)])
  func `doubles are rounded by their exact value`(value: Double, places: Int, text: String) {
    #expect(DecimalText.fixed(value, places) == text)
  }

  @Test func `fast rounding gives the same as exact rounding`() {
    var generator = SeededGenerator(seed: 12)
    var quick = 0
    for round in 0..<5_000 {
      let bits = generator.next()
      let small = Double(Int64(truncatingIfNeeded: bits) >> 30) / 64
      let value = round % 2 == 0 ? Double(bitPattern: bits) : small
      let places = Int.random(in: 0...20, using: &generator)
      guard value.isFinite, let text = DecimalText.quick(value, places) else { continue }
      quick += 1
      #expect(text == DecimalText.exact(value, places), "\(value) \(places)")
    }
    #expect(quick > 2_500)
  }

  @Test(
    arguments: [
      (0, "0"), (-0.0, "-0"), (1, "1"), (1.5, "1.5"), (1e20, "100000000000000000000"),
      (1e21, "1e+21"), (1.25e-7, "1.25e-07"), (0.000001, "0.000001"), (6.02214e23, "6.02214e+23"),
      (.infinity, "Infinity"), (-.infinity, "-Infinity"), (.nan, "NaN"),
      (Double.leastNonzeroMagnitude, "5e-324"),
    ] as [(Double, String)])
  func `doubles become the shortest text that reads back`(value: Double, text: String) {
    #expect(DecimalText.shortest(value) == text)
  }

  @Test(
    arguments: [
      ("'héllo'.indexOf('l', 3)", "3"), ("'abc'.indexOf('', 1)", "1"),
      ("'abc'.indexOf('', 3)", "3"),
      ("'abc'.indexOf('c', 3)", "-1"), ("'abc'.lastIndexOf('', 3)", "3"),
      ("[1, 2, 3].first(2)", "[1, 2]"), ("[1, 2].first(9)", "[1, 2]"), ("[1].first(0)", "[]"),
      ("[1, 2, 3].last(2)", "[2, 3]"), ("[1, 2].last(9)", "[1, 2]"),
      ("type(null) == null_type", "true"),
      ("'abcabc'.lastIndexOf('abc', 2)", "0"),
      ("'abab'.lastIndexOf('ab', 2)", "2"), ("'ab'.indexOf('abc')", "-1"),
      ("'abc'.replace('', '-')", "'-a-b-c-'"),
      ("'abc'.replace('', '-', 2)", "'-a-bc'"), ("'aaa'.replace('aa', 'b')", "'ba'"),
      ("'abc'.replace('b', '', 0)", "'abc'"),
      ("'abc'.split('')", "['a', 'b', 'c']"), ("'abc'.split('', 2)", "['a', 'bc']"),
      ("'a,b,c'.split(',', 0)", "[]"),
      ("''.split(',')", "['']"), ("'\\u0085\\u00a0\\u3000x\\u200b '.trim()", "'x\\u200b'"),
      ("'abc'.charAt(3)", "''"),
      ("'%s|%s|%s'.format([1.0, [1u, b'a'], {'b': 2, 'a': null}])", "'1|[1, a]|{a: null, b: 2}'"),
      ("'%x %X %o %b %b'.format([-30, 'é', 8, -5, true])", "'-1e C3A9 10 -101 1'"),
      ("'%.2e %e'.format([12345.678, 0.0])", "'1.23e+04 0.000000e+00'"),
    ] as [(String, String)])
  func `text functions count code points and have Go's corner cases`(
    source: String, expected: String
  ) throws {
    try expectSame(source, expected)
  }

  @Test func `random doubles read back from their text`() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<3_000 {
      let value = Double(bitPattern: generator.next())
      guard value.isFinite else { continue }
      #expect(FunctionTable.double(DecimalText.shortest(value)) == value)
      #expect(FunctionTable.double(DecimalText.scientific(value, 17)) == value)
    }
  }

  @Test func `an unchecked expression fails only where a mistake is reached`() {
    var environment = Sample.environment
    environment.isChecked = false
    #expect(Sample.reason("nothing(1) || true", in: environment) == nil)
    #expect(Sample.reason("nowhere", in: environment) == "UNBOUND_VARIABLE")
    #expect(Sample.reason("nothing(1)", in: environment) == "UNCHECKED")
    #expect(Sample.reason("1 + 'a'", in: environment) == "NO_SUCH_OVERLOAD")
  }

  @Test func `a host adds and replaces functions`() throws {
    var environment = Sample.environment
    environment.functions = [
      ExpressionFunction("units.double", [.int], returns: .int) { arguments in
        guard case .int(let x) = arguments[0] else { return .null }
        return .int(2 * x)
      },
      ExpressionFunction("size", [.string], returns: .int) { _ in .int(-1) },
    ]
    let twice = try CompiledExpression("units.double(21)", in: environment)
    #expect(twice.resultType == .int)
    #expect(try twice.evaluate(Sample.bindings) == 42)
    #expect(try CompiledExpression("size('a')", in: environment).evaluate(Sample.bindings) == -1)
    #expect(Sample.reason("units.double(dyn('a'))", in: environment) == "NO_SUCH_OVERLOAD")
  }
}
