/// The limits of a bundle. Every limit is per bundle unless it says otherwise. Work beyond a limit
/// is refused or waits, and never takes anything from another bundle. The users whose events cause
/// the work share some limits; see `Sharer`.
public struct HostLimits: Hashable, Sendable {
  /// Files, programs and HTTP requests under way at once; more wait for their turn. The actions of
  /// one user have at most three quarters of them.
  public var effectsMax = 16
  /// Continuous programs at once.
  public var continuousMax = 16
  /// Bytes of a file, or of a program's output.
  public var outputBytesMax = 1 << 20
  /// Entries of a folder.
  public var folderEntriesMax = 1_000
  /// Bytes of an HTTP answer's body.
  public var bodyBytesMax = 4 << 20
  /// Bytes of an uploaded file that a request sends.
  public var uploadBytesMax = 16 << 20
  /// Bytes of the message of a failure that a server, a service or a window manager has written. It is
  /// for people, and must fit into the data of a widget.
  static let errorBytesMax = 500
  /// Bytes of the end of a program's standard error.
  public var stderrBytesMax = 4 << 10
  /// Values of a D-Bus message. Its texts have at most `outputBytesMax` bytes.
  public var busValuesMax = 10_000
  /// Services that one source follows by their prefix.
  public var busNamesMax = 64
  /// The default timeout of a D-Bus method.
  public var busTimeout = Duration.seconds(25)
  /// The maximum time of i3 or sway for an answer.
  public var socketTimeout = Duration.seconds(10)
  /// Actions that call actions.
  public var depthMax = 8
  /// Steps of one trigger, those of the actions it calls included.
  public var stepsMax = 100
  /// Triggers of a widget that wait for an earlier one, for each place in the file. If there are more,
  /// users have equal shares.
  public var queuedMax = 16
  /// Actions of a widget under way at once.
  public var runsMax = 32
  /// The number of event outcomes that a widget's status keeps.
  public var outcomesMax = 16
  /// The minimum time that an outcome stays, so that every waiting sender sees it.
  public var outcomeHeldFor = Duration.seconds(10)
  /// The maximum number of outcomes in a status during that time. Further outcomes wait until there
  /// is room.
  public var outcomesHeldMax = 512
  /// The maximum size of the outcomes in a widget's status, in bytes. They fit `widget_bytes_max`
  /// together with its other data.
  public var outcomesBytesMax = 64 << 10
  /// The maximum bytes of each text of an outcome: the title, the message, and the message of a
  /// field.
  public var outcomeTextBytesMax = 500
  /// The maximum bytes of the fields of an outcome together. Further fields are left out.
  public var outcomeFieldsBytesMax = 4 << 10
  /// The maximum number of a submit's unknown fields that are reported at once.
  public var formProblemsMax = 16
  /// Events that follow from one another without a delay between them; more are a loop.
  public var chainMax = 64
  /// The time that a widget shows that work was dropped because too much happened.
  public var droppedFor = Duration.seconds(30)
  /// Failures that the widget of a bundle lists.
  public var failuresShownMax = 20
  /// Ids of widgets that others made of a bundle's kinds, in the widget of the bundle.
  public var othersShownMax = 5
  /// The maximum cost of one evaluation; see `CompiledExpression.evaluate`.
  public var evaluationCostMax = 1_000_000
  /// The maximum cost of all evaluations together: at once, and per second on average. If several
  /// users cause evaluations, each has an equal share.
  public var costBurst = 20_000_000
  public var costPerSecond = 5_000_000
  /// The number of triggers that may fire: at once, and per second on average. If several users cause
  /// them, each has an equal share.
  public var triggersBurst = 200
  public var triggersPerSecond = 50
  /// The number of log lines for failures that events cause again: at once, and per second on
  /// average.
  public var repeatsBurst = 10
  public var repeatsPerSecond = 1
  /// The minimum interval of sources and triggers. A shorter interval counts as this one.
  public var intervalMin = Duration.milliseconds(100)
  /// The minimum time between two readings of a file that keeps changing.
  public var fileSpacing = Duration.milliseconds(100)
  /// The default timeout of a program.
  public var commandTimeout = Duration.seconds(30)
  /// The default timeout of an HTTP request.
  public var httpTimeout = Duration.seconds(15)
  /// The maximum timeout that a bundle can set, for programs and for HTTP requests.
  public var timeoutMax = Duration.seconds(600)
  /// The first and the longest wait after a failure. The wait doubles with each further failure.
  public var backoffInitial = Duration.seconds(1)
  public var backoffMax = Duration.seconds(300)
  /// If a program has run at least this long, the wait after its end is the first wait again.
  public var steadyAfter = Duration.seconds(30)
  /// If a program or connection that began after a failure gives neither a result nor a failure for
  /// this time, it works. See `SourceTable.lasted` for a longer time.
  public var quietAfter = Duration.seconds(5)
  /// The first and the longest wait before a removed widget is restored. The wait doubles with each
  /// further removal.
  public var restoreWaitInitial = Duration.milliseconds(100)
  public var restoreWaitMax = Duration.seconds(60)

  /// Limits of a trace: lines in one interval, characters of a line, the longest lease, and the
  /// interval between two `traced` events.
  public var traceLinesMax = 128
  public var traceTextMax = 300
  /// Bytes of a line's text, which a few characters with many marks can exceed, and of the lines of one event.
  public var traceTextBytesMax = 4 << 10
  public var traceEventBytesMax = 32 << 10
  public var traceLeaseMax = Duration.seconds(60)
  public var traceInterval = Duration.milliseconds(100)

