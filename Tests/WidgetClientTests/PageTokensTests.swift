import Testing

@testable import WidgetClient

/// Lists of a daemon whose pages may have no end.
struct PageTokensTests {
  /// The number of pages that are read from such a daemon, and the error.
  private func read(_ token: (Int) -> String) -> (pages: Int, error: ClientError?) {
    var tokens = PageTokens()
    for page in 1... {
      do throws(ClientError) {
        if try tokens.next(token(page)).isEmpty { return (page, nil) }
      } catch {
        return (page, error)
      }
    }
    return (0, nil)
  }

  @Test func `the list ends with the page without a token`() {
    let (pages, error) = read { $0 < 5_000 ? "\($0)" : "" }
    #expect(pages == 5_000 && error == nil)
  }

  @Test(arguments: [1, 2, 3, 7, 100], [0, 1, 2, 50])
  func `tokens in a circle are an error`(length: Int, start: Int) {
    let (pages, error) = read { $0 <= start ? "start \($0)" : "\(($0 - start) % length)" }
    guard case .protocolViolation? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(pages <= 3 * (start + length) + 1)
  }

  @Test func `a list with new tokens without end is an error`() {
    let (pages, error) = read { "\($0)" }
    #expect(error == .protocolViolation("a list has more than 100000 pages"))
    #expect(pages == PageTokens.countMax)
  }
}
