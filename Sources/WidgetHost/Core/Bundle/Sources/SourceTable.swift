import WidgetModel

/// The state of a source of a widget. Only `SourceTable` changes it.
struct SourceState: Sendable {
  /// The running request: a single reading, or a continuous program.
  fileprivate(set) var request: RequestID?
  /// Whether another reading was requested meanwhile.
  fileprivate(set) var isWantedAgain = false
  /// Whether a step, or a program, has asked for the reading under way.
  fileprivate(set) var isDemanded = false
  /// Whether the reading waits for its turn.
  fileprivate(set) var isQueued = false
  /// Whether the condition held at its last check that gave a result.
  fileprivate(set) var isOn = true
  /// Whether the last check of the condition failed.
  fileprivate(set) var hasFailedCondition = false
  /// Failures since the last success.
  fileprivate(set) var attempts = 0
  fileprivate(set) var watch: Watch?

  /// The watch of a file, or of a folder.
  struct Watch: Sendable {
    let request: RequestID
    let path: String
    /// The reason why changes can stay unnoticed; nil if they are noticed.
    fileprivate(set) var failure: Failure?
  }
  /// Whether the input existed at the last reading that gave a result or an absence. Other failures
  /// do not change it.
  fileprivate(set) var input = Input.unknown

  enum Input: Sendable { case unknown, present, absent }
  /// The path to watch if the socket does not exist.
  fileprivate(set) var missingPath: String?
  fileprivate(set) var lastRead: Duration?
  /// The values of the input's dependencies at the last reading, or the next one if it waits; nil
  /// before the first reading.
  fileprivate(set) var inputs: [Value]?
  /// The validators for a conditional request.
  fileprivate(set) var cached: CachedAnswer?
  /// The last request that was sent.
  fileprivate var asked: AskedRequest?
  /// The condition of this request, with which it asked only for newer content.
  fileprivate(set) var condition = RequestCondition.none
  /// The message after the last reading.
  fileprivate(set) var message = ""
  /// The start of the last reading, or of the continuous program.
  fileprivate(set) var started: Duration?
  /// Whether the running program or connection has given a result.
  fileprivate(set) var hasGiven = false
  /// Whether the bundle could not process the last result of the running program or connection.
  fileprivate(set) var hasWrongResult = false
  /// The shortest time without a result or a failure after which the next program or connection
  /// counts as working.
  fileprivate(set) var quietLeast = Duration.zero
}

/// The parts of an HTTP request on which the answer can depend.
struct AskedRequest: Hashable {
  private let address: String
  private let headers: [String]

  init(_ request: WebRequest) {
    address = request.address.description
    headers = request.headers.map { "\($0.name): \($0.value)" }
  }
}

/// Everything except the answer itself that decides whether another processing of the same answer
/// would leave the widget as it is.
struct AnswerBasis: Hashable {
  /// The values that `set` reads, before the processing.
  let read: [Value]
  /// The values of the keys that the source sets, and those that its message reads, after it.
  let set: [Value]
}

/// The condition under which a request asks for content. Only a request with a condition can be
/// answered with 304.
enum RequestCondition: Sendable {
  case none
  /// The host has the validators of an earlier answer.
  case validators
  /// The bundle has set a header `If-…`.
  case bundle
}

/// The validators of an answer, for a conditional request that asks only for newer content.
struct CachedAnswer: Hashable {
  let request: AskedRequest
  let etag: String?
  let lastModified: String?
  let basis: AnswerBasis
}

/// The sources of a bundle's widgets, by the widget and the source's index in the kind.
///
/// A call for a widget that was removed changes nothing.
struct SourceTable: Sendable {
  private var states: [WidgetID: [SourceState]] = [:]
  /// The number of watches that have failed.
  private(set) var unwatchedCount = 0

  subscript(id: WidgetID, index: Int) -> SourceState? {
    guard let states = states[id], states.indices.contains(index) else { return nil }
    return states[index]
  }

  /// All sources of a widget, in order.
  subscript(id: WidgetID) -> [SourceState] { states[id] ?? [] }

  mutating func add(_ id: WidgetID, count: Int) {
    remove(id)
    states[id] = Array(repeating: SourceState(), count: count)
  }

