import Glibc
import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct DoctorTests {
  /// One fault, and the expected finding and command.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var check: String
    var grade: Finding.Grade
    var words: String
    var mend: String?
    var facts: Facts

    init(
      _ name: String, _ check: String, _ grade: Finding.Grade, _ words: String, _ mend: String?,
      _ change: (inout Facts) -> Void
    ) {
      testDescription = name
      (self.check, self.grade, self.words, self.mend) = (check, grade, words, mend)
      facts = Facts.sound.with(change)
    }
  }

  /// The path is one byte too long for a socket.
  static let long = "/" + String(repeating: "l", count: 103)

  static func stats(_ version: String = "1.0.0", _ errors: [RecentError] = []) -> GetStatsResponse {
    GetStatsResponse(version: version, recentErrors: errors)
  }

  static let cases = missingCases + socketCases + daemonCases

  @Test(arguments: cases)
  func `doctor has a finding and a command for each fault`(_ expected: Case) throws {
    let finding = try #require(expected.facts.finding(expected.check))
    #expect(finding.grade == expected.grade)
    #expect(finding.found.contains(expected.words), "\(finding.found)")
    #expect(finding.mend == expected.mend)
  }

  @Test(arguments: cases)
  func `a failed or doubtful check has a command, and a passed check has none`(_ expected: Case) {
    for finding in expected.facts.findings {
      #expect((finding.mend == nil) == (finding.grade == .ok), "\(finding)")
      #expect(!finding.found.hasSuffix("."))
    }
  }

  @Test(arguments: cases)
  func `no finding advises to kill systemd or process 1`(_ expected: Case) {
    for pid: Int32 in [1, 700] {
      let facts = expected.facts.with {
        $0.listener = Facts.Listener(pid: pid, uid: 1000, name: "systemd")
      }
      for finding in facts.findings {
        #expect(finding.mend?.contains("kill ") != true, "\(finding)")
      }
    }
  }

  /// The command repeats the `--socket` of the command line, or names another socket, but always
  /// names one.
  @Test(arguments: cases)
  func `each command of doctor repeats the socket of the flag`(_ expected: Case) {
    let facts = expected.facts.with {
      let old = $0.choice
      $0.choice = SocketChoice(path: old.path, why: .flag, user: old.user, system: old.system)
    }
    for mend in facts.findings.compactMap(\.mend) {
      for command in mend.split(separator: ";") {
        let words = command.split(separator: " ")
        let program = words.first { $0 != "sudo" }
        guard words.contains("widgetctl") || program == "widgetd" else { continue }
        #expect(words.contains("--socket"), "\(mend)")
      }
    }
  }

  @Test(arguments: [
    (BundleHost.running(folders: ["/a"]), "widgetd-host runs /a", Finding.Grade.ok),
    (.missing(), "none in /b, and no widgetd-host runs", .ok),
    (.running(folders: ["/a"], stub: true), "widgetd-host runs /a with --stub", .warn),
    (.returning(folders: ["/a"]), BundleHost.waiting, .warn),
    (
      .running(folders: ["/a"], problem: "/a does not exist"),
      "widgetd-host: /a does not exist", .warn
    ),
  ])
  func `the host has a line, also without bundles in the usual folder`(
    host: BundleHost, found: String, grade: Finding.Grade
  ) {
    let facts = Facts.sound.with { $0.bundles = .init(folder: "/b", count: 0, host: host) }
    #expect(facts.finding("bundles")?.grade == grade)
    #expect(facts.finding("bundles")?.found.hasPrefix(found) == true)
  }

  @Test(arguments: [0, 1])
  func `each problem of the running host is named, wherever bundles are installed`(count: Int) {
    let missing = "/a does not exist; make it a folder that widgetd-host can read"
    let facts = Facts.sound.with {
      $0.bundles = .init(
        folder: "/b", count: count,
        host: .running(
          folders: ["/a", "/c"], stub: true, problem: missing + "\n/c is not a folder"),
        failed: ["desk"])
    }
    let finding = facts.finding("bundles")
    #expect(finding?.grade == .warn)
    let found = finding?.found ?? ""
    #expect(found.contains("widgetd-host: \(missing); widgetd-host: /c is not a folder; "))
    #expect(found.contains("widgetd-host runs /a, /c with --stub: "))
    #expect(found.hasSuffix("; a bundle has failed: desk"))
    #expect(found.contains("no host runs the folder /b") == (count > 0))
  }

  @Test(arguments: [
    (true, true, "widgetd-host has not removed bundle desk; its log has the reason", "journalctl"),
    (true, false, "no host has carried out the removal of bundle desk", "widgetd-host"),
    (false, true, "but widgetd-host has not deleted this file", "rm /b/.removed-desk"),
    (false, false, "so nobody needs this file", "rm /b/.removed-desk"),
  ])
  func `the mark of a removal that stays is named, with the next step`(
    isKnown: Bool, isRun: Bool, words: String, mend: String
  ) {
    let facts = Facts.sound.with {
      $0.bundles = .init(
        folder: "/b", count: 0, host: isRun ? .running(folders: ["/b"]) : .missing(former: ["/b"]))
      $0.bundles?.marks = [
        .init(path: "/b/.removed-desk", bundle: "desk", isRun: isRun, isKnown: isKnown)
      ]
    }
    #expect(Facts.sound.finding("removals") == nil)
    let finding = facts.finding("removals")
    #expect(finding?.grade == .warn)
    #expect(finding?.found.hasPrefix("/b/.removed-desk: ") == true)
    #expect(finding?.found.hasSuffix(words) == true && finding?.mend?.contains(mend) == true)
  }

  @Test func `a mark in a folder of another user is removed as root`() {
    let facts = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 0, host: .running(folders: ["/b"]))
      $0.bundles?.marks = [
        .init(
          path: "/b/.removed-desk", bundle: "desk", isRun: true, isKnown: false, isRemovable: false)
      ]
    }
    #expect(facts.finding("removals")?.mend == "sudo rm /b/.removed-desk")
  }

  @Test func `root starts the daemon of another user as that user`() {
    let facts = Facts.sound.with {
      $0.user = .init(uid: 0, name: "root")
      $0.choice = .named("/a b", .variable)
      $0.file = .missing
      $0.connection = .notTried
      $0.daemonWithoutFile = Facts.Listener(pid: 7, uid: 7, name: "widgetd", owner: "bob")
    }
    #expect(
      facts.finding("file")?.mend
        == "kill -TERM 7; timeout 90 tail --pid=7 -f /dev/null; su -s /bin/sh -c "
        + #"'widgetd --socket '\''/a b'\''' bob  "#
        + "# with the same --state-directory as before, if it had one")
  }

  @Test(arguments: ["", "7"], [0, 1000] as [UInt32])
  func `a daemon of a user without an entry is shown, and not ended`(name: String, uid: UInt32) {
    let facts = Facts.sound.with {
      $0.user = .init(uid: uid, name: uid == 0 ? "root" : "ann")
      $0.choice = .named("/x", .variable)
      $0.file = .missing
      $0.connection = .notTried
      $0.daemonWithoutFile = Facts.Listener(pid: 9, uid: 7, name: "widgetd", owner: name)
    }
    #expect(
      facts.finding("file")?.mend
        == "ps -ww -o uid=,gid=,args= -p 9; \(uid == 0 ? "" : "sudo ")ls -l /proc/9/fd  "
        + "# then end it, and start it with this user, group and store")
  }

  @Test(arguments: [0, 1000] as [UInt32])
  func `a daemon is started for a user without an entry by the number`(uid: UInt32) {
    let facts = Facts.sound.with {
      $0.user = .init(uid: uid, name: uid == 0 ? "root" : "ann")
      $0.choice = .named("/x", .variable)
      $0.file = .socket(
        Facts.Ownership(mode: 0o660, uid: 7, owner: "7", group: "users", membership: .inSession))
      $0.connection = .failed(.refused)
    }
    #expect(
      Remedies(facts).byHand
        == "\(uid == 0 ? "" : "sudo ")setpriv --reuid=7 --regid=7 --clear-groups "
        + "widgetd --socket /x  # with its --state-directory, and its group as --regid")
  }

  @Test(arguments: [0, 2])
  func `bundles that have failed, and those that are failing, are named`(count: Int) {
    let facts = Facts.sound.with {
      $0.bundles = .init(
        folder: "/b", count: count, host: .running(folders: ["/b"]), failed: ["desk", "mail"],
        failing: ["clock"])
    }
    #expect(facts.finding("bundles")?.grade == .warn)
    #expect(
      facts.finding("bundles")?.found
        == "widgetd-host runs /b; 2 bundles have failed: desk, mail; a bundle is failing: clock")
    #expect(facts.finding("bundles")?.mend?.contains("bundle ls --remote") == true)
  }

  @Test func `bundles that are not in a folder of the host are stopped, and have not failed`() {
    let facts = Facts.sound.with {
      $0.bundles = .init(
        folder: "/b", count: 1, host: .running(folders: ["/b"]), stopped: ["desk"])
    }
    #expect(
      facts.finding("bundles")?.found
        == "widgetd-host runs /b; stopped: not in a folder of this host: desk")
    #expect(facts.finding("bundles")?.mend?.contains("bundle ls --remote") == true)
  }

  @Test(arguments: [
    ([], 0, "--bundles /b"), (["/x"], 0, "--bundles /x"), (["/x"], 1, "--bundles /x --bundles /b"),
    (["/x y", "/b"], 1, "--bundles '/x y' --bundles /b"),
  ])
  func `the command for a missing host names the folders that it ran`(
    former: [String], count: Int, ending: String
  ) {
    let facts = Facts.sound.with {
      let old = $0.choice
      $0.choice = SocketChoice(path: "/tmp/s", why: .flag, user: old.user, system: old.system)
      $0.bundles = .init(folder: "/b", count: count, host: .missing(former: former), declared: 1)
    }
    #expect(facts.finding("bundles")?.mend == "widgetd-host --socket /tmp/s \(ending)")
  }

  @Test func `bundles in a folder that no host runs are reported`() {
    let elsewhere = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/a"]))
    }
    #expect(elsewhere.finding("bundles")?.grade == .warn)
    #expect(elsewhere.finding("bundles")?.found.contains("runs /a") == true)
    let missing = Facts.sound.with { $0.bundles = .init(folder: "/b", count: 2, host: .missing()) }
    #expect(missing.finding("bundles")?.grade == .warn)
    let former = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 0, host: .missing(), declared: 2)
    }
    #expect(former.finding("bundles")?.grade == .warn)
    #expect(former.finding("bundles")?.found.contains("2 bundles of a former one") == true)
    #expect(former.finding("bundles")?.mend != nil)
    let live = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/a", "/b"]))
    }
    #expect(live.finding("bundles") == .ok("bundles", "widgetd-host runs /a, /b"))
    let stub = Facts.sound.with {
      $0.bundles = .init(folder: "/b", count: 2, host: .running(folders: ["/b"], stub: true))
    }
    #expect(stub.finding("bundles")?.grade == .warn)
    #expect(stub.finding("bundles")?.found.contains("with --stub") == true)
    #expect(Facts.sound.finding("bundles") == nil)
  }

  @Test func `the path to a socket is followed through links to the closed folder`() throws {
    let root = try #require(mkdtemp(strdup("/tmp/widgetd-test-XXXXXX")).map { String(cString: $0) })
    defer { _ = BoundedCommand.run(["rm", "-rf", root], within: .seconds(60)) }
    for name in ["open", "open/inner"] { #expect(mkdir("\(root)/\(name)", 0o755) == 0) }
    #expect(symlink("open/inner/../inner", "\(root)/relative") == 0)
    #expect(symlink("\(root)/relative/s", "\(root)/s") == 0)
    #expect(symlink("loop", "\(root)/loop") == 0)
    let folders = Facts.folders(to: "\(root)/s")
    #expect(
      folders.map(\.path) == ["/", "/tmp", root, "\(root)/open", "\(root)/open/inner"])
    #expect(
      folders.last?.link == Facts.Link(path: "\(root)/relative", target: "open/inner/../inner"))
    #expect(folders.dropLast(2).allSatisfy { $0.link == nil })
    #expect(Facts.folders(to: "\(root)/loop/s").map(\.path) == ["/", "/tmp", root])
    #expect(Facts.folders(to: "\(root)/none/s").map(\.path) == ["/", "/tmp", root])
  }

  @Test(arguments: cases)
  func `commands for root have no sudo`(_ expected: Case) {
    // The kernel gives root access, so these two cases do not exist for root.
    let others = ["permission", "level"]
    let facts = expected.facts.with { $0.user = .init(uid: 0, name: "root") }
    for finding in facts.findings where !others.contains(finding.check) {
      #expect(finding.mend?.contains("sudo ") != true, "\(finding)")
      #expect(!finding.found.contains("sudo "), "\(finding)")
    }
  }

  @Test func `on a healthy system every check passes`() {
    #expect(
      Facts.sound.findings.map(\.check)
        == ["socket", "file", "unit", "permission", "connect", "health", "level"])
    #expect(Facts.sound.findings.allSatisfy { $0.grade == .ok })
    let owner = Facts.sound.with {
      $0.connection = .answered(
        Facts.Answers(health: .serving, level: .owner, stats: Self.stats()))
    }
    #expect(owner.findings.map(\.check).suffix(2) == ["version", "errors"])
  }

  @Test func `checks that a failure makes impossible are left out`() {
    let facts = Facts.sound.with {
      $0.file = .missing
      $0.isWritable = false
      $0.connection = .notTried
    }
    #expect(facts.findings.map(\.check) == ["socket", "file", "unit"])
  }

  @Test func `a command is printed below the check that it repairs`() {
    let findings: [Finding] = [
      .ok("file", "a socket"), .fail("connect", "nobody listens", mend: "start it"),
    ]
    #expect(
      DoctorCommand.text(findings, Samples.plain) == """
        ok    file     a socket
        FAIL  connect  nobody listens
                       -> start it

        """)
    #expect(
      JSONWriter.compact(DoctorCommand.document(findings))
        == #"{"checks":[{"check":"file","found":"a socket","grade":"ok"},{"check":"connect","#
        + #""found":"nobody listens","grade":"fail","mend":"start it"}],"ok":false}"#)
  }

  @Test(
    arguments: [
      ("/f", "/v", true, "/f", .flag), (nil, "unix:/v", true, "/v", .variable),
      (nil, nil, true, "/r/widgetd/widgetd.sock", .user),
      (nil, nil, false, SocketPath.ofSystem, .nowhere),
    ] as [(String?, String?, Bool, String, SocketChoice.Why)])
  func `the doctor chooses the same socket as every client, and names the reason`(
    _ flag: String?, _ variable: String?, exists: Bool, path: String, why: SocketChoice.Why
  ) {
    let choice = SocketChoice(
      explicit: flag, uid: 1000,
      environment: { ["WIDGETD_SOCKET": variable, "XDG_RUNTIME_DIR": "/r"][$0] ?? nil },
      exists: { _ in exists })
    #expect(choice.path == path)
    #expect(choice.why == why)
  }

  @Test func `the socket of a user's own daemon is ignored only without a runtime directory`() {
    let usual = "/run/user/1000/widgetd/widgetd.sock"
    func choice(_ environment: [String: String], _ files: Set<String>) -> SocketChoice {
      SocketChoice(
        explicit: nil, uid: 1000, environment: { environment[$0] }, exists: files.contains)
    }
    #expect(choice([:], [usual]).overlooked == usual)
    #expect(choice([:], []).overlooked == nil)
    #expect(choice([:], ["/run/user/1000"]).hasUnnamedRuntime && !choice([:], []).hasUnnamedRuntime)
    #expect(choice(["XDG_RUNTIME_DIR": "/run/user/1000"], [usual]).overlooked == nil)
    #expect(choice(["XDG_RUNTIME_DIR": "/run/user/1000"], [usual]).why == .user)
  }

  @Test(
    arguments: [
      ("42 (widgetd) S 1 42", "widgetd", false), ("42 (widgetd) T 1 42", "widgetd", true),
      ("42 (a) b (c) t 1", "a) b (c", true), ("", nil, false), ("42 )x( S", nil, false),
      ("42 (x)", "x", false), ("42 (widgetd) Z 1 42", nil, false), ("42 (Z) X 1 42", nil, false),
    ] as [(String, String?, Bool)])
  func `a process's state is read`(_ line: String, name: String?, isStopped: Bool) {
    let listener = Facts.listener(pid: 42, uid: 7, stat: line)
    #expect(listener?.name == name)
    #expect(listener?.isStopped == (name == nil ? nil : isStopped))
  }

  @Test(
    arguments: [
      ("Limit   Soft Limit\nMax open files            64      128     files     \n", 64, 64),
      ("Max open files            524288  524288  files", 524_288, nil),
      ("Max open files            unlimited unlimited files", nil, nil),
      ("Max open files", nil, nil), ("Max file locks 64", nil, nil), ("", nil, nil),
    ] as [(String, Int?, Int?)])
  func `a process's limit of open files is read`(_ limits: String, max: Int?, few: Int?) {
    let found = Facts.filesMax(limits: limits)
    #expect(found == max)
    #expect(Facts.Listener(pid: 42, uid: 7, name: "widgetd", filesMax: found).fewFiles == few)
  }

  @Test func `a socket that is not the usual one is named to the doctor`() {
    #expect(Doctor.command(forSocket: "/s", usual: "/s") == "widgetctl doctor")
    #expect(Doctor.command(forSocket: "/a b", usual: "/s") == "widgetctl doctor --socket '/a b'")
    #expect(Doctor.command(forSocket: SocketPath.ofSystem, usual: nil) == "widgetctl doctor")
  }

  @Test func `the output of systemctl show is parsed`() {
    let output = """
      Id=widgetd.socket
      LoadState=loaded
      ActiveState=failed
      Result=start-limit-hit

      Id=widgetd.service
      LoadState=not-found
      ActiveState=inactive
      MainPID=0

      Id=widgetd-other.service
      MainPID=42
      UnitFileState=enabled-runtime
      """
    #expect(
      Facts.units(in: output) == [
        Facts.Unit(
          name: "widgetd.socket", load: "loaded", active: "failed", result: "start-limit-hit"),
        Facts.Unit(name: "widgetd.service", load: "not-found", active: "inactive", result: ""),
        Facts.Unit(
          name: "widgetd-other.service", load: "", active: "", result: "", mainPID: 42,
          isEnabled: true),
      ])
    #expect(Facts.units(in: "garbage\n\n=\n").isEmpty)
  }

  @Test func `services that start with the socket are providers, except the daemon`() {
    let output = "Wants=b.service widgetd.service\nRequiredBy=a.service b.service x.target\n"
    #expect(Facts.providerNames(in: output) == ["a.service", "b.service"])
    #expect(Facts.providerNames(in: "Wants=\ngarbage\n").isEmpty)
    let many = (0...Facts.providersMax).map { "\($0).service" }.joined(separator: " ")
    #expect(Facts.providerNames(in: "Wants=\(many)\n").count == Facts.providersMax)
  }

  @Test(arguments: [
    ("/a/b.sock", "/a/b.sock"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("", "''"),
    ("$(x)", "'$(x)'"), ("'\u{301};x", "''\\''\u{301};x'"),
  ])
  func `words are quoted for a shell`(_ word: String, quoted: String) {
    #expect(word.shellQuoted == quoted)
  }
}
