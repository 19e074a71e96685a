import Glibc
import Testing

@testable import WidgetSystemd

struct StandardErrorLogTests {
  /// The bytes that are written to a pipe, which stands for the journal or not.
  private func written(isJournal: Bool, _ body: (StandardErrorLog) -> Void) throws -> String {
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    var status = stat()
    try #require(fstat(ends[1], &status) == 0)
    let stream = "\(status.st_dev):\(status.st_ino + (isJournal ? 0 : 1))"
    body(
      StandardErrorLog(
        name: "widgetd-host", descriptor: ends[1], environment: .fake(["JOURNAL_STREAM": stream])))
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(ends[0], &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  @Test(arguments: [
    (StandardErrorLog.Priority.error, 3), (.warning, 4), (.notice, 5), (.info, 6), (.debug, 7),
  ])
  func `the journal gets the priority and not the name`(
    priority: StandardErrorLog.Priority, number: Int
  ) throws {
    #expect(
      try written(isJournal: true) { $0.write("lost it", priority) } == "<\(number)>lost it\n")
  }

  @Test func `outside the journal, lines have the name and no priority`() throws {
    #expect(
      try written(isJournal: false) { $0.write("lost it", .error) } == "widgetd-host: lost it\n")
  }

  @Test func `each line of a message begins with its priority`() throws {
    #expect(
      try written(isJournal: true) { $0.write("one\n\ntwo\r\nthree\n", .warning) }
        == "<4>one\n<4>two\n<4>three\n")
  }
}
