import Glibc
import WidgetBundle
import WidgetModel

// Traces of bundles. A client asks with the event `trace` of a bundle's widget. The host answers
// with events `traced` of the same widget, which are lost if nobody listens.
extension Host {
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
    traces[id]?.dropped += tracesRefused.removeValue(forKey: id) ?? 0
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
      for batch in TraceLine.batches(
        trace.lines, dropped: trace.dropped, bytesMax: options.limits.traceEventBytesMax)
      {
        do throws(Failure) {
          _ = try await daemon.send(
            widgetID, name: "traced",
            payload: [
              "lines": .list(batch.lines.map(\.value)), "dropped": .int(Int64(batch.dropped)),
            ], force: true)
        } catch {
          // Lines are lost if the event is refused, or while the daemon is away. They count as dropped
          // in the next event.
          tracesRefused[id, default: 0] += batch.lines.count + batch.dropped
        }
      }
    }
  }
}
