import Glibc
import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

/// `status` and `doctor` with a daemon that takes connections and never answers, as after SIGSTOP.
struct SilentDaemonTests {
  @Test func `a daemon that does not answer is asked once`() async throws {
    let daemon = try SilentDaemon()
    defer { daemon.remove() }
    // On a machine that stops meanwhile, the connection itself is too late. The next round has more time.
    for limit: Duration in [.milliseconds(100), .seconds(2), .seconds(60)] {
      let facts = await Facts.gather(socket: daemon.path, timeout: limit)
      let count = daemon.takeConnections()
      guard facts.connection != .failed(.timedOut) else { continue }
      // The question, and the connection that finds the process.
      #expect(count == 2)
      let words = "does not answer within \(DurationSyntax.seconds(limit))"
      #expect(facts.trouble?.found.contains(words) == true, "\(facts.connection)")
      return
    }
    Issue.record("no connection in time")
  }

  @Test func `status asks nothing more after an attempt to connect without an answer`() async throws
  {
    let daemon = try SilentDaemon()
    defer { daemon.remove() }
    let silence = ClientError.deadlineExceeded(.seconds(3))
    _ = await Facts.gather(socket: daemon.path, timeout: nil, connection: .mute(silence))
    // The connection that finds the process.
    #expect(daemon.takeConnections() == 1)
  }
}

/// A socket that listens, in a folder of the test. Nobody reads from its connections.
private struct SilentDaemon {
  let path: String
  private let folder: String
  private let descriptor: CInt

  init() throws {
    folder = try #require(mkdtemp(strdup("/tmp/widgetd-test-XXXXXX")).map { String(cString: $0) })
    path = "\(folder)/s"
    descriptor = socket(
      AF_UNIX,
      Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(descriptor, 16) == 0)
  }

  /// The number of connections so far.
  func takeConnections() -> Int {
    var count = 0
    while case let connection = accept(descriptor, nil, nil), connection >= 0 {
      close(connection)
      count += 1
    }
    return count
  }

  func remove() {
    close(descriptor)
    unlink(path)
    rmdir(folder)
  }
}
