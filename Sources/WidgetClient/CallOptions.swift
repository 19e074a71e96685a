public import WidgetProto

/// How to make one call.
public struct CallOptions: Sendable {
  /// The maximum time until the answer, including the time to connect; nil for no limit. With 0 or
  /// less, the client makes no call. After the timeout, the client ignores the answer, but the
  /// daemon may still carry out the call: it carries out every unary call that it has read.
  public var timeout: Duration?
  /// Metadata to send with the call. Keys may repeat.
  public var metadata: [MetadataEntry]

  public init(timeout: Duration? = nil, metadata: [MetadataEntry] = []) {
    self.timeout = timeout
    self.metadata = metadata
  }
}
