import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Content that names the status of a source or an action, and does not show its failure.
extension FailureTests {
  /// Content that tests whether a status exists, and content that reads what tells of a failure.
  struct Mention: Sendable {
    let content: String
    let isShown: Bool

    init(_ expression: String, isShown: Bool) {
      self.isShown = isShown
      content = "{label: {from: '\(expression)', then: x}}"
    }

    init(content: String, isShown: Bool) {
      self.isShown = isShown
      self.content = content
    }
  }

  @Test(arguments: [
    Mention("\"feed\" in status", isShown: false), Mention("has(status.feed)", isShown: false),
    Mention("has(data.status.feed)", isShown: false), Mention("status != null", isShown: false),
    Mention("status.feed == null", isShown: false), Mention("size(status) > 0", isShown: false),
    Mention("status.feed.size() > 0", isShown: false), Mention("status == {}", isShown: false),
    Mention("type(status.feed) == map", isShown: false),
    Mention("has(status.feed.failed)", isShown: false),
    Mention("\"failed\" in status.feed", isShown: false),
    Mention("status.feed.message == null", isShown: false),
    Mention("status[data.key] != null", isShown: false),
    Mention("data.key in status", isShown: false),
    Mention("status[data.key].running", isShown: false),
    Mention("status.exists(k, k == \"feed\")", isShown: false),
    Mention("status.exists(k, s, s.running)", isShown: false),
    Mention("cel.bind(s, status.feed, s.running)", isShown: false),
    Mention("has(status.feed) ? status.feed.running : false", isShown: false),
    Mention("data.exists(k, k == \"n\")", isShown: false),
    Mention("dyn(data[data.key]) == 1", isShown: false),
    Mention("has(status.feed) && status.feed.failed", isShown: true),
    Mention("status.feed.since != null", isShown: true),
    Mention("status.feed.state == \"failure\"", isShown: true),
    Mention("status.feed.code == \"UNIMPLEMENTED\"", isShown: true),
    Mention("[status.feed].size() > 0", isShown: true),
    Mention("status[data.key].failed", isShown: true),
    Mention("status.exists(k, s, s.failed)", isShown: true),
    Mention("status.exists(k, status[k].failed)", isShown: true),
    Mention("cel.bind(s, status.feed, s.failed)", isShown: true),
    Mention("cel.bind(s, status, s.feed.message) != \"\"", isShown: true),
    Mention(
      content: "{stack: [{label: x}, {label: y, if: has(status.feed)}]}", isShown: false),
    Mention(
      content: "{stack: [{label: x}, {label: y, if: status.feed.failed}]}", isShown: true),
    Mention(content: "{label: '=known ? \"a\" : \"b\"'}", isShown: false),
    Mention(content: "{label: '=feed.running ? \"a\" : \"b\"'}", isShown: false),
    Mention(content: "{label: =feed.message}", isShown: true),
  ])
  func `a test whether a status exists does not hide a failure`(mention: Mention) throws {
    var scene = try Scene(
      """
      data: {n: 0, key: feed}
      let: {known: '"feed" in status', feed: status.feed}
      sources: {feed: {command: [cat], every: 1s, parse: text, set: {n: int(result)}}}
      content: \(mention.content)
      """, permissions: "{commands: [cat]}")
    try scene.print(scene.program()?.id, "5")
    try fail(&scene)
    #expect((error(scene) == nil) == mention.isShown)
    #expect(scene.instance.failures.isEmpty == mention.isShown)
  }

  @Test func `the status of all actions does not show steps without a name`() throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://h/x"}]}}
      on: {go: save, other: [{http: "http://h/y"}]}
      content: {label: '=status.exists(k, s, s.failed) ? "bad" : "good"'}
      """, permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) == nil)
    try scene.event("other")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene)?.all.map { $0.message.prefix { $0 != ":" } } == ["on other"])
  }

  @Test func `a test whether data is null shows no placeholder`() throws {
    var scene = try Scene(
      """
      data: {note: {type: string}}
      sources: {note: {file: "${bundle}/note", set: {note: result}}}
      content: {label: {value: '=data.note == null ? "none" : "some"', placeholder: Nothing}}
      """)
    scene.tell(.failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "there is no file")))
    #expect(error(scene)?.reason == "SOURCE_FAILED")
  }

  @Test(arguments: [
    ("string(size(data.items))", true), ("\"a\" in data.items ? \"x\" : \"y\"", true),
    ("data.items.exists(k, k == \"a\") ? \"x\" : \"y\"", true),
    ("data.items.a == null ? \"x\" : \"y\"", true),
    ("has(data.items.a) ? \"x\" : \"y\"", true),
    ("has(data.items) ? \"x\" : \"y\"", false),
    ("null != data.items ? \"x\" : \"y\"", false),
  ])
  func `a placeholder that is shown counts, however the binding uses the data`(
    expression: String, isShown: Bool
  ) throws {
    var scene = try Scene(
      """
      data: {items: {type: map}}
      sources: {items: {file: "${bundle}/items", parse: json, set: {items: result}}}
      content: {label: {from: '\(expression)', placeholder: "--"}}
      """)
    scene.tell(.failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "there is no file")))
    #expect((error(scene) == nil) == isShown)
  }
}
