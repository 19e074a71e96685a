import Testing
import WidgetModel

@testable import WidgetCore

struct UpdateTests {
  /// A widget with data, parameters and labels, at revision 1.
  private func makeStore() throws -> Store {
    var store = Store()
    let spec = WidgetSpec(
      id: "w", kind: "k", labels: ["l": "1", "m": "2"], parameters: ["p": .int(1), "q": .int(2)],
      data: ["a": .int(1), "b": .double(.nan), "c": .string("\u{E9}")])
    try store.run(.create(spec), at: .at(1))
    store.commitGroup(at: .at(1))
    return store
  }

  @Test func `a patch changes the named fields, the revision and the time`() throws {
    var store = try makeStore()
    var expected = try #require(store.widget("w"))
    var patch = WidgetPatch.set(["a": .int(2), "d": .null], unset: ["b", "absent"])
    patch.setParameters = ["p": .int(3)]
    patch.unsetParameters = ["q"]
    patch.setLabels = ["l": "9", "n": "3"]
    patch.unsetLabels = ["m", "absent"]
    patch.isStale = true
    patch.error = .some(WidgetError(reason: "BROKEN", message: "Mend it."))
    let commit = try store.run(.update("w", patch), at: .at(5))
    #expect(commit == Commit(revision: 2, isChange: true, outcome: .updated("w")))
    expected.data = ["a": .int(2), "c": .string("\u{E9}"), "d": .null]
    expected.parameters = ["p": .int(3)]
    expected.labels = ["l": "9", "n": "3"]
    expected.isStale = true
    expected.error = WidgetError(reason: "BROKEN", message: "Mend it.", since: .at(5))
    (expected.revision, expected.updateTime) = (2, .at(5))
    #expect(store.widget("w") == expected.withPlainContent)
    #expect(store.checkInvariants() == [])
  }

  static let equal: [WidgetPatch] = [
    WidgetPatch(),
    .set(["a": .int(1)]),
    .set(["b": .double(.nan)]),
    .set(["b": .double(-Double.nan)]),
    .set(["c": .string("\u{E9}")]),
    .set([:], unset: ["absent"]),
    .set(["a": .int(1)], unset: ["a"]),
    .with {
      $0.setData = ["a": .int(1), "b": .double(.nan), "c": .string("\u{E9}")]
      $0.replaceData = true
    },
    .with { $0.setParameters = ["p": .int(1)] },
    .with { $0.unsetParameters = ["absent"] },
    .with { $0.setLabels = ["l": "1"] },
    .with { $0.unsetLabels = ["absent"] },
    .with {
      $0.setLabels = ["l": "1"]
      $0.unsetLabels = ["l"]
    },
    .with { $0.isStale = false },
    .with { $0.error = .some(nil) },
  ]

  @Test(arguments: equal)
  func `a patch that changes nothing makes no commit and takes no revision`(
    patch: WidgetPatch
  ) throws {
    var store = try makeStore()
    let before = store.observation()
    let commit = try store.run(.update("w", patch, transition: .quick), at: .at(9))
    #expect(commit == Commit(revision: 1, isChange: false, outcome: .updated("w")))
    #expect(store.observation() == before)
    #expect(!store.hasPendingGroup)
  }

  static let different: [WidgetPatch] = [
    .set(["a": .double(1)]),
    .set(["a": .null]),
    .set(["b": .double(0)]),
    .set(["c": .string("e\u{301}")]),
    .set(["e\u{301}": .int(1)]),
    .set([:], unset: ["a"]),
    .with { $0.replaceData = true },
    .with { $0.setParameters = ["p": .int(2)] },
    .with { $0.unsetParameters = ["p"] },
    .with { $0.setLabels = ["l": "2"] },
    .with { $0.setLabels = ["new": "1"] },
    .with { $0.unsetLabels = ["l"] },
    .with { $0.isStale = true },
    .with { $0.error = .some(WidgetError(reason: "R", message: "")) },
  ]

  @Test(arguments: different)
  func `a patch that changes anything is one commit`(patch: WidgetPatch) throws {
    var store = try makeStore()
    let before = store.widget("w")
    let commit = try store.update("w", patch)
    #expect(commit == Commit(revision: 2, isChange: true, outcome: .updated("w")))
    #expect(store.widget("w") != before)
    #expect(store.widget("w")?.revision == 2)
    #expect(store.hasPendingGroup)
    #expect(store.checkInvariants() == [])
  }

