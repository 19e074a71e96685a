import CWidgetProto
public import WidgetModel

// The frames of a provider in its session. ProvideFrames.swift has the daemon's frames.

/// One frame of a provider.
public enum ProvideRequest: Hashable, Sendable {
  case open(ProvideOpen)
  case kinds(ProvideKinds)
  case update(ProvideUpdate)
  case acknowledge(ProvideAcknowledge)
  case answer(ProvideAnswer)
  case keepAlive
  case bundleAnswer(ProvideBundleAnswer)
  case snapshot(ProvideSnapshot)
}

extension ProvideRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideRequest>, _ reader: Reader) throws(WireError) {
    switch c.pointee.frame_case {
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_OPEN:
      self = .open(try reader.required("open", c.pointee.open))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_KINDS:
      self = .kinds(try reader.required("kinds", c.pointee.kinds))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_UPDATE:
      self = .update(try reader.required("update", c.pointee.update))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_ACKNOWLEDGE:
      self = .acknowledge(try reader.required("acknowledge", c.pointee.acknowledge))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_ANSWER:
      self = .answer(try reader.required("answer", c.pointee.answer))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_KEEP_ALIVE: self = .keepAlive
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_BUNDLE_ANSWER:
      self = .bundleAnswer(try reader.required("bundle_answer", c.pointee.bundle_answer))
    case WIDGETD__V1__PROVIDE_REQUEST__FRAME_SNAPSHOT:
      self = .snapshot(try reader.required("snapshot", c.pointee.snapshot))
    default:
      throw .invalidField(
        path: "frame",
        description:
          "must be open, kinds, update, acknowledge, answer, keep_alive, bundle_answer or snapshot; "
          + "a frame that this daemon does not know may be from a newer version")
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideRequest>, _ writer: Writer
  ) throws(WireError) {
    switch self {
    case .open(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_OPEN
      c.pointee.open = try writer.message("open", frame)
    case .kinds(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_KINDS
      c.pointee.kinds = try writer.message("kinds", frame)
    case .update(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_UPDATE
      c.pointee.update = try writer.message("update", frame)
    case .acknowledge(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_ACKNOWLEDGE
      c.pointee.acknowledge = try writer.message("acknowledge", frame)
    case .answer(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_ANSWER
      c.pointee.answer = try writer.message("answer", frame)
    case .keepAlive:
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_KEEP_ALIVE
      c.pointee.keep_alive = try writer.message("keep_alive", ProvideKeepAlive())
    case .bundleAnswer(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_BUNDLE_ANSWER
      c.pointee.bundle_answer = try writer.message("bundle_answer", frame)
    case .snapshot(let frame):
      c.pointee.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_SNAPSHOT
      c.pointee.snapshot = try writer.message("snapshot", frame)
    }
  }
}

/// Opens the session.
public struct ProvideOpen: Hashable, Sendable {
  /// The provider of the kinds: 1 to 128 characters of an id.
  public var provider: String
  /// The lease: the maximum time without a frame of the provider. nil for the daemon's default.
  public var lease: Duration?
  /// Send events after this one; nil: after the last one that the daemon knows to be acknowledged.
  public var acknowledgedSequence: UInt64?
  /// The epoch of `acknowledgedSequence`.
  public var epoch: UInt64
  /// End the session that this provider has.
  public var takeOver: Bool
  /// Whether the provider gets the calls about bundles.
  public var managesBundles: Bool
  /// Whether the provider gets notices about the watched widgets.
  public var includeAudience: Bool
  /// Whether the provider answers snapshot requests.
  public var answersSnapshots: Bool

  public init(
    provider: String, lease: Duration? = nil, acknowledgedSequence: UInt64? = nil,
    epoch: UInt64 = 0, takeOver: Bool = false, managesBundles: Bool = false,
    includeAudience: Bool = false, answersSnapshots: Bool = false
  ) {
    self.answersSnapshots = answersSnapshots
    self.managesBundles = managesBundles
    self.includeAudience = includeAudience
    self.provider = provider
    self.lease = lease
    self.acknowledgedSequence = acknowledgedSequence
    self.epoch = epoch
    self.takeOver = takeOver
  }
}

extension ProvideOpen: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideOpen>, _ reader: Reader) throws(WireError) {
    provider = reader.string(c.pointee.provider)
    guard provider.isIdentifier(lengthMax: WidgetID.lengthMax) else {
      throw .invalidField(path: "provider", description: Reader.idRule(WidgetID.lengthMax))
    }
    lease = try reader.duration("lease", c.pointee.lease)
    epoch = c.pointee.epoch
    takeOver = c.pointee.take_over != 0
    managesBundles = c.pointee.manages_bundles != 0
    includeAudience = c.pointee.include_audience != 0
    answersSnapshots = c.pointee.answers_snapshots != 0
    if c.pointee._acknowledged_sequence_case
      == WIDGETD__V1__PROVIDE_OPEN___ACKNOWLEDGED_SEQUENCE_ACKNOWLEDGED_SEQUENCE
    {
      acknowledgedSequence = c.pointee.acknowledged_sequence
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideOpen>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.provider = try writer.string("provider", provider)
    c.pointee.lease = try writer.duration("lease", optional: lease)
    c.pointee.epoch = epoch
    c.pointee.take_over = takeOver ? 1 : 0
    c.pointee.manages_bundles = managesBundles ? 1 : 0
    c.pointee.include_audience = includeAudience ? 1 : 0
    c.pointee.answers_snapshots = answersSnapshots ? 1 : 0
    if let acknowledgedSequence {
      c.pointee._acknowledged_sequence_case =
        WIDGETD__V1__PROVIDE_OPEN___ACKNOWLEDGED_SEQUENCE_ACKNOWLEDGED_SEQUENCE
      c.pointee.acknowledged_sequence = acknowledgedSequence
    }
  }
}

/// Declares kinds.
public struct ProvideKinds: Hashable, Sendable {
  /// The provider's number for the frame; with 0 the daemon answers only a failure.
  public var id: UInt64
  public var kinds: [Kind]
  /// Remove kinds of this provider that are not declared here.
  public var prune: Bool

  public init(id: UInt64 = 0, kinds: [Kind] = [], prune: Bool = false) {
    self.id = id
    self.kinds = kinds
    self.prune = prune
  }
}

extension ProvideKinds: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideKinds>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    kinds = try reader.list("kinds", c.pointee.n_kinds, c.pointee.kinds) {
      (element) throws(WireError) in
      try RegisteredKind(c: element, reader).kind
    }
    prune = c.pointee.prune != 0
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideKinds>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.n_kinds = kinds.count
    c.pointee.kinds = try writer.list(
      "kinds", kinds.map { RegisteredKind(kind: $0, provider: "") })
    c.pointee.prune = prune ? 1 : 0
  }
}

/// Changes widgets: all of them, in one commit, or none.
public struct ProvideUpdate: Hashable, Sendable {
  /// The provider's number for the frame; with 0 the daemon answers only a failure.
  public var id: UInt64
  public var updates: [ProvidedUpdate]

  public init(id: UInt64 = 0, updates: [ProvidedUpdate] = []) {
    self.id = id
    self.updates = updates
  }
}

extension ProvideUpdate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideUpdate>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    updates = try reader.list("updates", c.pointee.n_updates, c.pointee.updates) {
      (element) throws(WireError) in
      try ProvidedUpdate(c: element, reader)
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideUpdate>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.n_updates = updates.count
    c.pointee.updates = try writer.list("updates", updates)
  }
}

extension ProvidedUpdate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvidedUpdate>, _ reader: Reader) throws(WireError) {
    self.init(
      try reader.widgetID("widget_id", c.pointee.widget_id),
      try reader.optional("patch", c.pointee.patch) ?? WidgetPatch(),
      transition: try reader.requestTransition(c.pointee.transition))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvidedUpdate>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.widget_id = try writer.string("widget_id", id.rawValue)
    c.pointee.patch = try writer.message("patch", patch)
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// Acknowledges events.
public struct ProvideAcknowledge: Hashable, Sendable {
  /// The provider's number for the frame; with 0 the daemon answers only a failure.
  public var id: UInt64
  /// This event and all before it.
  public var sequence: UInt64
  /// The error of this last event.
  public var error: WidgetError?

