public import WidgetProto

/// How to make one call.
public struct CallOptions: Sendable {
  /// The maximum time until the answer, connecting included; nil for no limit. The daemon gets the
  /// timeout too. The client does not wait longer, whatever the daemon does.
  public var timeout: Duration?
  /// Metadata to send with the call. Keys may repeat.
  public var metadata: [MetadataEntry]

  public init(timeout: Duration? = nil, metadata: [MetadataEntry] = []) {
    self.timeout = timeout
    self.metadata = metadata
  }
}
