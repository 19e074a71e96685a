/*
 * Writes values, widgets and frames as JSON, byte for byte as `widgetctl watch -o jsonl` does. Keys
 * are sorted by their bytes, so equal content gives equal text. The code below writes members in
 * this order. Characters that could act on a terminal are always escaped.
 */
#include "programs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Members of an object --- */

/* Writes the name of the next member. The caller has written the object's `{`. */
static void member(text *to, const char *name) {
  if (to->bytes[to->count - 1] != '{') add(to, ",");
  addf(to, "\"%s\":", name);
}

void json_string(text *to, const char *string) {
  add(to, "\"");
  const char *plain = string;
  while (*string != 0) {
    const char *start = string;
    int32_t scalar = next_scalar(&string);
    /* The text is UTF-8: the library has checked it. */
    if (scalar < 0) string++;
    if (scalar >= 0 && scalar != '"' && scalar != '\\' && !acts_on_terminal(scalar)) continue;
    add_bytes(to, plain, (size_t)(start - plain));
    plain = string;
    switch (scalar) {
    case -1: add(to, "\357\277\275"); break;
    case '"': add(to, "\\\""); break;
    case '\\': add(to, "\\\\"); break;
    case '\n': add(to, "\\n"); break;
    case '\r': add(to, "\\r"); break;
    case '\t': add(to, "\\t"); break;
    default: addf(to, "\\u%04x", (unsigned)scalar); break;
    }
  }
  add_bytes(to, plain, (size_t)(string - plain));
  add(to, "\"");
}

static void string_member(text *to, const char *name, const char *string) {
  member(to, name);
  json_string(to, string);
}

static void number_member(text *to, const char *name, uint64_t number) {
  member(to, name);
  addf(to, number > INT64_MAX ? "\"%llu\"" : "%llu", (unsigned long long)number);
}

static void int_member(text *to, const char *name, int64_t number) {
  member(to, name);
  addf(to, "%lld", (long long)number);
}

static void bool_member(text *to, const char *name, bool is_true) {
  member(to, name);
  add(to, is_true ? "true" : "false");
}

static void strings_member(text *to, const char *name, char *const *strings, size_t count) {
  member(to, name);
  add(to, "[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) add(to, ",");
    json_string(to, strings[i]);
  }
  add(to, "]");
}

/* Writes the word for an enum's value: EASE_IN after its prefix becomes "ease-in". */
static void enum_member(text *to, const char *name, const ProtobufCEnumDescriptor *type,
                        size_t prefix, int number, const char *otherwise) {
  const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, number);
  const char *word = number == 0 || found == NULL ? otherwise : found->name + prefix;
  member(to, name);
  add(to, "\"");
  for (; *word != 0; word++) {
    char letter = *word == '_' ? '-' : *word >= 'A' && *word <= 'Z' ? (char)(*word | 0x20) : *word;
    add_bytes(to, &letter, 1);
  }
  add(to, "\"");
}

/* --- Times and bytes --- */

static int64_t clamped(int64_t number, int64_t least, int64_t most) {
  return number < least ? least : number > most ? most : number;
}

/* Writes a fraction of a second with as few of 0, 3, 6 or 9 digits as possible. */
static void add_fraction(text *to, int32_t nanoseconds) {
  if (nanoseconds == 0) return;
  if (nanoseconds % 1000000 == 0) addf(to, ".%03d", nanoseconds / 1000000);
  else if (nanoseconds % 1000 == 0) addf(to, ".%06d", nanoseconds / 1000);
  else addf(to, ".%09d", nanoseconds);
}

/* "2026-01-02T03:04:05.678Z". The calendar repeats every 400 years. The year begins in March here,
 * so that the leap day is its last day. */
static void add_time(text *to, int64_t seconds, int32_t nanoseconds) {
  /* The range of Timestamp. A daemon sends no other times. */
  seconds = clamped(seconds, -62135596800, 253402300799);
  nanoseconds = (int32_t)clamped(nanoseconds, 0, 999999999);
  int64_t days = seconds / 86400 - (seconds % 86400 < 0);
  int second = (int)(seconds - days * 86400);
  int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  int day = (int)(shifted - era * 146097);
  int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  int of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  int of_month = of_year - (153 * month + 2) / 5 + 1;
  int64_t full = year + era * 400 + (month >= 10);
  addf(to, "\"%04lld-%02d-%02dT%02d:%02d:%02d", (long long)full, month < 10 ? month + 3 : month - 9,
       of_month, second / 3600, second / 60 % 60, second % 60);
  add_fraction(to, nanoseconds);
  add(to, "Z\"");
}