  @Test func `keys that only look alike are set and removed separately`() throws {
    var store = Store()
    try store.create("w", data: ["\u{E9}": .int(1), "e\u{301}": .int(2)])
    try store.unset("w", ["e\u{301}"])
    #expect(store.widget("w")?.data == ["\u{E9}": .int(1)])
    try store.set("w", ["e\u{301}": .int(3)])
    try store.unset("w", ["\u{E9}", "e\u{301}"])
    #expect(store.widget("w")?.data.isEmpty == true)
    #expect(store.checkInvariants() == [])
  }

  @Test func `labels and errors that only look alike are changes`() throws {
    var store = Store()
    try store.create("w", labels: ["l": "\u{E9}"])
    #expect(try store.update("w", .with { $0.setLabels = ["l": "e\u{301}"] }).isChange)
    for message in ["\u{E9}", "e\u{301}"] {
      let error = WidgetError(reason: "R", message: message)
      #expect(try store.update("w", .with { $0.error = .some(error) }).isChange)
    }
  }

  @Test func `a key both set and unset is set`() throws {
    var store = try makeStore()
    var patch = WidgetPatch.set(["a": .int(2), "new": .int(3)], unset: ["a", "new", "b"])
    patch.setParameters = ["p": .int(9)]
    patch.unsetParameters = ["p"]
    patch.setLabels = ["l": "9"]
    patch.unsetLabels = ["l"]
    try store.update("w", patch)
    let widget = try #require(store.widget("w"))
    #expect(widget.data == ["a": .int(2), "c": .string("\u{E9}"), "new": .int(3)])
    #expect(widget.parameters["p"] == .int(9))
    #expect(widget.labels["l"] == "9")
  }

  @Test func `replacing data removes every key that is not set`() throws {
    var store = try makeStore()
    let patch = WidgetPatch.with {
      $0.setData = ["a": .int(1), "z": .int(2)]
      $0.replaceData = true
      $0.unsetData = ["z"]
    }
    try store.update("w", patch)
    #expect(store.widget("w")?.data == ["a": .int(1), "z": .int(2)])
    let delta = try store.changes(since: 1)
    guard case .updated(let update) = delta.changes.first else {
      Issue.record("not an update: \(delta)")
      return
    }
    #expect(update.setData == ["z": .int(2)])
    #expect(update.unsetData == ["b", "c"])
  }

  @Test func `an error is set, replaced and cleared, and staleness comes and goes`() throws {
    var store = try makeStore()
    let errors: [WidgetError?] = [
      WidgetError(reason: "R_1", message: "x"), WidgetError(reason: "R_1", message: "y"),
      WidgetError(reason: "R_2", message: "y"), nil,
    ]
    for error in errors {
      #expect(try store.update("w", .with { $0.error = .some(error) }).isChange)
      #expect(try !store.update("w", .with { $0.error = .some(error) }).isChange)
      #expect(store.widget("w")?.error == error?.continuing(store.widget("w")?.error))
      #expect((store.widget("w")?.error?.since == nil) == (error == nil))
    }
    for isStale in [true, false] {
      #expect(try store.update("w", .with { $0.isStale = isStale }).isChange)
      #expect(store.widget("w")?.isStale == isStale)
    }
  }

  @Test func `an error without a time has the time of its reason, and one with a time keeps it`()
    throws
  {
    var store = try makeStore()
    func since(_ error: WidgetError?, at now: Timestamp) throws -> Timestamp? {
      try store.run(.update("w", .with { $0.error = .some(error) }), at: now)
      return store.widget("w")?.error?.since
    }
    let first = WidgetError(reason: "R", message: "98 %")
    #expect(try since(first, at: .at(5)) == .at(5))
    let revision = store.widget("w")?.revision
    #expect(try since(first, at: .at(6)) == .at(5))
    #expect(store.widget("w")?.revision == revision)
    #expect(try since(WidgetError(reason: "R", message: "99 %"), at: .at(7)) == .at(5))
    #expect(try since(WidgetError(reason: "S", message: "99 %"), at: .at(8)) == .at(8))
    #expect(try since(nil, at: .at(9)) == nil)
    #expect(try since(first, at: .at(10)) == .at(10))
    let dated = WidgetError(reason: "R", message: "98 %", since: .at(2))
    #expect(try since(dated, at: .at(11)) == .at(2))
  }

