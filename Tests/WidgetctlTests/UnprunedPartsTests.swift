import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct UnprunedPartsTests {
  @Test func `prune names the parts of the set that stay because the file lacks them`() {
    #expect(UnprunedParts.notes(widgets: 0, kinds: 0, of: "desk") == [])
    #expect(
      UnprunedParts.notes(widgets: 2, kinds: 1, of: "desk") == [
        "--prune leaves 2 widgets of set \"desk\", because the file has no widgets: at all; write "
          + "widgets: {} to remove them",
        "--prune leaves 1 kind of set \"desk\", because the file has no kinds: at all; write "
          + "kinds: {} to remove it",
      ])
  }
}
