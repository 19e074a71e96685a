/*
 * Messages: encoding, and decoding that is safe with untrusted bytes.
 *
 * Input is scanned first (wp_decode.h: depth, UTF-8, NUL, wire types). Then it is unpacked with
 * malloc, through an allocator that counts and stops at a bound. So the result is an ordinary
 * protobuf-c message, which its receiver frees like any other.
 */
#include "internal.h"
#include "ttrpc/v1/ttrpc.pb-c.h"
#include "wp_decode.h"

#include <stdlib.h>
#include <string.h>

void wc_free(void *message) {
  if (message != NULL) protobuf_c_message_free_unpacked(message, NULL);
}

/* --- Methods --- */

wc_code wc_find_method(const char *name, wc_method *method, wc_error *error) {
  static const ProtobufCServiceDescriptor *const services[] = {
      &widgetd__v1__widget_service__descriptor, &widgetd__v1__catalog_service__descriptor,
      &widgetd__v1__blob_service__descriptor,
      &widgetd__v1__provider_service__descriptor,
      &widgetd__v1__timeline_service__descriptor,
      &widgetd__v1__activity_service__descriptor,
      &widgetd__v1__admin_service__descriptor, &grpc__health__v1__health__descriptor};
  const char *slash = strrchr(name, '/');
  const char *short_name = slash == NULL ? name : slash + 1;
  size_t service_length = slash == NULL ? 0 : (size_t)(slash - name);
  for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
    const ProtobufCServiceDescriptor *service = services[i];
    if (slash != NULL && (strlen(service->name) != service_length
                          || memcmp(service->name, name, service_length) != 0))
      continue;
    const ProtobufCMethodDescriptor *found =
        protobuf_c_service_descriptor_get_method_by_name(service, short_name);
    if (found == NULL) continue;
    method->service = service->name;
    method->name = found->name;
    method->input = found->input;
    method->output = found->output;
    method->is_conversation = service == &widgetd__v1__provider_service__descriptor;
    method->is_stream = method->is_conversation
                        || (service == &widgetd__v1__widget_service__descriptor
                            && strncmp(found->name, "Watch", 5) == 0);
    return WC_OK;
  }
  return wc_fail(error, WC_UNIMPLEMENTED, "INVALID_CALL",
                 "this library knows no method %.200s; check the name, or get a newer library",
                 name);
}

/* --- Encoding --- */

wc_code wc_encode(const ProtobufCMessage *message, uint8_t **bytes, size_t *count,
                  wc_error *error) {
  if (!protobuf_c_message_check(message))
    return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
                   "the message %s has a NULL among its elements, or was not initialised; start "
                   "with its ..._INIT",
                   message->descriptor == NULL ? "?" : message->descriptor->name);
  size_t size = protobuf_c_message_get_packed_size(message);
  if (size > WC_FRAME_BYTES_MAX)
    return wc_fail(error, WC_RESOURCE_EXHAUSTED, "REQUEST_TOO_LARGE",
                   "the request has %zu bytes, and a frame has room for %zu; send less at a time",
                   size, WC_FRAME_BYTES_MAX);
  *bytes = malloc(size == 0 ? 1 : size);
  if (*bytes == NULL) return wc_fail_memory(error);
  *count = protobuf_c_message_pack(message, *bytes);
  return WC_OK;
}

static void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void put_header(uint8_t *at, size_t count, uint32_t stream_id, uint8_t type,
                       uint8_t flags) {
  put_u32(at, (uint32_t)count);
  put_u32(at + 4, stream_id);
  at[8] = type;
  at[9] = flags;
}

wc_code wc_encode_data(const ProtobufCMessage *message, uint32_t stream_id, uint8_t **frame,
                       size_t *frame_count, wc_error *error) {
  uint8_t *payload = NULL;
  size_t count = 0;
  wc_code code = message == NULL ? WC_OK : wc_encode(message, &payload, &count, error);
  if (code != WC_OK) return code;
  uint8_t flags = message == NULL ? WC_FLAG_REMOTE_CLOSED | WC_FLAG_NO_DATA : 0;
  *frame_count = WC_HEADER_BYTES + count;
  if ((*frame = malloc(*frame_count)) != NULL) {
    put_header(*frame, count, stream_id, WC_FRAME_DATA, flags);
    if (count > 0) memcpy(*frame + WC_HEADER_BYTES, payload, count);
  }
  free(payload);
  return *frame == NULL ? wc_fail_memory(error) : WC_OK;
}

wc_code wc_encode_request(const wc_method *method, uint32_t stream_id, uint8_t flags,
                          const uint8_t *payload, size_t payload_count, int64_t timeout,
                          uint8_t **frame, size_t *frame_count, wc_error *error) {
  Ttrpc__V1__Request envelope = TTRPC__V1__REQUEST__INIT;
  envelope.service = (char *)method->service;
  envelope.method = (char *)method->name;
  envelope.payload.data = (uint8_t *)payload;
  envelope.payload.len = payload_count;
  envelope.timeout_nano = timeout;
  size_t size = ttrpc__v1__request__get_packed_size(&envelope);
  if (size > WC_FRAME_BYTES_MAX)
    return wc_fail(error, WC_RESOURCE_EXHAUSTED, "REQUEST_TOO_LARGE",
                   "the request has %zu bytes, and a frame has room for %zu; send less at a time",
                   size, WC_FRAME_BYTES_MAX);
  uint8_t *bytes = malloc(WC_HEADER_BYTES + size);
  if (bytes == NULL) return wc_fail_memory(error);
  put_header(bytes, size, stream_id, WC_FRAME_REQUEST, flags);
  ttrpc__v1__request__pack(&envelope, bytes + WC_HEADER_BYTES);
  *frame = bytes;
  *frame_count = WC_HEADER_BYTES + size;
  return WC_OK;
}

