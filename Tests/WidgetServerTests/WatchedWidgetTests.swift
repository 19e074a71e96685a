import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// The watched widgets, without a daemon.
@Suite struct WatchedWidgetValues {
  private static func store(_ count: Int) throws -> WidgetStore {
    var store = WidgetStore(image: StoreImage(epoch: 1), isRevocable: false)
    for number in 0..<count { try create("w\(number)", in: &store) }
    return store
  }

  private static func create(
    _ id: String, labels: Labels = [:], in store: inout WidgetStore
  ) throws {
    let spec = WidgetSpec(id: try .make(id), kind: try .make("gauge"), labels: labels)
    _ = try store.apply(
      .create(spec, transition: nil), by: Caller(uid: 0, pid: 0, client: ""), at: .epoch)
  }

  private static func at(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(0) + .milliseconds(milliseconds)
  }

  @Test func `selectors that are added and removed leave nothing behind`() throws {
    let store = try Self.store(1)
    let selectors = [
      Selector(), Selector(ids: [try .make("w0")]), Selector(kinds: [try .make("gauge")]),
      Selector(labels: [LabelRequirement(key: "a", operator: .notExists)]),
      Selector(expression: "widget.id == 'w0'"),
      Selector(ids: [try .make("w0")], kinds: [try .make("gauge")]),
    ]
    for selector in selectors {
      var watched = WatchedSelectors()
      func isWatched() throws -> Bool {
        var cost = 0
        return watched.select(try .make("w0"), try .make("gauge"), in: store, cost: &cost)
      }
      #expect(try !isWatched())
      watched.add(selector, in: store)
      watched.add(selector, in: store)
      #expect(try isWatched(), "\(selector)")
      watched.remove(selector)
      #expect(try isWatched(), "\(selector)")
      watched.remove(selector)
      #expect(try !isWatched(), "\(selector)")
    }
  }

