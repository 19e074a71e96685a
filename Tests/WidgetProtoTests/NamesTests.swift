import Testing
import WidgetModel

@testable import WidgetProto

/// Lists of names that are longer than any limit of the daemon.
struct NamesTests {
  private static let max = WireLimits.namesMax

  private func ids(_ count: Int) throws -> [WidgetID] {
    let id = try #require(WidgetID("w"))
    return Array(repeating: id, count: count)
  }

  /// The path of the error; nil if the message is read.
  private func fault<M: WireMessage>(_ message: M) throws -> String? {
    let codec = WireCodec()
    let bytes = try codec.encode(message)
    do throws(WireError) {
      _ = try codec.decode(M.self, from: bytes)
      return nil
    } catch {
      return error.path
    }
  }

  @Test func `a list with too many names is refused with its field`() throws {
    for (count, isWrong) in [(Self.max, false), (Self.max + 1, true)] {
      func expect(_ fault: String?, _ path: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(fault == (isWrong ? path : nil), sourceLocation: location)
      }
      let ids = try ids(count)
      expect(try fault(RefreshWidgetsRequest(.ids(ids))), "ids")
      expect(try fault(SetPresenceRequest(target: .ids(ids), action: .hide)), "ids")
      expect(
        try fault(RefreshWidgetsRequest(.selector(Selector(ids: ids)))), "selector.ids")
      let kind = try #require(KindName("k"))
      expect(
        try fault(
          RefreshWidgetsRequest(.selector(Selector(kinds: Array(repeating: kind, count: count))))),
        "selector.kinds")
      let values = (0..<count).map { "v\($0)" }
      let label = LabelRequirement(key: "x", operator: .isIn, values: values)
      expect(
        try fault(RefreshWidgetsRequest(.selector(Selector(labels: [label])))),
        "selector.labels[0].values")
      expect(try fault(WatchEventsRequest(names: values)), "names")
      expect(try fault(UpdateThemeRequest(unset: values)), "unset")
      expect(try fault(SetBundleDefaultsRequest(id: "b", unset: values)), "unset")
      let mask = try ReadMask(paths: values.map { "data.\($0)" })
      expect(try fault(GetWidgetRequest(id: ids[0], readMask: mask)), "read_mask.paths")
      expect(try fault(ListWidgetsRequest(readMask: mask)), "read_mask.paths")
      expect(try fault(WatchWidgetsRequest(readMask: mask)), "read_mask.paths")
    }
  }

  @Test func `the values of all labels together are counted`() throws {
    let half = (0...Self.max / 2).map { "v\($0)" }
    let labels = ["a", "b", "c"].map { LabelRequirement(key: $0, operator: .isIn, values: half) }
    #expect(
      try fault(RefreshWidgetsRequest(.selector(Selector(labels: labels))))
        == "selector.labels[1].values")
    #expect(try fault(RefreshWidgetsRequest(.selector(Selector(labels: [labels[0]])))) == nil)
  }

  @Test func `the kinds of a selector keep their order`() throws {
    let kinds = try (0..<Self.max).map { try #require(KindName("k\($0)")) }
    let codec = WireCodec()
    let bytes = try codec.encode(RefreshWidgetsRequest(.selector(Selector(kinds: kinds))))
    let decoded = try codec.decode(RefreshWidgetsRequest.self, from: bytes)
    #expect(decoded.target == .selector(Selector(kinds: kinds)))
  }
}
