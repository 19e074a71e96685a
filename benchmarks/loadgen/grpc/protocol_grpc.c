// widgetd over gRPC. The library writes the bytes of HTTP/2. So this file writes records, and
// loop.cc makes a call from each of them. A record has the frame header of the other protocols,
// with a number of methods.h as its type, and the message.

#include "methods.h"

#include "../messages.h"

/// Appends a record and frees `request`.
static void put_record(struct buffer *out, enum grpc_method method, struct buffer *request) {
  frame_append(out, 1, (uint8_t)method, 0, request->bytes, request->length);
  buffer_free(request);
}

static void grpc_create(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer request = {0};
  widget_create_request(&request, sizes, index);
  put_record(out, methodCreate, &request);
}

static void grpc_get(struct buffer *out, const struct sizes *sizes) {
  struct buffer request = {0};
  widget_get_request(&request, sizes);
  put_record(out, methodGet, &request);
}

static void grpc_update(struct buffer *out, const struct sizes *sizes) {
  struct buffer request = {0};
  widget_update_request(&request, sizes);
  put_record(out, methodUpdate, &request);
}

static void grpc_subscribe(struct buffer *out, const struct sizes *sizes, unsigned index) {
  struct buffer request = {0};
  widget_watch_request(&request, sizes, index);
  put_record(out, methodWatch, &request);
}

static void grpc_join(struct buffer *out) { frame_append(out, 1, methodWatch, 0, "", 0); }

static const struct protocol protocolGRPC = {
    .name = "grpc",
    .framed = true,
    .ordered = false,
    .counts_updates = false,
    .create = grpc_create,
    .get = grpc_get,
    .update = grpc_update,
    .publish = grpc_update,
    .subscribe = grpc_subscribe,
    .join = grpc_join,
    .parse = 0,  // the library hands over whole messages
};

const struct protocol *const protocols[] = {&protocolGRPC, 0};
