/*
 * Encoding from the last byte to the first.
 *
 * A message on the wire has its length before it. protobuf_c_message_pack finds the length of each
 * message, and of all messages in it, before it writes. Written backwards, a message is there when
 * its length is needed: one walk over the tree is enough, and what encloses the message is put in
 * front of it.
 *
 * The bytes are those of protobuf_c_message_pack. Messages must not have unknown fields; the ones
 * that are built here have none.
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

typedef struct wp_output {
  /* The first byte that is written. */
  uint8_t *_Nullable at;
  uint8_t *_Nullable begin;
  uint8_t *_Nullable end;
} wp_output;

/* How many bytes are written. */
static inline size_t wp_output_count(const wp_output *_Nonnull output) {
  return (size_t)(output->end - output->at);
}

/* Puts a message in front of the output. Returns false if there is no memory; the output is then
 * invalid. */
bool wp_encode(wp_output *_Nonnull output, const ProtobufCMessage *_Nonnull message);

/* Puts bytes in front of the output. Returns false if there is no memory. */
bool wp_encode_bytes(wp_output *_Nonnull output, const uint8_t *_Nullable bytes, size_t count);

/* Makes the first `count` bytes the content of a field: puts its tag and their length in front.
 * Returns false if there is no memory. */
bool wp_encode_field(wp_output *_Nonnull output, uint32_t number, size_t count);

/* Fields with one value, for messages without structs. Each puts the field in front of the output.
 * They return false if there is no memory. */
bool wp_encode_varint(wp_output *_Nonnull output, uint32_t number, uint64_t value);
bool wp_encode_fixed64(wp_output *_Nonnull output, uint32_t number, uint64_t value);
/* Also returns false for a text with a NUL, which a struct cannot hold. */
bool wp_encode_text(wp_output *_Nonnull output, uint32_t number, const uint8_t *_Nullable bytes,
                    size_t count);

/* Takes the first bytes back, up to the last `count`. Releases the memory if it is large and
 * nothing is left. */
void wp_output_truncate(wp_output *_Nonnull output, size_t count);

void wp_output_release(wp_output *_Nonnull output);

#endif
