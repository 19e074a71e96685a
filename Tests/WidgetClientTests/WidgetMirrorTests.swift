import Testing
import WidgetClient

@Suite struct WidgetMirrorTests {
  private static let opened = WatchFrame.opened(
    WatchOpened(subscriptionID: 1, epoch: 7, revision: 5))

  /// A mirror that shows widgets `a` and `b` at revision 5.
  private static func synced() throws -> WidgetMirror {
    var mirror = WidgetMirror()
    try mirror.take([
      opened, .snapshot(SnapshotChunk(widgets: [.sample("b", position: 2)])),
      .snapshot(SnapshotChunk(widgets: [.sample("a", position: 1)])),
      .synced(WatchSynced(revision: 5, resumeToken: [5])),
    ])
    return mirror
  }

  @Test func `nothing is visible before the snapshot is complete`() throws {
    var mirror = WidgetMirror()
    #expect(try mirror.apply(WidgetMirrorTests.opened) == nil)
    let chunk = SnapshotChunk(widgets: [.sample("a")])
    #expect(try mirror.apply(.snapshot(chunk)) == nil)
    #expect(mirror.widgets == [])
    #expect(!mirror.isSynced)
    let difference = try mirror.apply(.synced(WatchSynced(revision: 9, resumeToken: [1, 2])))
    #expect(difference?.added == [.of("a")])
    #expect(mirror.widgets == [.sample("a")])
    #expect(mirror.isSynced)
    #expect(mirror.revision == 9)
    #expect(mirror.epoch == 7)
    #expect(mirror.resumeToken == [1, 2])
  }

  @Test func `a later chunk of a snapshot replaces and removes what earlier ones held`() throws {
    var mirror = WidgetMirror()
    try mirror.take([
      WidgetMirrorTests.opened,
      .snapshot(SnapshotChunk(widgets: [.sample("a"), .sample("b"), .sample("c")])),
      .snapshot(
        SnapshotChunk(
          widgets: [.sample("a", position: 9)], removedIDs: [.of("b"), .of("never-there")])),
      .synced(WatchSynced(revision: 9)),
    ])
    #expect(mirror.widgets == [.sample("c"), .sample("a", position: 9)])
  }

  @Test func `widgets are in the order of their positions, then of their ids`() throws {
    var mirror = WidgetMirror()
    try mirror.take([
      WidgetMirrorTests.opened,
      .snapshot(
        SnapshotChunk(widgets: [
          .sample("z", position: -5), .sample("b", position: 3), .sample("B", position: 3),
          .sample("a", position: 10),
        ])),
      .synced(WatchSynced(revision: 1)),
    ])
    #expect(mirror.ids == [.of("z"), .of("B"), .of("b"), .of("a")])
  }

  @Test func `a change set adds, updates and removes at once`() throws {
    var mirror = try WidgetMirrorTests.synced()
    var update = WidgetUpdate(id: .of("a"), revision: 6, updateTime: .epoch)
    update.setData = ["text": .string("new")]
    let transition = Transition(curve: .spring)
    let difference = try mirror.apply(
      .changes(
        ChangeSet(
          fromRevision: 5, toRevision: 8,
          changes: [
            .removed(.of("b"), nil), .updated(update),
            .added(.sample("c", position: 0), transition),
          ], resumeToken: [8])))
    #expect(difference?.added == [.of("c")])
    #expect(difference?.updated == [.of("a")])
    #expect(difference?.removed == [.sample("b", position: 2)])
    #expect(difference?.transitions == [.of("c"): transition])
    #expect(difference?.isReordered == false)
    #expect(mirror.ids == [.of("c"), .of("a")])
    #expect(mirror[.of("a")]?.data["text"] == .string("new"))
    #expect(mirror.revision == 8)
    #expect(mirror.resumeToken == [8])
  }

  @Test func `a move is reported as a new order`() throws {
    var mirror = try WidgetMirrorTests.synced()
    var update = WidgetUpdate(id: .of("a"), revision: 6, updateTime: .epoch)
    update.position = 3
    let difference = try mirror.apply(
      .changes(ChangeSet(fromRevision: 5, toRevision: 6, changes: [.updated(update)])))
    #expect(difference?.isReordered == true)
    #expect(difference?.updated == [.of("a")])
    #expect(mirror.ids == [.of("b"), .of("a")])
  }

  @Test func `pieces of a change set become visible together`() throws {
    var mirror = try WidgetMirrorTests.synced()
    let before = mirror.widgets
    let first = ChangeSet(
      fromRevision: 5, changes: [.added(.sample("c", position: 3), nil)], more: true)
    #expect(try mirror.apply(.changes(first)) == nil)
    #expect(mirror.widgets == before)
    #expect(mirror.revision == 5)
    #expect(mirror.resumeToken == [5])
    let last = ChangeSet(
      fromRevision: 5, toRevision: 7, changes: [.removed(.of("a"), nil)], resumeToken: [7])
    let difference = try mirror.apply(.changes(last))
    #expect(difference?.added == [.of("c")])
    #expect(difference?.removed.map(\.id) == [.of("a")])
    #expect(mirror.ids == [.of("b"), .of("c")])
    #expect(mirror.revision == 7)
  }

