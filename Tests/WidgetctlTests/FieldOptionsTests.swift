import ArgumentParser
import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Fields of widgets that a daemon of an older version does not know.
struct FieldOptionsTests {
  /// The answer of a daemon that does not know some fields: it accepts only this mask.
  private func answer(
    to mask: ReadMask, unknown: Set<String>
  ) throws(ClientError) -> ReadMask {
    guard let path = mask.paths.first(where: unknown.contains) else { return mask }
    throw .status(
      RPCStatus(
        code: .invalidArgument, message: "read_mask is wrong",
        errorInfo: ErrorInfo(reason: "INVALID_FIELD"),
        fieldViolations: [
          FieldViolation(
            field: "read_mask",
            description: "\"\(path)\" is not a field of a widget; use its fields' names")
        ]))
  }

  @Test func `a document has all fields that the daemon knows`() async throws {
    let options = try FieldOptions.parse([])
    let mask = try options.mask(for: .json)
    let unknown: Set = ["stored_timeline", "activity"]
    let accepted = try await options.asking(for: mask) { (mask) async throws(ClientError) in
      try answer(to: mask, unknown: unknown)
    }
    #expect(Set(mask.paths).subtracting(accepted.paths) == unknown)
  }

  @Test func `a field that --field names is reported if the daemon does not know it`() async throws
  {
    let options = try FieldOptions.parse(["--field", "activity", "--field", "data"])
    let mask = try options.mask(for: .json)
    let error = try await #require(throws: ClientError.self) {
      try await options.asking(for: mask) { (mask) async throws(ClientError) in
        try answer(to: mask, unknown: ["activity"])
      }
    }
    #expect(
      CommandFailure(error).message
        == "the daemon does not know the field \"activity\", because it is older than widgetctl; "
        + "update and restart it")
  }

  @Test func `a label, a parameter and a data value can be chosen`() throws {
    let paths = ["labels.mine", "parameters.zone", "data.n"]
    let options = try FieldOptions.parse(paths.flatMap { ["--field", $0] })
    let mask = try options.mask()
    #expect(Set(mask.paths) == ["labels", "parameters.zone", "data.n"])
  }

  @Test func `a request with another error is not repeated`() async throws {
    let options = try FieldOptions.parse([])
    var count = 0
    await #expect(throws: ClientError.self) {
      try await options.asking(for: try options.mask(for: .json)) {
        (_) async throws(ClientError) -> Void in
        count += 1
        throw .status(RPCStatus(code: .invalidArgument, message: "no"))
      }
    }
    #expect(count == 1)
  }
}
