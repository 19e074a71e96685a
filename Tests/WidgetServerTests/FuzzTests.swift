import Foundation
import NIOCore
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Mutated valid conversations. For any input, the server continues, its invariants hold, and an
/// earlier reader gets exactly the final state.
@Suite struct `A mutated conversation` {
  static var seeds: [UInt64] { Seeds.all.count == 1 ? Seeds.all : [11, Seeds.all[1]] }

  @Test(arguments: seeds)
  func `a client that sends random calls harms no other client`(seed: UInt64) async throws {
    let limits = ServerLimits.with {
      $0.store.tombstonesMax = 64
      $0.store.eventsKeptMax = 32
      $0.frameBytesTarget = 1_024
      $0.eagerChangesMax = 8
    }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 50))) { server in
      var random = SeededGenerator(seed: seed)
      var witness = try Watcher(server.connect()).sync()
      for round in 0..<400 {
        let client = try server.connect()
        var frames = try Self.conversation(client, &random)
        for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&frames, &random) }
        let bytes = frames.flatMap { $0 }
        _ = client.trySend(bytes)
        if round % 4 == 0 {
          // Some read a part of the answers.
          client.patienceMilliseconds = 0
          _ = try? client.nextFrame()
        }
        if round % 50 == 49 {
          #expect(try server.connect().health() == .serving, "seed \(seed), round \(round)")
          let truth = try server.connect().list()
          do {
            try witness.catchUp(to: truth.revision)
            #expect(witness.mirror.revision >= truth.revision)
          } catch let status as RPCStatus {
            // The mutated calls may have ended any stream, or overtaken a slow one.
            #expect(["REVISION_COMPACTED", "SUBSCRIPTION_NOT_FOUND"].contains(status.reason))
            witness = try Watcher(server.connect()).sync()
          } catch is StreamEnded {
            witness = try Watcher(server.connect()).sync()
          }
        }
      }
      let client = try server.connect()
      try waitUntil { try client.stats().connections <= 2 }
      let last = try Watcher(server.connect()).sync()
      let truth = try client.list()
      try last.catchUp(to: truth.revision)
      #expect(last.mirror.widgets == truth.widgets, "seed \(seed)")
      let stored = WidgetStore(image: server.log.image, isRevocable: false)
      #expect(stored.count == truth.widgets.count, "seed \(seed)")
      try server.expectHealthy()
    }
  }

  private static func conversation(
    _ client: RawClient, _ random: inout SeededGenerator
  ) throws -> [[UInt8]] {
    let id = try WidgetID.make("w\(Int.random(in: 0..<60, using: &random))")
    let spec = WidgetSpec(
      id: id, kind: try .make("clock"), labels: ["room": "a"],
      data: ["k": .list([.string("é"), .map(["x": .timestamp(.epoch)])])])
    let all: [(String, any WireMessage, FrameFlags)] = [
      ("CreateWidget", CreateWidgetRequest(widget: spec, requestID: "r"), []),
      ("GetWidget", GetWidgetRequest(id: id), []),
      (
        "UpdateWidget",
        UpdateWidgetRequest(
          id: id,
          patch: WidgetPatch(
            setData: ["k": .int(7)], unsetData: ["n"], setLabels: ["room": "b"], isStale: true)),
        []
      ),
      ("DeleteWidget", DeleteWidgetRequest(id: id, transition: Transition(curve: .spring)), []),
      (
        "SetPresence",
        SetPresenceRequest(target: .selector(try Workload.selectors()[1]), action: .toggle), []
      ),
      ("MoveWidget", MoveWidgetRequest(id: id, destination: .after(try .make("w3"))), []),
      ("ApplyWidgets", ApplyWidgetsRequest(widgets: [spec], prune: true), []),
      ("SendEvent", SendEventRequest(widgetID: id, name: "click", payload: ["p": .null]), []),
      ("ListWidgets", ListWidgetsRequest(selector: try Workload.selectors()[2], pageSize: 5), []),
      (
        "WatchWidgets",
        WatchWidgetsRequest(
          selector: try Workload.selectors()[1], readMask: try ReadMask(paths: ["data.k"]),
          minInterval: .milliseconds(3), progressInterval: .milliseconds(100),
          includeEvents: true, afterSequence: 3), .remoteClosed
      ),
      ("WatchWidgets", WatchWidgetsRequest(), .remoteClosed),
      ("WatchEvents", WatchEventsRequest(names: ["click"], afterSequence: 1), .remoteClosed),
      ("Unsubscribe", UnsubscribeRequest(subscriptionID: 3), []),
      ("RequestProgress", RequestProgressRequest(subscriptionID: 2), []),
    ]
    var frames: [[UInt8]] = []
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      guard let (method, message, flags) = all.randomElement(using: &random) else { continue }
      frames.append(
        try client.request(
          method, message, id: client.takeStreamID(), flags: flags,
          timeout: Bool.random(using: &random) ? 0 : 5_000_000))
    }
    return frames
  }

  private static func mutate(_ frames: inout [[UInt8]], _ random: inout SeededGenerator) {
    guard let index = frames.indices.randomElement(using: &random), !frames[index].isEmpty else {
      return
    }
    let place = Int.random(in: 0..<frames[index].count, using: &random)
    let header = Int.random(in: 0..<min(10, frames[index].count), using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0: frames[index][place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: frames[index][place] = .random(in: 0...255, using: &random)
    case 2: frames[index].remove(at: place)
    case 3: frames[index].insert(.random(in: 0...255, using: &random), at: place)
    case 4: frames[index].removeSubrange(place...)
    case 5: frames.append(frames[index])
    case 6: frames.swapAt(index, Int.random(in: 0..<frames.count, using: &random))
    case 7: frames[index][header] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    default:
      let other = frames[Int.random(in: 0..<frames.count, using: &random)]
      frames[index].replaceSubrange(place..., with: other.suffix(other.count / 2))
    }
  }
}
