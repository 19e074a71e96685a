import NIOCore
import WidgetProto

/// grpc.health.v1: whether the daemon can be used.
extension ServiceLoop {
  /// The services that health is told of; the empty name is the daemon as a whole.
  static let healthServices = [
    "", "widgetd.v1.WidgetService", "widgetd.v1.CatalogService",
    "widgetd.v1.BlobService",
    "widgetd.v1.ProviderService", "widgetd.v1.AdminService",
  ]

  var health: HealthCheckResponse {
    HealthCheckResponse(status: isDraining || isHandingOver ? .notServing : .serving)
  }

  func checkHealth(_ request: HealthCheckRequest) throws(RPCStatus) -> HealthCheckResponse {
    guard ServiceLoop.healthServices.contains(request.service) else {
      throw RPCStatus(
        .notFound, "SERVICE_UNKNOWN", "There is no service \"\(request.service)\" here.",
        metadata: ["service": request.service])
    }
    return health
  }

  func listHealth() -> HealthListResponse {
    HealthListResponse(
      statuses: Dictionary(uniqueKeysWithValues: ServiceLoop.healthServices.map { ($0, health) }))
  }

  /// Opens a stream of the state of a service, also of one that is not there, as the protocol wants.
  func open(
    _ request: HealthCheckRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> HealthWatch {
    let watch = try add(request, sink: sink, peer: peer)
    tell(watch)
    return watch
  }

  func add(
    _ request: HealthCheckRequest, sink: any StreamSink, peer: Peer
  ) throws(RPCStatus) -> HealthWatch {
    try countStream(of: peer)
    let watch = HealthWatch(sink: sink, uid: peer.uid, service: request.service)
    healthWatches[ObjectIdentifier(watch)] = watch
    return watch
  }

  private func tell(_ watch: HealthWatch) {
    let response = watch.isKnown ? health : HealthCheckResponse(status: .serviceUnknown)
    if let encoded = encode(response) { watch.sink.send(encoded) }
  }

  /// Tells those who watch that the daemon is going down, and ends their streams.
  func endHealthWatches(where isMeant: (HealthWatch) -> Bool = { _ in true }) {
    for watch in Array(healthWatches.values) where isMeant(watch) {
      if watch.isKnown { tell(watch) }
      watch.finish(.shuttingDown, in: self)
    }
  }
}

/// An open stream of the state of a service.
final class HealthWatch: ServedStream {
  let sink: any StreamSink
  let uid: UInt32
  let service: String
  var isKnown: Bool { ServiceLoop.healthServices.contains(service) }
  var deadlineTimer: Scheduled<Void>?
  var deadline: NIODeadline?

  init(sink: any StreamSink, uid: UInt32, service: String) {
    self.sink = sink
    self.uid = uid
    self.service = service
  }

  /// There is never more than what was sent.
  func becameWritable(in service: ServiceLoop) {}

  func forget(in service: ServiceLoop) {
    guard service.healthWatches.removeValue(forKey: ObjectIdentifier(self)) != nil else { return }
    deadlineTimer?.cancel()
    service.uncountStream(of: uid)
  }

  func finish(_ status: RPCStatus?, in service: ServiceLoop) {
    guard service.healthWatches[ObjectIdentifier(self)] != nil else { return }
    forget(in: service)
    sink.finish(status)
  }
}
