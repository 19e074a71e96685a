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

  @Test func `the message for an empty folder names the host's folders`() {
    let host = BundleHost.running(folders: ["/a", "/b c"])
    #expect(
      host.nothing(in: "/x") == """
        no bundles in /x; widgetd-host runs /a, /b c:
          widgetctl bundle ls --dir /a
          widgetctl bundle ls --dir '/b c'

        """)
    for host in [host, .missing, .unknown] {
      #expect(host.nothing(in: "/a") == "no bundles in /a\n")
    }
  }

  @Test(
    arguments: [
      (
        true, true, BundleHost.running(folders: []),
        "it is stored, and widgetd-host runs and goes on with it: `widgetctl get w --field data.status` shows how"
      ),
      (
        true, false, .running(folders: []),
        "it is stored, and widgetd-host runs, but not its bundle: `widgetctl bundle ls` says why"
      ),
      (
        false, true, .missing,
        "its kind stores no events, and no widgetd-host runs, and the event is lost"
      ),
      (
        true, true, .missing,
        "it is stored, and no widgetd-host runs, and the event is done when one starts"
      ),
      (
        nil, nil, .unknown,
        "whether it is stored is not known, and the daemon does not answer: `widgetctl doctor` says why"
      ),
    ] as [(Bool?, Bool?, BundleHost, String)])
  func `the timeout message says whether the event is stored`(
    isStored: Bool?, isProvided: Bool?, host: BundleHost, end: String
  ) throws {
    let words = OutcomeWait.words(
      event: 7, of: try #require(WidgetID("w")), within: "1s", isStored: isStored,
      isProvided: isProvided, host: host)
    #expect(words.hasPrefix("event 7 has not ended within 1s; \(end)"))
  }
}
