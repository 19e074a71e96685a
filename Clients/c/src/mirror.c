/*
 * The widgets that a watch selects, kept as docs/PROTOCOL.md 9.7 says.
 *
 * The visible state is always the daemon's state at exactly one revision. The parts of a snapshot
 * or a change set are collected first, and become visible together. A change set is checked as a
 * whole before it is applied, so a set that does not fit changes nothing.
 *
 * Frames are taken over: parts of a widget are moved out of the frame, not copied. The frame keeps
 * its pointers until all listeners were notified, so that a notice can show the update as it
 * arrived. Then `disown` clears those pointers and the frame is freed.
 *
 * Invariants: the map fields of a visible widget are sorted by key, each key once, so that applying
 * an update costs n log n; its content, if it has one, has a table of its nodes (content.c). `bytes`
 * of a table is the sum of what its widgets take in memory, and no more than `memory_max` except
 * within wc_mirror_take. An entry with `gone` or with a log exists only within it.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

typedef Widgetd__V1__Widget widget;
typedef Widgetd__V1__WidgetUpdated updated;
typedef Widgetd__V1__WatchWidgetsResponse response;

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

/* --- The table --- */

static uint64_t hash_of(const wc_mirror *mirror, const char *id) {
  return wc_hash(mirror->seed, id);
}

static entry **find_slot(const table *in, uint64_t hash, const char *id) {
  size_t mask = in->capacity - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    entry *found = in->slots[at];
    if (found == NULL || (found->hash == hash && strcmp(found->id, id) == 0))
      return &in->slots[at];
  }
}

static entry *find(const wc_mirror *mirror, const table *in, const char *id) {
  return in->count == 0 ? NULL : *find_slot(in, hash_of(mirror, id), id);
}

