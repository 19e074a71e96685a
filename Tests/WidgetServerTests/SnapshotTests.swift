import Glibc
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Snapshots of a provider that does not answer.
extension Providers {
  private static let timelines = "widgetd.v1.TimelineService"

  /// Opens a session that answers snapshots of a kind with one parameter.
  private func opened(_ server: TestServer) throws -> RawProvider {
    let provider = try RawProvider(server.connect())
    try server.onLoop { $0.providers.snapshots.patience = .hours(1) }
    try provider.send(
      .open(
        ProvideOpen(provider: "hung", lease: RawProvider.leaseMax, answersSnapshots: true)))
    guard case .opened = try provider.next() else { throw TestFault("not opened") }
    guard case .synced = try provider.next() else { throw TestFault("not synced") }
    let kind = Kind(
      name: try .make("page"), parameters: [Field(name: "text", type: .string)], isOpen: true)
    try provider.send(.kinds(ProvideKinds(id: 1, kinds: [kind])))
    #expect(try provider.result().error == nil)
    guard case .synced = try provider.next() else { throw TestFault("not synced") }
    return provider
  }

  @Test func `snapshots of a provider that does not read fill no memory`() async throws {
    try await withServer { server in
      let provider = try self.opened(server)
      // The requests that the kernel takes are never answered.
      try server.onLoop { $0.providers.snapshots.patience = .seconds(1) }
      let text = String(repeating: "x", count: 1 << 18)
      let request = GetSnapshotRequest(
        kind: try .make("page"), parameters: ["text": .string(text)])
      let calls = try (0..<40).map { _ in
        let client = try server.connect()
        return (client, try client.start("GetSnapshot", request, service: Self.timelines))
      }
      var refused = 0
      for (client, call) in calls {
        let answer = try client.answer(to: call, as: GetSnapshotResponse.self)
        if answer.preview.reason.contains("does not read") { refused += 1 }
      }
      // The kernel takes some requests. Of the others, the daemon keeps one that the kernel has not
      // taken whole, and one that waited for the flush.
      #expect(refused > 30)
      let unsent = try server.onLoop { $0.unsentBytes.bytes(of: Peer.current.uid) }
      #expect(unsent < 3 << 18)
      provider.client.close()
    }
  }

  @Test func `the parameters of snapshots that wait count for their user`() async throws {
    let (limit, size) = (100 << 10, 16 << 10)
    try await withServer(limits: .with { $0.incompleteBytesPerUIDMax = limit }) { server in
      let provider = try self.opened(server)
      let client = try server.connect()
      let request = GetSnapshotRequest(
        kind: try .make("page"), parameters: ["text": .string(String(repeating: "x", count: size))])
      let calls = try (0..<10).map { _ in
        try client.start("GetSnapshot", request, service: Self.timelines)
      }
      for _ in 0..<6 {
        guard case .snapshotRequest = try provider.next() else { throw TestFault("no request") }
      }
      for call in calls[6...] {
        let status = try client.response(to: call).status
        #expect(status?.errorInfo?.metadata["limit"] == "incomplete_bytes_per_uid_max")
      }
      try provider.halfClose()
      for call in calls[..<6] {
        let answer = try client.answer(to: call, as: GetSnapshotResponse.self)
        #expect(answer.preview.isSample)
      }
      #expect(try server.onLoop { $0.incompleteRequests.bytes(of: Peer.current.uid) } == 0)
    }
  }

