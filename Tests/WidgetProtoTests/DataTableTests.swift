import Testing
import WidgetModel

@testable import WidgetProto

/// The content of widgets whose kind is not registered, which is written without its nodes.
struct DataTableTests {
  private static func row(_ key: String, _ value: String) -> DataTable.Row {
    DataTable.Row(path: "/\(NodeID.encoded(key: key))", key: key, value: value)
  }

  private func table(
    _ rows: [DataTable.Row], moreCount: Int = 0, kind: String = "k"
  ) throws -> DataTable {
    DataTable(kind: try #require(KindName(kind)), rows: rows, moreCount: moreCount)
  }

  /// Messages with a content: a widget and a change.
  private func bytes(
    of content: Content, in widget: Widget, _ mask: ReadMask
  ) throws -> [[UInt8]] {
    var widget = widget
    widget.content = content
    let codec = WireCodec()
    return [
      try codec.encode(SnapshotChunk(widgets: [widget]), mask: mask),
      try codec.encode(GetWidgetResponse(widget: widget, etag: "e"), mask: mask),
      try codec.encode(ChangeSet(changes: [.added(widget, nil)]), mask: mask),
    ]
  }

  @Test(arguments: [
    [], ["content"], ["data", "family"], ["kind", "content", "data.x"],
  ])
  func `a table has the bytes of its nodes, for each read mask and family`(
    paths: [String]
  ) throws {
    let mask = try ReadMask(paths: paths)
    var random = RandomMessages(seed: 1)
    for round in 0..<200 {
      let table = random.dataTable()
      var widget = random.widget()
      widget.family = Family.allCases[round % Family.allCases.count]
      let expected = Content(rootID: "plain", nodes: table.nodes)
      #expect(
        try bytes(of: Content(table), in: widget, mask)
          == bytes(of: expected, in: widget, mask), "\(table)")
    }
  }

  @Test(arguments: [
    [], [row("sky", "clear")], [row("x", "")], [row("", "no key")],
    [row("a", String(repeating: "x", count: 120)), row("b c", "ü\n…")],
    [row(String(repeating: "k", count: 200), String(repeating: "é", count: 20_000))],
    (0..<64).map { row("key\($0)", "\($0)") },
  ])
  func `a table of any size has the bytes of its struct`(rows: [DataTable.Row]) throws {
    let codec = WireCodec()
    for moreCount in [0, 1, 1_000_000] {
      for kind in ["k", String(repeating: "k", count: KindName.lengthMax)] {
        let content = Content(try table(rows, moreCount: moreCount, kind: kind))
        let bytes = try codec.bothWays(content, .all)
        #expect(bytes.direct == bytes.structs)
        #expect(try codec.decode(Content.self, from: bytes.direct) == content)
      }
    }
  }

  @Test(arguments: [
    DataTable.Row(path: "/a", key: "a\0", value: ""),
    DataTable.Row(path: "/a", key: "a", value: "\0"),
    DataTable.Row(path: "/\0", key: "a", value: ""),
  ])
  func `a table with a NUL is refused as its nodes are`(row: DataTable.Row) throws {
    let codec = WireCodec()
    let table = try table([row])
    let expected = #expect(throws: WireError.self) {
      try codec.encode(Content(rootID: "plain", nodes: table.nodes))
    }
    let refusal = #expect(throws: WireError.self) { try codec.encode(Content(table)) }
    #expect(refusal == expected)
  }
}
