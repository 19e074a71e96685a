#pragma once

#include <sqlite3.h>

/*
 * sqlite3_db_config is variadic, which Swift cannot call. These set one boolean option each and
 * return a result code.
 */

/* Whether closing the last connection moves the write-ahead log into the database. */
static inline int csqlite_set_checkpoint_on_close(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !on, (int *)0);
}

/* Refuses statements that could damage the file, such as writes to the schema table. */
static inline int csqlite_set_defensive(sqlite3 *db, int on) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, on, (int *)0);
}

/*
 * The error number that reading or writing last failed with, 0 if unknown. sqlite3_system_errno
 * often has lost it: more system calls follow the one that failed.
 */
static inline int csqlite_last_errno(sqlite3 *db) {
  int operations[2] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
  for (int i = 0; i < 2; i++) {
    sqlite3_file *file = 0;
    int code = 0;
    if (sqlite3_file_control(db, "main", operations[i], &file) != SQLITE_OK) continue;
    if (!file || !file->pMethods) continue;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code) != SQLITE_OK) continue;
    if (code) return code;
  }
  return sqlite3_system_errno(db);
}
