/*
 * A naive copy of widgets, and random changes of it as messages of the daemon. `truth` is the
 * sent state, and `heard` is the state according to the notices.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include "fake.h"

#define IDS 40

static uint64_t state, seed;
static inline unsigned dice(unsigned sides) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 33) % sides;
}

#define NODES 12
#define CHILDREN 4

/* A widget: absent, or data k0 to k5, each absent (0) or a number; an error, if not 0; and content:
 * nodes n0 to n11, each absent or a number with the numbers of its children, and the top, or -1. */
typedef struct naive {
  bool there;
  int data[6];
  int label, error;
  uint64_t revision;
  int top;
  struct {
    bool there;
    int value, children_count, children[CHILDREN];
  } nodes[NODES];
} naive;

static naive truth[IDS], heard[IDS];

static inline int index_of(const char *id) { return atoi(id + 1); }

/* Writes the nodes that are reachable from here to `order`, in order, without nodes that were
 * visited before. */
static inline void naive_walk(const naive *of, int number, bool *seen, int *order, size_t *count) {
  if (number < 0 || !of->nodes[number].there || seen[number]) return;
  seen[number] = true;
  order[(*count)++] = number;
  for (int i = 0; i < of->nodes[number].children_count; i++)
    naive_walk(of, of->nodes[number].children[i], seen, order, count);
}

/* Nodes that the tree does not reach are dropped. */
static inline size_t naive_trim(naive *of, int *order) {
  bool seen[NODES] = {0};
  size_t count = 0;
  naive_walk(of, of->top, seen, order, &count);
  for (int i = 0; i < NODES; i++)
    if (!seen[i]) memset(&of->nodes[i], 0, sizeof of->nodes[i]);
  return count;
}

static inline void read_node(naive *to, const Widgetd__V1__Node *from) {
  int number = index_of(from->id);
  memset(&to->nodes[number], 0, sizeof to->nodes[number]);
  to->nodes[number].there = true;
  to->nodes[number].value = (int)wc_property(from, "value")->int_value;
  to->nodes[number].children_count = (int)from->n_child_ids;
  for (size_t i = 0; i < from->n_child_ids; i++)
    to->nodes[number].children[i] = atoi(from->child_ids[i] + 1);
}

static inline void read_content(naive *to, const Widgetd__V1__Widget *widget) {
  const Widgetd__V1__Content *content = widget->content;
  CHECK(wc_node(widget, "x") == NULL && wc_property(wc_node(widget, "x"), "value") == NULL);
  if (content == NULL) return;
  to->top = atoi(content->root_id + 1);
  for (size_t i = 0; i < content->n_nodes; i++) {
    CHECK(!to->nodes[index_of(content->nodes[i]->id)].there);
    CHECK(wc_node(widget, content->nodes[i]->id) == content->nodes[i]);
    read_node(to, content->nodes[i]);
  }
  int order[NODES];
  CHECK(naive_trim(to, order) == content->n_nodes);
  for (size_t i = 0; i < content->n_nodes; i++)
    CHECK(order[i] == index_of(content->nodes[i]->id));
  CHECK(wc_node(widget, NULL) == (content->n_nodes == 0 ? NULL : content->nodes[0]));
}

static inline bool same_content(const naive *a, const naive *b) {
  return a->top == b->top && memcmp(a->nodes, b->nodes, sizeof a->nodes) == 0;
}

static inline naive read_widget(const Widgetd__V1__Widget *widget) {
  naive result = {.there = true, .revision = widget->revision, .top = -1};
  for (size_t i = 0; i < widget->n_data; i++) {
    if (i > 0) CHECK(strcmp(widget->data[i - 1]->key, widget->data[i]->key) < 0);
    result.data[widget->data[i]->key[1] - '0'] = (int)widget->data[i]->value->int_value;
  }
  if (widget->n_labels > 0) result.label = atoi(widget->labels[0]->value);
  CHECK(widget->n_labels <= 1);
  if (widget->error != NULL) result.error = atoi(widget->error->reason);
  read_content(&result, widget);
  return result;
}

