import Testing
import WidgetModel

@testable import widgetctl

@Suite struct BundleHostTests {
  private func widget(_ data: ValueMap, isStale: Bool = false) throws -> Widget {
    let name = BundleHost.widget
    var widget = Widget(id: try #require(WidgetID(name)), kind: try #require(KindName(name)))
    widget.data = data
    widget.isStale = isStale
    return widget
  }

  @Test func `a host that runs is known by its folders`() throws {
    let host = BundleHost(
      try widget(["state": .string("running"), "folders": .list([.string("/a"), .string("/b")])]))
    #expect(host == .running(folders: ["/a", "/b"]))
    #expect(host.runs("/b") == true)
    #expect(host.problem(of: "/b") == nil)
    #expect(host.runs("/c") == false)
    #expect(host.problem(of: "/c")?.contains("widgetd-host runs /a, /b") == true)
  }

  @Test func `a host that is away or has ended runs nothing`() throws {
    let folders: Value = .list([.string("/a")])
    let away = BundleHost(
      try widget(["state": .string("running"), "folders": folders], isStale: true))
    let ended = BundleHost(try widget(["state": .string("stopped"), "folders": folders]))
    #expect([away, ended] == [.missing, .missing])
    #expect(away.problem(of: "/a")?.contains("there is no widgetd-host") == true)
  }
}
