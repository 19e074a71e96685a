/// Decides when a bar draws, so that a bar that was slow skips old states.
///
/// The daemon sends changes at most every `BarSession.pause`. So a frame that comes sooner after a drawing
/// has probably waited in the stream, because the drawing took long, or because the bar did not read. Other
/// frames can wait behind it. The bar then takes all waiting frames, and draws once. After a long drawing,
/// more time counts as soon: on a busy machine, the frames take longer, too.
///
/// A state machine without a clock: times are arguments, and the answers are values.
struct DrawPace: Hashable, Sendable {
  enum Step: Hashable, Sendable {
    case draw
    /// Draw nothing yet, and call `timeHasPassed` after this time.
    case wait(Duration)
  }

  /// A frame that comes within this time after a drawing has waited in the stream.
  static let soon = Duration.milliseconds(25)
  /// The stream is empty if no frame comes within this time. The socket is read at least once in it.
  static let quiet = Duration.milliseconds(2)
  /// The longest wait before a drawing.
  static let waitMax = Duration.seconds(2)

  /// The end of the last drawing, and its duration.
  private var drawn: ContinuousClock.Instant?
  private var duration = Duration.zero
  /// The start of the wait. Nil if the bar does not wait.
  private var waitStart: ContinuousClock.Instant?
  /// Whether a frame has come since the timer was set.
  private var hasNewFrame = false

  var isWaiting: Bool { waitStart != nil }

  /// A frame was applied.
  mutating func frame(at now: ContinuousClock.Instant) -> Step {
    if !isWaiting {
      guard let drawn, now - drawn < max(DrawPace.soon, duration) else { return .draw }
      waitStart = now
    }
    // So the timer fires twice before a drawing. In between, the socket is read.
    hasNewFrame = true
    return .wait(DrawPace.quiet)
  }

  /// The timer has fired.
  mutating func timeHasPassed(at now: ContinuousClock.Instant) -> Step {
    guard let waitStart, hasNewFrame,
      now - waitStart < max(DrawPace.waitMax, duration)
    else { return .draw }
    hasNewFrame = false
    return .wait(DrawPace.quiet)
  }

  /// Something else happened, such as an answer of the daemon.
  var step: Step { isWaiting ? .wait(DrawPace.quiet) : .draw }

  /// The bar has drawn, and its reader has taken the text.
  mutating func hasDrawn(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
    (drawn, duration) = (end, end - start)
    (waitStart, hasNewFrame) = (nil, false)
  }
}
