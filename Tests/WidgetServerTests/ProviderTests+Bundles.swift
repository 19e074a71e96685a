import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

/// The provider that manages bundles, and the calls that it answers.
extension Providers {
  private static let catalog = "widgetd.v1.CatalogService"

  /// Opens a session that manages bundles.
  private func manager(_ server: TestServer, _ name: String = "host") throws -> RawProvider {
    let provider = try RawProvider(server.connect())
    try provider.send(
      .open(
        ProvideOpen(provider: name, lease: RawProvider.leaseMax, managesBundles: true)))
    guard case .opened = try provider.next() else { throw TestFault("not opened") }
    guard case .synced = try provider.next() else { throw TestFault("not synced") }
    return provider
  }

  func failure(_ client: RawClient, _ call: UInt32) throws -> RPCStatus {
    try #require(client.response(to: call).status)
  }

  @Test func `the provider that manages bundles answers the calls about them`() async throws {
    try await withServer { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      let install = InstallBundleRequest(content: [1, 2, 0], fileName: "a.zip", sha256: "00")
      let call = try client.start("InstallBundle", install, service: Self.catalog)
      guard case .bundleRequest(let request) = try provider.next() else {
        throw TestFault("no request")
      }
      #expect(request.request == .install(install))
      let response = InstallBundleResponse(
        bundle: InstalledBundle(id: "a", version: "1.0.0"), formerVersion: "0.9.0", warnings: ["w"])
      // The response to another request is refused, and the call still waits.
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(
            id: 1, bundleRequestID: request.id, outcome: .list(ListBundlesResponse()))))
      #expect(try provider.result().error?.reason == "INVALID_FIELD")
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(id: 2, bundleRequestID: request.id, outcome: .install(response))))
      #expect(try client.answer(to: call, as: InstallBundleResponse.self) == response)
      #expect(try provider.result().error == nil)
      // A second answer is ignored, because nobody waits for it.
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(id: 3, bundleRequestID: request.id, outcome: .install(response))))
      #expect(try provider.result().error == nil)
    }
  }

  @Test func `a refusal of the host is the status of the call`() async throws {
    try await withServer { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      let call = try client.start(
        "DeleteBundle", DeleteBundleRequest(id: "x"), service: Self.catalog)
      guard case .bundleRequest(let request) = try provider.next() else {
        throw TestFault("no request")
      }
      let status = RPCStatus(
        code: .notFound, message: "there is no bundle \"x\"",
        errorInfo: ErrorInfo(reason: "BUNDLE_NOT_FOUND"))
      try provider.send(
        .bundleAnswer(ProvideBundleAnswer(bundleRequestID: request.id, outcome: .error(status))))
      let failure = try failure(client, call)
      #expect(failure.code == .notFound && failure.message == status.message)
      #expect(failure.errorInfo?.reason == "BUNDLE_NOT_FOUND")
    }
  }

  @Test func `a call about a bundle fails without a host, and when its host leaves`() async throws {
    try await withServer { server in
      let client = try server.connect()
      func list() throws -> UInt32 {
        try client.start("ListBundles", ListBundlesRequest(), service: Self.catalog)
      }
      #expect(try failure(client, list()).errorInfo?.reason == "BUNDLE_HOST_MISSING")
      // A provider that does not manage bundles gets no calls.
      let other = try RawProvider(server.connect())
      try other.open(kinds: [Self.gauge])
      #expect(try failure(client, list()).errorInfo?.reason == "BUNDLE_HOST_MISSING")
      let provider = try self.manager(server)
      let call = try list()
      guard case .bundleRequest = try provider.next() else { throw TestFault("no request") }
      try provider.halfClose()
      let failure = try failure(client, call)
      #expect(failure.code == .unavailable && failure.errorInfo?.reason == "BUNDLE_HOST_GONE")
      try other.settle()
    }
  }

  @Test func `a host that runs and does not answer is not a missing one`() async throws {
    try await withServer { server in
      let client = try server.connect()
      func list() throws -> UInt32 {
        try client.start("ListBundles", ListBundlesRequest(), service: Self.catalog)
      }
      func check(_ status: RPCStatus) {
        #expect(status.code == .unavailable && status.errorInfo?.reason == "BUNDLE_HOST_SILENT")
        #expect(status.errorInfo?.metadata["pid"] == "\(Peer.current.pid)")
        #expect(status.errorInfo?.metadata["since"] != nil)
        #expect(status.message.contains("(process \(Peer.current.pid)) has not answered since "))
      }
      let provider = try self.manager(server)
      let call = try list()
      guard case .bundleRequest = try provider.next() else { throw TestFault("no request") }
      try self.pass(300, server)
      // The call that waits for it, and the next one.
      check(try failure(client, call))
      check(try failure(client, list()))
      let again = try self.manager(server)
      try again.halfClose()
      _ = try again.stream.end()
      #expect(try failure(client, list()).errorInfo?.reason == "BUNDLE_HOST_MISSING")
    }
  }

  @Test func `calls about bundles have quotas`() async throws {
    var limits = ServerLimits()
    (limits.bundleArchiveBytesMax, limits.bundleCallsMax) = (3, 1)
    try await withServer(limits: limits) { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      func install(_ count: Int) throws -> UInt32 {
        try client.start(
          "InstallBundle", InstallBundleRequest(content: [UInt8](repeating: 1, count: count)),
          service: Self.catalog)
      }
      let large = try failure(client, install(4))
      #expect(large.errorInfo?.metadata["limit"] == "bundle_archive_bytes_max")
      _ = try install(3)
      guard case .bundleRequest = try provider.next() else { throw TestFault("no request") }
      let second = try failure(client, install(3))
      #expect(second.errorInfo?.metadata["limit"] == "bundle_calls_max")
    }
  }

  @Test func `a call about bundles that the host does not answer ends, and makes room`()
    async throws
  {
    var limits = ServerLimits()
    (limits.bundleCallsMax, limits.bundleCallSeconds) = (1, 0)
    try await withServer(limits: limits) { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      for _ in 0..<2 {
        let call = try client.start("ListBundles", ListBundlesRequest(), service: Self.catalog)
        guard case .bundleRequest(let request) = try provider.next() else {
          throw TestFault("no request")
        }
        let status = try failure(client, call)
        #expect(status.code == .deadlineExceeded)
        #expect(status.message.contains("bundle_call_seconds"))
        // A late answer is not an error of the host.
        try provider.send(
          .bundleAnswer(
            ProvideBundleAnswer(
              id: 1, bundleRequestID: request.id, outcome: .list(ListBundlesResponse()))))
        #expect(try provider.result().error == nil)
      }
    }
  }

  @Test func `callers who are not owners cannot use up the calls of owners`() {
    var limits = ServerLimits()
    (limits.bundleCallsMax, limits.bundleCallsOfClientsMax) = (3, 1)
    func limit(_ level: AccessPolicy.Level, _ waiting: [AccessPolicy.Level]) -> String? {
      limits.reachedByBundleCall(of: (1, level), waiting: waiting.map { (1, $0) })?.limit
    }
    #expect(limit(.client, [.owner]) == nil)
    #expect(limit(.client, [.client]) == "bundle_calls_of_clients_max")
    #expect(limit(.owner, [.client, .owner]) == nil)
    for level in [AccessPolicy.Level.client, .owner] {
      #expect(limit(level, [.client, .owner, .owner]) == "bundle_calls_max")
    }
    #expect(ServerLimits().bundleCallsOfClientsMax * 4 <= ServerLimits().bundleCallsMax)
    // One client gets half of the calls of clients.
    limits = ServerLimits.with { $0.bundleCallsOfClientsMax = 4 }
    func isRefused(_ uid: UInt32, _ level: AccessPolicy.Level, _ waiting: [UInt32]) -> Bool {
      limits.reachedByBundleCall(of: (uid, level), waiting: waiting.map { ($0, .client) }) != nil
    }
    #expect(!isRefused(1, .client, [1, 2, 2]) && isRefused(2, .client, [1, 2, 2]))
    #expect(!isRefused(3, .client, [2, 2]) && isRefused(3, .client, [1, 1, 2, 2]))
    #expect(!isRefused(2, .owner, [2, 2]))
  }

  @Test(arguments: [
    ("InstallBundle", false), ("DeleteBundle", false), ("RollbackBundle", false),
    ("SetBundleDefaults", false), ("DiffBundle", false), ("ListBundles", true),
  ])
  func `users who may only read can only list bundles`(method: String, isAllowed: Bool)
    async throws
  {
    try await withServer(policy: .client) { server in
      let client = try server.connect()
      let call = try client.start(method, ListBundlesRequest(), service: Self.catalog)
      #expect(
        try failure(client, call).errorInfo?.reason
          == (isAllowed ? "BUNDLE_HOST_MISSING" : "PERMISSION_DENIED"))
    }
  }
}
