import Testing
import WidgetModel

@testable import widgetctl

@Suite struct LostValuesTests {
  @Test(arguments: [
    (LostValues.Loss.done, "is gone with the widget: it was"),
    (LostValues.Loss.pending, "goes with the widget when widgetd-host runs again: it is"),
  ])
  func `a value is gone only after a host has removed the widget`(
    loss: LostValues.Loss, words: String
  ) throws {
    let entry = LostValues.Entry(
      widget: try #require(WidgetID("clock")),
      field: FieldOwner(path: "data.note", owner: "user 4000000000", declared: .string("mine")))
    #expect(
      LostValues.text(removed: ["desk"], [entry], loss)
        == "bundle desk removed\n  clock: data.note \(words) \"mine\", set by user 4000000000\n")
  }
}
