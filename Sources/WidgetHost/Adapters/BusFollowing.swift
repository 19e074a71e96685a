import Glibc
import WidgetBundle
import WidgetModel

/// Follows the properties or a signal of a service, or the properties of all services with a prefix.
///
/// A signal counts only if the owner of the name has sent it: anybody can send a signal to anybody.
/// Changes of properties that come close together give one result. Runs on one thread.
final class BusFollowing {
  private enum Pending {
    /// A match or another call whose answer matters only if it is an error.
    case nothing
    case names
    case owner(String)
    case properties(String)
  }

  private let request: BusRequest
  private let connection: BusConnection
  private let tell: (BusReading.Told) -> Void
  private var pending: [UInt64: Pending] = [:]
  /// The unique names of the owners, by name.
  private var owners: [String: String] = [:]
  /// The properties by name, and the names, the last changed one first.
  private var properties: [String: ValueMap] = [:]
  private var order: [String] = []
  private var isChanged = false
  private var nextResult = ContinuousClock.now
  /// The deadline of the pending calls.
  private var deadline: ContinuousClock.Instant

  init(
    _ request: BusRequest, _ connection: BusConnection, tell: @escaping (BusReading.Told) -> Void
  ) {
    self.request = request
    self.connection = connection
    self.tell = tell
    deadline = .now + request.timeout
  }

  private var prefix: String { String(request.name.dropLast(2)) }

  /// Runs until the connection ends.
  func run() throws(Failure) -> Never {
    try begin()
    while true {
      let isReady = isChanged && !isReadingProperties
      let wait = isReady ? nextResult : pending.isEmpty ? nil : deadline
      if let message = try connection.next(until: wait) {
        try take(message)
      } else if isReady {
        giveResult()
      } else if !pending.isEmpty {
        throw Failure(
          "DEADLINE_EXCEEDED", "\(request.name) has not answered for \(request.timeout)",
          isTransient: true)
      }
    }
  }

  /// Only requests for signals report whether the service exists. Properties show it by themselves.
  private var isOfSignals: Bool {
    if case .signal = request.work { true } else { false }
  }

  private var isReadingProperties: Bool {
    pending.values.contains {
      switch $0 {
      case .properties, .names: true
      case .nothing, .owner: false
      }
    }
  }

  // MARK: Asking

  private func begin() throws(Failure) {
    let named = request.isPattern ? "arg0namespace='\(prefix)'" : "arg0='\(request.name)'"
    try match(
      "sender='\(BusConnection.driver)',path='\(BusConnection.driverPath)'"
        + ",interface='\(BusConnection.driver)',member='NameOwnerChanged',\(named)")
    let path = request.path.isEmpty ? "" : ",path='\(request.path)'"
    let sender = request.isPattern ? "" : "sender='\(request.name)',"
    switch request.work {
    case .signal(let name):
      try match("\(sender)interface='\(request.interface)',member='\(name)'\(path)")
    case .properties, .call:
      try match(
        "\(sender)interface='\(BusConnection.propertiesInterface)',member='PropertiesChanged'"
          + "\(path),arg0='\(request.interface)'")
    }
    if request.isPattern {
      try ask(.names, of: BusConnection.driver, "ListNames")
    } else {
      try askOwner(request.name)
      try readProperties(request.name)
    }
  }

  private func match(_ rule: String) throws(Failure) {
    try ask(.nothing, of: BusConnection.driver, "AddMatch", ["type='signal',\(rule)"])
  }

  private func askOwner(_ name: String) throws(Failure) {
    try ask(.owner(name), of: BusConnection.driver, "GetNameOwner", [name])
  }

  /// Reads all properties, which also starts the service if the bus can.
  private func readProperties(_ name: String) throws(Failure) {
    guard case .properties = request.work else { return }
    // Only the last reading counts.
    for (cookie, entry) in pending {
      if case .properties(name) = entry { pending[cookie] = nil }
    }
    let message = try connection.call(
      name, request.path, BusConnection.propertiesInterface, "GetAll")
    try message.append(request.interface)
    try send(message, .properties(name))
  }

  private func ask(
    _ what: Pending, of name: String, _ member: String, _ arguments: [String] = []
  ) throws(Failure) {
    let message = try connection.call(name, BusConnection.driverPath, BusConnection.driver, member)
    for argument in arguments { try message.append(argument) }
    try send(message, what)
  }

  private func send(_ message: BusMessage, _ what: Pending) throws(Failure) {
    pending[try connection.send(message)] = what
    deadline = .now + request.timeout
  }

  // MARK: Hearing

