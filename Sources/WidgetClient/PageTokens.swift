/// The page tokens of a list that is read to its end. A broken daemon cannot make the list endless.
public struct PageTokens: Sendable {
  private var count = 0
  /// An earlier token. It moves to the present token after 1, 2, 4, 8 pages and so on, so any
  /// circle comes back to it (Brent, "An Improved Monte Carlo Factorization Algorithm", 1980).
  private var mark = ""

  /// The maximum number of pages. A page of a selector that matches little can be empty, so the
  /// number of widgets is no limit.
  static let countMax = 100_000

  public init() {}

  /// Notes the token that a page gives for the next page. Returns the token; it is empty after the
  /// last page.
  ///
  /// - Throws: if the tokens go in a circle, or if the list has too many pages.
  public mutating func next(_ token: String) throws(ClientError) -> String {
    guard !token.isEmpty else { return token }
    guard token != mark else {
      throw .protocolViolation("a page of a list gives the page token of an earlier page")
    }
    count += 1
    guard count < PageTokens.countMax else {
      throw .protocolViolation("a list has more than \(PageTokens.countMax) pages")
    }
    if count & (count - 1) == 0 { mark = token }
    return token
  }
}
