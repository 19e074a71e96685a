/*
 * A change set of the mirror. It is checked as a whole before it is applied, so a set that does not
 * fit changes nothing. After it is applied, the listener is notified once of each widget, however
 * many of the changes were about it.
 */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

typedef Widgetd__V1__WidgetChange change_t;

/* Takes the moved parts out of a change, while they still exist. */
static void disown(change_t *change) {
  if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED) change->added->widget = NULL;
  if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED)
    wc_update_disown(change->updated);
}

static const char *id_of(const change_t *change) {
  switch (change->change_case) {
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED: return change->added->widget->id;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED: return change->updated->id;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED: return change->removed->id;
  default: return NULL;
  }
}

/* The changes of all parts, in order, to be freed with free(3); NULL without memory. */
static change_t **collect(const wc_mirror *mirror, size_t *count) {
  size_t total = 0;
  for (size_t i = 0; i < mirror->parts_count; i++) total += mirror->parts[i]->changes->n_changes;
  change_t **all = malloc((total + 1) * sizeof *all);
  if (all == NULL) return NULL;
  *count = 0;
  for (size_t i = 0; i < mirror->parts_count; i++)
    for (size_t n = 0; n < mirror->parts[i]->changes->n_changes; n++)
      all[(*count)++] = mirror->parts[i]->changes->changes[n];
  return all;
}

/* Whether the widget of every update exists at that point of the set. Applies nothing. */
static wc_mirror_result check(wc_mirror *mirror, change_t *const *changes, size_t count) {
  wc_mirror_result result = WC_MIRROR_OK;
  /* Notes in `was_there`, by id, whether the widgets that this set adds or removes exist. */
  table there = {0};
  if (!wc_table_reserve(&there, count)) return WC_MIRROR_NO_MEMORY;
  for (size_t i = 0; i < count && result == WC_MIRROR_OK; i++) {
    const change_t *change = changes[i];
    bool adds = change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED;
    if (adds && change->added->widget == NULL) result = WC_MIRROR_LOST;
    const char *id = result == WC_MIRROR_OK ? id_of(change) : NULL;
    if (id == NULL) continue;
    uint64_t hash = wc_hash(mirror->seed, id);
    entry **slot = wc_table_slot(&there, hash, id);
    if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED) {
      bool held = *slot != NULL
                      ? (*slot)->was_there
                      : wc_table_find(&mirror->visible, mirror->seed, id) != NULL;
      if (!held) result = WC_MIRROR_LOST;
      continue;
    }
    if (*slot == NULL) {
      *slot = calloc(1, sizeof **slot);
      if (*slot == NULL) {
        result = WC_MIRROR_NO_MEMORY;
        continue;
      }
      (*slot)->id = id;
      (*slot)->hash = hash;
      there.count++;
    }
    (*slot)->was_there = adds;
  }
  wc_table_clear(&there);
  return result;
}

/* Applies one change; false without memory. Adds its widget to `touched`. If `*moved` is true,
 * the change must be disowned. */
static bool apply(wc_mirror *mirror, change_t *change, entry **touched, size_t *touched_count,
                  bool *moved) {
  const char *id = id_of(change);
  *moved = false;
  if (id == NULL) return true;
  uint64_t hash = wc_hash(mirror->seed, id);
  entry **slot = wc_table_slot(&mirror->visible, hash, id);
  entry *held = *slot;
  const Widgetd__V1__Transition *transition = NULL;
  updated *update = NULL;
  wc_content_table *nodes;
  bool done = true;
  /* This change can free parts that were moved out of an earlier update. */
  if (held != NULL && held->update != NULL) wc_update_disown(held->update);
  switch (change->change_case) {
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED:
    if (!wc_widget_adopt(mirror->seed, change->added->widget, &nodes)) return false;
    if (held == NULL) {
      held = calloc(1, sizeof *held);
      if (held == NULL) {
        free(nodes);
        return false;
      }
      held->hash = hash;
      held->touched = true;
      touched[(*touched_count)++] = held;
      *slot = held;
      mirror->visible.count++;
    } else {
      if (!wc_content_replace(&held->log, held->content->content, &held->nodes)) {
        free(nodes);
        return false;
      }
      wc_free(held->content);
    }
    held->nodes = nodes;
    held->content = change->added->widget;
    held->id = held->content->id;
    *moved = true;
    transition = change->added->transition;
    break;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED:
    done = wc_update_apply(mirror->seed, held->content, &held->nodes, &held->log, change->updated,
                           moved);
    transition = change->updated->transition;
    update = change->updated;
    break;
  default:
    if (held == NULL) return true;
    transition = change->removed->transition;
    break;
  }
  held->gone = change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED;
  /* A notice can show the received update only if it is the widget's only change. */
  if (held->touched && update != NULL && *moved) wc_update_disown(update);
  held->update = held->touched ? NULL : update;
  if (transition != NULL || held->gone) held->transition = transition;
  if (!held->touched) {
    held->touched = held->was_there = true;
    touched[(*touched_count)++] = held;
  }
  size_t bytes = wc_entry_cost(held);
  mirror->visible.bytes += bytes - held->bytes;
  held->bytes = bytes;
  return done;
}

