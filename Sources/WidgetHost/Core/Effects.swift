public import WidgetBundle
public import WidgetModel

// The inputs and outputs of the state machine, as values.

/// The id of a request of a bundle. Never used twice, so an answer to an earlier version of a
/// bundle is recognized.
public struct RequestID: Hashable, Sendable, CustomStringConvertible {
  /// The number of the bundle's start, unique for all bundles.
  public let generation: UInt64
  public let number: UInt64

  public init(generation: UInt64, number: UInt64) {
    self.generation = generation
    self.number = number
  }

  /// An id for effects that have no answer.
  static func unanswered(_ generation: UInt64) -> RequestID {
    RequestID(generation: generation, number: 0)
  }

  public var description: String { "\(generation).\(number)" }
}

/// A file to read.
public struct FileRequest: Hashable, Sendable {
  public var path: String
  public var bytesMax: Int
  /// The permissions must allow the real path, after symbolic links were followed.
  public var permissions: BundlePermissions
}

/// A folder to read the entries of.
public struct FolderRequest: Hashable, Sendable {
  public var path: String
  public var entriesMax: Int
  /// The permissions must allow the real path, after symbolic links were followed.
  public var permissions: BundlePermissions
}

/// A program to run.
public struct CommandRequest: Hashable, Sendable {
  /// An absolute path, or a name to look for.
  public var program: String
  public var arguments: [String]
  /// Empty for none.
  public var input: [UInt8]
  /// nil for no limit.
  public var timeout: Duration?
  public var outputBytesMax: Int
  public var stderrBytesMax: Int
  /// Every line is a separate result.
  public var isContinuous: Bool
  public var permissions: BundlePermissions
}

/// A Unix socket to read lines from.
public struct SocketRequest: Hashable, Sendable {
  public var path: String
  /// The bytes to send after connecting. May be empty.
  public var greeting: [UInt8]
  /// The longest line or message, in bytes.
  public var lineBytesMax: Int
  /// The question to i3 or sway; nil for lines.
  public var i3: I3Input?
  /// The time of i3 or sway for each answer; nil for no limit.
  public var timeout: Duration?
}

/// A command for i3 or sway.
public struct SocketCommand: Hashable, Sendable {
  public var path: String
  public var command: String
  public var timeout: Duration
  /// The longest answer, in bytes.
  public var answerBytesMax: Int
}

/// A request to a service on D-Bus.
public struct BusRequest: Hashable, Sendable {
  public enum Work: Hashable, Sendable {
    /// An empty list stands for all properties.
    case properties([String])
    case signal(String)
    case call(String, arguments: [Value], types: [BusType])
  }

  public var bus: BusInput.Bus
  /// The name of the service. If it ends with `.*`, all services with this prefix, for `properties`
  /// only.
  public var name: String
  /// Empty for signals of all objects.
  public var path: String
  public var interface: String
  public var work: Work
  /// The maximum wait for an answer.
  public var timeout: Duration
  /// The maximum number of values, and of bytes of texts, in a message.
  public var valuesMax: Int
  public var bytesMax: Int
  /// The maximum number of services with one prefix.
  public var namesMax: Int
  /// The minimum time between two results with properties.
  public var spacing: Duration

  var isPattern: Bool { name.hasSuffix("*") }
}

/// A request to an HTTP server.
public struct WebRequest: Hashable, Sendable {
  public struct Header: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A file that a client uploaded.
  public struct Upload: Hashable, Sendable {
    public var bytes: [UInt8]
    public var name: String
    public var contentType: String

    public init(bytes: [UInt8], name: String, contentType: String) {
      self.bytes = bytes
      self.name = name
      self.contentType = contentType
    }
  }

  public struct Part: Hashable, Sendable {
    public var name: String
    public var content: Content

    public enum Content: Hashable, Sendable {
      case bytes([UInt8])
      case file(FileRequest, contentType: String?)
      /// A blob that `uid` uploaded, of at most `bytesMax` bytes.
      case blob(id: String, uid: UInt32, bytesMax: Int, contentType: String?)
      /// A blob after it was read.
      case upload(Upload)
    }
  }

  public struct Auth: Hashable, Sendable {
    public var scheme: HTTPRequest.Auth.Scheme
    public var file: FileRequest
  }

  public enum Body: Hashable, Sendable {
    case none
    case bytes([UInt8])
    case multipart([Part], boundary: String)
  }

  public var method: String
  public var address: WebAddress
  public var headers: [Header]
  public var body: Body
  /// The credentials: the content of the file goes into a header.
  public var auth: Auth?
  public var timeout: Duration
  public var bodyBytesMax: Int
  /// The permitted targets of redirects.
  public var permissions: BundlePermissions
}

/// The answer of an HTTP server.
public struct WebAnswer: Hashable, Sendable {
  /// The name and port of the server that has answered, after redirects; empty if it is unknown.
  public var server: String
  public var status: Int
  public var contentType: String
  public var etag: String?
  public var lastModified: String?
  public var body: [UInt8]

