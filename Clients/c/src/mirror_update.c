/*
 * One widget of the mirror: its map fields, sorted by key, and an update applied to it.
 *
 * Parts are moved out of the update, not copied. The update keeps its pointers to them until
 * `wc_update_disown`, so that a notice can show it.
 */
#include "mirror.h"

#include <stdlib.h>
#include <string.h>

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

/* Sorts by key; of a key that appears twice the last entry stays. */
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

/* A map field after the update. It is made first, because this can fail, and put in place
 * later. */
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
/* --- Widgets --- */

bool wc_widget_adopt(uint64_t seed, widget *content, wc_content_table **nodes) {
  *nodes = NULL;
  if (!sort_map((map_entry **)content->data, &content->n_data)
      || !sort_map((map_entry **)content->parameters, &content->n_parameters)
      || !sort_map((map_entry **)content->labels, &content->n_labels))
    return false;
  if (content->content == NULL) return true;
  *nodes = wc_content_index(content->content, seed);
  return *nodes != NULL;
}

bool wc_update_apply(uint64_t seed, widget *to, wc_content_table **nodes, wc_content_log **log,
                     updated *update, bool *moved) {
  new_map data, parameters, labels;
  wc_content_plan content;
  *moved = false;
  /* Each key occurs once, so that all moved parts stay in use, and the update can be shown
   * afterwards. */
  if (!sort_map((map_entry **)update->set_data, &update->n_set_data)
      || !sort_map((map_entry **)update->set_parameters, &update->n_set_parameters)
      || (update->labels != NULL
          && !sort_map((map_entry **)update->labels->labels, &update->labels->n_labels)))
    return false;
  size_t label_count = update->labels == NULL ? 0 : update->labels->n_labels;
  bool ready = new_map_make(&data, to->n_data, update->n_set_data);
  ready = new_map_make(&parameters, to->n_parameters, update->n_set_parameters) && ready;
  ready = new_map_make(&labels, 0, label_count) && ready;
  ready = wc_content_make_plan(&content, to->content, *nodes, update->content, seed, log)
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
  wc_content_carry_out(&content, &to->content, nodes, update->content, *log);
  return done;
}

void wc_update_disown(updated *update) {
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
