import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The parts of a provider's session, as values.
@Suite struct SessionPartTests {
  private let a: WidgetID
  private let b: WidgetID

  init() throws {
    (a, b) = (try .make("a"), try .make("b"))
  }

  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  // MARK: - Data requests

  /// Sends the next request, which must be about this widget and have this number.
  private func expect(
    _ requests: inout DataRequests, sends id: WidgetID, as number: UInt64, at seconds: Int64 = 0,
    _ location: SourceLocation = #_sourceLocation
  ) {
    guard case .request(let next, let reason)? = requests.next() else {
      Issue.record("nothing is asked", sourceLocation: location)
      return
    }
    #expect(next == id, sourceLocation: location)
    let given = requests.number(requestAbout: id, reason, at: at(seconds))
    #expect(given == number, sourceLocation: location)
  }

  private func expectNothing(
    _ requests: inout DataRequests, _ location: SourceLocation = #_sourceLocation
  ) {
    let next = requests.next()
    #expect(next == nil, sourceLocation: location)
  }

  @Test func `a widget waits once, with the most important reason`() {
    var requests = DataRequests()
    requests.ask(about: a, .parametersChanged)
    requests.ask(about: a, .created)
    let next = requests.next()
    #expect(next == .request(a, .created))
    expectNothing(&requests)
  }

  @Test func `a refresh keeps the number of an open request, a change takes a new one`() throws {
    var requests = DataRequests()
    requests.ask(about: a, .created)
    expect(&requests, sends: a, as: 1)
    requests.ask(about: a, .refresh)
    expect(&requests, sends: a, as: 1)
    requests.ask(about: a, .parametersChanged)
    expect(&requests, sends: a, as: 2)
    #expect(requests.widget(ofRequest: 1) == nil)
    #expect(requests.widget(ofRequest: 2) == a)
  }

  @Test func `a refresh waits for the answer to an open request, or for its patience`() {
    var requests = DataRequests()
    let patience = TimeAmount.seconds(15)
    requests.ask(about: a, .created)
    expect(&requests, sends: a, as: 1)
    requests.refresh(a, .refresh, patience: patience, at: at(14))
    expectNothing(&requests)
    requests.heard(of: a)
    #expect(requests.widget(ofRequest: 1) == nil)
    expect(&requests, sends: a, as: 2, at: 20)
    requests.refresh(a, .refresh, patience: patience, at: at(35))
    expect(&requests, sends: a, as: 2)
  }

  @Test func `a removed widget is not asked about, and its request is closed`() {
    var requests = DataRequests()
    requests.ask(about: a, .created)
    expect(&requests, sends: a, as: 1)
    requests.ask(about: a, .parametersChanged)
    requests.ask(about: b, .created)
    requests.forget(a)
    #expect(requests.widget(ofRequest: 1) == nil)
    expect(&requests, sends: b, as: 2)
    expectNothing(&requests)
  }

  @Test func `no step passes more than some of the forgotten requests`() throws {
    let ids = try (0..<4_000).map { try WidgetID.make("w\($0)") }
    var requests = DataRequests()
    for id in ids { requests.ask(about: id, .created) }
    for id in ids[..<1_000] { requests.forget(id) }
    var sent: [WidgetID] = []
    var (left, longest) = (requests.waitingCount, 0)
    while let next = requests.next() {
      longest = max(longest, left - requests.waitingCount)
      left = requests.waitingCount
      if case .request(let id, _) = next { sent.append(id) }
    }
    #expect(longest == DataRequests.passedMax)
    #expect(sent == Array(ids[1_000...]))
    #expect(requests.isEmpty)
  }

  @Test func `requests about removed widgets do not fill the queue`() throws {
    let (old, new) = try (
      (0..<100).map { try WidgetID.make("old\($0)") },
      (0..<2_000).map { try WidgetID.make("new\($0)") }
    )
    var requests = DataRequests()
    for id in old { requests.ask(about: id, .created) }
    var most = 0
    for id in new {
      requests.ask(about: id, .created)
      requests.forget(id)
      // A widget with the same id is created again.
      requests.forget(old[7])
      requests.ask(about: old[7], .created)
      most = max(most, requests.waitingCount)
    }
    #expect(most < 2 * old.count)
    let order = old.filter { $0 != old[7] } + [old[7]]
    var sent: [WidgetID] = []
    while let next = requests.next() {
      if case .request(let id, _) = next { sent.append(id) }
    }
    #expect(sent == order)
  }

  @Test func `synced comes after all that waited before it`() {
    var requests = DataRequests()
    requests.ask(about: a, .created)
    requests.sync()
    requests.ask(about: b, .created)
    expect(&requests, sends: a, as: 1)
    let next = requests.next()
    #expect(next == .synced)
    expect(&requests, sends: b, as: 2)
  }

  // MARK: - Events

