import Testing
import WidgetModel

@testable import WidgetCore

/// Selectors with an expression.
struct SelectionTests {
  private func ids(_ expression: String, in store: Store) -> [String] {
    store.list(after: nil, limit: .max, selecting: Selector(expression: expression)).widgets
      .map(\.id.rawValue)
  }

  @Test(arguments: [
    ("data.n > 5", ["b"]), ("data.n > 5 || widget.id == 'c'", ["b", "c"]),
    ("!has(data.n)", ["c"]), ("widget.labels['room'] == 'x'", ["a"]),
    ("widget.visible", ["b", "c"]), ("widget.stale", ["c"]), ("widget.error == 'BROKEN'", ["c"]),
    ("widget.error != null", ["c"]), ("null != widget.error && widget.id == 'c'", ["c"]),
    ("status.save.failed", ["b"]), ("parameters.max == 10", ["a"]), ("data.n / 0 == 1", []),
    ("data['n'] == 7", ["b"]), ("size(data) == 0", ["c"]), ("true", ["a", "b", "c"]),
  ])
  func `an expression selects widgets for which it is true`(text: String, picked: [String]) throws {
    var store = try Store(widgets: ["a", "b", "c"])
    try store.set("a", ["n": .int(1)])
    try store.set("b", ["n": .int(7), "status": .map(["save": .map(["failed": .bool(true)])])])
    try store.update("a", .with { $0.setLabels = ["room": "x"] })
    try store.update("a", .with { $0.setParameters = ["max": .int(10)] })
    try store.run(.setPresence(.ids(["a"]), .hide))
    try store.update("c", .with { $0.isStale = true })
    try store.update(
      "c", .with { $0.error = .some(WidgetError(reason: "BROKEN", message: "m")) })
    try store.checkExpression(of: Selector(expression: text))
    #expect(ids(text, in: store) == picked)
  }

  @Test func `a widget is added and removed as the expression changes`() throws {
    var store = try Store(widgets: ["a"])
    let selector = Selector(expression: "data.n > 5")
    try store.set("a", ["n": .int(7)])
    guard case .added = try store.changes(since: 1, selecting: selector).changes.first else {
      Issue.record("it was not added")
      return
    }
    try store.set("a", ["m": .int(1)])
    guard case .updated(let update) = try store.changes(since: 2, selecting: selector).changes.first
    else {
      Issue.record("another key sent the widget whole")
      return
    }
    #expect(update.setData == ["m": .int(1)])
    try store.set("a", ["n": .int(5)])
    #expect(try store.changes(since: 3, selecting: selector).changes == [.removed("a", nil)])
    // A reader that saw the widget before may hold it. A later reader gets the same change.
    #expect(try store.changes(since: 2, selecting: selector).changes == [.removed("a", nil)])
    #expect(try store.changes(since: 4, selecting: selector).changes == [])
  }