  public init(id: UInt64 = 0, sequence: UInt64, error: WidgetError? = nil) {
    self.id = id
    self.sequence = sequence
    self.error = error
  }
}

extension ProvideAcknowledge: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideAcknowledge>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    sequence = c.pointee.sequence
    error = try reader.optional("error", c.pointee.error)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideAcknowledge>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.sequence = sequence
    c.pointee.error = try writer.message("error", optional: error)
  }
}

/// Answers a data request.
public struct ProvideAnswer: Hashable, Sendable {
  /// The provider's number for the frame; with 0 the daemon answers only a failure.
  public var id: UInt64
  public var dataRequestID: UInt64
  public var outcome: Outcome
  public var transition: Transition?

  public enum Outcome: Hashable, Sendable {
    /// The change to the widget. Its error is cleared, unless the patch sets one.
    case patch(WidgetPatch)
    /// The error, if there is no data.
    case error(WidgetError)
  }

  public init(
    id: UInt64 = 0, dataRequestID: UInt64, outcome: Outcome, transition: Transition? = nil
  ) {
    self.id = id
    self.dataRequestID = dataRequestID
    self.outcome = outcome
    self.transition = transition
  }
}

extension ProvideAnswer: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideAnswer>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    dataRequestID = c.pointee.data_request_id
    switch c.pointee.outcome_case {
    case WIDGETD__V1__PROVIDE_ANSWER__OUTCOME_PATCH:
      outcome = .patch(try reader.required("patch", c.pointee.patch))
    case WIDGETD__V1__PROVIDE_ANSWER__OUTCOME_ERROR:
      outcome = .error(try reader.required("error", c.pointee.error))
    default:
      throw .invalidField(path: "outcome", description: "must be patch or error")
    }
    transition = try reader.requestTransition(c.pointee.transition)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideAnswer>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.data_request_id = dataRequestID
    switch outcome {
    case .patch(let patch):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_ANSWER__OUTCOME_PATCH
      c.pointee.patch = try writer.message("patch", patch)
    case .error(let error):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_ANSWER__OUTCOME_ERROR
      c.pointee.error = try writer.message("error", error)
    }
    c.pointee.transition = try writer.message("transition", optional: transition)
  }
}

/// A sign of life of the provider, and the daemon's answer.
public struct ProvideKeepAlive: Hashable, Sendable {
  public init() {}
}

extension ProvideKeepAlive: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideKeepAlive>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__ProvideKeepAlive>, _ writer: Writer) {}
}
