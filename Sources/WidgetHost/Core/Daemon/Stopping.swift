/// The end of the conversation: the last declaration, the bundles' sessions, the host's session, in
/// this order.
struct Stopping: Hashable, Sendable {
  enum Step: Hashable, Sendable { case declaring, closingBundles, closingHost, ended }

  private(set) var step: Step
  /// The time at which the conversation ends in any case.
  private let end: Duration

  /// - Parameter declares: whether the widgets are declared a last time.
  init(declares: Bool, until end: Duration) {
    step = declares ? .declaring : .closingBundles
    self.end = end
  }

  /// Nil after the end.
  var deadline: Duration? { step == .ended ? nil : end }

  mutating func declared() { step = .closingBundles }

  mutating func closedBundles() { step = .closingHost }

  mutating func finish() { step = .ended }
}
