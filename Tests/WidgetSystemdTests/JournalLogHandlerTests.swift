import Glibc
import Logging
import Synchronization
import Testing

@testable import WidgetSystemd
@testable import widgetd

/// The daemon's log in the form that journald receives.
@Suite struct JournalLogHandlerTests {
  private func pair() throws -> (Logger, Receiver) {
    let receiver = try Receiver()
    let handler = JournalLogHandler(
      label: "widgetd", journal: try JournalSocket(path: receiver.address))
    var logger = Logger(label: "widgetd", factory: { _ in handler })
    logger.logLevel = .trace
    return (logger, receiver)
  }

  /// The fields of the oldest entry that has no line breaks in it.
  private func fields(_ receiver: Receiver) throws -> [String: String] {
    let text = try #require(receiver.receiveText())
    return Dictionary(
      text.split(separator: "\n").map { line in
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
      }, uniquingKeysWith: { "\($0),\($1)" })
  }

  @Test func `an entry has the metadata in its text and in its fields`() throws {
    var (logger, receiver) = try pair()
    logger[metadataKey: "uid"] = "1000"
    logger.warning(
      "too many widgets", metadata: ["limit": "widgets_max", "note": "two words"],
      file: "a/B.swift",
      function: "f(_:)", line: 12)
    #expect(
      try fields(receiver) == [
        "MESSAGE": "too many widgets limit=widgets_max note=\"two words\" uid=1000",
        "PRIORITY": "4", "SYSLOG_IDENTIFIER": "widgetd", "CODE_FILE": "a/B.swift",
        "CODE_LINE": "12", "CODE_FUNC": "f(_:)", "PEER_UID": "1000", "LIMIT": "widgets_max",
        "NOTE": "two words",
      ])
  }

  @Test(
    arguments: [
      ("uid", "PEER_UID"), ("pid", "PEER_PID"), ("widget", "WIDGET_ID"), ("widget_id", "WIDGET_ID"),
      ("method", "METHOD"), ("code", "CODE"), ("revision", "REVISION"), ("error", "ERROR"),
      ("message", "WIDGETD_MESSAGE"), ("priority", "WIDGETD_PRIORITY"), ("_pid", "WIDGETD__PID"),
      ("code_line", "WIDGETD_CODE_LINE"), ("2nd", "WIDGETD_2ND"), ("a-b", "A_B"),
      ("lost_entries", "WIDGETD_LOST_ENTRIES"),
    ])
  func `a key of metadata becomes a valid field name`(key: String, field: String) {
    #expect(JournalLogHandler.fieldName(key).text == field)
  }

  @Test(
    arguments: [
      (.trace, "7"), (.debug, "7"), (.info, "6"), (.notice, "5"), (.warning, "4"), (.error, "3"),
      (.critical, "2"),
    ] as [(Logger.Level, String)])
  func `each log level has its priority in the journal`(level: Logger.Level, priority: String)
    throws
  {
    let (logger, receiver) = try pair()
    logger.log(level: level, "x")
    #expect(try fields(receiver)["PRIORITY"] == priority)
  }

  @Test func `metadata of the call comes before that of the logger`() throws {
    var (logger, receiver) = try pair()
    logger[metadataKey: "widget"] = "cpu"
    logger.info("x", metadata: ["widget": "memory"])
    #expect(try fields(receiver)["WIDGET_ID"] == "memory")
  }

  @Test func `entries below the log level are dropped, and metadata can be read back`() throws {
    var (logger, receiver) = try pair()
    logger.logLevel = .error
    logger.warning("not this")
    #expect(receiver.receive() == nil)
    logger[metadataKey: "widget"] = "cpu"
    #expect(logger[metadataKey: "widget"] == "cpu")
  }

  @Test func `a line break in a message or in metadata cannot begin a field of the journal`() throws
  {
    let (logger, receiver) = try pair()
    logger.info("a\nPRIORITY=0", metadata: ["note": "b\nPRIORITY=1"])
    let text = try #require(receiver.receiveText())
    // The message is unchanged, with its length in front. Metadata in it stays on one line.
    #expect(text.hasPrefix("MESSAGE\n"))
    #expect(text.contains("a\nPRIORITY=0 note=\"b\\nPRIORITY=1\"\nPRIORITY=6\n"))
    #expect(text.contains("NOTE\n\u{C}\0\0\0\0\0\0\0b\nPRIORITY=1\n"))
  }

  @Test func `control characters are escaped in the message and kept in the fields`() throws {
    let (logger, receiver) = try pair()
    logger.info("a\u{1B}[2Jb", metadata: ["note": "\u{202E}c"])
    let entry = try fields(receiver)
    #expect(entry["MESSAGE"] == "a\\u{1b}[2Jb note=\\u{202e}c")
    #expect(entry["NOTE"] == "\u{202E}c")
  }

  @Test func `a line on standard error cannot act on a terminal`() {
    let lines = Mutex<[String]>([])
    let handler = StderrLogHandler(label: "widgetd") { line in lines.withLock { $0.append(line) } }
    let logger = Logger(label: "widgetd", factory: { _ in handler })
    logger.info("a\u{1B}]0;t\u{7}\nwidgetd: error: b", metadata: ["\u{9B}1m": "\u{202E}c d"])
    #expect(
      lines.withLock { $0 } == [
        "widgetd: info: a\\u{1b}]0;t\\u{7}\\u{a}widgetd: error: b \\u{9b}1m=\"\\u{202e}c d\""
      ])
  }

  @Test func `long texts are cut`() throws {
    let (logger, receiver) = try pair()
    let long = String(repeating: "ü", count: 100_000)
    logger.info("\(long)", metadata: ["note": .string(long)])
    let entry = try fields(receiver)
    let message = try #require(entry["MESSAGE"])
    let note = try #require(entry["NOTE"])
    #expect(note.hasSuffix("ü...") && message.hasSuffix("ü..."))
    let messageRange = (JournalLogHandler.messageBytesMax - 1)...JournalLogHandler.messageBytesMax
    #expect(messageRange.contains(message.utf8.count))
    let noteRange = (JournalLogHandler.valueBytesMax - 1)...JournalLogHandler.valueBytesMax
    #expect(noteRange.contains(note.utf8.count))
  }

  @Test func `the next entry after lost ones reports their number`() throws {
    let receiver = try Receiver()
    let journal = try JournalSocket(path: receiver.address)
    let handler = JournalLogHandler(label: "widgetd", journal: journal)
    let logger = Logger(label: "widgetd", factory: { _ in handler })
    var sent = 0
    while journal.refusedCount == 0 && sent < 1_000_000 {
      logger.info("x")
      sent += 1
    }
    logger.info("lost too")
    #expect(journal.refusedCount == 2)
    while receiver.receive() != nil {}
    logger.info("seen")
    logger.info("after")
    let seen = try fields(receiver)
    #expect(seen["MESSAGE"] == "seen lost_entries=2")
    #expect(seen["WIDGETD_LOST_ENTRIES"] == "2")
    let after = try fields(receiver)
    #expect(after["MESSAGE"] == "after")
    #expect(after["WIDGETD_LOST_ENTRIES"] == nil)
  }

  @Test func `the log goes to the journal only if standard error is connected to it`() {
    var status = stat()
    #expect(fstat(STDERR_FILENO, &status) == 0)
    func handler(_ stream: String) -> any LogHandler {
      makeLogHandler(label: "widgetd", environment: .fake(["JOURNAL_STREAM": stream]))
    }
    #expect(handler("\(status.st_dev):\(status.st_ino)") is JournalLogHandler)
    #expect(handler("\(status.st_dev):\(status.st_ino + 1)") is StderrLogHandler)
    #expect(handler("") is StderrLogHandler)
  }
}
