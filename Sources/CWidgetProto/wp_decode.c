#include "wp_decode.h"

#include <string.h>

#include "wp_fields.h"

/* Wire types without a name in protobuf-c. */
enum { WIRE_TYPE_GROUP_START = 3, WIRE_TYPE_GROUP_END = 4 };

/* Reads a varint of at most 64 bits and moves the cursor past it. */
static wp_fault_code read_long_varint(const uint8_t **cursor, const uint8_t *end,
                                      uint64_t *value) {
  const uint8_t *at = *cursor;
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == end) return WP_FAULT_TRUNCATED;
    uint8_t byte = *at++;
    if (shift == 63 && byte > 1) return WP_FAULT_VARINT;
    result |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *cursor = at;
      *value = result;
      return WP_FAULT_NONE;
    }
  }
  return WP_FAULT_VARINT;
}

/* Most varints are a single byte. */
static inline wp_fault_code read_varint(const uint8_t **cursor, const uint8_t *end,
                                        uint64_t *value) {
  if (*cursor < end && **cursor < 0x80) {
    *value = *(*cursor)++;
    return WP_FAULT_NONE;
  }
  return read_long_varint(cursor, end, value);
}

/* Reads a tag or a length. Like protobuf-c, it takes at most five bytes. */
static inline wp_fault_code read_short_varint(const uint8_t **cursor, const uint8_t *end,
                                              uint64_t *value) {
  const uint8_t *start = *cursor;
  wp_fault_code code = read_varint(cursor, end, value);
  return code == WP_FAULT_NONE && *cursor - start > 5 ? WP_FAULT_VARINT : code;
}

/* The field with this number, or NULL. Most messages number their fields from 1 without a gap. */
static inline const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *descriptor,
                                                       uint32_t number) {
  if (number <= descriptor->n_fields && descriptor->fields[number - 1].id == number)
    return &descriptor->fields[number - 1];
  return protobuf_c_message_descriptor_get_field(descriptor, number);
}

