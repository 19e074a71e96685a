/*
 * An arena: memory handed out by moving a pointer and taken back all at once.
 *
 * A message takes a small allocation for each of its strings, sub-messages and arrays. Taking them
 * from an arena is faster than malloc, makes releasing a message one
 * assignment, and puts a bound on what a hostile message can make the process allocate: past
 * `budget` bytes every request fails, and `exhausted` says that this was why.
 *
 * Invariants: `total` never exceeds `budget`. What is allocated after wp_arena_mark() is gone after
 * wp_arena_reset() to that mark, and nothing else is; so uses may nest, in the order of a stack.
 * Every allocation is aligned to 16 bytes. Not thread-safe.
 */
#ifndef WP_ARENA_H
#define WP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct wp_chunk {
  struct wp_chunk *_Nullable previous;
  size_t capacity;
  size_t used;
  /* Makes the header a multiple of 16, so that what follows it is aligned. */
  size_t padding;
} wp_chunk;

typedef struct wp_arena {
  /* Where the next allocation comes from. The first chunk stays for the arena's life. */
  wp_chunk *_Nonnull current;
  /* Bytes handed out and not yet taken back, rounded up to 16 each. */
  size_t total;
  size_t budget;
  /* An allocation failed since this was last cleared. */
  bool exhausted;
} wp_arena;

/* A moment to go back to. */
typedef struct wp_arena_position {
  wp_chunk *_Nonnull chunk;
  size_t used;
  size_t total;
} wp_arena_position;

/* Returns NULL if there is no memory. */
wp_arena *_Nullable wp_arena_new(size_t first_chunk_bytes, size_t budget_bytes);
void wp_arena_free(wp_arena *_Nullable arena);

/* The slow path of wp_arena_alloc: checks the budget and takes another chunk. */
void *_Nullable wp_arena_alloc_slowly(wp_arena *_Nonnull arena, size_t rounded_bytes);

/* Releases the chunks taken since the position. */
void wp_arena_release_chunks(wp_arena *_Nonnull arena, wp_chunk *_Nonnull chunk);

/* Returns NULL past the budget or without memory, and notes it in `exhausted`. Not zeroed. */
static inline void *_Nullable wp_arena_alloc(wp_arena *_Nonnull arena, size_t bytes) {
  size_t rounded = (bytes + 15) & ~(size_t)15;
  wp_chunk *chunk = arena->current;
  if (rounded < bytes || rounded > chunk->capacity - chunk->used
      || rounded > arena->budget - arena->total)
    return wp_arena_alloc_slowly(arena, rounded < bytes ? SIZE_MAX : rounded);
  void *result = (uint8_t *)(chunk + 1) + chunk->used;
  chunk->used += rounded;
  arena->total += rounded;
  return result;
}

/* A NUL-terminated copy of the text. Returns NULL if there is no room, or if the text itself holds a
 * NUL, which sets `has_nul`. */
static inline char *_Nullable wp_arena_text(wp_arena *_Nonnull arena,
                                            const uint8_t *_Nullable bytes, size_t count,
                                            bool *_Nonnull has_nul) {
  if (count > 0 && memchr(bytes, 0, count) != NULL) {
    *has_nul = true;
    return NULL;
  }
  char *copy = (char *)wp_arena_alloc(arena, count + 1);
  if (copy == NULL) return NULL;
  if (count > 0) memcpy(copy, bytes, count);
  copy[count] = 0;
  return copy;
}

static inline size_t wp_text_length(const char *_Nonnull text) { return strlen(text); }

static inline wp_arena_position wp_arena_mark(const wp_arena *_Nonnull arena) {
  wp_arena_position position = {arena->current, arena->current->used, arena->total};
  return position;
}

static inline void wp_arena_reset(wp_arena *_Nonnull arena, wp_arena_position position) {
  if (arena->current != position.chunk) wp_arena_release_chunks(arena, position.chunk);
  position.chunk->used = position.used;
  arena->total = position.total;
  arena->exhausted = false;
}

#endif
