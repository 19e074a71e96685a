public import WidgetProto

/// The options of one call.
public struct CallOptions: Sendable {
  /// The maximum time until the answer, including the time to connect; nil for no limit. With 0 or
  /// less, the client makes no call. After the timeout, the client ignores the answer, but the
  /// daemon may still carry out the call: it carries out every unary call that it has read.
  public var timeout: Duration?
  /// Metadata to send with the call. Keys may repeat.
  public var metadata: [MetadataEntry]

  /// The action if the daemon hangs while the call waits. Nil for none.
  public var silence: Silence?

  /// Called on the client's thread with true before a change is sent, and with false when the call has
  /// ended. While a change is pending, the daemon may make it even if the program ends. If the call ends
  /// without a call of this, nothing was sent. Nil for none.
  public var pendingChange: (@Sendable (_ isPending: Bool) -> Void)?

  /// Tells the user of a call that the daemon does not answer. The call continues to wait.
  public struct Silence: Sendable {
    /// The time without an answer to the call, and without an answer to a health check.
    public var after: Duration
    /// Called at most once for each call, on the client's thread.
    public var note: @Sendable () -> Void

    public init(after: Duration = .seconds(5), note: @escaping @Sendable () -> Void) {
      self.after = after
      self.note = note
    }
  }

  public init(
    timeout: Duration? = nil, metadata: [MetadataEntry] = [], silence: Silence? = nil,
    pendingChange: (@Sendable (_ isPending: Bool) -> Void)? = nil
  ) {
    self.timeout = timeout
    self.metadata = metadata
    self.silence = silence
    self.pendingChange = pendingChange
  }
}
