import Testing
import WidgetModel

@testable import WidgetCore

/// Timelines of new and declared widgets.
struct TimelineDeclarationTests {
  private func store() throws -> Store {
    var store = Store()
    try store.register([TimelineTests.train])
    store.commitGroup(at: .at(0))
    return store
  }

  private static let timeline = Timeline(
    entries: [
      TimelineEntry(date: .at(100), values: ["platform": .string("2")]),
      TimelineEntry(date: .at(0)),
    ], policy: .never)

  private func spec(_ timeline: Timeline? = timeline, kind: KindName = "train") -> WidgetSpec {
    WidgetSpec(id: "t", kind: kind, timeline: timeline)
  }

  @Test func `a new widget shows its entries, with the defaults of the kind`() throws {
    var store = try store()
    try store.run(.create(spec()))
    #expect(store.widget("t")?.timeline?.current?.values == ["platform": .string("?")])
    #expect(store.widget("t")?.timeline?.nextTime == .at(100))
    #expect(store.storedTimeline(of: "t")?.entries.map(\.date) == [.at(0), .at(100)])
    store.commitGroup(at: .at(0))
    store.advance(to: .at(100))
    #expect(store.widget("t")?.timeline?.current?.values == ["platform": .string("2")])
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [false, true])
  func `the same declaration again changes nothing, another one does`(ownsFields: Bool) throws {
    var store = try store()
    let declare = { (store: inout Store, spec: WidgetSpec) in
      let commit = try store.run(
        .apply(Declaration(applySet: "s", widgets: [spec], ownsFields: ownsFields)))
      store.commitGroup(at: .at(0))
      guard case .applied(let results) = commit.outcome else { return ApplyResult?.none }
      return results.first
    }
    #expect(try declare(&store, spec())?.action == .created)
    store.advance(to: .at(200))
    #expect(try declare(&store, spec())?.action == .unchanged)
    // Without a timeline, the present one stays.
    #expect(try declare(&store, spec(nil))?.action == .unchanged)
    #expect(store.storedTimeline(of: "t")?.entries.count == 2)
    var other = Self.timeline
    other.staleTime = .at(900)
    let result = try declare(&store, spec(other))
    #expect(result?.action == .updated)
    #expect(result?.changedFields == (ownsFields ? ["timeline"] : []))
    #expect(store.storedTimeline(of: "t")?.staleTime == .at(900))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a timeline that does not fit is refused with the field's name`() throws {
    var store = try store()
    let wrong = Timeline(entries: [TimelineEntry(date: .at(0), values: ["platfrom": .int(1)])])
    let refusals = [
      store.refusal(of: .create(spec(wrong))),
      store.refusal(of: .apply(Declaration(applySet: "s", widgets: [spec(wrong)]))),
    ]
    #expect(
      refusals.compactMap { refusal in
        if case .invalid(let field, _)? = refusal { field } else { nil }
      } == [
        "widget.timeline.entries[0].values[platfrom]",
        "widgets[0].timeline.entries[0].values[platfrom]",
      ])
  }

  @Test func `a timeline for a stack is refused`() throws {
    var store = try store()
    try store.run(.create(WidgetSpec(id: "top", kind: .smartStack)))
    let refusals = [
      store.refusal(of: .create(spec(kind: .smartStack))),
      store.refusal(of: .update("top", WidgetPatch(timeline: .some(Self.timeline)))),
    ]
    #expect(
      refusals.compactMap { refusal in
        if case .invalid(let field, let words)? = refusal {
          "\(field) \(words.contains("has no timeline"))"
        } else {
          nil
        }
      } == ["widget.timeline true", "patch.timeline true"])
  }
}
