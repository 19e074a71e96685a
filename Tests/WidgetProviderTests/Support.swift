import Foundation
import Logging
import Testing
import WidgetClient
import WidgetModel
import WidgetServer
import WidgetStorage

/// Waits until a widget fulfils the condition.
func until(
  _ name: String, in client: WidgetClient, isPassive: Bool = false,
  _ condition: @escaping @Sendable (Widget) -> Bool
) async throws {
  let id = try #require(WidgetID(name))
  var mirror = WidgetMirror()
  for try await frame in client.watch(
    WatchOptions(selector: Selector(ids: [id]), isPassive: isPassive))
  {
    _ = try mirror.apply(frame)
    if let widget = mirror[id], condition(widget) { return }
  }
}

/// Runs a test against a daemon in the same process.
func withDaemon(
  limits: ServerLimits = ServerLimits(), _ body: (WidgetClient) async throws -> Void
) async throws {
  let folder = FileManager.default.temporaryDirectory.path + "/runner-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let server = try await WidgetServer.start(
    .init(socketPath: folder + "/s", policy: .current(clientGID: nil), limits: limits),
    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
    makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
  let client = WidgetClient(socketPath: folder + "/s")
  let outcome: Result<Void, any Error>
  do {
    try await body(client)
    outcome = .success(())
  } catch {
    outcome = .failure(error)
  }
  await client.close()
  try await server.stop()
  try outcome.get()
}
