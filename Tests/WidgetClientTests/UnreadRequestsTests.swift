import SeededRandom
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetClient

/// The unread requests of a provider, compared with a list that is searched.
struct UnreadRequestsTests {
  private static func request(_ number: UInt64, about widget: Int) -> ProviderRequest {
    .dataRequest(
      ProviderDataRequest(
        DataRequest(id: number, widget: .sample("w\(widget)"), reason: .refresh), generation: 1))
  }

  private static func isAbout(_ widget: Int, _ request: ProviderRequest) -> Bool {
    if case .dataRequest(let request) = request {
      request.widget.id == .of("w\(widget)")
    } else {
      false
    }
  }

  @Test(arguments: 0..<20)
  func `requests are read in order, with only the last data request of each widget`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var unread = UnreadRequests()
    var model: [ProviderRequest] = []
    for number in 1...2_000 {
      let widget = Int.random(in: 0..<200, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<10:
        let request = Self.request(UInt64(number), about: widget)
        unread.append(request)
        model.removeAll { Self.isAbout(widget, $0) }
        model.append(request)
      case 10..<14:
        unread.append(.synced(Revision(number)))
        model.append(.synced(Revision(number)))
      case 14..<16:
        unread.forgetDataRequest(about: .of("w\(widget)"))
        model.removeAll { Self.isAbout(widget, $0) }
      case 16 where Int.random(in: 0..<20, using: &random) == 0:
        unread.removeAll()
        model.removeAll()
      default:
        #expect(unread.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(unread.isEmpty == model.isEmpty)
    }
    while let request = unread.popFirst() { #expect(request == model.removeFirst()) }
    #expect(model.isEmpty)
  }

  @Test func `unread data requests take one place for each widget`() {
    var unread = UnreadRequests()
    unread.append(.synced(1))
    for number in 1...10_000 {
      unread.append(Self.request(UInt64(number), about: number % 10))
      #expect(unread.placeCount <= 2 * (11 + UnreadRequests.emptyMax))
    }
  }
}
