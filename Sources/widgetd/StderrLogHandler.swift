import Glibc
import Logging
import WidgetModel
import WidgetSystemd

/// Logs to standard error, one line each: level, message, then the metadata sorted by key.
/// Characters that could act on a terminal are escaped.
///
/// If standard error leads to the journal, lines begin with the priority that journald reads.
struct StderrLogHandler: LogHandler {
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  private let label: String
  private let hasPriority = JournalSocket.isJournal(STDERR_FILENO)
  private let write: @Sendable (_ line: String) -> Void

  init(label: String, write: @escaping @Sendable (_ line: String) -> Void = writeError) {
    self.label = label
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var fields = metadata
    for (key, value) in event.metadata ?? [:] { fields[key] = value }
    var line = hasPriority ? "<\(event.level.priority)>" : "\(label): \(event.level): "
    line += "\(event.message)"
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
      line += " \(key)=\(StderrLogHandler.quoted("\(value)"))"
    }
    write(line.safeForTerminal)
  }

  /// The text, in quotes if it has spaces, with line breaks made visible.
  private static func quoted(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\"") }) else { return text }
    var result = "\""
    for character in text {
      switch character {
      case "\n": result += "\\n"
      case "\"": result += "\\\""
      default: result.append(character)
      }
    }
    return result + "\""
  }
}

extension Logger.Level {
  /// The priority of syslog(3).
  fileprivate var priority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
