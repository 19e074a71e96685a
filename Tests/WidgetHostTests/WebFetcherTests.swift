import Glibc
import Synchronization
import Testing
import WidgetBundle

@testable import WidgetHost

/// The behaviour of servers, and its effects on a host.
@Suite struct WebFetcherTests {
  /// A server that sends every client the same answer, and then repeats one text. It runs until the
  /// process ends.
  private final class Server: Sendable {
    let port: Int
    private let sentBytes = Mutex(0)
    private let bodyBytes: Int

    var sent: Int { sentBytes.withLock { $0 } }

    /// - Parameters:
    ///   - flood: the text that is repeated until the client leaves; empty for silence.
    ///   - body: the number of bytes to read before the answer.
    init(_ head: String, flood: [UInt8] = [], after body: Int = 0) throws {
      bodyBytes = body
      let listener: CInt
      (listener, port) = try boundToLoopback()
      try #require(listen(listener, 8) == 0)
      let isStarted = startThread { [self] in
        while true {
          let client = accept(listener, nil, nil)
          guard client >= 0 else { return }
          serve(client, Array(head.utf8), flood)
        }
      }
      try #require(isStarted)
    }

    private func serve(_ client: CInt, _ head: [UInt8], _ flood: [UInt8]) {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      var taken = 0
      repeat {
        let count = read(client, &buffer, buffer.count)
        guard count > 0 else { break }
        taken += count
      } while taken < bodyBytes
      _ = write(client, head, head.count)
      if flood.isEmpty, head.isEmpty {
        // The server is silent until the client leaves.
        while read(client, &buffer, buffer.count) > 0 {}
      }
      while !flood.isEmpty {
        let count = write(client, flood, flood.count)
        guard count > 0 else { break }
        sentBytes.withLock { $0 += count }
      }
      close(client)
    }

  }

  /// A server that reads a body only as far as the test allows.
  private final class Gate: Sendable {
    let port: Int
    private let allowed: AsyncStream<Int>.Continuation