static bool reserve(table *in, size_t count) {
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

/* Takes an entry out, and moves those behind it so that all are found still. */
static void take_out(table *in, entry *wanted) {
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

static void entry_free(entry *old) {
  if (old == NULL) return;
  wc_content_log_free(old->log);
  free(old->nodes);
  wc_free(old->content);
  free(old);
}

static void clear(table *in) {
  for (size_t i = 0; i < in->capacity; i++) entry_free(in->slots[i]);
  free(in->slots);
  memset(in, 0, sizeof *in);
}

/* --- Map fields --- */

/* The layout of an entry of any map field. `value` is a string or a message. */
typedef struct map_entry {
  ProtobufCMessage base;
  char *key;
  void *value;
} map_entry;

#define SAME_LAYOUT(type)                                                              \
  _Static_assert(sizeof(type) == sizeof(map_entry)                                     \
                     && offsetof(type, key) == offsetof(map_entry, key)                \
                     && offsetof(type, value) == offsetof(map_entry, value),           \
                 "a map entry has another layout")
SAME_LAYOUT(Widgetd__V1__Widget__DataEntry);
SAME_LAYOUT(Widgetd__V1__Widget__ParametersEntry);
SAME_LAYOUT(Widgetd__V1__Widget__LabelsEntry);
SAME_LAYOUT(Widgetd__V1__WidgetUpdated__SetDataEntry);
SAME_LAYOUT(Widgetd__V1__WidgetUpdated__SetParametersEntry);
SAME_LAYOUT(Widgetd__V1__LabelSet__LabelsEntry);

typedef struct keyed {
  map_entry *content;
  size_t order;
} keyed;

static int compare_keyed(const void *a, const void *b) {
  const keyed *left = a, *right = b;
  int by_key = strcmp(left->content->key, right->content->key);
  return by_key != 0 ? by_key : left->order < right->order ? -1 : 1;
}

static int compare_key(const void *key, const void *at) {
  return strcmp(key, (*(map_entry *const *)at)->key);
}

static bool is_sorted_map(map_entry *const *entries, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (strcmp(entries[i - 1]->key, entries[i]->key) >= 0) return false;
  return true;
}

/* Sorts by key; of a key that is there twice the last entry stays. */
static bool sort_map(map_entry **entries, size_t *count) {
  if (is_sorted_map(entries, *count)) return true;
  keyed *all = malloc(*count * sizeof *all);
  if (all == NULL) return false;
  for (size_t i = 0; i < *count; i++) all[i] = (keyed){entries[i], i};
  qsort(all, *count, sizeof *all, compare_keyed);
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (i + 1 < *count && strcmp(all[i].content->key, all[i + 1].content->key) == 0)
      wc_free(all[i].content);
    else
      entries[kept++] = all[i].content;
  }
  *count = kept;
  free(all);
  return true;
}

/* Prepares a widget that came; `*nodes` gets the table of its content. False without memory. */
static bool adopt(const wc_mirror *mirror, widget *content, wc_content_table **nodes) {
  *nodes = NULL;
  if (!sort_map((map_entry **)content->data, &content->n_data)
      || !sort_map((map_entry **)content->parameters, &content->n_parameters)
      || !sort_map((map_entry **)content->labels, &content->n_labels))
    return false;
  if (content->content == NULL) return true;
  *nodes = wc_content_index(content->content, mirror->seed);
  return *nodes != NULL;
}

/* The memory that a widget takes. Its content is not measured again. */
static size_t cost_of(const entry *held) {
  Widgetd__V1__Content *content = held->content->content;
  held->content->content = NULL;
  size_t bytes = wc_message_cost(&held->content->base) + wc_content_cost(held->nodes);
  held->content->content = content;
  return bytes;
}

/* A map field as it will be: made first, since it may fail, and put in place after. */
typedef struct new_map {
  map_entry **entries;
  map_entry **added;
  size_t added_count;
} new_map;

static void new_map_free(new_map *map) {
  for (size_t i = 0; map->added != NULL && i < map->added_count; i++) free(map->added[i]);
  free(map->added);
  free(map->entries);
}

static bool new_map_make(new_map *map, size_t held, size_t added) {
  *map = (new_map){0};
  if (added == 0) return true;
  map->entries = malloc((held + added) * sizeof *map->entries);
  map->added = calloc(added, sizeof *map->added);
  map->added_count = added;
  if (map->entries == NULL || map->added == NULL) return false;
  for (size_t i = 0; i < added; i++)
    if ((map->added[i] = malloc(sizeof **map->added)) == NULL) return false;
  return true;
}

/* Removes keys from a sorted map. */
static void unset_keys(map_entry **entries, size_t *count, char *const *keys, size_t keys_count) {
  /* Entries to remove are only marked at first, because the search needs every key. The mark is a
   * descriptor that no entry in use has. */
  static const ProtobufCMessageDescriptor removed;
  size_t removed_count = 0, kept = 0;
  const ProtobufCMessageDescriptor *type = *count == 0 ? NULL : entries[0]->base.descriptor;
  for (size_t i = 0; i < keys_count && *count > 0; i++) {
    map_entry **found = bsearch(keys[i], entries, *count, sizeof *entries, compare_key);
    if (found == NULL) continue;
    (*found)->base.descriptor = &removed;
    removed_count++;
  }
  for (size_t i = 0; removed_count > 0 && i < *count; i++) {
    map_entry *content = entries[i];
    if (content->base.descriptor != &removed) {
      entries[kept++] = content;
    } else {
      content->base.descriptor = type;
      wc_free(content);
    }
  }
  if (removed_count > 0) *count = kept;
}

/* Puts the entries of `from` in place, moving their keys and values. */
static bool put_entries(map_entry ***entries, size_t *count, new_map *map,
                        map_entry *const *from, const ProtobufCMessageDescriptor *type) {
  if (map->added_count == 0) return true;
  if (*count > 0) memcpy(map->entries, *entries, *count * sizeof **entries);
  for (size_t i = 0; i < map->added_count; i++) {
    protobuf_c_message_init(type, map->added[i]);
    map->added[i]->key = from[i]->key;
    map->added[i]->value = from[i]->value;
    map->entries[*count + i] = map->added[i];
  }
  free(*entries);
  *entries = map->entries;
  *count += map->added_count;
  free(map->added);
  *map = (new_map){0};
  return sort_map(*entries, count);
}

/* --- Applying --- */

/* Applies an update. False if memory runs out. `disown` takes the moved parts out of the update.
 * `*moved` is true if it must. */
static bool apply_update(const wc_mirror *mirror, entry *held, updated *update, bool *moved) {
  widget *to = held->content;
  new_map data, parameters, labels;
  wc_content_plan content;
  *moved = false;
  /* Each key once, so that all that is moved stays, and the update can be shown afterwards. */
  if (!sort_map((map_entry **)update->set_data, &update->n_set_data)
      || !sort_map((map_entry **)update->set_parameters, &update->n_set_parameters)
      || (update->labels != NULL
          && !sort_map((map_entry **)update->labels->labels, &update->labels->n_labels)))
    return false;
  size_t label_count = update->labels == NULL ? 0 : update->labels->n_labels;
  bool ready = new_map_make(&data, to->n_data, update->n_set_data);
  ready = new_map_make(&parameters, to->n_parameters, update->n_set_parameters) && ready;
  ready = new_map_make(&labels, 0, label_count) && ready;
  ready = wc_content_make_plan(&content, to->content, held->nodes, update->content, mirror->seed,
                               &held->log)
          && ready;
  if (!ready) {
    new_map_free(&data);
    new_map_free(&parameters);
    new_map_free(&labels);
    wc_content_plan_free(&content);
    return false;
  }
  *moved = true;
  to->revision = update->revision;
  /* Without the time in the read mask, neither has one. */
  if (to->update_time != NULL) {
    int64_t nanos = update->update_time_nanos % 1000000000;
    if (nanos < 0) nanos += 1000000000;
    to->update_time->seconds = (update->update_time_nanos - nanos) / 1000000000;
    to->update_time->nanos = (int32_t)nanos;
  }
  unset_keys((map_entry **)to->data, &to->n_data, update->unset_data, update->n_unset_data);
  unset_keys((map_entry **)to->parameters, &to->n_parameters, update->unset_parameters,
             update->n_unset_parameters);
  bool done = put_entries((map_entry ***)&to->data, &to->n_data, &data,
                          (map_entry *const *)update->set_data,
                          &widgetd__v1__widget__data_entry__descriptor);
  done = put_entries((map_entry ***)&to->parameters, &to->n_parameters, &parameters,
                     (map_entry *const *)update->set_parameters,
                     &widgetd__v1__widget__parameters_entry__descriptor)
         && done;
  if (update->labels != NULL) {
    for (size_t i = 0; i < to->n_labels; i++) wc_free(to->labels[i]);
    to->n_labels = 0;
    done = put_entries((map_entry ***)&to->labels, &to->n_labels, &labels,
                       (map_entry *const *)update->labels->labels,
                       &widgetd__v1__widget__labels_entry__descriptor)
           && done;
  }
  if (update->presence != NULL) {
    wc_free(to->presence);
    to->presence = update->presence;
  }
  if (update->_position_case != 0) to->position = update->position;
  if (update->_stale_case != 0) to->stale = update->stale;
  if (update->family != 0) to->family = update->family;
  if (update->error != NULL) {
    wc_free(to->error);
    to->error = update->error->reason[0] == 0 ? NULL : update->error;
  }
  if (update->timeline != NULL || update->timeline_cleared) {
    wc_free(to->timeline);
    to->timeline = update->timeline;
  }
  if (update->activity != NULL) {
    wc_free(to->activity);
    to->activity = update->activity;
  }
  if (update->_apply_set_case != 0) {
    if (to->apply_set != (char *)protobuf_c_empty_string) free(to->apply_set);
    to->apply_set = update->apply_set;
  }
  wc_content_carry_out(&content, &to->content, &held->nodes, update->content, held->log);
  return done;
}

/* Takes the moved parts out of an update. A second call does nothing. */
static void disown_update(updated *update) {
  for (size_t i = 0; i < update->n_set_data; i++) {
    update->set_data[i]->key = NULL;
    update->set_data[i]->value = NULL;
  }
  for (size_t i = 0; i < update->n_set_parameters; i++) {
    update->set_parameters[i]->key = NULL;
    update->set_parameters[i]->value = NULL;
  }
  for (size_t i = 0; update->labels != NULL && i < update->labels->n_labels; i++) {
    update->labels->labels[i]->key = NULL;
    update->labels->labels[i]->value = NULL;
  }
  update->presence = NULL;
  if (update->error != NULL && update->error->reason[0] != 0) update->error = NULL;
  update->timeline = NULL;
  update->activity = NULL;
  if (update->_apply_set_case != 0) update->apply_set = NULL;
  wc_content_disown(update->content);
}

/* Takes the moved parts out of a change, while they still exist. */
static void disown(Widgetd__V1__WidgetChange *change) {
  if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED) change->added->widget = NULL;
  if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED)
    disown_update(change->updated);
}