  @Test func `a watcher of a widget also watches the widgets in its embeds`() throws {
    var store = try Self.store(2)
    let frame = Kind(
      name: try .make("frame"),
      data: [Field(name: "shown", type: .string, defaultValue: .string(""))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "frame", type: .embed, properties: ["widget": Binding("data.shown")]))
      ])
    let caller = Caller(uid: 0, pid: 0, client: "")
    _ = try store.apply(
      .applyKinds(KindDeclaration(provider: "test", kinds: [frame])), by: caller, at: .epoch)
    for (id, shown) in [("inner", "w0"), ("outer", "inner")] {
      let spec = WidgetSpec(
        id: try .make(id), kind: frame.name, data: ["shown": .string(shown)])
      _ = try store.apply(.create(spec), by: caller, at: .epoch)
    }
    var selectors = WatchedSelectors()
    selectors.add(Selector(ids: [try .make("outer")]), in: store)
    var watched = WatchedWidgets()
    func look(_ time: Int64) throws {
      watched.look(in: store, selectors, at: Self.at(time)) {
        [(try? .make("gauge")) ?? frame.name: "p"]
      }
      watched.look(in: store, selectors, at: Self.at(time + 1)) { [:] }
    }
    watched.invalidate()
    try look(0)
    #expect(watched["p"].ids.isEmpty)
    // The widgets in the embeds have not changed.
    _ = store.settleEmbeds(at: .epoch)
    try look(1_000)
    #expect(watched["p"].ids == [try .make("w0")])
  }

  /// A store with `w0`, `a0` and `a1`, which show `w0`, and others, which show `a0` and `a1`.
  private static func layers(_ count: Int) throws -> WidgetStore {
    var store = try store(1)
    let fields = ["first", "second"]
    let pair = Kind(
      name: try .make("pair"),
      data: fields.map { Field(name: $0, type: .string, defaultValue: .string("")) },
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "pair", type: .stack,
            children: fields.map {
              NodeTemplate(id: $0, type: .embed, properties: ["widget": Binding("data.\($0)")])
            }))
      ])
    let caller = Caller(uid: 0, pid: 0, client: "")
    _ = try store.apply(
      .applyKinds(KindDeclaration(provider: "test", kinds: [pair])), by: caller, at: .epoch)
    let upper = (0..<count).map { ("b\($0)", ["a0", "a1"]) }
    for (id, shown) in [("a0", ["w0"]), ("a1", ["w0"])] + upper {
      var data = ValueMap()
      for (field, other) in zip(fields, shown) { data[field] = .string(other) }
      _ = try store.apply(
        .create(WidgetSpec(id: try .make(id), kind: pair.name, data: data)), by: caller,
        at: .epoch)
    }
    _ = store.settleEmbeds(at: .epoch)
    return store
  }

  @Test func `each link to a widget counts in the cost of its test`() throws {
    let store = try Self.layers(10)
    var cost = 0
    #expect(
      !WatchedSelectors().select(try .make("w0"), try .make("gauge"), in: store, cost: &cost))
    // The tests of 13 widgets, 2 links to `w0`, and 10 links each to `a0` and `a1`.
    #expect(cost == 13 + 2 + 20)
  }

  @Test func `a widget that very many others show counts as watched, after few tests`() throws {
    let store = try Self.layers(200)
    var cost = 0
    #expect(WatchedSelectors().select(try .make("w0"), try .make("gauge"), in: store, cost: &cost))
    #expect(cost <= 1 + 2 * 2)
    // Nobody shows one of these.
    #expect(!WatchedSelectors().select(try .make("b0"), try .make("pair"), in: store, cost: &cost))
  }

  @Test func `a pass over many widgets and selectors stops at the limit of a turn`() throws {
    let store = try Self.store(200)
    var selectors = WatchedSelectors()
    for number in 0..<100 {
      selectors.add(Selector(expression: "widget.id == 'none\(number)'"), in: store)
    }
    selectors.add(Selector(expression: "widget.id == 'w199'"), in: store)
    var watched = WatchedWidgets()
    watched.invalidate()
    let kinds = [try KindName.make("gauge"): "desk"]
    var turns = 0
    repeat {
      watched.look(in: store, selectors, at: Self.at(Int64(turns))) { kinds }
      // Others have their turn, so the next part comes after a pause.
      watched.look(in: store, selectors, at: Self.at(Int64(turns))) { kinds }
      turns += 1
      #expect(turns < 1_000)
    } while watched.isInPass
    #expect(watched["desk"].ids == [try .make("w199")])
    // 200 widgets × 101 expressions, each for 16, of 4,096 in a turn.
    #expect(turns > 50 && watched.passesBegun == 1)
  }

  @Test func `a dropped pass does not delay the next one`() throws {
    let store = try Self.store(200)
    var selectors = WatchedSelectors()
    for number in 0..<100 {
      selectors.add(Selector(expression: "widget.id == 'none\(number)'"), in: store)
    }
    let kinds = [try KindName.make("gauge"): "desk"]
    var watched = WatchedWidgets()
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(0)) { kinds }
    #expect(watched.isInPass)
    watched.clear()
    // The next session waits for the pass that begins with it.
    let firstPass = watched.passesBegun + 1
    watched.invalidate()
    var turns: Int64 = 1
    repeat {
      watched.look(in: store, selectors, at: Self.at(turns)) { kinds }
      turns += 1
    } while watched.isInPass && turns < 1_000
    #expect(watched.passesEnded == firstPass)
  }

  @Test func `beyond so many selectors of a sort every widget counts as watched`() throws {
    let store = try Self.store(1)
    func isWatched(with count: Int, _ selector: @escaping (Int) throws -> Selector) throws -> Bool {
      var selectors = WatchedSelectors()
      for number in 0..<count { selectors.add(try selector(number), in: store) }
      var cost = 0
      return selectors.select(try .make("w0"), try .make("gauge"), in: store, cost: &cost)
    }
    for (most, selector) in [
      (
        WatchedSelectors.plainMax,
        { number in
          Selector(
            labels: [LabelRequirement(key: "a", operator: .isIn, values: ["\(number)"])])
        }
      ),
      (
        WatchedSelectors.expressionsMax,
        { number in Selector(expression: "widget.id == 'none\(number)'") }
      ),
    ] as [(Int, (Int) throws -> Selector)] {
      #expect(try !isWatched(with: most, selector))
      #expect(try isWatched(with: most + 1, selector))
    }
  }

  @Test func `selectors with many labels cost more, up to the limit of one widget`() throws {
    let store = try Self.store(1)
    var selectors = WatchedSelectors()
    for number in 0..<300 {
      let labels = (0..<1_024).map { LabelRequirement(key: "l\($0)", operator: .notExists) }
      selectors.add(
        Selector(labels: labels + [LabelRequirement(key: "x\(number)", operator: .exists)]),
        in: store)
    }
    var cost = 0
    #expect(selectors.select(try .make("w0"), try .make("gauge"), in: store, cost: &cost))
    #expect(cost >= WatchedSelectors.widgetCostMax && cost < WatchedSelectors.widgetCostMax + 100)
  }

  @Test func `a test costs more if its expression takes more steps`() throws {
    let store = try Self.store(1)
    func cost(_ expression: String) throws -> Int {
      var selectors = WatchedSelectors()
      selectors.add(Selector(expression: expression), in: store)
      var cost = 0
      _ = selectors.select(try .make("w0"), try .make("gauge"), in: store, cost: &cost)
      return cost
    }
    let long = "[1, 2, 3, 4, 5, 6, 7, 8].exists(n, n * n > 100)"
    let plain = try cost("widget.id == 'none'")
    #expect(try cost(long) > plain + 5)
    #expect(try cost("\(long) || \(long) || \(long)") > plain + 15)
  }

  @Test func `a widget whose tests cost too much counts as watched`() throws {
    let store = try Self.store(1)
    let long = "[1, 2, 3, 4, 5, 6, 7, 8].exists(n, n * n > 100)"
    func watched(with count: Int) throws -> (isWatched: Bool, cost: Int) {
      var selectors = WatchedSelectors()
      for number in 0..<count {
        let expression = Array(repeating: long, count: 8).joined(separator: " || ")
        selectors.add(Selector(expression: "\(expression) || \(number) < 0"), in: store)
      }
      var cost = 0
      let isWatched = selectors.select(
        try .make("w0"), try .make("gauge"), in: store, cost: &cost)
      return (isWatched, cost)
    }
    #expect(try !watched(with: 20).isWatched)
    let many = try watched(with: WatchedSelectors.expressionsMax)
    #expect(many.isWatched && many.cost < WatchedSelectors.widgetCostMax + 256)
  }

  @Test func `a pass changes the version of a share only if other widgets are watched`() throws {
    let store = try Self.store(3)
    let kinds = [try KindName.make("gauge"): "desk"]
    var watched = WatchedWidgets()
    var versions: [UInt64] = []
    for (number, names) in [["w0"], ["w0"], ["w1"], ["w1", "w2"], ["w2"], ["w2"], []].enumerated() {
      var selectors = WatchedSelectors()
      let ids = try names.map { try WidgetID.make($0) }
      if !ids.isEmpty { selectors.add(Selector(ids: ids), in: store) }
      watched.invalidate()
      watched.look(in: store, selectors, at: Self.at(Int64(number) * 1_000)) { kinds }
      #expect(watched["desk"].ids == Set(ids))
      versions.append(watched["desk"].version)
    }
    let isSame = zip(versions, versions.dropFirst()).map { $0 == $1 }
    #expect(isSame == [true, false, false, false, true, false])
  }

  private static func apply(_ command: Command, to store: inout WidgetStore) throws {
    _ = try store.apply(command, by: Caller(uid: 0, pid: 0, client: ""), at: .epoch)
  }

  private static func delete(_ id: String, in store: inout WidgetStore) throws {
    try apply(
      .delete(try .make(id), ifRevision: nil, allowMissing: false, transition: nil), to: &store)
  }

  @Test func `a share without widgets is dropped, by a removal and by a pass`() throws {
    var store = try Self.store(1)
    var selectors = WatchedSelectors()
    selectors.add(Selector(ids: [try .make("w0")]), in: store)
    let kinds = [try KindName.make("gauge"): "desk"]
    var watched = WatchedWidgets()
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(0)) { kinds }
    #expect(watched.shareCount == 1 && watched["desk"].version > 0)
    try Self.delete("w0", in: &store)
    watched.look(in: store, selectors, at: Self.at(1_000)) { kinds }
    #expect(watched.shareCount == 0 && watched["desk"].version == 0)
    #expect(watched.passesBegun == 1)
    try Self.create("w0", in: &store)
    watched.look(in: store, selectors, at: Self.at(2_000)) { kinds }
    let first = try WidgetID.make("w0")
    #expect(watched.shareCount == 1 && watched["desk"].ids == [first])
    selectors.remove(Selector(ids: [try .make("w0")]))
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(3_000)) { kinds }
    #expect(watched.shareCount == 0 && watched["desk"].version == 0)
  }

  @Test func `a provider that is gone has no share, even if its widgets change`() throws {
    var store = try Self.store(1)
    var selectors = WatchedSelectors()
    selectors.add(Selector(), in: store)
    let gauge = try KindName.make("gauge")
    var watched = WatchedWidgets()
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(0)) { [gauge: "desk"] }
    #expect(watched.shareCount == 1)
    watched.forget("desk", kinds: [gauge])
    #expect(watched.shareCount == 0)
    try Self.create("new", in: &store)
    watched.look(in: store, selectors, at: Self.at(1_000)) { [:] }
    #expect(watched.shareCount == 0 && watched.passesBegun == 1)
  }

  @Test func `a provider that goes during a pass has no share after the next pass`() throws {
    let store = try Self.store(200)
    var selectors = WatchedSelectors()
    for number in 0..<100 {
      selectors.add(Selector(expression: "widget.id == 'w\(number)'"), in: store)
    }
    let gauge = try KindName.make("gauge")
    var watched = WatchedWidgets()
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(0)) { [gauge: "desk"] }
    #expect(watched.isInPass)
    // The session has been told that it lost the kind, so it does not name it.
    watched.forget("desk", kinds: [])
    var time: Int64 = 1
    repeat {
      watched.look(in: store, selectors, at: Self.at(time)) { [:] }
      time += 1_000
    } while watched.isBehind(store.revision) && time < 1_000_000
    #expect(watched.shareCount == 0 && watched.passesEnded == 2)
  }

  @Test func `a widget that is removed and created with another kind changes its provider`() throws
  {
    var store = try Self.store(1)
    var selectors = WatchedSelectors()
    selectors.add(Selector(ids: [try .make("w0")]), in: store)
    let kinds = [try KindName.make("gauge"): "desk", try KindName.make("lamp"): "other"]
    var watched = WatchedWidgets()
    watched.invalidate()
    watched.look(in: store, selectors, at: Self.at(0)) { kinds }
    try Self.delete("w0", in: &store)
    let spec = WidgetSpec(id: try .make("w0"), kind: try .make("lamp"))
    try Self.apply(.create(spec, transition: nil), to: &store)
    watched.look(in: store, selectors, at: Self.at(1_000)) { kinds }
    let first = try WidgetID.make("w0")
    #expect(watched["desk"].ids == [] && watched["other"].ids == [first])
    #expect(watched.passesBegun == 1)
  }

  @Test func `only changed widgets are tested again, after the interval`() throws {
    var store = try Self.store(3)
    var selectors = WatchedSelectors()
    selectors.add(
      Selector(labels: [LabelRequirement(key: "on", operator: .exists)]), in: store)
    var watched = WatchedWidgets()
    watched.invalidate()
    let kinds = [try KindName.make("gauge"): "desk"]
    watched.look(in: store, selectors, at: Self.at(0)) { kinds }
    #expect(watched.passesEnded == 1 && watched["desk"].ids == [])
    try Self.create("new", labels: ["on": "1"], in: &store)
    watched.look(in: store, selectors, at: Self.at(199)) { kinds }
    #expect(watched["desk"].ids == [] && watched.isBehind(store.revision))
    watched.look(in: store, selectors, at: Self.at(200)) { kinds }
    #expect(watched["desk"].ids == [try .make("new")])
    #expect(watched.passesBegun == 1 && !watched.isBehind(store.revision))
    _ = try store.apply(
      .delete(try .make("new"), ifRevision: nil, allowMissing: false, transition: nil),
      by: Caller(uid: 0, pid: 0, client: ""), at: .epoch)
    watched.look(in: store, selectors, at: Self.at(400)) { kinds }
    #expect(watched["desk"].ids == [])
  }
}