/* The parent of each node, and its children that hang on it; -1 for none. */
static inline void naive_parents(const naive *of, int number, int parent, bool *seen, int *parents) {
  if (number < 0 || !of->nodes[number].there || seen[number]) return;
  seen[number] = true;
  parents[number] = parent;
  for (int i = 0; i < of->nodes[number].children_count; i++)
    naive_parents(of, of->nodes[number].children[i], number, seen, parents);
}

/* The place of a node among the children of its parent that `other` has below the same parent. */
static inline int naive_place(const naive *of, int number, const int *parents, const int *other) {
  int place = 0;
  bool seen[NODES] = {0};
  if (parents[number] < 0) return 0;
  for (int i = 0; i < of->nodes[parents[number]].children_count; i++) {
    int child = of->nodes[parents[number]].children[i];
    if (child == number) return place;
    if (seen[child] || parents[child] != parents[number] || other[child] != parents[number])
      continue;
    seen[child] = true;
    place++;
  }
  return -1;
}

static inline void check_ids(const wc_node_ids *ids, const bool *expected) {
  size_t count = 0;
  bool seen[NODES] = {0};
  for (int i = 0; i < NODES; i++) count += expected[i];
  CHECK(ids->count == count);
  for (size_t i = 0; i < ids->count; i++) {
    CHECK(expected[index_of(ids->ids[i])] && !seen[index_of(ids->ids[i])]);
    seen[index_of(ids->ids[i])] = true;
  }
}

/* The notice names exactly the nodes in which two states differ. */
static inline void check_changes(const wc_content_changes *told, const naive *before, const naive *now) {
  static const wc_content_changes nothing;
  int parents[NODES], old_parents[NODES];
  bool changed[NODES] = {0}, inserted[NODES] = {0}, removed[NODES] = {0}, moved[NODES] = {0};
  bool seen[NODES] = {0}, old_seen[NODES] = {0};
  for (int i = 0; i < NODES; i++) parents[i] = old_parents[i] = -1;
  naive_parents(now, now->top, -1, seen, parents);
  naive_parents(before, before->top, -1, old_seen, old_parents);
  bool differs = before->top != now->top;
  for (int i = 0; i < NODES; i++) {
    bool is_here = now->nodes[i].there, was_here = before->nodes[i].there, both = is_here && was_here;
    inserted[i] = is_here && !was_here;
    removed[i] = was_here && !is_here;
    changed[i] = both && memcmp(&before->nodes[i], &now->nodes[i], sizeof now->nodes[i]) != 0;
    moved[i] = both
               && (parents[i] != old_parents[i]
                   || naive_place(now, i, parents, old_parents)
                          != naive_place(before, i, old_parents, parents));
    differs = differs || inserted[i] || removed[i] || changed[i] || moved[i];
  }
  CHECK((told != NULL) == differs);
  if (told == NULL) told = &nothing;
  CHECK(told->root_changed == (before->top != now->top));
  check_ids(&told->changed, changed);
  check_ids(&told->inserted, inserted);
  check_ids(&told->removed, removed);
  check_ids(&told->moved, moved);
}

