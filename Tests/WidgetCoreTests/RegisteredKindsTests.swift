import Testing
import WidgetModel

@testable import WidgetCore

/// The kinds by name and by provider, which must agree after every change.
struct RegisteredKindsTests {
  private func registered(_ name: KindName, by provider: String) -> RegisteredKind {
    RegisteredKind(kind: Kind(name: name), provider: provider)
  }

  @Test func `a kind is listed under its present provider alone`() {
    var kinds = RegisteredKinds()
    kinds.set("clock", to: registered("clock", by: "desk"))
    kinds.set("weather", to: registered("weather", by: "desk"))
    #expect(kinds.names(of: "desk") == ["clock", "weather"])
    kinds.set("clock", to: registered("clock", by: "other"))
    #expect(kinds.names(of: "desk") == ["weather"])
    #expect(kinds.names(of: "other") == ["clock"])
    #expect(kinds["clock"]?.provider == "other")
  }

  @Test func `a removed kind has no entry, and its provider has no names`() {
    var kinds = RegisteredKinds()
    kinds.set("clock", to: registered("clock", by: "desk"))
    kinds.set("clock", to: nil)
    kinds.set("missing", to: nil)
    #expect(kinds["clock"] == nil && kinds.byName.isEmpty)
    #expect(kinds.names(of: "desk").isEmpty)
  }
}
