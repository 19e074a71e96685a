import ArgumentParser
import Testing
import WidgetClient

@testable import widgetctl

/// Arguments that would silently mean something else.
struct MistakenArgumentTests {
  @Test(
    arguments: [
      (["ls", "--socket", ""], "--socket"), (["ls", "--socket="], "--socket"),
      (["bundle", "ls", "--dir", ""], "--dir"),
      (["backup", "b", "--state-directory", ""], "--state-directory"),
      (["apply", "-f", ""], "-f"), (["set", "a", "n=1", "--etag", ""], "--etag"),
      (["ls", "--socket", "/s"], nil), (["set", "a", "n="], nil), (["add", "k", "--id", "a"], nil),
      (["run", "--", "make", "--dir", ""], nil), (["send", "a", "e", "--socket"], nil),
    ] as [([String], String?)])
  func `an empty value of an option for a path is found`(arguments: [String], option: String?) {
    #expect(ArgumentOrder.emptyOption(arguments) == option)
  }

  private static func refusal(_ arguments: [String]) -> String {
    do {
      _ = try Widgetctl.parseAsRoot(ArgumentOrder.normalized(arguments))
      return "nothing"
    } catch {
      #expect(Widgetctl.exitCode(for: error) == .validationFailure)
      return Widgetctl.message(for: error)
    }
  }

  @Test(arguments: [
    ["set", "a", "n=1", "n=2"],
    ["set", "a", "--param", "n=1", "--param", "n=2"], ["set", "a", "-ln=1", "--label", "n=2"],
    ["add", "k", "n=1", "--data", "n:=2"], ["add", "k", "--label", "n=1", "--label", "n=1"],
    ["add", "k", "--param", "n=1", "--param", "n=2"], ["send", "a", "e", "n=1", "n=2"],
    ["send", "a", "e", "--value", "n=1", "--value", "n=2"],
    ["send", "a", "e", "--upload", "n=e", "--upload", "n=e"],
    ["send", "a", "e", "--value", "n=1", "--upload", "n=e"],
    ["activity", "start", "--param", "n=1", "--param", "n=2"],
    ["activity", "update", "a", "--set", "n=1", "--set", "n=2"],
    ["snapshot", "k", "--set", "n=1", "--set", "n=2"], ["bundle", "set", "b", "n=1", "n=2"],
    ["run", "--activity", "t", "-ln=1", "-ln=2", "--", "true"],
  ])
  func `a name with two values is refused`(arguments: [String]) {
    #expect(Self.refusal(arguments) == "n is given twice; give it one value")
  }

  @Test(
    arguments: [
      (["set", "a", "n=1", "--unset", "n"], "--unset"),
      (["set", "a", "--param", "n=1", "--unset-param", "n"], "--unset-param"),
      (["set", "a", "-ln=1", "--unset-label", "n"], "--unset-label"),
      (["bundle", "set", "b", "n=1", "--unset", "n"], "--unset"),
      (["activity", "update", "a", "--set", "n=1", "--unset", "n"], "--unset"),
      (["activity", "end", "a", "--set", "n=1", "--unset", "n"], "--unset"),
    ] as [([String], String)])
  func `a name that is both set and unset is refused`(arguments: [String], option: String) {
    #expect(
      Self.refusal(arguments) == "n is both set and unset; leave out its value, or \(option) n")
  }

  @Test func `a name that is unset twice is refused`() {
    #expect(
      Self.refusal(["set", "a", "--unset", "n", "--unset", "n"])
        == "--unset n is given twice; give it once")
  }

  @Test func `an empty name of a file is named`() {
    let failure = #expect(throws: CommandFailure.self) { try Input.text("") }
    #expect(
      failure?.message == "the name of the file is empty; name a file, or - for standard input")
  }

  @Test(arguments: [
    ["set", "a", "n=1", "m=1", "--param", "n=1", "--label", "n=1"],
    ["send", "a", "e", "n=1", "--value", "n=1"],
    ["theme", "set", "font.title.size=20", "font.title.weight=bold"],
  ])
  func `the same name of different parts is accepted`(arguments: [String]) {
    #expect(Self.refusal(arguments) == "nothing")
  }

  @Test func `a token with two values is refused`() {
    #expect(
      Self.refusal(["theme", "set", "offset.basic=6", "offset.basic=7"])
        == "offset.basic is given twice; give it one value")
  }

  @Test(arguments: [("FULL", 9), ("READ_ONLY", 7), (nil, 7)] as [(String?, Int32)])
  func `a full disk of the daemon has the exit status of a full disk`(
    cause: String?, status: Int32
  ) {
    let error = ClientError.status(
      RPCStatus(
        code: .unavailable, message: "The daemon cannot store the change.",
        errorInfo: ErrorInfo(
          reason: "STORAGE_FAILED", metadata: cause.map { ["cause": $0] } ?? [:])))
    #expect(ExitStatus(error).rawValue == status)
  }
}
