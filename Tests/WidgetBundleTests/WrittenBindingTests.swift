import Testing
import WidgetBundle
import WidgetModel

/// Templates and reducers from a file, in the form of the file.
@Suite struct WrittenBindingTests {
  private func kind(_ body: String) throws -> Kind {
    let text = """
      bundle: b
      format: 1
      version: 1.0.0
      permissions: {environment: [HOME]}
      defaults: {unit: "C (a)"}
      transforms: {half: value / 2}
      let: {limit: 20, all: size(data.list)}
      kinds:
        k:
          data: {n: 0, text: "", list: [1]}
          let: {more: "all + data.n", many: 'more > limit // "(" more'}
      \(body)
      """
    return try #require(try Samples.read(text).kinds.first).kind
  }

  @Test(arguments: [
    "=data.text", "=more", "=all + more", "='a)' + string(limit)", "=many ? 'x' : 'y'",
    "=defaults.unit", "=defaults.unit + string(more)", "=environment.HOME",
    "=environment.HOME + defaults.unit + string(all)", "=cel.bind(x, data.n, x + more)",
    "=data.list.map(all, all + more)[0]",
    #"{from: data.n, placeholder: "--"}"#, "{from: more, then: =value + limit}",
    #"{from: data.list, then: '=["it''s"][0]'}"#,
    #"{from: data.n, then: '=formatNumber(value, 2)', placeholder: "--"}"#,
    #"{from: data.n, if: value > all, then: =defaults.unit, else: "a ? b : c"}"#,
    #"{from: data.n, if: value > 3, else: "few"}"#,
    "{from: data.n, transform: percent}", #"{from: data.n, format: "%@ of 100%%"}"#,
    #"{from: data.n, if: value == 0, then: "none", else: '=value > 1 ? 1 : 2', transform: [int, bytes], "#
      + #"format: "(%@ + %@", placeholder: "?"}"#,
  ])
  func `a binding is shown as it was written`(written: String) throws {
    let scalar = "'\(written.replacing("'", with: "''"))'"
    let kind = try kind("    content: {label: \(written.hasPrefix("{") ? written : scalar)}")
    let binding = try #require(kind.content.first?.root.properties["text"])
    #expect(WrittenBinding(binding).text == written, "\(binding.expression)")
  }

  @Test func `elements of a list are shown as they were written`() throws {
    let kind = try kind("    content: {chart: [=more, =data.n, 5.5]}")
    let binding = try #require(kind.content.first?.root.properties["values"])
    #expect(WrittenBinding(binding).text == "[=more, =data.n, 5.5]", "\(binding.expression)")
  }

  @Test func `a transform of the bundle is shown as its expression`() throws {
    let kind = try kind("    content: {label: {from: data.n, transform: [half, string]}}")
    let binding = try #require(kind.content.first?.root.properties["text"])
    #expect(WrittenBinding(binding).text == "{from: data.n, transform: [value / 2, string]}")
  }

  @Test func `the names of let are listed, each after those that it uses`() throws {
    let kind = try kind("    content: {label: \"=many ? string(more) : defaults.unit\"}")
    let binding = try #require(kind.content.first?.root.properties["text"])
    let names = WrittenBinding(binding).names
    #expect(names.map(\.name) == ["limit", "all", "more", "many"])
    #expect(
      names.map(\.expression)
        == ["20", "size(data.list)", "all + data.n", "more > limit"])
  }

  @Test func `rows, conditions and reducers are shown as they were written`() throws {
    let kind = try kind(
      """
          content:
            stack:
              - {label: x, rows: 'data.list.filter(i, i < more)', if: item < limit}
              - {button: More, on: {press: {if: more > 0, do: {set: {n: more + 1}}}}}
      """)
    let row = try #require(kind.content.first?.root.children.first)
    #expect(
      WrittenBinding(expression: try #require(row.rows).list).text
        == "data.list.filter(i, i < more)")
    #expect(WrittenBinding(expression: row.condition).text == "item < limit")
    let reducer = try #require(kind.reducers.first)
    #expect(WrittenBinding(expression: reducer.condition).text == "more > 0")
    #expect(WrittenBinding(expression: try #require(reducer.assignments["n"])).text == "more + 1")
  }

  @Test(arguments: [
    "cel.bind(x, data.n, x)", "cel.bind(x, (data.n), x)", "cel.bind(value, (data.n), (value))",
    "cel.bind(defaults, data.n, (defaults))", "cel.bind(x, (1), (x)) + 1", "(a) + (b)", "a ? b : c",
    "cel.bind(x, (1), (x)", "cel.bind(\"", "f((1), (2), (3))",
  ])
  func `an expression of another form stays as it is`(source: String) {
    #expect(WrittenBinding(expression: source).text == source)
    #expect(WrittenBinding(Binding(source)).text == "=\(source)")
    #expect(WrittenBinding(expression: source).names.isEmpty)
  }
}
