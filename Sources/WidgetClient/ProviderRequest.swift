public import WidgetModel
public import WidgetProto

/// A request or message from the daemon to a provider; see `ProviderSession.requests`.
public enum ProviderRequest: Hashable, Sendable {
  /// The session is open, for the first time or again. Earlier requests do not count any more: the
  /// daemon asks for every widget again.
  case connected(ProvideOpened)
  /// The connection is lost, or could not be made; the session retries. Comes once for any number
  /// of failed attempts.
  case disconnected(ClientError)
  /// An event of a widget. Acknowledge it; otherwise it comes again after the next `connected`.
  case event(Event)
  /// Events were lost. Acknowledge its last sequence number.
  case gap(EventGap)
  /// A widget wants data: answer, or update it.
  case dataRequest(ProviderDataRequest)
  /// Widgets are gone.
  case removed([WidgetID])
  /// Somebody deleted kinds of this provider. The provider gets no events of their widgets until it
  /// declares the kinds again.
  case kindsRemoved([KindName])
  /// Somebody makes a call about bundles. Answer it. Comes only with
  /// `ProviderOptions.managesBundles`.
  case bundleRequest(ProviderBundleRequest)
  /// The watched widgets: the first after `connected` has all of them, later ones are differences.
  /// Comes only with `ProviderOptions.includesAudience`. `AttachedWidgets` keeps the state.
  case audience(ProvideAudience)
  /// A question about the content of an instance. Comes only with
  /// `ProviderOptions.answersSnapshots`.
  case snapshotRequest(ProviderSnapshotRequest)
  /// A data request for every existing widget has come since `connected`. Widgets without a request
  /// are gone.
  case synced(Revision)
}

/// A data request, and the session that it belongs to.
public struct ProviderDataRequest: Hashable, Sendable {
  /// The widget at the time of the request.
  public let widget: Widget
  public let reason: DataRequestReason
  let id: UInt64
  /// The number of the session: 1 for the first one that was opened.
  let generation: Int

  init(_ request: DataRequest, generation: Int) {
    widget = request.widget
    reason = request.reason
    id = request.id
    self.generation = generation
  }
}

/// A call about bundles, and the session that it belongs to.
public struct ProviderBundleRequest: Hashable, Sendable {
  public let request: ProvideBundleRequest.Request
  let id: UInt64
  /// The number of the session: 1 for the first one that was opened.
  let generation: Int

  init(_ request: ProvideBundleRequest, generation: Int) {
    self.request = request.request
    id = request.id
    self.generation = generation
  }
}

/// A question about the content of an instance of a kind, and the session of the question.
public struct ProviderSnapshotRequest: Hashable, Sendable {
  public let kind: KindName
  public let family: Family
  /// With the defaults.
  public let parameters: ValueMap
  /// Whether an owner asks. Other callers can choose any parameters, too.
  public let isByOwner: Bool
  /// The user who asks.
  public let uid: UInt32
  let id: UInt64
  /// The number of the session: 1 for the first one that was opened.
  let generation: Int

  init(_ request: SnapshotRequest, generation: Int) {
    kind = request.kind
    family = request.family
    parameters = request.parameters
    isByOwner = request.isByOwner
    uid = request.uid
    id = request.id
    self.generation = generation
  }
}

/// The options of a provider's session.
public struct ProviderOptions: Sendable {
  /// The time without a message after which the provider's widgets are stale. 1 to 300 s; nil for
  /// the daemon's default. The session renews the lease by itself, so the lease ends only if the
  /// process is stuck.
  public var lease: Duration?
  /// Ends another session of this provider, instead of failing with `PROVIDER_ACTIVE`.
  public var takesOver: Bool
  /// Remove earlier declared kinds that are not declared any more.
  public var prunesKinds: Bool
  /// Whether the provider gets the calls about bundles, and must answer them.
  public var managesBundles: Bool
  /// Whether the provider is told which widgets are watched.
  public var includesAudience: Bool
  /// Whether the provider answers snapshot requests.
  public var answersSnapshots = false
  /// The last event that an earlier process handled, and its epoch.
  public var acknowledged: (sequence: UInt64, epoch: UInt64)?
  /// The retry policy after a lost connection.
  public var retry: RetryPolicy
  public var metadata: [MetadataEntry]
  /// The detection of a daemon that does not answer. Nil for none.
  public var liveness: LivenessPolicy?

  public init(
    lease: Duration? = nil, takesOver: Bool = false, prunesKinds: Bool = false,
    managesBundles: Bool = false, acknowledged: (sequence: UInt64, epoch: UInt64)? = nil,
    retry: RetryPolicy = .forever, metadata: [MetadataEntry] = [],
    includesAudience: Bool = false, liveness: LivenessPolicy? = .patient
  ) {
    self.liveness = liveness
    self.includesAudience = includesAudience
    self.lease = lease
    self.takesOver = takesOver
    self.prunesKinds = prunesKinds
    self.managesBundles = managesBundles
    self.acknowledged = acknowledged
    self.retry = retry
    self.metadata = metadata
  }
}

/// The daemon's requests to a provider, in order. One task at a time may read them.
///
/// It ends when the session is closed. It throws the error that ended the session for good: another
/// provider took its place, its kinds were refused, or the user may not provide.
public struct ProviderRequests: AsyncSequence, Sendable {
  public typealias Element = ProviderRequest
  public typealias Failure = ClientError

  let session: ProviderSession

  public func makeAsyncIterator() -> Iterator { Iterator(session: session) }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = ClientError

    let session: ProviderSession

    /// The next request. Cancelling the task makes it throw `cancelled`.
    public mutating func next() async throws(ClientError) -> ProviderRequest? {
      try await session.next()
    }
  }
}
