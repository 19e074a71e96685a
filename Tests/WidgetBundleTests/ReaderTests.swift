import Testing
import WidgetBundle
import WidgetExpression
import WidgetModel

@Suite struct ReaderTests {
  @Test func `a bundle says what it is`() throws {
    let bundle = try Samples.read(Samples.full)
    #expect(bundle.id == "todo")
    #expect(bundle.version == "1.0.0")
    #expect(bundle.permissions.hosts == ["api.example.org", "127.0.0.1:8080", "*.example.net"])
    #expect(bundle.widgets.map(\.id?.rawValue) == ["todo", "other"])
    #expect(bundle.widgets[0].family == .small)
    #expect(bundle.widgets[1].isVisible == false)
    #expect(bundle.widgets[1].data == ["count": .int(3)])
  }
}
