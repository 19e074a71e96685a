import Testing
import WidgetBundle
import WidgetModel

/// Values that a daemon refuses: the reader refuses them first, with their places.
@Suite struct RefusedValueTests {
  /// A mistake in the body of a kind.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let body: String
    /// The text where the mistake is.
    let place: String
    let message: String
    let hint: String
    var testDescription: String { body }

    init(_ body: String, at place: String, _ message: String, hint: String) {
      (self.body, self.place, self.message, self.hint) = (body, place, message, hint)
    }
  }

  private static func check(_ text: String, _ mistake: Mistake) throws {
    let problems = Samples.problems(text)
    #expect(problems.count == 1, "\(problems)")
    let problem = try #require(problems.first)
    #expect(problem.message == mistake.message)
    #expect(problem.hint == mistake.hint)
    let line = text.split(separator: "\n", omittingEmptySubsequences: false)[problem.line - 1]
    #expect(line.dropFirst(problem.column - 1).hasPrefix(mistake.place), "\(problem)")
    #expect(problem.excerpt.contains(mistake.place))
  }

  @Test(arguments: [
    Mistake(
      "schedule: {cron: '0 8 * *'}", at: "'0 8", "expected 5 fields, not 4",
      hint: "write minute, hour, day of the month, month and day of the week, for example "
        + "\"*/5 9-17 * * mon-fri\""),
    Mistake(
      "schedule: {cron: '61 8 * * *'}", at: "'61", "\"61\" is not a minute", hint: "use 0 to 59"),
    Mistake(
      "schedule: {cron: '0 8 31 2 *'}", at: "'0 8",
      "\"0 8 31 2 *\" never fits: no month has such a day", hint: "name a day that the month has"),
    Mistake(
      "schedule: {cron: ''}", at: "''", "the pattern is empty",
      hint: "write for example 0 8 * * mon-fri"),
    Mistake(
      "schedule: {every: 1500ms}", at: "1500ms", "1.5s is not a period",
      hint: "use whole seconds, from 1 s to 366 days"),
    Mistake(
      "schedule: {every: 10000h}", at: "10000h", "36000000s is not a period",
      hint: "use whole seconds, from 1 s to 366 days"),
    Mistake(
      "schedule: {every: 1m, offset: 5m}", at: "5m",
      "300s is not an offset in a period of 60s", hint: "use whole seconds, at most one period"),
    Mistake(
      "schedule: {entries: '[]', zone: UTC}", at: "UTC",
      "entries have dates, so they have no zone", hint: "leave out zone"),
    Mistake(
      "families: [small, small]", at: "[small", "a family appears twice",
      hint: "leave out one of them"),
    Mistake(
      "content: {button: x, id: save}\nreducers: [{event: press, nodeId: nope, set: {n: 1}}]",
      at: "nope", "the content has no node \"nope\"", hint: "there is: save"),
    Mistake(
      "content: {button: x, id: save}\nreducers: [{event: press, nodeId: saev, set: {n: 1}}]",
      at: "saev", "the content has no node \"saev\"", hint: "did you mean \"save\"?"),
    Mistake(
      "reducers: [{event: press, nodeId: 'a b', set: {n: 1}}]", at: "'a b'",
      "\"a b\" cannot be a node's id",
      hint: "use 1 to 64 of a-z, A-Z, 0-9, _ and -, a letter or digit first"),
  ])
  func `a mistake in a kind that the daemon refuses has a place and a hint`(mistake: Mistake) throws
  {
    try Self.check(Samples.kind(mistake.body), mistake)
  }

  @Test(arguments: [
    "schedule: {cron: '0 8 * * mon-fri'}", "schedule: {every: 366d}", "schedule: {every: 1s}",
    "schedule: {every: 1h, offset: 1h}", "schedule: {every: 1h, offset: -30m}",
    "content: {button: x, id: save}\nreducers: [{event: press, nodeId: save, set: {n: 1}}]",
    "content: {button: x}\nreducers: [{event: press, nodeId: button-1, set: {n: 1}}]",
    "reducers: [{event: press, nodeId: any, set: {n: 1}}]",
  ])
  func `values at the limits are accepted`(body: String) {
    #expect(Samples.problems(Samples.kind(body)) == [])
  }

  private static let long = String(repeating: "a", count: 257)

  @Test(arguments: [
    Mistake(
      "labels: {z: \(long)}", at: "aaa", "the label \"z\" has a value of 257 bytes",
      hint: "use at most 256 bytes"),
    Mistake("labels: {\(long): z}", at: "aaa", "a name has 257 bytes", hint: "use 1 to 256 bytes"),
    Mistake(
      "labels: {\((0..<65).map { "l\($0): x" }.joined(separator: ", "))}", at: "{l0",
      "the widget has 65 labels", hint: "use at most 64"),
  ])
  func `a widget with labels that the daemon refuses has a place and a hint`(mistake: Mistake)
    throws
  {
    try Self.check(
      Samples.kind("") + "widgets:\n  a: {kind: k, \(mistake.body)}\n", mistake)
  }

  @Test func `a line instead of a program and its arguments gets a hint`() throws {
    try Self.check(
      Samples.kind("sources: {s: {command: [ls -l], set: {n: 1}}}"),
      Mistake(
        "", at: "ls -l", "\"ls -l\" is not a program, but a program with its arguments",
        hint: "split it: [ls, -l]"))
  }

  @Test func `a number larger than a double can be is not a value`() throws {
    try Self.check(
      Samples.kind("sample: {n: 1e400}"),
      Mistake("", at: "1e400", "1e400 is outside 64 bits", hint: "put it in quotes"))
  }

  @Test func `the hint about one field has the singular`() throws {
    let text =
      "bundle: b\nformat: 1\nversion: 1.0.0\nkinds: {k: {data: {n: 0}, "
      + "content: {label: =data.other}}}\n"
    #expect(Samples.problems(text).map(\.hint) == ["there is n"])
  }

  private static let number = "99999999999999999999"

  @Test(arguments: [
    // The reader of the value refuses it, and so did the reader of the part.
    ("kinds: {k: {}}\nwidgets: {w: {kind: k, timeline: {entries: [SCORED]}}}", "outside 64 bits"),
    ("kinds: {k: {data: {n: 0}, schedule: {cron: [1]}}}", "expected text"),
    ("kinds: {k: {}}\nwidgets: {w: {kind: [k]}}", "expected text"),
    // The required parameter is not missing.
    (
      "kinds: {k: {parameters: {n: {type: int, required: true}}}}\n"
        + "widgets: {w: {kind: k, parameters: {n: \(number)}}}", "outside 64 bits"
    ),
    ("kinds: {k: {}}\nwidgets: {w: {id: [w], kind: k}}", "expected text"),
  ])
  func `a value that is refused is told once`(body: String, words: String) {
    let scored = "{date: 2026-01-01T08:00:00Z, score: \(Self.number)}"
    let text = "bundle: b\nformat: 1\nversion: 1.0.0\n" + body.replacing("SCORED", with: scored)
    let problems = Samples.problems(text)
    #expect(problems.count == 1 && problems.first?.message.contains(words) == true, "\(problems)")
  }

  @Test(arguments: [
    "bundle: [b]\nformat: 1\nversion: 1.0.0\n", "bundle: b\nformat: 1\nversion: [1.0.0]\n",
  ])
  func `a wrong type in the head of a bundle is told once`(text: String) {
    let problems = Samples.problems(text)
    #expect(problems.count == 1, "\(problems)")
  }
}
