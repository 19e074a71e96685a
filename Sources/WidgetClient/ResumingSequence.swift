import WidgetProto

/// Drives a `Resumption`: opens the stream and delivers its frames. After a failure it waits and
/// opens the stream again.
///
/// There is no task and no buffer in it. Everything happens inside `next`, in the reader's task.
/// Without a reader there are no attempts. Cancelling that task cancels the wait in `next`.
struct ResumingIterator<R: Resumption> {
  typealias Open = @Sendable (R.Request) async throws(ClientError) -> MessageStream<R.Message>

  private var resumption: R
  private let retry: RetryPolicy
  private let open: Open
  private var stream: MessageStream<R.Message>.Iterator?
  private var isFinished = false
  /// The number of failed attempts since the stream was last open.
  private var attempt = 0
  /// The wait before the next attempt.
  private var wait: Duration?
  /// Whether the reader has got `disconnected`, so that it must get `reconnected`.
  private var owesReconnected = false
  /// The reason of the last `disconnected`.
  private var toldCause: ClientError.Cause?
  /// The next frame for the reader, before all others.
  private var next: R.Frame?

  init(_ resumption: R, retry: RetryPolicy, open: @escaping Open) {
    self.resumption = resumption
    self.retry = retry
    self.open = open
  }

  /// The next frame; nil after the daemon ended the stream without an error.
  mutating func nextFrame() async throws(ClientError) -> R.Frame? {
    while !isFinished {
      if let frame = next.take() { return frame }
      do throws(ClientError) {
        if let frame = try await step() { return frame }
      } catch {
        if let frame = try recover(from: error) { return frame }
      }
    }
    return nil
  }

  /// Does one step. Returns nil if the step delivered nothing.
  private mutating func step() async throws(ClientError) -> R.Frame? {
    if let delay = wait.take() {
      do { try await retry.clock.sleep(for: delay) } catch { throw .cancelled }
    }
    guard stream != nil else {
      resumption.willOpen()
      stream = try await open(resumption.request).makeAsyncIterator()
      return nil
    }
    guard let message = try await stream?.next() else {
      finish()
      return nil
    }
    let wasOpen = resumption.isOpen
    guard let frame = try resumption.receive(message) else { return nil }
    guard !wasOpen, resumption.isOpen else { return frame }
    attempt = 0
    guard owesReconnected else { return frame }
    owesReconnected = false
    toldCause = nil
    next = frame
    return R.reconnected
  }

  /// Decides how to handle an error. Throws the error to give up.
  private mutating func recover(from error: ClientError) throws(ClientError) -> R.Frame? {
    stream = nil
    switch resumption.recover(from: error) {
    case .restart(let frame):
      return frame
    case .retry(let least):
      guard let delay = retry.delay(beforeAttempt: attempt, least: least) else {
        finish()
        throw error
      }
      wait = delay
      attempt += 1
      // Without this, a reader that waits for a daemon is never told that the daemon hangs.
      let cause = error.lossCause
      guard !owesReconnected || cause != toldCause else { return nil }
      owesReconnected = true
      toldCause = cause
      return R.disconnected(error)
    case .fail:
      finish()
      throw error
    }
  }

  private mutating func finish() {
    stream = nil
    isFinished = true
  }
}
