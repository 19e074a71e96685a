import WidgetClient
import WidgetModel

/// The problem of a daemon's store that takes no changes, so that widgets may be old.
struct StoreTrouble: Hashable, Sendable {
  /// The cause. Nil if this user may not see it.
  var failure: StoreFailure?

  init(_ failure: StoreFailure? = nil) { self.failure = failure }

  /// Asks the daemon. Nil if its store takes changes, or if the daemon does not report it.
  static func ask(_ client: WidgetClient, _ options: CallOptions) async -> StoreTrouble? {
    let request = HealthCheckRequest(service: HealthCheckRequest.store)
    let health = try? await client.checkHealth(request, options: options)
    // A daemon that shuts down reports all services as not serving.
    guard health?.status == .notServing,
      (try? await client.checkHealth(options: options))?.status == .serving
    else { return nil }
    return StoreTrouble(try? await client.getStats(options: options).storeFailure)
  }

  /// `widgetd cannot store changes since …: /var/lib/…: no space left; …`
  var text: String {
    guard let failure else {
      return "widgetd cannot store changes; its owner and root see why with `widgetctl status`"
    }
    return "\(failure.loss) since \(RFC3339.text(failure.since.wholeSeconds)): \(failure.message)"
  }
}

extension Session {
  /// Warns on standard error if the daemon's store takes no changes, because the printed values may
  /// be old.
  @discardableResult
  func warnOfStore() async -> StoreTrouble? {
    guard let trouble = await StoreTrouble.ask(client, options) else { return nil }
    Output.writeError("widgetctl: \(trouble.text.safeForTerminal); widgets may be old\n")
    return trouble
  }
}
