import Testing

@testable import widgetctl

/// The store for a command that names none.
struct StoreFolderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var named: String?
    var environment: [String: String] = ["HOME": "/home/ann"]
    var stores: Set<String> = []
    var isNew = false
    /// nil for a failure.
    let found: String?
  }

  @Test(arguments: [
    Case(
      testDescription: "the one that is named", named: "/s", stores: ["/var/lib/widgetd"],
      found: "/s"),
    Case(
      testDescription: "the one that the daemon's variable names",
      environment: ["WIDGETD_STATE_DIRECTORY": "/s", "STATE_DIRECTORY": "/t"], found: "/s"),
    Case(
      testDescription: "the one that systemd names", environment: ["STATE_DIRECTORY": "/t"],
      found: "/t"),
    Case(
      testDescription: "the user's", stores: ["/home/ann/.local/state/widgetd"],
      found: "/home/ann/.local/state/widgetd"),
    Case(
      testDescription: "the user's elsewhere",
      environment: ["HOME": "/home/ann", "XDG_STATE_HOME": "/x"], stores: ["/x/widgetd"],
      found: "/x/widgetd"),
    Case(testDescription: "the system's", stores: ["/var/lib/widgetd"], found: "/var/lib/widgetd"),
    Case(
      testDescription: "two",
      stores: ["/var/lib/widgetd", "/home/ann/.local/state/widgetd"], isNew: true, found: nil),
    Case(testDescription: "none", found: nil),
    Case(
      testDescription: "none, to restore into", isNew: true,
      found: "/home/ann/.local/state/widgetd"),
    Case(testDescription: "no home", environment: [:], isNew: true, found: "/var/lib/widgetd"),
  ])
  func `the store is found only if there is one candidate`(example: Case) {
    let found = try? StoreFolder.find(
      named: example.named, isNew: example.isNew, environment: { example.environment[$0] },
      isStore: { example.stores.contains($0) })
    #expect(found == example.found)
  }

  @Test func `a backup says that a socket does not choose the store`() {
    let note = BackupCommand.note(on: "/var/lib/widgetd", named: nil, socket: "/tmp/w/socket")
    #expect(
      note == "the socket /tmp/w/socket does not choose the store; if its daemon has another "
        + "folder than /var/lib/widgetd, name that folder with --state-directory")
    #expect(BackupCommand.note(on: "/s", named: "/s", socket: "/tmp/w/socket") == nil)
    #expect(BackupCommand.note(on: "/s", named: nil, socket: nil) == nil)
    #expect(BackupCommand.note(on: "/s", named: nil, socket: "") == nil)
  }

  @Test func `a time becomes part of a file name`() {
    #expect(RestoreCommand.stamp(0) == "19700101-000000")
    #expect(RestoreCommand.stamp(1_769_865_307) == "20260131-131507")
  }

  @Test(arguments: [("/nope", "/b"), ("/b", nil), ("/proc/self/exe", nil)] as [(String, String?)])
  func `the check of a folder without a store names a store`(folder: String, other: String?) {
    #expect(
      DoctorCommand.otherStore(than: folder, ["/a", "/b", "/c"]) { ["/b", "/c"].contains($0) }
        == other)
  }
}
