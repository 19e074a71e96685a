import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The parts of a bundle, each alone: values in, values out.
struct BundlePartTests {
  private let a: WidgetID
  private let b: WidgetID

  init() throws { (a, b) = (try #require(WidgetID("a")), try #require(WidgetID("b"))) }

  // MARK: Timers

  @Test func `a timer that an earlier one has cancelled or moved does not fire`() {
    var timers = Timers()
    for index in 0..<3 { timers.set(.source(a, index), at: .seconds(index)) }
    let due = timers.due(at: .seconds(2))
    #expect(due == [.source(a, 0), .source(a, 1), .source(a, 2)])
    let first = timers.end(due[0], at: .seconds(2))
    timers.cancel(due[1])
    timers.set(due[2], at: .seconds(9))
    let others = due.dropFirst().map { timers.end($0, at: .seconds(2)) }
    #expect(first && others == [false, false])
    #expect(timers.next == .seconds(9))
  }

  @Test func `the removal of a widget cancels all of its timers, and no other`() {
    let request = RequestID(generation: 1, number: 1)
    let keys: [TimerKey] = [
      .source(a, 0), .trigger(a, 0), .throttle(.init(widgetID: a, trigger: 0, node: "")),
      .release(a), .dropped(a), .outcomes(a), .stale(a, 0),
    ]
    let others: [TimerKey] = [.source(b, 0), .delay(1), .stub(request)]
    var timers = Timers()
    for key in keys + others { timers.set(key, at: .zero) }
    timers.cancelAll(of: a)
    #expect(Set(timers.due(at: .zero)) == Set(others))
  }

  // MARK: Requests

  @Test func `the end of a bundle cancels work outside, and no change of a widget`() {
    var requests = RequestTable(generation: 3, limits: HostLimits())
    let work = [.source(a, 0), .continuous(a, 1), .watch(a, 2), .run(7)].map { requests.begin($0) }
    _ = requests.begin(.patch(a))
    _ = requests.begin(.notice)
    let (ended, again) = (requests.endAll(), requests.endAll())
    #expect(ended == work && again == [] && requests.isEmpty)
  }

  @Test func `work that waits for room begins in order, and not before there is room`() {
    var limits = HostLimits()
    limits.effectsMax = 1
    var requests = RequestTable(generation: 1, limits: limits)
    let first = requests.begin(.run(1))
    // A program that runs on and on takes no room.
    _ = requests.begin(.continuous(a, 0))
    requests.wait(.source(a, 1))
    requests.wait(.source(b, 1))
    requests.wait(.run(2))
    let early = requests.takeWaiter()
    #expect(!requests.hasRoom && early == nil)
    requests.forgetWaiters(of: a)
    let ends = (0..<2).map { _ in requests.end(first) }
    #expect(ends == [.run(1), nil])
    let begun = (0..<3).map { _ in requests.takeWaiter() }
    #expect(begun == [.source(b, 1), .run(2), nil])
  }

  @Test func `a run that is held back does not hold back the work behind it`() {
    var limits = HostLimits()
    limits.effectsMax = 8
    var requests = RequestTable(generation: 1, limits: limits)
    #expect(requests.effectsOfUserMax == 6)
    for waiter in [.run(1), .source(a, 0), .run(2)] as [RequestTable.Waiter] {
      requests.wait(waiter)
    }
    let others = (0..<3).map { _ in requests.takeWaiter(but: [1]) }
    #expect(others == [.source(a, 0), .run(2), nil])
    let held = requests.takeWaiter()
    #expect(held == .run(1))
  }

  @Test func `sources that wait for a place begin in order, and wait once each`() {
    var limits = HostLimits()
    limits.continuousMax = 1
    var requests = RequestTable(generation: 1, limits: limits)
    let first = requests.begin(.continuous(a, 0))
    requests.waitForPlace(a, 1)
    for _ in 0..<2 { requests.waitForPlace(b, 0) }
    requests.waitForPlace(b, 1)
    requests.waitForPlace(b, 2)
    let early = requests.takePlace()
    #expect(!requests.hasPlace && early == nil)
    requests.forgetWaiters(of: a)
    _ = requests.end(first)
    let next = requests.takePlace()
    #expect(next == RequestTable.Place(id: b, index: 0))
    // A source that has begun at its own retry waits no more.
    let second = requests.begin(.continuous(b, 1))
    _ = requests.end(second)
    let rest = (0..<2).map { _ in requests.takePlace() }
    #expect(rest == [RequestTable.Place(id: b, index: 2), nil])
  }

  @Test func `a kept place is free only for its source, until it is released`() {
    var limits = HostLimits()
    limits.continuousMax = 1
    var requests = RequestTable(generation: 1, limits: limits)
    requests.waitForPlace(b, 0)
    requests.keepPlace(a, 0)
    let early = requests.takePlace()
    #expect(early == nil && !requests.hasPlace && requests.takenPlaces == 1)
    #expect(requests.admits(a, 0) && !requests.admits(a, 1))
    // The program starts again in its place.
    let request = requests.begin(.continuous(a, 0))
    #expect(requests.takenPlaces == 1 && !requests.admits(a, 0))
    _ = requests.end(request)
    #expect(requests.hasPlace)
    requests.keepPlace(a, 0)
    requests.releasePlace(a, 0)
    #expect(requests.hasPlace)
    requests.keepPlace(a, 0)
    requests.forgetWaiters(of: a)
    let next = requests.takePlace()
    #expect(next == RequestTable.Place(id: b, index: 0))
  }

  // MARK: Sources and failures

  @Test func `a late result for a removed widget changes no source and no failure`() {
    var sources = SourceTable()
    var standing = StandingFailures()
    sources.add(a, count: 1)
    standing.add(a)
    sources.began(a, 0, RequestID(generation: 1, number: 1), at: .zero)
    sources.remove(a)
    standing.remove(a)
    let version = standing.version
    sources.failed(a, 0)
    standing.set(a, .source(0), StandingFailure(status: ActionStatus(), names: [], isCaught: false))
    #expect(sources[a, 0] == nil && sources[a].isEmpty)
    #expect(standing[a].isEmpty && standing.version == version)
  }

  @Test func `a source that is turned off names the requests to cancel, once`() {
    var sources = SourceTable()
    sources.add(a, count: 1)
    let read = RequestID(generation: 1, number: 1)
    let watch = RequestID(generation: 1, number: 2)
    sources.began(a, 0, read, at: .zero)
    sources.watch(a, 0, watch, path: "/x")
    let queued = (0..<2).map { _ in sources.queue(a, 0) }
    #expect(queued == [true, false])
    let dropped = (0..<2).map { _ in sources.dropRequests(a, 0) }
    #expect(dropped == [[read, watch], []])
    let waits = sources.leaveQueue(a, 0)
    #expect(!waits)
  }

  // MARK: Outcomes and chains

  @Test func `the first failure of an event is its outcome, before any cancellation`() {
    var outcomes = PendingOutcomes()
    func status(_ state: ActionStatus.State, _ code: String) -> ActionStatus {
      ActionStatus(state: state, code: code)
    }
    outcomes.begin(Event(sequence: 5, widgetID: a, name: "go"))
    for (state, code) in [
      (ActionStatus.State.cancelled, "FIRST"), (.cancelled, "SECOND"), (.failure, "THIRD"),
      (.failure, "FOURTH"), (.cancelled, "FIFTH"),
    ] { outcomes.failed(5, status(state, code)) }
    outcomes.failed(6, status(.failure, "OTHER"))
    #expect(outcomes.all.map { $0.outcome.failure?.code } == ["THIRD"])
  }

  @Test func `an event that could not be sent takes back its chain, and no older one`() {
    var chains = EventChains()
    let sent = BundleInstance.SentEvent(widgetID: a, name: "go")
    for name in ["old", "new"] { chains.remember(EventChain(names: [name]), of: sent, max: 2) }
    chains.remember(EventChain(names: ["above the limit"]), of: sent, max: 2)
    let retracted = (0..<2).map { _ in chains.retract(name: "go") { $0.names == ["new"] } }
    #expect(retracted == [true, false])
    chains.follow(Event(sequence: 1, widgetID: a, name: "go"))
    chains.follow(Event(sequence: 2, widgetID: a, name: "go"))
    #expect(chains[1]?.names == ["old"] && chains[2] == nil)
  }
}
