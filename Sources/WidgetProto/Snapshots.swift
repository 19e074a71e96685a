import CWidgetProto
public import WidgetModel

// Snapshots on a provider's session: the current preview of an instance of a kind.

/// Asks a provider for the preview of an instance.
public struct SnapshotRequest: Hashable, Sendable {
  /// The number of the request, for the answer.
  public var id: UInt64
  public var kind: KindName
  public var family: Family
  /// With the defaults.
  public var parameters: ValueMap
  /// Whether an owner asks.
  public var isByOwner: Bool
  /// The user who asks.
  public var uid: UInt32

  public init(
    id: UInt64, kind: KindName, family: Family, parameters: ValueMap = [:], isByOwner: Bool = false,
    uid: UInt32 = 0
  ) {
    self.isByOwner = isByOwner
    self.uid = uid
    self.id = id
    self.kind = kind
    self.family = family
    self.parameters = parameters
  }
}

extension SnapshotRequest: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SnapshotRequest>, _ reader: Reader) throws(WireError) {
    self.init(
      id: c.pointee.id, kind: try reader.kind("kind", c.pointee.kind),
      family: Family(number: c.pointee.family.rawValue) ?? .medium,
      parameters: try reader.values("parameters", c.pointee.n_parameters, c.pointee.parameters),
      isByOwner: c.pointee.by_owner != 0, uid: c.pointee.uid)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SnapshotRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.kind = try writer.string("kind", kind.rawValue)
    c.pointee.family = Widgetd__V1__Family(family)
    c.pointee.by_owner = isByOwner ? 1 : 0
    c.pointee.uid = uid
    c.pointee.n_parameters = parameters.count
    c.pointee.parameters = try writer.entries(
      "parameters", parameters, of: Widgetd__V1__SnapshotRequest__ParametersEntry.self)
  }
}

/// Answers a snapshot request.
public struct ProvideSnapshot: Hashable, Sendable {
  /// The provider's number for the frame; with 0 the daemon answers only a failure.
  public var id: UInt64
  public var snapshotRequestID: UInt64
  public var outcome: Outcome

  public enum Outcome: Hashable, Sendable {
    /// The data, beside the defaults.
    case data(SnapshotData)
    /// The error, if there is no data.
    case error(WidgetError)
  }

  public init(id: UInt64 = 0, snapshotRequestID: UInt64, outcome: Outcome) {
    self.id = id
    self.snapshotRequestID = snapshotRequestID
    self.outcome = outcome
  }
}

extension ProvideSnapshot: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ProvideSnapshot>, _ reader: Reader) throws(WireError) {
    id = c.pointee.id
    snapshotRequestID = c.pointee.snapshot_request_id
    switch c.pointee.outcome_case {
    case WIDGETD__V1__PROVIDE_SNAPSHOT__OUTCOME_DATA:
      outcome = .data(try reader.required("data", c.pointee.data))
    case WIDGETD__V1__PROVIDE_SNAPSHOT__OUTCOME_ERROR:
      outcome = .error(try reader.required("error", c.pointee.error))
    default:
      throw .invalidField(path: "outcome", description: "must be data or error")
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ProvideSnapshot>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = id
    c.pointee.snapshot_request_id = snapshotRequestID
    switch outcome {
    case .data(let data):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_SNAPSHOT__OUTCOME_DATA
      c.pointee.data = try writer.message("data", data)
    case .error(let error):
      c.pointee.outcome_case = WIDGETD__V1__PROVIDE_SNAPSHOT__OUTCOME_ERROR
      c.pointee.error = try writer.message("error", error)
    }
  }
}

/// The data of a snapshot.
public struct SnapshotData: Hashable, Sendable {
  public var data: ValueMap
  /// The values of the entry that the widget would show now.
  public var entry: ValueMap

  public init(data: ValueMap = [:], entry: ValueMap = [:]) {
    self.data = data
    self.entry = entry
  }
}

extension SnapshotData: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__SnapshotData>, _ reader: Reader) throws(WireError) {
    data = try reader.values("data", c.pointee.n_data, c.pointee.data)
    entry = try reader.values("entry", c.pointee.n_entry, c.pointee.entry)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__SnapshotData>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_data = data.count
    c.pointee.data = try writer.entries(
      "data", data, of: Widgetd__V1__SnapshotData__DataEntry.self)
    c.pointee.n_entry = entry.count
    c.pointee.entry = try writer.entries(
      "entry", entry, of: Widgetd__V1__SnapshotData__EntryEntry.self)
  }
}
