// The floor's protocol: ttrpc's frame header with other types. See floor/floor.c.

#include <stdio.h>
#include <stdlib.h>

#include "../../floor/floor.h"
#include "protocols.h"

static void write_u32be(uint8_t *at, size_t value) {
  at[0] = (uint8_t)(value >> 24), at[1] = (uint8_t)(value >> 16);
  at[2] = (uint8_t)(value >> 8), at[3] = (uint8_t)value;
}

/// Appends a frame of `total` bytes. Its body has a place for the sequence number, and then room for `more` bytes.
static void put_filled(struct buffer *out, uint8_t type, size_t total, size_t more) {
  size_t least = frameHeaderBytes + sequenceDigits + more;
  size_t count = (total > least ? total : least) - frameHeaderBytes;
  uint8_t *body = malloc(count);
  if (!body) abort();
  fill_payload(body, count);
  frame_append(out, 1, type, 0, body, count);
  free(body);
}

static void floor_create(struct buffer *out, const struct sizes *sizes, unsigned index) {
  (void)index;
  put_filled(out, floorCreate, frameHeaderBytes + sizes->payload, 0);
}

static void floor_get(struct buffer *out, const struct sizes *sizes) {
  size_t at = out->length;
  put_filled(out, floorGet, sizes->floor_request, 0);
  write_u32be(out->bytes + at + frameHeaderBytes, sizes->floor_response);
}

static void floor_publish(struct buffer *out, const struct sizes *sizes) {
  size_t at = out->length + frameHeaderBytes + sequenceDigits;
  put_filled(out, floorPublish, sizes->floor_request, 8);
  write_u32be(out->bytes + at, sizes->floor_response);
  write_u32be(out->bytes + at + 4, sizes->floor_frame);
}

static void floor_subscribe(struct buffer *out, const struct sizes *sizes, unsigned index) {
  (void)sizes, (void)index;
  frame_append(out, 1, floorSubscribe, 0, "", 0);
}

static void floor_join(struct buffer *out) { frame_append(out, 1, floorJoin, 0, "", 0); }

static void floor_parse(struct parser *parser, const uint8_t *bytes, size_t count,
                        struct message *message) {
  message->kind = MESSAGE_INCOMPLETE;
  if (count < frameHeaderBytes) return;
  size_t body = read_u32be(bytes);
  if (count < frameHeaderBytes + body) return;
  message->length = frameHeaderBytes + body;
  switch (bytes[8]) {
    case floorReply:
      message->kind = MESSAGE_REPLY;
      message->call = parser->replies++;
      return;
    case floorPart: message->kind = MESSAGE_PART; return;
    case floorSynced: message->kind = MESSAGE_SYNCED; return;
    case floorPublish:
      message->kind = MESSAGE_CHANGE;
      message->position = read_sequence(bytes + frameHeaderBytes);
      return;
    default:
      message->kind = MESSAGE_BROKEN;
      snprintf(message->text, sizeof message->text, "a frame of type %u", bytes[8]);
  }
}

const struct protocol protocolFloor = {
    .name = "floor",
    .framed = true,
    .ordered = true,
    .counts_updates = true,
    .create = floor_create,
    .get = floor_get,
    .update = floor_publish,
    .publish = floor_publish,
    .subscribe = floor_subscribe,
    .join = floor_join,
    .parse = floor_parse,
};
