import Testing
import WidgetModel

@testable import WidgetCore

struct MoveTests {
  @Test(
    arguments: [
      ("c", .first, ["c", "a", "b", "d"]), ("b", .last, ["a", "c", "d", "b"]),
      ("d", .before("b"), ["a", "d", "b", "c"]), ("a", .after("c"), ["b", "c", "a", "d"]),
      ("a", .after("d"), ["b", "c", "d", "a"]), ("d", .before("a"), ["d", "a", "b", "c"]),
      ("b", .after("c"), ["a", "c", "b", "d"]), ("c", .before("b"), ["a", "c", "b", "d"]),
    ] as [(WidgetID, MoveDestination, [String])])
  func `a widget moves in one commit and no other changes`(
    id: WidgetID, destination: MoveDestination, expected: [String]
  ) throws {
    var store = try Store(widgets: ["a", "b", "c", "d"])
    let commit = try store.run(.move(id, to: destination, transition: .quick), at: .at(3))
    #expect(commit == Commit(revision: 5, isChange: true, outcome: .updated(id)))
    #expect(store.ids == expected)
    let widget = try #require(store.widget(id))
    #expect(widget.updateTime == .at(3))
    var update = WidgetUpdate(id: id, revision: 5, updateTime: .at(3))
    update.position = widget.position
    update.transition = .quick
    #expect(try store.changes(since: 4).changes == [.updated(update)])
    #expect(store.checkInvariants() == [])
  }

  @Test(
    arguments: [
      ("a", .first), ("d", .last), ("b", .before("c")), ("b", .after("a")), ("b", .before("b")),
      ("b", .after("b")),
    ] as [(WidgetID, MoveDestination)])
  func `a move to where the widget is makes no commit`(
    id: WidgetID, destination: MoveDestination
  ) throws {
    var store = try Store(widgets: ["a", "b", "c", "d"])
    let before = store.observation()
    let commit = try store.run(.move(id, to: destination))
    #expect(commit == Commit(revision: 4, isChange: false, outcome: .updated(id)))
    #expect(store.observation() == before)
  }

  @Test func `an unknown widget or neighbour is refused`() throws {
    var store = try Store(widgets: ["a"])
    #expect(store.refusal(of: .move("x", to: .first)) == .widgetNotFound("x"))
    #expect(store.refusal(of: .move("a", to: .before("x"))) == .widgetNotFound("x"))
    #expect(store.refusal(of: .move("a", to: .after("x"))) == .widgetNotFound("x"))
  }

  @Test func `when there is no room left between neighbours all are spread, in one commit`() throws
  {
    var store = try Store(widgets: ["a", "b", "c", "d"])
    var mirror = store
    var spreads = 0
    for step in 0..<100 {
      let (mover, anchor): (WidgetID, WidgetID) = step % 2 == 0 ? ("c", "a") : ("d", "a")
      let before = store.revision
      let commit = try store.run(.move(mover, to: .after(anchor)))
      #expect(commit.revision == before + 1)
      #expect(store.ids.prefix(2) == ["a", mover.rawValue])
      let changed = try store.changes(since: before).changes.count
      if changed > 1 { spreads += 1 }
      try mirror.run(.move(mover, to: .after(anchor)))
    }
    #expect(spreads >= 2)
    #expect(store.checkInvariants() == [])
    #expect(store.observation(cursors: [50]) == mirror.observation(cursors: [50]))
  }

  @Test func `moving back and forth forever never runs out of positions`() throws {
    // Positions at the ends of their range simulate years of moves.
    for end in [Int64.max, .max - 5, .min, .min + 5] as [Int64] {
      var store = try Store.withPositions([-1, 0, 1, end])
      let ids = store.ids
      let outermost: WidgetID = end > 0 ? "w0" : "w3"
      try store.run(.move(outermost, to: end > 0 ? .last : .first))
      #expect(
        store.ids
          == (end > 0
            ? Array(ids.dropFirst()) + [ids[0]] : [ids[3]] + ids.dropLast()))
      #expect(store.checkInvariants() == [])
    }
  }

  @Test func `a widget is added behind one at the last position`() throws {
    for end in [.max, .max - 5, .max - (1 << 32)] as [Int64] {
      var store = try Store.withPositions([0, end])
      let cursor = store.revision
      let commit = try store.create("new")
      #expect(commit.revision == cursor + 1)
      #expect(store.ids == ["w0", "w1", "new"])
      #expect(store.checkInvariants() == [])
    }
  }

  @Test func `there is room between the outermost positions`() throws {
    var store = try Store.withPositions([.min, .min + 1, .max])
    try store.run(.move("w0", to: .before("w2")))
    #expect(store.ids == ["w1", "w0", "w2"])
    try store.run(.move("w2", to: .after("w1")))
    #expect(store.ids == ["w1", "w2", "w0"])
    #expect(store.checkInvariants() == [])
  }
}

extension Store {
  /// A store with widgets "w0", "w1", … at these positions, ascending.
  fileprivate static func withPositions(_ positions: [Int64]) throws -> Store {
    var source = Store()
    for index in positions.indices { try source.create(WidgetID("w\(index)")) }
    var image = StoreImage(epoch: 1)
    image.apply(source.pendingGroup())
    for (index, position) in positions.sorted().enumerated() {
      image.records[index].widget.position = position
    }
    return Store(image: image, isRevocable: true)
  }
}
