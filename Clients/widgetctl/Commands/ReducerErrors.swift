import WidgetClient
import WidgetModel

/// The errors that the daemon has set for failed reducers. A call that clears the errors of others
/// leaves them, so `set --clear-error` clears them with a second call.
enum ReducerErrors {
  /// Clears them after the call that cleared the others, as long as the widget has no other errors.
  ///
  /// - Parameter answer: The answer to that call.
  static func clear(
    after answer: UpdateWidgetResponse, _ id: WidgetID, _ global: GlobalOptions, _ session: Session
  ) async throws(ClientError) -> UpdateWidgetResponse {
    var answer = answer
    for attempt in 1...attemptsMax {
      guard let error = answer.widget?.error,
        error.all.allSatisfy({ $0.reason == WidgetError.reducerFailed })
      else { break }
      var patch = WidgetPatch()
      patch.error = .some(nil)
      do throws(ClientError) {
        answer = try await session.client.updateWidget(
          UpdateWidgetRequest(
            id: id, patch: patch, etag: answer.etag,
            requestID: global.requestId.map { "\($0)-reducers-\(attempt)" } ?? ""),
          options: session.options)
        answer.changed = true
      } catch {
        // The widget has changed, and may have an error that nobody has seen.
        guard error.reason == "ETAG_MISMATCH", attempt < attemptsMax else { throw error }
        let found = try await session.client.getWidget(
          GetWidgetRequest(id: id), options: session.options)
        (answer.widget, answer.etag) = (found.widget, found.etag)
      }
    }
    return answer
  }

  private static let attemptsMax = 5
}
