import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The maximum cost of one turn of the loop, with any amount of work.
@Suite struct BoundedTurns {
  private static let caller = Caller(uid: 0, pid: 0, client: "")

  /// A kind that has a row for each element of `data.rows` in the large family.
  private static func declaration(_ version: Int) throws -> Command {
    let rows = ContentTemplate(
      families: [.large],
      root: NodeTemplate(
        id: "list", type: .stack,
        children: [
          NodeTemplate(
            id: "row", type: .button, properties: ["text": Binding("item + ' \(version)'")],
            rows: RowTemplate(list: "data.rows", key: "item"))
        ]))
    let kind = Kind(
      name: try .make("k"), isOpen: true,
      content: [rows, ContentTemplate(root: NodeTemplate(id: "box", type: .label))])
    return .applyKinds(
      KindDeclaration(provider: "test", kinds: [kind], prunes: false, isAttended: false))
  }

  @Test(arguments: [0, 64 << 20])
  func `contents of another family are made in parts over several turns`(roomBytes: Int)
    async throws
  {
    let costMax = 9_000
    let limits = ServerLimits.with {
      $0.store.contentCostMax = costMax
      // A command keeps no content for readers, so all content must be made again.
      $0.store.contentCostPerCommandMax = 1
      $0.store.familyContentBytesMax = roomBytes
    }
    try await withServer(limits: limits) { server in
      try server.onLoop { service in
        try service.context.commit(Self.declaration(0), by: Self.caller)
        let rows = Value.list((0..<100).map { .string("\($0)") })
        for number in 0..<12 {
          let spec = WidgetSpec(
            id: try .make("w\(number)"), kind: try .make("k"), data: ["rows": rows])
          try service.context.commit(.create(spec), by: Self.caller)
        }
        service.turn.open()
      }
      let watchers = try [Selector(), Selector(kinds: [.make("k")])].map { selector in
        try Watcher(
          server.connect(), WatchWidgetsRequest(selector: selector, contentFamily: .large)
        ).sync()
      }
      // Several passes over all widgets, each for the changes during the last pass.
      for version in 1...60 {
        let cost = try server.onLoop { service in
          try service.context.commit(Self.declaration(version), by: Self.caller)
          let before = service.context.store.readingCost
          service.streams.rounds.send(at: .now())
          service.turn.open()
          return service.context.store.readingCost - before
        }
        // Two halves of a round, each with a check and a part.
        #expect(cost <= 6 * costMax)
      }
      for watcher in watchers {
        try watcher.catchUp(to: watcher.client.stats().revision)
        for (id, widget) in watcher.mirror.widgets {
          let shown = try server.onLoop {
            $0.context.store.widget(id, taking: .family(.large))?.content
          }
          #expect(widget.content == shown && shown?.nodes.count == 101)
        }
      }
    }
  }

  /// A transport that always takes more.
  private final class BottomlessSink: StreamSink {
    unowned let service: ServiceLoop
    /// The number of calls that the service had at each frame.
    private(set) var callsAtFrames: [UInt64] = []

    init(_ service: ServiceLoop) { self.service = service }

    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) { callsAtFrames.append(service.context.counters.calls) }
    func finish(_ status: RPCStatus?) {}
  }

  @Test func `calls are answered while a provider is asked about its many widgets`() async throws {
    try await withServer { server in
      let count = 2_000
      let client = try server.connect()
      #expect(try client.health() == .serving)
      let open = try client.codec.encode(
        ProvideRequest.open(ProvideOpen(provider: "test", epoch: 77)))
      let request = try client.request(
        "Check", payload: client.codec.encode(HealthCheckRequest(service: "")),
        service: "grpc.health.v1.Health", id: client.takeStreamID())
      let held = Held(client)
      try server.onLoop { service in
        try service.context.commit(Self.declaration(0), by: Self.caller)
        for number in 0..<count {
          let spec = WidgetSpec(id: try .make("w\(number)"), kind: try .make("k"))
          try service.context.commit(.create(spec), by: Self.caller)
        }
        let sink = BottomlessSink(service)
        held.sink = sink
        held.session = try service.providers.converse(
          .provide, sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1), level: .owner)
        try #require(held.session).receive(ByteBuffer(bytes: open))
        // The call waits in the socket before the first frame is sent.
        try held.client.send(request)
      }
      try server.eventually { _ in (held.sink?.callsAtFrames.count ?? 0) >= count }
      let calls = try server.onLoop { _ in held.sink?.callsAtFrames ?? [] }
      let first = try #require(calls.first)
      // The place among the frames depends on the machine, which may run several turns before it
      // reads the sockets again.
      #expect(calls.contains { $0 > first }, "no call came meanwhile")
    }
  }

  /// The objects that are used only on the loop.
  private final class Held: @unchecked Sendable {
    let client: RawClient
    var sink: BottomlessSink?
    var session: (any ServedStream)?

    init(_ client: RawClient) { self.client = client }
  }
}
