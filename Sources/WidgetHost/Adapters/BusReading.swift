import Dispatch
import Glibc
import WidgetBundle
import WidgetModel

/// Asks services on D-Bus. Each request has a thread and a connection, which it closes at its end.
enum BusReading {
  /// News during a request.
  enum Told: Sendable {
    case value(Value)
    case absent(Failure)
    /// The service whose signals are followed exists.
    case present
  }

  enum Outcome: Sendable {
    /// The answer of a call.
    case value(Value)
    case failed(Failure)
  }

  /// - Parameter tell: takes the news one by one: each piece of news waits until `tell` has
  ///   returned.
  static func run(
    _ request: BusRequest, address: String?, tell: @escaping @Sendable (Told) async -> Void
  ) async -> Outcome {
    await StoppableThread.run {
      .failed(
        Failure(
          "RESOURCE_EXHAUSTED", "cannot call \(request.name): \($0)", isTransient: true))
    } _: { stop in
      do throws(Failure) {
        let connection = try BusConnection(request.bus, address: address, stop: stop)
        if case .call(let member, let arguments, let types) = request.work {
          return .value(try call(connection, request, member, arguments, types))
        }
        let following = BusFollowing(request, connection) { told in
          let taken = DispatchSemaphore(value: 0)
          Task {
            await tell(told)
            taken.signal()
          }
          taken.wait()
        }
        try following.run()
      } catch {
        return .failed(error)
      }
    }
  }

  private static func call(
    _ connection: BusConnection, _ request: BusRequest, _ member: String, _ arguments: [Value],
    _ types: [BusType]
  ) throws(Failure) -> Value {
    let message = try connection.call(request.name, request.path, request.interface, member)
    for (argument, type) in zip(arguments, types) { try message.append(argument, as: type) }
    let cookie = try connection.send(message)
    let deadline = ContinuousClock.now + request.timeout
    while let answer = try connection.next(until: deadline) {
      guard answer.answered == cookie else { continue }
      if let error = answer.error { throw Failure(error, of: request) }
      return .list(try values(of: answer, request))
    }
    throw Failure(
      "DEADLINE_EXCEEDED", "\(request.name) has not answered for \(request.timeout)",
      isTransient: true)
  }

  /// The values of a message. A failure names the service.
  static func values(of message: BusMessage, _ request: BusRequest) throws(Failure) -> [Value] {
    do throws(Failure) {
      return try message.values(valuesMax: request.valuesMax, bytesMax: request.bytesMax)
    } catch {
      throw Failure(error.code, "\(request.name): \(error.message)")
    }
  }
}

extension Failure {
  private static let absences = [
    "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
  ]
  /// The error of the bus if the unit of a service is missing. systemd itself has it, too, for the
  /// arguments of a call.
  private static let missingUnit = "org.freedesktop.systemd1.NoSuchUnit"
  private static let systemd = "org.freedesktop.systemd1"

  /// Whether an error says that the name has no owner, and that no service can be started for it.
  static func isAbsence(_ name: String, of request: BusRequest) -> Bool {
    absences.contains(name) || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
      || (name == missingUnit && request.name != systemd)
  }

  static func absent(_ request: BusRequest) -> Failure {
    Failure(
      "NOT_FOUND",
      "no program has the name \(request.name) on the \(request.bus.rawValue) bus; is its program"
        + " installed and running?")
  }

  /// An error that a service or the bus answered with.
  init(_ error: (name: String, message: String), of request: BusRequest) {
    if Failure.isAbsence(error.name, of: request) {
      self = .absent(request)
      return
    }
    // The service exists, so it is not missing, and NOT_FOUND would hide a mistake of the bundle.
    let codes = [
      "UnknownObject": "UNIMPLEMENTED", "UnknownInterface": "UNIMPLEMENTED",
      "UnknownMethod": "UNIMPLEMENTED", "UnknownProperty": "UNIMPLEMENTED",
      "AccessDenied": "PERMISSION_DENIED",
      "AuthFailed": "PERMISSION_DENIED", "InteractiveAuthorizationRequired": "PERMISSION_DENIED",
      "NoReply": "UNAVAILABLE", "Timeout": "DEADLINE_EXCEEDED", "TimedOut": "DEADLINE_EXCEEDED",
      "LimitsExceeded": "RESOURCE_EXHAUSTED", "InvalidArgs": "INVALID_ARGUMENT",
    ]
    let isStandard = error.name.hasPrefix("org.freedesktop.DBus.Error.")
    let last = error.name.split(separator: ".").last.map { String($0) } ?? ""
    let code = (isStandard ? codes[last] : nil) ?? "UNKNOWN"
    let words = error.message.isEmpty ? error.name : "\(error.message) (\(error.name))"
    self.init(
      code, "\(request.name) answers: \(words.wholeWords(bytesMax: HostLimits.errorBytesMax))")
  }
}