/* Well-formed UTF-8 as in table 3-7 of the Unicode standard, and no U+0000. */
static wp_fault_code check_text(const uint8_t *bytes, size_t count) {
  size_t at = 0;
  while (at < count) {
    if (count - at >= 8) {
      uint64_t word;
      memcpy(&word, bytes + at, 8);
      uint64_t has_zero = (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
      if ((word & 0x8080808080808080u) == 0 && has_zero == 0) {
        at += 8;
        continue;
      }
    }
    uint8_t lead = bytes[at];
    if (lead == 0) return WP_FAULT_NUL;
    if (lead < 0x80) {
      at += 1;
      continue;
    }
    uint8_t low = 0x80, high = 0xbf;
    size_t continuation;
    if (lead < 0xc2) {
      return WP_FAULT_UTF8;
    } else if (lead < 0xe0) {
      continuation = 1;
    } else if (lead < 0xf0) {
      continuation = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead < 0xf5) {
      continuation = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return WP_FAULT_UTF8;
    }
    if (count - at <= continuation) return WP_FAULT_UTF8;
    if (bytes[at + 1] < low || bytes[at + 1] > high) return WP_FAULT_UTF8;
    for (size_t i = 2; i <= continuation; i++)
      if ((bytes[at + i] & 0xc0) != 0x80) return WP_FAULT_UTF8;
    at += continuation + 1;
  }
  return WP_FAULT_NONE;
}

/* The common state of all levels of a message. */
typedef struct decoding {
  /* The arena of the structs. NULL: only check the bytes. */
  wp_arena *arena;
  unsigned depth_max;
  /* The number of further fields that change nothing. */
  size_t surplus_left;
  wp_fault *fault;
} decoding;

/* Stores the fault of this level. On the return, the levels above add their names. */
static wp_fault_code fail(decoding *decoding, wp_fault_code code, unsigned level,
                          const ProtobufCFieldDescriptor *field) {
  wp_fault *fault = decoding->fault;
  fault->code = code;
  fault->path_count = field == NULL ? level : level + 1;
  if (field != NULL) fault->path[level] = field->name;
  return code;
}

/* Room for one more element of a repeated field, which the caller writes. NULL above the
 * budget. The array doubles: it has room for 4, 8, 16, ... elements. */
static void *append(wp_arena *arena, ProtobufCMessage *message,
                    const ProtobufCFieldDescriptor *field) {
  size_t *count = (size_t *)((uint8_t *)message + field->quantifier_offset);
  uint8_t **elements = (uint8_t **)((uint8_t *)message + field->offset);
  size_t used = *count, stride = wp_element_bytes(field->type);
  if (used == 0 || (used >= 4 && (used & (used - 1)) == 0)) {
    uint8_t *larger = wp_arena_alloc(arena, (used == 0 ? 4 : used * 2) * stride);
    if (larger == NULL) return NULL;
    if (used > 0) memcpy(larger, *elements, used * stride);
    *elements = larger;
  }
  *count = used + 1;
  return *elements + used * stride;
}

/* Writes a number into a member. `value` is the content of a varint or of fixed bytes. */
static inline void store_number(ProtobufCType type, void *member, uint64_t value) {
  switch (type) {
  case PROTOBUF_C_TYPE_SINT32: {
    uint32_t bits = (uint32_t)value;
    *(uint32_t *)member = (bits >> 1) ^ (0 - (bits & 1));
    break;
  }
  case PROTOBUF_C_TYPE_SINT64: *(uint64_t *)member = (value >> 1) ^ (0 - (value & 1)); break;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: *(uint64_t *)member = value; break;
  case PROTOBUF_C_TYPE_BOOL: *(protobuf_c_boolean *)member = value != 0; break;
  default: *(uint32_t *)member = (uint32_t)value; break;
  }
}

static inline uint64_t load_fixed(const uint8_t *at, unsigned count) {
  uint64_t value = 0;
  for (unsigned index = 0; index < count; index++) value |= (uint64_t)at[index] << (8 * index);
  return value;
}

/* Counts a field that changes nothing. */
static inline wp_fault_code count_surplus(decoding *decoding) {
  if (decoding->surplus_left == 0) return WP_FAULT_SURPLUS;
  decoding->surplus_left -= 1;
  return WP_FAULT_NONE;
}

/* Reads the elements of a packed field. Without a message, only checks them. */
static wp_fault_code decode_packed(wp_arena *arena, ProtobufCMessage *message,
                                   const ProtobufCFieldDescriptor *field, const uint8_t *at,
                                   size_t count) {
  const uint8_t *end = at + count;
  ProtobufCWireType type = wp_wire_type(field->type);
  if (type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) return WP_FAULT_WIRE_TYPE;
  unsigned size = type == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;
  if (type != PROTOBUF_C_WIRE_TYPE_VARINT && count % size != 0) return WP_FAULT_PACKED;
  while (at < end) {
    uint64_t value;
    if (type == PROTOBUF_C_WIRE_TYPE_VARINT) {
      if (read_varint(&at, end, &value) != WP_FAULT_NONE) return WP_FAULT_PACKED;
    } else {
      value = load_fixed(at, size);
      at += size;
    }
    if (message == NULL) continue;
    void *element = append(arena, message, field);
    if (element == NULL) return WP_FAULT_BUDGET;
    store_number(field->type, element, value);
  }
  return WP_FAULT_NONE;
}

/* Reads a message into the arena, if there is one. Returns the code of the fault. `fault` has the
 * path. */
static wp_fault_code decode(decoding *decoding, const ProtobufCMessageDescriptor *descriptor,
                            const uint8_t *at, size_t count, unsigned level,
                            ProtobufCMessage **result) {
  if (level >= decoding->depth_max) return fail(decoding, WP_FAULT_DEPTH, level, NULL);
  wp_arena *arena = decoding->arena;
  ProtobufCMessage *message = NULL;
  if (arena != NULL) {
    message = wp_arena_alloc(arena, descriptor->sizeof_message);
    if (message == NULL) return fail(decoding, WP_FAULT_BUDGET, level, NULL);
    descriptor->message_init(message);
  }
  *result = message;
  const uint8_t *end = at + count;
  /* The singular fields so far, one bit for each field of this message. */
  uint64_t seen = 0;
  const ProtobufCFieldDescriptor *field = NULL;
  uint32_t number = 0;
  while (at < end) {
    uint64_t tag;
    wp_fault_code code = read_short_varint(&at, end, &tag);
    if (code != WP_FAULT_NONE) return fail(decoding, code, level, NULL);
    if (tag > UINT32_MAX || tag >> 3 == 0)
      return fail(decoding, WP_FAULT_FIELD_NUMBER, level, NULL);
    if (tag >> 3 != number) {
      number = (uint32_t)(tag >> 3);
      field = field_of(descriptor, number);
    }
    unsigned type = tag & 7;
    uint64_t value = 0;
    const uint8_t *content = at;
    switch (type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
      code = read_varint(&at, end, &value);
      if (code != WP_FAULT_NONE) return fail(decoding, code, level, field);
      break;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
      if (end - at < 8) return fail(decoding, WP_FAULT_TRUNCATED, level, field);
      value = load_fixed(at, 8);
      at += 8;
      break;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
      if (end - at < 4) return fail(decoding, WP_FAULT_TRUNCATED, level, field);
      value = load_fixed(at, 4);
      at += 4;
      break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
      code = read_short_varint(&at, end, &value);
      if (code != WP_FAULT_NONE) return fail(decoding, code, level, field);
      if (value > (uint64_t)(end - at))
        return fail(decoding, WP_FAULT_TRUNCATED, level, field);
      content = at;
      at += value;
      break;
    case WIRE_TYPE_GROUP_START:
    case WIRE_TYPE_GROUP_END: return fail(decoding, WP_FAULT_GROUP, level, field);
    default: return fail(decoding, WP_FAULT_WIRE_TYPE, level, field);
    }
    if (field == NULL) {
      code = count_surplus(decoding);
      if (code != WP_FAULT_NONE) return fail(decoding, code, level, NULL);
      continue;
    }

    bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    size_t length = (size_t)(at - content);
    if (type != (unsigned)wp_wire_type(field->type)) {
      if (!is_repeated || type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return fail(decoding, WP_FAULT_WIRE_TYPE, level, field);
      /* An empty list has no element that needs memory. */
      code = length == 0 ? count_surplus(decoding) : WP_FAULT_NONE;
      if (code == WP_FAULT_NONE)
        code = decode_packed(arena, message, field, content, length);
      if (code != WP_FAULT_NONE) return fail(decoding, code, level, field);
      continue;
    }
    if (!is_repeated) {
      uint64_t bit = UINT64_C(1) << ((size_t)(field - descriptor->fields) & 63);
      if (seen & bit) {
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
          return fail(decoding, WP_FAULT_REPEATED_MESSAGE, level, field);
        code = count_surplus(decoding);
        if (code != WP_FAULT_NONE) return fail(decoding, code, level, field);
      }
      seen |= bit;
    }
    /* The pointer for the member, if it is not a number. */
    void *pointer = NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING) {
      code = check_text(content, length);
      if (code != WP_FAULT_NONE) return fail(decoding, code, level, field);
      if (message == NULL) continue;
      char *text = wp_arena_alloc(arena, length + 1);
      if (text == NULL) return fail(decoding, WP_FAULT_BUDGET, level, field);
      memcpy(text, content, length);
      text[length] = 0;
      pointer = text;
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
      ProtobufCMessage *inner;
      code = decode(decoding, field->descriptor, content, length, level + 1, &inner);
      if (code != WP_FAULT_NONE) {
        decoding->fault->path[level] = field->name;
        return code;
      }
      pointer = inner;
    }
    if (message == NULL) continue;
    void *member = (uint8_t *)message + field->offset;
    if (is_repeated) {
      member = append(arena, message, field);
      if (member == NULL) return fail(decoding, WP_FAULT_BUDGET, level, field);
    } else if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
      *(uint32_t *)((uint8_t *)message + field->quantifier_offset) = number;
    }
    if (pointer != NULL) {
      *(void **)member = pointer;
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
      ProtobufCBinaryData data = {length, length == 0 ? NULL : (uint8_t *)content};
      *(ProtobufCBinaryData *)member = data;
    } else {
      store_number(field->type, member, value);
    }
  }
  return WP_FAULT_NONE;
}

