// The cost of a group with one changed row in SQLite, for different sizes of pages, and different places of the row
// and of the store's state. The settings are those of the store: a write-ahead log, synchronous = NORMAL, prepared
// statements.
//
//   again       `text`, and each group prepares its statements again, BEGIN and COMMIT too
//   text        the store's tables: rows with a text as their key, and a state row in a separate table
//   integer     rows with an integer as their key, and the same state row
//   in row      the same, and each row has the revision: no state row, so a group writes one page
//   exclusive   `in row`, and the process keeps the lock of the database: no other process can read it
//
// The figures are the CPU time of a group, the median of the rounds, and the pages that it writes to the log. A
// checkpoint after 1,000 groups is a part of the time. The variants take turns in each round.
//
// The second table writes one row many times, with a checkpoint after so many groups. SQLite finds the pages of the
// log by a hash of their numbers. All frames of one page have the same hash, so a new frame passes all frames since
// the last checkpoint.
//
// Usage: pages FOLDER

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { ROWS = 1000, ROUNDS = 21, VARIANTS = 5, ONE_ROW_GROUPS = 2048, ONE_ROW_ROUNDS = 5 };
enum variant { variantAgain, variantText, variantInteger, variantInRow, variantExclusive };
static const char *const names[VARIANTS] = {"again", "text", "integer", "in row", "exclusive"};

struct store {
  sqlite3 *db;
  sqlite3_stmt *begin, *row, *state, *commit;
  const char *row_text;
  char log[1200];
  int page_bytes;
};

static void check(sqlite3 *db, int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "pages: %s\n", sqlite3_errmsg(db));
  exit(1);
}

static void run(sqlite3 *db, const char *sql) { check(db, sqlite3_exec(db, sql, 0, 0, 0)); }

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  check(db, sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0));
  return statement;
}

static void step(struct store *store, sqlite3_stmt *statement) {
  check(store->db, sqlite3_step(statement));
  check(store->db, sqlite3_reset(statement));
}

static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void prepare_all(struct store *store, enum variant variant) {
  store->row = prepare(store->db, store->row_text);
  store->begin = prepare(store->db, "BEGIN IMMEDIATE");
  store->commit = prepare(store->db, "COMMIT");
  if (variant <= variantInteger) store->state = prepare(store->db, "UPDATE state SET revision = ?1 WHERE one = 1");
}

static void finalize_all(struct store *store) {
  sqlite3_finalize(store->begin);
  sqlite3_finalize(store->row);
  sqlite3_finalize(store->state);
  sqlite3_finalize(store->commit);
}

