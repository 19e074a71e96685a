import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The outcomes of events, for senders that wait for them.
extension FailureTests {
  func outcome(
    _ scene: Scene, _ sequence: Int = 1, _ detail: String = "state"
  ) -> Value? {
    guard case .map(let all)? = scene["status"],
      case .map(let told)? = all[BundleScope.outcomesKey],
      case .map(let one)? = told["\(sequence)"]
    else { return nil }
    return one[detail]
  }

  @Test(arguments: [(200, "success"), (500, "failure")])
  func `the outcome of an event is written when all its steps have ended`(
    status: Int, expected: String
  ) throws {
    var scene = try Scene(
      """
      data: {n: 0}
      on: {go: [{http: "http://h/x"}, {set: {n: data.n + 1}}]}
      """, permissions: "{hosts: [h]}")
    try scene.event("go", wantsOutcome: true)
    #expect(outcome(scene) == nil)
    try scene.answer(scene.webRequest()?.id, status)
    #expect(outcome(scene) == .string(expected))
  }

  @Test func `an event without effects has an outcome, and a sender that does not ask gets none`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: 0}
      on: {go: [{command: [x]}]}
      """, permissions: "{commands: [x]}")
    try scene.event("other", wantsOutcome: true)
    #expect(outcome(scene) == .string("success"))
    try scene.event("go")
    try scene.print(scene.program()?.id, "")
    #expect(outcome(scene, 2) == nil)
  }

  @Test func `an invalid form is a failed outcome`() throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://h/x"}]}}
      content: {form: [{input: title, required: true}], id: f, on: {submit: save}}
      """, permissions: "{hosts: [h]}")
    try scene.event("submit", node: "f", ["values": .map([:])], wantsOutcome: true)
    #expect(outcome(scene) == .string("failure"))
  }

  @Test func `only the latest outcomes are kept`() throws {
    var limits = HostLimits()
    limits.outcomesMax = 2
    var scene = try Scene(
      "{data: {n: 0}, on: {go: [{command: [x]}]}}", permissions: "{commands: [x]}", limits: limits)
    for _ in 0..<3 { try scene.event("other", wantsOutcome: true) }
    scene.pass(limits.outcomeHeldFor)
    #expect(outcome(scene, 1) == nil)
    #expect(outcome(scene, 2) != nil && outcome(scene, 3) != nil)
  }

  @Test func `an outcome stays until every waiting sender can have seen it`() throws {
    let limits = HostLimits()
    var scene = try Scene(
      "{data: {n: 0}, on: {go: [{command: [x]}]}}", permissions: "{commands: [x]}")
    let count = 3 * limits.outcomesMax
    for _ in 0..<count { try scene.event("other", wantsOutcome: true) }
    func isTold(_ sequence: Int) -> Bool { outcome(scene, sequence) != nil }
    #expect((1...count).allSatisfy(isTold))
    scene.pass(limits.outcomeHeldFor - .milliseconds(1))
    #expect((1...count).allSatisfy(isTold))
    scene.pass(.milliseconds(1))
    #expect((1...count).filter(isTold) == Array((count - limits.outcomesMax + 1)...count))
    #expect(scene.instance.nextDeadline == nil)
  }

  @Test func `outcomes over the limit wait, and delay their acknowledgement`() throws {
    var limits = HostLimits()
    (limits.outcomesMax, limits.outcomesHeldMax) = (1, 2)
    var scene = try Scene(
      "{data: {n: 0}, on: {go: [{command: [x]}]}}", permissions: "{commands: [x]}", limits: limits)
    for _ in 0..<3 { try scene.event("other", wantsOutcome: true) }
    #expect(outcome(scene, 1) != nil && outcome(scene, 2) != nil)
    #expect(outcome(scene, 3) == nil)
    #expect(scene.acknowledged.last == 2)
    scene.pass(limits.outcomeHeldFor)
    #expect(outcome(scene, 3) == .string("success"))
    #expect(scene.acknowledged.last == 3)
  }

  /// A family emoji: one character of 25 bytes.
  static let family = "👨‍👩‍👧‍👦"

  @Test func `an outcome's texts are cut by bytes, between characters`() {
    var limits = HostLimits()
    (limits.outcomeTextBytesMax, limits.outcomeFieldsBytesMax) = (60, 130)
    let long = String(repeating: Self.family, count: 500)
    let two = Self.family + Self.family + "…"
    let status = ActionStatus(
      state: .failure, title: long, message: long, code: "ABORTED",
      fields: ["a": long, "b": long, "c": long])
    let expected = ActionStatus(
      state: .failure, title: two, message: two, code: "ABORTED", fields: ["a": two, "b": two])
    #expect(status.outcome(limits) == expected)
    #expect(expected.outcome(limits) == expected)
  }

  @Test(arguments: [
    (30, "title is needed. n takes a number.", "title is needed. n takes a…"),
    (29, "title is needed. n takes a number.", "title is needed. n takes a…"),
    (28, "title is needed. n takes a number.", "title is needed. n takes…"),
    (34, "title is needed. n takes a number.", "title is needed. n takes a number."),
    (20, "a nolastwordendshereatall", "a nolastwordendsh…"),
    (12, "日本 日本語", "日本…"), (13, "日本語日本語", "日本語…"), (3, "abcd", "…"),
  ])
  func `a text that is too long ends after a word`(bytes: Int, text: String, cut: String) {
    #expect(text.wholeWords(bytesMax: bytes) == cut)
    #expect(cut.utf8.count <= bytes)
  }

  @Test func `outcomes over the byte limit wait until old ones are removed`() throws {
    var limits = HostLimits()
    limits.outcomesBytesMax = 5 << 10
    let message = String(repeating: Self.family, count: 500)
    var scene = try Scene(
      "{data: {n: 0}, on: {go: [{command: [x]}]}}", permissions: "{commands: [x]}", limits: limits)
    for _ in 0..<20 {
      try scene.event("go", wantsOutcome: true)
      scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", message)))
    }
    func told() -> [Int] { (1...20).filter { outcome(scene, $0) != nil } }
    let first = told()
    #expect(!first.isEmpty && first.count < limits.outcomesMax)
    #expect(first == Array(1...first.count))
    var last = first
    while last.last != 20, last.count <= first.count {
      scene.pass(limits.outcomeHeldFor)
      #expect(told() != last)
      last = told()
      guard case .map(let all)? = scene["status"] else { break }
      #expect((all[BundleScope.outcomesKey]?.costBytes ?? 0) <= 2 * limits.outcomesBytesMax)
    }
    #expect(last.last == 20)
  }

  /// A scene with the same widgets and the next host, or the next version of the bundle.
  func next(_ scene: Scene, _ body: String, permissions: String) throws -> Scene {
    let widgets = scene.widgets.values.map(\.self)
    var next = try Scene(body, permissions: permissions, widgets: [], generation: 2)
    for widget in widgets { next.widgets[widget.id] = widget }
    next.tell(.snapshot(widgets))
    return next
  }

  @Test func `an interrupted event ends with ABORTED, if it does not come again`() throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    try scene.event("other", wantsOutcome: true)
    try scene.event("go", wantsOutcome: true)
    // This event waits for the earlier one, so it comes again.
    try scene.event("go", wantsOutcome: true)
    #expect(scene.acknowledged.last == 2)
    let next = try next(scene, body, permissions: "{commands: [x]}")
    #expect(outcome(next, 1) == .string("success"))
    #expect(outcome(next, 2, "code") == .string("ABORTED"))
    #expect(outcome(next, 3) == nil)
  }

  @Test func `an event whose outcome is written does nothing if it comes again`() throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    for hasEnded in [false, true] {
      var scene = try Scene(body, permissions: "{commands: [x]}")
      try scene.event("go", wantsOutcome: true)
      if hasEnded { try scene.print(scene.program()?.id, "") }
      var next = try next(scene, body, permissions: "{commands: [x]}")
      try next.event("go", wantsOutcome: true)
      #expect(next.program() == nil)
      #expect(next.acknowledged == [1])
      #expect(outcome(next) == .string(hasEnded ? "success" : "failure"))
    }
  }

  @Test func `an event of another epoch has no written outcome yet`() throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    try scene.event("go", wantsOutcome: true)
    try scene.print(scene.program()?.id, "")
    var next = try next(scene, body, permissions: "{commands: [x]}")
    let widget = try #require(next.widget)
    // The store of the new epoch has this widget, so the daemon accepts the event later.
    next.tell(
      .event(
        Event(
          sequence: 1, widgetID: widget.id, name: "go", time: next.time.wall,
          revision: widget.revision, wantsOutcome: true)))
    #expect(next.program() != nil)
  }

  /// The epoch changes after the next host has begun, or stays.
  @Test(arguments: [true, false])
  func `the revision of an event means nothing in another epoch`(isLater: Bool) throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    try scene.event("go", wantsOutcome: true)
    try scene.print(scene.program()?.id, "")
    var next = try next(scene, body, permissions: "{commands: [x]}")
    next.tell(.opened(epoch: 1))
    if isLater { next.tell(.opened(epoch: 2)) }
    try next.event("go", wantsOutcome: true)
    #expect((next.program() != nil) == isLater)
  }

  @Test func `an event that ended before the interruption keeps its outcome`() throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    try scene.event("go", wantsOutcome: true)
    try scene.print(scene.program()?.id, "")
    let next = try next(scene, body, permissions: "{commands: [x]}")
    #expect(outcome(next) == .string("success"))
  }
}