static inline bool on_difference(void *context, const wc_notice *notice) {
  (void)context;
  naive *at = &heard[index_of(notice->widget->id)];
  CHECK(at->there == (notice->kind != WC_NOTICE_ADDED));
  if (notice->kind == WC_NOTICE_UPDATED) {
    naive now = read_widget(notice->widget);
    check_changes(notice->content, at, &now);
  } else {
    CHECK(notice->content == NULL);
  }
  if (notice->kind == WC_NOTICE_UPDATED && notice->update != NULL) {
    /* The received update gives the same state if the test applies it. */
    naive now = *at;
    for (size_t i = 0; i < notice->update->n_unset_data; i++)
      now.data[notice->update->unset_data[i][1] - '0'] = 0;
    for (size_t i = 0; i < notice->update->n_set_data; i++)
      now.data[notice->update->set_data[i]->key[1] - '0'] =
          (int)notice->update->set_data[i]->value->int_value;
    naive after = read_widget(notice->widget);
    CHECK(memcmp(now.data, after.data, sizeof now.data) == 0);
    if (notice->update->error != NULL) CHECK(atoi(notice->update->error->reason) == after.error);
    const Widgetd__V1__ContentChange *content = notice->update->content;
    if (content != NULL) {
      if (content->root_id[0] != 0) now.top = index_of(content->root_id);
      else if (content->replace) now.top = -1;
      if (content->replace) memset(now.nodes, 0, sizeof now.nodes);
      for (size_t i = 0; i < content->n_removed_node_ids; i++)
        now.nodes[index_of(content->removed_node_ids[i])].there = false;
      for (size_t i = 0; i < content->n_set_nodes; i++) read_node(&now, content->set_nodes[i]);
      int order[NODES];
      naive_trim(&now, order);
    }
    CHECK(same_content(&now, &after));
  }
  if (notice->kind == WC_NOTICE_REMOVED) *at = (naive){0};
  else *at = read_widget(notice->widget);
  return true;
}

/* Messages are made field by field with malloc, as if unpacked. */
static inline char *copy_of(const char *format, int number) {
  char text[32];
  snprintf(text, sizeof text, format, number);
  return strdup(text);
}

static inline Widgetd__V1__Value *new_value(int number) {
  Widgetd__V1__Value *value = malloc(sizeof *value);
  *value = wc_int(number);
  return value;
}

#define NEW(type, init) ({ type *made_ = malloc(sizeof *made_); init(made_); made_; })

static inline Widgetd__V1__Node *new_node(const naive *from, int number) {
  Widgetd__V1__Node *node = NEW(Widgetd__V1__Node, widgetd__v1__node__init);
  node->id = copy_of("n%d", number);
  node->properties = malloc(sizeof *node->properties);
  node->properties[0] =
      NEW(Widgetd__V1__Node__PropertiesEntry, widgetd__v1__node__properties_entry__init);
  node->properties[0]->key = strdup("value");
  node->properties[0]->value = new_value(from->nodes[number].value);
  node->n_properties = 1;
  node->child_ids = malloc(CHILDREN * sizeof *node->child_ids);
  for (int i = 0; i < from->nodes[number].children_count; i++)
    node->child_ids[node->n_child_ids++] = copy_of("n%d", from->nodes[number].children[i]);
  return node;
}

/* Any children: missing ones, the node itself, and the same one twice. */
static inline void random_node(naive *at, int number) {
  memset(&at->nodes[number], 0, sizeof at->nodes[number]);
  at->nodes[number].there = true;
  at->nodes[number].value = (int)dice(1000) + 1;
  at->nodes[number].children_count = (int)dice(CHILDREN + 1);
  for (int i = 0; i < at->nodes[number].children_count; i++)
    at->nodes[number].children[i] = (int)dice(NODES);
}

static inline void random_content(naive *at) {
  int order[NODES];
  memset(at->nodes, 0, sizeof at->nodes);
  at->top = dice(4) == 0 ? -1 : (int)dice(NODES);
  for (int i = 0; i < NODES; i++)
    if (dice(3) > 0) random_node(at, i);
  naive_trim(at, order);
}

/* Existing nodes get another value, or the same one, as in most changes. */
static inline void random_values(naive *at, Widgetd__V1__ContentChange *change) {
  change->set_nodes = malloc(4 * sizeof *change->set_nodes);
  for (unsigned n = 1 + dice(3); n > 0; n--) {
    int number = (int)dice(NODES);
    if (!at->nodes[number].there) continue;
    if (dice(3) > 0) at->nodes[number].value = (int)dice(1000) + 1;
    change->set_nodes[change->n_set_nodes++] = new_node(at, number);
  }
}

