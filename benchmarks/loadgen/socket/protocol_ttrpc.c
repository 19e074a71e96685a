// widgetd's native protocol: ttrpc frames around protobuf messages. Field numbers are those of
// Protos/ttrpc/v1.

#include <stdio.h>

#include "../messages.h"
#include "../protobuf.h"
#include "protocols.h"

enum { typeRequest = 1, typeResponse = 2, typeData = 3, flagRemoteClosed = 1, flagNoData = 4 };

// Writing

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

static void ttrpc_create(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer request = {0};
  widget_create_request(&request, sizes, index);
  put_call(out, "CreateWidget", 0, &request);
}

static void ttrpc_get(struct buffer *out, const struct sizes *sizes) {
  struct buffer request = {0};
  widget_get_request(&request, sizes);
  put_call(out, "GetWidget", 0, &request);
}

static void ttrpc_update(struct buffer *out, const struct sizes *sizes) {
  struct buffer request = {0};
  if (sizes->presses) widget_press_request(&request);
  else widget_update_request(&request, sizes);
  put_call(out, sizes->presses ? "SendEvent" : "UpdateWidget", 0, &request);
}

static void ttrpc_subscribe(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer request = {0};
  widget_watch_request(&request, sizes, index);
  put_call(out, "WatchWidgets", flagRemoteClosed, &request);
}

static void ttrpc_join(struct buffer *out) { ttrpc_subscribe(out, &(struct sizes){0}, 0); }

// Reading

/// Reads a google.rpc.Status. Code 0 is a success.
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

/// Reads a Response: its status and its payload.
static void read_response(const uint8_t *bytes, size_t count, struct message *message) {
  struct scanner scanner = scan(bytes, count);
  struct field field;
  while (take_field(&scanner, &field)) {
    if (field.number == 1 && field.wire == 2) read_status(&field, message);
    if (field.number == 2 && field.wire == 2)
      widget_read_answer(field.bytes, field.count, message);
  }
  if (scanner.broken) message_broken(message, "a Response that cannot be read");
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
      return widget_read_frame(bytes + frameHeaderBytes, body, message);
    default:
      return message_broken(message, "a frame of an unknown type");
  }
}

const struct protocol protocolTTRPC = {
    .name = "ttrpc",
    .framed = true,
    .ordered = true,
    .counts_updates = false,
    .create = ttrpc_create,
    .get = ttrpc_get,
    .update = ttrpc_update,
    .publish = ttrpc_update,
    .subscribe = ttrpc_subscribe,
    .join = ttrpc_join,
    .parse = ttrpc_parse,
};
