public import WidgetCore

/// Every limit of the daemon that is not the store's. A limit is reached when one more would exceed
/// it.
public struct ServerLimits: Hashable, Sendable {
  public var store = StoreLimits()
  /// How many connections there may be.
  public var connectionsMax = 8_192
  /// How many connections one user may have.
  public var connectionsPerUIDMax = 4_096
  /// How many connections those may have, all together, who may only ask for health.
  public var connectionsUnauthorizedMax = 256
  /// How many of these connections one user may have.
  public var connectionsUnauthorizedPerUIDMax = 32
  /// How long such a connection may be open, in milliseconds.
  public var unauthorizedMilliseconds = 10_000
  /// How long a connection may be open without having sent anything, in milliseconds.
  public var firstByteMilliseconds = 60_000
  /// How many bytes of requests that have not arrived completely clients may have, all together.
  public var incompleteBytesMax = 256 << 20
  /// How many of these bytes one user may have.
  public var incompleteBytesPerUIDMax = 64 << 20
  /// How many of these bytes those may have, all together, who may only ask for health.
  public var incompleteBytesUnauthorizedMax = 1 << 20
  /// How long a request may take to arrive, from its first byte to its last, in milliseconds.
  public var requestMilliseconds = 30_000
  /// How many streams one connection may have open.
  public var streamsPerConnectionMax = 1_024
  /// How many bytes of metadata a call over gRPC may have, as HTTP/2 counts them.
  public var metadataBytesMax = 16 << 10
  /// How many streams a gRPC connection may reset within half a minute.
  public var streamResetsMax = 10_000
  /// How many streams one user may have open.
  public var subscriptionsPerUIDMax = 16_384
  /// How many providers of one user may have a session.
  public var providersPerUIDMax = 256
  /// How many events a provider is sent without having acknowledged them.
  public var providerEventsUnacknowledgedMax = 64
  /// How many widgets a provider may change at once.
  public var providerUpdatesMax = 4_096
  /// The delay between the loss of a widget's last watcher and `detached`, in milliseconds.
  public var audienceLingerMilliseconds = 5_000
  /// How large the content of an installed bundle may be, in bytes: the host gets it in one frame.
  public var bundleArchiveBytesMax = 3 << 20
  /// How many calls about bundles may wait for the host.
  public var bundleCallsMax = 16
  /// How many of these calls may come from callers who are not owners. The rest is for owners.
  public var bundleCallsOfClientsMax = 4
  /// How long a call about bundles waits for the host at most, in seconds.
  public var bundleCallSeconds = 60
  /// How many ids, kinds, families, label conditions and mask paths one watch may name.
  public var selectorTermsMax = 1_024
  /// How large a frame of a stream may grow before it is split, in bytes.
  public var frameBytesTarget = 64 << 10
  /// How many widgets may have changed for a late reader to get all of it in one go; beyond, it
  /// gets them a chunk at a time, as fast as it reads.
  public var eagerChangesMax = 512
  /// How many bytes of state those widgets may have for that.
  public var eagerBytesMax = 256 << 10
  /// The least time between two rounds of change frames. What happens in between is conflated.
  public var frameIntervalMicroseconds = 1_000
  /// How many widgets a page of ListWidgets may have.
  public var pageSizeMax = 1_000
  /// How many a page has if the request does not say.
  public var pageSizeDefault = 100
  /// How large a page may grow, in bytes of widget state.
  public var pageBytesMax = 1 << 20
  /// How many bytes a blob may have.
  public var blobBytesMax = 16 << 20
  /// How many bytes the blobs of one user may have together.
  public var blobBytesPerUIDMax = 64 << 20
  /// How many blobs one user may have.
  public var blobsPerUIDMax = 64
  /// How often RefreshWidgets may ask about widgets of one kind, in an hour, if the kind says nothing.
  public var refreshesPerHourMax = 600
  /// How long the daemon keeps a blob that nobody uses, in seconds.
  public var blobIdleSeconds = 600
  /// The least interval of progress frames, in milliseconds.
  public var progressIntervalMillisecondsMin = 100
  /// How long open streams may take to drain at shutdown, in milliseconds.
  public var drainMilliseconds = 2_000

  public init() {}

  /// How high some limits may be set at most: what they bound has to fit in a frame.
  public static let ceilings: [String: Int] = [
    "widget_bytes_max": 3 << 20, "page_bytes_max": 2 << 20, "frame_bytes_target": 2 << 20,
    "event_payload_bytes_max": 1 << 20, "metadata_bytes_max": 64 << 10,
    "bundle_archive_bytes_max": 3 << 20, "theme_overrides_max": 8_192,
    "value_depth_max": 16,
  ]