  private func take(_ message: BusMessage) throws(Failure) {
    if let cookie = message.answered {
      guard let what = pending.removeValue(forKey: cookie) else { return }
      return try take(message, for: what)
    }
    if message.isSignal(BusConnection.driver, "NameOwnerChanged") {
      guard message.sender == BusConnection.driver else { return }
      let values = try values(message)
      guard values.count == 3, case .string(let name) = values[0],
        case .string(let owner) = values[2], isFollowed(name)
      else { return }
      return try ownerChanged(name, owner)
    }
    let senders = owners.filter { $0.value == message.sender }.map(\.key)
    guard !senders.isEmpty, request.path.isEmpty || message.path == request.path else { return }
    switch request.work {
    case .signal(let name):
      guard message.isSignal(request.interface, name) else { return }
      tell(.value(.list(try values(message))))
    case .properties, .call:
      guard message.isSignal(BusConnection.propertiesInterface, "PropertiesChanged") else { return }
      let values = try values(message)
      guard values.count == 3, values[0] == .string(request.interface),
        case .map(let changed) = values[1], case .list(let invalid) = values[2]
      else { return }
      for name in senders.sorted() { try propertiesChanged(name, changed, Array(invalid)) }
    }
  }

  private func values(_ message: BusMessage) throws(Failure) -> [Value] {
    try BusReading.values(of: message, request)
  }

  private func isFollowed(_ name: String) -> Bool {
    request.isPattern ? name.hasPrefix(prefix + ".") : name == request.name
  }

  private func take(_ answer: BusMessage, for what: Pending) throws(Failure) {
    if let error = answer.error { return try take(error, for: what) }
    switch what {
    case .nothing: break
    case .names:
      guard case .list(let names)? = try values(answer).first else { return }
      isChanged = true
      for case .string(let name) in names.sorted(by: { PlainText.of($0) < PlainText.of($1) })
      where isFollowed(name) {
        try appear(name)
        order.append(name)
        try askOwner(name)
      }
    case .owner(let name):
      guard case .string(let owner)? = try values(answer).first else { return }
      owners[name] = owner
      if isOfSignals { tell(.present) }
    case .properties(let name):
      owners[name] = answer.sender
      guard case .map(let map)? = try values(answer).first else { return }
      properties[name] = map
      isChanged = true
    }
  }

  private func take(
    _ error: (name: String, message: String), for what: Pending
  ) throws(Failure) {
    switch what {
    case .owner(let name):
      owners[name] = nil
      if isOfSignals, Failure.isAbsence(error.name, of: request) {
        tell(.absent(.absent(request)))
      }
    case .properties(let name):
      properties[name] = nil
      // If one of many services refuses its properties, it is left out. Another service may have
      // them.
      if request.isPattern { isChanged = true } else { try refuse(error) }
    case .nothing, .names: throw Failure(error, of: request)
    }
  }

  private func refuse(_ error: (name: String, message: String)) throws(Failure) {
    // NameOwnerChanged reports the service when it starts.
    guard Failure.isAbsence(error.name, of: request) else {
      throw Failure(error, of: request)
    }
    tell(.absent(.absent(request)))
  }

  private func appear(_ name: String) throws(Failure) {
    guard owners.count < request.namesMax, order.count < request.namesMax else {
      throw Failure(
        "RESOURCE_EXHAUSTED", "more than \(request.namesMax) services are called \(request.name)")
    }
    try readProperties(name)
  }

  private func ownerChanged(_ name: String, _ owner: String) throws(Failure) {
    properties[name] = nil
    owners[name] = owner.isEmpty ? nil : owner
    if request.isPattern {
      order.removeAll { $0 == name }
      isChanged = true
      guard !owner.isEmpty else { return }
      try appear(name)
      order.insert(name, at: 0)
    } else if owner.isEmpty {
      isChanged = false
      tell(.absent(.absent(request)))
    } else if isOfSignals {
      tell(.present)
    } else {
      try readProperties(name)
    }
  }

  private func propertiesChanged(
    _ name: String, _ changed: ValueMap, _ invalid: [Value]
  ) throws(Failure) {
    if invalid.contains(where: { isWanted(PlainText.of($0)) }) { try readProperties(name) }
    guard var known = properties[name] else { return }
    for entry in changed.entries { known[entry.key] = entry.value }
    guard known.count <= request.valuesMax else {
      throw Failure("OUT_OF_RANGE", "\(name) has more than \(request.valuesMax) properties")
    }
    properties[name] = known
    if let index = order.firstIndex(of: name) { order.insert(order.remove(at: index), at: 0) }
    isChanged = true
  }

  // MARK: Results

  private func isWanted(_ property: String) -> Bool {
    guard case .properties(let names) = request.work else { return false }
    return names.isEmpty || names.contains(property)
  }

  private func wanted(_ all: ValueMap) -> Value {
    guard case .properties(let names) = request.work, !names.isEmpty else { return .map(all) }
    return .map(ValueMap(names.map { ValueMap.Entry(key: $0, value: all[$0] ?? .null) }))
  }

  private func giveResult() {
    isChanged = false
    nextResult = .now + request.spacing
    if request.isPattern {
      let services: [Value] = order.compactMap { name in
        properties[name].map {
          .map(["name": .string(name), "properties": wanted($0)])
        }
      }
      tell(.value(.list(services)))
    } else if let known = properties[request.name] {
      tell(.value(wanted(known)))
    }
  }
}
