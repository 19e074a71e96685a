import Synchronization
import WidgetModel

extension BundleRemote {
  /// The time after which a command reports that it waits for the host. After each further such time,
  /// it reports the host again if its state has changed.
  private static let patience = Duration.seconds(3)

  /// The last note, of all calls of the command.
  private static let lastNote = Mutex<String?>(nil)

  /// Makes a call that the host answers, with notes on standard error while the command waits.
  static func noting<T, E: Error>(
    _ global: GlobalOptions, _ call: () async throws(E) -> T
  ) async throws(E) -> T {
    let notes = Task { await note(global) }
    defer { notes.cancel() }
    return try await call()
  }

  private static func note(_ global: GlobalOptions) async {
    while (try? await Task.sleep(for: patience)) != nil {
      let words = waiting(for: await BundleHost.ask(global))
      guard !Task.isCancelled, let words else { continue }
      let isNews = lastNote.withLock { last in
        defer { last = words }
        return last != words
      }
      if isNews { Output.writeError("widgetctl: \(words.safeForTerminal)\n") }
    }
  }

  /// The note about the host that has not answered yet. Nil if the error of the call says enough, or
  /// if the daemon does not answer.
  static func waiting(for host: BundleHost) -> String? {
    switch host {
    case .running: "widgetd-host has not answered yet; waiting for it"
    case .silent(let process, _): "\(process.words("widgetd-host")); waiting for it"
    case .returning, .missing, .unknown: nil
    }
  }
}
