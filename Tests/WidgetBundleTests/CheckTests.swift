import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

/// Checks that need several parts of a bundle.
@Suite struct CheckTests {
  private static let time = #"timestamp("2026-01-01T00:00:00Z")"#

  @Test(arguments: [
    (#"formatDate(\#(time), "%Q")"#, "'%Q' is unknown"),
    (#"formatDate(\#(time), "long", "UTC", "tlh")"#, "no dates in the language"),
    (#"string(parseDate("1", "%j"))"#, "'%j' cannot be read"),
    (#"string([1].sortBy(x, des(x))[0])"#, "unknown function 'des'"),
  ])
  func `constants that always fail are a mistake, with their place`(
    source: String, message: String
  ) throws {
    let problems = Samples.problems(Samples.kind("content: {label: '=\(source)'}"))
    let problem = try #require(problems.first)
    #expect(problem.message.contains(message))
    #expect(problem.column > 20)
    #expect(problem.hint == (message.contains("des") ? "did you mean 'desc'?" : problem.hint))
  }

  @Test(arguments: [
    ("{api: {url: 'https://b.c/'}}", "{service: api}", 5, "may not speak to b.c"),
    ("{api: {url: 'http://a.b/', auth: '${bundle}/t'}}", "{service: api}", 5, "would cross"),
    ("{api: {url: 'https://a.b/', headers: {x: =data.n}}}", "{service: api}", 5, "data"),
    ("{api: {query: {a: 1}}}", "{service: api}", 5, "the URL is missing"),
    ("{a-b: {url: 'https://a.b/'}}", "{url: 'https://a.b/'}", 5, "\"a-b\" is not a name"),
    ("{api: {url: 'https://a.b/', tiemout: 5s}}", "{service: api}", 5, "unknown key \"tiemout\""),
    ("{api: {url: 'https://a.b/'}}", "{service: apy}", 9, "no service \"apy\""),
    ("{}", "{service: api}", 9, "no service \"api\""),
    (
      "{api: {url: 'https://a.b/'}}", "{service: api, url: 'https://a.b/'}", 9, "a URL or a service"
    ),
    ("{api: {url: 'https://a.b/'}}", "{path: x}", 9, "the URL is missing"),
  ])
  func `services are checked once, and so are requests that name them`(
    services: String, http: String, line: Int, message: String
  ) {
    do throws(InvalidBundle) {
      _ = try BundleReader.read(
        """
        bundle: b
        format: 1
        version: 1.0.0
        permissions: {hosts: [a.b]}
        services: \(services)
        kinds:
          k:
            data: {n: 0}
            sources: {s: {http: \(http), set: {n: result}}, t: {http: \(http), set: {n: result}}}
        """)
      Issue.record("it was read")
    } catch {
      #expect(error.problems.allSatisfy { $0.line == line }, "\(error.problems)")
      #expect(error.problems.first?.message.contains(message) == true, "\(error.problems)")
      #expect(error.problems.count == (line == 5 ? 1 : 2))
    }
  }

  @Test(arguments: [
    ("url: 'http://a.b/', auth: '${bundle}/t'", "would cross the network"),
    ("url: 'https://a.b/', auth: /etc/t", "may not read /etc/t"),
    ("url: 'https://a.b/', auth: '${bundle}/t', headers: {authorization: x}", "authenticates once"),
    ("url: 'https://a.b/', auth: {file: '${bundle}/t', scheme: digest}", "digest"),
    ("url: 'https://a.b/', auth: {scheme: basic}", "the file is missing"),
  ])
  func `the credentials of a request are checked`(request: String, message: String) {
    let problems = Samples.problems(
      Samples.kind("sources: {f: {http: {\(request)}}}", permissions: "{hosts: [a.b]}"))
    #expect(problems.count == 1 && problems.first?.message.contains(message) == true, "\(problems)")
  }

  @Test(arguments: [
    ("on: {click: {set: {text: hello}}}", "hello"),
    ("on: {click: {set: {text: 'good morning!'}}}", "good morning!"),
    ("actions: {a: {do: {reload: all}, optimistic: {text: \"wait\"}}}", "wait"),
    ("on: {click: {set: {text: =hello}}}", nil),
    ("on: {click: {set: {text: dta}}}", nil),
    ("on: {click: {set: {text: data.nope}}}", nil),
    ("on: {click: {set: {text: data more}}}", nil),
    ("on: {click: {set: {n: hello}}}", nil),
  ])
  func `words in the place of an expression for a text get their quotes as advice`(
    body: String, words: String?
  ) {
    let hints = Samples.problems(Samples.kind(body)).map(\.hint)
    #expect(!hints.isEmpty)
    let isAdvised = hints.contains {
      $0.hasSuffix("for a text, write \"'\(words ?? "")'\", because this is an expression")
    }
    #expect(isAdvised == (words != nil), "\(hints)")
    #expect(words != nil || !hints.contains { $0.contains("for a text") }, "\(hints)")
  }

  @Test(arguments: [
    ("widgets: [{kind: k}]", "the id is missing"),
    ("widgets: [{id: a}]", "widget \"a\" has no kind"),
    ("widgets: [{id: a, kind: k}, {id: a, kind: k}]", "widget \"a\" appears twice"),
    ("widgets: [{id: a, kind: k k}]", "\"k k\" cannot be a kind's name"),
    ("widgets: [{id: a, kind: k, parameters: {x: 1}}]", "no parameters \"x\""),
    ("widgets: [{id: a, kind: k, data: {n: x}}]", "type int, not string"),
    ("widgets: [{id: a b, kind: k}]", "cannot be a widget's id"),
    ("widgets: {a: {kind: k, visible: 5}}", "expected true or false"),
    ("widgets: {a: {kind: k, family: tall}}", "\"tall\" is not a family"),
  ])
  func `widgets are checked against their kinds`(widgets: String, message: String) {
    let problems = Samples.problems(Samples.kind("displayName: K") + widgets)
    #expect(problems.contains { $0.message.contains(message) }, "\(problems)")
  }

  @Test(arguments: [
    ("{unit: C}", "label: =defaults.unti", "unknown field 'unti'"),
    ("{unit: {type: int, default: C}}", "label: x", "type int, not string"),
    ("{a-b: C}", "label: x", "not a name that expressions can use"),
    ("{}", "label: =defaults.unit", "unknown variable 'defaults'"),
    ("{n: 1}", "label: {from: defaults.n, transform: duration}", "cannot take this"),
  ])
  func `a wrong default of a setting is reported`(
    defaults: String, content: String, message: String
  ) {
    let problems = Samples.problems(
      "defaults: \(defaults)\n" + Samples.kind("content: {\(content)}", data: ""))
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
  }

  @Test(arguments: [
    ("Europe/Berlim", 1), ("=parameters.p == 1 ? 'UTC' : 'Europe/Berlim'", 1),
    ("='Europe/Berlim'", 1), ("=parameters.p == 1 ? 'UTC' : 'Europe/Berlin'", 0),
    ("=parameters.zone", 0),
  ])
  func `a constant time zone of a schedule that does not exist is refused`(
    zone: String, count: Int
  ) throws {
    let text = Samples.kind(
      "parameters: {p: 1, zone: UTC}\nschedule: {every: 1h, zone: \"\(zone)\"}")
    var problems: [BundleProblem] = []
    do throws(InvalidBundle) {
      _ = try BundleReader.read(text) { name in
        ["Etc/UTC", "UTC", "Europe/Berlin"].contains(name) ? .utc : nil
      }
    } catch { problems = error.problems }
    #expect(problems.count == count, "\(problems)")
    guard let problem = problems.first else { return }
    #expect(problem.message == "there is no time zone \"Europe/Berlim\"")
    let line = text.split(separator: "\n", omittingEmptySubsequences: false)[problem.line - 1]
    let place = line.dropFirst(problem.column - 1).drop { "\"'=".contains($0) }
    #expect(place.hasPrefix("Europe/Berlim"))
  }

  @Test(arguments: [
    ("Europe/Berlim", 1), ("='Europe/Berlim'", 1),
    ("=parameters.p == 1 ? 'UTC' : 'Europe/Berlim'", 1),
    ("=parameters.p == 1 ? 'UTC' : '+02:00'", 0), ("=parameters.zone", 0),
    ("{from: parameters.zone, placeholder: Europe/Berlim}", 1),
    ("{if: true, from: 1, then: Europe/Berlin, else: Europe/Berlim}", 1),
  ])
  func `a constant time zone of a date that does not exist is refused`(
    zone: String, count: Int
  ) {
    let shown = zone.hasPrefix("{") ? zone : "\"\(zone)\""
    let text = Samples.kind(
      "parameters: {p: 1, zone: UTC}\n"
        + "content: {date: \"=timestamp('2026-01-01T00:00:00Z')\", zone: \(shown)}")
    var problems: [BundleProblem] = []
    do throws(InvalidBundle) {
      _ = try BundleReader.read(text) { name in
        ["Etc/UTC", "UTC", "Europe/Berlin"].contains(name) ? .utc : nil
      }
    } catch { problems = error.problems }
    #expect(problems.count == count, "\(problems)")
    guard let problem = problems.first else { return }
    #expect(problem.message == "there is no time zone \"Europe/Berlim\"")
    let line = text.split(separator: "\n", omittingEmptySubsequences: false)[problem.line - 1]
    let place = line.dropFirst(problem.column - 1).drop { "\"'=".contains($0) }
    #expect(place.hasPrefix("Europe/Berlim"), "\(place)")
  }

  @Test(arguments: [
    ("date: \"=timestamp('2026-01-01T00:00:00Z')\", format: \"='%Q'\"", "'%Q' is unknown"),
    ("label: =data.text, runs: [{text: =data.text, weight: bolt}]", "runs[0].weight"),
    ("label: x, runs: [=data.text, {text: b, colour: red}]", "runs[1] has no \"colour\""),
    ("label: x, padding: {top: =data.n, botom: 2}", "has no \"botom\""),
    ("label: x, padding: {top: =data.n, bottom: -2}", "-2 is not a valid padding.bottom"),
    ("label: x, separator: {insets: {top: =data.n}, color: blu}", "\"blu\" is not a colour"),
    ("label: x, accessory: {imag: =data.text}", "has no \"imag\""),
    ("table: [], columns: [{title: =data.text, align: middle}]", "columns[0].align"),
  ])
  func `constants beside expressions are checked`(content: String, message: String) {
    let problems = Samples.problems(Samples.kind("content: {\(content)}"))
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
  }

  @Test(arguments: [
    "label: =data.text, runs: [=data.text, {text: x, weight: =data.text, color: color.primary}]",
    "label: x, padding: {top: =data.n, bottom: 2}",
    "label: x, separator: {insets: {top: =data.n}, color: =data.text}",
    "label: x, accessory: {image: =data.text}", "label: x, classes: [=data.text, b]",
    "table: [], columns: [=data.text, {title: =data.text, align: end, width: =data.n}]",
  ])
  func `expressions beside constants fit every property`(content: String) {
    let problems = Samples.problems(Samples.kind("content: {\(content)}"))
    #expect(problems.isEmpty, "\(problems)")
  }

  @Test(arguments: [
    ("gauge: 1, min: 9, max: 5", "min 9 is greater than max 5"),
    ("gauge: 1, max: -1", "min 0 is greater than max -1"),
    ("chart: [1], min: 3, max: 2", "min 3 is greater than max 2"),
    ("label: x, minWidth: 200, maxWidth: 100", "minWidth 200 is greater than maxWidth 100"),
    ("stack: [], minHeight: 20, maxHeight: 10", "minHeight 20 is greater than maxHeight 10"),
    ("input: x, throttle: -1s", "a negative duration is not a valid throttle of an input"),
    ("date: \"=timestamp('2026-01-01T00:00:00Z')\", format: '%Q'", "'%Q' is unknown"),
    ("stack: [{label: x, id: icon}], accessory: {node: iconn}", "no child \"iconn\""),
    ("label: x, accessory: {node: icon}", "the label has no child"),
    (
      "date: \"=timestamp('2026-01-01T00:00:00Z')\", zone: Europe/Berlim",
      "no time zone \"Europe/Berlim\""
    ),
  ])
  func `constants that contradict their node are reported with their place`(
    content: String, message: String
  ) throws {
    let text = Samples.kind("content: {\(content)}")
    let error = #expect(throws: InvalidBundle.self) {
      try BundleReader.read(text) { name in
        ["Etc/UTC", "Europe/Berlin"].contains(name) ? .utc : nil
      }
    }
    let problems = try #require(error).problems
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
    #expect(problems[0].column > 1)
  }

  @Test(arguments: [
    "label: x, minWidth: 5, maxWidth: 5", "label: x, minWidth: 5, maxWidth: =data.n",
    "label: x, minWidth: offset.basic, maxWidth: 1", "input: x, throttle: 0s",
    "date: \"=timestamp('2026-01-01T00:00:00Z')\", format: '%H o''clock'",
    "gauge: 1, min: 5, max: 5", "gauge: 1, min: 5, max: =data.n", "chart: [1], min: 3",
    "stack: [{label: x, id: icon}], accessory: {node: icon}",
    "date: \"=timestamp('2026-01-01T00:00:00Z')\", zone: Europe/Berlin",
    "date: \"=timestamp('2026-01-01T00:00:00Z')\", zone: '+02:00'",
  ])
  func `constants that go with their node are taken`(content: String) {
    #expect(throws: Never.self) {
      try BundleReader.read(Samples.kind("content: {\(content)}")) { name in
        ["Etc/UTC", "Europe/Berlin"].contains(name) ? .utc : nil
      }
    }
    // Without a database of time zones no zone is refused.
    #expect(Samples.problems(Samples.kind("content: {\(content)}")).isEmpty)
  }

  @Test(arguments: [
    ("{ago: 1 +}", "label: x", "ends too early"), ("{int: value}", "label: x", "already"),
    ("{a-b: value}", "label: x", "cannot be a transform's name"),
    ("{a: data.n}", "label: x", "unknown variable 'data'"),
    ("{}", "label: {from: data.n, transform: byte}", "no transform \"byte\""),
    ("{}", "label: {from: data.n, transform: duration}", "cannot take this"),
    ("{}", "gauge: {from: data.n, transform: percent}", "gives string"),
    ("{}", "label: {transform: int}", "the value is missing"),
  ])
  func `transforms are checked where they are declared and used`(
    transforms: String, content: String, message: String
  ) {
    let problems = Samples.problems(
      "transforms: \(transforms)\n" + Samples.kind("data: {n: 1}\ncontent: {\(content)}", data: ""))
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
  }

  @Test(arguments: [
    ("{a: 1 +}", "", "label: =a", "ends too early"),
    ("", "{a: data.m}", "label: =string(a)", "unknown field 'm'"),
    ("{a-b: 1}", "", "label: x", "cannot be a name of \"let\""),
    ("{result: 1}", "", "label: x", "cannot be a name of \"let\""),
    ("{item: 1}", "", "label: x", "cannot be a name of \"let\""),
    ("{a: 1}", "{a: 2}", "label: x", "\"let\" has \"a\" already"),
    ("{a: b, b: 1}", "", "label: x", "unknown variable 'b'"),
    ("{a: a}", "", "label: x", "unknown variable 'a'"),
    ("", "{a: now}", "label: =string(a)", "\"a\" cannot be used here: unknown variable 'now'"),
    ("{a: data.m}", "", "label: =string(a)", "\"a\" cannot be used here: unknown field 'm'"),
    ("", "{a: result, b: size(a)}", "label: =string(b)", "\"a\" cannot be used here"),
    ("", "{a: data.n}", "label: =a.b", "no field"),
    ("", "{a: data.n}", "label: ='x' + a", "'+'"),
    ("", "{a: data.n}", "gauge: =string(a)", "gives string"),
    ("", "{a: 1}", "stack: [{label: x, rows: {list: '[1]', as: a}}]", "the name of a row"),
  ])
  func `a mistake in a name of let is reported where it is`(
    ofBundle: String, ofKind: String, content: String, message: String
  ) {
    let body =
      "data: {n: 1}\n" + (ofKind.isEmpty ? "" : "let: \(ofKind)\n") + "content: {\(content)}"
    let problems = Samples.problems(
      (ofBundle.isEmpty ? "" : "let: \(ofBundle)\n") + Samples.kind(body, data: ""))
    #expect(problems.count == 1 && problems[0].message.contains(message), "\(problems)")
  }

  @Test func `a bundle and a kind have sixty-four names of let at most`() {
    func problems(_ count: Int) -> [BundleProblem] {
      let names = (0..<count).map { $0 == 0 ? "n0: 1" : "n\($0): n\($0 - 1) + 1" }
      return Samples.problems(
        Samples.kind("let: {\(names.joined(separator: ", "))}\ncontent: {label: x}"))
    }
    #expect(problems(64).isEmpty)
    #expect(problems(65).map(\.message) == ["\"let\" has more than 64 names"])
  }

  @Test(arguments: [
    ("https://me:secret@api.example/secret?a=secret", "\"https://api.example/…\""),
    ("https://secret:se@cret@api.example", "\"https://api.example\""),
    ("https://api.example/", "\"https://api.example\""),
    ("https://api.example:8x/secret", "\"https://api.example/…\""),
    ("http://[::1]:99999/secret", "\"http://[::1]/…\""),
    ("ftp://b\u{fc}cher.example#secret", "\"ftp://b\u{fc}cher.example/…\""),
    ("https://me:se/cret@api.example/x", "\"https://…\""),
    ("https://me:se?cret@api.example", "\"https://…\""),
    ("https://me:se#cret@api.example", "\"https://…\""),
    ("https://api.example/?a=b@secret", "\"https://…\""),
    ("https://api.example\\secret", "\"https://…\""),
    ("https://me%3Asecret%40h", "\"https://…\""),
    ("https://me:secret@", "\"https://…\""), ("https://", "\"https://…\""),
    ("//me:secret@api.example", "the text"), ("https:/me:secret@api.example", "the text"),
    ("secret", "the text"), ("me:secret@h?u=https://api.example", "the text"), ("", "the text"),
  ])
  func `a failure shows only the scheme and the host of a URL`(text: String, subject: String) {
    #expect(ShownURL.subject(text) == subject)
  }

  @Test func `a wrong URL in a bundle's file is reported without its secrets`() {
    let url = "'https://me:secret@a.b/secret'"
    let problems =
      Samples.problems(Samples.kind("sources: {f: {http: \(url), set: {n: result}}}"))
      + Samples.problems(Samples.kind("displayName: K", permissions: "{hosts: [\(url)]}"))
    let messages = problems.map(\.message).filter { $0.contains("a.b") }
    #expect(
      messages == [
        "\"https://a.b/…\" must not have a user name or a password",
        "\"https://a.b/…\" is not a host",
      ])
    #expect(!"\(problems)".contains("secret"))
  }

  @Test(arguments: [
    ("http://me@a.b", true), ("https://me:word@a.b:8080/x", true), ("http://me:word@a.b?q", true),
    ("http://a.b/me@x", false), ("http://a.b?to=me@x", false), ("http://a b/", false),
    ("ftp://me@a.b/", false), ("me@a.b", false),
  ])
  func `a user name in a URL is a problem of its own`(url: String, isUser: Bool) {
    let problems = Samples.problems(
      Samples.kind("sources: {f: {http: '\(url)', set: {n: result}}}"))
    let found = problems.first { $0.message.contains("must not have a user name or a password") }
    #expect((found != nil) == isUser, "\(problems)")
    #expect(found == nil || found?.hint.contains("auth: {scheme: basic, file: PATH}") == true)
  }

  @Test(arguments: [
    ("read: [etc]", "not an absolute path"), ("read: [/a/../b]", "has .."),
    ("hosts: ['http://x']", "not a host"), ("hosts: ['x:0']", "not a host"),
    ("hosts: ['*']", "not a host"),
    ("commands: ['df -h']", "not a program"), ("commands: [bin/df]", "not an absolute path"),
    ("reed: []", "unknown key"),
  ])
  func `a wrong permission is reported`(permission: String, message: String) {
    let problems = Samples.problems(Samples.kind("displayName: K", permissions: "{\(permission)}"))
    #expect(problems.contains { $0.message.contains(message) }, "\(problems)")
  }

  @Test(arguments: [("run", "commands"), ("files", "read"), ("network", "hosts")])
  func `a permission under the name of another program is told its name here`(
    _ key: String, name: String
  ) throws {
    let text = Samples.kind("displayName: K", permissions: "{\(key): [a]}")
    let problem = try #require(Samples.problems(text).first)
    #expect(problem.message.contains("unknown key \"\(key)\""))
    #expect(problem.hint == "write \"\(name)\" instead")
  }
}
