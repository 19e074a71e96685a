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
#include "internal.h"

#include <stdlib.h>
#include <string.h>

typedef Widgetd__V1__Node node;

#define NONE UINT32_MAX

/* Places by id, with open addressing: a slot is the place and one, or 0; at most half are in use. */
struct wc_content_table {
  uint64_t seed;
  size_t capacity, count;
  /* The memory that the content and this take. */
  size_t bytes;
  /* The place of each node's parent; NONE for the top. */
  uint32_t *parents;
  uint32_t slots[];
};

struct wc_content_log {
  /* Nodes that are no longer shown. While `has_before` is false, the places where they were. */
  node **dead;
  uint32_t *places;
  size_t dead_count, dead_capacity;
  /* The former content: whether there was one, its nodes, and its table. The table is NULL while it
   * is that of the shown content. */
  bool has_before, had_content;
  node **before;
  size_t n_before;
  char *root_before;
  wc_content_table *table_before;
};

/* --- The table --- */

static size_t table_bytes(size_t capacity, size_t count) {
  return sizeof(wc_content_table) + (capacity + count) * sizeof(uint32_t);
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

/* Where the id is, or would be. */
static uint32_t *slot_of(wc_content_table *table, node *const *nodes, const char *id) {
  size_t mask = table->capacity - 1;
  for (size_t at = wc_hash(table->seed, id) & mask;; at = (at + 1) & mask) {
    uint32_t *slot = &table->slots[at];
    if (*slot == 0 || strcmp(nodes[*slot - 1]->id, id) == 0) return slot;
  }
}

static uint32_t place_of(const wc_content_table *table, node *const *nodes, const char *id) {
  if (table == NULL) return NONE;
  uint32_t slot = *slot_of((wc_content_table *)table, nodes, id);
  return slot == 0 ? NONE : slot - 1;
}

const node *wc_content_find(const Widgetd__V1__Content *content, const wc_content_table *table,
                            const char *id) {
  uint32_t place = place_of(table, content->nodes, id == NULL ? content->root_id : id);
  return place == NONE ? NULL : content->nodes[place];
}

size_t wc_content_cost(const wc_content_table *table) { return table == NULL ? 0 : table->bytes; }

/* A node that is to be visited, and the place of its parent. */
typedef struct step {
  const char *id;
  uint32_t parent;
} step;

/*
 * Lists the nodes that the tree reaches, of `count` nodes of which the last with an id counts. Those
 * with `stays` are left out, and it is set for those that are listed. Returns the table of the list;
 * NULL without memory, with nothing listed.
 */
static wc_content_table *walk(node *const *nodes, size_t count, bool *stays, const char *root_id,
                              uint64_t seed, node **list, size_t *listed) {
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
    uint32_t found = place_of(all, nodes, next.id);
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
    table = walk(content->nodes, count, stays, content->root_id, seed, list, &listed);
  if (table != NULL) {
    for (size_t i = 0; i < count; i++)
      if (!stays[i]) wc_free(content->nodes[i]);
    free(content->nodes);
    content->nodes = list;
    content->n_nodes = listed;
    list = NULL;
    table->bytes = wc_message_cost(&content->base) + table_bytes(table->capacity, table->count);
  }
  free(stays);
  free(list);
  return table;
}

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

/* Makes room for nodes that will be dead. */
static bool log_reserve(wc_content_log **log, size_t count) {
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

/* Keeps the content as it was before the log began. `held` and `table` are the shown content. */
static bool log_keep(wc_content_log *log, const Widgetd__V1__Content *held) {
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

/* Takes over the table of the former content. The shown content has another one from now on. */
static void log_table(wc_content_log *log, wc_content_table *table) {
  if (log->had_content && log->table_before == NULL) log->table_before = table;
  else free(table);
}

bool wc_content_replace(wc_content_log **log, Widgetd__V1__Content *held,
                        wc_content_table **table) {
  size_t count = held == NULL ? 0 : held->n_nodes;
  if (!log_reserve(log, count) || !log_keep(*log, held)) return false;
  for (size_t i = 0; i < count; i++) (*log)->dead[(*log)->dead_count++] = held->nodes[i];
  if (held != NULL) held->n_nodes = 0;
  log_table(*log, *table);
  *table = NULL;
  return true;
}

/* --- Changes --- */

static bool same_children(const node *a, const node *b) {
  if (a->n_child_ids != b->n_child_ids) return false;
  for (size_t i = 0; i < a->n_child_ids; i++)
    if (strcmp(a->child_ids[i], b->child_ids[i]) != 0) return false;
  return true;
}

void wc_content_plan_free(wc_content_plan *plan) {
  free(plan->places);
  free(plan->nodes);
  free(plan->stays);
  free(plan->made);
  free(plan->table);
  memset(plan, 0, sizeof *plan);
}

/* Plans a change that leaves the tree as it is: every node that is set replaces one with the same id
 * and the same children. False, with `places` unset, if the change is another one. */
static bool plan_in_place(wc_content_plan *plan, const Widgetd__V1__Content *held,
                          const wc_content_table *table,
                          const Widgetd__V1__ContentChange *change) {
  if (held == NULL || change->replace || change->n_removed_node_ids > 0
      || (change->root_id[0] != 0 && strcmp(change->root_id, held->root_id) != 0))
    return false;
  uint32_t *places = malloc((change->n_set_nodes + 1) * sizeof *places);
  bool *seen = calloc(held->n_nodes + 1, sizeof *seen), fits = places != NULL && seen != NULL;
  for (size_t i = 0; fits && i < change->n_set_nodes; i++) {
    const node *new = change->set_nodes[i];
    uint32_t at = place_of(table, held->nodes, new->id);
    /* A node that is set twice is for the general case. */
    fits = at != NONE && !seen[at] && same_children(held->nodes[at], new);
    if (!fits) break;
    seen[at] = true;
    places[i] = at;
  }
  free(seen);
  if (!fits) free(places);
  else plan->places = places;
  return fits;
}

/* Plans any change: lists the nodes that will be there. */
static bool plan_tree(wc_content_plan *plan, const Widgetd__V1__Content *held,
                      const wc_content_table *table, const Widgetd__V1__ContentChange *change,
                      uint64_t seed) {
  const char *root_id = change->root_id;
  if (root_id[0] == 0 && !change->replace && held != NULL) root_id = held->root_id;
  size_t n_held = held == NULL ? 0 : held->n_nodes, total = n_held + change->n_set_nodes;
  node **all = malloc((total + 1) * sizeof *all);
  plan->stays = calloc(total + 1, sizeof *plan->stays);
  plan->nodes = malloc((total + 1) * sizeof *plan->nodes);
  plan->made = held == NULL ? malloc(sizeof *plan->made) : NULL;
  bool ready = all != NULL && plan->stays != NULL && plan->nodes != NULL
               && (held != NULL || plan->made != NULL);
  plan->stays_none = root_id[0] == 0;
  if (ready && !plan->stays_none) {
    if (n_held > 0) memcpy(all, held->nodes, n_held * sizeof *all);
    if (change->n_set_nodes > 0)
      memcpy(all + n_held, change->set_nodes, change->n_set_nodes * sizeof *all);
    /* Nodes to leave out are marked as if they were listed already. */
    for (size_t i = 0; change->replace && i < n_held; i++) plan->stays[i] = true;
    for (size_t i = 0; i < change->n_removed_node_ids && held != NULL; i++) {
      uint32_t at = place_of(table, held->nodes, change->removed_node_ids[i]);
      if (at != NONE) plan->stays[at] = true;
    }
    bool *left_out = malloc((n_held + 1) * sizeof *left_out);
    ready = left_out != NULL;
    if (ready && n_held > 0) memcpy(left_out, plan->stays, n_held * sizeof *left_out);
    if (ready)
      plan->table = walk(all, total, plan->stays, root_id, seed, plan->nodes, &plan->n_nodes);
    ready = plan->table != NULL;
    for (size_t i = 0; ready && i < n_held; i++)
      if (left_out[i]) plan->stays[i] = false;
    free(left_out);
  }
  free(all);
  return ready;
}

bool wc_content_make_plan(wc_content_plan *plan, const Widgetd__V1__Content *held,
                          const wc_content_table *table, const Widgetd__V1__ContentChange *change,
                          uint64_t seed, wc_content_log **log) {
  memset(plan, 0, sizeof *plan);
  if (change == NULL) return true;
  bool ready;
  if (plan_in_place(plan, held, table, change)) {
    /* Nodes that change again: their former state has another place in the log. */
    bool again = *log != NULL && (*log)->dead_count > 0;
    ready = log_reserve(log, change->n_set_nodes) && (!again || log_keep(*log, held));
  } else {
    ready = plan_tree(plan, held, table, change, seed)
            && log_reserve(log, held == NULL ? 0 : held->n_nodes) && log_keep(*log, held);
  }
  if (!ready) wc_content_plan_free(plan);
  return ready;
}

static void take_root(Widgetd__V1__Content *held, const Widgetd__V1__ContentChange *change) {
  if (change->root_id[0] == 0) return;
  if (held->root_id != (char *)protobuf_c_empty_string) free(held->root_id);
  held->root_id = change->root_id;
}

static void replace_in_place(const wc_content_plan *plan, Widgetd__V1__Content *held,
                             wc_content_table *table, const Widgetd__V1__ContentChange *change,
                             wc_content_log *log) {
  for (size_t i = 0; i < change->n_set_nodes; i++) {
    uint32_t at = plan->places[i];
    table->bytes += wc_message_cost(&change->set_nodes[i]->base);
    table->bytes -= wc_message_cost(&held->nodes[at]->base);
    log->places[log->dead_count] = at;
    log->dead[log->dead_count++] = held->nodes[at];
    held->nodes[at] = change->set_nodes[i];
  }
  take_root(held, change);
}

void wc_content_carry_out(wc_content_plan *plan, Widgetd__V1__Content **content,
                          wc_content_table **table, Widgetd__V1__ContentChange *change,
                          wc_content_log *log) {
  if (change == NULL) return;
  Widgetd__V1__Content *held = *content;
  if (plan->places != NULL) {
    replace_in_place(plan, held, *table, change, log);
    wc_content_plan_free(plan);
    return;
  }
  size_t n_held = held == NULL ? 0 : held->n_nodes, moved = 0;
  size_t bytes = *table == NULL ? sizeof **content
                                : (*table)->bytes - table_bytes((*table)->capacity, (*table)->count);
  const bool *is_new = plan->stays + n_held;
  for (size_t i = 0; i < n_held; i++) {
    if (plan->stays[i]) continue;
    bytes -= wc_message_cost(&held->nodes[i]->base) + sizeof *held->nodes;
    log->dead[log->dead_count++] = held->nodes[i];
  }
  for (size_t i = 0; i < change->n_set_nodes; i++) {
    if (is_new[i]) {
      bytes += wc_message_cost(&change->set_nodes[i]->base) + sizeof *held->nodes;
      change->set_nodes[moved++] = change->set_nodes[i];
    } else {
      wc_free(change->set_nodes[i]);
    }
  }
  change->n_set_nodes = moved;
  if (held != NULL) {
    free(held->nodes);
    held->nodes = NULL;
    held->n_nodes = 0;
  }
  log_table(log, *table);
  *table = NULL;
  if (plan->stays_none) {
    wc_free(held);
    *content = NULL;
  } else {
    if (held == NULL) {
      held = plan->made;
      plan->made = NULL;
      widgetd__v1__content__init(held);
      *content = held;
    }
    held->nodes = plan->nodes;
    held->n_nodes = plan->n_nodes;
    plan->nodes = NULL;
    *table = plan->table;
    plan->table = NULL;
    (*table)->bytes = bytes + table_bytes((*table)->capacity, (*table)->count);
    take_root(held, change);
  }
  wc_content_plan_free(plan);
}

void wc_content_disown(Widgetd__V1__ContentChange *change) {
  if (change == NULL) return;
  for (size_t i = 0; i < change->n_set_nodes; i++) change->set_nodes[i] = NULL;
  if (change->root_id != NULL && change->root_id[0] != 0) change->root_id = NULL;
}

/* --- What differs --- */

/* By their bytes; equal properties in another order count as another node. */
static bool same_node(const node *a, const node *b) {
  if (a == b) return true;
  size_t size = protobuf_c_message_get_packed_size(&a->base);
  if (size != protobuf_c_message_get_packed_size(&b->base)) return false;
  uint8_t *bytes = malloc(2 * size + 1);
  /* Drawing a node again does no harm. */
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
  /* For each node of now: its place before, its place among the siblings that stayed. For each before:
   * whether it has the same parent, such a place; and how many children with a place there are. */
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
    old[i] = place_of(before.table, before.nodes, now.nodes[i]->id);
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
