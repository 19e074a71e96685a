public import WidgetExpression
import WidgetModel

// Where a bundle's data comes from: sources, and what they ask.

/// Where data comes from: something is read, and `set` makes data of it (as `result`).
public struct Source: Sendable {
  /// Unique in its kind. Its state is in the widget's data, as `status.NAME`; see `ActionStatus`.
  public var name: String
  public var input: Input
  /// How often it is read again; nil for only when asked, or when it changes by itself.
  public var interval: Duration?
  /// Read at multiples of the interval since midnight (UTC), not since the start.
  public var isAligned: Bool
  /// Read when the widget comes to life. True unless said otherwise.
  public var isLoadedAtStart: Bool
  /// Not read while this is false.
  public var condition: Expression?
  public var parse: Parse
  public var assignments: Assignments
  /// What is there instead of the real thing when the host runs with `--stub`.
  public var stub: Stub?
  /// What a failure is called where people see it; nil for a name made of the source's.
  public var errorTitle: Template?
  /// What is said after a reading; nil for nothing.
  public var successMessage: Template?
  /// The data is stale when readings have failed for so long.
  public var staleAfter: Duration

  /// What of the widget the input depends on, but for what the source itself sets: it is read again when
  /// one of these changes.
  public var dependencies: [ExpressionReference] = []

  /// What `staleAfter` is if the file does not say.
  public static let staleAfterDefault = Duration.seconds(30)

  public enum Input: Sendable {
    /// A file; watched, so that changes are seen at once.
    case file(Template)
    /// What a program prints, once or, with `isContinuous`, line by line as long as it runs.
    case command(Command, isContinuous: Bool)
    case http(HTTPRequest)
    /// Nothing but the time: `result` is now.
    case timer
    case constant(Template)
  }

  public init(
    name: String, input: Input, interval: Duration? = nil, isAligned: Bool = false,
    isLoadedAtStart: Bool = true, condition: Expression? = nil, parse: Parse = Parse(),
    assignments: Assignments, stub: Stub? = nil, errorTitle: Template? = nil,
    successMessage: Template? = nil, staleAfter: Duration = Source.staleAfterDefault
  ) {
    self.errorTitle = errorTitle
    self.successMessage = successMessage
    self.name = name
    self.input = input
    self.interval = interval
    self.isAligned = isAligned
    self.isLoadedAtStart = isLoadedAtStart
    self.condition = condition
    self.parse = parse
    self.assignments = assignments
    self.stub = stub
    self.staleAfter = staleAfter
  }
}

/// What a source or a step gives when the host runs with `--stub`.
public struct Stub: Sendable {
  /// What `result` is; nil for nothing: then no data is set.
  public var value: Template?
  /// How long it takes.
  public var delay: Duration

  public init(value: Template? = nil, delay: Duration = .zero) {
    self.value = value
    self.delay = delay
  }
}

/// How bytes become `result`.
public struct Parse: Hashable, Sendable {
  /// What they are; nil for JSON if it is said to be (`.json`, `application/json`), else text.
  public var format: Format?
  /// Of JSON: what must be there. A result of another shape is a failure.
  public var shape: Shape
  /// Of JSON: where the result is in the document: keys and indexes.
  public var path: [PathStep]
  /// Of JSON that tells of an error: where its words are.
  public var errorPath: [PathStep]

  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// One text, without the line's end at its end.
    case text
    /// A list of texts.
    case lines
    /// A list of lists of texts, split at white space.
    case words
    case json
  }

  public enum Shape: String, Hashable, Sendable, CaseIterable { case any, object, list }

  public enum PathStep: Hashable, Sendable {
    case key(String)
    case index(Int)
  }

  public init(
    format: Format? = nil, shape: Shape = .any, path: [PathStep] = [], errorPath: [PathStep] = []
  ) {
    self.format = format
    self.shape = shape
    self.path = path
    self.errorPath = errorPath
  }
}

/// A program to run. No shell is involved.
public struct Command: Sendable {
  /// The program, then its arguments. Never empty; every element gives a text.
  public var arguments: [Template]
  public var input: Template?
  /// Killed after this.
  public var timeout: Duration?

  public init(arguments: [Template], input: Template? = nil, timeout: Duration? = nil) {
    self.arguments = arguments
    self.input = input
    self.timeout = timeout
  }
}

public struct HTTPRequest: Sendable {
  public var method: String
  /// `http` or `https`, host and base path.
  public var url: Template
  /// Components behind the URL's path, each encoded.
  public var path: [Template]
  /// Encoded into the query. Null leaves one out; of a list, each element becomes one.
  public var query: [(name: String, value: Template)]
  public var headers: [(name: String, value: Template)]
  public var body: Body?
  public var auth: Auth?
  /// 15 seconds without.
  public var timeout: Duration?

  /// What a server knows the bundle's user by. It is read when it is sent, and is in no widget's data.
  public struct Auth: Sendable {
    public enum Scheme: String, Sendable, CaseIterable {
      /// The file holds a token (RFC 6750).
      case bearer
      /// The file holds `USER:PASSWORD` (RFC 7617).
      case basic
    }

    public var scheme: Scheme
    /// The path of a file of one line that the bundle may read.
    public var file: Template

    public init(scheme: Scheme = .bearer, file: Template) {
      self.scheme = scheme
      self.file = file
    }
  }

  public enum Body: Sendable {
    case json(Template)
    /// application/x-www-form-urlencoded.
    case form([(name: String, value: Template)])
    /// multipart/form-data.
    case multipart([Part])
    case text(Template, contentType: String)
  }

  public struct Part: Sendable {
    public var name: String
    public var content: Content

    public enum Content: Sendable {
      case value(Template)
      /// The path of a file that the bundle may read.
      case file(Template, contentType: String?)
      /// The id of a blob.
      case blob(Template, contentType: String?)
    }

    public init(name: String, content: Content) {
      self.name = name
      self.content = content
    }
  }

  public init(
    method: String = "GET", url: Template, path: [Template] = [],
    query: [(name: String, value: Template)] = [], headers: [(name: String, value: Template)] = [],
    body: Body? = nil, auth: Auth? = nil, timeout: Duration? = nil
  ) {
    self.auth = auth
    self.method = method
    self.url = url
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}

// MARK: - Actions