  mutating func remove(_ id: WidgetID) {
    unwatchedCount -= self[id].count { $0.watch?.failure != nil }
    states[id] = nil
  }

  private mutating func change(
    _ id: WidgetID, _ index: Int, _ body: (inout SourceState) -> Void
  ) {
    guard states[id]?.indices.contains(index) == true else { return }
    let wasUnwatched = states[id]?[index].watch?.failure != nil
    body(&states[id, default: []][index])
    let isUnwatched = states[id]?[index].watch?.failure != nil
    if isUnwatched != wasUnwatched { unwatchedCount += isUnwatched ? 1 : -1 }
  }

  // MARK: Readings

  /// A reading, or a continuous program, begins.
  mutating func began(_ id: WidgetID, _ index: Int, _ request: RequestID, at now: Duration) {
    change(id, index) {
      $0.request = request
      $0.isWantedAgain = false
      $0.lastRead = now
      $0.started = now
      $0.hasGiven = false
      $0.hasWrongResult = false
    }
  }

  /// A reading takes no time, so it has no request.
  mutating func tookNoTime(_ id: WidgetID, _ index: Int, at now: Duration) {
    change(id, index) { $0.lastRead = now }
  }

  /// The request has ended, or it was cancelled.
  mutating func ended(_ id: WidgetID, _ index: Int) { change(id, index) { $0.request = nil } }

  /// The last reading no longer counts as recent.
  mutating func forgetReading(_ id: WidgetID, _ index: Int) {
    change(id, index) { $0.lastRead = nil }
  }

  /// The running program or connection has given a result.
  mutating func gave(_ id: WidgetID, _ index: Int) { change(id, index) { $0.hasGiven = true } }

  /// Notes whether the bundle could not process the last result. The end of a service makes this
  /// result obsolete.
  mutating func set(_ id: WidgetID, _ index: Int, hasWrongResult: Bool) {
    change(id, index) { $0.hasWrongResult = hasWrongResult }
  }

  /// A program or connection has ended after this time. If it ended without a result, it may never
  /// have worked, such as a program that waits for its server. Then the next one must last longer, up
  /// to `quietMax`.
  mutating func lasted(_ id: WidgetID, _ index: Int, _ time: Duration, quietMax: Duration) {
    change(id, index) {
      $0.quietLeast = $0.hasGiven ? .zero : min(min(time, quietMax) * 2, quietMax)
    }
  }

  /// Another reading must follow the one under way.
  mutating func wantAgain(_ id: WidgetID, _ index: Int) {
    change(id, index) { $0.isWantedAgain = true }
  }

  /// - Returns: whether another reading must follow, which the caller now begins.
  mutating func takeWish(_ id: WidgetID, _ index: Int) -> Bool {
    let isWanted = self[id, index]?.isWantedAgain ?? false
    change(id, index) { $0.isWantedAgain = false }
    return isWanted
  }

  /// A step, or a program, asks for the reading.
  mutating func demand(_ id: WidgetID, _ index: Int) { change(id, index) { $0.isDemanded = true } }

  /// Lets the reading wait for its turn.
  ///
  /// - Returns: false if it waits already.
  mutating func queue(_ id: WidgetID, _ index: Int) -> Bool {
    let isNew = self[id, index]?.isQueued == false
    change(id, index) { $0.isQueued = true }
    return isNew
  }

  /// The turn of a reading has come.
  ///
  /// - Returns: false if it waits no more.
  mutating func leaveQueue(_ id: WidgetID, _ index: Int) -> Bool {
    let isQueued = self[id, index]?.isQueued ?? false
    change(id, index) { $0.isQueued = false }
    return isQueued
  }

  /// Remembers the values of the input's dependencies.
  mutating func set(_ id: WidgetID, _ index: Int, inputs: [Value]) {
    change(id, index) { $0.inputs = inputs }
  }

  /// Remembers the path to watch if the socket does not exist.
  mutating func set(_ id: WidgetID, _ index: Int, missingPath: String) {
    change(id, index) { $0.missingPath = missingPath }
  }

  // MARK: On and off

