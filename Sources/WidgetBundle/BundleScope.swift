public import WidgetExpression
public import WidgetModel

/// The variables that the expressions of a bundle's sources and actions read.
///
/// `data` and `parameters` with the types that the kind declares; `status` (each source's and
/// action's `ActionStatus`), `widget` (`id`, `kind`, `family`, `labels`, `visible`, `enabled`),
/// `event` (`name`, `node`, `row`, `rows`, `payload`, `time`; empty outside of events), `result`
/// (the reading), `error` (`code`, `title`, `message`), `now`, `bundle` (`id`, `version`), `nodes`
/// (by the names of inputs in forms, each with the `value` that was submitted; null in other
/// events), and `uptime` (the time since the machine's start).
public struct BundleScope: Sendable {
  public let environment: ExpressionEnvironment
  /// The names of all inputs in forms of the kind, which are the keys of `nodes`.
  public let formFields: [String]

  public init(environment: ExpressionEnvironment, formFields: [String] = []) {
    self.environment = environment
    self.formFields = formFields
  }

  /// The values of the variables at one moment.
  public struct Moment: Sendable {
    public var widget: Widget
    public var event: Event?
    /// The key of the row that the event's node is in; empty for none.
    public var row: String
    /// The keys of all rows around the node, the outermost first. If empty, `row` is the only row.
    public var rows: [String]
    public var result: Value
    public var error: ActionStatus?
    public var now: Timestamp
    /// The time since the machine's start. The clock does not change it.
    public var uptime: Duration
    public var bundleID: String
    public var bundleVersion: String

    public init(
      widget: Widget, event: Event? = nil, row: String = "", rows: [String] = [],
      result: Value = .null,
      error: ActionStatus? = nil, now: Timestamp, uptime: Duration = .zero, bundleID: String,
      bundleVersion: String
    ) {
      self.widget = widget
      self.event = event
      self.row = row
      self.rows = rows.isEmpty && !row.isEmpty ? [row] : rows
      self.result = result
      self.error = error
      self.now = now
      self.uptime = uptime
      self.bundleID = bundleID
      self.bundleVersion = bundleVersion
    }
  }
}
