/// How much a bundle may use. Every limit is per bundle unless it says otherwise; what goes beyond is
/// refused or waits, and never takes anything from another bundle.
public struct HostLimits: Hashable, Sendable {
  /// Files, programs and HTTP requests under way at once; more wait for their turn.
  public var effectsMax = 16
  /// Programs that run on and on, at once.
  public var continuousMax = 16
  /// Bytes of a file, or of what a program prints.
  public var outputBytesMax = 1 << 20
  /// Bytes of an HTTP answer's body.
  public var bodyBytesMax = 4 << 20
  /// How many bytes an uploaded file may have that a request sends on.
  public var uploadBytesMax = 16 << 20
  /// Bytes of the end of what a program says on standard error.
  public var stderrBytesMax = 4 << 10
  /// Actions that call actions.
  public var depthMax = 8
  /// Steps of one trigger, those of the actions it calls included.
  public var stepsMax = 100
  /// Triggers of a widget that wait for an earlier one, for each place in the file.
  public var queuedMax = 16
  /// Actions of a widget under way at once.
  public var runsMax = 32
  /// Outcomes of events that a widget's status keeps.
  public var outcomesMax = 16
  /// How long an outcome stays at least, so that everybody who waits for it sees it.
  public var outcomeHeldFor = Duration.seconds(10)
  /// Outcomes that a status has at most, of these; further ones wait until there is room.
  public var outcomesHeldMax = 512
  /// Bytes of these in a widget's status, at most. With its other data they fit `widget_bytes_max`.
  public var outcomesBytesMax = 64 << 10
  /// Bytes of each text of an outcome: its title, its message, and what it says of a field.
  public var outcomeTextBytesMax = 500
  /// Bytes of the fields of an outcome; further fields are left out.
  public var outcomeFieldsBytesMax = 4 << 10
  /// Fields that a form does not have, told of at once.
  public var formProblemsMax = 16
  /// Events that follow from one another without a delay between them; more are a loop.
  public var chainMax = 64
  /// How long it shows that something was left out because too much happened.
  public var droppedFor = Duration.seconds(30)
  /// Failures that the widget of a bundle lists.
  public var failuresShownMax = 20
  /// What one evaluation may cost; see `CompiledExpression.evaluate`.
  public var evaluationCostMax = 1_000_000
  /// What evaluations may cost together: so much at once, and so much a second on the long run.
  public var costBurst = 20_000_000
  public var costPerSecond = 5_000_000
  /// How many triggers may fire: so many at once, and so many a second on the long run.
  public var triggersBurst = 200
  public var triggersPerSecond = 50
  /// The shortest interval of sources and triggers; shorter ones are taken for this.
  public var intervalMin = Duration.milliseconds(100)
  /// The least time between two readings of a file that keeps changing.
  public var fileSpacing = Duration.milliseconds(100)
  /// How long a program may run if the bundle does not say.
  public var commandTimeout = Duration.seconds(30)
  /// How long an HTTP request may take if the bundle does not say.
  public var httpTimeout = Duration.seconds(15)
  /// The longest time that a bundle can ask for, for either.
  public var timeoutMax = Duration.seconds(600)
  /// Between failures: the first wait, which doubles, and the longest.
  public var backoffInitial = Duration.seconds(1)
  public var backoffMax = Duration.seconds(300)
  /// A program that ran so long before it ended begins its waits anew.
  public var steadyAfter = Duration.seconds(30)
  /// Before a removed widget is restored: the first wait, which doubles if widgets are removed again and
  /// again, and the longest.
  public var restoreWaitInitial = Duration.milliseconds(100)
  public var restoreWaitMax = Duration.seconds(60)

  /// Of what a bundle does, for whoever asks: lines at once, characters of a line, how long the host goes on
  /// after it was asked at most, and how often it tells.
  public var traceLinesMax = 128
  public var traceTextMax = 300
  public var traceLeaseMax = Duration.seconds(60)
  public var traceInterval = Duration.milliseconds(100)

  /// After the daemon has refused a bundle: how often the host looks whether anything has changed that may
  /// mend it, and after what time it tries again in any case.
  public var refusalLookInterval = Duration.seconds(1)
  public var refusalRetryInterval = Duration.seconds(30)

  /// What the host holds back, at most, until the daemon has accepted it: lines. With more, all is said.
  public var heldReportsMax = 1000

  public init() {}
}

/// So much of something at once, and so much a second on the long run. Time comes in as an argument.
struct Allowance: Hashable, Sendable {
  private(set) var available: Double
  private let burst: Double
  private let perSecond: Double
  private var last: Duration?

  init(burst: Int, perSecond: Int) {
    self.burst = Double(burst)
    self.perSecond = Double(perSecond)
    available = Double(burst)
  }

  mutating func refill(at uptime: Duration) {
    if let last, uptime > last {
      available = min(burst, available + (uptime - last) / .seconds(1) * perSecond)
    }
    last = uptime
  }

  /// Takes what is needed. What was used already can be more than there was; it is paid back first.
  mutating func take(_ amount: Int) { available -= Double(amount) }
}

/// Why something was not done.
public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
  /// A gRPC code's name: `NOT_FOUND`.
  public var code: String
  /// What is wrong and what to do, for people.
  public var message: String
  /// Whether trying again later can help without anybody changing something.
  public var isTransient: Bool

  public init(_ code: String, _ message: String, isTransient: Bool = false) {
    self.code = code
    self.message = message
    self.isTransient = isTransient
  }

  public var description: String { "\(code): \(message)" }
}

/// The time as the core is told it.
public struct HostTime: Hashable, Sendable {
  /// What the clock on the wall says; can jump.
  public var wall: Timestamp
  /// What has passed since some moment; never goes back.
  public var uptime: Duration

  public init(wall: Timestamp, uptime: Duration) {
    self.wall = wall
    self.uptime = uptime
  }
}

public import WidgetModel
