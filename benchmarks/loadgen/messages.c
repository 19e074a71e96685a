#include "messages.h"

#include <stdio.h>
#include <stdlib.h>

#include "protobuf.h"

/// Appends a map entry {"value": a string of the payload's size}.
static void put_value_entry(struct buffer *out, unsigned field, const struct sizes *sizes) {
  struct buffer value = {0}, entry = {0};
  uint8_t *text = malloc(sizes->payload);
  if (!text) abort();
  fill_payload(text, sizes->payload);
  put_bytes(&value, 5, text, sizes->payload);  // Value.string_value
  put_text(&entry, 1, "value");
  put_message(&entry, 2, &value);
  put_message(out, field, &entry);
  free(text);
  buffer_free(&value);
  buffer_free(&entry);
}

/// Appends small map entries, so that the map has as many keys as the sizes say.
static void put_more_entries(struct buffer *out, unsigned field, const struct sizes *sizes) {
  for (unsigned index = 1; index < sizes->keys; index++) {
    struct buffer value = {0}, entry = {0};
    char key[32];
    snprintf(key, sizeof key, "key-%u", index);
    put_text(&value, 5, "sixteen bytes...");
    put_text(&entry, 1, key);
    put_message(&entry, 2, &value);
    put_message(out, field, &entry);
    buffer_free(&value);
    buffer_free(&entry);
  }
}

/// Appends the id of a widget, which is field 1 in all messages.
static void put_id(struct buffer *out, unsigned number) {
  char id[32];
  snprintf(id, sizeof id, "bench-%u", number);
  put_text(out, 1, id);
}

/// Writes the label of a widget, and the selector of the subscriber with this number.
static void put_group(char group[32], const struct sizes *sizes, unsigned number) {
  if (sizes->excludes) snprintf(group, 32, "group-%u", number);
  else snprintf(group, 32, "all");
}

void widget_create_request(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer spec = {0};
  put_id(&spec, index);
  put_text(&spec, 2, "benchmark");
  if (sizes->selects || sizes->excludes) {
    struct buffer label = {0};
    char group[32];
    put_group(group, sizes, index);
    put_text(&label, 1, "group");
    put_text(&label, 2, group);
    put_message(&spec, 4, &label);
    buffer_free(&label);
  }
  put_value_entry(&spec, 8, sizes);
  put_more_entries(&spec, 8, sizes);
  put_message(out, 1, &spec);
  buffer_free(&spec);
}

void widget_get_request(struct buffer *out, const struct sizes *sizes) {
  put_id(out, sizes->widget);
}

void widget_update_request(struct buffer *out, const struct sizes *sizes) {
  struct buffer patch = {0};
  put_value_entry(&patch, 1, sizes);  // WidgetPatch.set_data
  put_id(out, sizes->widget);
  put_message(out, 2, &patch);
  put_varint(out, 6 << 3);  // omit_widget
  put_varint(out, 1);
  buffer_free(&patch);
}

void widget_press_request(struct buffer *out) {
  put_text(out, 1, "card");
  put_text(out, 2, "more");
  put_text(out, 3, "press");
}

void widget_watch_request(struct buffer *out, const struct sizes *sizes, unsigned index) {
  if (!sizes->selects && !sizes->excludes) return;
  struct buffer requirement = {0}, selector = {0};
  char group[32], other[32];
  put_group(group, sizes, index);
  snprintf(other, sizeof other, "other-%u", index);
  put_text(&requirement, 1, "group");
  put_varint(&requirement, 2 << 3);  // LABEL_OPERATOR_IN
  put_varint(&requirement, 1);
  put_text(&requirement, 3, group);
  put_text(&requirement, 3, other);
  put_message(&selector, 4, &requirement);
  put_message(out, 1, &selector);
  buffer_free(&requirement);
  buffer_free(&selector);
}

void message_broken(struct message *message, const char *why) {
  message->kind = MESSAGE_BROKEN;
  snprintf(message->text, sizeof message->text, "%s", why);
}

void widget_read_answer(const uint8_t *bytes, size_t count, struct message *message) {
  struct scanner payload = scan(bytes, count);
  struct field field;
  while (take_field(&payload, &field))
    if (field.number == 2 && field.wire == 0) message->position = field.value;
  if (payload.broken) message_broken(message, "an answer that cannot be read");
}

/// Reads a ChangeSet: the position counts once the last part has come.
static void read_changes(const struct field *changes, struct message *message) {
  struct scanner scanner = scan(changes->bytes, changes->count);
  struct field field;
  bool more = false;
  while (take_field(&scanner, &field)) {
    if (field.number == 2 && field.wire == 0) message->position = field.value;
    if (field.number == 4 && field.wire == 0) more = field.value != 0;
  }
  message->kind = more ? MESSAGE_OTHER : MESSAGE_CHANGE;
  if (scanner.broken) message_broken(message, "a ChangeSet that cannot be read");
}

void widget_read_frame(const uint8_t *bytes, size_t count, struct message *message) {
  struct scanner scanner = scan(bytes, count);
  struct field field;
  message->kind = MESSAGE_OTHER;
  while (take_field(&scanner, &field)) {
    if (field.wire != 2) continue;
    if (field.number == 2) message->kind = MESSAGE_PART;
    if (field.number == 3) {
      struct scanner synced = scan(field.bytes, field.count);
      struct field inner;
      message->kind = MESSAGE_SYNCED;
      while (take_field(&synced, &inner))
        if (inner.number == 1 && inner.wire == 0) message->position = inner.value;
    }
    if (field.number == 4) read_changes(&field, message);
  }
  if (scanner.broken) message_broken(message, "a WatchWidgetsResponse that cannot be read");
}
