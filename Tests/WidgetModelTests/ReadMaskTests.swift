import SeededRandom
import Testing
import WidgetModel

/// A mask leaves out what a reader does not want, from widgets and updates alike.
struct ReadMaskTests {
  private func widget() throws -> Widget {
    Widget(
      id: try #require(WidgetID("w")), kind: try #require(KindName("k")), family: .large,
      labels: ["l": "1"], presence: Presence(isVisible: false), position: 7,
      parameters: ["p": .int(1), "q": .int(2)],
      data: ["a": .int(1), "b": .int(2), "\u{E9}": .int(3), "e\u{301}": .int(4)], isStale: true,
      error: WidgetError(reason: "R", message: "m"), createdRevision: 3, revision: 5,
      createTime: Timestamp(nanosecondsSinceEpoch: 1),
      updateTime: Timestamp(nanosecondsSinceEpoch: 2), ownerUID: 9, applySet: "set",
      activity: Activity(startTime: .epoch, expireTime: .latest))
  }

  private func bare(_ widget: Widget) -> Widget {
    Widget(
      id: widget.id, kind: widget.kind, createdRevision: widget.createdRevision,
      revision: widget.revision)
  }

  private func update() throws -> WidgetUpdate {
    var update = WidgetUpdate(
      id: try #require(WidgetID("w")), revision: 9,
      updateTime: Timestamp(nanosecondsSinceEpoch: 77))
    update.setData = ["a": .int(10), "new": .int(11)]
    update.unsetData = ["b", "e\u{301}"]
    update.setParameters = ["p": .int(12)]
    update.unsetParameters = ["q"]
    update.labels = ["l": "2"]
    update.presence = Presence()
    update.position = 8
    update.isStale = false
    update.error = .some(nil)
    update.transition = Transition(curve: .linear)
    update.applySet = "other"
    update.family = .small
    return update
  }

  @Test func `a mask without paths lets every field pass`() throws {
    let mask = try ReadMask(paths: [])
    #expect(mask == .all)
    #expect(mask.isEverything)
    #expect(mask.filter(try widget()) == (try widget()))
    #expect(mask.filter(try update()) == (try update()))
    // Only a mask that names them includes these.
    #expect(ReadMask.Field.allCases.filter { !mask.wants($0) } == [.owners, .storedTimeline])
  }

  @Test(arguments: [
    "", "nothing", "data.", "parameters.", "Data", "DATA.a", "label", "dat", "data a", "id.x",
    "labels.l",
  ])
  func `a path that names nothing is refused by name`(path: String) {
    let error = #expect(throws: ReadMask.UnknownPath.self) { try ReadMask(paths: ["data", path]) }
    #expect(error?.path == path)
  }

  @Test(arguments: ["id", "kind", "revision", "created_revision"])
  func `a mask of fields that are always sent wants nothing else`(path: String) throws {
    let mask = try ReadMask(paths: [path])
    #expect(!mask.isEverything)
    #expect(ReadMask.Field.allCases.allSatisfy { !mask.wants($0) })
    #expect(mask.filter(try widget()) == bare(try widget()))
    #expect(mask.filter(try update()) == nil)
  }

  @Test(arguments: ReadMask.Field.allCases)
  func `a mask of one field keeps that field alone`(field: ReadMask.Field) throws {
    let mask = try ReadMask(paths: [field.rawValue])
    let full = try widget()
    var expected = bare(full)
    switch field {
    case .family: expected.family = full.family
    case .labels: expected.labels = full.labels
    case .presence: expected.presence = full.presence
    case .position: expected.position = full.position
    case .parameters: expected.parameters = full.parameters
    case .data: expected.data = full.data
    case .stale: expected.isStale = full.isStale
    case .error: expected.error = full.error
    case .createTime: expected.createTime = full.createTime
    case .updateTime: expected.updateTime = full.updateTime
    case .ownerUID: expected.ownerUID = full.ownerUID
    case .applySet: expected.applySet = full.applySet
    case .content: expected.content = full.content
    case .timeline: expected.timeline = full.timeline
    case .activity: expected.activity = full.activity
    case .etag, .owners, .storedTimeline: break
    }
    #expect(mask.filter(full) == expected)
    #expect(mask.wants(field))
    #expect(ReadMask.Field.allCases.filter(mask.wants) == [field])
  }

  @Test func `single keys are picked out of data and parameters`() throws {
    let mask = try ReadMask(paths: ["data.b", "data.absent", "parameters.p"])
    var expected = bare(try widget())
    expected.data = ["b": .int(2)]
    expected.parameters = ["p": .int(1)]
    #expect(mask.filter(try widget()) == expected)
    #expect(mask.dataKeys == ["absent", "b"])
    #expect(mask.parameterKeys == ["p"])
  }

  @Test func `a key is all that follows the first dot`() throws {
    #expect(try ReadMask(paths: ["data.a.b"]).dataKeys == ["a.b"])
    #expect(try ReadMask(paths: ["data.data."]).dataKeys == ["data."])
  }

