import Testing
import WidgetModel

@testable import WidgetCore

struct PresenceTests {
  @discardableResult
  private func apply(
    _ action: PresenceAction, to ids: [WidgetID], in store: inout Store
  ) throws -> Commit {
    try store.run(.setPresence(.ids(ids), action))
  }

  private func state(_ id: WidgetID, in store: Store) -> Presence.State? {
    store.widget(id)?.presence.state
  }

  @Test func `visible and enabled are two bits`() throws {
    var store = try Store(widgets: ["a"])
    #expect(state("a", in: store) == .visible)
    let steps: [(PresenceAction, Presence.State)] = [
      (.hide, .hidden), (.disable, .hidden), (.enable, .hidden), (.show, .visible),
      (.disable, .disabled), (.hide, .hidden), (.show, .disabled), (.toggle, .hidden),
      (.toggle, .disabled), (.enable, .visible), (.toggle, .hidden), (.toggle, .visible),
    ]
    for (place, (action, expected)) in steps.enumerated() {
      let commit = try apply(action, to: ["a"], in: &store)
      #expect(commit.revision == Revision(place + 2))
      #expect(commit.outcome == .presence(["a"]))
      #expect(state("a", in: store) == expected, "after \(action), step \(place)")
    }
  }

  @Test(arguments: [PresenceAction.show, .enable])
  func `a presence that does not change makes no commit`(action: PresenceAction) throws {
    var store = try Store(widgets: ["a"])
    let before = store.observation()
    let commit = try apply(action, to: ["a"], in: &store)
    #expect(commit == Commit(revision: 1, isChange: false, outcome: .presence([])))
    #expect(store.observation() == before)
  }

  @Test func `several widgets change in one commit, and only those that differ`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    try apply(.hide, to: ["b"], in: &store)
    let commit = try apply(.hide, to: ["c", "b", "a", "c"], in: &store)
    #expect(commit == Commit(revision: 5, isChange: true, outcome: .presence(["a", "c"])))
    #expect(store.revision(of: "b") == 4)
    #expect(store.revision(of: "c") == 5)
    #expect(store.checkInvariants() == [])
  }

  @Test func `toggling the same id twice in one command toggles it once`() throws {
    var store = try Store(widgets: ["a"])
    try apply(.toggle, to: ["a", "a"], in: &store)
    #expect(state("a", in: store) == .hidden)
  }

  @Test func `one missing id refuses the whole command`() throws {
    var store = try Store(widgets: ["a", "b"])
    #expect(
      store.refusal(of: .setPresence(.ids(["a", "x", "b"]), .hide)) == .widgetNotFound("x"))
  }

  @Test func `a selector that picks no widget changes nothing`() throws {
    var store = try Store(widgets: ["a"])
    let none = Selector(kinds: ["missing"])
    let commit = try store.run(.setPresence(.selector(none), .hide))
    #expect(commit == Commit(revision: 1, isChange: false, outcome: .presence([])))
  }

  @Test func `a selector picks in position order`() throws {
    var store = Store()
    for id in ["a", "b", "c"] as [WidgetID] { try store.create(id, labels: ["on": id.rawValue]) }
    try store.run(.move("c", to: .first))
    let selector = Selector(labels: [.init(key: "on", operator: .isIn, values: ["a", "c"])])
    let commit = try store.run(.setPresence(.selector(selector), .hide, transition: .slow))
    #expect(commit.outcome == .presence(["c", "a"]))
    #expect(state("b", in: store) == .visible)
    let everything = try store.run(.setPresence(.selector(Selector()), .toggle))
    #expect(everything.outcome == .presence(["c", "a", "b"]))
    let all = try store.run(.setPresence(.all, .disable))
    #expect(all.outcome == .presence(["c", "a", "b"]))
    #expect(try !store.run(.setPresence(.all, .disable)).isChange)
  }
}