  @Test func `a session resumes before the first gap that is not acknowledged`() {
    var events = SessionEvents()
    events.begin(after: 10)
    #expect(events.resumePoint == 10)
    events.sent(11...14)
    events.sent(15...15)
    #expect(events.room(of: 3) == 1)
    #expect(events.resumePoint == 10)
    events.acknowledge(through: 14)
    #expect(events.resumePoint == 14)
    #expect(events.room(of: 3) == 2)
    events.acknowledge(through: 15)
    #expect(events.resumePoint == 15)
    #expect(events.sentThrough == 15)
  }

  @Test func `an event is kept that may be acknowledged before a refusal is read`() {
    var events = SessionEvents()
    events.begin(after: 10)
    events.sent(11...12)
    #expect(events.mayForget(through: 12))
    events.changesWereRefused(parts(of: a, "x"))
    events.sent(13...13)
    #expect(!events.mayForget(through: 11) && !events.mayForget(through: 12))
    events.acknowledge(through: 12)
    #expect(!events.mayForget(through: 12) && events.mayForget(through: 13))
    events.acknowledge(through: 13)
    #expect(events.mayForget(through: 12) && !events.lacksChanges)
  }

  private func parts(of id: WidgetID, _ keys: String...) -> ChangeParts {
    var parts = ChangeParts()
    parts.insert(WidgetPatch(unsetData: keys), of: id)
    return parts
  }

  @Test func `only changes of the same parts make up for a refused change`() {
    var events = SessionEvents()
    events.begin(after: 10)
    events.sent(11...11)
    events.changesWereRefused(parts(of: a, "x", "y"))
    events.changesWereStored(parts(of: b, "x", "y"))
    events.changesWereStored(parts(of: a, "x"))
    #expect(!events.mayForget(through: 11))
    #expect(!events.mayForget(through: 11, storing: parts(of: a, "z")))
    #expect(events.mayForget(through: 11, storing: parts(of: a, "y")))
    events.changesWereStored(parts(of: a, "y", "z"))
    #expect(events.mayForget(through: 11) && !events.lacksChanges)
  }

  @Test func `no change makes up for a refused change with very many parts`() {
    var parts = ChangeParts()
    let keys = (0...ChangeParts.countMax).map { "k\($0)" }
    parts.insert(WidgetPatch(unsetData: keys), of: a)
    #expect(!parts.isCovered(by: parts))
    let same = parts
    parts.subtract(same)
    #expect(!parts.isEmpty)
  }

  // MARK: - Kinds and widgets

  @Test func `a kind that was removed and came back is not reported as removed`() throws {
    let (gauge, clock): (KindName, KindName) = (try .make("gauge"), try .make("clock"))
    var widgets = SessionWidgets(kinds: [gauge, clock], at: 1)
    let added = [widgets.take([], attended: []), widgets.take([gauge], attended: [gauge])]
    #expect(added == [[], [gauge]])
    let told = [widgets.nextKindRemovals(), widgets.nextKindRemovals()]
    #expect(told == [[clock], nil])
  }

  @Test func `a kind that somebody else has declared is reported until it is declared again`()
    throws
  {
    let gauge = try KindName.make("gauge")
    var widgets = SessionWidgets(kinds: [gauge], attended: [gauge], at: 1)
    _ = widgets.take([gauge], attended: [])
    #expect(!widgets.hasToldEverything)
    let told = [widgets.nextKindRemovals(), widgets.nextKindRemovals()]
    #expect(told == [[gauge], nil])
    for attended in [[gauge], [], [gauge]] { _ = widgets.take([gauge], attended: Set(attended)) }
    #expect(widgets.hasToldEverything)
  }

  @Test func `many removed widgets come in several frames`() throws {
    let ids = try (0..<300).map { try WidgetID.make("w\($0)") }
    var widgets = SessionWidgets(kinds: [], at: 1)
    widgets.take(ids, upTo: 7)
    #expect(widgets.cursor == 7)
    let frames = (0..<3).map { _ in widgets.nextRemovals() }
    #expect(frames == [Array(ids[..<256]), Array(ids[256...]), nil])
  }

  // MARK: - The turn

  @Test func `a turn that is rolled back keeps only the opening`() {
    var turn = SessionTurn()
    let joins = [turn.join(), turn.join()]
    #expect(joins == [true, false])
    turn.add(.opened)
    turn.add(.result(ProvideResult(id: 1)))
    turn.answer(4, about: a)
    turn.noteRefused(parts(of: a, "x"))
    turn.noteStored(parts(of: b, "x"))
    #expect(turn.hasAnswered(4) && turn.refused != nil && !turn.stored.isEmpty)
    turn.rollBack()
    #expect(!turn.hasAnswered(4) && turn.refused == nil && turn.stored.isEmpty)
    let (outputs, effects) = turn.end()
    #expect(outputs.count == 1 && effects.isEmpty)
    let joinsAgain = turn.join()
    #expect(joinsAgain)
  }
}
