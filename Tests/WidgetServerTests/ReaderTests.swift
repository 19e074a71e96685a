import Foundation
import NIOCore
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Readers that are slow, late, or gone.
@Suite struct `A reader` {
  /// There are 2,000 changes of 8 KB, and only the content of a socket waits for the reader.
  @Test func `a reader that never reads costs a bounded amount, and then gets one frame`()
    async throws
  {
    let limits = ServerLimits.with { $0.frameIntervalMicroseconds = 0 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 10))) { server in
      let stalled = try Watcher(server.connect()).sync()
      let neighbour = try Watcher(server.connect()).sync()
      let start = stalled.client.bytesReceived
      let client = try server.connect()
      for n in 0..<2_000 {
        let pad = Value.bytes([UInt8](repeating: UInt8(n % 256), count: 8 << 10))
        try client.set("w\(n % 10)", ["pad": pad, "n": .int(Int64(n))])
        // The neighbour gets every change at once.
        while neighbour.mirror.revision < Revision(10 + n + 1) { try neighbour.step() }
      }
      #expect(neighbour.mirror.changeSets == 2_000)
      var widest: UInt64 = 0
      while stalled.mirror.revision < neighbour.mirror.revision {
        let before = stalled.mirror.revision
        _ = try stalled.nextChanges()
        widest = max(widest, stalled.mirror.revision - before)
      }
      #expect(stalled.mirror.widgets == neighbour.mirror.widgets)
      // The last frames: one of them conflates all changes that did not fit.
      #expect(widest > 1_000)
      #expect(stalled.client.bytesReceived - start < 2 << 20, "of 16 MB of changes")
    }
  }

  @Test func `a reader that takes one byte at a time misses nothing`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 20))) { server in
      let connection = try server.connect()
      connection.readBytesMax = 1
      let watcher = try Watcher(connection).sync()
      let client = try server.connect()
      for n in 0..<60 {
        try client.set("w\(n % 20)", ["n": .int(Int64(1_000 + n))])
        if n % 7 == 0 { try watcher.step() }
      }
      let truth = try client.list()
      try watcher.catchUp(to: truth.revision)
      #expect(watcher.mirror.widgets == truth.widgets)
    }
  }

  @Test func `a reader that stalled gets thousands of small changes in one frame`() async throws {
    let limits = ServerLimits.with { $0.frameIntervalMicroseconds = 0 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 1))) { server in
      let watcher = try Watcher(server.connect()).sync()
      try server.stall(watcher, widget: "w0")
      let client = try server.connect()
      for n in 0..<2_500 { try client.set("w0", ["n": .int(Int64(n))]) }
      let last = try client.stats().revision
      var widest: UInt64 = 0
      while watcher.mirror.revision < last {
        let before = watcher.mirror.revision
        #expect(try watcher.nextChanges().count == 1)
        widest = max(widest, watcher.mirror.revision - before)
      }
      #expect(widest >= 2_500)
      #expect(watcher.mirror.widgets.values.first?.data["n"] == .int(2_499))
    }
  }

  /// The missing changes are too many for one frame, so they are transferred chunk by chunk, while
  /// further changes happen.
  @Test(arguments: Seeds.all)
  func `a reader that comes back after everything changed gets it in pieces`(
    seed: UInt64
  ) async throws {
    let limits = ServerLimits.with {
      $0.eagerChangesMax = 16
      $0.frameBytesTarget = 2_048
    }
    let image = StoreImage.sample(count: 3_000) { ["pad": .string("\($0)"), "k1": .int(1)] }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      var random = SeededGenerator(seed: seed)
      for selector in try Workload.selectors() {
        let first = try Watcher(server.connect(), WatchWidgetsRequest(selector: selector)).sync()
        let client = try server.connect()
        try client.presence(.toggle)
        for n in 0..<50 { try client.delete("w\(n + Int(first.mirror.subscriptionID) * 400)") }
        var mirror = first.mirror
        mirror.reopen()
        let connection = try server.connect()
        connection.readBytesMax = 1_024
        let second = try Watcher(
          connection, WatchWidgetsRequest(selector: selector, resumeToken: mirror.token),
          mirror: mirror)
        let before = second.mirror.changeSets
        while second.mirror.changeSets == before {
          try second.step()
          try Workload.step(client, &random)
        }
        if selector.isEverything {
          #expect(second.mirror.changeFrames - first.mirror.changeFrames > 20)
        }
        let truth = try client.list(selector)
        try second.catchUp(to: truth.revision)
        #expect(second.mirror.widgets == truth.widgets, "seed \(seed)")
      }
    }
  }

  /// There is a change between any two frames of the snapshot.
  @Test(arguments: Seeds.all)
  func `a snapshot of 10,000 widgets under changes ends with the store's state`(
    seed: UInt64
  )
    async throws
  {
    let limits = ServerLimits.with { $0.frameBytesTarget = 8_192 }
    let image = StoreImage.sample(count: 10_000) { ["pad": .string("widget number \($0)")] }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      var random = SeededGenerator(seed: seed)
      let client = try server.connect()
      let connection = try server.connect()
      connection.readBytesMax = 4_096
      let watcher = try Watcher(connection)
      while !watcher.mirror.isSynced {
        try watcher.step()
        for _ in 0..<3 { try Workload.step(client, &random) }
        let id = "w\(Int.random(in: 0..<10_000, using: &random))"
        if Bool.random(using: &random) {
          _ = try? client.delete(id)
        } else {
          _ = try? client.set(id, ["n": .int(-1)])
        }
      }
      #expect(watcher.mirror.snapshotFrames > 50)
      let truth = try client.list()
      try watcher.catchUp(to: truth.revision)
      #expect(watcher.mirror.widgets == truth.widgets, "seed \(seed)")
    }
  }

  @Test func `removals during a slow snapshot come in frames of bounded size`()
    async throws
  {
    let limits = ServerLimits.with { $0.frameBytesTarget = 1_024 }
    let image = StoreImage.sample(count: 3_000) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 500))]
    }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let slow = try server.connect()
      let stream = try slow.watch()
      var mirror = Mirror()
      if let frame = try stream.next() { try mirror.apply(frame) }
      let client = try server.connect()
      for n in 0..<800 { try client.delete("w\(n)") }
      while !mirror.isSynced {
        let frame = try slow.nextFrame(on: stream.id)
        #expect(frame.data.readableBytes <= 1_024)
        try mirror.apply(
          slow.codec.decode(WatchWidgetsResponse.self, from: Array(frame.data.readableBytesView)))
      }
      #expect(try mirror.widgets == client.list().widgets)
    }
  }

  /// The ids of half of them are used again, and a costly expression tests each of these.
  @Test(arguments: ["", "[0,1,2,3,4,5,6,7].all(a, a >= 0 && data.n >= 0)"])
  func `a reader that comes back after many removals gets them in parts`(expression: String)
    async throws
  {
    let limits = ServerLimits.with { $0.eagerChangesMax = 64 }
    let image = StoreImage.sample(count: 1_500) { ["n": .int(Int64($0))] }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let request = WatchWidgetsRequest(selector: Selector(expression: expression))
      var mirror = try Watcher(server.connect(), request).sync().mirror
      let client = try server.connect()
      for n in 0..<1_000 { try client.delete("w\(n)") }
      for n in 0..<500 { try client.create("w\(n)", data: ["n": .int(Int64(n % 2) - 1)]) }
      mirror.reopen()
      var again = request
      again.resumeToken = mirror.token
      let stream = try client.watch(again)
      let before = mirror.changeSets
      var (removals, most) = (0, 0)
      while mirror.changeSets == before {
        let frame = try #require(try stream.next())
        if case .changes(let set) = frame {
          let count = set.changes.count { if case .removed = $0 { true } else { false } }
          removals += count
          most = max(most, count)
        }
        try mirror.apply(frame)
      }
      #expect(removals == (expression.isEmpty ? 500 : 750))
      #expect(most <= 64)
      #expect(try mirror.widgets == client.list(request.selector).widgets)
    }
  }

  @Test func `a stalled reader gets REVISION_COMPACTED if its removals are dropped`() async throws {
    let limits = ServerLimits.with {
      $0.store.tombstonesMax = 8
      $0.frameIntervalMicroseconds = 0
    }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      try client.create("a")
      let watcher = try Watcher(server.connect()).sync()
      try server.stall(watcher, widget: "a")
      for n in 0..<20 {
        try client.create("x\(n)")
        try client.delete("x\(n)")
      }
      let status = try #require(try watcher.stream.end())
      #expect(status.code == .outOfRange)
      #expect(status.reason == "REVISION_COMPACTED")
      #expect(
        status.errorInfo?.metadata["compact_revision"] == "\(try client.stats().compactRevision)")
      let stats = try client.stats()
      #expect(stats.subscriptions == 0)
      #expect(stats.counters["readers_compacted"] == 1)
      // The connection can still be used.
      #expect(try watcher.client.health() == .serving)
    }
  }

  @Test func `a reader that stalls in its snapshot until removals are dropped is compacted`()
    async throws
  {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    let image = StoreImage.sample(count: 3_000) { _ in
      ["pad": .bytes([UInt8](repeating: 1, count: 500))]
    }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let slow = try server.connect()
      let stream = try slow.watch()
      _ = try stream.next()
      let client = try server.connect()
      for n in 0..<20 { try client.delete("w\(n)") }
      let status = try #require(try stream.end())
      #expect(status.reason == "REVISION_COMPACTED")
    }
  }

  @Test func `a reader that waits for its batch delay gets the removals of this time`()
    async throws
  {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 20))) { server in
      try server.onLoop { $0.streams.batchDelayMax = .seconds(3_600) }
      let client = try server.connect()
      for n in 0..<4 { try client.delete("w\(n)") }
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(batchDelay: .seconds(3_600))
      ).sync()
      let other = try Watcher(server.connect()).sync()
      // The other reader has each removal before the next.
      for n in 4..<14 { try other.catchUp(to: client.delete("w\(n)")) }
      // The event ends the delay.
      _ = try client.event("w19", force: true)
      while watcher.mirror.changeSets == 0 { try watcher.step() }
      #expect(try watcher.mirror.widgets == client.list().widgets)
    }
  }

  /// The cursor is forgotten, but the removals since the begin of the transfer are not.
  @Test
  func `a reader that stalls in a transfer until its cursor is forgotten is compacted`()
    async throws
  {
    let limits = ServerLimits.with {
      $0.store.tombstonesMax = 8
      $0.eagerChangesMax = 16
    }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 300))) { server in
      let client = try server.connect()
      let token = try Watcher(server.connect()).sync().mirror.token
      for n in 0..<6 { try client.delete("w\(n)") }
      for n in 6..<300 {
        try client.set("w\(n)", ["pad": .bytes([UInt8](repeating: 1, count: 16_384))])
      }
      let slow = try server.connect()
      let stream = try slow.watch(WatchWidgetsRequest(resumeToken: token))
      _ = try stream.next()
      let startedAt = try client.stats().revision
      for n in 6..<10 { try client.delete("w\(n)") }
      #expect(try client.stats().compactRevision < startedAt)
      let status = try #require(try stream.end())
      #expect(status.reason == "REVISION_COMPACTED")
    }
  }

  @Test func `a stalled reader gets the requested progress after it has caught up`() async throws {
    let limits = ServerLimits.with { $0.frameIntervalMicroseconds = 0 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 1))) { server in
      let watcher = try Watcher(server.connect()).sync()
      try server.stall(watcher, widget: "w0")
      let client = try server.connect()
      for _ in 0..<3 { try client.requestProgress(watcher.mirror.subscriptionID) }
      let last = try client.set("w0", ["n": .int(99)]).revision
      while true { if case .progress = try watcher.step() { break } }
      #expect(watcher.mirror.revision == last)
    }
  }
}
