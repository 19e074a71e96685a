/*
 * What a widget shows, kept true by the changes that come of it.
 *
 * A change names nodes to set and to remove; what it does not name stays. Afterwards the nodes are
 * those that the tree reaches from its top, each before its children, in the order of the tree; the
 * rest is dropped. Whatever a stranger sends, circles and children that are not there included, a
 * node is in the result once, and the work is that of sorting the nodes.
 *
 * Everything that can fail is done in `wc_content_plan`, which changes nothing; what follows cannot.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

typedef Widgetd__V1__Node node;

/* A node that was there, a removal (no node), or a node that is set, in this order. */
typedef struct place {
  const char *id;
  node *content;
  size_t order;
} place;

static int compare_places(const void *a, const void *b) {
  const place *left = a, *right = b;
  int by_id = strcmp(left->id, right->id);
  return by_id != 0 ? by_id : left->order < right->order ? -1 : 1;
}

static int compare_id(const void *id, const void *at) { return strcmp(id, ((const place *)at)->id); }

/* Puts the nodes that the tree reaches into the plan. `places` has each id once, sorted. */
static void reach(wc_content_plan *plan, const place *places, size_t count, const char *root_id,
                  const char **waiting) {
  size_t depth = 0;
  waiting[depth++] = root_id;
  while (depth > 0) {
    const char *id = waiting[--depth];
    const place *found = count == 0 ? NULL : bsearch(id, places, count, sizeof *places, compare_id);
    if (found == NULL || found->content == NULL || plan->stays[found->order]) continue;
    plan->stays[found->order] = true;
    plan->nodes[plan->n_nodes++] = found->content;
    for (size_t i = found->content->n_child_ids; i > 0; i--)
      waiting[depth++] = found->content->child_ids[i - 1];
  }
}

static bool same_children(const node *a, const node *b) {
  if (a->n_child_ids != b->n_child_ids) return false;
  for (size_t i = 0; i < a->n_child_ids; i++)
    if (strcmp(a->child_ids[i], b->child_ids[i]) != 0) return false;
  return true;
}

/* More nodes than these are looked up in a sorted list, which is faster then. */
enum { replaced_max = 8 };

/*
 * Plans a change that leaves the tree as it is: every node that is set replaces one with the same id
 * and the same children. Most changes are of this kind, and cost no sorting. Returns false, with
 * nothing allocated, if the change is another one or memory is used up.
 */
static bool plan_replacements(wc_content_plan *plan, const Widgetd__V1__Content *held,
                              const Widgetd__V1__ContentChange *change) {
  if (held == NULL || change->replace || change->n_removed_node_ids > 0
      || change->n_set_nodes > replaced_max
      || (change->root_id[0] != 0 && strcmp(change->root_id, held->root_id) != 0))
    return false;
  size_t n_held = held->n_nodes, total = n_held + change->n_set_nodes;
  plan->stays = malloc((total + 1) * sizeof *plan->stays);
  plan->nodes = malloc((n_held + 1) * sizeof *plan->nodes);
  bool fits = plan->stays != NULL && plan->nodes != NULL;
  for (size_t i = 0; fits && i < total; i++) plan->stays[i] = true;
  if (fits && n_held > 0) memcpy(plan->nodes, held->nodes, n_held * sizeof *plan->nodes);
  for (size_t i = 0; fits && i < change->n_set_nodes; i++) {
    node *new = change->set_nodes[i];
    size_t at = 0;
    while (at < n_held && strcmp(held->nodes[at]->id, new->id) != 0) at++;
    /* A node that is set twice is for the general case. */
    fits = at < n_held && plan->stays[at] && same_children(held->nodes[at], new);
    if (!fits) break;
    plan->stays[at] = false;
    plan->nodes[at] = new;
  }
  plan->n_nodes = n_held;
  if (!fits) wc_content_plan_free(plan);
  return fits;
}

