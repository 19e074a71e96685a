/*
 * The content of a widget, updated by each change of it.
 *
 * A change names nodes to set and to remove. Other nodes stay. Afterwards the nodes are those that
 * the tree reaches from its top, each before its children, in the order of the tree. The others are
 * dropped. A node is in the result once, also if hostile input has cycles or missing children.
 *
 * Beside each content is a table of the places of its nodes by id. Most changes set existing nodes
 * and keep their children. They replace only these nodes, so they cost as much as the change. A
 * changed tree changes the order of the list that programs read. It costs as much as the content,
 * without sorting.
 *
 * A log records which nodes differ after a change set. It takes over the nodes that are no longer
 * shown, so that their ids live until all listeners were notified. It has the former nodes
 * (`before`) only if the tree changed, or nodes changed twice. Otherwise the nodes that it took
 * over suffice.
 *
 * All steps that can fail are in `wc_content_make_plan`, which changes nothing visible. Later steps
 * cannot fail.
 */
#include "content.h"

#include <stdlib.h>
#include <string.h>

static size_t table_bytes(size_t capacity, size_t count) {
  return sizeof(wc_content_table) + (capacity + count) * sizeof(uint32_t);
}

size_t wc_content_table_bytes(const wc_content_table *table) {
  return table_bytes(table->capacity, table->count);
}

static wc_content_table *table_new(uint64_t seed, size_t count) {
  size_t capacity = 8;
  while (capacity / 2 < count) capacity *= 2;
  wc_content_table *table = malloc(table_bytes(capacity, count));
  if (table == NULL) return NULL;
  *table = (wc_content_table){.seed = seed, .capacity = capacity, .count = count};
  table->parents = table->slots + capacity;
  memset(table->slots, 0, capacity * sizeof *table->slots);
  return table;
}

/* The slot of the id, or the slot where it can be inserted. */
static uint32_t *slot_of(wc_content_table *table, node *const *nodes, const char *id) {
  size_t mask = table->capacity - 1;
  for (size_t at = wc_hash(table->seed, id) & mask;; at = (at + 1) & mask) {
    uint32_t *slot = &table->slots[at];
    if (*slot == 0 || strcmp(nodes[*slot - 1]->id, id) == 0) return slot;
  }
}

uint32_t wc_content_place(const wc_content_table *table, node *const *nodes, const char *id) {
  if (table == NULL) return NONE;
  uint32_t slot = *slot_of((wc_content_table *)table, nodes, id);
  return slot == 0 ? NONE : slot - 1;
}

const node *wc_content_find(const Widgetd__V1__Content *content, const wc_content_table *table,
                            const char *id) {
  uint32_t place = wc_content_place(table, content->nodes, id == NULL ? content->root_id : id);
  return place == NONE ? NULL : content->nodes[place];
}

size_t wc_content_cost(const wc_content_table *table) { return table == NULL ? 0 : table->bytes; }

/* A node that is to be visited, and the place of its parent. */
typedef struct step {
  const char *id;
  uint32_t parent;
} step;

wc_content_table *wc_content_walk(node *const *nodes, size_t count, bool *stays,
                                  const char *root_id, uint64_t seed, node **list, size_t *listed) {
  size_t edges = 1, depth = 0;
  for (size_t i = 0; i < count; i++) edges += nodes[i]->n_child_ids;
  wc_content_table *all = table_new(seed, count), *table = NULL;
  step *waiting = malloc(edges * sizeof *waiting);
  uint32_t *parents = malloc((count + 1) * sizeof *parents);
  *listed = 0;
  if (all == NULL || waiting == NULL || parents == NULL) goto done;
  for (size_t i = 0; i < count; i++) *slot_of(all, nodes, nodes[i]->id) = (uint32_t)i + 1;
  waiting[depth++] = (step){root_id, NONE};
  while (depth > 0) {
    step next = waiting[--depth];
    uint32_t found = wc_content_place(all, nodes, next.id);
    if (found == NONE || stays[found]) continue;
    stays[found] = true;
    parents[*listed] = next.parent;
    for (size_t i = nodes[found]->n_child_ids; i > 0; i--)
      waiting[depth++] = (step){nodes[found]->child_ids[i - 1], (uint32_t)*listed};
    list[(*listed)++] = nodes[found];
  }
  table = table_new(seed, *listed);
  if (table == NULL) {
    *listed = 0;
    goto done;
  }
  for (size_t i = 0; i < *listed; i++) {
    *slot_of(table, list, list[i]->id) = (uint32_t)i + 1;
    table->parents[i] = parents[i];
  }
done:
  free(parents);
  free(waiting);
  free(all);
  return table;
}

wc_content_table *wc_content_index(Widgetd__V1__Content *content, uint64_t seed) {
  size_t count = content->n_nodes, listed;
  node **list = malloc((count + 1) * sizeof *list);
  bool *stays = calloc(count + 1, sizeof *stays);
  wc_content_table *table = NULL;
  if (list != NULL && stays != NULL)
    table = wc_content_walk(content->nodes, count, stays, content->root_id, seed, list, &listed);
  if (table != NULL) {
    for (size_t i = 0; i < count; i++)
      if (!stays[i]) wc_free(content->nodes[i]);
    free(content->nodes);
    content->nodes = list;
    content->n_nodes = listed;
    list = NULL;
    table->bytes = wc_message_cost(&content->base) + wc_content_table_bytes(table);
  }
  free(stays);
  free(list);
  return table;
}
