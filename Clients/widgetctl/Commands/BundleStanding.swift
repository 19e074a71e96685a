import Glibc
import WidgetClient
import WidgetModel

/// How a bundle stands that a host runs, as the widget says that tells of it.
struct BundleStanding: Hashable, Sendable {
  let state: String
  let problem: String
  let failures: Value
  /// How many widgets of its kinds others made, and the first of these.
  var others = 0
  var othersFirst: [String] = []

  var isBad: Bool { state != "running" }

  /// On one line: `failing: widget note: Feed failed: no answer (since …)`, `running, +2 of others: a, b`
  var text: String {
    let more = others > othersFirst.count ? ", …" : ""
    let list = othersFirst.joined(separator: ", ") + more
    return standing + (others > 0 ? ", +\(others) of others: \(list)" : "")
  }

  private var standing: String {
    let lines = problem.split(whereSeparator: \.isNewline)
    let more = lines.count > 1 ? " (and \(lines.count - 1) more)" : ""
    return lines.first.map { "\(state): \($0)\(more)" } ?? state
  }

  /// All that the daemon knows of, by the bundle's folder; none if it cannot be asked.
  static func all(_ global: GlobalOptions) async -> [String: BundleStanding] {
    guard let kind = KindName("bundle"),
      let path = try? SocketPath.discover(explicit: global.socket),
      let answer = try? await WidgetClient(socketPath: path).listWidgets(
        ListWidgetsRequest(selector: Selector(kinds: [kind]), pageSize: 1000),
        options: CallOptions(timeout: global.limit ?? .seconds(3)))
    else { return [:] }
    var standings: [String: BundleStanding] = [:]
    for widget in answer.widgets.map(\.widget) {
      func text(_ key: String) -> String {
        if case .string(let text)? = widget.data[key] { text } else { "" }
      }
      func number(_ key: String) -> Int {
        if case .int(let number)? = widget.data[key] { Int(clamping: number) } else { 0 }
      }
      func texts(_ key: String) -> [String] {
        guard case .list(let list)? = widget.data[key] else { return [] }
        return list.compactMap { if case .string(let text) = $0 { text } else { nil } }
      }
      standings[text("path")] = BundleStanding(
        state: text("state"), problem: text("problem"),
        failures: widget.data["failures"] ?? .list([]), others: number("others"),
        othersFirst: texts("othersFirst"))
    }
    return standings
  }

  /// A file's folder without symbolic links, as the host calls it.
  static func folder(ofFile file: String) -> String? {
    guard let resolved = realpath(file, nil) else { return nil }
    defer { free(resolved) }
    let path = String(cString: resolved)
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}
