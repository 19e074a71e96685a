public import WidgetProto

// Every method of the daemon's services. Protos/widgetd/v1 documents each method and its errors.

extension WidgetClient {
  /// Adds a widget.
  public func createWidget(
    _ request: CreateWidgetRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> CreateWidgetResponse {
    try await call(.createWidget, request, options)
  }

  /// Returns one widget.
  public func getWidget(
    _ request: GetWidgetRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetWidgetResponse {
    try await call(.getWidget, request, options)
  }

  /// Returns a page of widgets, in position order.
  public func listWidgets(
    _ request: ListWidgetsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ListWidgetsResponse {
    try await call(.listWidgets, request, options)
  }

  /// Changes data, parameters, labels or status of one widget.
  public func updateWidget(
    _ request: UpdateWidgetRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> UpdateWidgetResponse {
    try await call(.updateWidget, request, options)
  }

  /// Removes one widget.
  public func deleteWidget(
    _ request: DeleteWidgetRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> DeleteWidgetResponse {
    try await call(.deleteWidget, request, options)
  }

  /// Shows, hides, enables, disables or toggles widgets.
  public func setPresence(
    _ request: SetPresenceRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> SetPresenceResponse {
    try await call(.setPresence, request, options)
  }

  /// Changes a widget's place in the order.
  public func moveWidget(
    _ request: MoveWidgetRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> MoveWidgetResponse {
    try await call(.moveWidget, request, options)
  }

  /// Applies a declared set of widgets.
  public func applyWidgets(
    _ request: ApplyWidgetsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ApplyWidgetsResponse {
    try await call(.applyWidgets, request, options)
  }

  /// Sends an event to a widget.
  public func sendEvent(
    _ request: SendEventRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> SendEventResponse {
    try await call(.sendEvent, request, options)
  }

  /// Asks the providers of widgets for fresh data, and does not wait for it.
  public func refreshWidgets(
    _ request: RefreshWidgetsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> RefreshWidgetsResponse {
    try await call(.refreshWidgets, request, options)
  }

  /// The entries of a widget's timeline or schedule, from a time on.
  public func getTimeline(
    _ request: GetTimelineRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetTimelineResponse {
    try await call(.getTimeline, request, options)
  }

  /// The look of a kind, with its sample. Asks no provider.
  public func getPlaceholder(
    _ request: GetPlaceholderRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetPlaceholderResponse {
    try await call(.getPlaceholder, request, options)
  }

  /// The current content of an instance; its sample if its provider does not answer in time.
  public func getSnapshot(
    _ request: GetSnapshotRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetSnapshotResponse {
    try await call(.getSnapshot, request, options)
  }

  /// Adds a widget that is an activity.
  public func startActivity(
    _ request: StartActivityRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> StartActivityResponse {
    try await call(.startActivity, request, options)
  }

  /// Changes the state of an activity, and makes its widget fresh.
  public func updateActivity(
    _ request: UpdateActivityRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> UpdateActivityResponse {
    try await call(.updateActivity, request, options)
  }

  /// Changes the state of an activity for the last time.
  public func endActivity(
    _ request: EndActivityRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> EndActivityResponse {
    try await call(.endActivity, request, options)
  }

  /// Moves the clock of a daemon that runs with a fake one, or only asks for its time.
  public func setTime(
    _ request: SetTimeRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> SetTimeResponse {
    try await call(.setTime, request, options)
  }

  /// Applies a declared set of kinds, and makes their widgets fit, all or nothing.
  public func applyKinds(
    _ request: ApplyKindsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ApplyKindsResponse {
    try await call(.applyKinds, request, options)
  }

  /// Returns one kind.
  public func getKind(
    _ request: GetKindRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetKindResponse {
    try await call(.getKind, request, options)
  }

  /// Returns a page of kinds, by name.
  public func listKinds(
    _ request: ListKindsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ListKindsResponse {
    try await call(.listKinds, request, options)
  }

  /// Removes a kind. Its widgets stay.
  public func deleteKind(
    _ request: DeleteKindRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> DeleteKindResponse {
    try await call(.deleteKind, request, options)
  }

  /// Returns the theme: the values of the tokens in nodes' properties.
  public func getTheme(
    _ request: GetThemeRequest = GetThemeRequest(), options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetThemeResponse {
    try await call(.getTheme, request, options)
  }

  /// Changes the theme.
  public func updateTheme(
    _ request: UpdateThemeRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> UpdateThemeResponse {
    try await call(.updateTheme, request, options)
  }

  /// Installs a bundle in the folder that widgetd-host runs.
  public func installBundle(
    _ request: InstallBundleRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> InstallBundleResponse {
    try await call(.installBundle, request, options)
  }

  /// Lists the bundles in the folder of widgetd-host.
  public func listBundles(
    _ request: ListBundlesRequest = ListBundlesRequest(), options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ListBundlesResponse {
    try await call(.listBundles, request, options)
  }

  /// Deletes an installed bundle and its widgets.
  public func deleteBundle(
    _ request: DeleteBundleRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> DeleteBundleResponse {
    try await call(.deleteBundle, request, options)
  }

  /// Brings back a former version of a bundle, which an installation has replaced.
  public func rollbackBundle(
    _ request: RollbackBundleRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> RollbackBundleResponse {
    try await call(.rollbackBundle, request, options)
  }

  /// Changes the user's values for the settings of a bundle, and lists all its settings.
  public func setBundleDefaults(
    _ request: SetBundleDefaultsRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> SetBundleDefaultsResponse {
    try await call(.setBundleDefaults, request, options)
  }

  /// Returns the changes that installing a bundle would make.
  public func diffBundle(
    _ request: DiffBundleRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> DiffBundleResponse {
    try await call(.diffBundle, request, options)
  }

  /// Adds a piece to a blob, or begins one; see `upload`.
  public func uploadBlob(
    _ request: UploadBlobRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> UploadBlobResponse {
    try await call(.uploadBlob, request, options)
  }

  /// Reads a piece of a blob; see `blob`.
  public func readBlob(
    _ request: ReadBlobRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ReadBlobResponse {
    try await call(.readBlob, request, options)
  }

  /// Deletes a blob. Succeeds if there is no such blob.
  public func deleteBlob(
    _ request: DeleteBlobRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> DeleteBlobResponse {
    try await call(.deleteBlob, request, options)
  }

  /// Ends a stream of the same user; `subscription_id` came with its `opened` frame.
  public func unsubscribe(
    _ request: UnsubscribeRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> UnsubscribeResponse {
    try await call(.unsubscribe, request, options)
  }

  /// Asks a watch of widgets of the same user for a progress frame.
  public func requestProgress(
    _ request: RequestProgressRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> RequestProgressResponse {
    try await call(.requestProgress, request, options)
  }

  /// Returns counters, gauges, and the limits in force.
  public func getStats(
    _ request: GetStatsRequest = GetStatsRequest(), options: CallOptions = CallOptions()
  ) async throws(ClientError) -> GetStatsResponse {
    try await call(.getStats, request, options)
  }

  /// Has the daemon read its configuration again.
  public func reload(
    _ request: ReloadRequest = ReloadRequest(), options: CallOptions = CallOptions()
  ) async throws(ClientError) -> ReloadResponse {
    try await call(.reload, request, options)
  }

  /// Changes the daemon's log level until the next reload or restart.
  public func setLogLevel(
    _ request: SetLogLevelRequest, options: CallOptions = CallOptions()
  ) async throws(ClientError) -> SetLogLevelResponse {
    try await call(.setLogLevel, request, options)
  }

  /// Returns whether a service can be used; an empty name asks for the daemon as a whole.
  public func checkHealth(
    _ request: HealthCheckRequest = HealthCheckRequest(), options: CallOptions = CallOptions()
  ) async throws(ClientError) -> HealthCheckResponse {
    try await call(.checkHealth, request, options)
  }

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
