/*
 * Writes widgets and frames as JSON, byte for byte as `widgetctl watch -o jsonl` does. Keys are
 * sorted by their bytes, so the code below writes members in this order.
 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* --- Parts of widgets --- */

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
    if (node->problem_since != NULL) time_member(to, "problemSince", node->problem_since);
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
  if (timeline->problem_since != NULL) time_member(to, "problemSince", timeline->problem_since);
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