static struct store open_store(const char *folder, enum variant variant, int page_bytes, int row_bytes) {
  struct store store = {.page_bytes = page_bytes};
  char path[1100], sql[100];
  snprintf(path, sizeof path, "%s/%d-%d-%d.db", folder, variant, page_bytes, row_bytes);
  snprintf(store.log, sizeof store.log, "%s-wal", path);
  check(store.db, sqlite3_open(path, &store.db));
  snprintf(sql, sizeof sql, "PRAGMA page_size = %d", page_bytes);
  run(store.db, sql);
  if (variant == variantExclusive) run(store.db, "PRAGMA locking_mode = EXCLUSIVE");
  run(store.db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0");
  run(store.db, "CREATE TABLE state (one INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;"
                "INSERT INTO state VALUES (1, 0)");
  const char *row = "INSERT INTO widgets (id, body) VALUES (?1, ?2)"
                    " ON CONFLICT DO UPDATE SET body = excluded.body";
  if (variant <= variantText) {
    run(store.db, "CREATE TABLE widgets (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT, WITHOUT ROWID");
  } else if (variant == variantInteger) {
    run(store.db, "CREATE TABLE widgets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, body BLOB NOT NULL) STRICT");
    row = "INSERT INTO widgets (id, name, body) VALUES (?1, ?3, ?2)"
          " ON CONFLICT DO UPDATE SET name = excluded.name, body = excluded.body";
  } else {
    run(store.db, "CREATE TABLE widgets (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, name TEXT NOT NULL,"
                  " body BLOB NOT NULL) STRICT");
    row = "INSERT INTO widgets (id, name, body, revision) VALUES (?1, ?3, ?2, ?4)"
          " ON CONFLICT DO UPDATE SET name = excluded.name, body = excluded.body, revision = excluded.revision";
  }
  store.row_text = row;
  prepare_all(&store, variant);
  return store;
}

/// One group: one changed row, and the revision.
static void write_group(struct store *store, enum variant variant, int row, const char *body, int bytes,
                        long revision) {
  char name[32];
  int count = snprintf(name, sizeof name, "widget-%d", row);
  if (variant == variantAgain) {
    finalize_all(store);
    prepare_all(store, variant);
  }
  step(store, store->begin);
  if (variant <= variantText) {
    sqlite3_bind_text(store->row, 1, name, count, SQLITE_STATIC);
  } else {
    sqlite3_bind_int(store->row, 1, row);
    sqlite3_bind_text(store->row, 3, name, count, SQLITE_STATIC);
  }
  sqlite3_bind_blob(store->row, 2, body, bytes, SQLITE_STATIC);
  if (variant > variantInteger) sqlite3_bind_int64(store->row, 4, revision);
  step(store, store->row);
  if (store->state) {
    sqlite3_bind_int64(store->state, 1, revision);
    step(store, store->state);
  }
  step(store, store->commit);
}

/// Writes each row in a separate group, and copies the log into the database. Returns the CPU time of a group in
/// microseconds; `pages` is what a group has written to the log.
static double write_rows(struct store *store, enum variant variant, char *body, int bytes, int round,
                         double *pages) {
  double start = cpu();
  for (int index = 0; index < ROWS; index++) {
    int row = index * 7 % ROWS;  // 7 has no common divisor with the number of rows
    body[row % bytes] = (char)(row + round);
    write_group(store, variant, row, body, bytes, (long)round * ROWS + index);
  }
  struct stat log;
  if (stat(store->log, &log) < 0) exit(1);
  *pages = (double)(log.st_size - 32) / (store->page_bytes + 24) / ROWS;
  run(store->db, "PRAGMA wal_checkpoint(TRUNCATE)");
  return (cpu() - start) / ROWS;
}

static void measure(const char *folder, int page_bytes, int row_bytes) {
  struct store stores[VARIANTS];
  static double times[VARIANTS][ROUNDS];
  double pages[VARIANTS];
  char *body = calloc(1, (size_t)row_bytes);
  if (!body) abort();
  for (int variant = 0; variant < VARIANTS; variant++)
    stores[variant] = open_store(folder, variant, page_bytes, row_bytes);
  // The first round creates the rows.
  for (int round = -1; round < ROUNDS; round++)
    for (int turn = 0; turn < VARIANTS; turn++) {
      int variant = (turn + round + VARIANTS) % VARIANTS;
      double time = write_rows(&stores[variant], variant, body, row_bytes, round, &pages[variant]);
      if (round >= 0) times[variant][round] = time;
    }
  printf("%10d %10d", row_bytes, page_bytes);
  for (int variant = 0; variant < VARIANTS; variant++) {
    qsort(times[variant], ROUNDS, sizeof *times[variant], compare);
    printf(" %8.1f (%.1f)", times[variant][ROUNDS / 2], pages[variant]);
    finalize_all(&stores[variant]);
    check(stores[variant].db, sqlite3_close(stores[variant].db));
  }
  printf("\n");
  free(body);
}

/// Writes one row in many groups, with a checkpoint after every `distance` of them. Returns the CPU time of a group.
static double write_one_row(struct store *store, enum variant variant, int distance, long *revision) {
  char body[120] = {0};
  double start = cpu();
  for (int group = 0; group < ONE_ROW_GROUPS; group++) {
    body[group % 120]++;
    write_group(store, variant, 0, body, sizeof body, ++*revision);
    if (group % distance == distance - 1)
      check(store->db, sqlite3_wal_checkpoint_v2(store->db, 0, SQLITE_CHECKPOINT_PASSIVE, 0, 0));
  }
  return (cpu() - start) / ONE_ROW_GROUPS;
}

static void measure_one_row(const char *folder) {
  static const int distances[] = {32, 128, 512, 2048};
  static double times[VARIANTS][4][ROUNDS];
  struct store stores[VARIANTS];
  long revision = 0;
  printf("\nCPU time of a group that writes the same row, in us\n%21s", "groups to checkpoint");
  for (int variant = 0; variant < VARIANTS; variant++) {
    stores[variant] = open_store(folder, variant, 4096, 0);
    // With a disk, checkpoints would mostly wait.
    run(stores[variant].db, "PRAGMA synchronous = OFF");
    printf(" %14s", names[variant]);
  }
  printf("\n");
  for (int round = -1; round < ONE_ROW_ROUNDS; round++)
    for (int distance = 0; distance < 4; distance++)
      for (int variant = 0; variant < VARIANTS; variant++) {
        double time = write_one_row(&stores[variant], variant, distances[distance], &revision);
        if (round >= 0) times[variant][distance][round] = time;
      }
  for (int distance = 0; distance < 4; distance++) {
    printf("%21d", distances[distance]);
    for (int variant = 0; variant < VARIANTS; variant++) {
      qsort(times[variant][distance], ONE_ROW_ROUNDS, sizeof **times[variant], compare);
      printf(" %14.1f", times[variant][distance][ONE_ROW_ROUNDS / 2]);
    }
    printf("\n");
  }
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: pages FOLDER\n");
    return 2;
  }
  printf("CPU time of a group in us (pages)\n%10s %10s", "row, bytes", "page");
  for (int variant = 0; variant < VARIANTS; variant++) printf(" %14s", names[variant]);
  printf("\n");
  static const int rows[] = {120, 400, 2000}, pages[] = {1024, 2048, 4096};
  for (int row = 0; row < 3; row++)
    for (int page = 0; page < 3; page++) measure(arguments[1], pages[page], rows[row]);
  measure_one_row(arguments[1]);
}
