import Testing
import WidgetClient

@Suite struct SocketPathTests {
  private static let user = "/run/user/7/widgetd/widgetd.sock"
  private static let system = "/run/widgetd/widgetd.sock"

  /// The named path, the existing files, and the chosen path.
  @Test(
    arguments: [
      ("/x", ["WIDGETD_SOCKET": "/y", "XDG_RUNTIME_DIR": "/run/user/7"], [user, system], "/x"),
      ("unix:/x", [:], [], "/x"),
      ("unix:///x", [:], [], "/x"),
      ("unix:relative", [:], [], "relative"),
      (nil, ["WIDGETD_SOCKET": "unix:/y"], [system], "/y"),
      (nil, ["WIDGETD_SOCKET": "", "XDG_RUNTIME_DIR": ""], [system], system),
      ("", ["WIDGETD_SOCKET": "/y"], [], "/y"),
      (nil, ["XDG_RUNTIME_DIR": "/run/user/7"], [user, system], user),
      (nil, ["XDG_RUNTIME_DIR": "/run/user/7"], [system], system),
      (nil, [:], [user, system], system),
    ] as [(String?, [String: String], [String], String)])
  func `the first socket path that is named or exists is used`(
    explicit: String?, environment: [String: String], files: [String], expected: String
  ) throws {
    let found = try SocketPath.discover(
      explicit: explicit, environment: { environment[$0] }, exists: files.contains)
    #expect(found == expected)
  }

  @Test func `if there is no socket, the error has the paths that were tried`() {
    #expect(
      throws: ClientError.socketNotFound(tried: [SocketPathTests.user, SocketPathTests.system])
    ) {
      try SocketPath.discover(
        environment: { ["XDG_RUNTIME_DIR": "/run/user/7"][$0] }, exists: { _ in false })
    }
    let text = "\(ClientError.socketNotFound(tried: ["/a", "/b"]))"
    #expect(text.contains("/a, /b"))
    #expect(text.contains("WIDGETD_SOCKET"))
  }

  @Test func `the file system and the environment of the process are asked by default`() {
    #expect(SocketPath.isThere("/"))
    #expect(!SocketPath.isThere("/there is no such file"))
    #expect(SocketPath.ofProcess("PATH") != nil)
    #expect(SocketPath.ofProcess("WIDGETD_NO_SUCH_VARIABLE") == nil)
  }
}
