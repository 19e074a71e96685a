import NIOCore

/// The bounds of a round.
extension WatchRounds {
  /// The number of passes through the chunks before the rest is sent at once, unless it is very
  /// large. So a reader that is slower than the changes still catches up.
  static var passesMax: Int { 8 }
  /// The same for changes whose tests cost much. They delay others, so there are more passes.
  static var passesWithTestsMax: Int { 64 }
  /// The same for more than `largeRoundFactor` times the changes that are sent at once. A reader that
  /// stops in each pass makes the rest as large as all widgets, and one step then takes long. Each of
  /// these passes sends so many changes that the last step is a small part of the whole.
  static var largePassesMax: Int { 256 }
  /// The number of parts of removals after the chunks before the rest is sent at once.
  static var removalPartsMax: Int { 1_000 }

  /// The time that a turn may take to send changes to readers that are caught up. The other readers
  /// are served one by one.
  static let broadcastMax = TimeAmount.milliseconds(4)
  /// How many times more changes a round sends to all members at once than to one that is behind. The
  /// end of a long transfer may have as many.
  static var largeRoundFactor: Int { 8 }
  /// The longest round without a pause. With the default interval, such a round is over in time.
  static let shortRoundMax = TimeAmount.microseconds(500)
  /// The longest pause after a round that takes longer than the interval of rounds, in intervals.
  static var pausesMax: Int { 10 }
  /// The time that a turn may take to serve late streams.
  static let servingMax = TimeAmount.milliseconds(3)
  /// The time that a turn may take to find readers that lack a new theme. The same for the state of
  /// the store.
  static let searchMax = TimeAmount.milliseconds(1)
  /// The number of readers that a search visits before the next look at the clock.
  static var membersPerSearchLook: Int { 256 }
  /// The time that a turn may take to end delays after an event.
  static let hurryMax = TimeAmount.milliseconds(1)
  /// The maximum number of steps for one stream in one turn.
  static var stepsPerTurnMax: Int { 64 }
  static var eventsPerFrameMax: Int { 256 }

  /// The time that a part of a round may take: a quarter of its maximum while others wait. These are
  /// calls, or readers that the last round has left while calls were served. A call over gRPC waits
  /// for the rounds of several turns.
  func bound(_ time: TimeAmount) -> TimeAmount {
    isShort ? .nanoseconds(time.nanoseconds / 4) : time
  }
}
