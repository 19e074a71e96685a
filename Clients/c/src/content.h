/*
 * The parts of a content, which its files share. Nothing here is for other files. Each of these
 * layers uses only those above it:
 *
 *   content         the table of the nodes, and the nodes that a tree reaches
 *   content_log     the former nodes, and which nodes differ
 *   content_plan    a change of the content
 */
#ifndef WC_CONTENT_H
#define WC_CONTENT_H

#include "internal.h"

typedef Widgetd__V1__Node node;

#define NONE UINT32_MAX

/* --- content.c --- */

/* Places by id, with open addressing: a slot is the place and one, or 0; at most half are in use. */
struct wc_content_table {
  uint64_t seed;
  size_t capacity, count;
  /* The memory of the content and of this struct. */
  size_t bytes;
  /* The place of each node's parent; NONE for the top. */
  uint32_t *parents;
  uint32_t slots[];
};

/* The memory that a table takes without its content. */
size_t wc_content_table_bytes(const wc_content_table *table);
/* The place of a node; NONE if there is no such node, or no table. */
uint32_t wc_content_place(const wc_content_table *table, node *const *nodes, const char *id);
/* Lists the nodes that the tree reaches, of `count` nodes. If two have the same id, the last one
 * counts. Nodes with `stays` are left out, and it is set for those that are listed. Returns the
 * table of the list. NULL without memory, with nothing listed. */
wc_content_table *wc_content_walk(node *const *nodes, size_t count, bool *stays,
                                  const char *root_id, uint64_t seed, node **list, size_t *listed);

/* --- content_log.c --- */

struct wc_content_log {
  /* Nodes that are no longer shown. While `has_before` is false, their former places. */
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

/* Makes room for nodes that will be dead. Makes the log if it is NULL. False without memory. */
bool wc_content_log_reserve(wc_content_log **log, size_t count);
/* Keeps the content as it was before the log began. `held` is the shown content. False without
 * memory. */
bool wc_content_log_keep(wc_content_log *log, const Widgetd__V1__Content *held);
/* Takes over the table of the former content. The shown content has another one from now on. */
void wc_content_log_table(wc_content_log *log, wc_content_table *table);

#endif
