import Glibc
import Logging
import Testing
import WidgetProto

@testable import WidgetServer

@Suite struct `The shares of connections` {
  private let limits = ServerLimits.with {
    $0.connectionsMax = 80
    $0.connectionsPerUIDMax = 60
    $0.connectionsUnauthorizedMax = 6
    $0.connectionsUnauthorizedPerUIDMax = 4
  }

  @Test func `owners keep connections while others use up their shares`() {
    var shares = ConnectionShares()
    for uid in [1_001, 1_002] as [UInt32] {
      while shares.admit(uid, .client, limits) == nil {}
    }
    #expect(shares.count == 70)
    #expect(
      shares.admit(1_003, .client, limits) == .init(limit: "connections_max", maximum: 70))
    for _ in 0..<10 { #expect(shares.admit(0, .owner, limits) == nil) }
    #expect(shares.admit(0, .owner, limits) == .init(limit: "connections_max", maximum: 80))
    shares.release(1_001, .client)
    // The ten connections of owners stay reserved.
    #expect(shares.admit(1_001, .client, limits) != nil)
    #expect(shares.admit(0, .owner, limits) == nil)
  }

  @Test func `few open files lower the limit of connections, and owners keep their part of it`() {
    // 16 files are for the daemon, 12 for blobs, and two for each connection.
    var shares = ConnectionShares(files: OpenFiles(allowed: 64))
    while shares.admit(1_001, .client, limits) == nil {}
    #expect(shares.count == 16)
    let client = shares.admit(1_001, .client, limits)
    #expect(client?.maximum == 16)
    for _ in 0..<2 { #expect(shares.admit(0, .owner, limits) == nil) }
    let owner = shares.admit(0, .owner, limits)
    #expect(owner?.maximum == 18)
    #expect(owner?.shortage == .init(allowed: 64, needed: 1_376))
  }

  @Test func `a refusal because of few open files names them, and not connections_max`() throws {
    var shares = ConnectionShares(files: OpenFiles(allowed: 64))
    while shares.admit(0, .owner, limits) == nil {}
    let last = shares.admit(0, .owner, limits)
    let refusal = try #require(last)
    #expect(
      refusal.status.message
        == "The daemon takes at most 18 connections, because the system allows it only 64 open "
        + "files. Close one of the connections, or raise LimitNOFILE= of the daemon's unit, or "
        + "`ulimit -n` of its shell, to at least 1376.")
    #expect(refusal.status.errorInfo?.metadata == ["limit": "open_files", "maximum": "64"])
    #expect(refusal.metadata["limit"] == "open_files=64")
    #expect(refusal.metadata["remedy"].map { "\($0)".contains("LimitNOFILE=") } == true)
    // With enough files, the refusal names the limit.
    var enough = ConnectionShares(files: OpenFiles(allowed: 1_376))
    for uid in [1, 2] as [UInt32] { while enough.admit(uid, .owner, limits) == nil {} }
    let full = enough.admit(3, .owner, limits)
    #expect(full == .init(limit: "connections_max", maximum: 80))
    #expect(full?.metadata == ["limit": "connections_max=80"])
  }

  @Test func `a user without permissions has fewer connections`() {
    var shares = ConnectionShares()
    for _ in 0..<4 { #expect(shares.admit(1_001, .nothing, limits) == nil) }
    #expect(
      shares.admit(1_001, .nothing, limits)
        == .init(limit: "connections_unauthorized_per_uid_max", maximum: 4))
    for _ in 0..<2 { #expect(shares.admit(1_002, .nothing, limits) == nil) }
    #expect(
      shares.admit(1_002, .nothing, limits)
        == .init(limit: "connections_unauthorized_max", maximum: 6))
    #expect(shares.admit(1_002, .client, limits) == nil)
    shares.release(1_001, .nothing)
    #expect(shares.admit(1_002, .nothing, limits) == nil)
    #expect(shares.unauthorizedCount == 6)
  }

  @Test func `the shares of connections are free again after all have closed`() {
    var shares = ConnectionShares()
    for _ in 0..<4 { _ = shares.admit(1_001, .nothing, limits) }
    for _ in 0..<5 { _ = shares.admit(1_001, .client, limits) }
    #expect(shares.highestCount == 9)
    for _ in 0..<4 { shares.release(1_001, .nothing) }
    for _ in 0..<5 { shares.release(1_001, .client) }
    #expect(shares.count == 0 && shares.unauthorizedCount == 0 && shares.highestCount == 0)
    for _ in 0..<4 { #expect(shares.admit(1_001, .nothing, limits) == nil) }
  }

  @Test func `the limits on connections are the shares, also in the statistics`() async throws {
    let nobody = AccessPolicy(ownerUIDs: [], clientGID: nil)
    try await withServer(
      limits: .with { $0.connectionsUnauthorizedMax = 2 }, policy: nobody
    ) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      let second = try server.connect()
      #expect(try second.health() == .serving)
      #expect(try server.connect().nextFrame() == nil)
    }
    try await withServer { server in
      let usage = try server.connect().stats().usage
      #expect(usage["connections_unauthorized_max"] == 0)
    }
  }

  @Test func `connections of users who may only ask for health end soon`() async throws {
    let limits = ServerLimits.with { $0.unauthorizedMilliseconds = 3_000 }
    let nobody = AccessPolicy(ownerUIDs: [], clientGID: nil)
    try await withServer(limits: limits, policy: nobody) { server in
      let client = try server.connect()
      #expect(try client.nextFrame() == nil)
      let (next, call) = try server.connectWithCall()
      #expect(try next.answer(to: call, as: HealthCheckResponse.self).status == .serving)
    }
    let clients = AccessPolicy(ownerUIDs: [], clientGID: getegid())
    let short = ServerLimits.with { $0.unauthorizedMilliseconds = 1 }
    try await withServer(limits: short, policy: clients) { server in
      let client = try server.connect()
      #expect(try client.health() == .serving)
      usleep(200_000)
      #expect(try client.health() == .serving)
    }
  }
}