static void time_member(text *to, const char *name, const Google__Protobuf__Timestamp *time) {
  member(to, name);
  add_time(to, time == NULL ? 0 : time->seconds, time == NULL ? 0 : time->nanos);
}

/* Writes seconds with up to nine decimals: "1.5s". */
static void add_duration(text *to, int64_t seconds, int32_t nanoseconds) {
  nanoseconds = (int32_t)clamped(nanoseconds, -999999999, 999999999);
  bool is_negative = seconds < 0 || nanoseconds < 0;
  uint64_t whole = seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds;
  addf(to, "\"%s%llu", is_negative ? "-" : "", (unsigned long long)whole);
  if (nanoseconds != 0) {
    addf(to, ".%09d", abs(nanoseconds));
    while (to->bytes[to->count - 1] == '0') to->bytes[--to->count] = 0;
  }
  add(to, "s\"");
}

static void add_base64(text *to, const uint8_t *bytes, size_t count) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  add(to, "\"");
  for (size_t i = 0; i < count; i += 3) {
    uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0)
                    | (i + 2 < count ? bytes[i + 2] : 0);
    char four[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
                    i + 1 < count ? alphabet[bits >> 6 & 63] : '=',
                    i + 2 < count ? alphabet[bits & 63] : '='};
    add_bytes(to, four, 4);
  }
  add(to, "\"");
}

static void token_member(text *to, const ProtobufCBinaryData *token) {
  member(to, "resumeToken");
  add_base64(to, token->data, token->len);
}

/* --- Values --- */

/* Writes the fewest digits that read back as the same number, with a point or exponent. */
static void add_double(text *to, double number) {
  char digits[32];
  int precision = 0;
  do snprintf(digits, sizeof digits, "%.*e", precision, number);
  while (strtod(digits, NULL) != number && ++precision < 17);
  char *e = strchr(digits, 'e');
  int exponent = atoi(e + 1);
  /* Beyond 2^53, not every whole number is a double, so plain digits would feign precision. */
  if (number != 0 && (exponent < -4 || fabs(number) > 0x1p53)) {
    add(to, digits);
    return;
  }
  int places = precision - exponent;
  addf(to, "%.*f", places < 1 ? 1 : places, number);
}

static void add_value(text *to, const Widgetd__V1__Value *value);

/* The entry of any map from keys to values. The generated structs differ only in their names. */
typedef Widgetd__V1__MapValue__EntriesEntry entry;

static int compare_entries(const void *a, const void *b) {
  return strcmp((*(entry *const *)a)->key, (*(entry *const *)b)->key);
}

/* The entries, sorted by key. The caller frees the list. */
static entry **sorted(entry *const *entries, size_t count) {
  entry **list = malloc((count + 1) * sizeof *list);
  if (list == NULL) fail(STATUS_OTHER, "there is no memory left");
  if (count > 0) memcpy(list, entries, count * sizeof *list);
  qsort(list, count, sizeof *list, compare_entries);
  return list;
}

static void add_map(text *to, entry *const *entries, size_t count) {
  entry **list = sorted(entries, count);
  add(to, "{");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) add(to, ",");
    /* A lone key that begins with $ would read as a tag, so it gets another $. */
    if (count == 1 && list[i]->key[0] == '$') {
      text key = {0};
      addf(&key, "$%s", list[i]->key);
      json_string(to, key.bytes);
      free(key.bytes);
    } else {
      json_string(to, list[i]->key);
    }
    add(to, ":");
    add_value(to, list[i]->value);
  }
  add(to, "}");
  free(list);
}

