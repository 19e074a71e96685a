import Glibc
import WidgetClient
public import WidgetModel
import WidgetProcess
import WidgetSystemd

/// A program that provides widgets:
///
///     @main struct Desk: Provider {
///       var widgets: Widgets { Clock(); Counter() }
///     }
///
/// The program needs no other code. It connects (`--socket PATH`, `$WIDGETD_SOCKET`, or the usual
/// places) and waits for the daemon. Then it registers the kinds, and serves their widgets until
/// SIGTERM, SIGINT or SIGHUP. A program with other options makes a `ProviderRunner`.
public protocol Provider {
  init()
  /// The provider's id. Default: from the type's name, `DeskProvider` as `desk-provider`.
  static var name: String { get }
  /// The kinds.
  @WidgetsBuilder var widgets: Widgets { get }
  /// Widgets that should exist while this program is registered. Missing widgets are created.
  /// Existing widgets keep people's changes. If the daemon refuses a widget for now, the program tries
  /// again. A wrong or forbidden widget is tried again only at the next connection.
  var instances: [WidgetSpec] { get }
}

extension Provider {
  public static var name: String { KindName(typeName: "\(Self.self)").rawValue }
  public var instances: [WidgetSpec] { [] }

  /// Runs the program. Exit status: 0 after SIGTERM, SIGINT or SIGHUP, 1 if the daemon refuses it, 2 for wrong
  /// arguments.
  public static func main() async {
    Signals.take(Signals.stopping)
    let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? name
    let errorLog = StandardErrorLog(name: program)
    let socket: String?
    switch Array(CommandLine.arguments.dropFirst()) {
    case []: socket = nil
    case ["--help"], ["-h"]:
      print(
        """
        usage: \(program) [--socket PATH]

        Provides widgets to widgetd until it is stopped. The socket is that of --socket, of
        $WIDGETD_SOCKET, or in the usual places.
        """)
      exit(0)
    case ["--socket", ""]:
      errorLog.write("--socket is empty; give it a value, or leave it out", .error)
      exit(2)
    case let words where words.count == 2 && words[0] == "--socket": socket = words[1]
    case let words:
      errorLog.write(
        "unknown arguments: \"\(words.joined(separator: " "))\"; try --help", .error)
      exit(2)
    }
    do {
      signal(SIGPIPE, SIG_IGN)
      let provider = Self()
      let client = WidgetClient(socketPath: try SocketPath.discover(explicit: socket))
      try await ProviderRunner(
        name: name, widgets: provider.widgets, instances: provider.instances, client: client,
        report: { errorLog.write($0, .warning) }, note: { errorLog.write($0, .info) }
      ).runUntilStopped()
    } catch {
      errorLog.write("\(error)", .error)
      exit(1)
    }
  }
}

extension WidgetSpec {
  /// A widget of a kind that is written in Swift.
  ///
  /// - Parameter id: 1 to 128 characters of an id's alphabet; another text is a mistake of the program.
  public init<W: ProvidedWidget>(
    _ id: String, of kind: W.Type, family: Family? = nil, labels: Labels = [:],
    _ configure: (inout W.Parameters) -> Void = { _ in }
  ) {
    guard let widgetID = WidgetID(id) else { preconditionFailure("\"\(id)\" is not a widget's id") }
    var parameters = W.Parameters()
    configure(&parameters)
    self.init(
      id: widgetID, kind: W.kind, family: family, labels: labels,
      parameters: parameters.difference(from: [:]).set)
  }
}
