/// The limits on the cost of one message.
public struct WireLimits: Hashable, Sendable {
  /// The maximum memory of one message while it is decoded or encoded. protobuf-c needs up to 70
  /// bytes for a byte on the wire, so the size of the frame is no bound.
  public var arenaBytesMax: Int
  /// The maximum depth of nested messages on the wire. A message without inner messages has depth
  /// 1. At most 100.
  public var depthMax: Int

  public init(arenaBytesMax: Int = 16 << 20, depthMax: Int = 64) {
    self.arenaBytesMax = arenaBytesMax
    self.depthMax = depthMax
  }

  public static let `default` = WireLimits()

  /// The maximum depth of a `Value`, in messages on the wire: a scalar is 1, a list adds 2, and a
  /// map adds 3. The deepest place of a value is in a watch frame, 6 levels down. So every accepted
  /// value fits into every message within the default `depthMax`.
  public static let valueDepthMax = 56
  /// The maximum number of labels of one map. The time to sort labels grows with the square of
  /// their number, and a frame has room for many maps. No widget needs nearly as many.
  public static let labelsMax = 256
  /// The maximum number of names in one list of a request: the ids of a selector, the paths of a
  /// mask. The daemon's own limits are lower; this one ends the request before its names are read.
  public static let namesMax = 4_096
  /// The arena's first chunk: enough for all but the largest messages.
  static let arenaFirstChunkBytes = 64 << 10
}
