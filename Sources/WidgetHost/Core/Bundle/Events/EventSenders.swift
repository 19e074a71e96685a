import WidgetModel

/// The users behind events that the bundle's steps have sent with `emit`, by the events' sequence
/// numbers.
///
/// An event names the host as its sender, and any client may claim to be the host. So an event is
/// identified only by the number in the daemon's answer. Numbers may begin again in another
/// session, so a session starts with none.
struct EventSenders: Sendable {
  /// The maximum number of remembered events; the oldest are forgotten first.
  static let countMax = 1024

  private var users: [UInt64: UInt32] = [:]
  private var order: [UInt64] = []

  subscript(sequence: UInt64) -> UInt32? { users[sequence] }

  var count: Int { users.count }

  mutating func add(_ uid: UInt32, of sequence: UInt64) {
    if users.updateValue(uid, forKey: sequence) == nil { order.append(sequence) }
    guard order.count > EventSenders.countMax else { return }
    users[order.removeFirst()] = nil
  }

  mutating func removeAll() {
    users = [:]
    order = []
  }
}

extension BundleInstance {
  /// The user who sent an event, or the event that caused it by `emit`. Nil if no user did.
  func user(behind event: Event?) -> UInt32? {
    guard let event else { return nil }
    return event.origin.client == BundleInstance.sender
      ? senders[event.sequence] : event.origin.uid
  }

  /// Remembers the user behind an event that a step has sent to a widget of this bundle.
  mutating func noteSender(of sequence: UInt64, by request: RequestID) {
    guard case .run(let id)? = requests[request], let uid = user(behind: runs[id]?.event) else {
      return
    }
    senders.add(uid, of: sequence)
  }
}