static void add_value(text *to, const Widgetd__V1__Value *value) {
  switch (value == NULL ? WIDGETD__V1__VALUE__KIND__NOT_SET : value->kind_case) {
  case WIDGETD__V1__VALUE__KIND_BOOL_VALUE: add(to, value->bool_value ? "true" : "false"); break;
  case WIDGETD__V1__VALUE__KIND_INT_VALUE: addf(to, "%lld", (long long)value->int_value); break;
  case WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE:
    if (isnan(value->double_value)) add(to, "{\"$double\":\"NaN\"}");
    else if (isinf(value->double_value))
      add(to, value->double_value < 0 ? "{\"$double\":\"-Infinity\"}" : "{\"$double\":\"Infinity\"}");
    else add_double(to, value->double_value);
    break;
  case WIDGETD__V1__VALUE__KIND_STRING_VALUE: json_string(to, value->string_value); break;
  case WIDGETD__V1__VALUE__KIND_BYTES_VALUE:
    add(to, "{\"$bytes\":");
    add_base64(to, value->bytes_value.data, value->bytes_value.len);
    add(to, "}");
    break;
  case WIDGETD__V1__VALUE__KIND_LIST_VALUE:
    add(to, "[");
    for (size_t i = 0; i < value->list_value->n_values; i++) {
      if (i > 0) add(to, ",");
      add_value(to, value->list_value->values[i]);
    }
    add(to, "]");
    break;
  case WIDGETD__V1__VALUE__KIND_MAP_VALUE:
    add_map(to, value->map_value->entries, value->map_value->n_entries);
    break;
  case WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE:
    add(to, "{\"$timestamp\":");
    add_time(to, value->timestamp_value->seconds, value->timestamp_value->nanos);
    add(to, "}");
    break;
  case WIDGETD__V1__VALUE__KIND_DURATION_VALUE:
    add(to, "{\"$duration\":");
    add_duration(to, value->duration_value->seconds, value->duration_value->nanos);
    add(to, "}");
    break;
  default: add(to, "null"); break;
  }
}

/* Writes a map of a message as widgetctl does: as a value, tags included. */
#define map_member(to, name, entries, count)                                                     \
  do {                                                                                           \
    member(to, name);                                                                            \
    add_map(to, (entry *const *)(entries), count);                                           \
  } while (0)

typedef Widgetd__V1__Widget__LabelsEntry label;

static int compare_labels(const void *a, const void *b) {
  return strcmp((*(label *const *)a)->key, (*(label *const *)b)->key);
}

static void labels_member(text *to, label *const *labels, size_t count) {
  label **list = malloc((count + 1) * sizeof *list);
  if (list == NULL) fail(STATUS_OTHER, "there is no memory left");
  if (count > 0) memcpy(list, labels, count * sizeof *list);
  qsort(list, count, sizeof *list, compare_labels);
  member(to, "labels");
  add(to, "{");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) add(to, ",");
    json_string(to, list[i]->key);
    add(to, ":");
    json_string(to, list[i]->value);
  }
  add(to, "}");
  free(list);
}

/* --- Parts of widgets --- */

static void error_member(text *to, const Widgetd__V1__WidgetError *error) {
  member(to, "error");
  if (error->reason[0] == 0) {
    add(to, "null");
    return;
  }
  add(to, "{");
  string_member(to, "message", error->message);
  string_member(to, "reason", error->reason);
  if (error->since != NULL) time_member(to, "since", error->since);
  add(to, "}");
}

static void family_member(text *to, Widgetd__V1__Family family) {
  enum_member(to, "family", &widgetd__v1__family__descriptor, strlen("FAMILY_"), (int)family,
              "medium");
}

static void transition_member(text *to, const Widgetd__V1__Transition *transition) {
  if (transition == NULL) return;
  member(to, "transition");
  add(to, "{");
  enum_member(to, "curve", &widgetd__v1__curve__descriptor, strlen("CURVE_"),
              (int)transition->curve, "default");
  if (transition->duration != NULL) {
    member(to, "duration");
    add_duration(to, transition->duration->seconds, transition->duration->nanos);
  }
  if (transition->spring_damping != 0) {
    member(to, "springDamping");
    add_double(to, transition->spring_damping);
  }
  if (transition->spring_response != 0) {
    member(to, "springResponse");
    add_double(to, transition->spring_response);
  }
  add(to, "}");
}

