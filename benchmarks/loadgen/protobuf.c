#include "protobuf.h"

#include <string.h>

void put_varint(struct buffer *buffer, uint64_t value) {
  uint8_t byte;
  for (; value > 127; value >>= 7) {
    byte = (uint8_t)(value | 128);
    buffer_append(buffer, &byte, 1);
  }
  byte = (uint8_t)value;
  buffer_append(buffer, &byte, 1);
}

void put_bytes(struct buffer *buffer, unsigned field, const void *bytes, size_t count) {
  put_varint(buffer, field << 3 | 2);
  put_varint(buffer, count);
  buffer_append(buffer, bytes, count);
}

void put_text(struct buffer *buffer, unsigned field, const char *text) {
  put_bytes(buffer, field, text, strlen(text));
}

void put_message(struct buffer *buffer, unsigned field, struct buffer *inner) {
  put_bytes(buffer, field, inner->bytes, inner->length);
  inner->length = 0;
}

static uint64_t take_varint(struct scanner *scanner) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && scanner->at < scanner->end; shift += 7) {
    uint8_t byte = *scanner->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  scanner->broken = true;
  return 0;
}

bool take_field(struct scanner *scanner, struct field *field) {
  if (scanner->broken || scanner->at >= scanner->end) return false;
  uint64_t tag = take_varint(scanner);
  *field = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
  size_t left = 0;
  switch (field->wire) {
    case 0: field->value = take_varint(scanner); return !scanner->broken;
    case 1: field->count = 8; break;
    case 2: field->count = take_varint(scanner); break;
    case 5: field->count = 4; break;
    default: scanner->broken = true; return false;
  }
  left = (size_t)(scanner->end - scanner->at);
  if (scanner->broken || field->count > left) {
    scanner->broken = true;
    return false;
  }
  field->bytes = scanner->at;
  scanner->at += field->count;
  return true;
}

struct scanner scan(const uint8_t *bytes, size_t count) {
  return (struct scanner){.at = bytes, .end = bytes + count};
}
