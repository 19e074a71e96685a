/*
 * The log of a content in one change set, and the nodes that differ.
 */
#include "content.h"

#include <stdlib.h>
#include <string.h>

/* --- The log --- */

void wc_content_log_free(wc_content_log *log) {
  if (log == NULL) return;
  for (size_t i = 0; i < log->dead_count; i++) wc_free(log->dead[i]);
  free(log->dead);
  free(log->places);
  free(log->before);
  free(log->root_before);
  free(log->table_before);
  free(log);
}

bool wc_content_log_reserve(wc_content_log **log, size_t count) {
  if (*log == NULL && (*log = calloc(1, sizeof **log)) == NULL) return false;
  size_t capacity = (*log)->dead_count + count;
  if (capacity <= (*log)->dead_capacity) return true;
  node **dead = realloc((*log)->dead, capacity * sizeof *dead);
  if (dead == NULL) return false;
  (*log)->dead = dead;
  uint32_t *places = realloc((*log)->places, capacity * sizeof *places);
  if (places == NULL) return false;
  (*log)->places = places;
  (*log)->dead_capacity = capacity;
  return true;
}

bool wc_content_log_keep(wc_content_log *log, const Widgetd__V1__Content *held) {
  if (log->has_before) return true;
  size_t count = held == NULL ? 0 : held->n_nodes;
  log->before = malloc((count + 1) * sizeof *log->before);
  log->root_before = strdup(held == NULL ? "" : held->root_id);
  if (log->before == NULL || log->root_before == NULL) {
    free(log->before);
    free(log->root_before);
    log->before = NULL;
    log->root_before = NULL;
    return false;
  }
  if (count > 0) memcpy(log->before, held->nodes, count * sizeof *log->before);
  for (size_t i = log->dead_count; i > 0; i--) log->before[log->places[i - 1]] = log->dead[i - 1];
  log->n_before = count;
  log->had_content = held != NULL;
  log->has_before = true;
  return true;
}

void wc_content_log_table(wc_content_log *log, wc_content_table *table) {
  if (log->had_content && log->table_before == NULL) log->table_before = table;
  else free(table);
}

bool wc_content_replace(wc_content_log **log, Widgetd__V1__Content *held,
                        wc_content_table **table) {
  size_t count = held == NULL ? 0 : held->n_nodes;
  if (!wc_content_log_reserve(log, count) || !wc_content_log_keep(*log, held)) return false;
  for (size_t i = 0; i < count; i++) (*log)->dead[(*log)->dead_count++] = held->nodes[i];
  if (held != NULL) held->n_nodes = 0;
  wc_content_log_table(*log, *table);
  *table = NULL;
  return true;
}

/* --- What differs --- */

/* Nodes are compared by their bytes. Equal properties in another order count as a difference. */
static bool same_node(const node *a, const node *b) {
  if (a == b) return true;
  size_t size = protobuf_c_message_get_packed_size(&a->base);
  if (size != protobuf_c_message_get_packed_size(&b->base)) return false;
  uint8_t *bytes = malloc(2 * size + 1);
  /* A difference too many only draws a node again. */
  if (bytes == NULL) return false;
  protobuf_c_message_pack(&a->base, bytes);
  protobuf_c_message_pack(&b->base, bytes + size);
  bool same = memcmp(bytes, bytes + size, size) == 0;
  free(bytes);
  return same;
}

typedef struct side {
  node *const *nodes;
  size_t count;
  const wc_content_table *table;
  /* NULL for no content. */
  const char *root_id;
} side;

static side side_of(const Widgetd__V1__Content *content, const wc_content_table *table) {
  if (content == NULL) return (side){0};
  return (side){content->nodes, content->n_nodes, table, content->root_id};
}

static void add(wc_node_ids *to, const char *id) { ((const char **)to->ids)[to->count++] = id; }

