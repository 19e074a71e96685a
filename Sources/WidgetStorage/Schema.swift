/// The database's layout, and the upgrade of older versions to this one.
///
/// Layout of version 1:
/// - `state`: the one row with the numbers of the whole store.
/// - `widgets`: one row a widget; the body is an encoded `StoredWidget`.
/// - `tombstones`: one row a removal, in order of revision; the body is a `StoredTombstone`.
/// - `requests`: kept answers, oldest first. If an id appears twice, the later one counts.
///
/// Version 2 adds:
/// - `kinds`: one row a registered kind; the body is an encoded `Kind`.
///
/// Version 3 adds:
/// - `kinds.is_attended`: 1 if the kind was declared in a session of its provider.
///
/// Version 4 adds:
/// - `events`: one row an event that its provider has not acknowledged; the body is an encoded
///   `Event`.
/// - `lost_events`: for a kind, the range of the numbers of forgotten events.
///
/// Version 5 adds the owners of fields to `StoredWidget`. The tables are the same. An older daemon
/// would lose the owners of a widget that it writes, so it refuses the database.
///
/// Version 6 begins a new epoch. Widgets of kinds that are not registered have content now, and a
/// reader that resumes from an older revision would not get it.
///
/// Version 7 adds:
/// - `theme`: at most one row, `overrides`; the body is an encoded `Theme` with the
///   values that are not the standard ones.
///
/// Version 8 adds:
/// - `state.store_id`: a random name of the store, which `StoreMark` knows too.
/// - `state.group_count`: the number of groups that were appended so far.
///
/// Version 9 adds to each table:
/// - `checksum`: the `RowChecksum` of the row. Old rows get theirs in this step.
///
/// Version 10 counts the age of kept answers in the store's running time, not by the clock:
/// - `state.running_nanoseconds`: the running time at the last group.
/// - `requests.expires_seconds` and `expires_nanoseconds` are in this time. The lifetime of old
///   answers begins again.
///
/// Version 11 adds:
/// - `refresh_budgets`: for a kind, the number of calls of RefreshWidgets that were left, and the
///   time.
///
/// Version 12 adds:
/// - `state.checksum`: the `RowChecksum` of the row, as in the other tables.
///
/// Tables without row ids are one tree each, so loading, which reads every row, also visits every
/// page that is in use.
struct Schema: Sendable {
  /// The step at index `n` makes version `n + 1` of version `n`; version 0 is an empty file.
  /// Released steps are never edited.
  var steps: [String]

  /// The mark at a fixed place of the file that names the application: "wdgt".
  static let applicationID: Int64 = 0x7764_6774

  var version: Int { steps.count }

