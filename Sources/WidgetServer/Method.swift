import Glibc

/// The calls that the daemon answers.
enum Method: UInt8, CaseIterable, Sendable {
  case createWidget, getWidget, listWidgets, updateWidget, deleteWidget, setPresence, moveWidget
  case applyWidgets, sendEvent, refreshWidgets, watchWidgets, watchEvents, unsubscribe,
    requestProgress
  case getStats, reload, setLogLevel
  case applyKinds, getKind, listKinds, deleteKind, getTheme, updateTheme
  case installBundle, listBundles, deleteBundle, rollbackBundle, setBundleDefaults, diffBundle
  case uploadBlob, readBlob, deleteBlob
  case provide
  case checkHealth, listHealth, watchHealth

  /// The full name of the service it belongs to.
  var service: StaticString {
    switch self {
    case .getStats, .reload, .setLogLevel: "widgetd.v1.AdminService"
    case .applyKinds, .getKind, .listKinds, .deleteKind, .getTheme, .updateTheme, .installBundle,
      .listBundles, .deleteBundle, .rollbackBundle, .setBundleDefaults, .diffBundle:
      "widgetd.v1.CatalogService"
    case .uploadBlob, .readBlob, .deleteBlob: "widgetd.v1.BlobService"
    case .provide: "widgetd.v1.ProviderService"
    case .checkHealth, .listHealth, .watchHealth: "grpc.health.v1.Health"
    default: "widgetd.v1.WidgetService"
    }
  }

  var name: StaticString {
    switch self {
    case .createWidget: "CreateWidget"
    case .getWidget: "GetWidget"
    case .listWidgets: "ListWidgets"
    case .updateWidget: "UpdateWidget"
    case .deleteWidget: "DeleteWidget"
    case .setPresence: "SetPresence"
    case .moveWidget: "MoveWidget"
    case .applyWidgets: "ApplyWidgets"
    case .sendEvent: "SendEvent"
    case .refreshWidgets: "RefreshWidgets"
    case .watchWidgets: "WatchWidgets"
    case .watchEvents: "WatchEvents"
    case .unsubscribe: "Unsubscribe"
    case .requestProgress: "RequestProgress"
    case .getStats: "GetStats"
    case .reload: "Reload"
    case .setLogLevel: "SetLogLevel"
    case .applyKinds: "ApplyKinds"
    case .getKind: "GetKind"
    case .listKinds: "ListKinds"
    case .deleteKind: "DeleteKind"
    case .getTheme: "GetTheme"
    case .updateTheme: "UpdateTheme"
    case .installBundle: "InstallBundle"
    case .listBundles: "ListBundles"
    case .deleteBundle: "DeleteBundle"
    case .rollbackBundle: "RollbackBundle"
    case .setBundleDefaults: "SetBundleDefaults"
    case .diffBundle: "DiffBundle"
    case .uploadBlob: "UploadBlob"
    case .readBlob: "ReadBlob"
    case .deleteBlob: "DeleteBlob"
    case .provide: "Provide"
    case .checkHealth: "Check"
    case .listHealth: "List"
    case .watchHealth: "Watch"
    }
  }

  /// "widgetd.v1.WidgetService/GetWidget".
  var fullName: String { "\(service)/\(name)" }

  /// How many messages each side sends.
  enum Shape: Sendable {
    /// One each.
    case unary
    /// The caller one, the daemon any number.
    case stream
    /// Both any number.
    case conversation
  }

  var shape: Shape {
    switch self {
    case .watchWidgets, .watchEvents, .watchHealth: .stream
    case .provide: .conversation
    default: .unary
    }
  }

  /// Whether it takes part in the tick's group: if the group fails, so does the call.
  var isMutation: Bool {
    switch self {
    case .createWidget, .updateWidget, .deleteWidget, .setPresence, .moveWidget, .applyWidgets,
      .sendEvent, .applyKinds, .deleteKind, .updateTheme:
      true
    default: false
    }
  }

  /// Whether its answer depends on the store. Other calls are answered once, whatever happens to
  /// the tick's group.
  var readsStore: Bool {
    switch self {
    case .unsubscribe, .requestProgress, .reload, .setLogLevel, .checkHealth, .listHealth,
      .watchHealth, .installBundle, .listBundles, .deleteBundle, .rollbackBundle,
      .setBundleDefaults, .diffBundle, .uploadBlob, .readBlob, .deleteBlob:
      false
    default: true
    }
  }

  /// What a peer must be allowed to do.
  var requiredLevel: AccessPolicy.Level {
    switch self {
    case .checkHealth, .listHealth, .watchHealth: .nothing
    case .getWidget, .listWidgets, .sendEvent, .watchWidgets, .watchEvents, .unsubscribe,
      .requestProgress, .getKind, .listKinds, .getTheme, .refreshWidgets, .listBundles, .uploadBlob,
      .readBlob,
      .deleteBlob:
      .client
    case .createWidget, .updateWidget, .deleteWidget, .setPresence, .moveWidget, .applyWidgets,
      .getStats, .reload, .setLogLevel, .applyKinds, .deleteKind, .updateTheme, .provide,
      .installBundle, .deleteBundle, .rollbackBundle, .setBundleDefaults, .diffBundle:
      .owner
    }
  }

  private static let all = Array(Method.allCases)

  /// Finds a method without making strings of its names.
  static func find(
    service: UnsafeBufferPointer<UInt8>, method: UnsafeBufferPointer<UInt8>
  ) -> Method? {
    for candidate in all where candidate.name.equals(method) && candidate.service.equals(service) {
      return candidate
    }
    return nil
  }

  /// Whether there is a service of that name.
  static func hasService(_ service: UnsafeBufferPointer<UInt8>) -> Bool {
    all.contains { $0.service.equals(service) }
  }
}

extension StaticString {
  fileprivate func equals(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard utf8CodeUnitCount == bytes.count, let start = bytes.baseAddress else { return false }
    return memcmp(utf8Start, start, bytes.count) == 0
  }
}