  @Test func `pieces that a lost connection cut off are dropped`() throws {
    var mirror = try WidgetMirrorTests.synced()
    let first = ChangeSet(fromRevision: 5, changes: [.removed(.of("a"), nil)], more: true)
    try mirror.take([
      .changes(first), .disconnected(.connectionLost(socketPath: "/s")), .reconnected,
      WidgetMirrorTests.opened,
    ])
    _ = try mirror.apply(
      .changes(
        ChangeSet(
          fromRevision: 5, toRevision: 6, changes: [.added(.sample("c", position: 3), nil)])))
    #expect(mirror.ids == [.of("a"), .of("b"), .of("c")])
  }

  @Test func `a snapshot that a lost connection cut off is dropped`() throws {
    var mirror = WidgetMirror()
    try mirror.take([
      WidgetMirrorTests.opened, .snapshot(SnapshotChunk(widgets: [.sample("old")])),
      .disconnected(.connectionLost(socketPath: "/s")), .reconnected, WidgetMirrorTests.opened,
      .snapshot(SnapshotChunk(widgets: [.sample("new")])), .synced(WatchSynced(revision: 2)),
    ])
    #expect(mirror.ids == [.of("new")])
  }

  @Test func `after a reset the old state stays until the new one is complete`() throws {
    var mirror = try WidgetMirrorTests.synced()
    let before = mirror.widgets
    try mirror.take([
      .reset(.compacted), WidgetMirrorTests.opened,
      .snapshot(
        SnapshotChunk(widgets: [.sample("b", position: 2), .sample("c", position: 3)])),
    ])
    #expect(mirror.widgets == before)
    #expect(mirror.revision == 5)
    let difference = try mirror.apply(.synced(WatchSynced(revision: 50)))
    #expect(difference?.added == [.of("c")])
    #expect(difference?.updated == [])
    #expect(difference?.removed.map(\.id) == [.of("a")])
    #expect(mirror.revision == 50)
  }

  @Test func `a reset to an older revision of another store is taken`() throws {
    var mirror = try WidgetMirrorTests.synced()
    try mirror.take([
      .reset(.epochChanged), .opened(WatchOpened(subscriptionID: 1, epoch: 8, revision: 1)),
      .synced(WatchSynced(revision: 1)),
    ])
    #expect(mirror.widgets == [])
    #expect(mirror.revision == 1)
    #expect(mirror.epoch == 8)
    let set = ChangeSet(fromRevision: 1, toRevision: 2, changes: [.added(.sample("n"), nil)])
    #expect(try mirror.apply(.changes(set))?.added == [.of("n")])
  }

  @Test func `a snapshot that is the same as before is an empty difference`() throws {
    var mirror = try WidgetMirrorTests.synced()
    try mirror.take([
      .reset(.compacted), WidgetMirrorTests.opened,
      .snapshot(SnapshotChunk(widgets: mirror.widgets)),
    ])
    #expect(try mirror.apply(.synced(WatchSynced(revision: 9)))?.isEmpty == true)
  }

  @Test func `a progress frame changes the revision and the token, but no widget`() throws {
    var mirror = try WidgetMirrorTests.synced()
    let before = mirror.widgets
    let progress = WatchProgress(revision: 11, resumeToken: [11])
    #expect(try mirror.apply(.progress(progress)) == nil)
    #expect(mirror.revision == 11)
    #expect(mirror.resumeToken == [11])
    #expect(mirror.widgets == before)
  }

  @Test func `the removal of an unknown widget is ignored`() throws {
    var mirror = try WidgetMirrorTests.synced()
    let difference = try mirror.apply(
      .changes(
        ChangeSet(
          fromRevision: 5, toRevision: 6, changes: [.removed(.of("ghost"), Transition())])))
    #expect(difference?.isEmpty == true)
    #expect(difference?.transitions == [:])
    #expect(mirror.revision == 6)
  }

  @Test func `frames that do not fit are refused and change nothing`() throws {
    let update = WidgetUpdate(id: .of("ghost"), revision: 6, updateTime: .epoch)
    let cases: [([WatchFrame], ChangeSet, WidgetMirror.Inconsistency)] = [
      (
        [],
        ChangeSet(
          fromRevision: 5, toRevision: 6, changes: [.removed(.of("a"), nil), .updated(update)]),
        .unknownWidget(.of("ghost"))
      ),
      (
        [], ChangeSet(fromRevision: 4, toRevision: 6),
        .unexpectedRevision(from: 4, visible: 5)
      ),
      (
        [.changes(ChangeSet(fromRevision: 5, more: true))],
        ChangeSet(fromRevision: 6, toRevision: 7), .unexpectedRevision(from: 6, visible: 5)
      ),
    ]
    for (frames, bad, expected) in cases {
      var mirror = try WidgetMirrorTests.synced()
      try mirror.take(frames)
      let before = mirror
      #expect(throws: expected) { try mirror.apply(.changes(bad)) }
      #expect(mirror == before)
    }
    var empty = WidgetMirror()
    #expect(throws: WidgetMirror.Inconsistency.notSynced) {
      try empty.apply(.changes(ChangeSet(fromRevision: 0, toRevision: 1)))
    }
  }

  @Test func `a mirror knows whether it is connected`() throws {
    var mirror = WidgetMirror()
    #expect(!mirror.isConnected)
    try mirror.take([WidgetMirrorTests.opened])
    #expect(mirror.isConnected)
    try mirror.take([.disconnected(.closed)])
    #expect(!mirror.isConnected)
    try mirror.take([.reconnected])
    #expect(mirror.isConnected)
  }
}

extension WidgetMirror {
  fileprivate mutating func take(_ frames: [WatchFrame]) throws {
    for frame in frames { _ = try apply(frame) }
  }
}