static const char *id_of(const Widgetd__V1__WidgetChange *change) {
  switch (change->change_case) {
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED: return change->added->widget->id;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED: return change->updated->id;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED: return change->removed->id;
  default: return NULL;
  }
}

typedef Widgetd__V1__WidgetChange change_t;

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

/* Whether every update is for a widget that is held by then. Applies nothing. */
static wc_mirror_result check(wc_mirror *mirror, change_t *const *changes, size_t count) {
  wc_mirror_result result = WC_MIRROR_OK;
  /* Whether the widgets that this set adds or removes are there, by id, in `was_there`. */
  table there = {0};
  if (!reserve(&there, count)) return WC_MIRROR_NO_MEMORY;
  for (size_t i = 0; i < count && result == WC_MIRROR_OK; i++) {
    const change_t *change = changes[i];
    bool adds = change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED;
    if (adds && change->added->widget == NULL) result = WC_MIRROR_LOST;
    const char *id = result == WC_MIRROR_OK ? id_of(change) : NULL;
    if (id == NULL) continue;
    uint64_t hash = hash_of(mirror, id);
    entry **slot = find_slot(&there, hash, id);
    if (change->change_case == WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED) {
      bool held = *slot != NULL ? (*slot)->was_there : find(mirror, &mirror->visible, id) != NULL;
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
  clear(&there);
  return result;
}

/* Applies one change; false without memory. Notes in `touched` whom it is about. `*moved` says that
 * the change is to be disowned. */
static bool apply(wc_mirror *mirror, change_t *change, entry **touched, size_t *touched_count,
                  bool *moved) {
  const char *id = id_of(change);
  *moved = false;
  if (id == NULL) return true;
  uint64_t hash = hash_of(mirror, id);
  entry **slot = find_slot(&mirror->visible, hash, id);
  entry *held = *slot;
  const Widgetd__V1__Transition *transition = NULL;
  updated *update = NULL;
  wc_content_table *nodes;
  bool done = true;
  /* This change can free parts that were moved out of an earlier update. */
  if (held != NULL && held->update != NULL) disown_update(held->update);
  switch (change->change_case) {
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED:
    if (!adopt(mirror, change->added->widget, &nodes)) return false;
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
    done = apply_update(mirror, held, change->updated, moved);
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
  if (held->touched && update != NULL && *moved) disown_update(update);
  held->update = held->touched ? NULL : update;
  if (transition != NULL || held->gone) held->transition = transition;
  if (!held->touched) {
    held->touched = held->was_there = true;
    touched[(*touched_count)++] = held;
  }
  size_t bytes = cost_of(held);
  mirror->visible.bytes += bytes - held->bytes;
  held->bytes = bytes;
  return done;
}

static void forget_parts(wc_mirror *mirror) {
  for (size_t i = 0; i < mirror->parts_count; i++) wc_free(mirror->parts[i]);
  free(mirror->parts);
  mirror->parts = NULL;
  mirror->parts_count = mirror->parts_capacity = mirror->parts_bytes = 0;
}

static void tell(const entry *about, wc_notice_kind kind, const wc_content_changes *content,
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
  tell(held, WC_NOTICE_UPDATED, held->log == NULL ? NULL : &changes, goes_on, each, context);
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
      tell(held, WC_NOTICE_REMOVED, NULL, &goes_on, each, context);
    else if (!held->gone && held->was_there) done = tell_updated(held, &goes_on, each, context);
    else if (!held->gone) tell(held, WC_NOTICE_ADDED, NULL, &goes_on, each, context);
  }
  for (size_t i = 0; i < count; i++) {
    entry *held = touched[i];
    held->touched = held->was_there = false;
    held->update = NULL;
    held->transition = NULL;
    wc_content_log_free(held->log);
    held->log = NULL;
    if (!held->gone) continue;
    take_out(&mirror->visible, held);
    entry_free(held);
  }
  return done;
}

/* All parts of a change set are there. */
static wc_mirror_result apply_parts(wc_mirror *mirror, uint64_t to_revision, wc_mirror_fn each,
                                    void *context) {
  size_t count, applied = 0, touched_count = 0;
  change_t **changes = collect(mirror, &count);
  if (changes == NULL) return WC_MIRROR_NO_MEMORY;
  wc_mirror_result result = check(mirror, changes, count);
  entry **touched = malloc((count + 1) * sizeof *touched);
  if (result == WC_MIRROR_OK
      && (touched == NULL || !reserve(&mirror->visible, mirror->visible.count + count)))
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

/* --- Frames --- */

static wc_mirror_result take_snapshot(wc_mirror *mirror, Widgetd__V1__SnapshotChunk *chunk) {
  table *to = &mirror->building;
  if (!mirror->awaits_snapshot) return WC_MIRROR_LOST;
  if (!reserve(to, to->count + chunk->n_widgets)) return WC_MIRROR_NO_MEMORY;
  for (size_t i = 0; i < chunk->n_widgets; i++) {
    widget *content = chunk->widgets[i];
    wc_content_table *nodes;
    if (!adopt(mirror, content, &nodes)) return WC_MIRROR_NO_MEMORY;
    uint64_t hash = hash_of(mirror, content->id);
    entry **slot = find_slot(to, hash, content->id);
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
    size_t bytes = cost_of(held);
    to->bytes += bytes - held->bytes;
    held->bytes = bytes;
    if (to->bytes > mirror->memory_max) return WC_MIRROR_TOO_LARGE;
  }
  for (size_t i = 0; i < chunk->n_removed_ids; i++) {
    entry *old = find(mirror, to, chunk->removed_ids[i]);
    if (old == NULL) continue;
    take_out(to, old);
    entry_free(old);
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
    clear(&old);
    return WC_MIRROR_NO_MEMORY;
  }
  for (size_t i = 0; i < count && goes_on; i++) {
    entry *now = find(mirror, &mirror->visible, sorted[i]->id);
    const entry *before = find(mirror, &old, sorted[i]->id);
    if (before == NULL) {
      tell(now, WC_NOTICE_ADDED, NULL, &goes_on, each, context);
    } else if (!comparable || before->content->revision != now->content->revision) {
      wc_content_changes changes;
      void *memory;
      if (!wc_content_compare(before->content->content, before->nodes, now->content->content,
                              now->nodes, &changes, &memory)) {
        clear(&old);
        return WC_MIRROR_NO_MEMORY;
      }
      tell(now, WC_NOTICE_UPDATED, &changes, &goes_on, each, context);
      free(memory);
    }
  }
  for (size_t i = 0; i < old.capacity && goes_on; i++)
    if (old.slots[i] != NULL && find(mirror, &mirror->visible, old.slots[i]->id) == NULL)
      tell(old.slots[i], WC_NOTICE_REMOVED, NULL, &goes_on, each, context);
  clear(&old);
  return WC_MIRROR_SETTLED;
}

/* Takes over the frame, unless it returns without keeping it: `*kept` says so. */
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
  wc_mirror_result result = apply_parts(mirror, set->to_revision, each, context);
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
  clear(&mirror->visible);
  clear(&mirror->building);
  free(mirror->sorted);
  free(mirror);
}

void wc_mirror_set_memory_max(wc_mirror *mirror, size_t bytes) { mirror->memory_max = bytes; }

void wc_mirror_begin(wc_mirror *mirror, uint64_t epoch, bool with_token) {
  forget_parts(mirror);
  clear(&mirror->building);
  mirror->epoch = epoch;
  mirror->awaits_snapshot = !with_token;
}

const widget *wc_mirror_find(const wc_mirror *mirror, const char *id) {
  const entry *found = find(mirror, &mirror->visible, id);
  return found == NULL || found->gone ? NULL : found->content;
}

const Widgetd__V1__Node *wc_mirror_node(const wc_mirror *mirror, const char *id,
                                        const char *node_id) {
  const entry *found = find(mirror, &mirror->visible, id);
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
