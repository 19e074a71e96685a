import CWidgetProto

// The messages of grpc.health.v1.

/// Asks whether a service can be used.
public struct HealthCheckRequest: Hashable, Sendable {
  /// The service's full name; empty for the daemon as a whole.
  public var service: String

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
  /// What a service can be.
  public enum ServingStatus: UInt8, Hashable, Sendable, CaseIterable {
    /// Not known, or something that this version does not know.
    case unknown
    case serving
    case notServing
    /// No such service; only in streams.
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