  @Test(arguments: [
    ("data.n >", "ends too early"), ("dta.n > 1", "unknown variable"),
    ("widget.colour == 'x'", "unknown field"), ("size(data)", "gives int"),
    ("now > timestamp(0)", "unknown variable"),
    ("kind == 'gauge'", "widget.kind"),
    ("labels.x == 'y'", "widget.labels"),
  ])
  func `a wrong expression is refused with its place`(text: String, words: String) throws {
    let store = try Store(widgets: ["a"])
    let error = #expect(throws: StoreError.self) {
      try store.checkExpression(of: Selector(expression: text))
    }
    #expect("\(error as Any)".contains("selector.expression"))
    #expect("\(error as Any)".contains(words), "\(error as Any)")
    #expect(ids(text, in: store) == [])
  }

  @Test func `the cost and the length of an expression are limited`() throws {
    var store = try Store(widgets: ["a"], limits: .with { $0.selectorCostMax = 50 })
    try store.set("a", ["list": .list((0..<100).map { .int($0) })])
    #expect(ids("data.list.exists(x, x == 99)", in: store) == [])
    #expect(ids("data.list.exists(x, x == 1)", in: store) == ["a"])
    store.limits.selectorExpressionBytesMax = 4
    try store.checkExpression(of: Selector(expression: "true"))
    #expect(throws: StoreError.quotaExceeded(limit: "selector_expression_bytes_max", maximum: 4)) {
      try store.checkExpression(of: Selector(expression: "false"))
    }
  }

  @Test func `the memory of an expression is limited, whatever the length of its text`() throws {
    var store = try Store(widgets: ["a"])
    // 27 patterns of 5,000 instructions.
    let patterns = Array(repeating: "''.matches('(?:[^a]{999}){5}')", count: 27)
    let large = Selector(expression: patterns.joined(separator: " || "))
    let limit = "selector_memory_bytes_max"
    #expect(throws: StoreError.quotaExceeded(limit: limit, maximum: 64 << 10)) {
      try store.checkExpression(of: large)
    }
    #expect(store.expressionBytes(of: large) == 0)
    #expect(store.predicates.recentBytes < 4_096)
    let selector = Selector(expression: "data.text.matches('[a-c]{100}')")
    let bytes = store.expressionBytes(of: selector)
    #expect(bytes > 64 * 100)
    // The sizes of arrays depend on the allocator.
    store.limits.selectorMemoryBytesMax = bytes + 4_096
    try store.checkExpression(of: selector)
    store.limits.selectorMemoryBytesMax = bytes - 4_096
    #expect(throws: StoreError.quotaExceeded(limit: limit, maximum: bytes - 4_096)) {
      try store.checkExpression(of: selector)
    }
  }

  @Test func `the recent expressions take a limited memory, and can be forgotten`() throws {
    let store = try Store(widgets: ["a"])
    var highest = 0
    for number in 0..<200 {
      let text = "data.text.matches('[a-c]{300}') || data.n == \(number)"
      try store.checkExpression(of: Selector(expression: text))
      highest = max(highest, store.predicates.recentBytes)
    }
    #expect(highest > PredicateCache.recentBytesMax / 2)
    #expect(highest <= PredicateCache.recentBytesMax)
    store.forgetRecentExpressions()
    #expect(store.predicates.recentBytes == 0)
  }

  @Test func `the expressions of open streams are kept until the last one ends`() throws {
    let store = try Store(widgets: ["a"])
    let selector = Selector(expression: "widget.id == 'a'")
    let bytes = store.expressionBytes(of: selector)
    store.keepExpression(of: selector)
    store.keepExpression(of: selector)
    store.forgetRecentExpressions()
    #expect(store.predicates.keptCount == 1)
    #expect(ids(selector.expression, in: store) == ["a"])
    #expect(store.predicates.recentBytes == 0)
    #expect(store.dropExpression(of: selector) == bytes)
    #expect(store.predicates.keptCount == 1)
    #expect(store.dropExpression(of: selector) == bytes)
    #expect(store.predicates.keptCount == 0)
    #expect(store.dropExpression(of: selector) == 0)
    // A selector without an expression takes nothing.
    store.keepExpression(of: Selector())
    #expect(store.dropExpression(of: Selector()) == 0)
  }

  @Test func `an expression selects events by the present state of their widgets`() throws {
    var store = try Store(widgets: ["a", "b"])
    for id in ["a", "b"] as [WidgetID] {
      try store.run(.sendEvent(EventDraft(widgetID: id, name: "click")))
    }
    try store.set("b", ["on": .bool(true)])
    let selector = Selector(expression: "data.on")
    #expect(store.events(after: 0, selecting: selector).events.map(\.widgetID) == ["b"])
  }

  @Test(arguments: [
    ("data.n == 1", ["-w"]), ("size(data) == 2", ["-w"]), ("has(status.save)", ["-w"]),
    ("parameters.max == 1", ["-w"]), ("widget.id == 'w'", ["+w"]), ("widget.id == 'x'", []),
    ("widget.stale", []), ("false", []),
  ])
  func `after a restart, only selections by values lose a volatile widget`(
    text: String, expected: [String]
  ) throws {
    var image = StoreImage(epoch: 1)
    var store = Store(image: image)
    var kind = Kind(name: "v", data: [Field(name: "n", type: .int)])
    kind.persistence = .volatile
    try store.register([kind])
    try store.create("w", kind: "v", data: ["n": .int(1)])
    image.apply(store.pendingGroup())
    let cursor = store.revision
    store = Store(image: image)
    let selector = Selector(expression: text)
    #expect(words(try store.changes(since: cursor, selecting: selector)) == expected)
  }
}
