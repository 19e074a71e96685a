import Testing
import WidgetModel

@testable import WidgetCore

/// Embeds through groups that are taken back, restarts and random histories.
struct EmbedHistoryTests: EmbedSuite {
  // MARK: - Groups and restarts

  @Test func `an embed never shows a change that was taken back`() throws {
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    settle(&store)
    let before = store.observation()
    try store.set("c", ["n": .int(5)])
    try store.delete("f")
    store.rollbackGroup()
    #expect(store.settleEmbeds() == 0)
    #expect(store.observation() == before)
  }

  @Test func `after a restart readers get widgets with embeds as a whole`() throws {
    var image = StoreImage(epoch: 7)
    var store = try store()
    try store.create("c", kind: "counter")
    try frame("f", showing: "c", &store)
    image.apply(store.pendingGroup())
    image.kinds = [Self.frame, Self.counter].map { RegisteredKind(kind: $0, provider: "desk") }
    settle(&store)
    try store.set("c", ["n": .int(6)])
    image.apply(store.pendingGroup())
    settle(&store)
    for group in store.reserved { image.revision = max(image.revision, group.revision) }
    var restored = Store(image: image)
    let cursor = restored.revision
    #expect(cursor >= store.revision)
    restored.settleEmbeds()
    #expect(text("inner::count", of: "f", restored) == "6")
    #expect(words(try restored.changes(since: cursor)) == ["+f"])
    #expect(restored.checkInvariants().isEmpty)
  }

  // MARK: - Histories

  /// Random histories of widgets that show each other. The checks come to an end. The content
  /// equals the content that is made from the beginning. A mirror equals the store.
  @Test(arguments: 0..<40)
  func `random embeds come to rest, and show the other widgets' content`(seed: UInt64) throws {
    var random = Random(state: seed &* 7_919 &+ 1)
    var store = try store(limits: .with { ($0.contentNodesMax, $0.contentBytesMax) = (60, 8_192) })
    store.keepContent(of: .inline)
    var mirrors: [(choice: ContentChoice, mirror: Mirror, cursor: Revision)] = [
      (.own, Mirror(), 0), (.family(.inline), Mirror(), 0),
    ]
    let ids = (0..<9).map { WidgetID(stringLiteral: "w\($0)") }
    for _ in 0..<40 {
      for _ in 0...random.below(3) {
        let id = ids[random.below(ids.count)]
        let other = Value.string(ids[random.below(ids.count)].rawValue)
        _ = try? step(random.below(8), id, other, in: &store)
      }
      if random.below(6) == 0 { store.rollbackGroup() }
      store.commitGroup(at: .at(0))
      let steps = store.settleEmbeds(costMax: 1 + random.below(2_000))
      #expect(steps < 400)
      #expect(!store.needsSettling)
      #expect(store.checkInvariants().isEmpty, "seed \(seed)")
      for index in mirrors.indices {
        let delta = try store.changes(
          since: mirrors[index].cursor, taking: mirrors[index].choice)
        // The change may be only in the content of another family.
        #expect(
          mirrors[index].mirror.apply(delta, changesOwnersOnly: { _ in true }).isEmpty,
          "seed \(seed)")
        mirrors[index].cursor = store.revision
        for widget in mirrors[index].mirror.widgets.values {
          #expect(
            widget == store.widget(widget.id, taking: mirrors[index].choice), "seed \(seed)")
        }
      }
    }
  }

  private func step(_ what: Int, _ id: WidgetID, _ other: Value, in store: inout Store) throws {
    switch what {
    case 0: try store.create(id, kind: "counter")
    case 1: try store.create(id, kind: "frame", data: ["widget": other])
    case 2: try store.create(id, kind: "grid", data: ["ids": .list([other, .string("w1")])])
    case 3: try store.set(id, ["widget": other])
    case 4: try store.set(id, ["n": .int(Int64(store.revision))])
    case 5: try store.delete(id)
    case 6: try store.run(.setPresence(.ids([id]), .toggle))
    default: try store.set(id, ["title": .string("t\(store.revision)")])
    }
  }
}

/// Random numbers from a seed.
private struct Random {
  var state: UInt64

  mutating func below(_ limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }
}