static void add_nodes(text *to, Widgetd__V1__Node *const *nodes, size_t count) {
  add(to, "[");
  for (size_t i = 0; i < count; i++) {
    const Widgetd__V1__Node *node = nodes[i];
    add(to, i > 0 ? ",{" : "{");
    if (node->n_child_ids > 0) strings_member(to, "childIds", node->child_ids, node->n_child_ids);
    if (node->n_events > 0) strings_member(to, "events", node->events, node->n_events);
    string_member(to, "id", node->id);
    if (node->problem[0] != 0) string_member(to, "problem", node->problem);
    if (node->n_properties > 0)
      map_member(to, "properties", node->properties, node->n_properties);
    enum_member(to, "type", &widgetd__v1__node_type__descriptor, strlen("NODE_TYPE_"),
                (int)node->type, "unknown");
    add(to, "}");
  }
  add(to, "]");
}

static void entry_member(text *to, const char *name, const Widgetd__V1__Entry *shown) {
  member(to, name);
  add(to, "{");
  time_member(to, "date", shown->date);
  if (shown->score != 0) {
    member(to, "score");
    add_double(to, shown->score);
  }
  if (shown->duration != NULL) {
    member(to, "duration");
    add_duration(to, shown->duration->seconds, shown->duration->nanos);
  }
  map_member(to, "values", shown->values, shown->n_values);
  add(to, "}");
}

static void timeline_member(text *to, const Widgetd__V1__TimelineStatus *timeline) {
  member(to, "timeline");
  add(to, "{");
  if (timeline->current != NULL) entry_member(to, "current", timeline->current);
  if (timeline->next_time != NULL) time_member(to, "nextTime", timeline->next_time);
  if (timeline->problem[0] != 0) string_member(to, "problem", timeline->problem);
  if (timeline->refresh_time != NULL) time_member(to, "refreshTime", timeline->refresh_time);
  if (timeline->stale_time != NULL) time_member(to, "staleTime", timeline->stale_time);
  add(to, "}");
}

static void activity_member(text *to, const Widgetd__V1__Activity *activity) {
  member(to, "activity");
  add(to, "{");
  if (activity->dismiss_time != NULL) time_member(to, "dismissTime", activity->dismiss_time);
  if (activity->end_time != NULL) time_member(to, "endTime", activity->end_time);
  time_member(to, "expireTime", activity->expire_time);
  if (activity->stale_time != NULL) time_member(to, "staleTime", activity->stale_time);
  time_member(to, "startTime", activity->start_time);
  enum_member(to, "state", &widgetd__v1__activity_state__descriptor, strlen("ACTIVITY_STATE_"),
              (int)activity->state, "active");
  add(to, "}");
}

static bool is_visible(const Widgetd__V1__Presence *presence) {
  return presence == NULL || presence->visible;
}

static bool is_enabled(const Widgetd__V1__Presence *presence) {
  return presence == NULL || presence->enabled;
}

static const char *state_of(const Widgetd__V1__Presence *presence) {
  return !is_visible(presence) ? "hidden" : is_enabled(presence) ? "visible" : "disabled";
}

/* --- Widgets --- */

