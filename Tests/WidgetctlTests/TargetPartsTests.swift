import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Commands for more widgets than one request can name.
struct TargetPartsTests {
  private static func ids(_ count: Int) -> [WidgetID] { (1...count).map { Samples.id("w\($0)") } }

  private static func refusal(_ limit: String, _ maximum: Int) -> ClientError {
    .status(
      RPCStatus(
        code: .resourceExhausted,
        errorInfo: ErrorInfo(
          reason: "QUOTA_EXCEEDED", metadata: ["limit": limit, "maximum": "\(maximum)"])))
  }

  private static func missing(_ id: WidgetID) -> ClientError {
    .status(
      RPCStatus(
        code: .notFound,
        errorInfo: ErrorInfo(
          reason: "WIDGET_NOT_FOUND", metadata: ["widget_id": id.rawValue])))
  }

  /// A daemon that takes some ids in a request, and refuses to search all widgets.
  private final class Daemon {
    var termsMax = 1_024
    var lost: WidgetID?
    var removed: WidgetID?
    var requests: [(count: Int, part: Int?)] = []

    func answer(_ target: PresenceTarget, _ part: Int?) throws(ClientError) -> [WidgetID] {
      guard case .ids(let ids) = target else { throw refusal("scan_cost_max", 20_000) }
      guard ids.count <= termsMax else { throw refusal("selector_terms_max", termsMax) }
      if let removed, ids.contains(removed) { throw missing(removed) }
      if let lost, ids.contains(lost) { throw .connectionLost(socketPath: "/s", mayBeMade: true) }
      requests.append((ids.count, part))
      return ids
    }
  }

  private func parts(
    _ target: PresenceTarget, _ daemon: Daemon, all: [WidgetID] = []
  ) async throws(ClientError) -> TargetParts<[WidgetID]> {
    try await TargetParts(target, list: { () async throws(ClientError) in all }) {
      (target, part) async throws(ClientError) in try daemon.answer(target, part)
    }
  }

  @Test func `ids that fit are one request`() async throws {
    let daemon = Daemon()
    let done = try await parts(.ids(Self.ids(1_024)), daemon)
    #expect(daemon.requests.map(\.count) == [1_024])
    #expect(daemon.requests.allSatisfy { $0.part == nil })
    #expect(done.answers == [Self.ids(1_024)] && done.left.isEmpty)
  }

  @Test(arguments: [(2_500, 1_024, 3), (10_000, 1_024, 10), (5_000, 1_000, 5), (30, 7, 5)])
  func `many ids are several requests, each of what the daemon takes`(
    count: Int, termsMax: Int, requests: Int
  ) async throws {
    let daemon = Daemon()
    daemon.termsMax = termsMax
    let done = try await parts(.ids(Self.ids(count)), daemon)
    #expect(done.answers.flatMap(\.self) == Self.ids(count))
    #expect(daemon.requests.map(\.part) == (1...requests).map { $0 })
    #expect(daemon.requests.allSatisfy { $0.count <= termsMax })
    #expect(done.failure(of: "hide", isRepeatable: true, socket: nil) == nil)
  }

  @Test func `a selection that costs too much is named by its ids`() async throws {
    let daemon = Daemon()
    let all = Self.ids(3_000)
    daemon.removed = all[1_500]
    let done = try await parts(.all, daemon, all: all)
    #expect(done.answers.flatMap(\.self) == all.filter { $0 != daemon.removed })
    let selected = try await parts(
      .selector(Selector(kinds: [Samples.kind("k")])), daemon, all: all)
    #expect(selected.answers.flatMap(\.self).count == 2_999)
  }

  @Test func `an id that is named twice is in one part`() async throws {
    let daemon = Daemon()
    let ids = Self.ids(2_000)
    let done = try await parts(.ids(ids + ids), daemon)
    #expect(done.answers.flatMap(\.self) == ids)
  }

  @Test(arguments: [true, false])
  func `a part that fails names what is done and what is left`(isRepeatable: Bool) async throws {
    let daemon = Daemon()
    let ids = Self.ids(3_000)
    daemon.lost = ids[1_100]
    let done = try await parts(.ids(ids), daemon)
    #expect(done.answers == [Array(ids[..<1_024])])
    let failure = try #require(
      done.failure(of: "toggle", isRepeatable: isRepeatable, socket: nil))
    #expect(failure.exit == .unavailable)
    #expect(failure.metadata["done"] == "1024" && failure.metadata["left"] == "1976")
    #expect(
      failure.message.contains(
        "1024 widgets are done, and 1976 widgets are left, from \"w1025\" on"))
    #expect(failure.message.hasSuffix("run the command again") == isRepeatable)
  }

  @Test func `the failure of the first part is the failure of the command`() async {
    let daemon = Daemon()
    daemon.removed = Self.ids(3)[2]
    let failure = await #expect(throws: ClientError.self) {
      try await parts(.ids(Self.ids(5_000)), daemon)
    }
    #expect(failure?.reason == "WIDGET_NOT_FOUND")
  }

  @Test func `each part has its own request id`() {
    #expect(TargetParts<Int>.requestID("r", nil) == "r")
    #expect(TargetParts<Int>.requestID("r", 2) == "r-2")
    #expect(TargetParts<Int>.requestID(nil, 2) == "")
  }

  @Test func `the answers of a refresh in parts are added`() {
    let (a, b) = (Samples.kind("a"), Samples.kind("b"))
    let sum = RefreshCommand.sum([
      RefreshWidgetsResponse(
        askedCount: 3, unprovidedCount: 1,
        budgets: [
          RefreshBudget(kind: b, remaining: 4, capacity: 9),
          RefreshBudget(kind: a, remaining: 8, capacity: 9),
        ]),
      RefreshWidgetsResponse(
        askedCount: 2, limitedCount: 5,
        budgets: [RefreshBudget(kind: b, remaining: 3, capacity: 9)]),
    ])
    #expect(sum.askedCount == 5 && sum.unprovidedCount == 1 && sum.limitedCount == 5)
    #expect(sum.budgets.map(\.remaining) == [8, 3])
  }
}
