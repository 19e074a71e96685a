import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The time that a turn has for all sessions of providers.
@Suite struct `Sessions of a turn` {
  private static let caller = Caller(uid: 0, pid: 0, client: "")
  private static let providerCount = 4
  private static let widgetCount = 30

  /// A transport that always takes more.
  private final class CountingSink: StreamSink {
    private(set) var count = 0
    private(set) var isFinished = false

    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) { count += 1 }
    func finish(_ status: RPCStatus?) { isFinished = true }
  }

  /// The objects that are used only on the loop.
  private final class Held: @unchecked Sendable {
    var streams: [any ServedStream] = []
  }

  /// Declares the kind and the widgets of a provider, and begins its session.
  private static func begin(
    _ name: String, _ sink: CountingSink, _ held: Held, in service: ServiceLoop
  ) throws {
    let kind = Kind(name: try .make(name), isOpen: true)
    try service.context.commit(
      .applyKinds(
        KindDeclaration(provider: name, kinds: [kind], prunes: false, isAttended: false)),
      by: caller)
    for number in 0..<widgetCount {
      try service.context.commit(
        .create(WidgetSpec(id: .make("\(name)-\(number)"), kind: .make(name))), by: caller)
    }
    let stream = try service.providers.converse(
      .provide, sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1), level: .owner)
    held.streams.append(stream)
    let open = ProvideOpen(provider: name, lease: RawProvider.leaseMax)
    stream.receive(ByteBuffer(bytes: try WireCodec().encode(ProvideRequest.open(open))))
  }

  /// Each slice of the test is over at the first look, so it has time for one step.
  @Test func `have one slice, and each gets everything`() async throws {
    try await withServer { server in
      let held = Held()
      let (most, counts) = try server.onLoop { service -> (Int, [Int]) in
        service.turn.open()
        let sinks = (0..<Self.providerCount).map { _ in CountingSink() }
        for (number, sink) in sinks.enumerated() {
          try Self.begin("p\(number)", sink, held, in: service)
        }
        service.context.work.clock = SliceClock.makeOver()
        // The sessions start.
        service.turn.finish()
        var most = 0
        while service.providers.hasMore {
          let before = sinks.reduce(0) { $0 + $1.count }
          service.providers.serve()
          most = max(most, sinks.reduce(0) { $0 + $1.count } - before)
        }
        return (most, sinks.map(\.count))
      }
      #expect(most == 1)
      // `opened`, the requests, `synced`.
      #expect(counts == Array(repeating: Self.widgetCount + 2, count: Self.providerCount))
    }
  }

  /// Each turn has time for one step of one session, and removes a widget of each provider.
  @Test func `do not end because of removals while others have their turn`() async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    try await withServer(limits: limits) { server in
      let held = Held()
      let areFinished = try server.onLoop { service -> [Bool] in
        service.context.work.clock = SliceClock.makeStill()
        service.turn.open()
        let sinks = (0..<Self.providerCount).map { _ in CountingSink() }
        for (number, sink) in sinks.enumerated() {
          try Self.begin("p\(number)", sink, held, in: service)
        }
        service.turn.finish()
        while service.providers.hasMore { service.providers.serve() }
        service.context.work.clock = SliceClock.makeOver()
        for number in 0..<6 {
          service.turn.open()
          for provider in 0..<Self.providerCount {
            try service.context.commit(.delete(.make("p\(provider)-\(number)")), by: Self.caller)
          }
          service.turn.finish()
        }
        while service.providers.hasMore { service.providers.serve() }
        return sinks.map(\.isFinished)
      }
      #expect(areFinished == Array(repeating: false, count: Self.providerCount))
    }
  }

  @Test func `a provider is asked once about each of thousands of widgets`() async throws {
    let image = StoreImage.sample(count: 3_000, kind: "board")
    try await withServer(log: TestLog.State(image: image)) { server in
      let client = try server.connect()
      try client.create("other", kind: "clock")
      let kinds = [Kind(name: try .make("board"), isOpen: true)]
      for _ in 0..<2 {
        let provider = try RawProvider(server.connect())
        let requests = try provider.open(kinds: kinds).requests
        #expect(requests.count == 3_000)
        #expect(Set(requests.map(\.widget.id)).count == 3_000)
        try provider.settle()
        try provider.halfClose()
        #expect(try provider.stream.end() == nil)
      }
    }
  }

  /// A transport that always takes more, and counts the requests about each widget.
  private final class RequestSink: StreamSink {
    private(set) var counts: [String: Int] = [:]

    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) {
      let bytes = Array(message.payload.readableBytesView)
      guard let frame = try? WireCodec().decode(ProvideResponse.self, from: bytes),
        case .dataRequest(let request) = frame
      else { return }
      counts[request.widget.id.rawValue, default: 0] += 1
    }
    func finish(_ status: RPCStatus?) {}
  }

  /// Declares a kind as a call does, so that the sessions look at the kinds again.
  private static func declare(_ kind: String, in service: ServiceLoop) throws {
    let kind = Kind(name: try .make(kind), isOpen: true)
    _ = try service.context.apply(
      .applyKinds(
        KindDeclaration(provider: "desk", kinds: [kind], prunes: false, isAttended: false)),
      by: Peer(uid: 0, gid: 0, pid: 0))
  }

  /// The search for the widgets of the second kind waits for the first search.
  @Test func `a provider is asked once about a widget that changes while a search waits`()
    async throws
  {
    let image = StoreImage.sample(count: 3_000, kind: "board")
    try await withServer(log: TestLog.State(image: image)) { server in
      let held = Held()
      let counts = try server.onLoop { service -> [String: Int] in
        service.context.work.clock = SliceClock.makeStill()
        service.turn.open()
        let other = WidgetSpec(id: try .make("other"), kind: try .make("clock"))
        try service.context.commit(.create(other), by: Self.caller)
        try Self.declare("board", in: service)
        let sink = RequestSink()
        let stream = try service.providers.converse(
          .provide, sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1), level: .owner)
        held.streams.append(stream)
        let open = ProvideOpen(provider: "desk", lease: RawProvider.leaseMax)
        stream.receive(ByteBuffer(bytes: try WireCodec().encode(ProvideRequest.open(open))))
        service.turn.finish()
        service.turn.open()
        try Self.declare("clock", in: service)
        service.turn.finish()
        service.turn.open()
        let patch = WidgetPatch(setParameters: ["unit": .string("C")])
        try service.context.commit(.update(.make("other"), patch), by: Self.caller)
        service.turn.finish()
        while service.providers.hasMore { service.providers.serve() }
        return sink.counts
      }
      #expect(counts.count == 3_001)
      #expect(counts.filter { $0.value != 1 } == [:])
    }
  }

  @Test func `a provider is asked about all widgets of a kind that it declares again`()
    async throws
  {
    let image = StoreImage.sample(count: 3_000, kind: "board")
    try await withServer(log: TestLog.State(image: image)) { server in
      let kinds = [Kind(name: try .make("board"), isOpen: true)]
      let provider = try RawProvider(server.connect())
      // It answers none of the requests.
      try provider.open(kinds: kinds)
      let client = try server.connect()
      let deletion = try client.start(
        "DeleteKind", DeleteKindRequest(name: .make("board")),
        service: "widgetd.v1.CatalogService")
      #expect(try client.response(to: deletion).status == nil)
      #expect(
        try provider.next()
          == .kindsRemoved(ProvidedKindRemoval(kinds: [try .make("board")])))
      try provider.send(.kinds(ProvideKinds(id: 2, kinds: kinds)))
      #expect(try provider.result().error == nil)
      var asked: Set<WidgetID> = []
      while case .dataRequest(let request) = try provider.next() { asked.insert(request.widget.id) }
      #expect(asked.count == 3_000)
    }
  }
}