    init() throws {
      let (stream, continuation) = AsyncStream<Int>.makeStream()
      allowed = continuation
      let listener: CInt
      (listener, port) = try boundToLoopback()
      // The minimum size, so that the kernel buffers nothing for the server.
      var room: CInt = 4_096
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<CInt>.size))
      try #require(listen(listener, 8) == 0)
      Task.detached {
        let client = await Host.blocking { accept(listener, nil, nil) }
        for await bytes in stream {
          await Host.blocking {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            var left = bytes
            while left > 0 {
              let count = Glibc.read(client, &buffer, min(left, buffer.count))
              guard count > 0 else { return }
              left -= count
            }
          }
        }
        await Host.blocking {
          // The rest of the head and the body.
          var buffer = [UInt8](repeating: 0, count: 16_384)
          var answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
          _ = write(client, &answer, answer.count)
          while Glibc.read(client, &buffer, buffer.count) > 0 {}
          close(client)
          close(listener)
        }
      }
    }

    func read(_ bytes: Int) { allowed.yield(bytes) }
    func finish() { allowed.finish() }

  }

  @Test func `progress counts what the server reads, not bytes in the kernel`() async throws {
    let gate = try Gate()
    let bytes = 3 << 20
    let (told, continuation) = AsyncStream<Double>.makeStream()
    let largest = Mutex(0.0)
    let permissions = BundlePermissions(
      Bundle(
        id: "b", version: "1.0.0", permissions: Permissions(hosts: ["127.0.0.1:\(gate.port)"])),
      folder: "/", home: "/")
    let request = WebRequest(
      method: "POST", address: try WebAddress("http://127.0.0.1:\(gate.port)/"), headers: [],
      body: .bytes([UInt8](repeating: 1, count: bytes)), auth: nil, timeout: .seconds(900),
      bodyBytesMax: 1 << 20, permissions: permissions)
    let fetcher = WebFetcher()
    async let answer = fetcher.fetch(request) { fraction in
      largest.withLock { $0 = max($0, fraction) }
      continuation.yield(fraction)
    }
    // While the server waits, only buffers take bytes.
    try await Task.sleep(for: .milliseconds(300))
    #expect(largest.withLock { $0 } < 0.25)
    var shares: [Double] = []
    var next = told.makeAsyncIterator()
    // The server has read nothing, so the sent bytes are only those in buffers, and far from all.
    for share in [0.3, 0.6, 0.9] {
      gate.read(bytes * 3 / 10)
      while let fraction = await next.next() {
        shares.append(fraction)
        // The fetcher continues only when the server does.
        if fraction >= share - 0.1 { break }
      }
      #expect((shares.last ?? 1) < share + 0.25)
    }
    gate.read(bytes / 10)
    gate.finish()
    #expect(try await answer.status == 200)
    #expect(shares == shares.sorted() && Set(shares).count >= 4)
    await fetcher.shutdown()
  }

  private func fetch(
    _ server: Server, method: String = "GET", timeout: Duration = .seconds(900),
    hosts: [String]? = nil, body: WebRequest.Body = .none,
    tell: @escaping @Sendable (Double) async -> Void = { _ in }
  ) async throws -> Result<WebAnswer, Failure> {
    try await fetch(
      port: server.port, method: method, timeout: timeout, hosts: hosts, body: body, tell: tell)
  }

  private func fetch(
    port: Int, method: String = "GET", timeout: Duration = .seconds(900),
    hosts: [String]? = nil, body: WebRequest.Body = .none,
    tell: @escaping @Sendable (Double) async -> Void = { _ in }
  ) async throws -> Result<WebAnswer, Failure> {
    let permissions = BundlePermissions(
      Bundle(
        id: "b", version: "1.0.0",
        permissions: Permissions(hosts: hosts ?? ["127.0.0.1:\(port)"])),
      folder: "/", home: "/")
    let fetcher = WebFetcher()
    let request = WebRequest(
      method: method, address: try WebAddress("http://127.0.0.1:\(port)/a/b"), headers: [],
      body: body, timeout: timeout, bodyBytesMax: 1 << 20, permissions: permissions)
    let result: Result<WebAnswer, Failure>
    do throws(Failure) {
      result = .success(try await fetcher.fetch(request, tell: tell))
    } catch {
      result = .failure(error)
    }
    await fetcher.shutdown()
    return result
  }

  private func code(_ result: Result<WebAnswer, Failure>) -> String? {
    if case .failure(let failure) = result { failure.code } else { nil }
  }

  @Test func `an answer has its status, content type, etag and body`() async throws {
    let server = try Server(
      "HTTP/1.1 201 Created\r\nContent-Type: text/x\r\nETag: \"e\"\r\nContent-Length: 2\r\n\r\nhi")
    #expect(
      try await fetch(server)
        == .success(
          WebAnswer(
            server: "127.0.0.1:\(server.port)", status: 201, contentType: "text/x", etag: "\"e\"",
            body: Array("hi".utf8))))
  }

  @Test(arguments: ["", "Content-Length: 1073741824\r\n"])
  func `an endless body is read only up to the limit`(header: String) async throws {
    let server = try Server(
      "HTTP/1.1 200 OK\r\n\(header)Connection: close\r\n\r\n",
      flood: [UInt8](repeating: 0x78, count: 1 << 16))
    let result = try await fetch(server)
    #expect(code(result) == "OUT_OF_RANGE")
    #expect(server.sent < 64 << 20)
  }

  @Test func `the progress of a large answer is reported`() async throws {
    let server = try Server(
      "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n",
      flood: [UInt8](repeating: 0x78, count: 1 << 16))
    let told = Mutex<[Double]>([])
    let result = try await fetch(server) { part in told.withLock { $0.append(part) } }
    guard case .success(let answer) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(answer.body.count == 1 << 20)
    expectProgress(told.withLock { $0 })
  }

  @Test func `the progress of a large request is reported, and all of it is sent`()
    async throws
  {
    let body = [UInt8](repeating: 0x78, count: 1 << 20)
    let server = try Server(
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", after: body.count)
    let told = Mutex<[Double]>([])
    let result = try await fetch(server, method: "PUT", body: .bytes(body)) { part in
      told.withLock { $0.append(part) }
    }
    let name = "127.0.0.1:\(server.port)"
    #expect(
      result == .success(WebAnswer(server: name, status: 200, body: Array("hi".utf8))))
    expectProgress(told.withLock { $0 })
  }

  private func expectProgress(_ told: [Double]) {
    #expect(!told.isEmpty && told == told.sorted())
    #expect(told.allSatisfy { (0...1).contains($0) })
  }

  @Test func `a server that does not listen is a failure at once, with the reason`() async throws {
    // A bound port without a listener, so that no other process gets the port.
    let (bound, port) = try boundToLoopback()
    defer { close(bound) }
    guard case .failure(let failure) = try await fetch(port: port) else {
      Issue.record("somebody answered")
      return
    }
    #expect(failure.code == "UNAVAILABLE")
    #expect(failure.message == "cannot reach 127.0.0.1:\(port): Connection refused")
  }

  @Test func `a silent server is waited for only until the timeout`() async throws {
    let server = try Server("")
    #expect(code(try await fetch(server, timeout: .milliseconds(100))) == "DEADLINE_EXCEEDED")
  }

  @Test func `a body without an end in time is not an answer`() async throws {
    let server = try Server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", flood: [])
    let result = try await fetch(server, timeout: .seconds(5))
    #expect(["DEADLINE_EXCEEDED", "UNAVAILABLE"].contains(code(result)))
  }

  @Test(arguments: [
    "http://127.0.0.2:1/", "http://127.0.0.1:1/", "//evil.example/", "file:///etc/passwd",
  ])
  func `a redirect that leads elsewhere is not followed`(location: String) async throws {
    let server = try Server(
      "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
    let code = code(try await fetch(server))
    #expect(code == "PERMISSION_DENIED" || code == "INVALID_ARGUMENT")
  }

  @Test(arguments: ["http://b.example/", "http://a.example:81/", "https://a.example/"])
  func `another server gets no credentials and no headers of the bundle`(target: String) throws {
    let names = ["Authorization", "X-Api-Key", "Cookie", "Accept", "content-type"]
    func request() throws -> WebRequest {
      WebRequest(
        method: "PUT", address: try WebAddress("http://a.example/"),
        headers: names.map { WebRequest.Header($0, "v") }, body: .none, timeout: .seconds(1),
        bodyBytesMax: 1,
        permissions: BundlePermissions(Bundle(id: "b", version: "1.0.0"), folder: "/", home: "/"))
    }
    var other = try request()
    other.redirect(to: try WebAddress(target), status: 307)
    #expect(other.headers.map(\.name) == ["Accept", "content-type"])
    var same = try request()
    same.redirect(to: try WebAddress("http://a.example/x"), status: 307)
    #expect(same.headers.map(\.name) == names)
  }

  @Test func `redirects in a circle come to an end`() async throws {
    let server = try Server(
      "HTTP/1.1 307 Again\r\nLocation: /a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    #expect(code(try await fetch(server)) == "FAILED_PRECONDITION")
  }

  @Test func `an answer that is not HTTP is a failure`() async throws {
    let server = try Server("SSH-2.0-OpenSSH_9.2\r\n")
    #expect(code(try await fetch(server)) == "UNAVAILABLE")
  }
}

/// A socket with a port of the loopback address that no other process has.
private func boundToLoopback() throws -> (socket: CInt, port: Int) {
  let bound = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isBound = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(bound, $0, size) == 0 && getsockname(bound, $0, &size) == 0
    }
  }
  try #require(isBound)
  return (bound, Int(UInt16(bigEndian: address.sin_port)))
}
