import Glibc
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Messages with many expressions, which are compiled in parts.
@Suite struct KindsInParts {
  @Test func `others are answered meanwhile, and the connection's next call waits`() async throws {
    try await withServer { server in
      try server.hold()
      let (client, other) = (try server.connect(), try server.connect())
      let (first, second) = (client.takeStreamID(), client.takeStreamID())
      let widget = WidgetSpec(id: try .make("w"), kind: try .make("k0"))
      try client.send(
        client.request(
          "ApplyKinds", LargeKinds.request(LargeKinds.kinds()), service: LargeKinds.catalog,
          id: first)
          + client.request("CreateWidget", CreateWidgetRequest(widget: widget), id: second))
      try server.awaitCompilation()
      for number in 0..<5 { try other.create("o\(number)") }
      #expect(try server.isCompiling())
      #expect(try other.list().widgets.count == 5)
      try server.goOn()
      let answer = try client.answer(to: first, as: ApplyKindsResponse.self)
      #expect(answer.results.count == 12 && answer.results.allSatisfy { $0.action == .created })
      let created = try client.answer(to: second, as: CreateWidgetResponse.self)
      #expect(created.warnings.isEmpty)
      #expect(try server.preparationBytes() == 0)
      let again = try client.call(
        "ApplyKinds", LargeKinds.request(LargeKinds.kinds()), as: ApplyKindsResponse.self,
        service: LargeKinds.catalog)
      #expect(again.results.allSatisfy { $0.action == .unchanged })
    }
  }

