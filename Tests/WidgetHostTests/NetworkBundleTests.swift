import Foundation
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The rates of the bundle `network`, and the time of expressions that does not follow the clock.
struct NetworkBundleTests {
  private static let bundle = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Clients/bundles/network/bundle.yaml").standardized

  /// Answers the readings of both files that are under way.
  private func answer(_ scene: inout Scene, received: Int, sent: Int) throws {
    var isRead = false
    while let file = scene.fileRequest() {
      guard file.request.path == "/proc/net/dev" else {
        try scene.print(file.id, "eth0 00000000 0102A8C0 0003 0 0 100 00000000 0 0 0\n")
        continue
      }
      isRead = true
      try scene.print(
        file.id,
        """
        Inter-|   Receive                 |  Transmit
         face |bytes packets errs drop fifo frame compressed multicast|bytes packets
            lo: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0
          eth0: \(received) 1 0 0 0 0 0 0 \(sent) 1 0 0 0 0 0 0

        """)
    }
    try #require(isRead)
  }

  @Test(arguments: [0, 1, -1, 3_600, -3_600])
  func `the rates of the bundle network do not follow the clock`(seconds: Int) throws {
    let text = try String(contentsOf: NetworkBundleTests.bundle, encoding: .utf8)
    var scene = try Scene(try BundleReader.read(text))
    // The interface is known after the first reading of the routes.
    try answer(&scene, received: 1_000, sent: 2_000)
    scene.pass(.seconds(2))
    try answer(&scene, received: 1_000, sent: 2_000)
    #expect(scene["name"] == .string("eth0"))
    scene.time.wall = scene.time.wall.advanced(by: .seconds(seconds))
    scene.pass(.seconds(2))
    try answer(&scene, received: 5_000, sent: 2_200)
    #expect(scene["rates"] == .list([.double(2_000), .double(100)]))
  }

  @Test func `a reading of an earlier start of the machine gives no rate`() throws {
    let text = try String(contentsOf: NetworkBundleTests.bundle, encoding: .utf8)
    var scene = try Scene(try BundleReader.read(text))
    scene.time.machine = .seconds(900)
    try answer(&scene, received: 1_000, sent: 2_000)
    scene.pass(.seconds(2))
    scene.time.machine = .seconds(901)
    try answer(&scene, received: 1_000, sent: 2_000)
    // The machine has started 4 s ago.
    scene.pass(.seconds(2))
    try answer(&scene, received: 5_000, sent: 2_200)
    #expect(scene["rates"] == .list([]))
  }

  @Test func `the time since the start of the machine does not go back`() {
    let first = Duration.sinceMachineStart()
    #expect(first > .zero)
    #expect(first <= Duration.sinceMachineStart())
  }

  @Test func `an expression reads the time since the start of the machine, not of the host`() throws
  {
    var scene = try Scene(
      """
      data: {n: 0}
      on: {go: [{set: {n: uptime.getSeconds()}}]}
      """)
    scene.time.machine = .seconds(900)
    try scene.event("go")
    #expect(scene["n"] == .int(900))
  }
}