/* --- Notices --- */

void wc_mirror_tell(const entry *about, wc_notice_kind kind, const wc_content_changes *content,
                    bool *goes_on, wc_mirror_fn each, void *context) {
  wc_notice notice = {.kind = kind, .widget = about->content, .transition = about->transition};
  if (kind == WC_NOTICE_UPDATED) {
    notice.update = about->update;
    if (content != NULL && wc_content_is_changed(content)) notice.content = content;
  }
  if (*goes_on) *goes_on = each(context, &notice);
}

/* Notifies of an update of an existing widget. False if memory runs out. */
static bool tell_updated(const entry *held, bool *goes_on, wc_mirror_fn each, void *context) {
  wc_content_changes changes;
  void *memory = NULL;
  if (held->log != NULL
      && !wc_content_changes_since(held->log, held->content->content, held->nodes, &changes,
                                   &memory))
    return false;
  wc_mirror_tell(held, WC_NOTICE_UPDATED, held->log == NULL ? NULL : &changes, goes_on, each,
                 context);
  free(memory);
  return true;
}

/* Notifies of the changes of each entry, and drops their records. False if memory runs out. */
static bool conclude(wc_mirror *mirror, entry **touched, size_t count, bool goes_on,
                     wc_mirror_fn each, void *context) {
  bool done = true;
  for (size_t i = 0; i < count && done && goes_on; i++) {
    const entry *held = touched[i];
    if (held->gone && held->was_there)
      wc_mirror_tell(held, WC_NOTICE_REMOVED, NULL, &goes_on, each, context);
    else if (!held->gone && held->was_there) done = tell_updated(held, &goes_on, each, context);
    else if (!held->gone) wc_mirror_tell(held, WC_NOTICE_ADDED, NULL, &goes_on, each, context);
  }
  for (size_t i = 0; i < count; i++) {
    entry *held = touched[i];
    held->touched = held->was_there = false;
    held->update = NULL;
    held->transition = NULL;
    wc_content_log_free(held->log);
    held->log = NULL;
    if (!held->gone) continue;
    wc_table_take_out(&mirror->visible, held);
    wc_entry_free(held);
  }
  return done;
}

/* --- The whole set --- */

wc_mirror_result wc_mirror_apply_parts(wc_mirror *mirror, uint64_t to_revision, wc_mirror_fn each,
                                       void *context) {
  size_t count, applied = 0, touched_count = 0;
  change_t **changes = collect(mirror, &count);
  if (changes == NULL) return WC_MIRROR_NO_MEMORY;
  wc_mirror_result result = check(mirror, changes, count);
  entry **touched = malloc((count + 1) * sizeof *touched);
  if (result == WC_MIRROR_OK
      && (touched == NULL || !wc_table_reserve(&mirror->visible, mirror->visible.count + count)))
    result = WC_MIRROR_NO_MEMORY;
  if (result == WC_MIRROR_OK) {
    bool done = true, moved;
    mirror->is_sorted = false;
    while (done && applied < count) {
      done = apply(mirror, changes[applied], touched, &touched_count, &moved);
      if (done || moved) applied++;
    }
    if (done) mirror->revision = to_revision;
    done = conclude(mirror, touched, touched_count, done, each, context) && done;
    for (size_t i = 0; i < applied; i++) disown(changes[i]);
    result = !done ? WC_MIRROR_NO_MEMORY
             : mirror->visible.bytes > mirror->memory_max ? WC_MIRROR_TOO_LARGE
                                                          : WC_MIRROR_SETTLED;
  }
  free(touched);
  free(changes);
  return result;
}
