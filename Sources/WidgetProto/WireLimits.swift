/// The limits on the cost of one message.
public struct WireLimits: Hashable, Sendable {
  /// How much memory one message may take while it is decoded or encoded. protobuf-c needs up to
  /// 70 bytes for a byte on the wire, so the size of the frame is no bound.
  public var arenaBytesMax: Int
  /// How deep messages may nest on the wire; a message without sub-messages has depth 1. At most
  /// 100.
  public var depthMax: Int

  public init(arenaBytesMax: Int = 16 << 20, depthMax: Int = 64) {
    self.arenaBytesMax = arenaBytesMax
    self.depthMax = depthMax
  }

  public static let `default` = WireLimits()

  /// How deep a `Value` may nest, counted in messages on the wire: a scalar is 1, a list adds 2 and
  /// a map 3. The deepest place of a value is a watch frame, 6 levels down; so every value that is
  /// accepted anywhere fits everywhere within the default `depthMax`.
  public static let valueDepthMax = 56
  /// How many labels one map of labels may have. Putting labels in order takes time that grows with
  /// the square of their number, and a frame has room for many maps; no widget needs nearly as many.
  public static let labelsMax = 256
  /// How many names one list of a request may have: the ids of a selector, the paths of a mask. The
  /// daemon's own limits are lower; this one ends the request before its names are read.
  public static let namesMax = 4_096
  /// The arena's first chunk: enough for all but the largest messages.
  static let arenaFirstChunkBytes = 64 << 10
}
