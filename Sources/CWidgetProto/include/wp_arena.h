/*
 * An arena: an allocation moves a pointer, and one reset frees all allocations.
 *
 * A message takes a small allocation for each of its strings, sub-messages and arrays. An arena is
 * faster than malloc, and frees a message with one assignment. It also bounds the memory that a
 * hostile message can take: above `budget` bytes every allocation fails, and `exhausted` is true.
 *
 * Invariants: `total` never exceeds `budget`. wp_arena_reset() to a mark frees exactly the
 * allocations after that wp_arena_mark(). So uses may nest, like a stack.
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
  /* Makes the header a multiple of 16, so that the bytes after it are aligned. */
  size_t padding;
} wp_chunk;

typedef struct wp_arena {
  /* The chunk of the next allocation. The first chunk stays for the arena's life. */
  wp_chunk *_Nonnull current;
  /* The size of the present allocations, each rounded up to 16 bytes. */
  size_t total;
  size_t budget;
  /* Whether an allocation failed since the last wp_arena_reset. */
  bool exhausted;
} wp_arena;

/* A position for wp_arena_reset. */
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

/* Frees the chunks that were added after the position. */
void wp_arena_release_chunks(wp_arena *_Nonnull arena, wp_chunk *_Nonnull chunk);

/* Returns NULL, and sets `exhausted`, above the budget or without memory. Not zeroed. */
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

/* A NUL-terminated copy of the text. Returns NULL if there is no room. Returns NULL and sets
 * `has_nul` if the text has a NUL. */
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
