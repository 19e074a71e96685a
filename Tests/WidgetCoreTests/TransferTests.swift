import Testing
import WidgetModel

@testable import WidgetCore

/// Transfers: a reader gets everything chunk by chunk while the store changes.
struct TransferTests {
  private static func id(_ number: Int) throws -> WidgetID {
    try #require(WidgetID("w\(number)"))
  }

  /// A store with that many widgets, of which every third has the label "on".
  private func makeStore(count: Int) throws -> Store {
    var store = Store()
    for number in 0..<count {
      try store.create(
        try TransferTests.id(number), kind: number % 2 == 0 ? "even" : "odd",
        labels: number % 3 == 0 ? ["on": "1"] : [:], data: ["n": .int(Int64(number))])
    }
    store.commitGroup(at: .at(0))
    return store
  }

  /// Removed widgets leave empty slots before it.
  @Test(arguments: [1, 2, 7, 100])
  func `a scan finds every widget, also behind removed ones`(limit: Int) throws {
    var store = try makeStore(count: 20)
    for number in 0..<15 { try store.delete(TransferTests.id(number)) }
    var found: [WidgetID] = []
    var slot: Int? = 0
    while let first = slot {
      let part = store.scanned(from: first, atMost: limit)
      found += part.ids
      slot = part.next
    }
    #expect(found == (try (15..<20).map(TransferTests.id)))
  }

  static let selectors = [
    Selector(), Selector(kinds: ["even"]), Selector(ids: ["w1", "w300", "w599", "w600"]),
    Selector(labels: [.init(key: "on", operator: .exists)]),
    Selector(labels: [.init(key: "on", operator: .notExists)]),
  ]

  /// Commands that change every chunk: before, in and after the sent chunks.
  private func disturb(_ store: inout Store, step: Int) throws {
    for number in [step, 250 + step, 500 + step] {
      let id = try TransferTests.id(number)
      switch step % 5 {
      case 0: try store.delete(id)
      case 1:
        try store.delete(id)
        try store.create(id, kind: "odd", labels: number % 2 == 0 ? ["on": "2"] : [:])
      case 2: try store.update(id, .with { $0.setLabels = ["on": "3"] })
      case 3: try store.update(id, .with { $0.unsetLabels = ["on"] })
      default: try store.update(id, .set(["x": .int(1)], unset: ["n"]))
      }
    }
    try store.create(try TransferTests.id(600 + step), kind: "even", labels: ["on": "1"])
    if step % 2 == 0 { try store.delete(try TransferTests.id(600 + step)) }
  }

  @Test(arguments: selectors)
  func `a snapshot sent in chunks between commands ends in the final state`(
    selector: Selector
  ) throws {
    var store = try makeStore(count: 600)
    #expect(store.chunkCount == 3)
    var mirror = Mirror()
    let start = store.revision
    var step = 0
    var chunk = 0
    while chunk < store.chunkCount {
      for widget in store.widgets(inChunk: chunk, selecting: selector) {
        mirror.widgets[widget.id] = widget
      }
      chunk += 1
      for _ in 0..<5 {
        try disturb(&store, step: step)
        step += 1
      }
    }
    let end = try store.changes(endingTransferSince: 0, startedAt: start, selecting: selector)
    #expect(mirror.apply(end) == [])
    #expect(end.fromRevision == 0)
    #expect(end.toRevision == store.revision)
    #expect(mirror.widgets == store.selected(by: selector))
  }

  @Test(arguments: selectors)
  func `a reader that returns is brought up to date in chunks`(selector: Selector) throws {
    var store = try makeStore(count: 600)
    var mirror = Mirror()
    mirror.widgets = store.selected(by: selector)
    let cursor = store.revision
    for step in 20..<40 { try disturb(&store, step: step) }
    let start = store.revision
    for chunk in 0..<store.chunkCount {
      for change in store.changes(inChunk: chunk, since: cursor, selecting: selector) {
        mirror.apply(change)
      }
      // Some of these undo, repeat or remove what was done before the start.
      for step in (chunk * 5)..<(chunk * 5 + 5) { try disturb(&store, step: step) }
      for step in [21, 22, 23, 26, 31] {
        let id = try TransferTests.id(step + chunk * 250)
        if store.widget(id) == nil {
          try store.create(id, labels: ["on": "9"])
        } else {
          try store.delete(id)
        }
      }
    }
    let end = try store.changes(
      endingTransferSince: cursor, startedAt: start, selecting: selector)
    #expect(mirror.apply(end) == [])
    #expect(mirror.widgets == store.selected(by: selector))
  }

