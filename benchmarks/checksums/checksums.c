// The cost of the checksum of a stored row: SQLite writes and reads rows of the table of widgets, with
// and without the checksum. The hash is that of Sources/CSQLite. The settings are those of the store: a
// write-ahead log, and 64 rows in a transaction.
//
// The figure is the CPU time for a row, the median of the rounds. The two variants take turns in each
// round. Usage: checksums FOLDER

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "shim.h"

enum { ROWS = 1024, GROUP = 64, ROUNDS = 41, TABLES = 2 };

static sqlite3 *db;

static void check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "checksums: %s\n", sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) { check(sqlite3_exec(db, sql, 0, 0, 0)); }

static sqlite3_stmt *prepare(const char *format, const char *table) {
  char *sql = sqlite3_mprintf(format, table);
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v2(db, sql, -1, &statement, 0));
  sqlite3_free(sql);
  return statement;
}

static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
}

static uint64_t checksum(const void *id, int id_bytes, const void *body, int body_bytes) {
  uint64_t hash = csqlite_hash("widgets", 7, 0);
  return csqlite_hash(body, body_bytes, csqlite_hash(id, id_bytes, hash));
}

// The time to write each row once.
static double write_rows(sqlite3_stmt *insert, int checked, char *body, int bytes, int round) {
  double start = cpu();
  for (int row = 0; row < ROWS; row++) {
    char id[32];
    int id_bytes = snprintf(id, sizeof id, "widget-%d", row);
    if (row % GROUP == 0) run("BEGIN IMMEDIATE");
    body[row % bytes] = (char)(row + round);
    sqlite3_bind_text(insert, 1, id, id_bytes, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 2, body, bytes, SQLITE_STATIC);
    if (checked) sqlite3_bind_int64(insert, 3, (int64_t)checksum(id, id_bytes, body, bytes));
    check(sqlite3_step(insert));
    check(sqlite3_reset(insert));
    if (row % GROUP == GROUP - 1) run("COMMIT");
  }
  return (cpu() - start) / ROWS;
}

// The time to read each row once.
static double read_rows(sqlite3_stmt *select, int checked) {
  double start = cpu();
  long bytes = 0;
  while (sqlite3_step(select) == SQLITE_ROW) {
    const void *id = sqlite3_column_text(select, 0), *body = sqlite3_column_blob(select, 1);
    int id_bytes = sqlite3_column_bytes(select, 0), body_bytes = sqlite3_column_bytes(select, 1);
    bytes += body_bytes;
    if (!checked) continue;
    if (checksum(id, id_bytes, body, body_bytes) != (uint64_t)sqlite3_column_int64(select, 2)) {
      fprintf(stderr, "checksums: a row is damaged\n");
      exit(1);
    }
  }
  check(sqlite3_reset(select));
  double time = cpu() - start;
  if (!bytes) exit(1);
  return time / ROWS;
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: checksums FOLDER\n");
    return 2;
  }
  printf("%10s %12s %12s %8s %12s %12s %8s\n", "bytes", "write, ns", "checked", "ratio", "read, ns",
         "checked", "ratio");
  int sizes[] = {150, 1500, 15000};
  for (int size = 0; size < 3; size++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%d.db", arguments[1], sizes[size]);
    check(sqlite3_open(path, &db));
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    run("CREATE TABLE plain (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID");
    run("CREATE TABLE checked (id TEXT PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL)"
        " STRICT, WITHOUT ROWID");
    sqlite3_stmt *insert[TABLES] = {
        prepare("INSERT OR REPLACE INTO %s (id, body) VALUES (?1, ?2)", "plain"),
        prepare("INSERT OR REPLACE INTO %s (id, body, checksum) VALUES (?1, ?2, ?3)", "checked")};
    sqlite3_stmt *select[TABLES] = {
        prepare("SELECT id, body FROM %s ORDER BY id", "plain"),
        prepare("SELECT id, body, checksum FROM %s ORDER BY id", "checked")};
    char *body = calloc(1, (size_t)sizes[size]);
    double written[TABLES][ROUNDS], read[TABLES][ROUNDS];
    for (int round = -1; round < ROUNDS; round++) {
      for (int turn = 0; turn < TABLES; turn++) {
        int table = (turn + round) & 1;
        double time = write_rows(insert[table], table, body, sizes[size], round);
        double again = read_rows(select[table], table);
        if (round < 0) continue;  // to warm up
        written[table][round] = time;
        read[table][round] = again;
      }
    }
    double w0 = median(written[0]), w1 = median(written[1]), r0 = median(read[0]),
           r1 = median(read[1]);
    printf("%10d %12.0f %12.0f %7.3fx %12.0f %12.0f %7.3fx\n", sizes[size], w0, w1, w1 / w0, r0, r1,
           r1 / r0);
    for (int table = 0; table < TABLES; table++) {
      sqlite3_finalize(insert[table]);
      sqlite3_finalize(select[table]);
    }
    free(body);
    check(sqlite3_close(db));
  }
}
