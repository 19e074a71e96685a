import Testing
import WidgetModel

@testable import WidgetCore

/// A provider that sets a field for a time, and then puts the former value back.
extension OwnershipTests {
  private func provide(_ count: Int64, to store: inout Store) throws {
    try store.run(
      .provide([ProvidedUpdate("c", .set(["count": .int(count)]))], by: Self.manager))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [false, true])
  func `a provider that puts a user's value back gives the field back`(restarts: Bool) throws {
    var store = try store()
    try store.set("c", ["count": .int(5)])
    let before = store.owners(of: "c")
    let user = try #require(owner("data.count", in: store))
    #expect(user.hasPrefix("user "))
    for value: Int64 in [99, 98] {
      try provide(value, to: &store)
      #expect(owner("data.count", in: store) == "provider \(Self.manager)")
      // What the provider has replaced is no owner, and clients do not see it.
      #expect(store.owners(of: "c").count == before.count)
    }
    if restarts {
      store.commitGroup(at: .at(1))
      store = Store(image: Self.image(of: store))
    }
    // The manager declares the widget again, for example after its restart.
    try own(&store, spec())
    try provide(5, to: &store)
    #expect(store.owners(of: "c") == before)
  }

  @Test func `a provider that puts the declared value back gives the field to the manager`() throws
  {
    var store = try store()
    try provide(99, to: &store)
    #expect(owner("data.count", in: store) == "provider \(Self.manager)")
    try provide(1, to: &store)
    #expect(owner("data.count", in: store) == Self.manager)
    try own(&store, spec(data: ["count": .int(2)]))
    #expect(store.widget("c")?.data["count"] == .int(2))
  }

  /// The id of a bundle changes while its action runs, so its provider gets another name.
  @Test(arguments: [false, true])
  func `another provider that puts the value back gives the field back`(isUsers: Bool) throws {
    var store = try store()
    if isUsers { try store.set("c", ["count": .int(5)]) }
    let before = store.owners(of: "c")
    try provide(99, to: &store)
    for value: Int64 in [98, isUsers ? 5 : 1] {
      #expect(owner("data.count", in: store)?.hasPrefix("provider ") == true)
      try store.run(.update("c", .set(["count": .int(value)]), provider: "bundle/other"))
      #expect(store.checkInvariants() == [])
    }
    #expect(store.owners(of: "c") == before)
  }

  @Test func `an event over the value of a provider ends what the provider can put back`() throws {
    var store = try store()
    try store.set("c", ["count": .int(5)])
    try provide(99, to: &store)
    try store.run(.sendEvent(EventDraft(widgetID: "c", name: "press")))
    try provide(5, to: &store)
    #expect(owner("data.count", in: store) == "provider \(Self.manager)")
    try provide(100, to: &store)
    #expect(owner("data.count", in: store) == "events of kind counter")
  }
}
