import Testing
import WidgetClient
import WidgetModel
import WidgetProto

extension WidgetMirror {
  fileprivate mutating func take(_ frames: [WatchFrame]) throws {
    for frame in frames { _ = try apply(frame) }
  }
}

/// The entries that a mirror shows at dates that it got in advance.
@Suite struct `Entries that were sent in advance` {
  private static func content(_ text: String) -> Content {
    Content(
      rootID: "top",
      nodes: [
        Node(id: "top", type: .stack, childIDs: ["time", "title"]),
        Node(id: "time", type: .label, properties: ["text": .string(text)]),
        Node(id: "title", type: .label, properties: ["text": .string("title")]),
      ])
  }

  private static func at(_ second: Int64) -> Timestamp { .epoch.advanced(by: .seconds(second)) }

  private static func entry(_ second: Int64) -> ShownEntry {
    ShownEntry(entry: TimelineEntry(date: at(second)), content: content("\(second)"))
  }

  private static func upcoming(
    _ seconds: Int64..., id: String = "clock", hasFakeClock: Bool = false
  ) -> WatchFrame {
    .upcoming(
      WatchUpcoming(
        widgets: [UpcomingEntries(id: .of(id), entries: seconds.map { entry($0) }, more: true)],
        hasFakeClock: hasFakeClock))
  }

  private static func widget(_ id: String, _ text: String) -> Widget {
    var widget = Widget.sample(id)
    widget.content = content(text)
    widget.timeline = TimelineStatus(
      current: TimelineEntry(date: at(0)), nextTime: at(10))
    return widget
  }

  /// A mirror that shows a clock at second 0, and knows its next entries.
  private static func synced(_ next: WatchFrame = upcoming(10, 20, 30)) throws -> WidgetMirror {
    var mirror = WidgetMirror()
    try mirror.take([
      .opened(WatchOpened(subscriptionID: 1, epoch: 7, revision: 5)),
      .snapshot(SnapshotChunk(widgets: [widget("clock", "0"), widget("other", "0")])), next,
      .synced(WatchSynced(revision: 5, resumeToken: [5])),
    ])
    return mirror
  }

  private func text(_ mirror: WidgetMirror, _ id: String = "clock") -> Value? {
    mirror[.of(id)]?.content?["time"]?.properties["text"]
  }

  private static func changes(_ text: String, from: Revision = 5, more: Bool = false) -> WatchFrame
  {
    var update = WidgetUpdate(id: .of("clock"), revision: 6, updateTime: .epoch)
    update.content = ContentChange(setNodes: [
      Node(id: "title", type: .label, properties: ["text": .string(text)])
    ])
    return .changes(
      ChangeSet(
        fromRevision: from, toRevision: more ? 0 : 6, changes: [.updated(update)], more: more,
        resumeToken: more ? [] : [6]))
  }

  @Test func `entries sent in advance appear on time, and name the changed nodes`() throws {
    var mirror = try Self.synced()
    #expect(mirror.nextDate == Self.at(10))
    #expect(mirror.advance(to: Self.at(9)) == nil)
    let flipped = mirror.advance(to: Self.at(10))
    let difference = try #require(flipped)
    #expect(difference.updated == [.of("clock")])
    #expect(difference.contents == [.of("clock"): ContentDifference(changed: ["time"])])
    #expect(text(mirror) == .string("10"))
    #expect(mirror[.of("clock")]?.timeline?.current?.date == Self.at(10))
    #expect(mirror[.of("clock")]?.timeline?.nextTime == Self.at(20))
    #expect(mirror.nextDate == Self.at(20))
    #expect(mirror.revision == 5 && mirror.resumeToken == [5])
    #expect(text(mirror, "other") == .string("0"))
  }

  @Test func `entries that were missed are skipped, and the last one stays`() throws {
    var mirror = try Self.synced()
    #expect(mirror.advance(to: Self.at(25))?.updated == [.of("clock")])
    #expect(text(mirror) == .string("20"))
    _ = mirror.advance(to: Self.at(1_000))
    #expect(text(mirror) == .string("30"))
    #expect(mirror.nextDate == nil)
  }

  @Test func `entries sent in advance go on without a connection`() throws {
    var mirror = try Self.synced()
    try mirror.take([.disconnected(.cancelled)])
    #expect(mirror.advance(to: Self.at(10)) != nil)
    #expect(text(mirror) == .string("10"))
  }

  @Test func `a change replaces an entry sent in advance`() throws {
    var mirror = try Self.synced()
    _ = mirror.advance(to: Self.at(10))
    let difference = try mirror.apply(Self.changes("new"))
    // The node of the time is that of the daemon again, and so it differs from what was visible.
    #expect(difference?.contents == [.of("clock"): ContentDifference(changed: ["time", "title"])])
    #expect(text(mirror) == .string("0"))
    #expect(mirror[.of("clock")]?.content?["title"]?.properties["text"] == .string("new"))
    #expect(mirror.nextDate == nil)
    try mirror.take([Self.upcoming(20)])
    #expect(mirror.nextDate == Self.at(20))
  }

  @Test func `a change of one widget keeps the entries of another`() throws {
    var mirror = try Self.synced()
    try mirror.take([Self.upcoming(15, id: "other")])
    _ = mirror.advance(to: Self.at(15))
    try mirror.take([Self.changes("new")])
    #expect(text(mirror, "other") == .string("15"))
    #expect(mirror[.of("other")]?.timeline?.current?.date == Self.at(15))
  }

  @Test func `an entry that is due within a change waits for the last part`() throws {
    var mirror = try Self.synced()
    try mirror.take([Self.changes("new", more: true), Self.upcoming(40)])
    #expect(mirror.nextDate == Self.at(10))
    var other = WidgetUpdate(id: .of("other"), revision: 6, updateTime: .epoch)
    other.setData = ["n": .int(1)]
    try mirror.take([
      .changes(ChangeSet(fromRevision: 5, toRevision: 6, changes: [.updated(other)]))
    ])
    #expect(mirror.nextDate == Self.at(40))
  }

  @Test func `entries of a daemon with a fake clock wait for their change`() throws {
    var mirror = try Self.synced(Self.upcoming(10, hasFakeClock: true))
    #expect(mirror.nextDate == nil)
    #expect(mirror.advance(to: Self.at(1_000)) == nil)
  }

  @Test func `a snapshot without entries drops the entries sent in advance`() throws {
    var mirror = try Self.synced()
    _ = mirror.advance(to: Self.at(10))
    try mirror.take([
      .reset(.compacted), .opened(WatchOpened(subscriptionID: 2, epoch: 7, revision: 8)),
      .snapshot(SnapshotChunk(widgets: [Self.widget("clock", "8")])),
      .synced(WatchSynced(revision: 8)),
    ])
    #expect(text(mirror) == .string("8"))
    #expect(mirror.nextDate == nil)
  }
}