  public init(
    server: String = "", status: Int, contentType: String = "", etag: String? = nil,
    lastModified: String? = nil, body: [UInt8] = []
  ) {
    self.server = server
    self.status = status
    self.contentType = contentType
    self.etag = etag
    self.lastModified = lastModified
    self.body = body
  }
}

/// An output of a bundle: work for the adapters.
public enum Effect: Hashable, Sendable {
  /// Answered with `bytes` or `failed`.
  case readFile(RequestID, FileRequest)
  /// Answered with `value` or `failed`.
  case readFolder(RequestID, FolderRequest)
  /// Report `fileChanged` whenever the file or the folder's content may have changed or become
  /// readable or unreadable, until `cancel`. Report `unwatched` instead while changes can stay
  /// unnoticed, and `fileChanged` when that is over.
  case watchFile(RequestID, path: String, isFolder: Bool)
  /// Answered with `bytes` or `failed`; if continuous, with any number of `line` before `failed`.
  case run(RequestID, CommandRequest)
  /// Answered with `web` or `failed`, perhaps with some `progress` before.
  case web(RequestID, WebRequest)
  /// Answered with `sent` or `failed`.
  case patch(RequestID, WidgetID, WidgetPatch)
  case presence(RequestID, PresenceAction, [WidgetID])
  case send(RequestID, WidgetID, name: String, payload: ValueMap, force: Bool)
  /// Tells the other bundles which events led to the event that this bundle sends next. Nobody waits
  /// for an answer.
  case lead(BundleInstance.SentEvent, names: [String], from: UInt64)
  /// Takes back the last `lead` of an event with this name, because the event could not be sent.
  case unlead(name: String, names: [String], from: UInt64)
  /// Answered with `fetched` or `failed`.
  case fetchWidget(RequestID, WidgetID)
  /// Acknowledges this event and all before it. Nobody waits for an answer.
  case acknowledge(RequestID, Event)
  /// Answers a data request, because the widget's data is as fresh as possible. This effect has no
  /// answer.
  case answer(RequestID, WidgetID, WidgetPatch)
  /// Gives lines until the connection fails.
  case connect(RequestID, SocketRequest)
  /// Answered with `value` or `failed`.
  case tellSocket(RequestID, SocketCommand)
  /// A call is answered with `value` or `failed`. Other work gives `value`, `absent` and `present`
  /// until it fails.
  case bus(RequestID, BusRequest)
  /// Cancels a request. An answer may still come.
  case cancel(RequestID)
  /// Lines of a trace; `dropped` counts the lines that were left out. Nobody waits for an answer.
  case trace(RequestID, [TraceLine], dropped: Int)
  /// An error or a warning, for the log.
  case report(String)
  /// The host's progress, for the log.
  case note(String)
}

/// An input of a bundle: something that happened.
public enum BundleInput: Hashable, Sendable {
  /// All widgets of the bundle's kinds. Other widgets do not exist any more.
  case snapshot([Widget])
  /// A widget is new or has changed.
  case widget(Widget)
  /// All widgets that wait for their removal, because the file of a bundle lacks them.
  case waiting(Set<WidgetID>)
  /// All widgets that wait and whose time is over. Their removal begins. If a widget waits on after
  /// all, a later set lacks it.
  case ending(Set<WidgetID>)
  case removed(WidgetID)
  /// The session is open again, and the daemon requests the data of every widget again. In each
  /// epoch, the numbers of events begin at 1.
  case opened(epoch: UInt64, tellsAudience: Bool = false)
  /// The watched widgets: the first of a session has all of them, later ones are differences.
  case audience(attached: [WidgetID], detached: [WidgetID])
  /// An event of a widget. The daemon may send it again until it is acknowledged.
  case event(Event)
  /// The daemon asks for the current data of a widget. `isRefresh`: a caller has requested a new
  /// reading.
  case asked(WidgetID, isRefresh: Bool)
  /// The data request ends because its widget was removed. Another widget may have the id now.
  case unasked(WidgetID)
  case bytes(RequestID, [UInt8])
  case line(RequestID, [UInt8])
  case web(RequestID, WebAnswer)
  /// A result that needs no parsing.
  case value(RequestID, Value)
  /// The followed object does not exist now. The request continues.
  case absent(RequestID, Failure)
  /// The service whose signals are followed exists. The request continues.
  case present(RequestID)
  /// The progress of a request or its answer, 0 to 1.
  case progress(RequestID, Double)
  /// A change was made, at this revision of the widget; 0 if it has no revision.
  case sent(RequestID, Revision)
  /// An event was sent; the daemon gave it this sequence number.
  case emitted(RequestID, sequence: UInt64)
  /// Another bundle sends this event next, which follows from the events with these names.
  case led(BundleInstance.SentEvent, names: [String])
  /// The other bundle could not send the event with this name.
  case unled(name: String, names: [String])
  case fetched(RequestID, Widget)
  case fileChanged(RequestID)
  /// A watched file may have changed, and its next changes can stay unnoticed, for this reason.
  case unwatched(RequestID, Failure)
  case failed(RequestID, Failure)
  /// Time passed.
  case tick
}
