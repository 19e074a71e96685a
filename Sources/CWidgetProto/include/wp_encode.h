/*
 * Encoding from the last byte to the first.
 *
 * A message on the wire has its length before it. protobuf_c_message_pack finds the length of each
 * message, and of all messages in it, before it writes. If a message is written backwards, it is
 * complete when its length is needed. So one walk over the tree is enough: the enclosing message is
 * put in front of it.
 *
 * The bytes are those of protobuf_c_message_pack. Messages must not have unknown fields. The
 * messages of this package have none.
 *
 * Invariant: the last `wp_output_count` bytes of the memory are written. Growing moves them, so a
 * pointer to them is valid until the next byte is put in front. Not thread-safe.
 */
#ifndef WP_ENCODE_H
#define WP_ENCODE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct wp_output {
  /* The first written byte. */
  uint8_t *_Nullable at;
  uint8_t *_Nullable begin;
  uint8_t *_Nullable end;
} wp_output;

/* The number of written bytes. */
static inline size_t wp_output_count(const wp_output *_Nonnull output) {
  return (size_t)(output->end - output->at);
}

/* Makes room for `count` bytes in front of the output. Returns false if there is no memory. */
bool wp_output_grow(wp_output *_Nonnull output, size_t count);

/* The place of `count` more bytes in front of the output; NULL if there is no memory. */
static inline uint8_t *_Nullable wp_output_claim(wp_output *_Nonnull output, size_t count) {
  if ((size_t)(output->at - output->begin) < count && !wp_output_grow(output, count)) return NULL;
  return output->at -= count;
}

/* Puts a message in front of the output. Returns false if there is no memory; the output is then
 * invalid. */
bool wp_encode(wp_output *_Nonnull output, const ProtobufCMessage *_Nonnull message);

/* Fields and their parts, for messages without structs. Each function puts one in front of the
 * output, and returns false if there is no memory. Most are inline, because a widget has dozens of
 * fields, whose numbers the callers know. */

/* A number of more than 7 bits. */
bool wp_encode_long_number(wp_output *_Nonnull output, uint64_t value);

/* A number without a tag. */
static inline bool wp_encode_number(wp_output *_Nonnull output, uint64_t value) {
  if (value >= 0x80) return wp_encode_long_number(output, value);
  uint8_t *at = wp_output_claim(output, 1);
  if (at == NULL) return false;
  *at = (uint8_t)value;
  return true;
}

/* A tag of a field, with the number of a ProtobufCWireType. */
static inline bool wp_encode_tag(wp_output *_Nonnull output, uint32_t number, uint32_t type) {
  uint32_t tag = number << 3 | type;
  if (tag < 0x80 || tag >= 1u << 14) return wp_encode_number(output, tag);
  uint8_t *at = wp_output_claim(output, 2);
  if (at == NULL) return false;
  at[0] = (uint8_t)(tag | 0x80);
  at[1] = (uint8_t)(tag >> 7);
  return true;
}

/* A tag and a number after it. */
static inline bool wp_encode_tagged(wp_output *_Nonnull output, uint32_t number, uint32_t type,
                                    uint64_t value) {
  if (number >= 16 || value >= 0x80)
    return wp_encode_number(output, value) && wp_encode_tag(output, number, type);
  uint8_t *at = wp_output_claim(output, 2);  /* most fields */
  if (at == NULL) return false;
  at[0] = (uint8_t)(number << 3 | type);
  at[1] = (uint8_t)value;
  return true;
}

static inline bool wp_encode_bytes(wp_output *_Nonnull output, const uint8_t *_Nullable bytes,
                                   size_t count) {
  uint8_t *at = wp_output_claim(output, count);
  if (at == NULL) return count == 0;
  if (count > 0) memcpy(at, bytes, count);
  return true;
}

/* A part of a text. Also returns false for a part with a NUL, which a struct cannot hold. */
static inline bool wp_encode_characters(wp_output *_Nonnull output, const uint8_t *_Nullable bytes,
                                        size_t count) {
  if (count > 0 && memchr(bytes, 0, count) != NULL) return false;
  return wp_encode_bytes(output, bytes, count);
}

/* Makes the first `count` bytes the content of a field: puts its tag and their length in front. */
static inline bool wp_encode_field(wp_output *_Nonnull output, uint32_t number, size_t count) {
  return wp_encode_tagged(output, number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, count);
}

static inline bool wp_encode_varint(wp_output *_Nonnull output, uint32_t number, uint64_t value) {
  return wp_encode_tagged(output, number, PROTOBUF_C_WIRE_TYPE_VARINT, value);
}

bool wp_encode_fixed64(wp_output *_Nonnull output, uint32_t number, uint64_t value);

static inline bool wp_encode_text(wp_output *_Nonnull output, uint32_t number,
                                  const uint8_t *_Nullable bytes, size_t count) {
  return wp_encode_characters(output, bytes, count) && wp_encode_field(output, number, count);
}

/* Removes the first bytes and keeps the last `count`. Frees a large buffer if no bytes are left. */
void wp_output_truncate(wp_output *_Nonnull output, size_t count);

void wp_output_release(wp_output *_Nonnull output);

#endif
