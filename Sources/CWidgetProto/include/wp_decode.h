/*
 * Decoding that is safe with untrusted bytes.
 *
 * One walk over the bytes, guided by the descriptor of the message, makes the structs of protobuf-c
 * in an arena. protobuf_c_message_unpack recurses without a limit, accepts text that is not UTF-8,
 * and cuts a string at a NUL. It merges a repeated sub-message in a non-standard way, and walks
 * over each level three times. For messages that both accept, the result is the same, except that
 * this decoder skips unknown fields. A caller that needs messages outside the arena scans the bytes
 * first, and then unpacks them with protobuf-c.
 *
 * Deliberately stricter than the specification:
 *  - A sub-message that is not repeated may appear only once (WP_FAULT_REPEATED_MESSAGE); the
 *    specification would merge the two. No known encoder writes it twice. A member of a oneof
 *    counts too.
 *  - A known field with the wrong wire type is WP_FAULT_WIRE_TYPE; the specification would treat it
 *    as unknown. It means that the peers have different schemas, and this must be visible.
 *  - Groups, gone since proto2, are WP_FAULT_GROUP.
 *  - Unknown fields, further occurrences of a singular field, and packed lists without elements have
 *    a limit (WP_FAULT_SURPLUS). They change nothing and need no memory. So only their number bounds
 *    the time to read them.
 */
#ifndef WP_DECODE_H
#define WP_DECODE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "wp_arena.h"

/* More levels than any caller may ask for. */
#define WP_DEPTH_MAX 100
/* The maximum number of fields of a message that change nothing, at all levels together: so many,
 * and one more for each WP_SURPLUS_BYTES of the message. */
#define WP_SURPLUS_MAX 4096
#define WP_SURPLUS_BYTES 16

typedef enum wp_fault_code {
  WP_FAULT_NONE = 0,
  WP_FAULT_TRUNCATED,
  WP_FAULT_VARINT,
  WP_FAULT_FIELD_NUMBER,
  WP_FAULT_WIRE_TYPE,
  WP_FAULT_GROUP,
  WP_FAULT_PACKED,
  WP_FAULT_DEPTH,
  WP_FAULT_UTF8,
  WP_FAULT_NUL,
  WP_FAULT_REPEATED_MESSAGE,
  WP_FAULT_SURPLUS,
  WP_FAULT_BUDGET,
  /* protobuf-c refused a message that the scan accepted. */
  WP_FAULT_UNPACK,
} wp_fault_code;

/* An error and its place: the names of the fields from the outermost message inwards. */
typedef struct wp_fault {
  wp_fault_code code;
  unsigned path_count;
  const char *_Nullable path[WP_DEPTH_MAX];
} wp_fault;

/*
 * Checks the bytes of a message without allocating: O(bytes) time, stack bounded by depth_max.
 * An accepted message is well-formed to the last byte. Returns fault->code.
 */
wp_fault_code wp_scan(const ProtobufCMessageDescriptor *_Nonnull descriptor,
                      const uint8_t *_Nullable bytes, size_t count, unsigned depth_max,
                      wp_fault *_Nonnull fault);

/*
 * Reads a message into the arena: O(bytes) time, stack bounded by depth_max. A message without
 * sub-messages has depth 1. Fields of type bytes point into `bytes`; everything else is copied.
 * Returns NULL and fills `fault` if that fails.
 */
ProtobufCMessage *_Nullable wp_unpack(const ProtobufCMessageDescriptor *_Nonnull descriptor,
                                      wp_arena *_Nonnull arena, const uint8_t *_Nullable bytes,
                                      size_t count, unsigned depth_max, wp_fault *_Nonnull fault);

/* Whether the bytes are well-formed UTF-8 without U+0000, as in every field of type string. */
bool wp_is_text(const uint8_t *_Nonnull bytes, size_t count);

#endif