/* A node leaves its parent, or its children come in another order. */
static inline void random_children(naive *at, Widgetd__V1__ContentChange *change) {
  int order[NODES], number = (int)dice(NODES), count = at->nodes[number].children_count;
  int *children = at->nodes[number].children;
  if (count == 0) return;
  int first = children[0];
  memmove(children, children + 1, (size_t)(count - 1) * sizeof *children);
  children[count - 1] = dice(3) > 0 ? first : 0;
  if (dice(3) == 0) children[--at->nodes[number].children_count] = 0;
  change->set_nodes = malloc(sizeof *change->set_nodes);
  change->set_nodes[change->n_set_nodes++] = new_node(at, number);
  naive_trim(at, order);
}

static inline Widgetd__V1__ContentChange *random_content_change(naive *at) {
  Widgetd__V1__ContentChange *change =
      NEW(Widgetd__V1__ContentChange, widgetd__v1__content_change__init);
  unsigned what = at->top < 0 ? 0 : dice(4);
  if (what > 0) {
    if (what > 1) random_values(at, change);
    else random_children(at, change);
    return change;
  }
  change->replace = dice(5) == 0;
  if (change->replace) {
    memset(at->nodes, 0, sizeof at->nodes);
    at->top = -1;
  }
  if (dice(3) > 0) {
    at->top = (int)dice(NODES);
    change->root_id = copy_of("n%d", at->top);
  }
  change->removed_node_ids = malloc(NODES * sizeof *change->removed_node_ids);
  for (int i = 0; i < NODES; i++) {
    if (dice(4) > 0) continue;
    at->nodes[i].there = false;
    change->removed_node_ids[change->n_removed_node_ids++] = copy_of("n%d", i);
  }
  change->set_nodes = malloc(8 * sizeof *change->set_nodes);
  for (unsigned n = dice(8); n > 0; n--) {
    /* A node may occur twice: the last one counts. */
    int number = (int)dice(NODES);
    random_node(at, number);
    change->set_nodes[change->n_set_nodes++] = new_node(at, number);
  }
  int order[NODES];
  if (at->top < 0) memset(at->nodes, 0, sizeof at->nodes);
  naive_trim(at, order);
  return change;
}

static inline Widgetd__V1__WidgetError *new_error(int number) {
  Widgetd__V1__WidgetError *error = NEW(Widgetd__V1__WidgetError, widgetd__v1__widget_error__init);
  if (number != 0) error->reason = copy_of("%d", number);
  return error;
}

static inline Widgetd__V1__Widget *new_widget(int id) {
  Widgetd__V1__Widget *widget = NEW(Widgetd__V1__Widget, widgetd__v1__widget__init);
  const naive *from = &truth[id];
  widget->id = copy_of("w%d", id);
  widget->revision = from->revision;
  widget->data = calloc(6, sizeof *widget->data);
  for (int i = 5; i >= 0; i--) {
    if (from->data[i] == 0) continue;
    Widgetd__V1__Widget__DataEntry *entry =
        NEW(Widgetd__V1__Widget__DataEntry, widgetd__v1__widget__data_entry__init);
    entry->key = copy_of("k%d", i);
    entry->value = new_value(from->data[i]);
    widget->data[widget->n_data++] = entry;
  }
  if (from->label != 0) {
    Widgetd__V1__Widget__LabelsEntry *label =
        NEW(Widgetd__V1__Widget__LabelsEntry, widgetd__v1__widget__labels_entry__init);
    label->key = strdup("l");
    label->value = copy_of("%d", from->label);
    widget->labels = malloc(sizeof *widget->labels);
    widget->labels[widget->n_labels++] = label;
  }
  if (from->error != 0) widget->error = new_error(from->error);
  if (from->top >= 0) {
    int order[NODES];
    naive copy = *from;
    size_t count = naive_trim(&copy, order);
    widget->content = NEW(Widgetd__V1__Content, widgetd__v1__content__init);
    widget->content->root_id = copy_of("n%d", from->top);
    widget->content->nodes = malloc((count + 1) * sizeof *widget->content->nodes);
    for (size_t i = 0; i < count; i++)
      widget->content->nodes[widget->content->n_nodes++] = new_node(from, order[i]);
  }
  return widget;
}

