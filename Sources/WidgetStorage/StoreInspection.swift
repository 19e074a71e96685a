import Glibc
import WidgetCore
import WidgetModel

/// Checks a store, or a copy of a database, without any change. A daemon may have it open.
public struct StoreInspection: Sendable {
  /// The severity of a finding.
  public enum Grade: Sendable { case ok, warning, failure }

  /// The result of one check.
  public struct Finding: Hashable, Sendable {
    /// `files`, `database`, `pages` or `rows`.
    public var check: String
    public var grade: Grade
    /// The finding, and what to do about it; without a final period.
    public var found: String
  }

  /// In the order of the checks. If a check fails, later checks that depend on it are left out.
  public private(set) var findings: [Finding] = []
  /// The revision of the store.
  public private(set) var revision: UInt64 = 0
  public private(set) var widgets = 0

  /// Whether nothing is wrong.
  public var isSound: Bool { findings.allSatisfy { $0.grade != .failure } }

  /// The maximum number of damaged rows that are named for a table.
  private static let namedRowsMax = 10

  /// Checks a state directory with its mark, or the file of a database by itself.
  public init(_ path: String) {
    var status = stat()
    let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    let database = isFolder ? path + "/" + SQLiteCommitLog.databaseFileName : path
    do throws(StorageError) { try inspect(database, withMark: isFolder) } catch {
      add("files", .failure, "\(error)")
    }
  }

  private mutating func inspect(_ path: String, withMark: Bool) throws(StorageError) {
    var files = try StoreFiles(path: path, withMark: withMark)
    guard files.isThere || files.mark != .none else {
      return add("files", .failure, "\(path): there is no store")
    }
    try files.check()
    for _ in 0..<3 {
      let opened = try ReadingConnection(files)
      var copy = self
      try copy.inspect(opened, files)
      let now = try StoreFiles(path: path, withMark: withMark)
      // If a daemon has begun to write since, the read data may be inconsistent.
      guard opened.isFrozen, !now.isSame(as: files) else {
        self = copy
        return
      }
      files = now
    }
    add("files", .failure, "\(path): changes all the time; try again")
  }

  private mutating func inspect(
    _ opened: ReadingConnection, _ files: StoreFiles
  ) throws(StorageError) {
    let connection = opened.connection
    let version = try Schema.current.version(of: connection)
    add("files", .ok, files.summary)
    try connection.execute("BEGIN")
    let standing = try StoreFiles.Standing(connection, version: version)
    revision = standing.revision
    if version > 0 { widgets = Int(try connection.number("SELECT count(*) FROM widgets")) }
    compare(standing, files)
    add(
      "database", .ok,
      "schema version \(version), revision \(revision), \(widgets == 1 ? "1 widget" : "\(widgets) widgets")"
    )
    try checkPages(connection)
    try checkRows(connection, version: version)
  }

  private mutating func compare(_ standing: StoreFiles.Standing, _ files: StoreFiles) {
    switch files.mark {
    case .none: return
    case .damaged:
      add(
        "mark", .warning,
        "\(files.markPath) is damaged; the daemon writes it again when it starts")
    case .mark:
      do throws(StorageError) {
        let boot = SavedState.currentBoot() ?? SavedState.unknownBoot
        switch try files.compare(standing, boot: boot) {
        case .nothing: add("mark", .ok, "\(files.markPath) belongs to this database")
        case .permitted(let lost):
          let which = lost.map { ": \($0.lowerBound) to \($0.upperBound)" } ?? ""
          add(
            "mark", .warning,
            "the latest revisions are missing after a power cut\(which); the daemon goes on without"
              + " them")
        }
      } catch { add("mark", .failure, "\(error)") }
    }
  }

  private mutating func checkPages(_ connection: DatabaseConnection) throws(StorageError) {
    let rows = try Statement(
      "PRAGMA integrity_check(\(StoreInspection.namedRowsMax))", on: connection)
    var wrong: [String] = []
    while try rows.step() { wrong.append(rows.text(0)) }
    guard wrong != ["ok"] else { return add("pages", .ok, "integrity_check finds nothing wrong") }
    add("pages", .failure, wrong.joined(separator: "; ") + StoreInspection.remedy)
  }

  private mutating func checkRows(
    _ connection: DatabaseConnection, version: Int
  ) throws(StorageError) {
    guard version >= Schema.versionWithChecksums else {
      return add(
        "rows", .warning,
        "a database of schema version \(version) has no checksums; the daemon adds"
          + " them when it starts")
    }
    try RowChecksum.register(on: connection)
    var count: Int64 = 0
    var wrong: [String] = []
    for table in Schema.checkedTables(version: version) {
      do throws(StorageError) {
        count += try connection.number("SELECT count(*) FROM \(table.name)")
        let rows = try Statement(
          """
          SELECT CAST(\(table.key) AS TEXT) FROM \(table.name)
          WHERE checksum <> row_checksum('\(table.name)', \(table.columns))
          LIMIT \(StoreInspection.namedRowsMax)
          """, on: connection)
        while try rows.step() { wrong.append("table \(table.name), row '\(rows.text(0))'") }
      } catch { wrong.append("table \(table.name): \(error)") }
    }
    guard !wrong.isEmpty else {
      return add(
        "rows", .ok,
        count == 1
          ? "1 row has the right checksum"
          : "\(count) rows have the right checksums")
    }
    add("rows", .failure, "damaged: " + wrong.joined(separator: "; ") + StoreInspection.remedy)
  }

  private static let remedy = "; restore a backup with `widgetctl restore FILE`"

  private mutating func add(_ check: String, _ grade: Grade, _ found: String) {
    findings.append(Finding(check: check, grade: grade, found: found))
  }
}

/// A connection that reads a database without a trace, even if a daemon has it open.
struct ReadingConnection {
  let connection: DatabaseConnection
  /// Whether the file is read alone, because it has no log. SQLite then creates no log.
  let isFrozen: Bool

  init(_ files: StoreFiles) throws(StorageError) {
    isFrozen = !files.hasLog
    connection =
      isFrozen
      ? try DatabaseConnection(frozen: files.path) : try DatabaseConnection(reading: files.path)
  }
}
