/*
 * Access to the values of widgets, nodes and events. Maps arrive as lists of entries. The last
 * entry of a key counts, and an entry may have no value.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const Widgetd__V1__Value null_value = WIDGETD__V1__VALUE__INIT;

#define FIND(entries, count, wanted, missing)                                    \
  for (size_t i = (count); i > 0; i--)                                           \
    if (strcmp((entries)[i - 1]->key, wanted) == 0)                              \
      return (entries)[i - 1]->value == NULL ? (missing) : (entries)[i - 1]->value; \
  return NULL

const Widgetd__V1__Value *wc_data(const Widgetd__V1__Widget *widget, const char *key) {
  FIND(widget->data, widget->n_data, key, &null_value);
}

const Widgetd__V1__Value *wc_parameter(const Widgetd__V1__Widget *widget, const char *key) {
  FIND(widget->parameters, widget->n_parameters, key, &null_value);
}

const char *wc_label(const Widgetd__V1__Widget *widget, const char *key) {
  FIND(widget->labels, widget->n_labels, key, "");
}

const Widgetd__V1__Node *wc_node(const Widgetd__V1__Widget *widget, const char *id) {
  const Widgetd__V1__Content *content = widget->content;
  if (content == NULL) return NULL;
  if (id == NULL) id = content->root_id;
  for (size_t i = 0; i < content->n_nodes; i++)
    if (strcmp(content->nodes[i]->id, id) == 0) return content->nodes[i];
  return NULL;
}

const Widgetd__V1__Value *wc_property(const Widgetd__V1__Node *node, const char *name) {
  if (node == NULL) return NULL;
  FIND(node->properties, node->n_properties, name, &null_value);
}

const Widgetd__V1__Value *wc_payload(const Widgetd__V1__Event *event, const char *key) {
  FIND(event->payload, event->n_payload, key, &null_value);
}

/* Text that grows until its buffer is full. */
typedef struct text {
  char *at;
  size_t size, used;
} text;

static void add(text *to, const char *more) {
  size_t count = strlen(more), room = to->size - 1 - to->used;
  if (count > room) {
    count = room;
    while (count > 0 && ((unsigned char)more[count] & 0xc0) == 0x80) count--;
    /* The buffer is full: later text must not follow a character that was cut. */
    to->size = to->used + count + 1;
  }
  memcpy(to->at + to->used, more, count);
  to->used += count;
  to->at[to->used] = 0;
}

/* The recursion is as deep as the message: at most WC_DEPTH_LIMIT for values from the daemon. */
static void add_value(text *to, const Widgetd__V1__Value *value) {
  char buffer[64];
  switch (value == NULL ? WIDGETD__V1__VALUE__KIND__NOT_SET : value->kind_case) {
  case WIDGETD__V1__VALUE__KIND_BOOL_VALUE: add(to, value->bool_value ? "true" : "false"); return;
  case WIDGETD__V1__VALUE__KIND_INT_VALUE:
    snprintf(buffer, sizeof buffer, "%" PRId64, value->int_value);
    break;
  case WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE:
    snprintf(buffer, sizeof buffer, "%.15g", value->double_value);
    break;
  case WIDGETD__V1__VALUE__KIND_STRING_VALUE: add(to, value->string_value); return;
  case WIDGETD__V1__VALUE__KIND_BYTES_VALUE:
    snprintf(buffer, sizeof buffer, "(%zu bytes)", value->bytes_value.len);
    break;
  case WIDGETD__V1__VALUE__KIND_LIST_VALUE:
    add(to, "[");
    for (size_t i = 0; value->list_value != NULL && i < value->list_value->n_values; i++) {
      if (i > 0) add(to, ", ");
      add_value(to, value->list_value->values[i]);
    }
    add(to, "]");
    return;
  case WIDGETD__V1__VALUE__KIND_MAP_VALUE:
    add(to, "{");
    for (size_t i = 0; value->map_value != NULL && i < value->map_value->n_entries; i++) {
      if (i > 0) add(to, ", ");
      add(to, value->map_value->entries[i]->key);
      add(to, ": ");
      add_value(to, value->map_value->entries[i]->value);
    }
    add(to, "}");
    return;
  case WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE:
    snprintf(buffer, sizeof buffer, "%" PRId64 ".%09" PRId32,
             value->timestamp_value == NULL ? 0 : value->timestamp_value->seconds,
             value->timestamp_value == NULL ? 0 : value->timestamp_value->nanos);
    break;
  case WIDGETD__V1__VALUE__KIND_DURATION_VALUE: {
    int64_t seconds = value->duration_value == NULL ? 0 : value->duration_value->seconds;
    int64_t nanos = value->duration_value == NULL ? 0 : value->duration_value->nanos;
    snprintf(buffer, sizeof buffer, "%s%" PRId64 ".%09" PRId64 "s",
             seconds == 0 && nanos < 0 ? "-" : "", seconds, nanos < 0 ? -nanos : nanos);
    break;
  }
  default: add(to, "null"); return;
  }
  add(to, buffer);
}

char *wc_value_text(const Widgetd__V1__Value *value, char *buffer, size_t size) {
  if (size == 0) return buffer;
  text to = {buffer, size, 0};
  buffer[0] = 0;
  add_value(&to, value);
  return buffer;
}
