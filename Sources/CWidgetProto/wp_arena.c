#include "wp_arena.h"

#include <stdlib.h>

/* The largest size of a chunk. Chunks double until then, so that a large message takes few. */
static const size_t chunk_bytes_max = 1 << 20;

_Static_assert(sizeof(wp_chunk) % 16 == 0, "what follows the header must be aligned");

static wp_chunk *chunk_new(size_t capacity, wp_chunk *previous) {
  if (capacity > SIZE_MAX - sizeof(wp_chunk)) return NULL;
  wp_chunk *chunk = malloc(sizeof(wp_chunk) + capacity);
  if (chunk == NULL) return NULL;
  chunk->previous = previous;
  chunk->capacity = capacity;
  chunk->used = 0;
  return chunk;
}

wp_arena *wp_arena_new(size_t first_chunk_bytes, size_t budget_bytes) {
  wp_arena *arena = malloc(sizeof *arena);
  wp_chunk *chunk = chunk_new(first_chunk_bytes, NULL);
  if (arena == NULL || chunk == NULL) {
    free(arena);
    free(chunk);
    return NULL;
  }
  arena->current = chunk;
  arena->total = 0;
  arena->budget = budget_bytes;
  arena->exhausted = false;
  return arena;
}

void wp_arena_free(wp_arena *arena) {
  if (arena == NULL) return;
  for (wp_chunk *chunk = arena->current; chunk != NULL;) {
    wp_chunk *previous = chunk->previous;
    free(chunk);
    chunk = previous;
  }
  free(arena);
}

void *wp_arena_alloc_slowly(wp_arena *arena, size_t rounded) {
  if (rounded > arena->budget - arena->total) {
    arena->exhausted = true;
    return NULL;
  }
  size_t capacity = arena->current->capacity * 2;
  if (capacity > chunk_bytes_max) capacity = chunk_bytes_max;
  if (capacity < rounded) capacity = rounded;
  wp_chunk *chunk = chunk_new(capacity, arena->current);
  if (chunk == NULL) {
    arena->exhausted = true;
    return NULL;
  }
  arena->current = chunk;
  chunk->used = rounded;
  arena->total += rounded;
  return chunk + 1;
}

void wp_arena_release_chunks(wp_arena *arena, wp_chunk *chunk) {
  while (arena->current != chunk && arena->current->previous != NULL) {
    wp_chunk *previous = arena->current->previous;
    free(arena->current);
    arena->current = previous;
  }
}
