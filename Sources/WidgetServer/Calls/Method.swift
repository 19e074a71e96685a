import Glibc
import WidgetProto

typealias Method = RPCMethod

extension RPCMethod {
  /// The rules of a method: the peer's access level, and the use of the store.
  struct Policy {
    /// The access level that a peer needs.
    let level: AccessPolicy.Level
    let store: StoreUse
  }

  /// How a call depends on the store.
  enum StoreUse {
    /// The call is answered once, even if the turn's group fails.
    case none
    /// The call is answered again if the turn's group fails.
    case reads
    /// The call takes part in the turn's group: if the group fails, so does the call.
    case changes
  }

  /// How a call uses the room on the disk.
  enum RoomUse: Hashable {
    /// The call changes nothing in the store.
    case unused
    /// The call can need more room.
    case needs
    /// The call only removes rows.
    case frees
    /// The call removes a row, and changes others: the widgets of a removed kind.
    case freesWithChanges
  }

  var roomUse: RoomUse {
    switch self {
    case .deleteWidget: .frees
    case .deleteKind: .freesWithChanges
    default: isMutation ? .needs : .unused
    }
  }

  var policy: Policy {
    switch self {
    case .checkHealth, .listHealth, .watchHealth: Policy(level: .nothing, store: .none)
    case .getSnapshot, .unsubscribe, .requestProgress, .listBundles, .uploadBlob, .readBlob,
      .deleteBlob:
      Policy(level: .client, store: .none)
    case .getWidget, .listWidgets, .watchWidgets, .watchEvents, .refreshWidgets, .getKind,
      .listKinds, .getTheme, .getTimeline, .getPlaceholder:
      Policy(level: .client, store: .reads)
    case .sendEvent: Policy(level: .client, store: .changes)
    case .reload, .setLogLevel, .setTime, .installBundle, .deleteBundle, .rollbackBundle,
      .setBundleDefaults, .diffBundle:
      Policy(level: .owner, store: .none)
    case .getStats, .provide: Policy(level: .owner, store: .reads)
    case .createWidget, .updateWidget, .deleteWidget, .setPresence, .moveWidget, .applyWidgets,
      .applyKinds, .deleteKind, .updateTheme, .startActivity, .updateActivity, .endActivity:
      Policy(level: .owner, store: .changes)
    }
  }

  var requiredLevel: AccessPolicy.Level { policy.level }
  /// Whether a quota bounds the bytes of a request.
  var hasQuotaOfBytes: Bool { [.sendEvent, .getSnapshot, .uploadBlob].contains(self) }
  var isMutation: Bool { policy.store == .changes }
  var readsStore: Bool { policy.store != .none }

  /// "widgetd.v1.WidgetService/GetWidget".
  var fullName: String { "\(service.name)/\(name)" }

  /// The number of messages on each side.
  enum Shape: Sendable {
    /// Each side sends one message.
    case unary
    /// The caller sends one message, the daemon any number.
    case stream
    /// Both sides send any number of messages.
    case conversation
  }

  var shape: Shape {
    if takesStream { return .conversation }
    return givesStream ? .stream : .unary
  }

  private static let all = RPCMethod.allCases.map {
    (method: $0, service: $0.service.name, name: $0.name)
  }

  /// Finds a method without making strings of its names.
  static func find(
    service: UnsafeBufferPointer<UInt8>, method: UnsafeBufferPointer<UInt8>
  ) -> RPCMethod? {
    for candidate in all
    where candidate.name.equals(method) && candidate.service.equals(service) {
      return candidate.method
    }
    return nil
  }

  /// Whether there is a service of that name.
  static func hasService(_ service: UnsafeBufferPointer<UInt8>) -> Bool {
    Service.allCases.contains { $0.name.equals(service) }
  }
}

extension StaticString {
  fileprivate func equals(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard utf8CodeUnitCount == bytes.count, let start = bytes.baseAddress else { return false }
    return memcmp(utf8Start, start, bytes.count) == 0
  }
}
