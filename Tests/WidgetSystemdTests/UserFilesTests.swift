import Glibc
import Logging
import Testing
import WidgetServer

@testable import WidgetSystemd
@testable import widgetd

/// The ranges of uids, from files to users.
@Suite struct `The files of users` {
  private let folder: TemporaryFolder
  private let files: UserFiles
  private let receiver: Receiver
  private let logger: Logger

  init() throws {
    folder = try TemporaryFolder()
    files = UserFiles(subuid: folder.path + "/file", passwd: folder.path + "/other")
    receiver = try Receiver()
    let handler = JournalLogHandler(
      label: "widgetd", journal: try JournalSocket(path: receiver.address))
    logger = Logger(label: "widgetd", factory: { _ in handler })
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "we"))
    fputs(text, file)
    fclose(file)
  }

  @Test func `names are those of the accounts, and accounts are not subordinate`() throws {
    try write(
      "ann:x:1500:1500::/home/ann:/bin/sh\nann:x:1:1:::\nbob:x:100001:1:::\n", to: files.passwd)
    try write("ann:100000:10\nroot:200000:10\n", to: files.subuid)
    let uids = files.subordinateUIDs(warning: logger)
    #expect(uids.user(of: 100_000) == 1_500 && uids.user(of: 100_009) == 1_500)
    #expect(uids.user(of: 100_001) == nil)
    // The system has this user.
    #expect(uids.user(of: 200_000) == 0)
    #expect(receiver.receiveText() == nil)
  }

  @Test func `a missing file of ranges is no error`() {
    #expect(files.subordinateUIDs(warning: logger) == SubordinateUIDs())
    #expect(receiver.receiveText() == nil)
  }

  @Test func `invalid lines are one warning with the file and the first line`() throws {
    try write("# ranges\nann\n1500:100000:10\n:::\n", to: files.subuid)
    let uids = files.subordinateUIDs(warning: logger)
    #expect(uids.user(of: 100_000) == 1_500)
    let warning = try #require(receiver.receiveText())
    #expect(warning.contains("MESSAGE=\(files.subuid):2: not NAME:START:COUNT"))
    #expect(warning.contains("INVALID_LINES=2"))
    #expect(receiver.receiveText() == nil)
  }

  @Test func `an unreadable file of ranges is a warning`() throws {
    // A folder can be opened, and not read.
    let unreadable = UserFiles(subuid: folder.path, passwd: files.passwd)
    #expect(unreadable.subordinateUIDs(warning: logger) == SubordinateUIDs())
    let warning = try #require(receiver.receiveText())
    #expect(warning.contains("cannot read \(folder.path): "))
  }
}