  @Test func `a mistake in a large kind is refused as in a small one`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let kinds = try [LargeKinds.kind("a"), LargeKinds.kind("b", expression: "dat.n")]
      let refusal = try client.refusal(
        "ApplyKinds", LargeKinds.request(kinds), service: LargeKinds.catalog)
      #expect(refusal.fieldViolations.map(\.field) == ["kinds[1].reducers[0].set[field0]"])
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
      #expect(try server.preparationBytes() == 0)
    }
  }

  @Test func `a session's frames keep their order, and its lease goes on`() async throws {
    try await withServer { server in
      let (client, other) = (try server.connect(), try server.connect())
      let (provider, neighbour) = (try RawProvider(client), try RawProvider(client))
      try provider.open("desk")
      try neighbour.open("neighbour")
      try server.hold()
      let last = ProvideRequest.update(ProvideUpdate(id: 3))
      try client.send(
        provider.frame(.kinds(ProvideKinds(id: 1, kinds: LargeKinds.kinds())))
          + provider.frame(.acknowledge(ProvideAcknowledge(id: 2, sequence: 0)))
          + provider.frame(last, flags: .remoteClosed))
      try server.awaitCompilation()
      @Sendable func leases(_ service: ServiceLoop) -> [NIODeadline] {
        ["desk", "neighbour"].compactMap { service.providers.table.byName[$0]?.leaseEnd }
      }
      try other.create("a")
      let before = try server.onLoop { leases($0) }
      #expect(before.count == 2)
      // Both leases go on while the kinds wait.
      try server.eventually { service in
        let after = leases(service)
        return after.count == 2 && zip(before, after).allSatisfy { $0 < $1 }
      }
      #expect(try server.isCompiling())
      try server.goOn()
      var results: [ProvideResult] = []
      while let frame = try provider.stream.next() {
        if case .result(let result) = frame { results.append(result) }
      }
      #expect(results.map(\.id) == [1, 2, 3] && results[0].kinds.count == 12)
    }
  }

  @Test func `the end of the process waits for kinds that are being compiled`() async throws {
    try await withServer { server in
      try server.hold()
      let client = try server.connect()
      let id = try client.declare(LargeKinds.request(LargeKinds.kinds(count: 4)))
      try server.awaitCompilation()
      let hasEnded = Box(false)
      try server.onLoop { service in
        service.preparations.ended(within: .seconds(600)).assumeIsolated().whenComplete { _ in
          hasEnded.update { $0 = true }
        }
      }
      #expect(try server.isCompiling())
      #expect(!hasEnded.get())
      try server.goOn()
      let answer = try client.answer(to: id, as: ApplyKindsResponse.self)
      #expect(answer.results.map(\.action) == Array(repeating: .created, count: 4))
      try server.eventually { _ in hasEnded.get() }
    }
  }

  @Test func `messages that are not ready at the end of the process are refused`() async throws {
    try await withServer { server in
      try server.hold()
      let clients = try (0..<3).map { _ in try server.connect() }
      let ids = try clients.enumerated().map { number, client in
        try client.declare(
          LargeKinds.request(
            LargeKinds.kinds("p\(number).", count: 4), provider: "p\(number)"))
      }
      try server.awaitCompilation()
      try server.connect().create("a")
      #expect(try server.isCompiling())
      try server.onLoop { service in
        service.context.drain()
        service.endPreparations()
      }
      #expect(try server.preparationBytes() == 0)
      for (client, id) in zip(clients, ids) {
        let status = try client.response(to: id).status
        #expect(status?.errorInfo?.reason == "SHUTTING_DOWN")
      }
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
    }
  }

  @Test func `a connection that ends takes its work with it`() async throws {
    try await withServer { server in
      try server.hold()
      let (client, other) = (try server.connect(), try server.connect())
      try client.declare(LargeKinds.request(LargeKinds.kinds()))
      try server.awaitCompilation()
      try other.create("a")
      #expect(try server.isCompiling())
      client.close()
      try server.eventually { $0.connections.shares.count == 1 }
      #expect(try server.preparationBytes() == 0)
      try server.goOn()
      try other.create("b")
      #expect(try server.onLoop { $0.context.store.kindCount } == 0)
    }
  }

  @Test func `the messages of a user have one quota of memory`() async throws {
    let all = try LargeKinds.kinds(count: 4)
    let size = try WireCodec().encode(LargeKinds.request(all)).count
    let memory = try await withServer { server in
      _ = try server.connect().call(
        "ApplyKinds", LargeKinds.request(all), as: ApplyKindsResponse.self,
        service: LargeKinds.catalog)
      return try server.onLoop { $0.context.store.highestKindMemory }
    }
    let limits = ServerLimits.with { $0.store.kindMemoryBytesPerUIDMax = 3 * memory / 2 }
    try await withServer(limits: limits) { server in
      // Alone, each message has room. Dry runs leave nothing behind.
      let clients = try [server.connect(), server.connect()]
      for client in clients {
        _ = try client.call(
          "ApplyKinds", LargeKinds.request(all, isDryRun: true), as: ApplyKindsResponse.self,
          service: LargeKinds.catalog)
      }
      try server.hold()
      let ids = try clients.map {
        try $0.declare(LargeKinds.request(all, isDryRun: true))
      }
      // A message counts at least four times its size.
      try server.awaitCompilation(bytes: 8 * size)
      try server.goOn()
      let statuses = try zip(clients, ids).map { try $0.response(to: $1).status }
      let refused = statuses.compactMap { $0 }.filter { $0.code != .ok }
      #expect(
        refused.map { $0.errorInfo?.metadata["limit"] } == ["kind_memory_bytes_per_uid_max"])
      #expect(try server.preparationBytes() == 0)
    }
  }

  /// A refused message keeps no memory: nobody can be made to wait for the peer that sent it.
  @Test func `messages above the quota are refused before they are compiled`() async throws {
    let all = try LargeKinds.kinds(count: 40)
    let size = try await LargeKinds.waitingBytes(LargeKinds.request(all))
    let limits = ServerLimits.with { $0.store.kindMemoryBytesPerUIDMax = 11 * size / 4 }
    try await withServer(limits: limits) { server in
      try server.hold()
      let waiting = try (0..<2).map { _ in
        let client = try server.connect()
        try client.declare(LargeKinds.request(all))
        return client
      }
      try server.awaitCompilation(bytes: 2 * size)
      for _ in 0..<3 {
        let refused = try server.connect().refusal(
          "ApplyKinds", LargeKinds.request(all), service: LargeKinds.catalog)
        #expect(refused.errorInfo?.metadata["limit"] == "kind_memory_bytes_per_uid_max")
      }
      #expect(try server.isCompiling())
      let waitingBytes = try server.preparationBytes()
      #expect(waitingBytes == 2 * size)
      waiting[1].close()
      try server.eventually { $0.preparations.bytes(of: LargeKinds.uid) == size }
    }
  }

  @Test func `a restart refuses kinds that are not ready, and keeps the connection`() async throws {
    try await withRestart { server in
      let client = try server.connect()
      try server.hold()
      let id = try client.declare(LargeKinds.request(LargeKinds.kinds()))
      try server.awaitCompilation()
      return { next in
        let status = try client.response(to: id).status
        #expect(status?.code == .unavailable)
        #expect(status?.errorInfo?.reason == "SHUTTING_DOWN")
        #expect(try next.onLoop { $0.context.store.kindCount } == 0)
        // The connection goes on.
        #expect(try client.health() == .serving)
      }
    }
  }

  @Test func `a stopping server refuses kinds that are not ready`() async throws {
    let (folder, log) = (try TestFolder(), TestLog.State())
    let server = try await startServer(log: log, folder: folder)
    let sent = try await onThread {
      let client = try server.connect()
      try server.hold()
      let id = try client.declare(LargeKinds.request(LargeKinds.kinds()))
      try server.awaitCompilation()
      return SendableBox((client: client, id: id))
    }
    try await server.server.stop()
    let reason = try await onThread {
      try sent.value.client.response(to: sent.value.id).status?.errorInfo?.reason
    }
    #expect(reason == "SHUTTING_DOWN")
    let next = try await startServer(log: log, folder: folder)
    let count = try await onThread { try next.onLoop { $0.context.store.kindCount } }
    #expect(count == 0)
    try await next.server.stop()
  }

  // MARK: - Slices

  @Test func `work ends with its slice`() async throws {
    try await withServer { server in
      let bytes = try server.onLoop { service in
        let codec = WireCodec()
        let payload = try codec.encode(LargeKinds.request([LargeKinds.kind("a")]))
        let kinds = payload.withUnsafeBytes {
          service.preparations.preparation(ofCall: $0, of: .current)
        }
        let work = try #require(kinds)
        var bytes: [Int] = []
        var isDone = false
        while !isDone, bytes.count < 1_000 {
          let clock = SlowClock()
          let start = clock.look()
          isDone = work.work(
            TimeSlice(start: start, end: start + .seconds(2), clock: clock.look))
          bytes.append(service.preparations.bytes(of: LargeKinds.uid))
        }
        work.cancel()
        bytes.append(service.preparations.bytes(of: LargeKinds.uid))
        return bytes
      }
      // Two steps fit into a slice: 512 steps for 256 reducers.
      #expect((250...280).contains(bytes.count), "\(bytes.count) slices")
      #expect(bytes.last == 0 && bytes.dropLast() == ArraySlice(bytes.dropLast().sorted()))
    }
  }

  @Test func `freeing ends with its slice`() async throws {
    try await withServer { server in
      let slices = try server.onLoop { service in
        var compilation = service.context.store.compilation(of: try LargeKinds.kinds())
        while compilation.step(in: service.context.store) {}
        let disposal = KindDisposal(compilation.drop(), uid: LargeKinds.uid)
        let clock = SlowClock()
        var slices = 0
        var hasMore = true
        while hasMore, slices < 100 {
          slices += 1
          let start = clock.look()
          hasMore = disposal.work(
            TimeSlice(start: start, end: start + .seconds(2), clock: clock.look))
        }
        return slices
      }
      // Two of twelve kinds fit into a slice.
      #expect(slices == 6)
    }
  }

  @Test func `a message compiles nothing while kinds of its user wait to be freed`() async throws {
    try await withServer { server in
      let sizes = try server.onLoop { service in
        let (disposals, preparations) = (service.context.disposals, service.preparations)
        for _ in 0..<2 {
          var compilation = service.context.store.compilation(of: try LargeKinds.kinds())
          while compilation.step(in: service.context.store) {}
          disposals.add(compilation.drop(), of: LargeKinds.uid)
        }
        let payload = try WireCodec().encode(LargeKinds.request([LargeKinds.kind("a")]))
        let kinds = payload.withUnsafeBytes {
          preparations.preparation(ofCall: $0, of: .current)
        }
        let work = try #require(kinds)
        let message = preparations.bytes(of: LargeKinds.uid)
        var sizes: [[Int]] = []
        var isDone = false
        while !isDone, sizes.count < 1_000 {
          let clock = SlowClock()
          let start = clock.look()
          isDone = work.work(
            TimeSlice(start: start, end: start + .seconds(2), clock: clock.look))
          sizes.append([
            disposals.bytes(of: LargeKinds.uid),
            preparations.bytes(of: LargeKinds.uid) - message,
          ])
        }
        work.cancel()
        return sizes
      }
      // Two of 24 kinds are freed in a slice.
      #expect(sizes.prefix(11).allSatisfy { $0[0] > 0 && $0[1] == 0 })
      #expect(sizes.dropFirst(11).allSatisfy { $0[0] == 0 && $0[1] > 0 } && sizes.count > 200)
      try server.eventually { !$0.context.work.hasMore }
    }
  }

  @Test func `many kinds are freed later, and few at once`() async throws {
    try await withServer { server in
      let waits = try server.onLoop { service in
        let work = service.context.work
        return try [0, 1, 12].map { count in
          let kinds = try LargeKinds.kinds(count: count)
          var compilation = service.context.store.compilation(of: kinds)
          while compilation.step(in: service.context.store) {}
          service.context.disposals.add(compilation.drop(), of: LargeKinds.uid)
          return work.hasMore
        }
      }
      #expect(waits == [false, false, true])
      try server.eventually { !$0.context.work.hasMore }
    }
  }
}
