import Testing
import WidgetCore
import WidgetModel

@testable import WidgetServer

/// The ends of transfers that are slower than the changes.
@Suite struct TransferBounds {
  private static let caller = Caller(uid: 0, pid: 0, client: "")

  private static func group(_ selector: Selector, _ service: ServiceLoop) -> WatchGroup {
    service.streams.rounds.group(
      .widgets(
        selector, .all, includesEvents: false, contentFamily: nil, upcomingEntries: 0,
        isRedacted: false))
  }

  private static func make(_ ids: Range<Int>, in service: ServiceLoop) throws {
    for number in ids {
      let spec = WidgetSpec(
        id: try .make("w\(number)"), kind: try .make("k"), data: ["n": .int(Int64(number))])
      try service.context.commit(.create(spec), by: caller)
    }
  }

  /// Ten changes come at once, and 80 at the end of a long transfer. A test of an expression counts
  /// as eight changes.
  @Test(arguments: [
    (60, "", 8), (10, "data.n * data.n + data.n >= 0.0", 64), (81, "", 256),
  ])
  func `the rest comes at once after 8 passes, with costly tests after 64, if very large after 256`(
    count: Int, expression: String, expected: Int
  ) async throws {
    let limits = ServerLimits.with {
      $0.eagerChangesMax = 10
      $0.store.scanCostMax = 10
    }
    try await withServer(limits: limits) { server in
      let passes = try server.onLoop { service in
        service.turn.open()
        try Self.make(0..<count, in: service)
        let rounds = service.streams.rounds
        let group = Self.group(Selector(expression: expression), service)
        var transfer = StreamCursor.Transfer(
          cursor: 0, isSnapshot: false, startedAt: 0, chunkCount: 0)
        while transfer.passes < 1_000, rounds.needsPass(group, transfer) {
          // All widgets changed during the pass.
          transfer.beginPass(at: 0, chunkCount: 0)
        }
        return transfer.passes
      }
      #expect(passes == expected)
    }
  }

  @Test func `removals during a transfer come at once after 1,000 parts`() async throws {
    let limits = ServerLimits.with { $0.eagerChangesMax = 10 }
    try await withServer(limits: limits) { server in
      let parts = try server.onLoop { service in
        service.turn.open()
        try Self.make(0..<40, in: service)
        for number in 0..<40 {
          try service.context.commit(.delete(.make("w\(number)")), by: Self.caller)
        }
        let group = Self.group(Selector(), service)
        var transfer = StreamCursor.Transfer(
          cursor: 0, isSnapshot: false, startedAt: 0, chunkCount: 0)
        let end = service.streams.rounds.endOfNextRemovals(group, transfer)
        try #require(end == service.context.store.revision)
        while transfer.removalParts < 5_000,
          service.streams.rounds.endOfNextRemovals(group, transfer) != nil
        {
          // As many widgets were removed meanwhile as the part has sent.
          transfer.sentRemovals(upTo: RemovalCursor(0))
        }
        return transfer.removalParts
      }
      #expect(parts == 1_000)
    }
  }
}
