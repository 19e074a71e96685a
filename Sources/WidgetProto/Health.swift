import CWidgetProto
import WidgetModel

// The messages of grpc.health.v1.

/// Asks whether a service can be used.
public struct HealthCheckRequest: Hashable, Sendable {
  /// The service's full name; empty for the daemon as a whole; `store` for its store.
  public var service: String

  /// The name of the store. Not serving: the daemon can be read, but takes no changes.
  public static let store = "widgetd.v1.Store"

  public init(service: String = "") {
    self.service = service
  }
}

extension HealthCheckRequest: ConvertibleMessage {
  init(c: UnsafePointer<Grpc__Health__V1__HealthCheckRequest>, _ reader: Reader) {
    service = reader.string(c.pointee.service)
  }

  func fill(
    _ c: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckRequest>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.service = try writer.string("service", service)
  }
}

/// Whether a service can be used.
public struct HealthCheckResponse: Hashable, Sendable {
  /// The states of a service.
  public enum ServingStatus: UInt8, Hashable, Sendable, CaseIterable {
    /// An unknown state, or a state that this version does not know.
    case unknown
    case serving
    case notServing
    /// The service does not exist. Only in streams.
    case serviceUnknown
  }

  public var status: ServingStatus

  public init(status: ServingStatus = .unknown) {
    self.status = status
  }
}

extension HealthCheckResponse: ConvertibleMessage {
  init(c: UnsafePointer<Grpc__Health__V1__HealthCheckResponse>, _ reader: Reader) {
    status = ServingStatus(number: c.pointee.status.rawValue) ?? .unknown
  }

  func fill(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckResponse>, _ writer: Writer) {
    c.pointee.status = Grpc__Health__V1__HealthCheckResponse__ServingStatus(
      rawValue: UInt32(status.rawValue))
  }
}

/// Asks for the state of every service.
public struct HealthListRequest: Hashable, Sendable {
  public init() {}
}

extension HealthListRequest: ConvertibleMessage {
  init(c: UnsafePointer<Grpc__Health__V1__HealthListRequest>, _ reader: Reader) {}

  func fill(_ c: UnsafeMutablePointer<Grpc__Health__V1__HealthListRequest>, _ writer: Writer) {}
}

/// The state of every service.
public struct HealthListResponse: Hashable, Sendable {
  /// By the service's full name; the empty name is the daemon as a whole.
  public var statuses: [String: HealthCheckResponse]

  public init(statuses: [String: HealthCheckResponse] = [:]) {
    self.statuses = statuses
  }
}

extension HealthListResponse: ConvertibleMessage {
  init(c: UnsafePointer<Grpc__Health__V1__HealthListResponse>, _ reader: Reader) {
    statuses = [:]
    guard let list = c.pointee.statuses else { return }
    for index in 0..<c.pointee.n_statuses {
      guard let entry = list[index] else { continue }
      statuses[reader.string(entry.pointee.key)] =
        entry.pointee.value.map { HealthCheckResponse(c: $0, reader) } ?? HealthCheckResponse()
    }
  }

  func fill(
    _ c: UnsafeMutablePointer<Grpc__Health__V1__HealthListResponse>, _ writer: Writer
  ) throws(WireError) {
    let sorted = statuses.sorted { $0.key.precedesByBytes($1.key) }
    c.pointee.n_statuses = sorted.count
    c.pointee.statuses = try writer.list(
      "statuses", sorted, of: Grpc__Health__V1__HealthListResponse__StatusesEntry.self
    ) { (entry, c) throws(WireError) in
      c.pointee.key = try writer.string("key", entry.key)
      let value = try writer.make(Grpc__Health__V1__HealthCheckResponse.self)
      entry.value.fill(value, writer)
      c.pointee.value = value
    }
  }
}
