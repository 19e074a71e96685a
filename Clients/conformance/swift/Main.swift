import Dispatch
import Glibc

/// The drivers of the conformance suite for Swift: `widgetd-conformance SOCKET_PATH` is one over
/// `WidgetClient`, `widgetd-conformance --in-process …` one over `InProcessClient`, which hosts the
/// daemon itself. ../README.md has the protocol that they speak.
@main
enum Main {
  static func main() async {
    signal(SIGPIPE, SIG_IGN)
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      let client: any DrivenClient
      if arguments.first == "--in-process" {
        client = try await HostedDaemon(HostSettings(arguments: arguments.dropFirst()))
      } else if let path = arguments.first, arguments.count == 1, !path.hasPrefix("-") {
        client = SocketClient(path: path)
      } else {
        throw Misuse("usage: widgetd-conformance SOCKET_PATH | --in-process [SETTING...]")
      }
      try await Driver(client).run(commands())
      exit(0)
    } catch {
      Output.complain("\(error)")
      exit(2)
    }
  }

  /// The lines of standard input. Reading blocks, so it has a separate thread.
  private static func commands() -> AsyncStream<String> {
    AsyncStream { continuation in
      DispatchQueue(label: "commands").async {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}

/// A mistake of the runner, or of the user who started the driver.
struct Misuse: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
