import Testing
import WidgetClient

@testable import widgetctl

/// Lists in pages, of a daemon that may have no end.
struct ListPagesTests {
  @Test func `all pages are read, each with the token of the one before`() async throws {
    var tokens: [String] = []
    try await ListPages.read(CallOptions(timeout: .seconds(3600))) {
      (token, options) throws(ClientError) in
      #expect(options.timeout.map { $0 <= .seconds(3600) && $0 > .seconds(1) } == true)
      tokens.append(token)
      return ["": "a", "a": "b"][token] ?? ""
    }
    #expect(tokens == ["", "a", "b"])
  }

  private func failure(
    _ options: CallOptions,
    _ read: (String, CallOptions) async throws(ClientError) -> String
  ) async -> ClientError? {
    do throws(ClientError) {
      try await ListPages.read(options, read)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a page that gives its own token again is an error`() async {
    var count = 0
    let error = await failure(CallOptions()) { (_, _) throws(ClientError) in
      count += 1
      return "same"
    }
    guard case .protocolViolation? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(count == 2)
  }

  @Test func `the timeout is for all pages together`() async {
    var count = 0
    let timeout = Duration.milliseconds(50)
    let error = await failure(CallOptions(timeout: timeout)) {
      (token, options) throws(ClientError) in
      // As the client does.
      if let rest = options.timeout, rest <= .zero { throw .deadlineExceeded(rest) }
      try? await Task.sleep(for: .milliseconds(5))
      count += 1
      return "\(count)"
    }
    #expect(error == .deadlineExceeded(timeout))
    // A machine that stops for the whole time reads no page.
    #expect((0...11).contains(count))
  }
}
