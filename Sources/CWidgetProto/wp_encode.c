#include "wp_encode.h"

#include <stdlib.h>
#include <string.h>

#include "wp_fields.h"

static const size_t first_bytes = 4 << 10;
/* A larger unused buffer is freed. */
static const size_t kept_bytes_max = 256 << 10;

bool wp_output_grow(wp_output *output, size_t count) {
  size_t used = wp_output_count(output), capacity = (size_t)(output->end - output->begin);
  if (count > SIZE_MAX / 4 || capacity > SIZE_MAX / 4) return false;
  size_t wanted = capacity == 0 ? first_bytes : capacity * 2;
  while (wanted - used < count) wanted *= 2;
  uint8_t *bytes = malloc(wanted);
  if (bytes == NULL) return false;
  if (used > 0) memcpy(bytes + wanted - used, output->at, used);
  free(output->begin);
  output->begin = bytes;
  output->end = bytes + wanted;
  output->at = output->end - used;
  return true;
}

bool wp_encode_long_number(wp_output *output, uint64_t value) {
  size_t count = (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
  uint8_t *at = wp_output_claim(output, count);
  if (at == NULL) return false;
  for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)value | 0x80;
  *at = (uint8_t)value;
  return true;
}

static inline bool put_fixed32(wp_output *output, uint32_t value) {
  uint8_t *at = wp_output_claim(output, 4);
  if (at == NULL) return false;
  for (unsigned index = 0; index < 4; index++) at[index] = (uint8_t)(value >> (8 * index));
  return true;
}

static inline bool put_fixed64(wp_output *output, uint64_t value) {
  uint8_t *at = wp_output_claim(output, 8);
  if (at == NULL) return false;
  for (unsigned index = 0; index < 8; index++) at[index] = (uint8_t)(value >> (8 * index));
  return true;
}

bool wp_encode_fixed64(wp_output *output, uint32_t number, uint64_t value) {
  return put_fixed64(output, value) && wp_encode_tag(output, number, PROTOBUF_C_WIRE_TYPE_64BIT);
}

void wp_output_truncate(wp_output *output, size_t count) {
  if (count > wp_output_count(output)) return;
  if (count == 0 && (size_t)(output->end - output->begin) > kept_bytes_max)
    return wp_output_release(output);
  output->at = output->end - count;
}

void wp_output_release(wp_output *output) {
  free(output->begin);
  output->at = output->begin = output->end = NULL;
}

/* --- Fields ---------------------------------------------------------------------------------- */

static inline uint32_t load32(const void *member) { return *(const uint32_t *)member; }
static inline uint64_t load64(const void *member) { return *(const uint64_t *)member; }

/* A number without its tag. */
static inline bool put_number(wp_output *output, ProtobufCType type, const void *member) {
  switch (type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_ENUM:
    return wp_encode_number(output, (uint64_t)(int64_t)(int32_t)load32(member));
  case PROTOBUF_C_TYPE_UINT32: return wp_encode_number(output, load32(member));
  case PROTOBUF_C_TYPE_SINT32: {
    uint32_t value = load32(member);
    return wp_encode_number(output, (value << 1) ^ (0 - (value >> 31)));
  }
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64: return wp_encode_number(output, load64(member));
  case PROTOBUF_C_TYPE_SINT64: {
    uint64_t value = load64(member);
    return wp_encode_number(output, (value << 1) ^ (0 - (value >> 63)));
  }
  case PROTOBUF_C_TYPE_BOOL:
    return wp_encode_number(output, *(const protobuf_c_boolean *)member != 0);
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_FLOAT: return put_fixed32(output, load32(member));
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: return put_fixed64(output, load64(member));
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE: break;
  }
  return false;
}

/* A field with its tag. */
static inline bool put_field(wp_output *output, const ProtobufCFieldDescriptor *field,
                             const void *member) {
  switch (field->type) {
  case PROTOBUF_C_TYPE_STRING: {
    const char *text = *(const char *const *)member;
    size_t count = text == NULL ? 0 : strlen(text);
    return wp_encode_bytes(output, (const uint8_t *)text, count)
           && wp_encode_field(output, field->id, count);
  }
  case PROTOBUF_C_TYPE_BYTES: {
    const ProtobufCBinaryData *data = member;
    return wp_encode_bytes(output, data->data, data->len)
           && wp_encode_field(output, field->id, data->len);
  }
  case PROTOBUF_C_TYPE_MESSAGE: {
    const ProtobufCMessage *message = *(const ProtobufCMessage *const *)member;
    size_t before = wp_output_count(output);
    if (message != NULL && !wp_encode(output, message)) return false;
    return wp_encode_field(output, field->id, wp_output_count(output) - before);
  }
  default:
    return put_number(output, field->type, member)
           && wp_encode_tag(output, field->id, wp_wire_type(field->type));
  }
}

static bool put_repeated(wp_output *output, const ProtobufCFieldDescriptor *field,
                         const uint8_t *elements, size_t count) {
  size_t stride = wp_element_bytes(field->type);
  if ((field->flags & PROTOBUF_C_FIELD_FLAG_PACKED) == 0) {
    for (size_t index = count; index-- > 0;)
      if (!put_field(output, field, elements + index * stride)) return false;
    return true;
  }
  size_t before = wp_output_count(output);
  for (size_t index = count; index-- > 0;)
    if (!put_number(output, field->type, elements + index * stride)) return false;
  return wp_encode_field(output, field->id, wp_output_count(output) - before);
}

/* Whether a member outside of a oneof has another value than its default. */
static inline bool is_set(const ProtobufCFieldDescriptor *field, const void *member) {
  switch (field->type) {
  case PROTOBUF_C_TYPE_STRING: {
    const char *text = *(const char *const *)member;
    return text != NULL && *text != 0;
  }
  case PROTOBUF_C_TYPE_BYTES: return ((const ProtobufCBinaryData *)member)->len != 0;
  case PROTOBUF_C_TYPE_MESSAGE: return *(const void *const *)member != NULL;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64: return load64(member) != 0;
  case PROTOBUF_C_TYPE_DOUBLE: return *(const double *)member != 0;
  case PROTOBUF_C_TYPE_FLOAT: return *(const float *)member != 0;
  case PROTOBUF_C_TYPE_BOOL: return *(const protobuf_c_boolean *)member != 0;
  default: return load32(member) != 0;
  }
}

/* Whether a member of a oneof is the set one. */
static inline bool is_chosen(const ProtobufCFieldDescriptor *field, uint32_t chosen,
                             const void *member) {
  if (chosen != field->id) return false;
  if (field->type != PROTOBUF_C_TYPE_MESSAGE && field->type != PROTOBUF_C_TYPE_STRING) return true;
  const void *pointer = *(const void *const *)member;
  return pointer != NULL && pointer != field->default_value;
}

bool wp_encode(wp_output *output, const ProtobufCMessage *message) {
  const ProtobufCMessageDescriptor *descriptor = message->descriptor;
  for (unsigned index = descriptor->n_fields; index-- > 0;) {
    const ProtobufCFieldDescriptor *field = &descriptor->fields[index];
    const uint8_t *member = (const uint8_t *)message + field->offset;
    const void *quantifier = (const uint8_t *)message + field->quantifier_offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      size_t count = *(const size_t *)quantifier;
      if (count > 0
          && !put_repeated(output, field, *(const uint8_t *const *)member, count))
        return false;
      continue;
    }
    bool is_there = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF
                      ? is_chosen(field, load32(quantifier), member)
                      : is_set(field, member);
    if (is_there && !put_field(output, field, member)) return false;
  }
  return true;
}
