import Testing
import WidgetModel

@testable import WidgetCore

struct CreateTests {
  @Test func `a widget is created as its spec says, behind all others, in one commit`() throws {
    var store = try Store(widgets: ["first"])
    let spec = WidgetSpec(
      id: "w", kind: "clock", family: .large, labels: ["room": "hall"], isVisible: false,
      isEnabled: false, parameters: ["zone": .string("UTC")], data: ["time": .int(5)])
    let commit = try store.run(.create(spec), uid: 42, at: .at(9))
    #expect(commit == Commit(revision: 2, isChange: true, outcome: .created("w")))
    let widget = try #require(store.widget("w"))
    let expected = Widget(
      id: "w", kind: "clock", family: .large, labels: ["room": "hall"],
      presence: Presence(isVisible: false, isEnabled: false), position: widget.position,
      parameters: ["zone": .string("UTC")], data: ["time": .int(5)], createdRevision: 2,
      revision: 2, createTime: .at(9), updateTime: .at(9), ownerUID: 42)
    #expect(widget == expected.withPlainContent)
    #expect(store.ids == ["first", "w"])
    #expect(store.revision(of: "w") == 2)
    #expect(store.count == 2)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the defaults of a spec are medium, visible and enabled`() throws {
    var store = Store()
    try store.create("w")
    let widget = try #require(store.widget("w"))
    #expect(widget.family == .medium)
    #expect(widget.presence == Presence(isVisible: true, isEnabled: true))
    #expect(widget.error == nil)
    #expect(!widget.isStale)
    #expect(widget.applySet == "")
  }

  @Test func `an id that is taken is refused`() throws {
    var store = try Store(widgets: ["a"])
    #expect(
      store.refusal(of: .create(WidgetSpec(id: "a", kind: "other"))) == .widgetExists("a"))
  }

  @Test func `an id can be used again after its widget is gone`() throws {
    var store = try Store(widgets: ["a", "b"])
    try store.delete("a")
    try store.create("a", kind: "other")
    #expect(store.ids == ["b", "a"])
    #expect(store.widget("a")?.kind == "other")
    #expect(store.widget("a")?.createdRevision == 4)
  }

  @Test func `automatic ids count up by kind`() throws {
    var store = Store()
    #expect(try store.create(nil, kind: "clock").outcome == .created("clock-1"))
    #expect(try store.create(nil, kind: "clock").outcome == .created("clock-2"))
    #expect(try store.create(nil, kind: "sun").outcome == .created("sun-1"))
  }

  @Test func `an automatic id skips what is taken and is not given out again`() throws {
    var store = Store()
    try store.create("k-2")
    #expect(try store.create(nil).outcome == .created("k-1"))
    #expect(try store.create(nil).outcome == .created("k-3"))
    try store.delete("k-1")
    try store.delete("k-3")
    #expect(try store.create(nil).outcome == .created("k-4"))
  }

  @Test func `a refused create uses up no number`() throws {
    var store = Store(limits: .with { $0.widgetsMax = 1 })
    try store.create("other")
    let refusal = store.refusal(of: .create(WidgetSpec(id: nil, kind: "k")))
    #expect(refusal == .quotaExceeded(limit: "widgets_max", maximum: 1))
    let invalid = WidgetSpec(id: nil, kind: "k", data: ["": .null])
    #expect(store.refusal(of: .create(invalid))?.reason == "INVALID_FIELD")
    try store.delete("other")
    #expect(try store.create(nil).outcome == .created("k-1"))
  }

  @Test func `the longest kind still leaves room for a number`() throws {
    let kind = try #require(KindName(String(repeating: "k", count: KindName.lengthMax)))
    var store = Store()
    let id = try #require(WidgetID("\(kind)-1"))
    #expect(try store.create(nil, kind: kind).outcome == .created(id))
  }

  @Test func `a transition hint travels with the new widget`() throws {
    var store = Store()
    try store.create("a", transition: .quick)
    try store.create("b")
    let widgets = store.list(after: nil, limit: .max).widgets
    #expect(
      try store.changes(since: 0).changes == [
        .added(widgets[0], .quick), .added(widgets[1], nil),
      ])
  }
}

struct ListTests {
  @Test func `pages follow each other in position order without overlap`() throws {
    let store = try Store(widgets: ["a", "b", "c", "d", "e"])
    var ids: [WidgetID] = []
    var position: Int64?
    var pages = 0
    while true {
      let page = store.list(after: position, limit: 2)
      ids += page.widgets.map(\.id)
      pages += 1
      position = page.widgets.last?.position
      guard page.hasMore else { break }
      #expect(page.widgets.count == 2)
    }
    #expect(ids == ["a", "b", "c", "d", "e"])
    #expect(pages == 3)
  }

  @Test func `a full last page has no more`() throws {
    let store = try Store(widgets: ["a", "b"])
    #expect(!store.list(after: nil, limit: 2).hasMore)
    #expect(store.list(after: nil, limit: 1).hasMore)
    #expect(store.list(after: .max, limit: 1).widgets.isEmpty)
    #expect(store.list(after: .min, limit: 9).widgets.count == 2)
  }

  @Test func `a page counts only selected widgets as further ones`() throws {
    var store = Store()
    for (index, id) in (["a", "b", "c", "d"] as [WidgetID]).enumerated() {
      try store.create(id, kind: index % 2 == 0 ? "even" : "odd")
    }
    let page = store.list(after: nil, limit: 2, selecting: Selector(kinds: ["even"]))
    #expect(page.widgets.map(\.id) == ["a", "c"])
    #expect(!page.hasMore)
  }

  @Test func `a page ends early behind the widget that makes it too large`() throws {
    let store = try Store(widgets: ["a", "b", "c", "d"])
    let size = store.records[0].costBytes + PlainContent.sizeBytes(of: store.records[0])
    let page = { (bytesMax: Int) in store.list(after: nil, limit: 9, bytesMax: bytesMax) }
    #expect(page(0).widgets.map(\.id) == ["a"])
    #expect(page(0).hasMore)
    #expect(page(2 * size - 1).widgets.map(\.id) == ["a", "b"])
    #expect(page(2 * size).widgets.map(\.id) == ["a", "b", "c"])
    #expect(page(4 * size - 1).widgets.count == 4)
    #expect(!page(4 * size - 1).hasMore)
  }
}
