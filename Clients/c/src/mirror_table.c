/*
 * The widgets of the mirror by id. A hash table with open addressing, and a hash that a peer cannot
 * predict.
 */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

entry **wc_table_slot(const table *in, uint64_t hash, const char *id) {
  size_t mask = in->capacity - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    entry *found = in->slots[at];
    if (found == NULL || (found->hash == hash && strcmp(found->id, id) == 0))
      return &in->slots[at];
  }
}

entry *wc_table_find(const table *in, uint64_t seed, const char *id) {
  return in->count == 0 ? NULL : *wc_table_slot(in, wc_hash(seed, id), id);
}

bool wc_table_reserve(table *in, size_t count) {
  size_t capacity = in->capacity == 0 ? 16 : in->capacity;
  while (capacity / 2 < count) capacity *= 2;
  if (capacity == in->capacity) return true;
  entry **slots = calloc(capacity, sizeof *slots);
  if (slots == NULL) return false;
  for (size_t i = 0; i < in->capacity; i++) {
    if (in->slots[i] == NULL) continue;
    size_t at = in->slots[i]->hash & (capacity - 1);
    while (slots[at] != NULL) at = (at + 1) & (capacity - 1);
    slots[at] = in->slots[i];
  }
  free(in->slots);
  in->slots = slots;
  in->capacity = capacity;
  return true;
}

/* Removes an entry, and moves the entries after it, so that searches still find all of them. */
void wc_table_take_out(table *in, entry *wanted) {
  size_t mask = in->capacity - 1, at = wanted->hash & mask;
  while (in->slots[at] != wanted) at = (at + 1) & mask;
  in->slots[at] = NULL;
  in->count--;
  in->bytes -= wanted->bytes;
  for (size_t next = (at + 1) & mask; in->slots[next] != NULL; next = (next + 1) & mask) {
    size_t home = in->slots[next]->hash & mask;
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    in->slots[at] = in->slots[next];
    in->slots[next] = NULL;
    at = next;
  }
}

void wc_entry_free(entry *old) {
  if (old == NULL) return;
  wc_content_log_free(old->log);
  free(old->nodes);
  wc_free(old->content);
  free(old);
}

void wc_table_clear(table *in) {
  for (size_t i = 0; i < in->capacity; i++) wc_entry_free(in->slots[i]);
  free(in->slots);
  memset(in, 0, sizeof *in);
}

/* The memory that a widget takes. Its content is not measured again. */
size_t wc_entry_cost(const entry *held) {
  Widgetd__V1__Content *content = held->content->content;
  held->content->content = NULL;
  size_t bytes = wc_message_cost(&held->content->base) + wc_content_cost(held->nodes);
  held->content->content = content;
  return bytes;
}