  @Test func `a further error keeps its time when it becomes the first, or its text changes`()
    throws
  {
    var store = try makeStore()
    func times(_ errors: [WidgetError], at now: Timestamp) throws -> [Timestamp?] {
      let error = WidgetError(joining: errors)
      try store.run(.update("w", .with { $0.error = .some(error) }), at: now)
      return store.widget("w")?.error?.all.map(\.since) ?? []
    }
    let a = WidgetError(reason: "A", message: "1")
    let b = WidgetError(reason: "B", message: "1")
    let other = WidgetError(reason: "B", message: "2")
    #expect(try times([a], at: .at(1)) == [.at(1)])
    #expect(try times([a, b], at: .at(2)) == [.at(1), .at(2)])
    #expect(try times([b, a], at: .at(3)) == [.at(2), .at(1)])
    #expect(try times([a, other], at: .at(4)) == [.at(1), .at(2)])
    // A new error beside one with the same reason is not as old.
    #expect(try times([a, b, other], at: .at(5)) == [.at(1), .at(5), .at(2)])
    let revision = store.revision
    #expect(try times([a, b, other], at: .at(6)) == [.at(1), .at(5), .at(2)])
    #expect(store.revision == revision)
    #expect(try times([other], at: .at(7)) == [.at(2)])
    #expect(try times([b], at: .at(8)) == [.at(2)])
  }

  @Test(arguments: [
    ("", false), ("A", true), ("A_9", true), ("a", false), ("A-B", false), ("A B", false),
    (String(repeating: "A", count: 64), true), (String(repeating: "A", count: 65), false),
  ])
  func `an error's reason is 1 to 64 of A-Z, 0-9 and _`(reason: String, isValid: Bool) throws {
    var store = try makeStore()
    let patch = WidgetPatch.with { $0.error = .some(WidgetError(reason: reason, message: "")) }
    if isValid {
      #expect(try store.update("w", patch).isChange)
    } else {
      guard case .invalid("patch.error.reason", _) = store.refusal(of: .update("w", patch)) else {
        Issue.record("not refused")
        return
      }
    }
  }

  @Test func `a missing widget cannot be updated`() throws {
    var store = try makeStore()
    #expect(store.refusal(of: .update("x", .set(["a": .int(2)]))) == .widgetNotFound("x"))
  }

  @Test func `an update with an old revision is refused, with the current one it is not`() throws {
    var store = try makeStore()
    try store.set("w", ["a": .int(5)])
    let patch = WidgetPatch.set(["a": .int(6)])
    for wrong in [0, 1, 3] as [Revision] {
      #expect(
        store.refusal(of: .update("w", patch, ifRevision: wrong)) == .etagMismatch("w", current: 2))
    }
    #expect(try store.run(.update("w", patch, ifRevision: 2)).revision == 3)
  }

  @Test func `the revision is compared even if the patch changes nothing`() throws {
    var store = try makeStore()
    #expect(
      store.refusal(of: .update("w", WidgetPatch(), ifRevision: 9))
        == .etagMismatch("w", current: 1))
  }

  @Test func `someone else's change to another widget does not spoil the revision`() throws {
    var store = try makeStore()
    try store.create("other")
    try store.set("other", ["a": .int(1)])
    #expect(try store.run(.update("w", .set(["a": .int(7)]), ifRevision: 1)).isChange)
  }
}

struct DeleteTests {
  @Test func `a deleted widget is gone, in one commit`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    let commit = try store.delete("b", transition: .quick)
    #expect(commit == Commit(revision: 4, isChange: true, outcome: .deleted))
    #expect(store.ids == ["a", "c"])
    #expect(store.widget("b") == nil)
    #expect(store.revision(of: "b") == nil)
    #expect(try store.changes(since: 3).changes == [.removed("b", .quick)])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a missing widget is refused unless that is allowed`() throws {
    var store = try Store(widgets: ["a"])
    #expect(store.refusal(of: .delete("x")) == .widgetNotFound("x"))
    let before = store.observation()
    let commit = try store.run(.delete("x", ifRevision: 4, allowMissing: true))
    #expect(commit == Commit(revision: 1, isChange: false, outcome: .deleted))
    #expect(store.observation() == before)
  }

  @Test func `a delete with an old revision is refused`() throws {
    var store = try Store(widgets: ["a"])
    try store.set("a", ["x": .int(1)])
    #expect(
      store.refusal(of: .delete("a", ifRevision: 1, allowMissing: true))
        == .etagMismatch("a", current: 2))
    #expect(try store.run(.delete("a", ifRevision: 2)).isChange)
  }
}
