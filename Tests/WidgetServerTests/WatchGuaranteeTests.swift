import Foundation
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The guarantees of a watch, by the names that etcd gave them, one test each.
@Suite struct `A watch is` {
  @Test func `a watch is ordered - revisions and values only go up`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let writer = try server.connect()
      try writer.create("a")
      let watcher = try Watcher(server.connect()).sync()
      let work = Worker {
        let client = try server.connect()
        for n in 1...200 { try client.set("a", ["n": .int(Int64(n))]) }
      }
      var last: Int64 = 0
      while last < 200 {
        for change in try watcher.nextChanges() {
          guard case .updated(let update) = change, case .int(let n)? = update.setData["n"] else {
            throw TestFault("unexpected \(change)")
          }
          #expect(n > last)
          last = n
        }
      }
      try work.join()
    }
  }

  @Test func `a watch is resumable - many removals beside an embed do not end it`() async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 4 }
    try await withServer(limits: limits) { server in
      let writer = try server.connect()
      let frame = Kind(
        name: try .make("frame"),
        content: [
          ContentTemplate(
            root: NodeTemplate(
              id: "frame", type: .embed, properties: ["widget": Binding(value: .string("w0"))]))
        ])
      _ = try writer.call(
        "ApplyKinds", ApplyKindsRequest(kinds: [frame]), as: ApplyKindsResponse.self,
        service: "widgetd.v1.CatalogService")
      try writer.create("f", kind: "frame")
      _ = try writer.apply(
        try (0..<20).map { WidgetSpec(id: try .make("w\($0)"), kind: try .make("k")) })
      let watcher = try Watcher(server.connect()).sync()
      // The removals, and the embed's change after them, are in one turn.
      _ = try writer.apply([], prune: true)
      try watcher.catchUp(to: writer.stats().revision)
      #expect(watcher.mirror.widgets.count == 1)
    }
  }

  @Test func `a watch is unique - no change is sent twice`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let writer = try server.connect()
      for n in 0..<5 { try writer.create("w\(n)") }
      let watcher = try Watcher(server.connect()).sync()
      let work = Worker {
        let client = try server.connect()
        for n in 0..<200 { try client.set("w\(n % 5)", ["n": .int(Int64(n))]) }
      }
      var seen: Set<Revision> = []
      while watcher.mirror.revision < 205 {
        for change in try watcher.nextChanges() {
          guard case .updated(let update) = change else { throw TestFault("unexpected \(change)") }
          #expect(seen.insert(update.revision).inserted, "revision \(update.revision) came twice")
        }
      }
      try work.join()
    }
  }

  /// Every commit gives all fifty widgets the same number; frames are split all the time.
  @Test func `a watch is atomic - no commit is seen in part`() async throws {
    let limits = ServerLimits.with {
      $0.frameBytesTarget = 1_024
      $0.frameIntervalMicroseconds = 0
    }
    try await withServer(limits: limits) { server in
      @Sendable func specs(_ n: Int) throws -> [WidgetSpec] {
        try (0..<50).map { index in
          WidgetSpec(
            id: try .make("w\(index)"), kind: try .make("clock"),
            data: ["n": .int(Int64(n)), "pad": .string(String(repeating: "x", count: 40 + n % 9))])
        }
      }
      let writer = try server.connect()
      let first = try writer.apply(specs(0)).revision
      let watcher = try Watcher(server.connect()).sync()
      let work = Worker {
        let client = try server.connect()
        for n in 1...60 { try client.apply(specs(n)) }
      }
      while watcher.mirror.revision < first + 60 {
        _ = try watcher.nextChanges()
        let numbers = Set(watcher.mirror.widgets.values.map { $0.data["n"] })
        #expect(numbers.count == 1, "a commit was seen in part: \(numbers)")
      }
      #expect(watcher.mirror.widgets.count == 50)
      #expect(watcher.mirror.changeFrames > watcher.mirror.changeSets, "nothing was split")
      try work.join()
    }
  }

  /// Readers connect, disconnect at random moments, and continue with their tokens during all types
  /// of changes. In the end, each reader has exactly the result of ListWidgets.
  @Test(arguments: Seeds.all)
  func `a watch is reliable - a mirror equals the state after random changes`(seed: UInt64)
    async throws
  {
    let limits = ServerLimits.with {
      $0.frameBytesTarget = 2_048
      $0.eagerChangesMax = 8
    }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 300))) { server in
      let done = Box(false)
      let work = Worker {
        var random = SeededGenerator(seed: seed)
        let client = try server.connect()
        for _ in 0..<1_500 { try Workload.step(client, &random) }
        done.set(true)
      }
      let readers = (0..<3).map { index in
        Worker {
          var random = SeededGenerator(seed: seed &+ UInt64(index) &+ 1)
          let selector = try Workload.selectors()[index]
          var watcher = try Watcher(server.connect(), WatchWidgetsRequest(selector: selector))
          while !done.get() {
            try watcher.sync()
            // Some frames, asking for progress so that there is always one more to come.
            for _ in 0..<Int.random(in: 1...20, using: &random) {
              try watcher.client.requestProgress(watcher.mirror.subscriptionID)
              try watcher.step()
            }
            var mirror = watcher.mirror
            mirror.reopen()
            watcher = try Watcher(
              server.connect(),
              WatchWidgetsRequest(selector: selector, resumeToken: mirror.token), mirror: mirror)
          }
          let truth = try server.connect().list(selector)
          try watcher.catchUp(to: truth.revision)
          #expect(watcher.mirror.widgets == truth.widgets, "seed \(seed), reader \(index)")
        }
      }
      try work.join()
      for reader in readers { try reader.join() }
    }
  }

  @Test func `a watch is resumable - a token continues exactly after its frame`() async throws {
    try await withServer { server in
      let writer = try server.connect()
      try writer.create("a", data: ["n": .int(0)])
      try writer.create("gone")
      let first = try Watcher(server.connect()).sync()
      try writer.set("a", ["n": .int(1)])
      try writer.delete("gone")
      try writer.create("new")
      var mirror = first.mirror
      mirror.reopen()
      let second = try Watcher(
        server.connect(), WatchWidgetsRequest(resumeToken: mirror.token), mirror: mirror)
      let changes = try second.nextChanges()
      #expect(Set(changes.map(\.id.rawValue)) == ["a", "gone", "new"])
      #expect(second.mirror.snapshotFrames == 0 || first.mirror.snapshotFrames > 0)
      #expect(try second.mirror.widgets == writer.list().widgets)
    }
  }

  @Test func `a watch is resumable - a token of now begins with the next change`() async throws {
    try await withServer { server in
      let writer = try server.connect()
      try writer.create("a")
      let first = try Watcher(server.connect()).sync()
      var mirror = first.mirror
      mirror.reopen()
      let second = try Watcher(
        server.connect(), WatchWidgetsRequest(resumeToken: mirror.token), mirror: mirror)
      try second.step()
      try writer.set("a", ["n": .int(1)])
      #expect(try second.nextChanges().count == 1)
    }
  }

  @Test func `a watch is not resumable from before the oldest removal that is kept`() async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    try await withServer(limits: limits) { server in
      let writer = try server.connect()
      try writer.create("a")
      let watcher = try Watcher(server.connect()).sync()
      for n in 0..<20 {
        try writer.create("x\(n)")
        try writer.delete("x\(n)")
      }
      let stream = try server.connect().watch(
        WatchWidgetsRequest(resumeToken: watcher.mirror.token))
      let status = try #require(try stream.end())
      #expect(status.code == .outOfRange)
      #expect(status.reason == "REVISION_COMPACTED")
      let compact = try writer.stats().compactRevision
      #expect(compact > watcher.mirror.revision)
      #expect(status.errorInfo?.metadata["compact_revision"] == "\(compact)")
    }
  }

  @Test func `a watch is not resumable in another epoch`() async throws {
    let token = try await withServer(log: TestLog.State(image: .sample(count: 1, epoch: 5))) {
      try Watcher($0.connect()).sync().mirror.token
    }
    try await withServer(log: TestLog.State(image: .sample(count: 1, epoch: 6))) { server in
      let stream = try server.connect().watch(WatchWidgetsRequest(resumeToken: token))
      let status = try #require(try stream.end())
      #expect(status.code == .failedPrecondition)
      #expect(status.reason == "EPOCH_CHANGED")
      #expect(status.errorInfo?.metadata["epoch"] == "6")
    }
  }

  @Test
  func `a watch is not resumable with another selector or mask`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", labels: ["x": "1"])
      let selector = Selector(
        ids: [try .make("a"), try .make("b")],
        labels: [LabelRequirement(key: "x", operator: .isIn, values: ["1", "2"])])
      let mask = try ReadMask(paths: ["data.n", "labels"])
      let token = try Watcher(
        client, WatchWidgetsRequest(selector: selector, readMask: mask)
      ).sync().mirror.token
      var others: [WatchWidgetsRequest] = [
        WatchWidgetsRequest(resumeToken: token),
        WatchWidgetsRequest(selector: selector, resumeToken: token),
        WatchWidgetsRequest(readMask: mask, resumeToken: token),
      ]
      others.append(
        WatchWidgetsRequest(
          selector: selector, readMask: try ReadMask(paths: ["data.m", "labels"]),
          resumeToken: token))
      for request in others {
        let status = try #require(try client.watch(request).end())
        #expect(status.code == .invalidArgument)
        #expect(status.reason == "RESUME_TOKEN_MISMATCH")
        #expect(status.fieldViolations.map(\.field) == ["resume_token"])
      }
      let same = WatchWidgetsRequest(
        selector: Selector(
          ids: selector.ids.reversed(),
          labels: [LabelRequirement(key: "x", operator: .isIn, values: ["2", "1"])]),
        readMask: try ReadMask(paths: ["labels", "data.n"]), resumeToken: token)
      guard case .opened? = try client.watch(same).next() else {
        throw TestFault("the same selector in another order was refused")
      }
    }
  }

  @Test(arguments: [[1], [UInt8](repeating: 0, count: 23), [UInt8](repeating: 255, count: 25)])
  func `a watch is not resumable with bytes that are not a token`(token: [UInt8]) async throws {
    try await withServer { server in
      let status = try #require(
        try server.connect().watch(WatchWidgetsRequest(resumeToken: token)).end())
      #expect(status.code == .invalidArgument)
      #expect(status.fieldViolations.map(\.field) == ["resume_token"])
    }
  }

  @Test func `a watch is not resumable from the future`() async throws {
    try await withServer { server in
      let watcher = try Watcher(server.connect()).sync()
      var token = watcher.mirror.token
      token[23] = 200
      let status = try #require(
        try server.connect().watch(WatchWidgetsRequest(resumeToken: token)).end())
      #expect(status.reason == "EPOCH_CHANGED")
    }
  }

  @Test func `a watch is bookmarkable - progress comes on request, with a token`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      try client.create("b")
      let selector = Selector(ids: [try .make("a")])
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(selector: selector)).sync()
      // None of these widgets is selected, so only progress shows that the stream has passed the
      // changes.
      for n in 0..<5 { try client.set("b", ["n": .int(Int64(n))]) }
      let revision = try client.stats().revision
      try watcher.client.requestProgress(watcher.mirror.subscriptionID)
      guard case .progress(let progress) = try watcher.step() else {
        throw TestFault("no progress")
      }
      #expect(progress.revision == revision)
      let again = try server.connect().watch(
        WatchWidgetsRequest(selector: selector, resumeToken: progress.resumeToken))
      guard case .opened? = try again.next() else { throw TestFault("the token was refused") }
    }
  }

  @Test func `a watch is bookmarkable - an idle watch gets progress at intervals`() async throws {
    try await withServer(limits: .with { $0.progressIntervalMillisecondsMin = 5 }) { server in
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(progressInterval: .milliseconds(5))
      ).sync()
      for _ in 0..<3 {
        guard case .progress(let progress) = try watcher.step() else {
          throw TestFault("no progress")
        }
        #expect(progress.revision == 0)
      }
    }
  }

  /// While a writer runs, many readers join. From `synced` on, each must have the state at exactly
  /// its revision. The writer gives widget w(n mod 40) the value n in commit n, so every state
  /// follows from its revision.
  @Test func `a watch has no gap or overlap between its snapshot and its changes`() async throws {
    let limits = ServerLimits.with {
      $0.frameBytesTarget = 512
      $0.frameIntervalMicroseconds = 0
    }
    let image = StoreImageSource.numbered(40)
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let isDone = Box(false)
      let work = Worker {
        let client = try server.connect()
        var n = 40
        while !isDone.get() || n < 400 {
          n += 1
          try client.set("w\(n % 40)", ["n": .int(Int64(n))])
        }
      }
      for _ in 0..<25 {
        let watcher = try Watcher(server.connect()).sync()
        for _ in 0..<3 {
          let revision = Int64(watcher.mirror.revision)
          for widget in watcher.mirror.widgets.values {
            guard let number = Int64(widget.id.rawValue.dropFirst()) else { continue }
            let latest = revision - ((revision - number) % 40 + 40) % 40
            #expect(
              widget.data["n"] == .int(max(latest, number == 0 ? 40 : number)),
              "\(widget.id) at revision \(revision)")
          }
          #expect(watcher.mirror.widgets.count == 40)
          _ = try watcher.nextChanges()
        }
      }
      isDone.set(true)
      try work.join()
    }
  }
}

enum StoreImageSource {
  /// Widgets w0…; revision r was made by giving w(r mod count) the value r, so w0 was made last.
  static func numbered(_ count: Int) -> StoreImage {
    var image = StoreImage.sample(count: count + 1)
    image.records.removeFirst(1)
    for index in image.records.indices {
      let number = index + 1
      let revision = Revision(number)
      guard let id = WidgetID("w\(number % count)") else { continue }
      image.records[index].widget.id = id
      image.records[index].widget.revision = revision
      image.records[index].widget.createdRevision = revision
      image.records[index].data = [
        RevisedEntry(key: "n", value: .int(Int64(number)), revision: revision)
      ]
      image.records[index].labelsRevision = revision
      image.records[index].presenceRevision = revision
      image.records[index].positionRevision = revision
      image.records[index].statusRevision = revision
    }
    image.revision = Revision(count)
    return image
  }
}