  @Test func `keys that differ only in Unicode form are two keys`() throws {
    let both = try ReadMask(paths: ["data.\u{E9}", "data.e\u{301}"])
    #expect(both.filter(try widget()).data == ["\u{E9}": .int(3), "e\u{301}": .int(4)])
    let composed = try ReadMask(paths: ["data.\u{E9}"])
    #expect(composed.filter(try update()) == nil)
    let parameters = try ReadMask(paths: ["parameters.\u{E9}", "parameters.e\u{301}"])
    #expect(parameters.parameterKeys.count == 2)
  }

  @Test func `a key that begins with a combining mark is a key`() throws {
    let mask = try ReadMask(paths: ["data.\u{301}x"])
    #expect(mask.dataKeys.map { Array($0.utf8) } == [Array("\u{301}x".utf8)])
  }

  @Test func `a path that a mask repeats counts once`() throws {
    let mask = try ReadMask(paths: ["data.a", "data.a", "labels", "labels"])
    #expect(mask.dataKeys == ["a"])
    #expect(mask == (try ReadMask(paths: ["labels", "data.a"])))
  }

  @Test(arguments: [
    ["data"], ["data.a"], ["data.b", "data.new"], ["parameters"], ["parameters.q"], ["labels"],
    ["presence"], ["position"], ["stale"], ["error"], ["family"], ["apply_set"],
    ["data", "labels", "position"], ["update_time"], ["create_time", "data.a"],
    ["owner_uid", "presence"],
  ])
  func `filtering an update and applying it equals applying it and filtering`(
    paths: [String]
  ) throws {
    let mask = try ReadMask(paths: paths)
    var mirror = mask.filter(try widget())
    mirror.apply(try #require(mask.filter(try update())))
    var full = try widget()
    full.apply(try update())
    #expect(mirror == mask.filter(full))
  }

  @Test(arguments: [
    ["data.absent"], ["parameters.absent"], ["owner_uid"], ["create_time"], ["etag"],
  ])
  func `an update of fields outside the mask is nil`(paths: [String]) throws {
    #expect(try ReadMask(paths: paths).filter(try update()) == nil)
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func `of removed keys exactly those in the mask remain, in their order`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    // Some keys are equal to others for Swift's `==`, and some are prefixes of others.
    let keys = (0..<40).map { "k\($0)" } + ["k", "\u{E9}", "e\u{301}", "e", "\u{301}"]
    let wanted = random.some(keys, max: 30)
    let parameters = random.some(keys, max: 30)
    let mask = try ReadMask(
      paths: ["position"] + wanted.map { "data.\($0)" } + parameters.map { "parameters.\($0)" })
    var update = WidgetUpdate(
      id: try #require(WidgetID("w")), revision: 2, updateTime: .epoch)
    update.position = 1
    update.unsetData = random.some(keys, max: 60)
    update.unsetParameters = random.some(keys, max: 60)
    let filtered = try #require(mask.filter(update))
    func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
    let (inData, inParameters) = (Set(bytes(wanted)), Set(bytes(parameters)))
    #expect(bytes(filtered.unsetData) == bytes(update.unsetData).filter { inData.contains($0) })
    #expect(
      bytes(filtered.unsetParameters)
        == bytes(update.unsetParameters).filter { inParameters.contains($0) })
  }

  @Test func `the transition hint travels with what remains`() throws {
    let filtered = try ReadMask(paths: ["labels"]).filter(try update())
    #expect(filtered?.transition == Transition(curve: .linear))
    #expect(filtered?.setData.isEmpty == true)
    #expect(filtered?.unsetData.isEmpty == true)
  }
}

struct WidgetUpdateTests {
  @Test func `applying an update changes only the named fields`() throws {
    let id = try #require(WidgetID("w"))
    let before = Widget(
      id: id, kind: try #require(KindName("k")), labels: ["a": "b"], position: 4,
      data: ["keep": .int(1), "drop": .int(2)], isStale: true,
      error: WidgetError(reason: "R", message: ""), revision: 1, applySet: "s")
    var update = WidgetUpdate(id: id, revision: 2, updateTime: .latest)
    #expect(update.isEmpty)
    update.setData = ["new": .int(3)]
    update.unsetData = ["drop", "absent"]
    #expect(!update.isEmpty)
    var after = before
    after.apply(update)
    var expected = before
    expected.data = ["keep": .int(1), "new": .int(3)]
    (expected.revision, expected.updateTime) = (2, .latest)
    #expect(after == expected)
  }

  @Test func `an update can clear the error or leave it`() throws {
    var widget = Widget(
      id: try #require(WidgetID("w")), kind: try #require(KindName("k")),
      error: WidgetError(reason: "R", message: ""))
    var update = WidgetUpdate(id: widget.id, revision: 1, updateTime: .epoch)
    widget.apply(update)
    #expect(widget.error != nil)
    update.error = .some(nil)
    #expect(!update.isEmpty)
    widget.apply(update)
    #expect(widget.error == nil)
  }
}
