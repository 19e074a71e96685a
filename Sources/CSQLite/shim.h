#pragma once

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

/*
 * Swift cannot call sqlite3_db_config, because it is variadic. Each of these functions sets one
 * boolean option, and returns a result code.
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
 * The errno of the last failed read or write; 0 if unknown. sqlite3_system_errno is often wrong,
 * because more system calls follow the failed one.
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

static inline uint64_t csqlite_rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

static inline uint64_t csqlite_load(const uint8_t *bytes, int count) {
  uint64_t x = 0;
  memcpy(&x, bytes, (size_t)count);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

/* XXH64 of the specification of xxHash: a checksum of 8 bytes. */
static inline uint64_t csqlite_hash(const void *start, long count, uint64_t seed) {
  const uint64_t p1 = 0x9E3779B185EBCA87u, p2 = 0xC2B2AE3D27D4EB4Fu, p3 = 0x165667B19E3779F9u,
                 p4 = 0x85EBCA77C2B2AE63u, p5 = 0x27D4EB2F165667C5u;
  const uint8_t *at = (const uint8_t *)start;
  long left = count;
  uint64_t hash = seed + p5;
  if (left >= 32) {
    uint64_t lanes[4] = {seed + p1 + p2, seed + p2, seed, seed - p1};
    for (; left >= 32; at += 32, left -= 32) {
      for (int i = 0; i < 4; i++)
        lanes[i] = csqlite_rotate(lanes[i] + csqlite_load(at + 8 * i, 8) * p2, 31) * p1;
    }
    hash = csqlite_rotate(lanes[0], 1) + csqlite_rotate(lanes[1], 7) +
           csqlite_rotate(lanes[2], 12) + csqlite_rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++)
      hash = (hash ^ csqlite_rotate(lanes[i] * p2, 31) * p1) * p1 + p4;
  }
  hash += (uint64_t)count;
  for (; left >= 8; at += 8, left -= 8) {
    hash ^= csqlite_rotate(csqlite_load(at, 8) * p2, 31) * p1;
    hash = csqlite_rotate(hash, 27) * p1 + p4;
  }
  if (left >= 4) {
    hash = csqlite_rotate(hash ^ csqlite_load(at, 4) * p1, 23) * p2 + p3;
    at += 4, left -= 4;
  }
  for (; left > 0; at++, left--) hash = csqlite_rotate(hash ^ *at * p5, 11) * p1;
  hash = (hash ^ hash >> 33) * p2;
  hash = (hash ^ hash >> 29) * p3;
  return hash ^ hash >> 32;
}