  @Test func `one user gets at most half of the snapshots that wait`() async throws {
    let policy = AccessPolicy(ownerUIDs: [geteuid()], clientGID: 100)
    try await withServer(policy: policy) { server in
      let provider = try self.opened(server)
      let client = try server.connect()
      let request = GetSnapshotRequest(kind: try .make("page"))
      let calls = try (0..<129).map { _ in
        try client.start("GetSnapshot", request, service: Self.timelines)
      }
      let refused = try client.answer(to: calls[128], as: GetSnapshotResponse.self)
      #expect(refused.preview.reason.contains("Too many snapshots"))
      let encoded = try client.codec.encode(request)
      let isAnswered = try server.onLoop { service in
        let other = OtherCaller()
        encoded.withUnsafeBytes { service.perform(.getSnapshot, $0, call: 1, for: other) }
        service.turn.open()
        return other.isAnswered
      }
      #expect(!isAnswered)
      var questions: [SnapshotRequest] = []
      for number in 0...128 {
        guard case .snapshotRequest(let question) = try provider.next() else {
          throw TestFault("no request")
        }
        #expect(question.isByOwner == (number < 128))
        #expect(question.uid == (number < 128 ? geteuid() : geteuid() + 1))
        questions.append(question)
      }
      // An answer frees a place.
      try provider.send(
        .snapshot(
          ProvideSnapshot(snapshotRequestID: questions[0].id, outcome: .data(SnapshotData()))))
      _ = try client.answer(to: calls[0], as: GetSnapshotResponse.self)
      let next = try client.start("GetSnapshot", request, service: Self.timelines)
      guard case .snapshotRequest = try provider.next() else { throw TestFault("no request") }
      try provider.halfClose()
      for call in calls[1..<128] + [next] {
        let answer = try client.answer(to: call, as: GetSnapshotResponse.self)
        #expect(answer.preview.isSample)
      }
    }
  }

  @Test func `an answer in time counts, also if the daemon reads it later`() async throws {
    let policy = AccessPolicy(ownerUIDs: [geteuid()], clientGID: 100)
    try await withServer(policy: policy) { server in
      let provider = SendableBox(try self.opened(server))
      let request = try WireCodec().encode(GetSnapshotRequest(kind: .make("page")))
      let caller = try server.onLoop { service -> SendableBox<OtherCaller> in
        let caller = OtherCaller()
        service.providers.snapshots.patience = .milliseconds(1)
        request.withUnsafeBytes { service.perform(.getSnapshot, $0, call: 1, for: caller) }
        service.turn.open()
        // The loop looks at the time before it reads the answer.
        try provider.value.send(
          .snapshot(ProvideSnapshot(snapshotRequestID: 1, outcome: .data(SnapshotData()))))
        usleep(10_000)
        return SendableBox(caller)
      }
      try server.eventually { _ in caller.value.isAnswered }
      #expect(try server.onLoop { _ in caller.value.preview?.isSample } == false)
    }
  }

  @Test func `snapshots that wait are answered at once if the process ends`() async throws {
    try await withServer { server in
      let provider = try self.opened(server)
      let client = try server.connect()
      let request = GetSnapshotRequest(kind: try .make("page"))
      let calls = try (0..<100).map { _ in
        try client.start("GetSnapshot", request, service: Self.timelines)
      }
      for _ in calls {
        guard case .snapshotRequest = try provider.next() else { throw TestFault("no request") }
      }
      let isDone = try server.onLoop { service in
        service.context.prepareHandover()
        service.providers.endAll()
        return !service.context.work.hasMore
      }
      #expect(isDone)
      for call in calls {
        let answer = try client.answer(to: call, as: GetSnapshotResponse.self)
        #expect(answer.preview.reason.contains("The provider left before it answered"))
      }
    }
  }

  @Test func `all snapshots of a provider that leaves are answered`() async throws {
    try await withServer { server in
      let provider = try self.opened(server)
      let client = try server.connect()
      let calls = try (0..<20).map { _ in
        try client.start(
          "GetSnapshot", GetSnapshotRequest(kind: try .make("page")), service: Self.timelines)
      }
      for _ in calls {
        guard case .snapshotRequest = try provider.next() else { throw TestFault("no request") }
      }
      try provider.halfClose()
      for call in calls {
        let answer = try client.answer(to: call, as: GetSnapshotResponse.self)
        #expect(answer.preview.reason.contains("The provider left before it answered"))
      }
    }
  }
}

/// A client of another user.
private final class OtherCaller: CallResponder {
  let peer = Peer(uid: geteuid() + 1, gid: 100, pid: 1)
  let level = AccessPolicy.Level.client
  private(set) var isAnswered = false
  private(set) var preview: Preview?

  func respond<M: WireMessage>(_ message: M, to call: UInt32) {
    isAnswered = true
    preview = (message as? GetSnapshotResponse)?.preview
  }
  func respond(encoded message: [UInt8], to call: UInt32) { isAnswered = true }
  func refuse(_ status: RPCStatus, to call: UInt32) { isAnswered = true }
  func answerNow(_ body: () -> Void) { body() }
  func flushResponses() {}
  func discardResponses() {}
}
