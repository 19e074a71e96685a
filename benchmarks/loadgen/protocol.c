#include "protocol.h"

#include <string.h>

uint32_t read_u32be(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

uint64_t read_sequence(const uint8_t *digits) {
  uint64_t value = 0;
  for (int index = 0; index < sequenceDigits; index++) {
    uint8_t digit = digits[index];
    value = value << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  }
  return value;
}

void fill_payload(uint8_t *bytes, size_t count) {
  memset(bytes, 'x', count);
  memcpy(bytes, SEQUENCE_PLACE, sequenceDigits);
}

void frame_append(struct buffer *out, uint32_t stream, uint8_t type, uint8_t flags,
                  const void *body, size_t count) {
  uint8_t header[frameHeaderBytes] = {
      (uint8_t)(count >> 24),  (uint8_t)(count >> 16),  (uint8_t)(count >> 8),  (uint8_t)count,
      (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream,
      type,                    flags};
  buffer_append(out, header, sizeof header);
  buffer_append(out, body, count);
}
