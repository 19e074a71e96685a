import Glibc
import Logging
import Synchronization
import WidgetModel
import WidgetSystemd

/// Logs to the journal as structured entries, so that `journalctl WIDGET_ID=cpu` or `PEER_UID=1000`
/// finds the entries of a widget or a user.
///
/// | field | value |
/// | --- | --- |
/// | `MESSAGE` | the message, then the metadata as `key=value`, sorted by key |
/// | `PRIORITY` | 7 for trace and debug, 6 info, 5 notice, 4 warning, 3 error, 2 critical |
/// | `SYSLOG_IDENTIFIER` | the logger's label |
/// | `CODE_FILE`, `CODE_LINE`, `CODE_FUNC` | the place of the log call in the code |
/// | `PEER_UID`, `PEER_PID` | the metadata `uid` and `pid`: the client, not the daemon |
/// | `WIDGET_ID` | the metadata `widget` and `widget_id` |
/// | `METHOD`, `CODE`, `REVISION`, ... | any other metadata, its key in capitals; `WIDGETD_` in
/// front where the name has another meaning |
/// | `WIDGETD_LOST_ENTRIES` | the number of lost entries before this one |
///
/// Logging never waits. While journald does not read, entries are lost, and the next entry has
/// their number. If journald cannot be reached at all, lines go to standard error.
///
/// `MESSAGE` is for terminals: characters that could act on one are escaped. The other fields are
/// for programs.
struct JournalLogHandler: LogHandler {
  var logLevel: Logger.Level {
    get { fallback.logLevel }
    set { fallback.logLevel = newValue }
  }
  var metadata: Logger.Metadata {
    get { fallback.metadata }
    set { fallback.metadata = newValue }
  }
  private let label: String
  private let journal: JournalSocket
  private let losses = Losses()
  private var fallback: StderrLogHandler

  /// The maximum size of a field with metadata, and of the message with all metadata, in bytes.
  static let valueBytesMax = 16 << 10
  static let messageBytesMax = 48 << 10

  init(label: String, journal: JournalSocket) {
    self.label = label
    self.journal = journal
    fallback = StderrLogHandler(label: label)
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { fallback[metadataKey: key] }
    set { fallback[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    let lost = losses.take()
    do {
      try journal.send(entry(event, lost: lost))
    } catch .busy {
      losses.add(lost + 1)
    } catch {
      losses.add(lost)
      fallback.log(event: event)
    }
  }

  /// The journal's entry for an event.
  private func entry(_ event: LogEvent, lost: Int) -> JournalEntry {
    var fields = metadata.merging(event.metadata ?? [:]) { $1 }.map {
      (key: $0.key, value: clipped("\($0.value)", to: JournalLogHandler.valueBytesMax))
    }
    if let error = event.error {
      fields.append(("error", clipped("\(error)", to: JournalLogHandler.valueBytesMax)))
    }
    if lost > 0 { fields.append((JournalLogHandler.lostKey, "\(lost)")) }
    fields.sort { $0.key < $1.key }

    var message = "\(event.message)"
    for (key, value) in fields { message += " \(key)=\(quoted(value))" }

    // Fields beyond an entry's limit are left out, so the most important fields come first.
    var entry = JournalEntry()
    entry.append(
      .message, clipped(message.safeLines, to: JournalLogHandler.messageBytesMax))
    entry.append(.priority, "\(event.level.syslogPriority)")
    entry.append(.syslogIdentifier, label)
    entry.append(.codeFile, event.file)
    entry.append(.codeLine, "\(event.line)")
    entry.append(.codeFunction, event.function)
    for (key, value) in fields { entry.append(JournalLogHandler.fieldName(key), value) }
    return entry
  }

  private static let lostKey = "lost_entries"
  private static let prefix = JournalEntry.Name("WIDGETD") ?? .message

  /// The field for a key of metadata.
  static func fieldName(_ key: String) -> JournalEntry.Name {
    switch key {
    case "uid": JournalEntry.Name(from: "peer_uid", prefix: prefix)
    case "pid": JournalEntry.Name(from: "peer_pid", prefix: prefix)
    case "widget": JournalEntry.Name(from: "widget_id", prefix: prefix)
    case lostKey: JournalEntry.Name(from: "widgetd_lost_entries", prefix: prefix)
    default: JournalEntry.Name(from: key, prefix: prefix)
    }
  }

  /// The number of lost entries that no later entry has reported. All copies of a handler share it.
  private final class Losses: Sendable {
    private let count = Atomic<Int>(0)

    func take() -> Int { count.exchange(0, ordering: .relaxed) }
    func add(_ more: Int) { if more > 0 { count.wrappingAdd(more, ordering: .relaxed) } }
  }
}

/// The log handler of the daemon: the journal if standard error leads there, else standard error.
func makeLogHandler(
  label: String, environment: ProcessEnvironment = .process
) -> any LogHandler {
  guard JournalSocket.isJournal(STDERR_FILENO, environment: environment),
    let journal = try? JournalSocket()
  else { return StderrLogHandler(label: label) }
  return JournalLogHandler(label: label, journal: journal)
}

extension Logger.Level {
  /// The priority of syslog(3).
  var syslogPriority: Int {
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

/// The text, in quotes if it has spaces or is empty, with line breaks and quotes made visible.
private func quoted(_ text: String) -> String {
  let needsQuotes = text.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") }
  guard needsQuotes || text.isEmpty else { return text }
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\"": result += "\\\""
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}

/// The beginning of a text, with dots for the rest. The cut is not inside a character's encoding.
private func clipped(_ text: String, to bytesMax: Int) -> String {
  guard text.utf8.count > bytesMax else { return text }
  let dots = "..."
  // The end of a slice is rounded down to the start of an encoding.
  return text[..<text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax - dots.utf8.count)] + dots
}
