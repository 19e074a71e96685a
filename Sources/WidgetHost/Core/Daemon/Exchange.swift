import WidgetModel

/// The exchange with the daemon: the calls without an answer, with the purpose of each; the sessions
/// and the watches; and the outputs of this round.
///
/// A cancelled call is forgotten, so a late answer changes nothing.
struct Exchange: Sendable {
  /// The receiver of a session's news.
  enum SessionOwner: Hashable, Sendable {
    case host
    case bundle(UInt64)
  }

  /// The purpose of a call.
  enum Purpose: Hashable, Sendable {
    /// Nobody waits for the answer.
    case nothing
    case hostReady
    case hostKinds
    case standing
    case goodbye
    case closing
    case trace
    case flush(UInt64)
    case ready(UInt64)
    case work(UInt64)
    case bundle(UInt64)
    case look(Rests.Holder)
    case withdrawal(String)
    case mark
    case unmark(String)
    case registeredKinds
    /// A change of a widget that waits for its removal, or no longer waits.
    case held(WidgetID)
  }

  private var outputs: [DaemonConversation.Output] = []
  private var lastNumber: UInt64 = 0
  private var purposes: [CallID: Purpose] = [:]
  private var sessions: [SessionID: SessionOwner] = [:]
  private var watches: [WatchID: UInt64] = [:]

  mutating func put(_ output: DaemonConversation.Output) { outputs.append(output) }

  mutating func takeOutputs() -> [DaemonConversation.Output] {
    defer { outputs.removeAll(keepingCapacity: true) }
    return outputs
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Calls

  mutating func call(_ call: DaemonCall, for purpose: Purpose) -> CallID {
    let id = CallID(number: nextNumber())
    purposes[id] = purpose
    put(.effect(.call(id, call)))
    return id
  }

  /// Whether the answer to a call with this purpose is to come.
  func awaits(_ purpose: Purpose) -> Bool { purposes.values.contains(purpose) }

  /// Forgets a call, because its answer is there or nothing waits for it any more.
  ///
  /// - Returns: its purpose; nil if it was forgotten before.
  @discardableResult
  mutating func end(_ id: CallID) -> Purpose? { purposes.removeValue(forKey: id) }

  mutating func cancel(_ id: CallID) {
    if end(id) != nil { put(.effect(.cancel(id))) }
  }

  mutating func cancelAll(but kept: Set<CallID> = []) {
    for id in purposes.keys.sorted(by: { $0.number < $1.number }) where !kept.contains(id) {
      cancel(id)
    }
  }

  // MARK: Sessions

  func owner(of session: SessionID) -> SessionOwner? { sessions[session] }

  mutating func open(_ request: SessionRequest, for owner: SessionOwner) -> SessionID {
    let id = SessionID(number: nextNumber())
    sessions[id] = owner
    put(.effect(.open(id, request)))
    return id
  }

  /// Ignores the news of a session from now on.
  mutating func leave(_ session: SessionID) { sessions[session] = nil }

  // MARK: Watches

  /// The bundle of a watch; nil if the watch has ended.
  func bundle(of watch: WatchID) -> UInt64? { watches[watch] }

  mutating func watch(_ kinds: [KindName], for generation: UInt64) -> WatchID {
    let id = WatchID(number: nextNumber())
    watches[id] = generation
    put(.effect(.watch(id, kinds)))
    return id
  }

  mutating func endWatch(_ id: WatchID) {
    watches[id] = nil
    put(.effect(.endWatch(id)))
  }

  /// The daemon has ended a watch.
  ///
  /// - Returns: its bundle; nil if the watch had ended before.
  mutating func watchEnded(_ id: WatchID) -> UInt64? { watches.removeValue(forKey: id) }
}
