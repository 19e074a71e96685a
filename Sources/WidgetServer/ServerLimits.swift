public import WidgetCore
import WidgetProto

/// The limits of the daemon, except the store's. A limit is reached when one more would exceed it.
public struct ServerLimits: Hashable, Sendable {
  public var store = StoreLimits()
  /// The maximum number of connections.
  public var connectionsMax = 8_192
  /// The maximum number of connections of one user.
  public var connectionsPerUIDMax = 4_096
  /// The maximum number of connections of all users who may only ask for health.
  public var connectionsUnauthorizedMax = 256
  /// The maximum number of these connections of one user.
  public var connectionsUnauthorizedPerUIDMax = 32
  /// The maximum duration of such a connection, in milliseconds.
  public var unauthorizedMilliseconds = 10_000
  /// The maximum time until a connection's first byte, in milliseconds.
  public var firstByteMilliseconds = 60_000
  /// The maximum size of all incomplete requests of clients, in bytes.
  public var incompleteBytesMax = 256 << 20
  /// The maximum size of the incomplete requests of one user, in bytes.
  public var incompleteBytesPerUIDMax = 64 << 20
  /// The maximum size of the incomplete requests of all users who may only ask for health, in
  /// bytes.
  public var incompleteBytesUnauthorizedMax = 1 << 20
  /// The maximum time from a request's first byte to its last, in milliseconds.
  public var requestMilliseconds = 30_000
  /// The maximum size of all unsent output for clients, in bytes. Above it, the daemon carries out no
  /// more calls of users with more than an equal share.
  public var unsentBytesMax = 256 << 20
  /// The maximum size of the unsent output for one user, in bytes. Above it, the daemon carries out
  /// no more of the user's calls.
  public var unsentBytesPerUIDMax = 64 << 20
  /// The maximum number of open streams on one connection.
  public var streamsPerConnectionMax = 1_024
  /// The maximum size of a gRPC call's metadata, in bytes as HTTP/2 counts them.
  public var metadataBytesMax = 16 << 10
  /// The maximum number of streams that a gRPC connection may reset within half a minute.
  public var streamResetsMax = 10_000
  /// The maximum number of open streams.
  public var subscriptionsMax = 65_536
  /// The maximum number of open streams of one user.
  public var subscriptionsPerUIDMax = 16_384
  /// The maximum number of open streams of all users who may only ask for health. The same number
  /// of their calls over gRPC may be open.
  public var subscriptionsUnauthorizedMax = 256
  /// The maximum number of these streams, and of these calls, of one user.
  public var subscriptionsUnauthorizedPerUIDMax = 32
  /// The maximum memory of the filters of one user's open streams, in bytes: compiled expressions,
  /// and all other terms.
  public var selectorMemoryBytesPerUIDMax = 32 << 20
  /// The same for the open streams of all users.
  public var selectorMemoryBytesTotalMax = 128 << 20
  /// The maximum number of providers of one user that have a session.
  public var providersPerUIDMax = 256
  /// The maximum number of unacknowledged events that a provider is sent.
  public var providerEventsUnacknowledgedMax = 64
  /// The maximum number of widgets that a provider may change at once.
  public var providerUpdatesMax = 4_096
  /// The delay between the loss of a widget's last watcher and `detached`, in milliseconds.
  public var audienceLingerMilliseconds = 5_000
  /// The maximum size of an installed bundle's content, in bytes. The host gets it in one frame.
  public var bundleArchiveBytesMax = 3 << 20
  /// The maximum number of calls about bundles that wait for the host.
  public var bundleCallsMax = 16
  /// The maximum number of these calls from callers who are not owners. The rest is for owners.
  public var bundleCallsOfClientsMax = 4
  /// The maximum time that a call about bundles waits for the host, in seconds.
  public var bundleCallSeconds = 60
  /// The maximum number of ids, kinds, families, label conditions and mask paths in one request.
  public var selectorTermsMax = 1_024
  /// The size at which a stream's frame is split, in bytes.
  public var frameBytesTarget = 64 << 10
  /// The maximum number of changed widgets that a late reader gets at once. If there are more, it
  /// gets them in chunks, as fast as it reads. Other readers get eight times as many at once.
  public var eagerChangesMax = 512
  /// The maximum size of these widgets' state, in bytes.
  public var eagerBytesMax = 256 << 10
  /// The minimum time between two rounds of change frames. Changes in between are conflated.
  public var frameIntervalMicroseconds = 1_000
  /// The maximum number of widgets in a page of ListWidgets.
  public var pageSizeMax = 1_000
  /// The default number of widgets in a page.
  public var pageSizeDefault = 100
  /// The maximum size of a page, in bytes of widget state.
  public var pageBytesMax = 1 << 20
  /// The maximum size of a blob, in bytes.
  public var blobBytesMax = 16 << 20
  /// The maximum size of all blobs of one user, in bytes. Deleted blobs count until their files are
  /// freed.
  public var blobBytesPerUIDMax = 64 << 20
  /// The maximum size of all blobs of clients, in bytes: they lie on the store's disk. Deleted blobs
  /// count until their files are freed.
  public var blobBytesTotalMax = 256 << 20
  /// The maximum number of blobs of one user. Deleted blobs count until their file is closed.
  public var blobsPerUIDMax = 64
  /// The maximum number of blobs of clients, because each blob is an open file.
  public var blobsMax = 1_024
  /// The maximum number of RefreshWidgets calls for one kind in an hour, if the kind has no limit.
  public var refreshesPerHourMax = 600
  /// The maximum time that the daemon keeps an unused blob, in seconds.
  public var blobIdleSeconds = 600
  /// The least interval of progress frames, in milliseconds.
  public var progressIntervalMillisecondsMin = 100
  /// The maximum time for open streams to drain at shutdown, in milliseconds.
  public var drainMilliseconds = 2_000

