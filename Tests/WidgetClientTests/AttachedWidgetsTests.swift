import Testing
import WidgetModel
import WidgetProto

@testable import WidgetClient

/// The watched widgets, from the frames that a provider gets.
struct AttachedWidgetsTests {
  private static func audience(_ attached: [String], _ detached: [String] = []) -> ProviderRequest {
    .audience(
      ProvideAudience(attached: attached.map { .of($0) }, detached: detached.map { .of($0) }))
  }

  @Test func `the first frame of a session has all attached widgets, later frames the differences`()
  {
    var widgets = AttachedWidgets()
    #expect(widgets.contains(.of("a")))
    widgets.apply(.connected(ProvideOpened(includesAudience: true)))
    // Not known yet.
    #expect(widgets.contains(.of("a")))
    #expect(widgets.apply(Self.audience(["a", "b"])).attached == [.of("a"), .of("b")])
    #expect(!widgets.contains(.of("c")))
    #expect(
      widgets.apply(Self.audience(["c"], ["a"]))
        == .init(attached: [.of("c")], detached: [.of("a")]))
    widgets.apply(.removed([.of("c")]))
    #expect(!widgets.contains(.of("c")) && widgets.contains(.of("b")))
    // After a loss, the known state stays, and only the differences are reported.
    widgets.apply(.connected(ProvideOpened(includesAudience: true)))
    #expect(widgets.contains(.of("b")))
    #expect(
      widgets.apply(Self.audience(["a"])) == .init(attached: [.of("a")], detached: [.of("b")]))
    // A daemon that does not report watchers.
    widgets.apply(.connected(ProvideOpened()))
    #expect(widgets.contains(.of("z")))
  }

  @Test func `a provider that does not read has one audience to read`() {
    var unread = UnreadRequests()
    for _ in 0..<100 {
      unread.append(Self.audience(["a"], ["b"]))
      unread.append(Self.audience(["b", "c"], ["a"]))
    }
    #expect(unread.placeCount == 1)
    guard case .audience(let audience)? = unread.popFirst() else { return #expect(Bool(false)) }
    #expect(Set(audience.attached) == [.of("b"), .of("c")])
    #expect(audience.detached == [.of("a")])
    #expect(unread.isEmpty)
  }
}
