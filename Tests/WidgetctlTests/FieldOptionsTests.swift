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
    let options = try await FieldOptions.parsed([])
    let mask = try options.mask(for: .json)
    let unknown: Set = ["stored_timeline", "activity"]
    let accepted = try await options.asking(for: mask) { (mask) async throws(ClientError) in
      try answer(to: mask, unknown: unknown)
    }
    #expect(Set(mask.paths).subtracting(accepted.paths) == unknown)
  }

  @Test func `a field that --field names is reported if the daemon does not know it`() async throws
  {
    let options = try await FieldOptions.parsed(["--field", "activity", "--field", "data"])
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

  @Test func `a label, a parameter and a data value can be chosen`() async throws {
    let paths = ["labels.mine", "parameters.zone", "data.n"]
    let options = try await FieldOptions.parsed(paths.flatMap { ["--field", $0] })
    let mask = try options.mask()
    #expect(Set(mask.paths) == ["labels", "parameters.zone", "data.n"])
  }

  @Test(
    arguments: [
      ("data.nn", false, "widget \"a.b:c\" has no data.nn; did you mean data.n?"),
      ("data.nn", true, "widget \"a.b:c\" has no data.nn; did you mean data.n?"),
      (
        "parameters.mx", false,
        "widget \"a.b:c\" has no parameters.mx; did you mean parameters.max?"
      ),
      (
        "labels.panl", true,
        "widget \"a.b:c\" has no labels.panl yet; waiting for it; did you mean labels.panel?"
      ),
      ("data.later", false, nil), ("data.later[0].x", false, nil), ("data.n", false, nil),
      ("data.status.save.state", false, nil), ("labels.panel", false, nil), ("data", false, nil),
      ("error", false, nil),
    ] as [(String, Bool, String?)])
  func `a field that a widget lacks and its kind does not declare is reported`(
    path: String, waits: Bool, words: String?
  ) throws {
    let widget = try ConditionTests.widget()
    let kind = Kind(name: widget.kind, data: [Field(name: "later", type: .int)])
    #expect(FieldOptions.doubt(about: path, of: widget, kind, waits: waits) == words)
  }

  @Test func `a field that a widget of an open kind lacks may come`() throws {
    let widget = try ConditionTests.widget()
    let kind = Kind(name: widget.kind, isOpen: true)
    for known in [kind, nil] {
      #expect(
        FieldOptions.doubt(about: "data.nn", of: widget, known, waits: true)
          == "widget \"a.b:c\" has no data.nn yet; waiting for it; did you mean data.n?")
    }
  }

  @Test(
    arguments: [
      ("data.percnt", "no listed widget has data.percnt; did you mean data.percent?"),
      ("labels.panl", "no listed widget has labels.panl; did you mean labels.panel?"),
      ("parameters.qqqqqq", "no listed widget has parameters.qqqqqq"),
      ("data.n", nil), ("data.percent", nil), ("data", nil), ("state", nil),
    ] as [(String, String?)])
  func `a field that no listed widget has and no kind declares is reported`(
    path: String, words: String?
  ) throws {
    var other = Samples.widget
    (other.kind, other.data, other.labels) = (Samples.kind("gauge"), [:], [:])
    let kind = Kind(name: other.kind, data: [Field(name: "percent", type: .double)])
    #expect(
      FieldOptions.absence(of: path, in: [Samples.widget, other], [other.kind: kind]) == words)
    #expect(FieldOptions.absence(of: path, in: [], [:]) == nil)
  }

  @Test func `a watch of all widgets waits for a field that none of them has`() {
    #expect(
      FieldOptions.absence(of: "labels.panl", in: [Samples.widget], [:], waits: true)
        == "no watched widget has labels.panl yet; waiting for it; did you mean labels.panel?")
  }

  @Test func `a field counts as lacking while no chunk of a snapshot has it`() {
    var other = Samples.widget
    (other.data, other.labels) = (["percent": .int(1)], [:])
    let paths = ["data.percent", "labels.panel", "data.percnt", "data", "state"]
    let first = FieldOptions.lacking(paths, in: [other])
    #expect(first == ["labels.panel", "data.percnt"])
    #expect(FieldOptions.lacking(first, in: []) == first)
    #expect(FieldOptions.lacking(first, in: [Samples.widget]) == ["data.percnt"])
  }

  @Test func `a table has a column for each field`() async throws {
    let options = try await FieldOptions.parsed(
      ["labels", "stale", "state", "data.n", "data.none", "timeline", "update_time"]
        .flatMap { ["--field", $0] })
    let document = Samples.widget.document(mask: try options.mask(for: .table))
    let table = Table.of(
      fields: options.paths, [(widget: Samples.widget, document: document)], now: .epoch)
    #expect(table.header == ["ID", "KIND"] + options.paths)
    let texts = try #require(table.rows.first).map(\.text)
    #expect(texts[..<7] == ["clock", "clock", "panel=top", "false", "disabled", "1", ""])
    #expect(texts[7] == "" && texts[8].hasPrefix("1970-01-01T"), "\(texts)")
  }

  @Test(arguments: [24, 40, 80])
  func `a table of fields fits into the terminal`(width: Int) async throws {
    let paths = ["data.text", "data.n", "labels.panel", "update_time"]
    let options = try await FieldOptions.parsed(paths.flatMap { ["--field", $0] })
    let document = Samples.widget.document(mask: try options.mask(for: .table))
    let text = Table.of(
      fields: paths, [(widget: Samples.widget, document: document)], now: .epoch
    ).text(width: width, Samples.plain)
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(text)")
    #expect(text.contains("clock") && text.contains("12:00"), "\(text)")
  }

  @Test func `a request with another error is not repeated`() async throws {
    let options = try await FieldOptions.parsed([])
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
