import Testing

@testable import WidgetExpression

/// The results of the checker: types, references, and mistakes with their places.
struct CheckerTests {
  @Test(
    arguments: [
      ("1", "int"), ("1 + 2", "int"), ("data.load", "list(double)"), ("data.load[0]", "double"),
      ("data.cpu.total", "double"), ("event.anything", "dyn"), ("event + 1", "int"),
      ("[1, 2]", "list(int)"), ("[1, 'a']", "list(dyn)"), ("[]", "list(dyn)"),
      ("{}", "map(dyn, dyn)"),
      ("{'a': [1]}", "map(string, list(int))"), ("[[], [1]]", "list(list(int))"),
      ("data.load.map(x, x > 1.0)", "list(bool)"), ("data.cpu.map(k, k)", "list(string)"),
      ("true ? 1 : 2", "int"), ("[1].filter(x, x > 0)[0]", "int"), ("now - now", "duration"),
      ("type(1)", "type"), ("math.greatest(1, 2)", "int"), ("math.greatest(1, 2.0)", "dyn"),
      ("[[1]].flatten()", "list(int)"), ("cel.bind(x, 'a', x + x)", "string"), ("null", "null"),
      ("data.load.transformMap(i, v, v)", "map(int, double)"), ("data", "record"),
    ] as [(String, String)])
  func `the type of the result is known`(source: String, type: String) throws {
    #expect(
      try CompiledExpression(source, in: Sample.environment).resultType.description == type)
  }

  @Test(
    arguments: [
      ("data.load[0] > 0.8 * double(parameters.cpus)", ["data.load[0]", "parameters.cpus"]),
      ("data", ["data"]), ("1 + 1", []), ("data.cpu[\"total\"]", ["data.cpu.total"]),
      ("data.cpu[parameters.key]", ["data.cpu", "parameters.key"]),
      ("'total' in data.cpu ? data.cpu.total : 0.0", ["data.cpu.total"]),
      ("parameters.key in data.cpu", ["data.cpu", "parameters.key"]),
      ("1.5 in data.load", ["data.load"]),
      ("data.`disk-free`", ["data[\"disk-free\"]"]),
      ("data.cpu.total + data.cpu.user", ["data.cpu.total", "data.cpu.user"]),
      ("data.cpu.total + data.cpu.size()", []), ("has(event.x) ? event.x.y : 0", ["event.x"]),
      ("data.items.map(x, x.n)", ["data.items"]), ("cel.bind(d, data.cpu, d.total)", ["data.cpu"]),
      ("data.load[data.load[0] > 1.0 ? 0 : 1]", ["data.load"]),
      ("size(data) + size(data.name)", ["data"]),
    ] as [(String, [String])])
  func `the checker knows the variables that an expression reads`(
    source: String, references: [String]
  ) throws {
    guard let expression = try? CompiledExpression(source, in: Sample.environment) else {
      // Only the expression that adds a double to an int is refused.
      #expect(references.isEmpty)
      return
    }
    #expect(expression.references.map(\.description) == references)
  }

  @Test(
    arguments: [
      ("data.cpu.total > 0.5", ["data.cpu.total"]), ("data.cpu['total']", ["data.cpu.total"]),
      ("has(event.x.y)", ["has(event.x.y)"]),
      ("has(event.x) ? event.x.y : 0", ["event.x.y", "has(event.x)"]),
      ("'total' in data.cpu", ["has(data.cpu.total)"]), ("'name' in data", ["has(data.name)"]),
      ("parameters.key in data.cpu", ["has(data.cpu[*])", "parameters.key"]),
      ("1.5 in data.load", ["data.load"]),
      ("data.name == null", ["data.name == null"]), ("null != data", ["data == null"]),
      ("data.cpu == {}", ["has(data.cpu[*])"]), ("data.name == ''", ["data.name"]),
      ("type(event.x) == null_type", ["event.x == null"]),
      ("size(data) + data.cpu.size()", ["has(data.cpu[*])", "has(data[*])"]),
      ("size(data.name) + size(data.load) + size(event)", ["data.load", "data.name", "event"]),
      ("theme[parameters.key].x", ["parameters.key", "theme[*].x"]),
      ("theme[parameters.key] == null", ["parameters.key", "theme[*] == null"]),
      ("data.cpu.exists(k, k == 'total')", ["has(data.cpu[*])"]),
      ("data.cpu.exists(k, v, v > 0.5)", ["data.cpu[*]", "has(data.cpu[*])"]),
      ("theme.all(k, v, has(v.x))", ["has(theme[*])", "has(theme[*].x)"]),
      ("data.cpu.map(k, data.cpu[k])", ["data.cpu[*]", "has(data.cpu[*])"]),
      ("data.items.map(x, x.n)", ["data.items"]),
      ("cel.bind(c, data.cpu, c.total)", ["data.cpu.total"]),
      ("cel.bind(c, data.cpu, cel.bind(d, c, 'total' in d))", ["has(data.cpu.total)"]),
      ("cel.bind(h, has(event.x), h)", ["has(event.x)"]), ("cel.bind(c, data.cpu, 1)", []),
      ("cel.bind(c, data.name, c + c)", ["data.name"]),
      // The checker does not follow variables of long paths.
      ("cel.bind(c, event.a.b.c.d.e.f.g.h.i, c.x)", ["event.a.b.c.d.e.f.g.h.i"]),
    ] as [(String, [String])])
  func `the checker knows which values an expression uses`(source: String, uses: [String]) throws {
    let expression = try CompiledExpression(source, in: Sample.environment)
    #expect(expression.uses.map(\.description) == uses)
  }

  @Test(
    arguments: [
      ("cel.bind(c, data.cpu, c.total)", ["data.cpu"]), ("cel.bind(c, data.cpu, 1)", ["data.cpu"]),
      ("'name' in data", ["data"]), ("size(data.cpu)", ["data.cpu"]),
      ("data.cpu.exists(k, v, v > 0.5)", ["data.cpu"]), ("theme.all(k, v, has(v.x))", ["theme"]),
      ("theme[parameters.key].x", ["parameters.key", "theme"]),
      ("has(theme[parameters.key].x)", ["parameters.key", "theme"]),
      ("data.name == null", ["data.name"]),
    ] as [(String, [String])])
  func `a test of presence is a reference like any other`(
    source: String, references: [String]
  ) throws {
    let expression = try CompiledExpression(source, in: Sample.environment)
    #expect(expression.references.map(\.description) == references)
  }

  @Test(arguments: [
    (
      "data.load.sortBy(x, x, 'desc')", 11,
      "sortBy() does not take these arguments; write list.sortBy(x, KEY)"
    ),
    ("sortBy(data.load, x, x)", 1, "'sortBy' is a method; write list.sortBy(x, KEY) or"),
    ("data.load.map(x)", 11, "map() does not take these arguments; write list.map(x, VALUE)"),
    ("data.load.filter(x, y, x > 1.0, x)", 11, "write list.filter(x, CONDITION)"),
    (
      "data.load.existsOne(x)", 11,
      "existsOne() does not take these arguments; write list.existsOne("
    ),
    ("data.load.transformMap(x, x)", 11, "write map.transformMap(k, v, VALUE)"),
    ("cel.bind(x, 1)", 5, "bind() does not take these arguments; write cel.bind(x, VALUE, RESULT)"),
  ])
  func `a macro with wrong arguments is one mistake`(
    source: String, column: Int, message: String
  ) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    #expect(error.problems.count == 1)
    let problem = try #require(error.problems.first)
    #expect(problem.offset == column - 1)
    #expect(problem.message.contains(message))
  }

  @Test(arguments: [
    ("data.load.fliter(x, x > 1.0)", 11, "unknown method 'fliter'; did you mean 'filter'?"),
    ("data.load.mapp(x, y)", 11, "unknown method 'mapp'; did you mean 'map'?"),
    ("data.load.mapp(x)", 11, "unknown method 'mapp'; did you mean 'map'?"),
    ("data.load.iterate(x, x > 1.0)", 11, "unknown method 'iterate'"),
    ("data.load.filter(x, data.load.fliter(y, y > x).size() > 0)", 31, "did you mean 'filter'?"),
    (
      "fliter(data.load, x, x > 1.0)", 1,
      "unknown function 'fliter'; did you mean 'filter'? Write list.filter(x, CONDITION)"
    ),
    ("cel.bnd(x, 1, x + 1)", 5, "unknown function 'cel.bnd'; write cel.bind(x, VALUE, RESULT)"),
    ("cell.bind(x, 1, x)", 6, "write cel.bind(x, VALUE, RESULT)"),
    ("dta.a + dta.b + dta.c", 1, "unknown variable 'dta'; did you mean 'data'?"),
  ])
  func `a misspelt name is one mistake`(source: String, column: Int, message: String) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    #expect(error.problems.count == 1, "\(error.problems.map(\.message))")
    let problem = try #require(error.problems.first)
    #expect(problem.offset == column - 1)
    #expect(problem.message.contains(message), "\(problem.message)")
  }

  @Test(arguments: [
    ("data.load.sizee(dta)", 2), ("siz(dta)", 2), ("data.load.fliter(x, x > 1.0) == dta", 2),
  ])
  func `other mistakes beside an unknown name are still reported`(
    source: String, count: Int
  ) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    #expect(error.problems.count == count, "\(error.problems.map(\.message))")
  }

  @Test(arguments: [
    ("data.load.filter(item, itm > 1.0)", "unknown variable 'itm'; did you mean 'item'?"),
    ("data.load.map(value, vale.x)", "unknown variable 'vale'; did you mean 'value'?"),
    (
      "data.load.exists(item, item > 1.0 && ite < 3.0)",
      "unknown variable 'ite'; did you mean 'item'?"
    ),
    (
      "data.load.map(first, data.load.map(second, frst + second))",
      "unknown variable 'frst'; did you mean 'first'?"
    ),
    ("cel.bind(total, 1, totl + 1)", "unknown variable 'totl'; did you mean 'total'?"),
  ])
  func `a misspelt variable of a macro is named`(source: String, message: String) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    #expect(error.problems.map(\.message) == [message])
  }

  @Test(arguments: [
    ("cpus > 1", "unknown variable 'cpus'; did you mean 'parameters.cpus'?"),
    ("cpu.total > 1.0", "unknown variable 'cpu'; did you mean 'data.cpu'?"),
    ("accent == ''", "unknown variable 'accent'; there are data, event, now, parameters, theme"),
  ])
  func `a field without its variable is named with it`(source: String, message: String) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    #expect(error.problems.map(\.message) == [message])
  }

  @Test(arguments: [
    ("data.größe > 1", 8, "write data[\"größe\"]"), ("data.öl", 6, "write data[\"öl\"]"),
    ("data.cpu.größe", 12, "write data.cpu[\"größe\"]"),
    ("data.items[0].größe", 17, "write [\"größe\"] in place of .größe"),
    ("data.name == größe", 16, "put text in quotes: \"größe\""),
    ("data.name == “a”", 14, "write quotes as \" or '"),
  ])
  func `a letter outside ASCII has advice`(source: String, column: Int, advice: String) throws {
    let error = try #require(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    let problem = try #require(error.problems.first)
    #expect(problem.position == SourcePosition(line: 1, column: column))
    #expect(problem.message.contains("does not belong in an expression; \(advice)"))
  }

  @Test(
    arguments: [
      ("data.lod[0]", "UNKNOWN_FIELD", 1, 6, "did you mean 'load'"),
      ("data['nmae']", "UNKNOWN_FIELD", 1, 5, "did you mean 'name'"),
      ("has(data.lod)", "UNKNOWN_FIELD", 1, 1, "did you mean 'load'"),
      ("dta.load", "UNKNOWN_VARIABLE", 1, 1, "did you mean 'data'"),
      ("1 +\n  siz('a')", "UNKNOWN_FUNCTION", 2, 3, "did you mean 'size'"),
      ("'a'.startWith('b')", "UNKNOWN_FUNCTION", 1, 5, "did you mean 'startsWith'"),
      ("math.absolut(1)", "UNKNOWN_FUNCTION", 1, 6, "math.absolut"),
      ("math.abz(1)", "UNKNOWN_FUNCTION", 1, 6, "did you mean 'math.abs'"),
      ("size", "UNKNOWN_VARIABLE", 1, 1, "call it with ()"),
      ("1 + 1.5", "NO_SUCH_OVERLOAD", 1, 3, "convert"),
      ("1 + 'a'", "NO_SUCH_OVERLOAD", 1, 3, "string("),
      ("1 == 'a'", "NO_SUCH_OVERLOAD", 1, 3, "int and string"),
      ("size(1)", "NO_SUCH_OVERLOAD", 1, 1, "size(string)"),
      ("size()", "NO_SUCH_OVERLOAD", 1, 1, "so many"),
      ("'a'.size(1)", "NO_SUCH_OVERLOAD", 1, 5, "so many"),
      ("charAt('a', 1)", "UNKNOWN_FUNCTION", 1, 1, "x.charAt"),
      ("(1).string()", "UNKNOWN_FUNCTION", 1, 5, "string(x"),
      ("true && 1", "TYPE_MISMATCH", 1, 9, "bool"),
      ("1 ? 2 : 3", "TYPE_MISMATCH", 1, 1, "bool"),
      ("true ? 1 : 'a'", "TYPE_MISMATCH", 1, 12, "dyn()"),
      ("!1", "TYPE_MISMATCH", 1, 2, "bool"), ("-'a'", "NO_SUCH_OVERLOAD", 1, 1, "string"),
      ("[1].all(x, x)", "TYPE_MISMATCH", 1, 12, "bool"),
      ("'a'.map(x, x)", "TYPE_MISMATCH", 1, 5, "list"),
      ("data.name.foo", "NO_SUCH_OVERLOAD", 1, 11, "no fields"),
      ("data.load['a']", "NO_SUCH_OVERLOAD", 1, 10, "int"),
      ("{1.5: 1}", "TYPE_MISMATCH", 1, 2, "key"), ("Foo{a: 1}", "UNSUPPORTED", 1, 1, "messages"),
      ("'a'.matches('(')", "INVALID_ARGUMENT", 1, 5, "not closed"),
      ("timestamp('x')", "INVALID_ARGUMENT", 1, 1, "RFC|2026"),
      ("all([1], x, x)", "UNKNOWN_FUNCTION", 1, 1, "list.all(x"),
      ("[1].map(x)", "NO_SUCH_OVERLOAD", 1, 5, "list.map(x, VALUE)"),
    ] as [(String, String, Int, Int, String)])
  func `a mistake has its place, a reason and advice`(
    source: String, reason: String, line: Int, column: Int, advice: String
  ) throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.reason.rawValue == reason)
    #expect(problem.position == SourcePosition(line: line, column: column))
    #expect(
      advice.split(separator: "|").contains { problem.message.contains($0) }, "\(problem.message)")
  }

  @Test(
    arguments: [
      ("", 1, 1, "empty"), ("1 +", 1, 4, "ends"), ("(1", 1, 3, "column 1"),
      ("1 2", 1, 3, "complete"),
      ("[1, 2", 1, 6, "list of column 1"), ("{'a' 1}", 1, 6, "':'"), ("f(1,)", 1, 5, "argument"),
      ("'abc", 1, 1, "not closed"), ("'a\nb'", 1, 1, "three quotes"), ("'\\q'", 1, 2, "escape"),
      ("'\\ud800'", 1, 2, "Unicode"), ("a = 1", 1, 3, "=="), ("a & b", 1, 3, "&&"),
      ("a | b", 1, 3, "||"),
      ("é", 1, 1, "belong"), ("9223372036854775808", 1, 1, "fit"),
      ("99999999999999999999", 1, 1, "64 bits"),
      ("1abc", 1, 2, "operator"), ("1e999", 1, 1, "larger"), ("-1u", 1, 1, "negative"),
      ("a ? b ? 1 : 2 : 3", 1, 7, "parentheses"),
      ("if", 1, 1, "reserved"), ("a.?b", 1, 3, "optional"), ("[?a]", 1, 2, "optional"),
      ("has(a)", 1, 1, "field"),
      ("[1].all(x.y, true)", 1, 11, "variable"), ("[1].all(x, x, true)", 1, 12, "different"),
      ("a.", 1, 3, "name"),
      ("a.``", 1, 3, "empty"), ("b'\\u0041'", 1, 3, "\\x"), ("1\n+ +", 2, 3, "value"),
      ("]", 1, 1, "value"),
    ] as [(String, Int, Int, String)])
  func `a syntax error has its place and advice`(
    source: String, line: Int, column: Int, advice: String
  ) throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.position == SourcePosition(line: line, column: column), "\(problem.message)")
    #expect(problem.message.contains(advice), "\(problem.message)")
  }

  @Test(
    arguments: [
      ("1 === 1", 3, "unknown operator '==='; did you mean '=='?"),
      ("1 !== 2", 3, "unknown operator '!=='; did you mean '!='?"),
      ("1<>2", 2, "did you mean '!='?"), ("2 => 1", 3, "did you mean '>='?"),
      ("1 =< 2", 3, "did you mean '<='?"), ("'a' ++ 'b'", 5, "did you mean '+'?"),
      ("data.name = 'web'", 11, "write == to compare"),
      ("data.name =~ 'web'", 11, "unknown operator '=~'; write text.matches('PATTERN')"),
      ("data.name ~= 'web'", 11, "unknown operator '~='; write text.matches('PATTERN')"),
      ("data.name !~ 'web'", 11, "unknown operator '!~'; write !text.matches('PATTERN')"),
      ("data.name.includes('we')", 11, "unknown method 'includes'; did you mean 'contains'?"),
      ("data.load.includes(1.5)", 11, "unknown method 'includes'; write x in list"),
      ("=data.name", 1, "leave out the = at the start"),
      (" = data.name", 2, "leave out the = at the start"),
      ("true and true", 6, "write && for 'and'"), ("(true OR false)", 7, "write || for 'OR'"),
      ("data.name == '' or true", 17, "write || for 'or'"), ("not true", 1, "write ! for 'not'"),
      ("not event.x", 1, "write ! for 'not'"), ("not(true)", 1, "write ! for 'not'"),
      ("data.name is null", 11, "write == for 'is'"),
      ("data.name is not null", 11, "write != for 'is not'"),
      ("(1 IS NOT 2)", 4, "write != for 'IS NOT'"),
      ("1 not in [1]", 3, "write !(x in list) for 'x not in list'"),
      ("1 is not in [1]", 3, "write !(x in list) for 'x is not in list'"),
      ("event.x == True", 12, "unknown variable 'True'; did you mean 'true'?"),
      ("False", 1, "did you mean 'false'?"), ("event.x == None", 12, "did you mean 'null'?"),
      ("nul", 1, "did you mean 'null'?"), ("nil", 1, "did you mean 'null'?"),
      ("NULL", 1, "did you mean 'null'?"), ("undefined", 1, "did you mean 'null'?"),
      (
        "any(data.load, x, x > 1.0)", 1,
        "unknown function 'any'; did you mean 'exists'? Write list.exists(x, CONDITION)"
      ),
      ("data.load.any(x, x > 1.0)", 11, "unknown method 'any'; did you mean 'exists'?"),
      ("data.load.every(x, x > 1.0)", 11, "unknown method 'every'; did you mean 'all'?"),
      ("len(data.load)", 1, "unknown function 'len'; did you mean 'size'?"),
      ("data.load.length()", 11, "unknown method 'length'; did you mean 'size'?"),
      ("data.name.length > 1", 11, "has no fields such as 'length'; write size(data.name)"),
      ("[data.load.length]", 12, "has no fields such as 'length'; write size(data.load)"),
      ("data['name'].length", 14, "has no fields such as 'length'; write size(x)"),
      ("string(1).length", 11, "has no fields such as 'length'; write size(x)"),
      ("'a'.length", 5, "has no fields such as 'length'; write size(x)"),
      ("data.load[0].toString()", 14, "unknown method 'toString'; write string(x)"),
      ("str(1)", 1, "unknown function 'str'; did you mean 'string'?"),
      ("data.name.toLowerCase()", 11, "did you mean 'lowerAscii'?"),
    ] as [(String, Int, String)])
  func `an operator or a word of another language has advice`(
    source: String, column: Int, advice: String
  ) throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    let problems = try #require(error).problems
    #expect(problems.count == 1, "\(problems.map(\.message))")
    #expect(problems.first?.position == SourcePosition(line: 1, column: column))
    #expect(problems.first?.message.contains(advice) == true, "\(problems.map(\.message))")
  }

  @Test(arguments: ["true", "[1].exists(nil, nil > 0)", "data.load.all(not, !(not > 9.0))"])
  func `a variable may have the name of a word of another language`(source: String) throws {
    #expect(try Sample.value(source) == .bool(true))
  }

  @Test(
    arguments: [
      ("1 not == 1", "'not' is not expected here"), ("1 not 2", "'not' is not expected here"),
      ("data.load[0].length", "has no fields such as 'length'"),
      ("now.length", "has no fields such as 'length'"),
      ("true.length", "has no fields such as 'length'"),
    ])
  func `a word that stands for nothing in its place has no advice`(
    source: String, message: String
  ) throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression(source, in: Sample.environment)
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.message.contains(message) && !problem.message.contains("write"))
  }

  @Test func `the length of a value that is not known before is size if it has one`() {
    let text = #expect(throws: EvaluationError.self) { try Sample.value("theme.accent.length") }
    #expect(
      text?.message == "a value of type string has no field 'length'; write size(theme.accent)")
    let number = #expect(throws: EvaluationError.self) { try Sample.value("event.x.length") }
    #expect(number?.message == "a value of type int has no field 'length'")
  }

  @Test(
    arguments: [
      ("a.length", 2, "a"), ("a.b[0].c.length", 9, "a.b[0].c"), ("a+b.length", 4, "b"),
      ("[a.length", 3, "a"), ("f(x).length", 5, nil), ("f(x).y.length", 7, nil),
      ("a['b'].length", 7, nil), ("`a`.length", 4, nil), (".a.length", 3, nil),
      ("a. length", 3, nil), (String(repeating: "a", count: 64) + ".b", 65, "a…"),
      (String(repeating: "a", count: 70) + ".b", 71, nil), ("a", 9, nil), (".b", 1, nil),
    ] as [(String, Int, String?)])
  func `the value before a field is found if it is short and simple`(
    source: String, offset: Int, operand: String?
  ) {
    let expected = operand == "a…" ? String(repeating: "a", count: 64) : operand
    #expect(SourceText(source).operand(before: offset) == expected)
  }

  @Test func `all mistakes are reported in order, up to a limit`() throws {
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression("foo + data.lod + siz(1)", in: Sample.environment)
    }
    let problems = try #require(error).problems
    #expect(problems.map(\.position.column) == [1, 12, 18])
    let many = #expect(throws: ExpressionError.self) {
      let source = (0..<50).map { "foo\($0)" }.joined(separator: " && ")
      _ = try CompiledExpression(source, in: Sample.environment)
    }
    #expect(many?.problems.count == 10)
  }

  @Test func `the result can be required to be of a type`() throws {
    var environment = Sample.environment
    environment.resultType = .bool
    #expect(throws: Never.self) { try CompiledExpression("event.flag", in: environment) }
    let error = #expect(throws: ExpressionError.self) {
      try CompiledExpression("1 + 1", in: environment)
    }
    #expect(error?.reason == .typeMismatch)
    #expect(error?.message.contains("bool") == true)
  }

  @Test func `the caret of an error is under its place after tabs and wide characters`() throws {
    func rendered(_ source: String) -> [String] {
      do {
        _ = try CompiledExpression(source, in: Sample.environment)
        return []
      } catch { return error.rendered.split(separator: "\n").map(String.init) }
    }
    #expect(rendered("'日本' + foo").suffix(2) == ["1 | '日本' + foo", "  |          ^"])
    #expect(rendered("true &&\n\tfoo").suffix(2) == ["2 | →foo", "  |  ^"])
    #expect(rendered("true\r\n && foo\r\n").suffix(2) == ["2 |  && foo", "  |     ^"])
    let long =
      String(repeating: "true && ", count: 30) + "foo" + String(repeating: " || true", count: 30)
    let excerpt = rendered(long).suffix(2)
    #expect(excerpt.allSatisfy { $0.count <= 110 })
    let places = excerpt.map { Array($0) }
    let caret = try #require(places[1].firstIndex(of: "^"))
    #expect(String(places[0][caret...].prefix(3)) == "foo")
    #expect(!rendered("'\u{1B}[31m' + foo").joined().contains("\u{1B}"))
  }

  @Test func `an error of an evaluation has its place`() throws {
    let expression = try CompiledExpression(
      "1 +\n  data.cpu['x'] > 0.0 ? 1 : 2".replacingOne(), in: Sample.environment)
    let error = #expect(throws: EvaluationError.self) { try expression.evaluate(Sample.bindings) }
    #expect(error?.position == SourcePosition(line: 2, column: 11))
    #expect(error?.rendered.contains("\n2 | ") == true)
  }

  @Test(arguments: ["int", "list(map(string, dyn))", "map(int, list(timestamp))", "duration"])
  func `types read as they are written`(text: String) {
    #expect(ExpressionType(text)?.description == text)
  }

  @Test(arguments: ["", "integer", "list(", "list(int", "map(int)", "int int"])
  func `a text that is not a type is refused`(text: String) { #expect(ExpressionType(text) == nil) }

  @Test(arguments: [
    ("Europe/Berlin", 0), ("Europe/Berln", 1), ("UTC", 0), ("+02:00", 0),
  ])
  func `a time zone that the machine does not know is a warning, not a mistake`(
    zone: String, count: Int
  ) throws {
    var environment = Sample.environment
    environment.timeZones = { $0 == "Europe/Berlin" ? .utc : nil }
    let compiled = try CompiledExpression("formatDate(now, '%H', '\(zone)')", in: environment)
    #expect(compiled.doubts.map(\.alwaysFails) == Array(repeating: false, count: count))
    #expect(compiled.doubts.map(\.offset) == Array(repeating: 22, count: count))
    let part = try CompiledExpression("now.getHours('\(zone)')", in: environment)
    #expect(part.doubts.map(\.alwaysFails) == Array(repeating: false, count: count))
    #expect(part.doubts.map(\.offset) == Array(repeating: 13, count: count))
    environment.timeZones = nil
    for source in ["formatDate(now, '%H', '\(zone)')", "now.getHours('\(zone)')"] {
      #expect(try CompiledExpression(source, in: environment).doubts.isEmpty)
    }
  }

  @Test func `the signatures of all functions are readable`() {
    let table = FunctionTable.standard
    for isMember in [true, false] {
      for name in table.names(isMember: isMember) {
        for function in table.all(named: name, isMember: isMember) {
          #expect(!function.signatures.isEmpty)
          for signature in function.signatures {
            #expect(signature.parameters.count == function.arity && function.arity > 0, "\(name)")
          }
          switch function.body {
          case .one: #expect(function.arity == 1, "\(name)")
          case .two: #expect(function.arity == 2, "\(name)")
          case .many: break
          }
        }
      }
    }
  }
}

extension String {
  /// The second line alone is a condition, so the first becomes a comment.
  fileprivate func replacingOne() -> String { "// \(self)" }
}
