import WidgetClient

/// The pages of a list.
enum ListPages {
  /// Reads pages until the last one. `options.timeout` limits the time of all pages together.
  ///
  /// - Parameter read: reads the page of a token, which is empty for the first one. It returns the
  ///   next token, which is empty after the last page.
  /// - Throws: also if the list has no end; see `PageTokens`.
  static func read(
    _ options: CallOptions,
    _ read: (_ token: String, _ options: CallOptions) async throws(ClientError) -> String
  ) async throws(ClientError) {
    let start = ContinuousClock.now
    var tokens = PageTokens()
    var token = ""
    repeat {
      var rest = options
      rest.timeout = options.timeout.map { $0 - start.duration(to: .now) }
      let next: String
      do throws(ClientError) {
        next = try await read(token, rest)
      } catch {
        guard case .deadlineExceeded = error, let timeout = options.timeout else { throw error }
        throw .deadlineExceeded(timeout)
      }
      token = try tokens.next(next)
    } while !token.isEmpty
  }
}