  public init() {}

  /// The highest values of some limits, because what they bound has to fit in a frame, or is read at
  /// once.
  public static let ceilings: [String: Int] = [
    "widget_bytes_max": 3 << 20, "page_bytes_max": 2 << 20, "frame_bytes_target": 2 << 20,
    "event_payload_bytes_max": 1 << 20, "metadata_bytes_max": 64 << 10,
    "bundle_archive_bytes_max": 3 << 20, "theme_overrides_max": 8_192,
    "value_depth_max": 16, "selector_terms_max": WireLimits.namesMax,
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
      ("unsent_bytes_max", \.unsentBytesMax),
      ("unsent_bytes_per_uid_max", \.unsentBytesPerUIDMax),
      ("streams_per_connection_max", \.streamsPerConnectionMax),
      ("metadata_bytes_max", \.metadataBytesMax),
      ("stream_resets_max", \.streamResetsMax),
      ("subscriptions_max", \.subscriptionsMax),
      ("subscriptions_per_uid_max", \.subscriptionsPerUIDMax),
      ("subscriptions_unauthorized_max", \.subscriptionsUnauthorizedMax),
      ("subscriptions_unauthorized_per_uid_max", \.subscriptionsUnauthorizedPerUIDMax),
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
      ("selector_memory_bytes_max", \.store.selectorMemoryBytesMax),
      ("selector_memory_bytes_per_uid_max", \.selectorMemoryBytesPerUIDMax),
      ("selector_memory_bytes_total_max", \.selectorMemoryBytesTotalMax),
      ("blob_bytes_max", \.blobBytesMax),
      ("blob_bytes_per_uid_max", \.blobBytesPerUIDMax),
      ("blob_bytes_total_max", \.blobBytesTotalMax),
      ("blobs_per_uid_max", \.blobsPerUIDMax),
      ("blobs_max", \.blobsMax),
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
