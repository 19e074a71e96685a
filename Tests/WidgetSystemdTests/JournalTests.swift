import Glibc
import Testing

@testable import WidgetSystemd

@Suite struct JournalTests {
  private func name(_ text: String) throws -> JournalEntry.Name {
    try #require(JournalEntry.Name(text))
  }

  @Test func `an entry is a line for each field`() throws {
    var entry = JournalEntry()
    entry.append(.message, "hello = world")
    entry.append(.priority, "6")
    entry.append(try name("WIDGET_ID"), "")
    #expect(entry.fieldCount == 3)
    #expect(
      String(decoding: entry.bytes, as: UTF8.self)
        == "MESSAGE=hello = world\nPRIORITY=6\nWIDGET_ID=\n")
  }

  @Test func `a value with line breaks has its length in front`() throws {
    var entry = JournalEntry()
    entry.append(.message, "a\nPRIORITY=0")
    entry.append(.priority, "6")
    #expect(
      entry.bytes
        == Array("MESSAGE\n".utf8) + [12, 0, 0, 0, 0, 0, 0, 0]
        + Array("a\nPRIORITY=0\nPRIORITY=6\n".utf8))
  }

  @Test func `an entry refuses more than fieldsMax fields`() {
    var entry = JournalEntry()
    let taken = (0..<JournalEntry.fieldsMax).filter { _ in entry.append(.priority, "6") }
    #expect(taken.count == JournalEntry.fieldsMax)
    let bytes = entry.bytes
    let isTaken = entry.append(.priority, "6")
    #expect(!isTaken)
    #expect(entry.bytes == bytes)
  }

  @Test func `an entry refuses more than bytesMax bytes`() {
    let room = JournalEntry.bytesMax - "MESSAGE".utf8.count - 8 - 2
    var entry = JournalEntry()
    let isTooLongTaken = entry.append(.message, String(repeating: "a", count: room + 1))
    #expect(!isTooLongTaken)
    #expect(entry.bytes.isEmpty && entry.fieldCount == 0)
    let isLongestTaken = entry.append(.message, "\n" + String(repeating: "a", count: room - 1))
    #expect(isLongestTaken)
    #expect(entry.bytes.count == JournalEntry.bytesMax)
    let isAnotherTaken = entry.append(.priority, "")
    #expect(!isAnotherTaken)
  }

  @Test(
    arguments: [
      ("A", true), ("WIDGET_ID", true), ("X9_", true), (String(repeating: "A", count: 64), true),
      (String(repeating: "A", count: 65), false), ("", false), ("_PID", false), ("9A", false),
      ("a", false), ("A-B", false), ("A=B", false), ("A\nB", false), ("Ä", false), ("A\0", false),
    ])
  func `a name that the journal would refuse is refused`(text: String, isValid: Bool) {
    #expect((JournalEntry.Name(text) != nil) == isValid)
  }

  @Test(
    arguments: [
      ("revision", "REVISION"), ("widget_id", "WIDGET_ID"), ("needs restart", "NEEDS_RESTART"),
      ("a.b-c/d", "A_B_C_D"), ("code", "CODE"), ("ü", "P___"), ("", "P_"), ("_uid", "P__UID"),
      ("9lives", "P_9LIVES"), ("message", "P_MESSAGE"), ("Priority", "P_PRIORITY"),
      ("code_file", "P_CODE_FILE"), ("syslog_identifier", "P_SYSLOG_IDENTIFIER"),
      ("errno", "P_ERRNO"), ("object_pid", "P_OBJECT_PID"), ("unit", "P_UNIT"),
      ("a=b\nPRIORITY", "A_B_PRIORITY"),
      (String(repeating: "k", count: 100_000), String(repeating: "K", count: 64)),
      (String(repeating: "9", count: 100), "P_" + String(repeating: "9", count: 62)),
    ])
  func `a key with forbidden characters becomes a valid field name of the journal`(
    key: String, expected: String
  ) throws {
    let made = JournalEntry.Name(from: key, prefix: try name("P"))
    #expect(made.text == expected)
    #expect(JournalEntry.Name(made.text) == made)
  }

  @Test func `an entry arrives as one datagram`() throws {
    let receiver = try Receiver()
    let journal = try JournalSocket(path: receiver.address)
    var entry = JournalEntry()
    entry.append(.message, "hello")
    try journal.send(entry)
    let message = try #require(receiver.receive())
    #expect(message.bytes == entry.bytes)
    #expect(message.descriptors == [])
    #expect(journal.refusedCount == 0)
  }

  @Test func `a large entry arrives as a sealed memory file`() throws {
    let receiver = try Receiver()
    let journal = try JournalSocket(path: receiver.address)
    var entry = JournalEntry()
    // More than any send buffer here: the default is about 200 KiB.
    entry.append(.message, String(repeating: "a line\n", count: 500_000))
    try journal.send(entry)
    let message = try #require(receiver.receive())
    defer { for descriptor in message.descriptors { close(descriptor) } }
    #expect(message.bytes == [])
    #expect(message.descriptors.count == 1)
    let file = try #require(message.descriptors.first)
    #expect(Seals.of(file) == Seals.contents | Seals.further)
    #expect(try MemoryFile.bytes(of: file, bytesMax: JournalEntry.bytesMax) == entry.bytes)
    #expect(receiver.receive() == nil)
  }

  @Test func `a journal that does not read refuses entries, and they are counted`() throws {
    let receiver = try Receiver()
    let journal = try JournalSocket(path: receiver.address)
    var entry = JournalEntry()
    entry.append(.message, "hello")
    var sent = 0
    var failure: SystemdError?
    while failure == nil && sent < 1_000_000 {
      do {
        try journal.send(entry)
        sent += 1
      } catch { failure = error }
    }
    #expect(failure == .busy(operation: "Writing to the journal"))
    #expect(journal.refusedCount == 1)
    var received = 0
    while receiver.receive() != nil { received += 1 }
    #expect(received == sent)
    try journal.send(entry)
    #expect(journal.refusedCount == 1)
  }

  @Test func `a missing journal is an error, and works as soon as it exists`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.path + "/socket"
    let journal = try JournalSocket(path: path)
    var entry = JournalEntry()
    entry.append(.message, "hello")
    #expect(throws: SystemdError.system(operation: "Writing to the journal", errno: ENOENT)) {
      try journal.send(entry)
    }
    #expect(journal.refusedCount == 1)
    let receiver = try Receiver(address: path)
    try journal.send(entry)
    #expect(receiver.receive() != nil)
  }

  @Test func `an empty entry is not sent`() throws {
    let receiver = try Receiver()
    let journal = try JournalSocket(path: receiver.address)
    #expect(throws: SystemdError.self) { try journal.send(JournalEntry()) }
    #expect(receiver.receive() == nil)
  }

  @Test(arguments: ["", "relative", "@abstract", "/" + String(repeating: "a", count: 107)])
  func `a journal has an absolute path`(path: String) {
    #expect(throws: SystemdError.self) { try JournalSocket(path: path) }
  }

  @Test func `a descriptor is the journal if the variable names it`() throws {
    var status = stat()
    #expect(fstat(0, &status) == 0)
    let (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    func isJournal(_ text: String?, _ descriptor: CInt = 0) -> Bool {
      JournalSocket.isJournal(
        descriptor, environment: .fake(text.map { ["JOURNAL_STREAM": $0] } ?? [:]))
    }
    #expect(isJournal("\(device):\(inode)"))
    #expect(!isJournal("\(device):\(inode)", -1))
    #expect(!isJournal("\(device):\(inode)", CInt.max))
    #expect(!isJournal(nil))
    for text in [
      "", ":", "\(device)", "\(device):", ":\(inode)", "\(device):\(inode):",
      "\(device):\(inode + 1)",
      "\(device + 1):\(inode)", "\(device): \(inode)", "-1:\(inode)", "nonsense:nonsense",
      "\(device):99999999999999999999999999", String(repeating: "1:", count: 100_000),
    ] {
      #expect(!isJournal(text), "\(text.prefix(40))")
    }
  }
}