static wp_fault_code begin(const ProtobufCMessageDescriptor *descriptor, wp_arena *arena,
                           const uint8_t *bytes, size_t count, unsigned depth_max,
                           wp_fault *fault, ProtobufCMessage **result) {
  static const uint8_t nothing[1];
  decoding decoding = {arena, depth_max > WP_DEPTH_MAX ? WP_DEPTH_MAX : depth_max,
                       WP_SURPLUS_MAX + count / WP_SURPLUS_BYTES, fault};
  fault->code = WP_FAULT_NONE;
  fault->path_count = 0;
  return decode(&decoding, descriptor, bytes == NULL ? nothing : bytes, bytes == NULL ? 0 : count,
                0, result);
}

wp_fault_code wp_scan(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                      size_t count, unsigned depth_max, wp_fault *fault) {
  ProtobufCMessage *nothing;
  return begin(descriptor, NULL, bytes, count, depth_max, fault, &nothing);
}

ProtobufCMessage *wp_unpack(const ProtobufCMessageDescriptor *descriptor, wp_arena *arena,
                            const uint8_t *bytes, size_t count, unsigned depth_max,
                            wp_fault *fault) {
  ProtobufCMessage *message;
  wp_fault_code code = begin(descriptor, arena, bytes, count, depth_max, fault, &message);
  return code == WP_FAULT_NONE ? message : NULL;
}

bool wp_is_text(const uint8_t *bytes, size_t count) {
  return check_text(bytes, count) == WP_FAULT_NONE;
}