  /// Limits of snapshots. The time for all sources of one snapshot, which is shorter than the
  /// daemon's wait. The number at once; callers who are not owners may use half of them, and each of
  /// these users a quarter. For each of these users, the number in a burst, and per second on
  /// average. The number of users who can have these numbers side by side; more users have equal
  /// shares.
  public var snapshotTimeout = Duration.milliseconds(1_800)
  public var snapshotsMax = 8
  public var snapshotsBurst = 8
  public var snapshotsPerSecond = 1
  public var snapshotsUsersMax = 4

  /// After the daemon has refused a bundle: the interval of checks whether the owners of its kinds
  /// and widgets have changed, and the interval of retries in any case.
  public var refusalLookInterval = Duration.seconds(1)
  public var refusalRetryInterval = Duration.seconds(30)
  /// The interval of checks whether somebody has cleared the error about a bundle on a widget that no
  /// running bundle serves.
  public var clearedLookInterval = Duration.seconds(10)

  /// The time for which the widgets of a bundle outlive its missing folder.
  public var absenceMax = Duration.seconds(30)
  /// The further time for which a widget stays that another bundle can take over after the removal of
  /// other widgets.
  public var holdDelayMax = Duration.seconds(60)

  /// The first and the longest wait after a transient failure of a call to the daemon. The wait
  /// doubles with each further failure.
  public var daemonWaitInitial = Duration.milliseconds(200)
  public var daemonWaitMax = Duration.seconds(5)
  /// The number of attempts to change a widget that others change meanwhile. Before each further
  /// attempt, the host waits for `clearedLookInterval`.
  public var outdatedAttemptsMax = 5
  /// The number of attempts to get a session that another program has. After them, the host reports
  /// a refusal.
  public var takenAttemptsMax = 6
  /// The time without a refused change before the host reports that the daemon takes changes again.
  public var refusalEndWait = Duration.seconds(5)
  /// The wait before a failed watch is opened again.
  public var watchWait = Duration.seconds(1)
  /// The maximum time for the end of the host, or of one session.
  public var closeWaitMax = Duration.seconds(3)
  /// The maximum time that a removal waits for the changes that end the actions of its widgets.
  public var endWaitMax = Duration.seconds(5)
  /// The maximum time that a bundle's first widgets wait for the widgets of earlier bundles.
  public var turnWaitMax = Duration.seconds(5)

  /// The number of lines that the host holds back until the daemon has accepted it. If there are
  /// more lines, the host prints them all.
  public var heldReportsMax = 1000

  public init() {}

  /// The wait before the next attempt, after this many failed ones.
  func daemonWait(_ attempts: Int) -> Duration {
    var wait = daemonWaitInitial
    for _ in 0..<min(max(attempts, 1) - 1, 32) where wait < daemonWaitMax { wait *= 2 }
    return min(wait, daemonWaitMax)
  }

  /// The wait before the next listing, after this many listings whose widgets others have changed
  /// before the host did.
  func outdatedWait(_ attempts: Int) -> Duration {
    attempts < outdatedAttemptsMax ? daemonWait(attempts) : clearedLookInterval
  }
}

/// An allowance (token bucket): an amount at once, and an amount per second on average. Time is an
/// argument.
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

  /// Takes an amount that was used. The allowance can become negative; it refills from there.
  mutating func take(_ amount: Int) { available -= Double(amount) }
}

/// The reason of a failure.
public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
  /// A gRPC code's name: `NOT_FOUND`.
  public var code: String
  /// The failure and the next step, for people.
  public var message: String
  /// Whether a later retry can succeed without another change.
  public var isTransient: Bool
  /// The reason in the status with which the daemon refuses a change for now. Nil if the daemon did
  /// not refuse it, or refuses it for good.
  var refusal: String?
  /// The server and the status of an answer whose text is the message; empty for other failures.
  var answered = ""
  /// Whether an expression that reads `result` has failed with it.
  var isOfResult = false

  public init(_ code: String, _ message: String, isTransient: Bool = false) {
    self.code = code
    self.message = message
    self.isTransient = isTransient
  }

  /// The failure of an expression that reads `result`, with a fact about the result in front of its
  /// message. The same failure if the expression does not read it, or without a fact. The expression
  /// can fail for another reason, so the words do not call the fact the reason.
  func with(_ fact: String?) -> Failure {
    guard let fact, isOfResult else { return self }
    var failure = self
    failure.message = "\(fact), and \(message)"
    return failure
  }

  public var description: String {
    "\(code): \(message)" + (answered.isEmpty ? "" : "; \(answered)")
  }
}

/// The time, as the adapters give it to the core.
public struct HostTime: Hashable, Sendable {
  /// The time of the wall clock; can jump.
  public var wall: Timestamp
  /// The time since a fixed moment; never goes back.
  public var uptime: Duration
  /// The time since the machine's start; never goes back, and is the same for the next host.
  public var machine: Duration

  /// - Parameter machine: Nil if the host has run since the machine's start.
  public init(wall: Timestamp, uptime: Duration, machine: Duration? = nil) {
    self.wall = wall
    self.uptime = uptime
    self.machine = machine ?? uptime
  }
}

public import WidgetModel
