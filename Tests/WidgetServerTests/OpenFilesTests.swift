import Testing

@testable import WidgetServer

@Suite struct `The parts of the open files` {
  @Test(
    arguments: [
      (1_024, 8_192, 1_024, 312, 208), (17_600, 8_192, 1_024, 8_192, 1_024),
      (17_599, 8_192, 1_024, 8_191, 1_024), (32_768, 8_192, 1_024, 8_192, 1_024),
      (1_416, 100, 1_024, 100, 1_024), (1_024, 100, 1_024, 100, 632), (64, 8_192, 10, 19, 10),
      (.max, 8_192, 1_024, 8_192, 1_024),
    ] as [(Int, Int, Int, Int, Int)])
  func `connections and blobs have a part each, and all of their limits if there are enough files`(
    allowed: Int, connectionsMax: Int, blobsMax: Int, connections: Int, blobs: Int
  ) {
    let files = OpenFiles(allowed: allowed)
    let limits = ServerLimits.with {
      $0.connectionsMax = connectionsMax
      $0.blobsMax = blobsMax
    }
    #expect(files.connections(limits) == connections)
    #expect(files.blobs(limits) == blobs)
    #expect(
      (files.shortage(limits) == nil) == (connections == connectionsMax && blobs == blobsMax))
  }

  @Test func `the highest limits have a number of needed files`() {
    let limits = ServerLimits.with {
      $0.connectionsMax = .max
      $0.blobsMax = .max
    }
    #expect(OpenFiles(allowed: 1_024).connections(limits) == 312)
    #expect(OpenFiles(allowed: 1_024).shortage(limits)?.needed == 192 + (3 << 40))
  }

  @Test func `the daemon warns only of files that are too few for the limits`() throws {
    let limits = ServerLimits()
    let shortage = try #require(OpenFiles(allowed: 1_024).shortage(limits))
    #expect(OpenFiles(allowed: shortage.needed).warning(limits) == nil)
    #expect(OpenFiles(allowed: shortage.needed - 1).warning(limits) != nil)
    #expect(
      OpenFiles(allowed: 1_024).warning(limits)
        == "the system allows the daemon only 1024 open files; so it takes at most 312 connections "
        + "(connections_max = 8192) and 208 blobs of clients (blobs_max = 1024); raise "
        + "LimitNOFILE= of the daemon's unit, or `ulimit -n` of its shell, to at least 17600")
  }
}
