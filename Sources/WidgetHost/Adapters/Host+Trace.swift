import Glibc
import WidgetBundle
import WidgetModel

// Traces of bundles. A client asks with the event `trace` of a bundle's widget. The host answers
// with events `traced` of the same widget, which are lost if nobody listens.
extension Host {
  /// The maximum bytes of lines in one event. The daemon takes 64 KiB of payload.
  private static var traceBytesMax: Int { 32 << 10 }

  func startTrace(_ event: Event) {
    let prefix = HostState.provider(of: "")
    guard event.name == "trace", event.widgetID.rawValue.hasPrefix(prefix) else { return }
    var lease = Duration.seconds(10)
    if case .duration(let given)? = event.payload["lease"] { lease = given }
    let id = String(event.widgetID.rawValue.dropFirst(prefix.count))
    guard Host.mayTrace(event.origin, hostUID: geteuid()) else {
      let line = TraceLine(
        time: now.wall, widgetID: nil, subject: .bundle, name: id,
        text: "is traced only for root and for the user of widgetd-host")
      return keep([line], 0, of: id)
    }
    handle(state.trace(id, for: lease, at: now))
  }

  /// Whether the sender of the event may trace bundles: root, or the user of the host.
  static func mayTrace(_ origin: EventOrigin, hostUID: UInt32) -> Bool {
    origin.uid == 0 || origin.uid == hostUID
  }

  /// Keeps lines of a trace until the next `traced` event.
  func trace(_ generation: UInt64, _ lines: [TraceLine], _ dropped: Int) {
    guard let id = links[generation]?.bundle.id else { return }
    keep(lines, dropped, of: id)
  }

  private func keep(_ lines: [TraceLine], _ dropped: Int, of id: String) {
    guard !isStopped else { return }
    let room = max(0, options.limits.traceLinesMax - (traces[id]?.lines.count ?? 0))
    traces[id, default: ([], 0)].lines += lines.prefix(room)
    traces[id]?.dropped += dropped + max(0, lines.count - room)
    guard tracing == nil else { return }
    tracing = Task {
      while !self.traces.isEmpty {
        do { try await self.clock.sleep(for: self.options.limits.traceInterval) } catch { return }
        await self.tellTraces()
      }
      self.tracing = nil
    }
  }

  private func tellTraces() async {
    let all = traces
    traces = [:]
    for (id, trace) in all.sorted(by: { $0.key < $1.key }) {
      guard let widgetID = WidgetID(HostState.provider(of: id)) else { continue }
      var rest = trace.lines[...]
      var dropped = trace.dropped
      repeat {
        var bytes = 0
        let batch = rest.prefix { line in
          bytes += line.text.utf8.count + line.name.utf8.count + 256
          return bytes <= Host.traceBytesMax
        }
        rest = rest.dropFirst(max(1, batch.count))
        // A failure does not matter: the daemon is away, or nobody listens.
        try? await daemon.send(
          widgetID, name: "traced",
          payload: ["lines": .list(batch.map(\.value)), "dropped": .int(Int64(dropped))],
          force: true)
        dropped = 0
      } while !rest.isEmpty
    }
  }
}
