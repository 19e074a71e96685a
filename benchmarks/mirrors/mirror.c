/*
 * The cost of one changed text in a content of 1,000 nodes, in the C library. Prints the time to apply
 * a change set, and the time to make the table of all nodes again, in microseconds.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 1000
#define ROUNDS 300
#define CHANGES_PER_ROUND 20

typedef Widgetd__V1__WatchWidgetsResponse response;

#define NEW(type, init) ({ type *made_ = malloc(sizeof *made_); init(made_); made_; })

static char *name(int number) {
  char text[32];
  snprintf(text, sizeof text, "text-%d", number);
  return strdup(text);
}

static Widgetd__V1__Node *new_node(char *id, int value) {
  Widgetd__V1__Node *node = NEW(Widgetd__V1__Node, widgetd__v1__node__init);
  node->id = id;
  node->n_properties = 1;
  node->properties = malloc(sizeof *node->properties);
  node->properties[0] =
      NEW(Widgetd__V1__Node__PropertiesEntry, widgetd__v1__node__properties_entry__init);
  node->properties[0]->key = strdup("text");
  node->properties[0]->value = malloc(sizeof(Widgetd__V1__Value));
  *node->properties[0]->value = wc_int(value);
  return node;
}

static bool ignore(void *context, const wc_notice *notice) {
  if (notice->content != NULL) *(size_t *)context += notice->content->changed.count;
  return true;
}

static void take(wc_mirror *mirror, response *frame, size_t *changed) {
  wc_mirror_take(mirror, frame, 0, ignore, changed);
}

static wc_mirror *new_mirror(size_t *changed) {
  wc_mirror *mirror = wc_mirror_new((size_t)64 << 20);
  Widgetd__V1__Widget *widget = NEW(Widgetd__V1__Widget, widgetd__v1__widget__init);
  Widgetd__V1__Content *content = NEW(Widgetd__V1__Content, widgetd__v1__content__init);
  widget->id = strdup("w");
  widget->content = content;
  content->root_id = strdup("top");
  content->nodes = malloc(NODES * sizeof *content->nodes);
  content->nodes[content->n_nodes++] = new_node(strdup("top"), 0);
  content->nodes[0]->child_ids = malloc(NODES * sizeof(char *));
  for (int i = 1; i < NODES; i++) {
    content->nodes[0]->child_ids[content->nodes[0]->n_child_ids++] = name(i);
    content->nodes[content->n_nodes++] = new_node(name(i), 0);
  }
  response *frame = NEW(response, widgetd__v1__watch_widgets_response__init);
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT;
  frame->snapshot = NEW(Widgetd__V1__SnapshotChunk, widgetd__v1__snapshot_chunk__init);
  frame->snapshot->widgets = malloc(sizeof widget);
  frame->snapshot->widgets[frame->snapshot->n_widgets++] = widget;
  wc_mirror_begin(mirror, 1, false);
  take(mirror, frame, changed);
  frame = NEW(response, widgetd__v1__watch_widgets_response__init);
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED;
  frame->synced = NEW(Widgetd__V1__WatchSynced, widgetd__v1__watch_synced__init);
  take(mirror, frame, changed);
  return mirror;
}

static void change_one(wc_mirror *mirror, uint64_t revision, size_t *changed) {
  response *frame = NEW(response, widgetd__v1__watch_widgets_response__init);
  Widgetd__V1__WidgetChange *change = NEW(Widgetd__V1__WidgetChange, widgetd__v1__widget_change__init);
  frame->frame_case = WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES;
  frame->changes = NEW(Widgetd__V1__ChangeSet, widgetd__v1__change_set__init);
  frame->changes->from_revision = revision;
  frame->changes->to_revision = revision + 1;
  frame->changes->changes = malloc(sizeof change);
  frame->changes->changes[frame->changes->n_changes++] = change;
  change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED;
  change->updated = NEW(Widgetd__V1__WidgetUpdated, widgetd__v1__widget_updated__init);
  change->updated->id = strdup("w");
  change->updated->content = NEW(Widgetd__V1__ContentChange, widgetd__v1__content_change__init);
  change->updated->content->set_nodes = malloc(sizeof(void *));
  change->updated->content->set_nodes[0] = new_node(strdup("text-500"), (int)revision + 1);
  change->updated->content->n_set_nodes = 1;
  take(mirror, frame, changed);
}

int main(void) {
  size_t changed = 0;
  uint64_t revision = 0;
  wc_mirror *mirror = new_mirror(&changed);
  Widgetd__V1__Content *content = wc_mirror_find(mirror, "w")->content;
  int64_t whole = INT64_MAX, one = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t before = wc_now();
    for (int i = 0; i < CHANGES_PER_ROUND; i++) {
      wc_content_table *table = wc_content_index(content, 1);
      if (wc_content_find(content, table, "text-500") == NULL) return 1;
      free(table);
    }
    int64_t between = wc_now();
    for (int i = 0; i < CHANGES_PER_ROUND; i++) {
      change_one(mirror, revision++, &changed);
      if (wc_mirror_node(mirror, "w", "text-500") == NULL) return 1;
    }
    int64_t after = wc_now();
    if (between - before < whole) whole = between - before;
    if (after - between < one) one = after - between;
  }
  if (changed != (size_t)ROUNDS * CHANGES_PER_ROUND) return 1;
  printf("%f %f\n", (double)whole / CHANGES_PER_ROUND / 1e3, (double)one / CHANGES_PER_ROUND / 1e3);
  wc_mirror_free(mirror);
}
