import Glibc
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Messages with many expressions, and a server on which their compilation takes long.
enum LargeKinds {
  static let catalog = "widgetd.v1.CatalogService"
  static let uid = geteuid()

  static func kind(_ name: String, expression: String = "data.n + 1") throws -> Kind {
    Kind(
      name: try .make(name), isOpen: true,
      reducers: (0..<256).map {
        Reducer(event: "event\($0)", assignments: ["field\($0)": "\(expression) > 1 ? 2 : 3"])
      })
  }

  static func kinds(_ prefix: String = "k", count: Int = 12) throws -> [Kind] {
    try (0..<count).map { try kind("\(prefix)\($0)") }
  }

  static func request(
    _ kinds: [Kind], provider: String = "desk", isDryRun: Bool = false
  ) -> ApplyKindsRequest {
    ApplyKindsRequest(provider: provider, kinds: kinds, validateOnly: isDryRun)
  }

  /// The memory of a call that waits for its kinds.
  static func waitingBytes(_ request: ApplyKindsRequest) async throws -> Int {
    try await withServer { server in
      try server.hold()
      let client = try server.connect()
      try client.declare(request)
      try server.awaitCompilation()
      return try withExtendedLifetime(client) { try server.preparationBytes() }
    }
  }
}

/// The clock of a slow machine: each look at it takes a second.
final class SlowClock {
  private var now = NIODeadline.uptimeNanoseconds(1)

  func look() -> NIODeadline {
    now = now + .seconds(1)
    return now
  }
}

extension TestServer {
  /// Lets messages with kinds wait until `goOn`.
  func hold() throws { try onLoop { $0.preparations.stepsMax = 0 } }

  /// Lets messages with kinds go on, one step in each pass of the loop.
  func goOn() throws {
    try onLoop { service in
      let clock = SlowClock()
      service.context.work.clock = { clock.look() }
      service.preparations.stepsMax = .max
    }
  }

  /// The memory of the messages whose kinds are being compiled.
  func preparationBytes() throws -> Int {
    try onLoop { $0.preparations.bytes(of: LargeKinds.uid) }
  }

  /// Waits until messages whose kinds are being compiled have so much memory.
  func awaitCompilation(bytes: Int = 1) throws {
    try eventually { $0.preparations.bytes(of: LargeKinds.uid) >= bytes }
  }

  /// Whether kinds are being compiled, and none is registered.
  func isCompiling() throws -> Bool {
    try onLoop { service in
      service.preparations.bytes(of: LargeKinds.uid) > 0 && service.context.store.kindCount == 0
    }
  }
}

extension RawClient {
  /// Sends a call that declares kinds, and does not wait.
  @discardableResult
  func declare(_ request: ApplyKindsRequest) throws -> UInt32 {
    try start("ApplyKinds", request, service: LargeKinds.catalog)
  }
}
