import WidgetModel

/// The requests of a bundle that have no answer yet, and the work that waits until fewer of them
/// are under way.
struct RequestTable: Sendable {
  /// The purpose of an answer.
  enum Purpose: Hashable, Sendable {
    case source(WidgetID, Int)
    case continuous(WidgetID, Int)
    case watch(WidgetID, Int)
    case patch(WidgetID)
    case run(UInt64)
    case event(Event)
    /// Nothing waits for the answer.
    case notice

    /// Whether the request is a file, a program or a request of which few may be under way.
    fileprivate var needsRoom: Bool {
      switch self {
      case .source, .run: true
      case .continuous, .watch, .patch, .event, .notice: false
      }
    }
  }

  /// A source or a run that waits for room.
  enum Waiter: Hashable, Sendable {
    case source(WidgetID, Int)
    case run(UInt64)
  }

  private let generation: UInt64
  private let effectsMax: Int
  /// The maximum number of effects that the actions of one user have under way. A part of the room
  /// stays free for sources and for other users.
  let effectsOfUserMax: Int
  private var lastNumber: UInt64 = 0
  private var purposes: [RequestID: Purpose] = [:]
  private var waiting: [Waiter] = []
  private let continuousMax: Int
  /// The continuous sources that wait for a place, in order.
  private var waitingForPlace: [Place] = []
  /// The continuous sources that the host has ended and starts again soon. Each keeps its place.
  private var kept: Set<Place> = []

  /// A source of a widget.
  struct Place: Hashable, Sendable {
    let id: WidgetID
    let index: Int
  }

  init(generation: UInt64, limits: HostLimits) {
    self.generation = generation
    effectsMax = limits.effectsMax
    effectsOfUserMax = limits.effectsMax - limits.effectsMax / 4
    continuousMax = limits.continuousMax
  }

  var isEmpty: Bool { purposes.isEmpty }

  subscript(request: RequestID) -> Purpose? { purposes[request] }

  mutating func begin(_ purpose: Purpose) -> RequestID {
    let request = RequestID(generation: generation, number: nextNumber())
    purposes[request] = purpose
    if case .continuous(let id, let index) = purpose {
      let place = Place(id: id, index: index)
      waitingForPlace.removeAll { $0 == place }
      kept.remove(place)
    }
    return request
  }

  /// A number that no request has, and no other caller gets.
  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Forgets a request, because its answer is there or nothing waits for it any more.
  ///
  /// - Returns: its purpose; nil if it was forgotten before.
  mutating func end(_ request: RequestID) -> Purpose? { purposes.removeValue(forKey: request) }

  /// Forgets all requests.
  ///
  /// - Returns: the requests that adapters must cancel, in order.
  mutating func endAll() -> [RequestID] {
    let under = purposes.filter { entry in
      switch entry.value {
      case .source, .continuous, .watch, .run: true
      case .patch, .event, .notice: false
      }
    }
    purposes = [:]
    return under.keys.sorted { $0.number < $1.number }
  }

  /// The numbers of the events whose widget is being fetched.
  var fetchingEvents: [UInt64] {
    purposes.values.compactMap { if case .event(let event) = $0 { event.sequence } else { nil } }
  }

  /// Whether a source gives its first result later.
  ///
  /// - Parameter heard: the requests of continuous sources that have given a result.
  func isReading(besides heard: Set<RequestID>) -> Bool {
    purposes.contains { request, purpose in
      switch purpose {
      case .source: true
      case .continuous: !heard.contains(request)
      case .watch, .patch, .run, .event, .notice: false
      }
    }
  }

  // MARK: Room

  /// Whether another file, program or request can be under way.
  var hasRoom: Bool { purposes.values.count(where: \.needsRoom) < effectsMax }

  /// Lets work wait for room, behind the work that waits already.
  mutating func wait(_ waiter: Waiter) { waiting.append(waiter) }

  /// The first work that waited, if there is room for it now.
  ///
  /// - Parameter held: the runs that wait although there is room.
  mutating func takeWaiter(but held: Set<UInt64> = []) -> Waiter? {
    guard hasRoom else { return nil }
    let first = waiting.firstIndex { waiter in
      if case .run(let id) = waiter { !held.contains(id) } else { true }
    }
    return first.map { waiting.remove(at: $0) }
  }

  /// Forgets the waiting sources of a widget.
  mutating func forgetWaiters(of id: WidgetID) {
    waiting.removeAll { if case .source(id, _) = $0 { true } else { false } }
    waitingForPlace.removeAll { $0.id == id }
    kept = kept.filter { $0.id != id }
  }

  // MARK: Places

  /// The number of programs, sockets and services that run or keep their place.
  var takenPlaces: Int {
    kept.count + purposes.values.count { if case .continuous = $0 { true } else { false } }
  }

  /// Whether another program, socket or service can run.
  var hasPlace: Bool { takenPlaces < continuousMax }

  /// Whether this source can run. A kept place is free for its source.
  func admits(_ id: WidgetID, _ index: Int) -> Bool {
    kept.contains(Place(id: id, index: index)) || hasPlace
  }

  /// The host has ended a continuous source and starts it again soon, so no other source takes its
  /// place meanwhile.
  mutating func keepPlace(_ id: WidgetID, _ index: Int) {
    kept.insert(Place(id: id, index: index))
  }

  /// The source does not start again for now.
  mutating func releasePlace(_ id: WidgetID, _ index: Int) {
    kept.remove(Place(id: id, index: index))
  }

  /// Lets a continuous source wait for a place. A source that waits already keeps its turn.
  mutating func waitForPlace(_ id: WidgetID, _ index: Int) {
    let place = Place(id: id, index: index)
    if !waitingForPlace.contains(place) { waitingForPlace.append(place) }
  }

  /// The first source that waited, if there is a place for it now.
  mutating func takePlace() -> Place? {
    waitingForPlace.isEmpty || !hasPlace ? nil : waitingForPlace.removeFirst()
  }
}
