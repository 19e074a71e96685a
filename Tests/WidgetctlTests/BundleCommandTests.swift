import Foundation
import Testing
import WidgetBundle
import WidgetModel
import WidgetProto

@testable import widgetctl

struct BundleCommandTests {
  @Test func `the live folders are those of the user, or of the system for root`() {
    let home = ["HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada", "XDG_DATA_HOME": "relative"]
    #expect(
      BundleFolderOptions.live(isRoot: false) { home[$0] }
        == ["/home/ada/.local/share/widgetd/bundles", "/etc/ada/widgetd/bundles"])
    #expect(BundleFolderOptions.live(isRoot: false) { _ in nil }.isEmpty)
    #expect(
      BundleFolderOptions.live(isRoot: true) { home[$0] }
        == ["/var/lib/widgetd-host/bundles", "/etc/widgetd/bundles"])
  }

  @Test func `the host's result is one line, even if a name has a line feed`() {
    let bundle = InstalledBundle(id: "b", version: "1.0.0", folder: "/x\n/b")
    let installed = InstallBundleResponse(bundle: bundle, formerVersion: "0.9.0")
    #expect(
      BundleRemote.installed(installed)
        == "bundle b 1.0.0 installed in /x\\u{a}/b by widgetd-host, was 0.9.0\n")
    let other = InstallBundleResponse(bundle: bundle, formerVersion: "0.9.0", formerID: "lamp")
    #expect(
      BundleRemote.installed(other)
        == "bundle b 1.0.0 installed in /x\\u{a}/b by widgetd-host, "
        + "in place of bundle lamp 0.9.0\n")
    let same = InstallBundleResponse(
      bundle: bundle, formerVersion: "1.0.0", formerID: "b", isUnchanged: true)
    #expect(
      BundleRemote.installed(same)
        == "bundle b 1.0.0 is already installed in /x\\u{a}/b; nothing has changed\n")
    let back = RollbackBundleResponse(bundle: bundle, formerVersion: "")
    #expect(BundleRemote.broughtBack(back) == "bundle b 1.0.0 restored in /x\\u{a}/b\n")
  }

  @Test(arguments: [true, false])
  func `the JSON of an installation says whether nothing has changed`(isUnchanged: Bool) {
    let bundle = InstalledBundle(id: "b", version: "1.0.0", folder: "/x/b")
    let answer = InstallBundleResponse(
      bundle: bundle, formerVersion: "1.0.0", formerID: "b", isUnchanged: isUnchanged)
    guard case .map(let map) = BundleRemote.document(answer, warnings: []) else {
      Issue.record("no map")
      return
    }
    #expect(map["unchanged"] == .bool(isUnchanged))
    #expect(map["formerVersion"] == .string("1.0.0"))
  }

  @Test(arguments: [
    ("there is none; see `widgetctl bundle ls`", "`widgetctl bundle ls --remote`"),
    ("x; `widgetctl bundle rollback a --to 1.0.0` brings it back", "a --to 1.0.0 --remote` brings"),
    ("`widgetctl bundle ls --remote` lists", "`widgetctl bundle ls --remote` lists"),
    ("`widgetctl ls --kind bundle` lists", "`widgetctl ls --kind bundle` lists"),
  ])
  func `advice of a remote host says --remote`(text: String, advice: String) {
    #expect(BundleRemote.advice(text).contains(advice))
    #expect(BundleRemote.advice(text).split(separator: "--remote").count <= 2)
  }

  @Test(arguments: [("", ""), ("correct it", "  hint: correct it\n")])
  func `a warning without a hint has no line for it`(hint: String, line: String) {
    let problem = BundleProblem(line: 1, column: 1, message: "broken", hint: hint)
    #expect(BundleText.warning(problem, file: "f") == "f: warning: broken\n" + line)
  }

  @Test func `the result of an installation names what was there before`() {
    #expect(BundleText.former("0.9.0", wasThere: true) == ", was 0.9.0")
    #expect(
      BundleText.former(nil, wasThere: true) == ", in place of a folder without a valid bundle")
    #expect(BundleText.former(nil, wasThere: false) == "")
    #expect(
      BundleText.former("0.9.0", of: "lamp", wasThere: true) == ", in place of bundle lamp 0.9.0")
    #expect(BundleText.former(nil, of: "lamp", wasThere: true) == ", in place of bundle lamp")
  }

  @Test func `a pipe is not sent to the host, and not waited for`() throws {
    let path = NSTemporaryDirectory() + "pipe-\(UUID().uuidString)"
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let failure = #expect(throws: CommandFailure.self) {
      _ = try BundleSource.path(path).content(bytesMax: 100)
    }
    #expect(
      failure?.message
        == "\(path) is a named pipe, not a bundle; name a bundle's file, folder or archive")
  }

  @Test func `a mistake that the host finds in a folder has the path that the user gave`() {
    let text = "desk.tar.gz/bundle.yaml:3:7: unknown key"
    for path in ["b/desk", "b/desk/"] {
      #expect(
        BundleSource.path(path).named(in: text, sentAs: "desk.tar.gz")
          == "b/desk/bundle.yaml:3:7: unknown key")
    }
    #expect(BundleSource.path("b/desk.tar.gz").named(in: text, sentAs: "desk.tar.gz") == text)
  }

  @Test func `the error for a file that is too large to upload has its size`() {
    var failure = CommandFailure(.quotaExceeded, "The limit is reached")
    #expect(Upload.reason(failure, bytes: 17) == "The limit is reached")
    failure.metadata = ["limit": "blob_bytes_max", "maximum": "16"]
    #expect(
      Upload.reason(failure, bytes: 17).hasPrefix("it has 17 bytes, and a file may have at most 16")
    )
  }

  @Test func `a tab in the indentation is named in the error`() {
    #expect {
      _ = try DocumentReader.documents("kinds:\n\t- {name: a}\n", name: "f.yaml")
    } throws: {
      ($0 as? CommandFailure)?.message
        == "f.yaml:2:1: a tab cannot indent YAML; indent with spaces\n  2 | →- {name: a}\n    | ^"
    }
    #expect {
      _ = try DocumentReader.documents("{\n\"a\": 1\n\"b\": 2}", name: "f.json")
    } throws: {
      ($0 as? CommandFailure)?.message
        == "f.json:3:1: expected , or } in an object\n  3 | \"b\": 2}\n    | ^"
    }
    #expect {
      _ = try DocumentReader.documents("{\n\"a\": {\n\"b\": [2}\n", name: "f.json")
    } throws: {
      let message = ($0 as? CommandFailure)?.message ?? ""
      return message.hasPrefix("f.json:3:6: \"[\" is not closed; add \"]\"")
    }
  }

  @Test(arguments: [
    ("{\"a\": \"\\ud83d\\ude00\", \"b\": [1}", "1:28: \"[\" is not closed"),
    ("{\"a\": {\n\"b\": \"\\uD83D\\uDE00\",\n\"c\": {\"d\": [1}}}", "3:12: \"[\" is not closed"),
    ("[{\"a\": 1, {\"b\": 2}]", "1:2: \"{\" is not closed; add \"}\" before the \"{\""),
    ("[", "1:1: \"[\" is not closed; add \"]\""),
    ("{\"a\": 1,", "1:1: \"{\" is not closed"),
    ("{\"a\": 1, \"b\"", "1:1: \"{\" is not closed"),
    ("{\"a\": 1,}", "1:9: expected a key in quotes"),
    ("{\"a\" 1}", "1:6: expected : after a key"),
    ("{\"é\": x\"}", "1:7: the opening quote is missing; add it"),
    ("{\"a\": 1 \"b\": 2}\n{\"c\": [1", "1:9: expected , or } in an object"),
  ])
  func `a missing bracket of JSON is named where it begins`(text: String, message: String) {
    let error = #expect(throws: CommandFailure.self) {
      try DocumentReader.documents(text, name: "f.json")
    }
    #expect(error?.message.hasPrefix("f.json:" + message) == true, "\(error?.message ?? "")")
  }

  @Test func `a live folder is recognised through links and trailing slashes`() throws {
    let folder = NSTemporaryDirectory() + "live-\(UUID().uuidString)"
    let files = FileManager.default
    try files.createDirectory(atPath: "\(folder)/bundles", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    try files.createSymbolicLink(
      atPath: "\(folder)/link", withDestinationPath: "\(folder)/bundles")
    let live = ["/nonexistent", "\(folder)/bundles"]
    #expect(BundleNewCommand.isLive("\(folder)/link/../link", among: live))
    #expect(BundleNewCommand.isLive("\(folder)/bundles/", among: live))
    #expect(!BundleNewCommand.isLive(folder, among: live))
    #expect(!BundleNewCommand.isLive("/nonexistent", among: live))
  }
}
