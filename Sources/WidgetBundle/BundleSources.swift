public import WidgetExpression
import WidgetModel

// Sources, which give a bundle its data, and their inputs.

/// A source of data: the host reads its input, and `set` turns the `result` into data.
public struct Source: Sendable {
  /// Unique in its kind. Its state is in the widget's data, as `status.NAME`; see `ActionStatus`.
  public var name: String
  public var input: Input
  /// The time between two readings; nil if the source is read only on request or when its input
  /// changes.
  public var interval: Duration?
  /// Whether readings are at multiples of the interval since midnight (UTC) instead of since the
  /// start.
  public var isAligned: Bool
  /// Whether the source is read when the widget is made or the bundle is loaded. Default: true.
  public var isLoadedAtStart: Bool
  /// Whether the source is read only while its widget is watched, and on request.
  public var isWhileWatched: Bool
  /// The source is not read while this is false.
  public var condition: Expression?
  /// Results for which this is false are ignored. Only continuous sources have it.
  public var filter: Expression?
  public var parse: Parse
  public var assignments: Assignments
  /// The result if the host runs with `--stub`.
  public var stub: Stub?
  /// The title of a failure, for people. Default: made from the source's name.
  public var errorTitle: Template?
  /// The message after a reading; nil for no message.
  public var successMessage: Template?
  /// Whether the source may read something that does not exist. The state is then `missing`, and
  /// not a failure.
  public var isOptional: Bool
  /// The widget becomes stale when readings have failed for this long.
  public var staleAfter: Duration

  /// The parts of the widget that the input reads, except data that the source itself sets. The
  /// source is read again when one of these changes.
  public var dependencies: [ExpressionReference] = []

  /// The default of `staleAfter`.
  public static let staleAfterDefault = Duration.seconds(30)

  public enum Input: Sendable {
    /// A file. The host watches the file, so a change is read at once.
    case file(Template)
    /// The entries of a folder. The host watches the folder.
    case folder(Template)
    /// The output of a program: once, or, with `isContinuous`, line by line while the program runs.
    case command(ProgramCommand, isContinuous: Bool)
    case http(HTTPRequest)
    /// Lines from a Unix socket, while it is connected.
    case socket(SocketInput)
    /// A service on D-Bus: its properties or signals as they come, or the answer of a method.
    case bus(BusInput)
    /// The time: `result` is now.
    case timer
    case constant(Template)
  }

  /// Whether it is a program or socket that delivers results continuously.
  public var isContinuous: Bool {
    switch input {
    case .command(_, isContinuous: true), .socket: true
    case .bus(let input): !input.isCall
    default: false
    }
  }

  public init(
    name: String, input: Input, interval: Duration? = nil, isAligned: Bool = false,
    isLoadedAtStart: Bool = true, condition: Expression? = nil, filter: Expression? = nil,
    parse: Parse = Parse(),
    assignments: Assignments, stub: Stub? = nil, errorTitle: Template? = nil,
    successMessage: Template? = nil, staleAfter: Duration = Source.staleAfterDefault,
    isWhileWatched: Bool = false, isOptional: Bool = false
  ) {
    self.isOptional = isOptional
    self.isWhileWatched = isWhileWatched
    self.errorTitle = errorTitle
    self.successMessage = successMessage
    self.name = name
    self.input = input
    self.interval = interval
    self.isAligned = isAligned
    self.isLoadedAtStart = isLoadedAtStart
    self.condition = condition
    self.filter = filter
    self.parse = parse
    self.assignments = assignments
    self.stub = stub
    self.staleAfter = staleAfter
  }
}

/// The result of a source or a step if the host runs with `--stub`.
public struct Stub: Sendable {
  /// The `result`; nil for no result, so no data is set.
  public var value: Template?
  /// The duration of the reading or the step.
  public var delay: Duration

  public init(value: Template? = nil, delay: Duration = .zero) {
    self.value = value
    self.delay = delay
  }
}

/// How bytes become `result`.
public struct Parse: Hashable, Sendable {
  /// The format of the bytes. Default (nil): JSON if the file name or media type says so (`.json`,
  /// `application/json`), else text.
  public var format: Format?
  /// For JSON: the required shape. A result of another shape is a failure.
  public var shape: Shape
  /// For JSON: the keys and indexes that lead to the result.
  public var path: [PathStep]
  /// For JSON that reports an error: the keys and indexes that lead to its text.
  public var errorPath: [PathStep]

  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// One text, without the last line break.
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

/// A Unix stream socket that gives lines, or the messages of i3 or sway.
public struct SocketInput: Sendable {
  public var path: Template
  /// The line to send after connecting. Of a step: the command for i3 or sway.
  public var send: Template?
  /// The request to i3 or sway. Nil for lines.
  public var i3: I3Input?

  public init(path: Template, send: Template? = nil, i3: I3Input? = nil) {
    self.path = path
    self.send = send
    self.i3 = i3
  }
}

/// The request to a service on D-Bus.
public struct BusInput: Sendable {
  public enum Bus: String, Hashable, Sendable, CaseIterable { case session, system }

  public enum Work: Sendable {
    /// Reads properties and follows their changes; none named means all of them.
    case properties([String])
    /// Each signal is a result: the list of its arguments.
    case signal(String)
    /// Calls a method; the result is the list of the values that it returns. `types` has a type for
    /// each argument.
    case call(String, arguments: [Template], types: [BusType], timeout: Duration?)
  }

  public var bus: Bus
  /// With `.*` at the end: all services with the prefix.
  public var name: Template
  /// nil for signals of all objects.
  public var path: Template?
  public var interface: String
  public var work: Work

  public init(bus: Bus, name: Template, path: Template?, interface: String, work: Work) {
    self.bus = bus
    self.name = name
    self.path = path
    self.interface = interface
    self.work = work
  }

  public var isCall: Bool { if case .call = work { true } else { false } }
}

/// A program to run. No shell is involved.
public struct ProgramCommand: Sendable {
  /// The program, then its arguments. Never empty; every element gives a text.
  public var arguments: [Template]
  public var input: Template?
  /// The program is killed after this time.
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
  /// Components to append to the URL's path, each encoded.
  public var path: [Template]
  /// Parameters of the query. Null leaves a parameter out; a list gives one parameter for each
  /// element.
  public var query: [(name: String, value: Template)]
  public var headers: [(name: String, value: Template)]
  public var body: Body?
  public var auth: Auth?
  /// Default: 15 seconds.
  public var timeout: Duration?

  /// The credentials for a server. The host reads them for each request; no widget's data has them.
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