/* --- Decoding --- */

typedef struct budget {
  size_t used, max;
  bool exhausted, no_memory;
} budget;

/* The approximate size of an allocation by malloc. */
static size_t cost_of(size_t bytes) { return (bytes + 8 + 15) & ~(size_t)15; }

static void *take(void *data, size_t bytes) {
  budget *left = data;
  if (bytes > left->max || cost_of(bytes) > left->max - left->used) {
    left->exhausted = true;
    return NULL;
  }
  void *memory = malloc(bytes);
  if (memory == NULL) {
    left->no_memory = true;
    return NULL;
  }
  left->used += cost_of(bytes);
  return memory;
}

static void give_back(void *data, void *memory) {
  (void)data;
  free(memory);
}

static wc_code violation(wc_error *error, const ProtobufCMessageDescriptor *type,
                         const wp_fault *fault) {
  const char *what = "is malformed";
  if (fault->code == WP_FAULT_DEPTH) what = "nests too deep";
  if (fault->code == WP_FAULT_UTF8) what = "has text that is not UTF-8";
  if (fault->code == WP_FAULT_NUL) what = "has text with a NUL in it";
  return wc_fail(error, WC_INTERNAL, "PROTOCOL_VIOLATION",
                 "the daemon broke the protocol: a %s %s%s%s. Check that client and daemon fit "
                 "together",
                 type->name, what, fault->path_count == 0 ? "" : ", in ",
                 fault->path_count == 0 ? "" : fault->path[fault->path_count - 1]);
}

wc_code wc_check(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count,
                 wc_error *error) {
  wp_fault fault;
  if (wp_scan(type, bytes, count, WC_DEPTH_LIMIT, &fault) == WP_FAULT_NONE) return WC_OK;
  return violation(error, type, &fault);
}

wc_code wc_decode(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count,
                  size_t memory_max, ProtobufCMessage **message, size_t *bytes_used,
                  wc_error *error) {
  *message = NULL;
  wc_code code = wc_check(type, bytes, count, error);
  if (code != WC_OK) return code;
  budget left = {.max = memory_max};
  ProtobufCAllocator allocator = {take, give_back, &left};
  *message = protobuf_c_message_unpack(type, &allocator, bytes == NULL ? 0 : count, bytes);
  if (bytes_used != NULL) *bytes_used = left.used;
  if (*message != NULL) return WC_OK;
  if (left.no_memory) return wc_fail_memory(error);
  if (left.exhausted)
    return wc_fail(error, WC_RESOURCE_EXHAUSTED, "ANSWER_TOO_LARGE",
                   "a %s takes more than %zu bytes of memory; ask for less at a time", type->name,
                   memory_max);
  wp_fault fault = {.code = WP_FAULT_UNPACK};
  return violation(error, type, &fault);
}

wc_code wc_copy_message(const ProtobufCMessage *message, ProtobufCMessage **copy,
                        wc_error *error) {
  uint8_t *bytes;
  size_t count;
  wc_code code = wc_encode(message, &bytes, &count, error);
  if (code != WC_OK) return code;
  *copy = protobuf_c_message_unpack(message->descriptor, NULL, count, bytes);
  free(bytes);
  if (*copy == NULL)
    return wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
                   "the message %s cannot be copied; check that its texts are UTF-8",
                   message->descriptor->name);
  return WC_OK;
}

/* --- Cost --- */

static size_t element_size(ProtobufCType type) {
  switch (type) {
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: return 8;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void *);
  case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
  default: return 4;
  }
}

static size_t element_cost(const ProtobufCFieldDescriptor *field, const void *at) {
  if (field->type == PROTOBUF_C_TYPE_STRING) {
    const char *text = *(char *const *)at;
    return text == NULL || text == field->default_value ? 0 : cost_of(strlen(text) + 1);
  }
  if (field->type == PROTOBUF_C_TYPE_BYTES) {
    const ProtobufCBinaryData *data = at;
    return data->data == NULL ? 0 : cost_of(data->len);
  }
  if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
    const ProtobufCMessage *message = *(ProtobufCMessage *const *)at;
    return message == NULL ? 0 : wc_message_cost(message);
  }
  return 0;
}

/* Messages that came through wc_decode nest at most WC_DEPTH_LIMIT deep, so this recursion does
 * too. */
size_t wc_message_cost(const ProtobufCMessage *message) {
  const ProtobufCMessageDescriptor *type = message->descriptor;
  const uint8_t *base = (const uint8_t *)message;
  size_t total = cost_of(type->sizeof_message);
  for (unsigned i = 0; i < type->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &type->fields[i];
    const uint8_t *at = base + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      size_t count = *(const size_t *)(base + field->quantifier_offset);
      const uint8_t *array = *(uint8_t *const *)at;
      if (count == 0 || array == NULL) continue;
      size_t size = element_size(field->type);
      total += cost_of(count * size);
      for (size_t n = 0; n < count; n++) total += element_cost(field, array + n * size);
    } else if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0
               || *(const uint32_t *)(base + field->quantifier_offset) == field->id) {
      total += element_cost(field, at);
    }
  }
  for (unsigned i = 0; i < message->n_unknown_fields; i++)
    total += sizeof(ProtobufCMessageUnknownField) + cost_of(message->unknown_fields[i].len);
  return total;
}