void json_widget(text *to, const Widgetd__V1__Widget *widget, const field_mask *mask) {
  bool has_presence = wants(mask, FIELD_PRESENCE);
  add(to, "{");
  if (wants(mask, FIELD_ACTIVITY) && widget->activity != NULL)
    activity_member(to, widget->activity);
  if (wants(mask, FIELD_APPLY_SET) && widget->apply_set[0] != 0)
    string_member(to, "applySet", widget->apply_set);
  if (wants(mask, FIELD_CONTENT) && widget->content != NULL) {
    member(to, "content");
    add(to, "{");
    member(to, "nodes");
    add_nodes(to, widget->content->nodes, widget->content->n_nodes);
    string_member(to, "rootId", widget->content->root_id);
    add(to, "}");
  }
  if (wants(mask, FIELD_CREATE_TIME)) time_member(to, "createTime", widget->create_time);
  number_member(to, "createdRevision", widget->created_revision);
  if (wants(mask, FIELD_DATA) || mask->has_data_keys)
    map_member(to, "data", widget->data, widget->n_data);
  if (has_presence) bool_member(to, "enabled", is_enabled(widget->presence));
  if (wants(mask, FIELD_ERROR) && widget->error != NULL && widget->error->reason[0] != 0)
    error_member(to, widget->error);
  if (wants(mask, FIELD_FAMILY)) family_member(to, widget->family);
  string_member(to, "id", widget->id);
  string_member(to, "kind", widget->kind);
  if (wants(mask, FIELD_LABELS)) labels_member(to, widget->labels, widget->n_labels);
  if (wants(mask, FIELD_OWNER_UID)) number_member(to, "ownerUid", widget->owner_uid);
  if (wants(mask, FIELD_PARAMETERS) || mask->has_parameter_keys)
    map_member(to, "parameters", widget->parameters, widget->n_parameters);
  if (wants(mask, FIELD_POSITION)) int_member(to, "position", widget->position);
  number_member(to, "revision", widget->revision);
  if (wants(mask, FIELD_STALE) && widget->stale) bool_member(to, "stale", true);
  if (has_presence) string_member(to, "state", state_of(widget->presence));
  if (wants(mask, FIELD_TIMELINE) && widget->timeline != NULL)
    timeline_member(to, widget->timeline);
  if (wants(mask, FIELD_UPDATE_TIME)) time_member(to, "updateTime", widget->update_time);
  if (has_presence) bool_member(to, "visible", is_visible(widget->presence));
  add(to, "}");
}

static void add_content_change(text *to, const Widgetd__V1__ContentChange *change) {
  member(to, "content");
  add(to, "{");
  if (change->n_removed_node_ids > 0)
    strings_member(to, "removedNodeIds", change->removed_node_ids, change->n_removed_node_ids);
  if (change->replace) bool_member(to, "replace", true);
  if (change->root_id[0] != 0) string_member(to, "rootId", change->root_id);
  if (change->n_set_nodes > 0) {
    member(to, "setNodes");
    add_nodes(to, change->set_nodes, change->n_set_nodes);
  }
  add(to, "}");
}

static void add_update(text *to, const Widgetd__V1__WidgetUpdated *update, const field_mask *mask) {
  add(to, "{");
  if (update->activity != NULL) activity_member(to, update->activity);
  if (update->_apply_set_case != 0) string_member(to, "applySet", update->apply_set);
  if (update->content != NULL) add_content_change(to, update->content);
  if (update->presence != NULL) bool_member(to, "enabled", update->presence->enabled);
  if (update->error != NULL) error_member(to, update->error);
  if (update->family != 0) family_member(to, update->family);
  string_member(to, "id", update->id);
  if (update->labels != NULL)
    labels_member(to, (label *const *)update->labels->labels, update->labels->n_labels);
  if (update->_position_case != 0) int_member(to, "position", update->position);
  number_member(to, "revision", update->revision);
  if (update->n_set_data > 0) map_member(to, "setData", update->set_data, update->n_set_data);
  if (update->n_set_parameters > 0)
    map_member(to, "setParameters", update->set_parameters, update->n_set_parameters);
  if (update->_stale_case != 0) bool_member(to, "stale", update->stale);
  if (update->presence != NULL) string_member(to, "state", state_of(update->presence));
  if (update->timeline != NULL) timeline_member(to, update->timeline);
  if (update->timeline_cleared) bool_member(to, "timelineCleared", true);
  transition_member(to, update->transition);
  if (update->n_unset_data > 0)
    strings_member(to, "unsetData", update->unset_data, update->n_unset_data);
  if (update->n_unset_parameters > 0)
    strings_member(to, "unsetParameters", update->unset_parameters, update->n_unset_parameters);
  if (wants(mask, FIELD_UPDATE_TIME)) {
    int64_t seconds = update->update_time_nanos / 1000000000;
    int32_t nanoseconds = (int32_t)(update->update_time_nanos % 1000000000);
    if (nanoseconds < 0) {
      nanoseconds += 1000000000;
      seconds--;
    }
    member(to, "updateTime");
    add_time(to, seconds, nanoseconds);
  }
  if (update->presence != NULL) bool_member(to, "visible", update->presence->visible);
  add(to, "}");
}

