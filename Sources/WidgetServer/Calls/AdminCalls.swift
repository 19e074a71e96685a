import Glibc
import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

/// The calls of AdminService and Health.
extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.HealthMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .checkHealth: try checkHealth(payload, call, responder)
    case .listHealth: try listHealth(payload, call, responder)
    case .watchHealth: throw .wrongShape(.watchHealth)  // It opens a stream; see `prepare`.
    }
  }

  func dispatch(
    _ method: RPCMethod.AdminMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .getStats: responder.respond(stats(), to: call)
    case .reload: reloads.begin(call, responder)
    case .setLogLevel: try setLogLevel(payload, call, responder)
    case .setTime: try setTime(payload, call, responder)
    }
  }

  /// SetLogLevel.
  func setLogLevel(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(SetLogLevelRequest.self, payload)
    let previous = context.logger.logLevel
    context.setLogLevel(request.level.logger)
    responder.respond(SetLogLevelResponse(previous: LogLevel(previous)), to: call)
  }

  /// SetTime.
  func setTime(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    responder.respond(try setTime(try context.decode(SetTimeRequest.self, payload)), to: call)
  }

  /// Check of Health.
  func checkHealth(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(HealthCheckRequest.self, payload)
    checkStore()
    responder.respond(try health.check(request), to: call)
  }

  /// List of Health.
  func listHealth(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    _ = try context.decode(HealthListRequest.self, payload)
    checkStore()
    responder.respond(health.list(), to: call)
  }

  // MARK: - Parts

  /// Moves a fake clock. The end of the turn brings the changes of the new time.
  private func setTime(_ request: SetTimeRequest) throws(RPCStatus) -> SetTimeResponse {
    let clock = context.clock
    if let target = request.target {
      guard clock.isFake else { throw .clockIsReal }
      switch target {
      case .time(let time): clock.set(time)
      case .advance(let duration): clock.set(clock.now.advanced(by: duration))
      }
      turn.takeTime()
    }
    return SetTimeResponse(time: clock.now, isFake: clock.isFake)
  }

  func stats() -> GetStatsResponse {
    var response = GetStatsResponse()
    response.version = version
    response.startTime = startTime
    response.uptime = .nanoseconds((NIODeadline.now() - context.startedAt).nanoseconds)
    response.store = log.name
    response.epoch = context.store.epoch
    response.revision = context.store.revision
    response.compactRevision = context.store.compactRevision
    response.widgets = UInt64(context.store.count)
    response.stateBytes = UInt64(context.store.stateBytes)
    response.lastSequence = context.store.lastEventSequence
    response.connections = UInt64(connections.shares.count)
    response.subscriptions = UInt64(streams.count)
    response.counters = Dictionary(
      uniqueKeysWithValues: context.counters.byName.map { ($0.name, $0.value) })
    response.limits = Dictionary(
      uniqueKeysWithValues: ServerLimits.names.map {
        ($0.name, UInt64(clamping: context.limits[keyPath: $0.path]))
      })
    response.pid = UInt32(clamping: getpid())
    response.recentErrors = context.recentErrors.entries
    let highest = context.store.highestUsage
    response.usage = [
      "widgets_max": context.store.count, "widgets_per_uid_max": highest.widgets,
      "state_bytes_per_uid_max": highest.bytes,
      "content_bytes_per_uid_max": highest.contentBytes,
      "connections_max": connections.shares.count,
      "connections_per_uid_max": connections.shares.highestCount,
      "kind_memory_bytes_per_uid_max": context.store.highestKindMemory,
      "connections_unauthorized_max": connections.shares.unauthorizedCount,
      "subscriptions_max": context.streamAccounts.count,
      "subscriptions_per_uid_max": context.streamAccounts.highestCount,
      "subscriptions_unauthorized_max": context.streamAccounts.unauthorizedCount,
      "selector_memory_bytes_per_uid_max": context.streamAccounts.highestSelectorBytes,
      "selector_memory_bytes_total_max": context.streamAccounts.selectorBytes,
      "providers_per_uid_max": providers.table.highestCount,
    ].mapValues { UInt64(clamping: $0) }
    response.providers = UInt64(providers.table.count)
    response.storeFailure = storage.failure
    response.memoryBytes = ResidentMemory.bytes ?? 0
    return response
  }
}

extension LogLevel {
  init(_ level: Logger.Level) {
    switch level {
    case .trace: self = .trace
    case .debug: self = .debug
    case .info: self = .info
    case .notice: self = .notice
    case .warning: self = .warning
    case .error: self = .error
    case .critical: self = .critical
    }
  }

  var logger: Logger.Level {
    switch self {
    case .trace: .trace
    case .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error: .error
    case .critical: .critical
    }
  }
}