  mutating func set(_ id: WidgetID, _ index: Int, isOn: Bool) {
    change(id, index) {
      $0.isOn = isOn
      $0.hasFailedCondition = false
    }
  }

  /// The condition could not be evaluated. Its next result turns the source on or off.
  mutating func conditionFailed(_ id: WidgetID, _ index: Int) {
    change(id, index) { $0.hasFailedCondition = true }
  }

  /// Suspends a source. A reading that is under way is dropped, so it does not count.
  mutating func suspend(_ id: WidgetID, _ index: Int) {
    change(id, index) {
      if $0.request != nil { $0.lastRead = nil }
      $0.isOn = false
    }
  }

  /// Drops the requests of a source that is off, and its place in the queue.
  ///
  /// - Returns: the requests to cancel.
  mutating func dropRequests(_ id: WidgetID, _ index: Int) -> [RequestID] {
    let requests = self[id, index]?.requests ?? []
    change(id, index) {
      $0.request = nil
      $0.watch = nil
      $0.isQueued = false
    }
    return requests
  }

  // MARK: Files that change

  mutating func watch(_ id: WidgetID, _ index: Int, _ request: RequestID, path: String) {
    change(id, index) { $0.watch = SourceState.Watch(request: request, path: path) }
  }

  /// Notes whether the changes of a watched file are noticed.
  mutating func set(_ id: WidgetID, _ index: Int, watchFailure failure: Failure?) {
    change(id, index) { $0.watch?.failure = failure }
  }

  /// - Returns: the request of the watch; nil if there was none.
  @discardableResult
  mutating func unwatch(_ id: WidgetID, _ index: Int) -> RequestID? {
    let request = self[id, index]?.watch?.request
    change(id, index) { $0.watch = nil }
    return request
  }

  // MARK: Results

  /// A result of a program or connection that continues says nothing about its lifetime, so it
  /// counts as no attempt.
  mutating func succeeded(_ id: WidgetID, _ index: Int, message: String) {
    change(id, index) {
      $0.message = message
      if $0.request == nil { $0.attempts = 0 }
      $0.input = .present
      $0.isDemanded = false
    }
  }

  /// Counts an attempt as for `succeeded`.
  mutating func failed(_ id: WidgetID, _ index: Int) {
    change(id, index) {
      if $0.request == nil { $0.attempts += 1 }
      $0.isDemanded = false
    }
  }

  /// The input of an optional source is missing. Counts an attempt as for `succeeded`.
  mutating func missed(_ id: WidgetID, _ index: Int) {
    change(id, index) { if $0.request == nil { $0.attempts += 1 } }
  }

  mutating func set(_ id: WidgetID, _ index: Int, attempts: Int) {
    change(id, index) { $0.attempts = attempts }
  }

  /// The input does not exist.
  ///
  /// - Returns: whether that is new.
  mutating func becameAbsent(_ id: WidgetID, _ index: Int) -> Bool {
    let isNew = self[id, index]?.input != .absent
    change(id, index) { $0.input = .absent }
    return isNew
  }

  // MARK: Conditional requests

  mutating func sends(
    _ id: WidgetID, _ index: Int, _ request: AskedRequest, _ condition: RequestCondition
  ) {
    change(id, index) {
      $0.asked = request
      $0.condition = condition
    }
  }

  /// Remembers the validators of an answer, for the next request. They belong to the request that
  /// was answered, because the widget's data can ask for something else by now.
  mutating func remember(
    _ id: WidgetID, _ index: Int, _ answer: WebAnswer, _ basis: AnswerBasis
  ) {
    change(id, index) {
      $0.cached = nil
      guard answer.etag != nil || answer.lastModified != nil, let asked = $0.asked else { return }
      $0.cached = CachedAnswer(
        request: asked, etag: answer.etag, lastModified: answer.lastModified, basis: basis)
    }
  }

  mutating func forgetAnswer(_ id: WidgetID, _ index: Int) {
    change(id, index) { $0.cached = nil }
  }
}

extension SourceState {
  /// The requests to cancel when the source ends: its reading, and the watch of its file.
  var requests: [RequestID] { [request, watch?.request].compactMap { $0 } }
}
