/*
 * The widgets that a watch selects, kept as docs/PROTOCOL.md 9.7 says.
 *
 * The visible state is always the daemon's state at exactly one revision. The parts of a snapshot
 * or a change set are collected first, and become visible together. A change set is checked as a
 * whole before it is applied, so a set that does not fit changes nothing.
 *
 * Frames are taken over: parts of a widget are moved out of the frame, not copied. The frame keeps
 * its pointers until all listeners were notified, so that a notice can show the update as it
 * arrived. Then `wc_update_disown` clears those pointers and the frame is freed.
 *
 * Invariants: the map fields of a visible widget are sorted by key, each key once, so that applying
 * an update costs n log n; its content, if it has one, has a table of its nodes (content.c). `bytes`
 * of a table is the sum of the memory of its widgets. It exceeds `memory_max` only within
 * wc_mirror_take. An entry with `gone` or with a log exists only within it.
 */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

/* --- Frames --- */

static wc_mirror_result take_snapshot(wc_mirror *mirror, Widgetd__V1__SnapshotChunk *chunk) {
  table *to = &mirror->building;
  if (!mirror->awaits_snapshot) return WC_MIRROR_LOST;
  if (!wc_table_reserve(to, to->count + chunk->n_widgets)) return WC_MIRROR_NO_MEMORY;
  for (size_t i = 0; i < chunk->n_widgets; i++) {
    widget *content = chunk->widgets[i];
    wc_content_table *nodes;
    if (!wc_widget_adopt(mirror->seed, content, &nodes)) return WC_MIRROR_NO_MEMORY;
    uint64_t hash = wc_hash(mirror->seed, content->id);
    entry **slot = wc_table_slot(to, hash, content->id);
    if (*slot == NULL) {
      *slot = calloc(1, sizeof **slot);
      if (*slot == NULL) {
        free(nodes);
        return WC_MIRROR_NO_MEMORY;
      }
      (*slot)->hash = hash;
      to->count++;
    }
    entry *held = *slot;
    free(held->nodes);
    wc_free(held->content);
    chunk->widgets[i] = NULL;
    held->nodes = nodes;
    held->content = content;
    held->id = content->id;
    size_t bytes = wc_entry_cost(held);
    to->bytes += bytes - held->bytes;
    held->bytes = bytes;
    if (to->bytes > mirror->memory_max) return WC_MIRROR_TOO_LARGE;
  }
  for (size_t i = 0; i < chunk->n_removed_ids; i++) {
    entry *old = wc_table_find(to, mirror->seed, chunk->removed_ids[i]);
    if (old == NULL) continue;
    wc_table_take_out(to, old);
    wc_entry_free(old);
  }
  return WC_MIRROR_OK;
}

/* The snapshot is complete: it becomes the visible state, and listeners get the difference. */
static wc_mirror_result take_synced(wc_mirror *mirror, const Widgetd__V1__WatchSynced *synced,
                                    wc_mirror_fn each, void *context) {
  if (!mirror->awaits_snapshot) return WC_MIRROR_LOST;
  table old = mirror->visible;
  /* Revisions compare within an epoch only. */
  bool comparable = mirror->is_settled && mirror->visible_epoch == mirror->epoch;
  mirror->visible = mirror->building;
  mirror->building = (table){0};
  mirror->awaits_snapshot = mirror->is_sorted = false;
  mirror->is_settled = true;
  mirror->visible_epoch = mirror->epoch;
  mirror->revision = synced->revision;
  size_t count;
  const widget *const *sorted = wc_mirror_sorted(mirror, &count);
  bool goes_on = true;
  if (sorted == NULL && mirror->visible.count > 0) {
    wc_table_clear(&old);
    return WC_MIRROR_NO_MEMORY;
  }
  for (size_t i = 0; i < count && goes_on; i++) {
    entry *now = wc_table_find(&mirror->visible, mirror->seed, sorted[i]->id);
    const entry *before = wc_table_find(&old, mirror->seed, sorted[i]->id);
    if (before == NULL) {
      wc_mirror_tell(now, WC_NOTICE_ADDED, NULL, &goes_on, each, context);
    } else if (!comparable || before->content->revision != now->content->revision) {
      wc_content_changes changes;
      void *memory;
      if (!wc_content_compare(before->content->content, before->nodes, now->content->content,
                              now->nodes, &changes, &memory)) {
        wc_table_clear(&old);
        return WC_MIRROR_NO_MEMORY;
      }
      wc_mirror_tell(now, WC_NOTICE_UPDATED, &changes, &goes_on, each, context);
      free(memory);
    }
  }
  for (size_t i = 0; i < old.capacity && goes_on; i++)
    if (old.slots[i] != NULL
        && wc_table_find(&mirror->visible, mirror->seed, old.slots[i]->id) == NULL)
      wc_mirror_tell(old.slots[i], WC_NOTICE_REMOVED, NULL, &goes_on, each, context);
  wc_table_clear(&old);
  return WC_MIRROR_SETTLED;
}

static void forget_parts(wc_mirror *mirror) {
  for (size_t i = 0; i < mirror->parts_count; i++) wc_free(mirror->parts[i]);
  free(mirror->parts);
  mirror->parts = NULL;
  mirror->parts_count = mirror->parts_capacity = mirror->parts_bytes = 0;
}