  @Test func `a removal is reported once even if the id is used again and not selected`() throws {
    var store = Store()
    try store.create("a", labels: ["on": ""])
    let on = Selector(labels: [.init(key: "on", operator: .exists)])
    try store.delete("a")
    try store.create("a")
    let end = try store.changes(endingTransferSince: 1, startedAt: 1, selecting: on)
    #expect(words(end) == ["-a"])
  }

  @Test func `a widget that came and left the selector during the transfer is removed`() throws {
    var store = Store()
    let on = Selector(labels: [.init(key: "on", operator: .exists)])
    let start = store.revision
    try store.create("a", labels: ["on": ""])
    #expect(store.widgets(inChunk: 0, selecting: on).map(\.id) == ["a"])
    try store.update("a", .with { $0.unsetLabels = ["on"] })
    let end = try store.changes(endingTransferSince: 0, startedAt: start, selecting: on)
    #expect(words(end) == ["-a"])
  }

  @Test func `a widget that came and went during the transfer is removed`() throws {
    var store = Store()
    let start = store.revision
    try store.create("a")
    try store.delete("a")
    #expect(words(try store.changes(endingTransferSince: 0, startedAt: start)) == ["-a"])
  }

  @Test func `a transfer that is compacted away ends with an error`() throws {
    var store = try Store(widgets: ["a", "b", "c"], limits: .with { $0.tombstonesMax = 1 })
    let start = store.revision
    try store.delete("a")
    try store.delete("b")
    store.commitGroup(at: .at(0))
    for cursor in [0, 3] as [Revision] {
      #expect(throws: StoreError.revisionCompacted(compactRevision: 5)) {
        try store.changes(endingTransferSince: cursor, startedAt: start)
      }
    }
    // A reader without widgets does not need removals that were forgotten before it came.
    #expect(
      try store.changes(endingTransferSince: 0, startedAt: store.revision).changes.isEmpty)
    #expect(throws: StoreError.revisionCompacted(compactRevision: 5)) {
      try store.changes(endingTransferSince: 3, startedAt: store.revision)
    }
    #expect(throws: StoreError.revisionUnknown(current: 5)) {
      try store.changes(endingTransferSince: 0, startedAt: 6)
    }
  }

  @Test func `a chunk that did not change has nothing to send`() throws {
    var store = try makeStore(count: 300)
    let cursor = store.revision
    try store.set("w280", ["n": .int(0)])
    #expect(store.changes(inChunk: 0, since: cursor).isEmpty)
    #expect(store.changes(inChunk: 1, since: cursor).map(word) == ["~w280"])
    #expect(store.chunkRevision(0) <= cursor)
    #expect(store.chunkRevision(1) == cursor + 1)
  }

  @Test func `a chunk's revision changes whenever its widgets do, rollbacks included`() throws {
    var store = try makeStore(count: 3)
    var seen: [Revision: [Widget]] = [:]
    let check = { (store: Store) in
      let widgets = store.widgets(inChunk: 0)
      let known = seen.updateValue(widgets, forKey: store.chunkRevision(0))
      #expect(known == nil || known == widgets)
    }
    check(store)
    try store.set("w0", ["n": .int(7)])
    store.rollbackGroup()
    check(store)
    try store.set("w1", ["n": .int(8)])
    store.commitGroup(at: .at(0))
    check(store)
    try store.delete("w2")
    store.rollbackGroup()
    try store.create("w9")
    store.commitGroup(at: .at(0))
    check(store)
    try store.delete("w9")
    store.commitGroup(at: .at(0))
    check(store)
  }
}
