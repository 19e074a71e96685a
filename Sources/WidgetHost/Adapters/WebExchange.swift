import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// Sends one request and collects its answer.
///
/// Uses the library's API of futures. The async API takes a body's parts faster than the connection
/// sends them, so that the progress of an upload would run ahead.
final class WebExchange: HTTPClientResponseDelegate {
  struct Answer: Sendable {
    var head: HTTPResponseHead
    var body: [UInt8] = []
  }

  /// The answer is a redirect; its body is not read.
  struct Redirected: Error {
    let location: String
    let status: Int
  }

  /// The body of the answer is longer than the limit.
  struct TooLarge: Error {}

  /// The bytes of a part of a request's body: small enough to show progress.
  private static let partBytes = 1 << 16

  private struct State {
    var answer: Answer?
    var sent = 0
    var sending: BodyProgress?
    var receiving: BodyProgress?
  }

  private let bodyBytesMax: Int
  private let isHead: Bool
  private let report: @Sendable (Double) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - sending: the progress of the request's body; nil for a small one.
  ///   - report: takes how much of a body has passed, from 0 to 1; called on the event loop.
  private init(
    bodyBytesMax: Int, isHead: Bool, sending: BodyProgress?,
    report: @escaping @Sendable (Double) -> Void
  ) {
    self.bodyBytesMax = bodyBytesMax
    self.isHead = isHead
    self.report = report
    state = Mutex(State(sending: sending))
  }

  /// - Parameter tell: called with how much of a large body has passed, from 0 to 1.
  /// - Throws: `Redirected`, `TooLarge`, or an error of the library.
  static func carryOut(
    _ request: HTTPClient.Request, body: [UInt8]?, bodyBytesMax: Int, timeout: TimeAmount,
    with client: HTTPClient, _ tell: @escaping @Sendable (Double) async -> Void
  ) async throws -> Answer {
    let (fractions, continuation) = AsyncStream<Double>.makeStream()
    async let told: Void = {
      for await fraction in fractions { await tell(fraction) }
    }()
    let exchange = WebExchange(
      bodyBytesMax: bodyBytesMax, isHead: request.method == .HEAD,
      sending: body.flatMap { BodyProgress(bytes: $0.count) }
    ) { continuation.yield($0) }
    var request = request
    if let body { request.body = exchange.stream(body) }
    let result: Result<Answer, any Error>
    do {
      let task = client.execute(
        request: request, delegate: exchange,
        eventLoop: .delegateAndChannel(on: client.eventLoopGroup.any()), deadline: .now() + timeout)
      result = .success(
        try await withTaskCancellationHandler {
          try await task.futureResult.get()
        } onCancel: {
          task.cancel()
        })
    } catch {
      result = .failure(error)
    }
    continuation.finish()
    await told
    return try result.get()
  }

  // MARK: The request

  private func stream(_ bytes: [UInt8]) -> HTTPClient.Body {
    let buffer = ByteBuffer(bytes: bytes)
    guard state.withLock({ $0.sending != nil }) else { return .byteBuffer(buffer) }
    return .stream(contentLength: Int64(bytes.count)) { writer in
      self.reportSent(0)
      return WebExchange.write(buffer, to: writer)
    }
  }

  /// Writes the parts one by one, as the connection takes them.
  private static func write(
    _ rest: ByteBuffer, to writer: HTTPClient.Body.StreamWriter
  ) -> EventLoopFuture<Void> {
    var rest = rest
    let part = rest.readSlice(length: min(partBytes, rest.readableBytes)) ?? ByteBuffer()
    let written = writer.write(.byteBuffer(part))
    guard rest.readableBytes > 0 else { return written }
    return written.flatMap { [rest] in write(rest, to: writer) }
  }

  /// The system has taken a part.
  func didSendRequestPart(task: HTTPClient.Task<Answer>, _ part: IOData) {
    reportSent(part.readableBytes)
  }

  private func reportSent(_ count: Int) {
    let fraction = state.withLock { state in
      state.sent += count
      return state.sending?.fraction(after: state.sent)
    }
    if let fraction { report(fraction) }
  }

  // MARK: The answer

  func didReceiveHead(
    task: HTTPClient.Task<Answer>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    let loop = task.eventLoop
    if [301, 302, 303, 307, 308].contains(head.status.code),
      let location = head.headers.first(name: "Location")
    {
      return loop.makeFailedFuture(
        Redirected(location: location, status: Int(head.status.code)))
    }
    let length = head.headers.first(name: "Content-Length").flatMap { Int($0) }
    if let length, length > bodyBytesMax, !isHead { return loop.makeFailedFuture(TooLarge()) }
    state.withLock { state in
      state.answer = Answer(head: head)
      state.receiving = length.flatMap { BodyProgress(bytes: $0) }
    }
    return loop.makeSucceededVoidFuture()
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Answer>, _ part: ByteBuffer
  ) -> EventLoopFuture<Void> {
    let (isTooLarge, fraction) = state.withLock { state in
      let count = (state.answer?.body.count ?? 0) + part.readableBytes
      guard count <= bodyBytesMax else { return (true, Double?.none) }
      state.answer?.body += part.readableBytesView
      return (false, state.receiving?.fraction(after: count))
    }
    if isTooLarge { return task.eventLoop.makeFailedFuture(TooLarge()) }
    if let fraction { report(fraction) }
    return task.eventLoop.makeSucceededVoidFuture()
  }

  func didFinishRequest(task: HTTPClient.Task<Answer>) throws -> Answer {
    guard let answer = state.withLock({ $0.answer }) else {
      throw HTTPClientError.remoteConnectionClosed
    }
    return answer
  }
}
