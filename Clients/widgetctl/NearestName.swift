import WidgetClient
import WidgetModel

/// "did you mean": the name that is nearest to one that the daemon does not know.
enum NearestName {
  /// The time limit for asking the daemon for names. A late answer is left out of the error
  /// message.
  private static let limit: Duration = .seconds(1)

  /// The failure with the nearest name, if there is one: of a widget, a kind or a node.
  ///
  /// - Parameter socket: the value of `--socket`.
  static func completed(_ failure: CommandFailure, socket: String?) async -> CommandFailure {
    guard let path = try? SocketPath.discover(explicit: socket) else { return failure }
    let client = WidgetClient(socketPath: path)
    let session = Session(
      client: client, options: CallOptions(timeout: limit),
      printer: Printer(format: .table, painter: Painter(usesColour: false), width: nil))
    var ids: [String] = []
    if failure.reason == "WIDGET_NOT_FOUND" { ids = await session.ids() }
    let nearest: String? =
      switch failure.reason {
      case "WIDGET_NOT_FOUND":
        await nearest(to: failure.metadata["widget_id"]) { ids }
      case "KIND_NOT_FOUND":
        await nearest(to: failure.metadata["kind"]) {
          ((try? await session.kinds())?.kinds ?? []).map(\.kind.name.rawValue)
        }
      case "NODE_NOT_FOUND":
        await nearest(to: failure.metadata["node_id"]) {
          await session.nodes(of: failure.metadata["widget_id"] ?? "")
        }
      default: nil
      }
    await client.close()
    if let text = bundleText(failure.metadata["widget_id"], among: ids) {
      return failure.saying(text)
    }
    return nearest.map { failure.suggesting($0) } ?? failure
  }

  /// The message for a missing widget that has the name of a bundle. Nil if there is no such
  /// bundle.
  static func bundleText(_ name: String?, among ids: [String]) -> String? {
    guard let name, !name.isEmpty, ids.contains("bundle/\(name)") else { return nil }
    return
      "there is no widget \"\(name)\", but a bundle with this id; `widgetctl bundle ls` shows whether it runs"
  }

  private static func nearest(
    to name: String?, among names: () async -> [String]
  ) async -> String? {
    guard let name, !name.isEmpty else { return nil }
    return name.closest(among: await names())
  }
}

extension Session {
  /// All ids; none if the daemon does not answer.
  func ids() async -> [String] {
    ((try? await list(Selector(), mask: .idsOnly))?.widgets ?? []).map(\.widget.id.rawValue)
  }

  /// The nodes that a widget shows; none if the daemon does not answer.
  fileprivate func nodes(of id: String) async -> [String] {
    guard let id = WidgetID(id) else { return [] }
    let answer = try? await client.getWidget(GetWidgetRequest(id: id), options: options)
    return (answer?.widget.content?.nodes ?? []).map(\.id)
  }
}