  static let current = Schema(steps: [
    """
    CREATE TABLE state (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      epoch INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      compact_revision INTEGER NOT NULL,
      event_sequence_ceiling INTEGER NOT NULL,
      unsynced_boot TEXT NOT NULL
    ) STRICT;
    CREATE TABLE widgets (
      id TEXT PRIMARY KEY,
      body BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tombstones (
      revision INTEGER NOT NULL,
      id TEXT NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (revision, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE requests (
      sequence INTEGER PRIMARY KEY,
      uid INTEGER NOT NULL,
      request_id TEXT NOT NULL,
      fingerprint INTEGER NOT NULL,
      response BLOB NOT NULL,
      expires_seconds INTEGER NOT NULL,
      expires_nanoseconds INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (1, 0, 0, 0, 0, '');
    """,
    """
    CREATE TABLE kinds (
      name TEXT PRIMARY KEY,
      body BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    """
    ALTER TABLE kinds ADD COLUMN is_attended INTEGER NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE events (
      kind TEXT NOT NULL,
      sequence INTEGER NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (kind, sequence)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE lost_events (
      kind TEXT PRIMARY KEY,
      first INTEGER NOT NULL,
      last INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    "-- StoredWidget.owners",
    "UPDATE state SET epoch = ~epoch WHERE epoch <> 0",
    """
    CREATE TABLE theme (
      name TEXT PRIMARY KEY,
      body BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    """
    ALTER TABLE state ADD COLUMN store_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE state ADD COLUMN group_count INTEGER NOT NULL DEFAULT 0;
    UPDATE state SET store_id = lower(hex(randomblob(8)));
    """,
    """
    ALTER TABLE widgets ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE widgets SET checksum = row_checksum('widgets', id, body);
    ALTER TABLE tombstones ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE tombstones SET checksum = row_checksum('tombstones', revision, id, body);
    ALTER TABLE requests ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE requests SET checksum = row_checksum('requests', sequence, uid, request_id, fingerprint,
      response, expires_seconds, expires_nanoseconds);
    ALTER TABLE kinds ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE kinds SET checksum = row_checksum('kinds', name, body, is_attended);
    ALTER TABLE events ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE events SET checksum = row_checksum('events', kind, sequence, body);
    ALTER TABLE lost_events ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE lost_events SET checksum = row_checksum('lost_events', kind, first, last);
    ALTER TABLE theme ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE theme SET checksum = row_checksum('theme', name, body);
    """,
    """
    ALTER TABLE state ADD COLUMN running_nanoseconds INTEGER NOT NULL DEFAULT 0;
    UPDATE requests SET expires_seconds = 600, expires_nanoseconds = 0;
    UPDATE requests SET checksum = row_checksum('requests', sequence, uid, request_id, fingerprint,
      response, expires_seconds, expires_nanoseconds);
    """,
    """
    CREATE TABLE refresh_budgets (
      kind TEXT PRIMARY KEY,
      left_thousandths INTEGER NOT NULL,
      seconds INTEGER NOT NULL,
      checksum INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
    """
    ALTER TABLE state ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE state SET running_nanoseconds = max(0, running_nanoseconds);
    UPDATE state SET checksum = row_checksum('state', epoch, revision, compact_revision,
      event_sequence_ceiling, unsynced_boot, store_id, group_count, running_nanoseconds);
    """,
  ])

  /// From this version on, a database names its store and counts its groups.
  static let versionWithStoreID = 8

  /// From this version on, rows have checksums.
  static let versionWithChecksums = 9

  /// From this version on, the database has budgets.
  private static let versionWithBudgets = 11

  /// From this version on, the row of numbers has a checksum.
  static let versionWithStateChecksum = 12

  /// A table whose rows have checksums.
  struct CheckedTable {
    let name: String
    /// The column that names the row.
    let key: String
    /// The columns for the checksum.
    let columns: String
    /// The first version with these checksums.
    var since = Schema.versionWithChecksums
  }

  static let stateTable = CheckedTable(
    name: "state", key: "one",
    columns: """
      epoch, revision, compact_revision, event_sequence_ceiling, unsynced_boot, store_id, \
      group_count, running_nanoseconds
      """, since: versionWithStateChecksum)

  /// In the order in which opening and loading find damage.
  private static let checkedTables = [
    stateTable,
    CheckedTable(
      name: "requests", key: "sequence",
      columns: """
        sequence, uid, request_id, fingerprint, response, expires_seconds, expires_nanoseconds
        """),
    CheckedTable(name: "kinds", key: "name", columns: "name, body, is_attended"),
    CheckedTable(name: "widgets", key: "id", columns: "id, body"),
    CheckedTable(name: "tombstones", key: "id", columns: "revision, id, body"),
    CheckedTable(name: "events", key: "sequence", columns: "kind, sequence, body"),
    CheckedTable(name: "lost_events", key: "kind", columns: "kind, first, last"),
    CheckedTable(name: "theme", key: "name", columns: "name, body"),
    CheckedTable(
      name: "refresh_budgets", key: "kind", columns: "kind, left_thousandths, seconds",
      since: versionWithBudgets),
  ]

  /// The tables with checksums in a database of a version.
  static func checkedTables(version: Int = current.version) -> [CheckedTable] {
    checkedTables.filter { version >= $0.since }
  }

  /// The version of the file that a connection has opened. Changes nothing.
  func version(of connection: DatabaseConnection) throws(StorageError) -> Int {
    let applicationID = try connection.number("PRAGMA application_id")
    let found = try connection.number("PRAGMA user_version")
    let tables = try connection.number("SELECT count(*) FROM sqlite_schema")
    if applicationID == 0, found == 0, tables == 0 { return 0 }
    guard applicationID == Schema.applicationID else { throw .foreign(path: connection.path) }
    guard found >= 1 else {
      throw .corrupt(path: connection.path, detail: "schema version \(found)")
    }
    guard found <= version else {
      throw .incompatible(path: connection.path, found: Int(found), supported: version)
    }
    return Int(found)
  }

  /// Upgrades a database to this version, in one transaction.
  func migrate(_ connection: DatabaseConnection, from found: Int) throws(StorageError) {
    guard found < version else { return }
    try RowChecksum.register(on: connection)
    try connection.transaction { () throws(StorageError) in
      for step in steps[found...] { try connection.execute(step) }
      try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
      try connection.execute("PRAGMA user_version = \(version)")
    }
  }
}
