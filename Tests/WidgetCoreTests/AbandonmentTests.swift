import Testing
import WidgetModel

@testable import WidgetCore

/// The end of a provider's session, as a walk in parts.
struct AbandonmentTests {
  private static let ids: [WidgetID] = ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9"]

  /// Ten widgets of a kind of "desk".
  private func store() throws -> Store {
    var store = Store()
    try declare(by: "desk", in: &store)
    for id in Self.ids { try store.create(id, kind: "gauge") }
    store.commitGroup(at: .at(0))
    return store
  }

  private func declare(by provider: String, in store: inout Store) throws {
    try store.run(
      .applyKinds(
        KindDeclaration(provider: provider, kinds: [Kind(name: "gauge")], isAttended: true)))
  }

  private var walk: Abandonment { Abandonment(of: ["desk": []]) }

  private func stale(_ store: Store) -> [WidgetID] {
    Self.ids.filter { store.widget($0)?.isStale == true }
  }

  @Test func `a part changes at most so many widgets, in one revision, and the next part goes on`()
    throws
  {
    var store = try store()
    var walk = walk
    var counts: [Int] = []
    while true {
      let before = store.revision
      let result = store.abandon(&walk, widgetsMax: 4)
      #expect(store.revision == before + 1)
      counts.append(store.pendingGroup().upserts.count)
      store.commitGroup(at: .at(0))
      if !result.hasMore { break }
    }
    #expect(counts == [4, 4, 2])
    #expect(stale(store) == Self.ids)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a part ends when its rows have too many bytes, but not before the first`() throws {
    var store = try store()
    var walk = walk
    _ = store.abandon(&walk, bytesMax: 0)
    #expect(store.pendingGroup().upserts.count == 1)
    let bytes = store.pendingBytes
    store.commitGroup(at: .at(0))
    _ = store.abandon(&walk, bytesMax: 2 * bytes)
    #expect(store.pendingGroup().upserts.count == 3)
  }

  @Test func `a part looks at the clock even if it changes nothing`() throws {
    var store = WidgetStore(image: StoreImage(epoch: 1), isRevocable: true)
    for number in 0..<500 {
      let spec = WidgetSpec(id: WidgetID("w\(number)"), kind: "other")
      _ = try store.apply(
        .create(spec, transition: nil), by: Caller(uid: 0, pid: 0, client: ""), at: .at(0))
    }
    var walk = walk
    var parts = 1
    while store.abandon(&walk, at: .at(0), isOver: { true }).hasMore { parts += 1 }
    #expect(parts == 8)
  }

  @Test func `widgets that are created after the first part stay fresh`() throws {
    var store = try store()
    var walk = walk
    _ = store.abandon(&walk, widgetsMax: 2)
    store.commitGroup(at: .at(0))
    try store.create("new", kind: "gauge")
    try store.delete("w5")
    try store.create("w5", kind: "gauge")
    try store.delete("w6")
    while store.abandon(&walk, widgetsMax: 2).hasMore {}
    #expect(stale(store) == ["w0", "w1", "w2", "w3", "w4", "w7", "w8", "w9"])
    #expect(store.widget("new")?.isStale == false)
    #expect(store.checkInvariants() == [])
  }

  @Test func `widgets whose kind has another provider by now stay fresh`() throws {
    var store = try store()
    var walk = walk
    _ = store.abandon(&walk, widgetsMax: 2)
    try store.run(.deleteKind("gauge"))
    try declare(by: "other", in: &store)
    while store.abandon(&walk).hasMore {}
    #expect(stale(store) == ["w0", "w1"])
  }

  @Test func `the rest of the widgets stays fresh when the provider is back`() throws {
    var store = try store()
    var walk = Abandonment(of: ["desk": [], "other": []])
    _ = store.abandon(&walk, widgetsMax: 3)
    walk.forget("desk")
    #expect(walk.providers == ["other"])
    while store.abandon(&walk).hasMore {}
    #expect(stale(store) == ["w0", "w1", "w2"])
  }

  @Test func `a widget that was called fresh since the loss stays fresh`() throws {
    var store = try store()
    var walk = walk
    _ = store.abandon(&walk, widgetsMax: 1)
    walk.spare("w3", of: "desk")
    walk.spare("w4", of: "desk")
    walk.spare("w5", of: "nobody")
    walk.unspare("w4", of: "desk")
    while store.abandon(&walk).hasMore {}
    #expect(stale(store) == Self.ids.filter { $0 != "w3" })
  }

  @Test func `a part that was taken back can be repeated`() throws {
    var store = try store()
    var walk = walk
    _ = store.abandon(&walk, widgetsMax: 3)
    store.commitGroup(at: .at(0))
    let former = walk
    _ = store.abandon(&walk)
    store.rollbackGroup()
    #expect(stale(store) == ["w0", "w1", "w2"])
    walk = former
    while store.abandon(&walk, widgetsMax: 3).hasMore {}
    #expect(stale(store) == Self.ids)
    #expect(store.checkInvariants() == [])
  }
}
