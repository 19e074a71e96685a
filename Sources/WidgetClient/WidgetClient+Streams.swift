public import WidgetModel
package import WidgetProto

// The streams. `scripts/generate` generates the other methods in `WidgetClient+Calls.swift`.

extension WidgetClient {
  /// Opens a session as the provider of kinds, and keeps it open across lost connections.
  ///
  /// - Parameters:
  ///   - provider: the owner of the kinds; an id's alphabet, 1 to 128 characters. A provider has
  ///     one session at a time.
  ///   - kinds: the provider's kinds.
  public func provide(
    _ provider: String, kinds: [Kind], options: ProviderOptions = ProviderOptions()
  ) -> ProviderSession {
    let session = ProviderSession(
      client: self, provider: provider, kinds: kinds, options: options)
    session.start()
    return session
  }

  /// Begins one session of a provider, without help: the client declares nothing, sends no sign of
  /// life, and opens no session again.
  package func provideOnce(
    _ opening: ProvideRequest
  ) async throws(ClientError) -> Conversation<ProvideRequest, ProvideResponse> {
    try await converse(.provide, opening, metadata: [])
  }

  /// Watches widgets: a snapshot, then every change, across lost connections.
  public func watch(_ options: WatchOptions = WatchOptions()) -> Watch {
    Watch(options: options, client: self)
  }

  /// Watches events, across lost connections.
  public func watchEvents(_ options: WatchEventsOptions = WatchEventsOptions()) -> EventWatch {
    EventWatch(options: options, client: self)
  }
}
