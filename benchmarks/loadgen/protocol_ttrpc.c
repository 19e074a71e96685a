// widgetd's native protocol: ttrpc frames with protobuf messages, written and read by hand. Only
// the fields that a workload needs are looked at; everything else is skipped by its wire type.
// Field numbers are those of Protos/ttrpc/v1 and Protos/widgetd/v1.

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#include "protocol.h"

enum { typeRequest = 1, typeResponse = 2, typeData = 3, flagRemoteClosed = 1, flagNoData = 4 };

// Writing

static void put_varint(struct buffer *buffer, uint64_t value) {
  uint8_t byte;
  for (; value > 127; value >>= 7) {
    byte = (uint8_t)(value | 128);
    buffer_append(buffer, &byte, 1);
  }
  byte = (uint8_t)value;
  buffer_append(buffer, &byte, 1);
}

static void put_bytes(struct buffer *buffer, unsigned field, const void *bytes, size_t count) {
  put_varint(buffer, field << 3 | 2);
  put_varint(buffer, count);
  buffer_append(buffer, bytes, count);
}

static void put_text(struct buffer *buffer, unsigned field, const char *text) {
  put_bytes(buffer, field, text, strlen(text));
}

/// Appends `inner` as a length-delimited field and empties it.
static void put_message(struct buffer *buffer, unsigned field, struct buffer *inner) {
  put_bytes(buffer, field, inner->bytes, inner->length);
  inner->length = 0;
}

/// Appends a whole Request frame of WidgetService and frees `payload`.
static void put_call(struct buffer *out, const char *method, uint8_t flags,
                     struct buffer *payload) {
  struct buffer request = {0};
  put_text(&request, 1, "widgetd.v1.WidgetService");
  put_text(&request, 2, method);
  if (payload->length) put_message(&request, 3, payload);
  frame_append(out, 1, typeRequest, flags, request.bytes, request.length);
  buffer_free(&request);
  buffer_free(payload);
}

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

static void ttrpc_create(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer spec = {0}, request = {0};
  char id[32];
  snprintf(id, sizeof id, "bench-%u", index);
  put_text(&spec, 1, id);
  put_text(&spec, 2, "benchmark");
  put_value_entry(&spec, 8, sizes);
  put_message(&request, 1, &spec);
  buffer_free(&spec);
  put_call(out, "CreateWidget", 0, &request);
}

static void ttrpc_get(struct buffer *out, const struct sizes *sizes) {
  (void)sizes;
  struct buffer request = {0};
  put_text(&request, 1, "bench-0");
  put_call(out, "GetWidget", 0, &request);
}

static void ttrpc_update(struct buffer *out, const struct sizes *sizes) {
  struct buffer patch = {0}, request = {0};
  put_value_entry(&patch, 1, sizes);  // WidgetPatch.set_data
  put_text(&request, 1, "bench-0");
  put_message(&request, 2, &patch);
  put_varint(&request, 6 << 3);  // omit_widget
  put_varint(&request, 1);
  buffer_free(&patch);
  put_call(out, "UpdateWidget", 0, &request);
}

static void ttrpc_watch(struct buffer *out) {
  struct buffer request = {0};
  put_call(out, "WatchWidgets", flagRemoteClosed, &request);
}

// Reading

struct field {
  uint32_t number, wire;
  uint64_t value;  // wire type 0
  const uint8_t *bytes;  // wire type 2
  size_t count;
};

struct scanner {
  const uint8_t *at, *end;
  bool broken;
};

static uint64_t take_varint(struct scanner *scanner) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && scanner->at < scanner->end; shift += 7) {
    uint8_t byte = *scanner->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  scanner->broken = true;
  return 0;
}

/// Takes the next field; false at the end or at bytes that make no sense.
static bool take_field(struct scanner *scanner, struct field *field) {
  if (scanner->broken || scanner->at >= scanner->end) return false;
  uint64_t tag = take_varint(scanner);
  *field = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
  size_t left = 0;
  switch (field->wire) {
    case 0: field->value = take_varint(scanner); return !scanner->broken;
    case 1: field->count = 8; break;
    case 2: field->count = take_varint(scanner); break;
    case 5: field->count = 4; break;
    default: scanner->broken = true; return false;
  }
  left = (size_t)(scanner->end - scanner->at);
  if (scanner->broken || field->count > left) {
    scanner->broken = true;
    return false;
  }
  field->bytes = scanner->at;
  scanner->at += field->count;
  return true;
}

static struct scanner scan(const uint8_t *bytes, size_t count) {
  return (struct scanner){.at = bytes, .end = bytes + count};
}

static void message_broken(struct message *message, const char *why) {
  message->kind = MESSAGE_BROKEN;
  snprintf(message->text, sizeof message->text, "%s", why);
}

/// Reads a google.rpc.Status. Code 0 is no failure.
static void read_status(const struct field *status, struct message *message) {
  struct scanner scanner = scan(status->bytes, status->count);
  struct field field;
  uint64_t code = 0;
  char words[150] = "";
  while (take_field(&scanner, &field)) {
    if (field.number == 1 && field.wire == 0) code = field.value;
    if (field.number == 2 && field.wire == 2)
      snprintf(words, sizeof words, "%.*s", (int)field.count, (const char *)field.bytes);
  }
  message->failed = code != 0;
  snprintf(message->text, sizeof message->text, "status %llu: %s", (unsigned long long)code, words);
}

/// Reads a Response: its status, and the revision if the payload is an UpdateWidgetResponse (field
/// 2 of the other responses read here is absent).
static void read_response(const uint8_t *bytes, size_t count, struct message *message) {
  struct scanner scanner = scan(bytes, count);
  struct field field;
  while (take_field(&scanner, &field)) {
    if (field.number == 1 && field.wire == 2) read_status(&field, message);
    if (field.number == 2 && field.wire == 2) {
      struct scanner payload = scan(field.bytes, field.count);
      struct field inner;
      while (take_field(&payload, &inner))
        if (inner.number == 2 && inner.wire == 0) message->position = inner.value;
      if (payload.broken) scanner.broken = true;
    }
  }
  if (scanner.broken) message_broken(message, "a Response that cannot be read");
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

/// Reads a WatchWidgetsResponse.
static void read_frame(const uint8_t *bytes, size_t count, struct message *message) {
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

static void ttrpc_parse(struct parser *parser, const uint8_t *bytes, size_t count,
                        struct message *message) {
  (void)parser;
  message->kind = MESSAGE_INCOMPLETE;
  if (count < frameHeaderBytes) return;
  size_t body = read_u32be(bytes);
  if (body > 4 << 20) return message_broken(message, "a frame of more than 4 MiB");
  if (count < frameHeaderBytes + body) return;
  message->length = frameHeaderBytes + body;
  message->call = (read_u32be(bytes + 4) - 1) / 2;
  switch (bytes[8]) {
    case typeResponse:
      message->kind = MESSAGE_REPLY;
      return read_response(bytes + frameHeaderBytes, body, message);
    case typeData:
      if (bytes[9] & flagNoData) return message_broken(message, "the server ended the stream");
      return read_frame(bytes + frameHeaderBytes, body, message);
    default:
      return message_broken(message, "a frame of an unknown type");
  }
}

const struct protocol protocolTTRPC = {
    .name = "ttrpc",
    .framed = true,
    .counts_updates = false,
    .create = ttrpc_create,
    .get = ttrpc_get,
    .update = ttrpc_update,
    .publish = ttrpc_update,
    .subscribe = ttrpc_watch,
    .join = ttrpc_watch,
    .parse = ttrpc_parse,
};
