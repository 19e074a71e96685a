import Testing

@testable import widgetctl

/// The files of one event.
struct UploadTests {
  private struct Refused: Error {}

  @Test func `the blobs of files are in the order of the files`() async throws {
    var deleted: [String] = []
    let blobs = try await Upload.all(["b", "a"], upload: { "blob of \($0)" }) { deleted.append($0) }
    #expect(blobs == ["blob of b", "blob of a"])
    #expect(deleted == [])
  }

  @Test func `the files before a failed upload are deleted, and the later ones are not uploaded`()
    async throws
  {
    var tried: [String] = []
    var deleted: [String] = []
    await #expect(throws: Refused.self) {
      _ = try await Upload.all(["a", "b", "c", "d"]) { path in
        tried.append(path)
        if path == "c" { throw Refused() }
        return "blob of \(path)"
      } delete: {
        deleted.append($0)
      }
    }
    #expect(tried == ["a", "b", "c"])
    #expect(deleted == ["blob of a", "blob of b"])
  }
}
