import Testing
import WidgetModel

@testable import WidgetCore

/// The effects of providers on the widgets of their kinds, and the changes that providers get.
struct ProviderTests {
  private static let gauge = Kind(
    name: "gauge", parameters: [Field(name: "unit", type: .string, defaultValue: .string("C"))],
    data: [Field(name: "load", type: .double, defaultValue: .double(0))])

  /// Two widgets of a kind of "desk", one of another provider's, one of no provider's.
  private func store() throws -> Store {
    var store = Store()
    for (provider, kind) in [("desk", Self.gauge), ("other", Kind(name: "lamp"))] {
      try store.run(
        .applyKinds(KindDeclaration(provider: provider, kinds: [kind], isAttended: true)))
    }
    for id: WidgetID in ["a", "b"] { try store.create(id, kind: "gauge") }
    try store.create("l", kind: "lamp")
    try store.create("k")
    store.commitGroup(at: .at(0))
    return store
  }

  private func load(_ value: Double) -> WidgetPatch { .set(["load": .double(value)]) }

  // MARK: - Updates

  @Test func `updates of several widgets are one commit`() throws {
    var store = try store()
    let before = store.revision
    let commit = try store.run(
      .provide([ProvidedUpdate("a", load(1)), ProvidedUpdate("b", load(2))], by: "desk"))
    #expect(commit.isChange)
    #expect(store.revision == before + 1)
    #expect(store.widget("a")?.data == ["load": .double(1)])
    #expect(store.widget("b")?.data == ["load": .double(2)])
    #expect(store.widget("b")?.revision == before + 1)
    #expect(store.checkInvariants() == [])
  }

  @Test func `updates that change nothing take no revision`() throws {
    var store = try store()
    let before = store.revision
    let commit = try store.run(.provide([ProvidedUpdate("a", load(0))], by: "desk"))
    #expect(!commit.isChange)
    #expect(store.revision == before)
  }

  @Test(arguments: [
    (ProvidedUpdate("none"), "WIDGET_NOT_FOUND"), (ProvidedUpdate("l"), "NOT_PROVIDED"),
    (ProvidedUpdate("k"), "NOT_PROVIDED"), (ProvidedUpdate("a"), "INVALID_FIELD"),
    (ProvidedUpdate("b", .set(["load": .string("x")])), "INVALID_FIELD"),
    (ProvidedUpdate("b", .set(["speed": .int(1)])), "INVALID_FIELD"),
    (ProvidedUpdate("b", .set([:], unset: ["speed"])), nil),
  ])
  func `one bad update refuses all updates of the command`(bad: ProvidedUpdate, reason: String?)
    throws
  {
    var store = try store()
    let command = Command.provide([ProvidedUpdate("a", load(1)), bad], by: "desk")
    guard let reason else {
      try store.run(command)
      return
    }
    let refusal = store.refusal(of: command)
    let error = try #require(refusal)
    guard case .inUpdate(1, of: bad.id, let inner) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(inner.reason == reason)
    #expect(error.reason == reason)
  }

  // MARK: - Stale

  @Test func `the widgets of a missing provider become stale, and no others`() throws {
    var store = try store()
    let before = store.revision
    let parts = store.abandon(["desk", "nobody"])
    #expect(parts == 1)
    #expect(store.revision == before + 1)
    for id: WidgetID in ["a", "b"] { #expect(store.widget(id)?.isStale == true) }
    for id: WidgetID in ["l", "k"] { #expect(store.widget(id)?.isStale == false) }
    let again = store.abandon(["desk"])
    #expect(again == 0)
    #expect(store.checkInvariants() == [])
  }

  @Test func `an update makes a widget fresh, even if it changes nothing else`() throws {
    var store = try store()
    store.abandon(["desk"])
    let before = store.revision
    let commit = try store.run(.provide([ProvidedUpdate("a")], by: "desk"))
    #expect(commit.isChange)
    #expect(store.revision == before + 1)
    #expect(store.widget("a")?.isStale == false)
    #expect(store.widget("b")?.isStale == true)
    try store.run(.provide([ProvidedUpdate("b", WidgetPatch(isStale: true))], by: "desk"))
    #expect(store.widget("b")?.isStale == true)
  }

  // MARK: - What is told

  @Test func `a provider is told of new, reconfigured and removed widgets only`() throws {
    var store = try store()
    let cursor = store.revision
    try store.set("a", ["load": .double(9)])
    try store.create("c", kind: "gauge")
    try store.update("b", WidgetPatch(setParameters: ["unit": .string("F")]))
    try store.create("d", kind: "gauge")
    try store.delete("l")
    try store.delete("a")
    try store.create("k2")
    let changes = try store.providedChanges(since: cursor, of: ["gauge"])
    #expect(changes.created == ["c", "d"])
    #expect(changes.reconfigured == ["b"])
    #expect(changes.removed == ["a"])
    #expect(
      try store.providedChanges(since: store.revision, of: ["gauge"])
        == WidgetStore.ProvidedChanges())
  }

  @Test func `an id that is used again is reported as created, not as removed`() throws {
    var store = try store()
    let cursor = store.revision
    try store.delete("a")
    try store.create("a", kind: "gauge")
    var changes = try store.providedChanges(since: cursor, of: ["gauge"])
    #expect((changes.created, changes.removed) == (["a"], []))
    // With another provider's kind, it is reported as removed.
    try store.delete("a")
    try store.create("a", kind: "lamp")
    changes = try store.providedChanges(since: cursor, of: ["gauge"])
    #expect((changes.created, changes.removed) == ([], ["a"]))
  }

  @Test func `a cursor before the remembered removals is refused`() throws {
    var store = Store(limits: .with { $0.tombstonesMax = 2 })
    try store.run(.applyKinds(KindDeclaration(provider: "desk", kinds: [Self.gauge])))
    for id: WidgetID in ["a", "b", "c"] {
      try store.create(id, kind: "gauge")
      try store.delete(id)
    }
    store.commitGroup(at: .at(0))
    #expect(throws: StoreError.revisionCompacted(compactRevision: store.compactRevision)) {
      try store.providedChanges(since: 1, of: ["gauge"])
    }
  }

  // MARK: - Who attends

  @Test func `whether a provider attends a kind is part of the kind`() throws {
    var store = try store()
    #expect(store.attendingProviders == ["desk", "other"])
    let again = try store.run(
      .applyKinds(KindDeclaration(provider: "desk", kinds: [Self.gauge])))
    #expect(again.isChange)
    #expect(store.attendingProviders == ["other"])
  }
}
