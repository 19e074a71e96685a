/*
 * A change of a content. The plan can fail, but carrying it out cannot.
 */
#include "content.h"

#include <stdlib.h>
#include <string.h>

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
    uint32_t at = wc_content_place(table, held->nodes, new->id);
    /* The general case handles a node that is set twice. */
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

/* Plans any change: lists the nodes after the change. */
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
      uint32_t at = wc_content_place(table, held->nodes, change->removed_node_ids[i]);
      if (at != NONE) plan->stays[at] = true;
    }
    bool *left_out = malloc((n_held + 1) * sizeof *left_out);
    ready = left_out != NULL;
    if (ready && n_held > 0) memcpy(left_out, plan->stays, n_held * sizeof *left_out);
    if (ready)
      plan->table =
          wc_content_walk(all, total, plan->stays, root_id, seed, plan->nodes, &plan->n_nodes);
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
    ready = wc_content_log_reserve(log, change->n_set_nodes)
            && (!again || wc_content_log_keep(*log, held));
  } else {
    ready = plan_tree(plan, held, table, change, seed)
            && wc_content_log_reserve(log, held == NULL ? 0 : held->n_nodes)
            && wc_content_log_keep(*log, held);
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
                                : (*table)->bytes - wc_content_table_bytes(*table);
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
  wc_content_log_table(log, *table);
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
    (*table)->bytes = bytes + wc_content_table_bytes(*table);
    take_root(held, change);
  }
  wc_content_plan_free(plan);
}

void wc_content_disown(Widgetd__V1__ContentChange *change) {
  if (change == NULL) return;
  for (size_t i = 0; i < change->n_set_nodes; i++) change->set_nodes[i] = NULL;
  if (change->root_id != NULL && change->root_id[0] != 0) change->root_id = NULL;
}