  /// Every limit by its name, for `GetStats` and the configuration.
  public static let names:
    [(name: String, path: any WritableKeyPath<ServerLimits, Int> & Sendable)] = [
      ("widgets_max", \.store.widgetsMax),
      ("widgets_per_uid_max", \.store.widgetsPerUIDMax),
      ("state_bytes_per_uid_max", \.store.stateBytesPerUIDMax),
      ("content_bytes_per_uid_max", \.store.contentBytesPerUIDMax),
      ("family_content_bytes_max", \.store.familyContentBytesMax),
      ("widget_bytes_max", \.store.widgetBytesMax),
      ("keys_per_widget_max", \.store.keysPerWidgetMax),
      ("key_bytes_max", \.store.keyBytesMax),
      ("labels_per_widget_max", \.store.labelsPerWidgetMax),
      ("value_depth_max", \.store.valueDepthMax),
      ("event_payload_bytes_max", \.store.eventPayloadBytesMax),
      ("events_kept_max", \.store.eventsKeptMax),
      ("event_bytes_kept_max", \.store.eventBytesKeptMax),
      ("tombstones_max", \.store.tombstonesMax),
      ("requests_kept_max", \.store.requestsKeptMax),
      ("request_bytes_kept_max", \.store.requestBytesKeptMax),
      ("request_id_bytes_max", \.store.requestIDBytesMax),
      ("declared_widgets_max", \.store.declaredWidgetsMax),
      ("kinds_max", \.store.kindsMax),
      ("kind_bytes_max", \.store.kindBytesMax),
      ("kind_memory_bytes_max", \.store.kindMemoryBytesMax),
      ("kind_memory_bytes_per_uid_max", \.store.kindMemoryBytesPerUIDMax),
      ("theme_overrides_max", \.store.themeOverridesMax),
      ("reducers_per_kind_max", \.store.reducersPerKindMax),
      ("event_cost_max", \.store.eventCostMax),
      ("content_nodes_max", \.store.contentNodesMax),
      ("content_bytes_max", \.store.contentBytesMax),
      ("content_cost_max", \.store.contentCostMax),
      ("content_cost_per_command_max", \.store.contentCostPerCommandMax),
      ("timeline_entries_max", \.store.timelineEntriesMax),
      ("timeline_refresh_floor_seconds", \.store.timelineRefreshFloorSeconds),
      ("activity_state_bytes_max", \.store.activityStateBytesMax),
      ("activity_lifetime_seconds_max", \.store.activityLifetimeSecondsMax),
      ("activity_dismissal_seconds_max", \.store.activityDismissalSecondsMax),
      ("refreshes_per_hour_max", \.refreshesPerHourMax),
      ("connections_max", \.connectionsMax),
      ("connections_per_uid_max", \.connectionsPerUIDMax),
      ("connections_unauthorized_max", \.connectionsUnauthorizedMax),
      ("connections_unauthorized_per_uid_max", \.connectionsUnauthorizedPerUIDMax),
      ("unauthorized_milliseconds", \.unauthorizedMilliseconds),
      ("first_byte_milliseconds", \.firstByteMilliseconds),
      ("incomplete_bytes_max", \.incompleteBytesMax),
      ("incomplete_bytes_per_uid_max", \.incompleteBytesPerUIDMax),
      ("incomplete_bytes_unauthorized_max", \.incompleteBytesUnauthorizedMax),
      ("request_milliseconds", \.requestMilliseconds),
      ("streams_per_connection_max", \.streamsPerConnectionMax),
      ("metadata_bytes_max", \.metadataBytesMax),
      ("stream_resets_max", \.streamResetsMax),
      ("subscriptions_per_uid_max", \.subscriptionsPerUIDMax),
      ("providers_per_uid_max", \.providersPerUIDMax),
      ("provider_events_unacknowledged_max", \.providerEventsUnacknowledgedMax),
      ("provider_updates_max", \.providerUpdatesMax),
      ("audience_linger_milliseconds", \.audienceLingerMilliseconds),
      ("bundle_archive_bytes_max", \.bundleArchiveBytesMax),
      ("bundle_calls_max", \.bundleCallsMax),
      ("bundle_calls_of_clients_max", \.bundleCallsOfClientsMax),
      ("bundle_call_seconds", \.bundleCallSeconds),
      ("selector_terms_max", \.selectorTermsMax),
      ("selector_cost_max", \.store.selectorCostMax),
      ("scan_cost_max", \.store.scanCostMax),
      ("selector_expression_bytes_max", \.store.selectorExpressionBytesMax),
      ("blob_bytes_max", \.blobBytesMax),
      ("blob_bytes_per_uid_max", \.blobBytesPerUIDMax),
      ("blobs_per_uid_max", \.blobsPerUIDMax),
      ("blob_idle_seconds", \.blobIdleSeconds),
      ("frame_bytes_target", \.frameBytesTarget),
      ("eager_changes_max", \.eagerChangesMax),
      ("eager_bytes_max", \.eagerBytesMax),
      ("frame_interval_microseconds", \.frameIntervalMicroseconds),
      ("page_size_max", \.pageSizeMax),
      ("page_size_default", \.pageSizeDefault),
      ("page_bytes_max", \.pageBytesMax),
      ("progress_interval_milliseconds_min", \.progressIntervalMillisecondsMin),
      ("drain_milliseconds", \.drainMilliseconds),
    ]
}