void wc_content_plan_free(wc_content_plan *plan) {
  free(plan->nodes);
  free(plan->stays);
  free(plan->made);
  memset(plan, 0, sizeof *plan);
}

bool wc_content_make_plan(wc_content_plan *plan, const Widgetd__V1__Content *held,
                          const Widgetd__V1__ContentChange *change) {
  memset(plan, 0, sizeof *plan);
  if (change == NULL) return true;
  if (plan_replacements(plan, held, change)) return true;
  const char *root_id = change->root_id;
  if (root_id[0] == 0 && !change->replace && held != NULL) root_id = held->root_id;
  size_t n_held = held == NULL ? 0 : held->n_nodes, kept = change->replace ? 0 : n_held;
  size_t total = n_held + change->n_removed_node_ids + change->n_set_nodes, count = 0, unique = 0;
  size_t edges = 0;
  place *places = malloc((total + 1) * sizeof *places);
  plan->stays = calloc(total + 1, sizeof *plan->stays);
  plan->nodes = malloc((n_held + change->n_set_nodes + 1) * sizeof *plan->nodes);
  plan->made = held == NULL ? malloc(sizeof *plan->made) : NULL;
  bool ready = places != NULL && plan->stays != NULL && plan->nodes != NULL
               && (held != NULL || plan->made != NULL);
  for (size_t i = 0; ready && i < kept; i++)
    places[count++] = (place){held->nodes[i]->id, held->nodes[i], i};
  for (size_t i = 0; ready && i < change->n_removed_node_ids; i++)
    places[count++] = (place){change->removed_node_ids[i], NULL, n_held + i};
  for (size_t i = 0; ready && i < change->n_set_nodes; i++) {
    size_t order = n_held + change->n_removed_node_ids + i;
    places[count++] = (place){change->set_nodes[i]->id, change->set_nodes[i], order};
  }
  if (ready) qsort(places, count, sizeof *places, compare_places);
  for (size_t i = 0; ready && i < count; i++) {
    if (i + 1 < count && strcmp(places[i].id, places[i + 1].id) == 0) continue;
    places[unique++] = places[i];
    if (places[i].content != NULL) edges += places[i].content->n_child_ids;
  }
  const char **waiting = ready ? malloc((edges + 1) * sizeof *waiting) : NULL;
  ready = waiting != NULL;
  plan->stays_none = root_id[0] == 0;
  if (ready && !plan->stays_none) reach(plan, places, unique, root_id, waiting);
  free(waiting);
  free(places);
  if (!ready) wc_content_plan_free(plan);
  return ready;
}

void wc_content_carry_out(wc_content_plan *plan, Widgetd__V1__Content **content,
                          Widgetd__V1__ContentChange *change) {
  if (change == NULL) return;
  Widgetd__V1__Content *held = *content;
  size_t n_held = held == NULL ? 0 : held->n_nodes, moved = 0;
  const bool *is_new = plan->stays + n_held + change->n_removed_node_ids;
  for (size_t i = 0; i < n_held; i++)
    if (!plan->stays[i]) wc_free(held->nodes[i]);
  for (size_t i = 0; i < change->n_set_nodes; i++) {
    if (is_new[i]) change->set_nodes[moved++] = change->set_nodes[i];
    else wc_free(change->set_nodes[i]);
  }
  change->n_set_nodes = moved;
  if (held != NULL) {
    free(held->nodes);
    held->nodes = NULL;
    held->n_nodes = 0;
  }
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
    if (change->root_id[0] != 0) {
      if (held->root_id != (char *)protobuf_c_empty_string) free(held->root_id);
      held->root_id = change->root_id;
    }
  }
  wc_content_plan_free(plan);
}

void wc_content_disown(Widgetd__V1__ContentChange *change) {
  if (change == NULL) return;
  for (size_t i = 0; i < change->n_set_nodes; i++) change->set_nodes[i] = NULL;
  if (change->root_id != NULL && change->root_id[0] != 0) change->root_id = NULL;
}
