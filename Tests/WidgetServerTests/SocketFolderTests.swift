import Testing

@testable import WidgetServer

@Suite struct SocketFolderTests {
  @Test func `a folder that the lock creates is named, for the log`() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/new/s"
    #expect(try SocketLock(socketPath: path).createdFolder == "\(folder.path)/new")
    #expect(try SocketLock(socketPath: path).createdFolder == nil)
    #expect(throws: SocketError.self) {
      try SocketLock(socketPath: "\(folder.path)/two/levels/s")
    }
  }
}
