import Dispatch
import Glibc
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Messages with many expressions, which are compiled beside the event loop.
@Suite struct KindCompilers {
  private static let catalog = "widgetd.v1.CatalogService"

  /// A kind with so many expressions that it is compiled on another thread.
  private static func large(_ name: String, expression: String = "data.n + 1") throws -> Kind {
    Kind(
      name: try .make(name), isOpen: true,
      reducers: (0..<250).map {
        Reducer(event: "event\($0)", assignments: ["field\($0)": "\(expression) > 1 ? 2 : 3"])
      })
  }

  /// Compilations wait until they are let through.
  private final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func open() { semaphore.signal() }
    func wait() { semaphore.wait() }
  }

  private func withHeldCompiler(
    _ body: @escaping @Sendable (TestServer, Latch) throws -> Void
  ) async throws {
    let latch = Latch()
    try await withServer { server in
      try server.onLoop { service in
        service.kindCompiler.compile = { compilation in
          latch.wait()
          return compilation.run()
        }
      }
      // The thread is shared, so a failed test must not keep it.
      defer { for _ in 0..<10 { latch.open() } }
      try body(server, latch)
    }
  }

  private static func request(_ kinds: [Kind]) -> ApplyKindsRequest {
    ApplyKindsRequest(provider: "desk", kinds: kinds)
  }

  @Test func `others are answered meanwhile, and the connection's next call waits`() async throws {
    try await withHeldCompiler { server, latch in
      let (client, other) = (try server.connect(), try server.connect())
      let (first, second) = (client.takeStreamID(), client.takeStreamID())
      let kinds = try client.request(
        "ApplyKinds", Self.request([Self.large("a"), Self.large("b")]), service: Self.catalog,
        id: first)
      #expect(kinds.count > KindCompiler.messageBytesMin)
      let widget = WidgetSpec(id: try .make("w"), kind: try .make("a"))
      try client.send(
        kinds + client.request("CreateWidget", CreateWidgetRequest(widget: widget), id: second))
      for n in 0..<20 { try other.create("o\(n)") }
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
      #expect(try other.list().widgets.count == 20)
      latch.open()
      let answer = try client.answer(to: first, as: ApplyKindsResponse.self)
      #expect(answer.results.map(\.action) == [.created, .created])
      let created = try client.answer(to: second, as: CreateWidgetResponse.self)
      #expect(created.warnings.isEmpty)
      // The same kinds again need no compilation.
      let again = try client.call(
        "ApplyKinds", Self.request([Self.large("a"), Self.large("b")]), as: ApplyKindsResponse.self,
        service: Self.catalog)
      #expect(again.results.map(\.action) == [.unchanged, .unchanged])
    }
  }

  @Test func `a mistake in a large kind is refused as in a small one`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let refusal = try client.refusal(
        "ApplyKinds", Self.request([Self.large("a", expression: "dat.n")]), service: Self.catalog)
      #expect(refusal.fieldViolations.map(\.field) == ["kinds[0].reducers[0].set[field0]"])
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
    }
  }

  @Test func `the kinds of a session are compiled like those of a call`() async throws {
    try await withHeldCompiler { server, latch in
      let provider = try RawProvider(server.connect())
      try provider.open()
      let kinds = try [Self.large("a")]
      try provider.send(
        .kinds(ProvideKinds(id: 1, kinds: kinds)),
        .acknowledge(ProvideAcknowledge(id: 2, sequence: 0)))
      let other = try server.connect()
      #expect(try other.health() == .serving)
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
      latch.open()
      let first = try provider.result()
      #expect(first.id == 1 && first.kinds.map(\.action) == [.created])
      #expect(try provider.result().id == 2)
    }
  }

  @Test func `large changes of a session do not wait`() async throws {
    try await withHeldCompiler { server, _ in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Kind(name: .make("a"), isOpen: true)])
      let text = Value.string(String(repeating: "x", count: 2 * KindCompiler.messageBytesMin))
      let patch = WidgetPatch(setData: ["text": text])
      // There is no such widget.
      try provider.send(
        .update(ProvideUpdate(id: 5, updates: [ProvidedUpdate(.make("w"), patch)])))
      #expect(try provider.result().id == 5)
    }
  }

  @Test func `messages that wait are carried out when the process ends`() async throws {
    try await withHeldCompiler { server, _ in
      let clients = try (0..<3).map { _ in try server.connect() }
      let ids = try clients.enumerated().map { number, client in
        let id = client.takeStreamID()
        let kinds = try [Self.large("k\(number)")]
        try client.send(
          client.request(
            "ApplyKinds", ApplyKindsRequest(provider: "p\(number)", kinds: kinds),
            service: Self.catalog, id: id))
        return id
      }
      let uid = geteuid()
      try server.eventually {
        $0.incompleteRequests.bytes(of: uid) >= 3 * KindCompiler.messageBytesMin
      }
      try server.onLoop { $0.kindCompiler.endAll() }
      for (client, id) in zip(clients, ids) {
        let answer = try client.answer(to: id, as: ApplyKindsResponse.self)
        #expect(answer.results.map(\.action) == [.created])
      }
    }
  }

  @Test func `users take turns`() async throws {
    try await withServer { server in
      let order = try server.onLoop { service in
        let order = Order()
        for (uid, count) in [(UInt32(1), 3), (2, 1)] {
          for number in 0..<count {
            service.kindCompiler.add(of: uid, kinds: { [] }) { order.add("\(uid).\(number)") }
          }
        }
        return order
      }
      try server.eventually { _ in order.names.count == 4 }
      #expect(try server.onLoop { _ in order.names } == ["1.0", "2.0", "1.1", "1.2"])
    }
  }

  /// Confined to the event loop.
  private final class Order: @unchecked Sendable {
    private(set) var names: [String] = []
    func add(_ name: String) { names.append(name) }
  }
}
