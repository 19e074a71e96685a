import Foundation
import NIOCore
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// The bytes of hostile or broken peers. After each case, the server serves others as before.
@Suite struct `A peer that breaks the protocol` {
  @Test func `an even stream id gets an error without ending the connection`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.send(client.request("GetWidget", GetWidgetRequest(id: .make("a")), id: 2))
      let status = try #require(try client.response(to: 2).status)
      #expect(status.code == .invalidArgument)
      #expect(status.reason == "PROTOCOL_ERROR")
      #expect(try client.health() == .serving)
      try server.expectHealthy()
    }
  }

  @Test func `a reused stream id gets an error without ending the connection`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let bytes = try client.request(
        "Check", HealthCheckRequest(), service: "grpc.health.v1.Health", id: 7)
      try client.send(bytes + bytes)
      // The refusal needs no store and may come first.
      let answers = try [client.response(to: 7), client.response(to: 7)]
      #expect(answers.filter { $0.status == nil }.count == 1)
      #expect(answers.compactMap(\.status).map(\.code) == [.invalidArgument])
      client.nextStreamID = 9
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a request on the id of an open stream ends that stream`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      try client.send(
        client.request("Check", HealthCheckRequest(), id: watcher.stream.id, flags: []))
      let status = try #require(try watcher.stream.end())
      #expect(status.code == .invalidArgument)
      #expect(try client.stats().subscriptions == 0)
    }
  }

  @Test func `a frame that is too long is refused without ending the connection`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let length = FrameHeader.frameDataBytesMax + 1
      try client.send(
        RawClient.frame(.request, 1, [UInt8](repeating: 0x0a, count: length)))
      let status = try #require(try client.response(to: 1).status)
      #expect(status.code == .resourceExhausted)
      client.nextStreamID = 3
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a response frame from a client ends its connection at once`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      var bytes = RawClient.frame(.response, 1, [1, 2, 3])
      bytes += try client.request(
        "CreateWidget",
        CreateWidgetRequest(widget: WidgetSpec(id: .make("late"), kind: .make("clock"))), id: 3)
      for id in stride(from: UInt32(5), to: 15, by: 2) {
        bytes += try client.request(
          "WatchWidgets", WatchWidgetsRequest(), id: id, flags: .remoteClosed)
      }
      try client.send(bytes)
      try client.readToEnd()
      let other = try server.connect()
      #expect(try other.list().widgets.isEmpty)
      let stats = try other.stats()
      #expect(stats.subscriptions == 0)
      #expect(stats.connections == 1)
      // A round of frames to all remaining readers.
      try other.create("a")
      try Watcher(other).sync()
      try server.expectHealthy()
    }
  }

  @Test func `frames of unknown types and data for closed streams are ignored`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try client.send(
        RawClient.frame(FrameType(rawValue: 9), 1, [1, 2]) + RawClient.frame(.data, 5, [1])
          + RawClient.frame(FrameType(rawValue: 0), 0)
          + RawClient.frame(.data, 7, flags: .endOfStream))
      #expect(try client.health() == .serving)
    }
  }

  @Test func `data after a half-close ends the stream`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let watcher = try Watcher(client).sync()
      try client.send(RawClient.frame(.data, watcher.stream.id, [1]))
      let status = try #require(try watcher.stream.end())
      #expect(status.code == .invalidArgument)
      let stats = try client.stats()
      #expect(stats.subscriptions == 0)
      #expect(stats.counters["protocol_errors"] == 1)
    }
  }

  static let badPayloads: [(name: String, bytes: [UInt8], code: StatusCode)] = [
    ("not protobuf", [0xff, 0xff, 0xff], .invalidArgument),
    ("truncated", [0x0a, 0x7f, 0x61], .invalidArgument),
    ("bad UTF-8", Proto.bytes(1, [0x61, 0xff, 0xfe]), .invalidArgument),
    ("a NUL", Proto.bytes(1, [0x61, 0, 0x62]), .invalidArgument),
    ("not an id", Proto.bytes(1, Array("no id!".utf8)), .invalidArgument),
    ("nothing", [], .invalidArgument),
    ("a group", [0x0b, 0x0c], .invalidArgument),
    ("wrong type", [0x08, 0x01], .invalidArgument),
  ]

  @Test(arguments: badPayloads.indices)
  func `an unreadable request gets INVALID_ARGUMENT`(index: Int) async throws {
    let (name, bytes, code) = Self.badPayloads[index]
    try await withServer { server in
      let client = try server.connect()
      let status = try client.refusal("GetWidget", payload: bytes)
      #expect(status.code == code, "\(name)")
      #expect(!status.reason.isEmpty)
      #expect(try client.health() == .serving)
    }
  }

  @Test func `an unreadable envelope gets an error`() async throws {
    try await withServer { server in
      let client = try server.connect()
      var id: UInt32 = 1
      for flags: FrameFlags in [[], .remoteClosed, .remoteOpen] {
        for bytes: [UInt8] in [[0xff], [0x0a, 0x05, 0x61], Proto.bytes(1, [0xc0]), []] {
          try client.send(RawClient.frame(.request, id, flags: flags, bytes))
          let status = try #require(try client.response(to: id).status)
          #expect([.invalidArgument, .unimplemented].contains(status.code))
          id += 2
        }
      }
      client.nextStreamID = id
      #expect(try client.health() == .serving)
      // None of the failed opens counts as an open stream.
      #expect(try client.stats().subscriptions == 0)
    }
  }

  @Test func `a request that nests too deep gets RESOURCE_EXHAUSTED`() async throws {
    try await withServer { server in
      var value = Proto.bytes(5, Array("x".utf8))
      for _ in 0..<5_000 { value = Proto.bytes(7, Proto.bytes(1, value)) }
      let entry = Proto.bytes(1, Array("k".utf8)) + Proto.bytes(2, value)
      let payload = Proto.bytes(1, Array("a".utf8)) + Proto.bytes(2, Proto.bytes(1, entry))
      let client = try server.connect()
      let status = try client.refusal("UpdateWidget", payload: payload)
      #expect(status.code == .resourceExhausted)
      #expect(status.reason == "MESSAGE_TOO_LARGE")
      try server.expectHealthy()
    }
  }

  @Test func `a request or an envelope with a million unknown fields is refused`() async throws {
    try await withServer { server in
      // Field 15, with one byte.
      let unknown = (0..<1_000_000).flatMap { _ in [0x78, 0x01] as [UInt8] }
      let client = try server.connect()
      let upload = try client.refusal(
        "UploadBlob", payload: unknown, service: "widgetd.v1.BlobService")
      #expect(upload.code == .invalidArgument)
      #expect(upload.reason == "INVALID_REQUEST")
      #expect(upload.message.contains("too many unknown fields"))
      let id = client.takeStreamID()
      try client.send(RawClient.frame(.request, id, unknown))
      let envelope = try #require(try client.response(to: id).status)
      #expect(envelope.message.contains("too many unknown fields"))
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a timeline with a million entries is refused by its field`() async throws {
    try await withServer { server in
      var entries: [UInt8] = []
      entries.reserveCapacity(2_000_000)
      for _ in 0..<1_000_000 { entries += [0x0a, 0x00] }
      let payload =
        Proto.bytes(1, Array("a".utf8)) + Proto.bytes(2, Proto.bytes(11, entries))
      let client = try server.connect()
      let status = try client.refusal("UpdateWidget", payload: payload)
      #expect(status.reason == "MESSAGE_TOO_LARGE")
      #expect(status.fieldViolations.map(\.field) == ["patch.timeline.entries"])
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a message that unpacks to a hundred times its size is refused`()
    async throws
  {
    try await withServer { server in
      // A list of 1.5 million nulls in 3 MB.
      var list: [UInt8] = []
      list.reserveCapacity(3_000_000)
      for _ in 0..<1_500_000 { list += [0x0a, 0x00] }
      let value = Proto.bytes(7, list)
      let entry = Proto.bytes(1, Array("k".utf8)) + Proto.bytes(2, value)
      let payload = Proto.bytes(1, Array("a".utf8)) + Proto.bytes(2, Proto.bytes(1, entry))
      let client = try server.connect()
      let status = try client.refusal("UpdateWidget", payload: payload)
      #expect(status.code == .resourceExhausted)
      #expect(status.reason == "MESSAGE_TOO_LARGE")
      #expect(status.fieldViolations.map(\.field) == ["patch.set_data.value.list_value.values"])
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a request that comes one byte at a time is answered`() async throws {
    try await withServer { server in
      let client = try server.connect()
      for byte in try client.request(
        "Check", HealthCheckRequest(), service: "grpc.health.v1.Health", id: 1)
      {
        try client.send([byte])
      }
      #expect(
        try client.answer(to: 1, as: HealthCheckResponse.self).status == .serving)
    }
  }

  @Test func `thousands of peers that leave in the middle of a frame do no harm`() async throws {
    try await withServer { server in
      var random = SeededGenerator(seed: 4)
      let survivor = try Watcher(server.connect()).sync()
      for round in 0..<2_000 {
        let client = try server.connect()
        let whole =
          try client.request("WatchWidgets", WatchWidgetsRequest(), id: 1, flags: .remoteClosed)
          + client.request(
            "SetPresence", SetPresenceRequest(target: .all, action: .toggle), id: 3)
        let count = round % 5 == 0 ? whole.count : Int.random(in: 0..<whole.count, using: &random)
        try client.send(Array(whole.prefix(count)))
      }
      let client = try server.connect()
      try client.create("still-here")
      #expect(try survivor.nextChanges().count == 1)
      // The server learns of the last ones' end at its own pace.
      try waitUntil {
        let stats = try client.stats()
        return stats.connections == 2 && stats.subscriptions == 1
      }
    }
  }

  @Test func `a peer that leaves its streams open leaves no state behind`() async throws {
    try await withServer { server in
      var clients = try (0..<4).map { _ in try server.connect() }
      for client in clients { try Watcher(client).sync() }
      // One stream is failed, one unsubscribed, two go with their connections.
      try clients[0].send(RawClient.frame(.data, 1, [1]))
      try clients[1].unsubscribe(2)
      let subscriptions = try server.onLoop { service in
        service.streams.all.map { WeakBox($0) }
      }
      clients = []
      let client = try server.connect()
      try waitUntil { try client.stats().connections == 1 }
      // One more turn releases the last references of the former one.
      #expect(try client.health() == .serving)
      #expect(try client.health() == .serving)
      let left = try server.onLoop { _ in subscriptions.filter { $0.value != nil }.count }
      #expect(left == 0)
    }
  }

  @Test func `a connection is freed at each way to end`() async throws {
    try await withServer { server in
      var clients = try (0..<4).map { _ in try server.connect() }
      for client in clients { #expect(try client.health() == .serving) }
      let connections = try server.onLoop { service in
        service.connections.toHandOver(atMost: .max).map { WeakBox($0 as AnyObject) }
      }
      #expect(connections.count == 4)
      // One breaks the protocol, one is in the middle of a frame, one has a stream.
      _ = clients[0].trySend([UInt8](repeating: 0xff, count: 10))
      _ = clients[1].trySend([0, 0])
      try Watcher(clients[2]).sync()
      clients = []
      let client = try server.connect()
      try waitUntil { try client.stats().connections == 1 }
      // One more turn releases the last references of the former one.
      #expect(try client.health() == .serving)
      #expect(try client.health() == .serving)
      let left = try server.onLoop { _ in connections.filter { $0.value != nil }.count }
      #expect(left == 0)
    }
  }

  @Test func `random bytes of a peer do no harm`() async throws {
    try await withServer { server in
      var random = SeededGenerator(seed: 99)
      for _ in 0..<200 {
        let client = try server.connect()
        let bytes = (0..<Int.random(in: 1...300, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        _ = client.trySend(bytes)
      }
      try server.expectHealthy()
    }
  }

  /// Five hundred requests whose answers are 256 KB each, in one write, and nobody reads.
  @Test func `the server does no work for a peer that never reads its answers`() async throws {
    let image = StoreImage.sample(count: 1) { _ in
      ["big": .bytes([UInt8](repeating: 7, count: 256 << 10))]
    }
    try await withServer(log: TestLog.State(image: image)) { server in
      let client = try server.connect()
      var bytes: [UInt8] = []
      let ids = stride(from: UInt32(1), to: 1_001, by: 2)
      for id in ids {
        bytes += try client.request("GetWidget", GetWidgetRequest(id: .make("w0")), id: id)
      }
      try client.send(bytes)
      let other = try server.connect()
      // Each answered call is at least one more turn of the server's loop.
      for _ in 0..<200 { _ = try other.health() }
      let calls = try #require(try other.stats().counters["calls"])
      #expect(calls < 200 + 64, "\(calls) calls were answered that nobody reads")
      for id in ids {
        #expect(try client.answer(to: id, as: GetWidgetResponse.self).widget.data.count == 1)
      }
    }
  }

  /// A client that only writes, as much as it can, is stopped by its own socket.
  @Test func `a peer that writes without end is not read without end`() async throws {
    let image = StoreImage.sample(count: 1) { _ in
      ["big": .bytes([UInt8](repeating: 7, count: 64 << 10))]
    }
    try await withServer(log: TestLog.State(image: image)) { server in
      let client = try server.connect()
      let other = try server.connect()
      var sent = 0
      var isStopped = false
      let block = try (0..<500).flatMap { index in
        try client.request(
          "GetWidget", GetWidgetRequest(id: .make("w0")), id: UInt32(index * 2 + 1))
      }
      var rest = block[...]
      while sent < 64 << 20, !isStopped {
        let count = client.trySend(Array(rest))
        #expect(count >= 0)
        sent += count
        rest = rest.dropFirst(count)
        if rest.isEmpty { rest = block[...] }
        if count == 0 {
          // The server had enough turns to read more.
          for _ in 0..<20 { _ = try other.health() }
          isStopped = client.trySend(Array(rest.prefix(1))) == 0
          if !isStopped { rest = rest.dropFirst() }
        }
      }
      #expect(isStopped, "\(sent) bytes were read from a client that reads nothing")
      try server.expectHealthy()
    }
  }
}

/// Protobuf by hand, for bytes that no encoder makes.
enum Proto {
  static func varint(_ value: UInt64) -> [UInt8] {
    var value = value
    var bytes: [UInt8] = []
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    return bytes + [UInt8(value)]
  }

  static func bytes(_ field: UInt64, _ data: [UInt8]) -> [UInt8] {
    varint(field << 3 | 2) + varint(UInt64(data.count)) + data
  }

  static func integer(_ field: UInt64, _ value: UInt64) -> [UInt8] {
    varint(field << 3) + varint(value)
  }
}

/// Repeats a check until it holds.
func waitUntil(_ isSo: () throws -> Bool) throws {
  while try !isSo() { usleep(1_000) }
}
