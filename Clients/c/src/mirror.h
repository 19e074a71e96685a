/*
 * The parts of the mirror, which its files share. Nothing here is for other files. Each of these
 * layers uses only those above it:
 *
 *   mirror_update     one widget: its map fields, and an update applied to it
 *   mirror_table      the widgets by id
 *   mirror_changes    a change set: checked, applied, and reported
 *   mirror            the frames of a watch, and the functions of internal.h
 */
#ifndef WC_MIRROR_H
#define WC_MIRROR_H

#include "internal.h"

typedef Widgetd__V1__Widget widget;
typedef Widgetd__V1__WidgetUpdated updated;
typedef Widgetd__V1__WatchWidgetsResponse response;

/* --- mirror_update.c --- */

/* Prepares a widget that came; `*nodes` gets the table of its content. False without memory. */
bool wc_widget_adopt(uint64_t seed, widget *content, wc_content_table **nodes);
/* Applies an update to a widget. False if memory runs out. `wc_update_disown` takes the moved parts
 * out of the update. `*moved` is true if it must. */
bool wc_update_apply(uint64_t seed, widget *to, wc_content_table **nodes, wc_content_log **log,
                     updated *update, bool *moved);
/* Takes the moved parts out of an update. A second call does nothing. */
void wc_update_disown(updated *update);

/* --- mirror_table.c --- */

typedef struct entry {
  /* The id of `content`. */
  const char *id;
  widget *content;
  /* The table of the widget's content. NULL without content. */
  wc_content_table *nodes;
  size_t bytes;
  uint64_t hash;
  /* Within one change set: the changes so far. */
  bool touched, was_there, gone;
  updated *update;
  const Widgetd__V1__Transition *transition;
  /* The changes of its content. NULL if it did not change. */
  wc_content_log *log;
} entry;

/* A hash table with open addressing: pointers to entries, NULL for empty, at most half full. */
typedef struct table {
  entry **slots;
  size_t capacity, count, bytes;
} table;

/* The slot of the id, or the slot where it can be inserted. The table has at least one slot. */
entry **wc_table_slot(const table *in, uint64_t hash, const char *id);
entry *wc_table_find(const table *in, uint64_t seed, const char *id);
/* Makes room for this number of entries. False without memory. */
bool wc_table_reserve(table *in, size_t count);
/* Removes an entry from the table, without freeing it. */
void wc_table_take_out(table *in, entry *wanted);
/* Frees the table and its entries. */
void wc_table_clear(table *in);
void wc_entry_free(entry *old);
/* The memory that an entry's widget takes. */
size_t wc_entry_cost(const entry *of);

/* --- mirror_changes.c --- */

struct wc_mirror {
  table visible, building;
  size_t memory_max;
  uint64_t seed, epoch, revision;
  /* The epoch of the visible state. */
  uint64_t visible_epoch;
  bool is_settled, awaits_snapshot;
  response **parts;
  size_t parts_count, parts_capacity, parts_bytes;
  uint64_t parts_from;
  const widget **sorted;
  /* The number of entries in `sorted`, while `sorted` matches the visible state. */
  size_t sorted_count;
  bool is_sorted;
};

/* Notifies of one widget, unless `*goes_on` is false; then sets it to the listener's answer. */
void wc_mirror_tell(const entry *about, wc_notice_kind kind, const wc_content_changes *content,
                    bool *goes_on, wc_mirror_fn each, void *context);
/* Applies a complete change set, and notifies of each changed widget. */
wc_mirror_result wc_mirror_apply_parts(wc_mirror *mirror, uint64_t to_revision, wc_mirror_fn each,
                                       void *context);

#endif