/* The ids that may be in `changes`, to be freed with free(3); NULL without memory. */
static void *new_changes(wc_content_changes *changes, size_t before, size_t now) {
  const char **ids = malloc((before + 3 * now + 1) * sizeof *ids);
  if (ids == NULL) return NULL;
  *changes = (wc_content_changes){.changed.ids = ids,
                                  .inserted.ids = ids + now,
                                  .moved.ids = ids + 2 * now,
                                  .removed.ids = ids + 3 * now};
  return ids;
}

static bool compare(side before, side now, wc_content_changes *changes, void **memory) {
  /* For each present node: its former place, and its place among the siblings that stayed. For
   * each former node: whether it has the same parent, and its place among the siblings that
   * stayed. The number of children with such a place. */
  uint32_t *numbers = calloc(3 * (before.count + now.count) + 1, sizeof *numbers);
  *memory = new_changes(changes, before.count, now.count);
  if (numbers == NULL || *memory == NULL) {
    free(numbers);
    free(*memory);
    *memory = NULL;
    return false;
  }
  uint32_t *old = numbers, *rank = old + now.count, *children = rank + now.count;
  uint32_t *kept = children + now.count, *old_rank = kept + before.count;
  uint32_t *old_children = old_rank + before.count;
  enum { gone = 0, is_there = 1, same_parent = 2 };
  changes->root_changed =
      (before.root_id == NULL) != (now.root_id == NULL)
      || (now.root_id != NULL && strcmp(before.root_id, now.root_id) != 0);
  for (size_t i = 0; i < now.count; i++) {
    old[i] = wc_content_place(before.table, before.nodes, now.nodes[i]->id);
    if (old[i] == NONE) {
      add(&changes->inserted, now.nodes[i]->id);
      continue;
    }
    if (!same_node(before.nodes[old[i]], now.nodes[i]))
      add(&changes->changed, now.nodes[i]->id);
    uint32_t parent = now.table->parents[i], old_parent = before.table->parents[old[i]];
    kept[old[i]] = (parent == NONE ? NONE : old[parent]) == old_parent
                           && (parent == NONE) == (old_parent == NONE)
                       ? same_parent
                       : is_there;
    if (kept[old[i]] == same_parent && parent != NONE) rank[i] = children[parent]++;
  }
  for (size_t i = 0; i < before.count; i++) {
    if (kept[i] == gone) add(&changes->removed, before.nodes[i]->id);
    uint32_t parent = before.table->parents[i];
    if (kept[i] == same_parent && parent != NONE) old_rank[i] = old_children[parent]++;
  }
  for (size_t i = 0; i < now.count; i++) {
    if (old[i] == NONE || (kept[old[i]] == same_parent && rank[i] == old_rank[old[i]])) continue;
    add(&changes->moved, now.nodes[i]->id);
  }
  free(numbers);
  return true;
}

bool wc_content_compare(const Widgetd__V1__Content *before, const wc_content_table *table_before,
                        const Widgetd__V1__Content *now, const wc_content_table *table,
                        wc_content_changes *changes, void **memory) {
  return compare(side_of(before, table_before), side_of(now, table), changes, memory);
}

bool wc_content_changes_since(const wc_content_log *log, const Widgetd__V1__Content *now,
                              const wc_content_table *table, wc_content_changes *changes,
                              void **memory) {
  if (log->has_before) {
    side before = {log->before, log->n_before,
                   log->table_before != NULL || !log->had_content ? log->table_before : table,
                   log->had_content ? log->root_before : NULL};
    return compare(before, side_of(now, table), changes, memory);
  }
  *memory = new_changes(changes, 0, log->dead_count);
  if (*memory == NULL) return false;
  for (size_t i = 0; i < log->dead_count; i++) {
    const node *new = now->nodes[log->places[i]];
    if (!same_node(log->dead[i], new)) add(&changes->changed, new->id);
  }
  return true;
}

bool wc_content_is_changed(const wc_content_changes *changes) {
  return changes->root_changed || changes->changed.count > 0 || changes->inserted.count > 0
         || changes->removed.count > 0 || changes->moved.count > 0;
}