static void add_change(text *to, const Widgetd__V1__WidgetChange *change, const field_mask *mask) {
  switch (change->change_case) {
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED:
    add(to, "{\"added\":{");
    transition_member(to, change->added->transition);
    member(to, "widget");
    json_widget(to, change->added->widget, mask);
    add(to, "}}");
    break;
  case WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED:
    add(to, "{\"updated\":");
    add_update(to, change->updated, mask);
    add(to, "}");
    break;
  default:
    add(to, "{\"removed\":{");
    string_member(to, "id", change->removed->id);
    transition_member(to, change->removed->transition);
    add(to, "}}");
    break;
  }
}

/* --- Frames --- */

static void add_event(text *to, const Widgetd__V1__Event *event) {
  add(to, "{");
  if (event->forced) bool_member(to, "forced", true);
  string_member(to, "name", event->name);
  if (event->node_id[0] != 0) string_member(to, "nodeId", event->node_id);
  member(to, "origin");
  add(to, "{");
  if (event->origin != NULL && event->origin->client[0] != 0)
    string_member(to, "client", event->origin->client);
  if (event->origin != NULL && event->origin->pid != 0)
    number_member(to, "pid", event->origin->pid);
  number_member(to, "uid", event->origin == NULL ? 0 : event->origin->uid);
  add(to, "}");
  map_member(to, "payload", event->payload, event->n_payload);
  number_member(to, "revision", event->revision);
  number_member(to, "sequence", event->sequence);
  time_member(to, "time", event->time);
  string_member(to, "type", "event");
  string_member(to, "widgetId", event->widget_id);
  add(to, "}\n");
}

static void add_snapshot(text *to, const Widgetd__V1__SnapshotChunk *chunk, const field_mask *mask) {
  add(to, "{");
  if (chunk->n_removed_ids > 0)
    strings_member(to, "removedIds", chunk->removed_ids, chunk->n_removed_ids);
  string_member(to, "type", "snapshot");
  member(to, "widgets");
  add(to, "[");
  for (size_t i = 0; i < chunk->n_widgets; i++) {
    if (i > 0) add(to, ",");
    json_widget(to, chunk->widgets[i], mask);
  }
  add(to, "]}\n");
}

static void add_changes(text *to, const Widgetd__V1__ChangeSet *set, const field_mask *mask) {
  bool is_first = true;
  add(to, "{");
  member(to, "changes");
  add(to, "[");
  for (size_t i = 0; i < set->n_changes; i++) {
    const Widgetd__V1__WidgetChange *change = set->changes[i];
    bool has_widget = change->change_case != WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED
                      || change->added->widget != NULL;
    if (change->change_case == 0 || !has_widget) continue;
    if (!is_first) add(to, ",");
    is_first = false;
    add_change(to, change, mask);
  }
  add(to, "]");
  number_member(to, "fromRevision", set->from_revision);
  if (set->more) {
    bool_member(to, "more", true);
  } else {
    token_member(to, &set->resume_token);
    number_member(to, "toRevision", set->to_revision);
  }
  string_member(to, "type", "changes");
  add(to, "}\n");
}

void json_frame(text *to, const Widgetd__V1__WatchWidgetsResponse *frame, const field_mask *mask) {
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED:
    addf(to, "{\"epoch\":\"%llu\"", (unsigned long long)frame->opened->epoch);
    number_member(to, "revision", frame->opened->revision);
    add(to, ",\"type\":\"opened\"}\n");
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT:
    add_snapshot(to, frame->snapshot, mask);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED:
    add(to, "{");
    token_member(to, &frame->synced->resume_token);
    number_member(to, "revision", frame->synced->revision);
    add(to, ",\"type\":\"synced\"}\n");
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES:
    add_changes(to, frame->changes, mask);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS:
    for (size_t i = 0; i < frame->events->n_events; i++) add_event(to, frame->events->events[i]);
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP:
    add(to, "{");
    number_member(to, "firstSequence", frame->gap->first_sequence);
    number_member(to, "lastSequence", frame->gap->last_sequence);
    add(to, ",\"type\":\"gap\"}\n");
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS:
    add(to, "{");
    number_member(to, "lastSequence", frame->progress->last_sequence);
    token_member(to, &frame->progress->resume_token);
    number_member(to, "revision", frame->progress->revision);
    add(to, ",\"type\":\"progress\"}\n");
    break;
  default: break;
  }
}