/* Takes over the frame if `*kept` is true at the return. */
static wc_mirror_result take_changes(wc_mirror *mirror, response *frame, size_t bytes, bool *kept,
                                     wc_mirror_fn each, void *context) {
  const Widgetd__V1__ChangeSet *set = frame->changes;
  if (!mirror->is_settled || mirror->awaits_snapshot || set->from_revision < mirror->revision
      || (mirror->parts_count > 0 && set->from_revision != mirror->parts_from)
      || (!set->more && set->to_revision < set->from_revision))
    return WC_MIRROR_LOST;
  if (bytes > mirror->memory_max || mirror->parts_bytes > mirror->memory_max - bytes)
    return WC_MIRROR_TOO_LARGE;
  if (mirror->parts_count == mirror->parts_capacity) {
    size_t capacity = mirror->parts_capacity == 0 ? 4 : mirror->parts_capacity * 2;
    response **parts = realloc(mirror->parts, capacity * sizeof *parts);
    if (parts == NULL) return WC_MIRROR_NO_MEMORY;
    mirror->parts = parts;
    mirror->parts_capacity = capacity;
  }
  mirror->parts[mirror->parts_count++] = frame;
  mirror->parts_bytes += bytes;
  mirror->parts_from = set->from_revision;
  *kept = true;
  if (set->more) return WC_MIRROR_OK;
  wc_mirror_result result = wc_mirror_apply_parts(mirror, set->to_revision, each, context);
  forget_parts(mirror);
  return result;
}

wc_mirror_result wc_mirror_take(wc_mirror *mirror, response *frame, size_t bytes,
                                wc_mirror_fn each, void *context) {
  wc_mirror_result result = WC_MIRROR_OK;
  bool kept = false;
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT:
    result = take_snapshot(mirror, frame->snapshot);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED:
    result = take_synced(mirror, frame->synced, each, context);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES:
    result = take_changes(mirror, frame, bytes, &kept, each, context);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS:
    if (!mirror->is_settled || mirror->awaits_snapshot || mirror->parts_count > 0
        || frame->progress->revision <= mirror->revision)
      break;
    mirror->revision = frame->progress->revision;
    break;
  default: break;
  }
  if (!kept) wc_free(frame);
  return result;
}

/* --- What widgetclient.h shows --- */

wc_mirror *wc_mirror_new(size_t memory_max) {
  wc_mirror *mirror = calloc(1, sizeof *mirror);
  if (mirror == NULL) return NULL;
  mirror->memory_max = memory_max;
  wc_random(&mirror->seed, sizeof mirror->seed);
  return mirror;
}

void wc_mirror_free(wc_mirror *mirror) {
  if (mirror == NULL) return;
  forget_parts(mirror);
  wc_table_clear(&mirror->visible);
  wc_table_clear(&mirror->building);
  free(mirror->sorted);
  free(mirror);
}

void wc_mirror_set_memory_max(wc_mirror *mirror, size_t bytes) { mirror->memory_max = bytes; }

void wc_mirror_begin(wc_mirror *mirror, uint64_t epoch, bool with_token) {
  forget_parts(mirror);
  wc_table_clear(&mirror->building);
  mirror->epoch = epoch;
  mirror->awaits_snapshot = !with_token;
}

const widget *wc_mirror_find(const wc_mirror *mirror, const char *id) {
  const entry *found = wc_table_find(&mirror->visible, mirror->seed, id);
  return found == NULL || found->gone ? NULL : found->content;
}

const Widgetd__V1__Node *wc_mirror_node(const wc_mirror *mirror, const char *id,
                                        const char *node_id) {
  const entry *found = wc_table_find(&mirror->visible, mirror->seed, id);
  if (found == NULL || found->gone || found->content->content == NULL) return NULL;
  return wc_content_find(found->content->content, found->nodes, node_id);
}

/* Display order: by position, then by id. */
static int compare_widgets(const void *a, const void *b) {
  const widget *left = *(const widget *const *)a, *right = *(const widget *const *)b;
  if (left->position != right->position) return left->position < right->position ? -1 : 1;
  return strcmp(left->id, right->id);
}

const widget *const *wc_mirror_sorted(wc_mirror *mirror, size_t *count) {
  const table *in = &mirror->visible;
  *count = 0;
  if (!mirror->is_sorted) {
    const widget **sorted = realloc(mirror->sorted, (in->count + 1) * sizeof *sorted);
    if (sorted == NULL) return NULL;
    mirror->sorted = sorted;
    mirror->sorted_count = 0;
    for (size_t i = 0; i < in->capacity; i++)
      if (in->slots[i] != NULL && !in->slots[i]->gone)
        sorted[mirror->sorted_count++] = in->slots[i]->content;
    qsort(sorted, mirror->sorted_count, sizeof *sorted, compare_widgets);
    mirror->is_sorted = true;
  }
  *count = mirror->sorted_count;
  return mirror->sorted;
}

size_t wc_mirror_bytes(const wc_mirror *mirror) { return mirror->visible.bytes; }
bool wc_mirror_is_settled(const wc_mirror *mirror) { return mirror->is_settled; }
uint64_t wc_mirror_revision(const wc_mirror *mirror) { return mirror->revision; }