static inline watch_frame *new_frame(void) {
  return NEW(watch_frame, widgetd__v1__watch_widgets_response__init);
}

static inline wc_mirror_result take(wc_mirror *mirror, watch_frame *frame) {
  return wc_mirror_take(mirror, frame, wc_message_cost(&frame->base), on_difference, NULL);
}

static inline Widgetd__V1__WidgetChange *random_change(uint64_t revision) {
  Widgetd__V1__WidgetChange *change =
      NEW(Widgetd__V1__WidgetChange, widgetd__v1__widget_change__init);
  int id = (int)dice(IDS);
  naive *at = &truth[id];
  if (dice(6) == 0) {
    *at = (naive){0};
    change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_REMOVED;
    change->removed = NEW(Widgetd__V1__WidgetRemoved, widgetd__v1__widget_removed__init);
    change->removed->id = copy_of("w%d", id);
    return change;
  }
  if (!at->there || dice(6) == 0) {
    *at = (naive){.there = true, .revision = revision, .label = (int)dice(3)};
    random_content(at);
    for (int i = 0; i < 6; i++) at->data[i] = dice(2) ? (int)dice(1000) + 1 : 0;
    change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_ADDED;
    change->added = NEW(Widgetd__V1__WidgetAdded, widgetd__v1__widget_added__init);
    change->added->widget = new_widget(id);
    return change;
  }
  Widgetd__V1__WidgetUpdated *update =
      NEW(Widgetd__V1__WidgetUpdated, widgetd__v1__widget_updated__init);
  change->change_case = WIDGETD__V1__WIDGET_CHANGE__CHANGE_UPDATED;
  change->updated = update;
  update->id = copy_of("w%d", id);
  update->revision = at->revision = revision;
  update->set_data = calloc(12, sizeof *update->set_data);
  update->unset_data = calloc(6, sizeof *update->unset_data);
  for (int i = 0; i < 6; i++) {
    unsigned what = dice(5);
    if (what == 0) {
      at->data[i] = 0;
      update->unset_data[update->n_unset_data++] = copy_of("k%d", i);
    }
    for (unsigned n = 1; what > 2 && n < what - 1; n++) {
      /* A key may occur twice: the last entry counts. */
      at->data[i] = (int)dice(1000) + 1;
      Widgetd__V1__WidgetUpdated__SetDataEntry *entry =
          NEW(Widgetd__V1__WidgetUpdated__SetDataEntry,
              widgetd__v1__widget_updated__set_data_entry__init);
      entry->key = copy_of("k%d", i);
      entry->value = new_value(at->data[i]);
      update->set_data[update->n_set_data++] = entry;
    }
  }
  if (dice(4) == 0) {
    at->error = (int)dice(3);
    update->error = new_error(at->error);
  }
  if (dice(2) == 0) update->content = random_content_change(at);
  if (dice(4) == 0) {
    at->label = (int)dice(3);
    update->labels = NEW(Widgetd__V1__LabelSet, widgetd__v1__label_set__init);
    if (at->label != 0) {
      Widgetd__V1__LabelSet__LabelsEntry *entry =
          NEW(Widgetd__V1__LabelSet__LabelsEntry, widgetd__v1__label_set__labels_entry__init);
      entry->key = strdup("l");
      entry->value = copy_of("%d", at->label);
      update->labels->labels = malloc(sizeof *update->labels->labels);
      update->labels->labels[update->labels->n_labels++] = entry;
    }
  }
  return change;
}

#endif
