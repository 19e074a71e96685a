#include "wp_decode.h"

#include <string.h>

/* The wire types that protobuf-c has no names for. */
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

static ProtobufCWireType wire_type_of(ProtobufCType type) {
  switch (type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_UINT32:
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_BOOL:
  case PROTOBUF_C_TYPE_ENUM: return PROTOBUF_C_WIRE_TYPE_VARINT;
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: return PROTOBUF_C_WIRE_TYPE_64BIT;
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_FLOAT: return PROTOBUF_C_WIRE_TYPE_32BIT;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE: return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
  }
  return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
}

static wp_fault_code check_packed(ProtobufCWireType element, const uint8_t *bytes, size_t count) {
  const uint8_t *end = bytes + count;
  uint64_t ignored;
  switch (element) {
  case PROTOBUF_C_WIRE_TYPE_VARINT:
    while (bytes < end)
      if (read_varint(&bytes, end, &ignored) != WP_FAULT_NONE) return WP_FAULT_PACKED;
    return WP_FAULT_NONE;
  case PROTOBUF_C_WIRE_TYPE_64BIT: return count % 8 == 0 ? WP_FAULT_NONE : WP_FAULT_PACKED;
  case PROTOBUF_C_WIRE_TYPE_32BIT: return count % 4 == 0 ? WP_FAULT_NONE : WP_FAULT_PACKED;
  default: return WP_FAULT_WIRE_TYPE;
  }
}

/* Notes the fault at this level; the levels above add their own names on the way out. */
static wp_fault_code fail(wp_fault *fault, wp_fault_code code, unsigned level,
                          const ProtobufCFieldDescriptor *field) {
  fault->code = code;
  fault->path_count = field == NULL ? level : level + 1;
  if (field != NULL) fault->path[level] = field->name;
  return code;
}

static wp_fault_code scan(const ProtobufCMessageDescriptor *descriptor, const uint8_t *at,
                          size_t count, unsigned level, unsigned depth_max, wp_fault *fault) {
  if (level >= depth_max) return fail(fault, WP_FAULT_DEPTH, level, NULL);
  const uint8_t *end = at + count;
  /* Which singular sub-messages were seen, one bit for each field of this message. */
  uint64_t seen = 0;
  const ProtobufCFieldDescriptor *field = NULL;
  uint32_t number = 0;
  while (at < end) {
    uint64_t tag;
    wp_fault_code code = read_varint(&at, end, &tag);
    if (code != WP_FAULT_NONE) return fail(fault, code, level, NULL);
    if (tag > UINT32_MAX || tag >> 3 == 0) return fail(fault, WP_FAULT_FIELD_NUMBER, level, NULL);
    if (tag >> 3 != number) {
      number = (uint32_t)(tag >> 3);
      field = field_of(descriptor, number);
    }
    unsigned type = tag & 7;
    uint64_t value;
    const uint8_t *content = at;
    switch (type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
      code = read_varint(&at, end, &value);
      if (code != WP_FAULT_NONE) return fail(fault, code, level, field);
      break;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
      if (end - at < 8) return fail(fault, WP_FAULT_TRUNCATED, level, field);
      at += 8;
      break;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
      if (end - at < 4) return fail(fault, WP_FAULT_TRUNCATED, level, field);
      at += 4;
      break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
      code = read_varint(&at, end, &value);
      if (code != WP_FAULT_NONE) return fail(fault, code, level, field);
      if (value > (uint64_t)(end - at)) return fail(fault, WP_FAULT_TRUNCATED, level, field);
      content = at;
      at += value;
      break;
    case WIRE_TYPE_GROUP_START:
    case WIRE_TYPE_GROUP_END: return fail(fault, WP_FAULT_GROUP, level, field);
    default: return fail(fault, WP_FAULT_WIRE_TYPE, level, field);
    }
    if (field == NULL) continue;

    ProtobufCWireType expected = wire_type_of(field->type);
    if (type != (unsigned)expected) {
      if (field->label != PROTOBUF_C_LABEL_REPEATED || type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return fail(fault, WP_FAULT_WIRE_TYPE, level, field);
      code = check_packed(expected, content, (size_t)(at - content));
      if (code != WP_FAULT_NONE) return fail(fault, code, level, field);
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
      code = check_text(content, (size_t)(at - content));
      if (code != WP_FAULT_NONE) return fail(fault, code, level, field);
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
      if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        uint64_t bit = UINT64_C(1) << ((size_t)(field - descriptor->fields) & 63);
        if (seen & bit) return fail(fault, WP_FAULT_REPEATED_MESSAGE, level, field);
        seen |= bit;
      }
      code = scan(field->descriptor, content, (size_t)(at - content), level + 1, depth_max, fault);
      if (code != WP_FAULT_NONE) {
        fault->path[level] = field->name;
        return code;
      }
    }
  }
  return WP_FAULT_NONE;
}

wp_fault_code wp_scan(const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                      size_t count, unsigned depth_max, wp_fault *fault) {
  static const uint8_t nothing[1];
  fault->code = WP_FAULT_NONE;
  fault->path_count = 0;
  if (depth_max > WP_DEPTH_MAX) depth_max = WP_DEPTH_MAX;
  return scan(descriptor, bytes == NULL ? nothing : bytes, bytes == NULL ? 0 : count, 0, depth_max,
              fault);
}

ProtobufCMessage *wp_unpack(const ProtobufCMessageDescriptor *descriptor, wp_arena *arena,
                            const uint8_t *bytes, size_t count, unsigned depth_max,
                            wp_fault *fault) {
  if (wp_scan(descriptor, bytes, count, depth_max, fault) != WP_FAULT_NONE) return NULL;
  arena->exhausted = false;
  ProtobufCMessage *message =
      protobuf_c_message_unpack(descriptor, &arena->allocator, bytes == NULL ? 0 : count, bytes);
  if (message == NULL) fault->code = arena->exhausted ? WP_FAULT_BUDGET : WP_FAULT_UNPACK;
  return message;
}
