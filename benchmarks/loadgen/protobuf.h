// Protobuf's wire format, written and read by hand. Only the fields that a workload needs are read.
// All others are skipped by their wire type.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

void put_varint(struct buffer *, uint64_t value);
void put_bytes(struct buffer *, unsigned field, const void *bytes, size_t count);
void put_text(struct buffer *, unsigned field, const char *text);
/// Appends `inner` as a length-delimited field and empties it.
void put_message(struct buffer *, unsigned field, struct buffer *inner);

struct field {
  uint32_t number, wire;
  uint64_t value;  // wire type 0
  const uint8_t *bytes;  // wire type 2
  size_t count;
};

struct scanner {
  const uint8_t *at, *end;
  bool broken;
};

struct scanner scan(const uint8_t *bytes, size_t count);
/// Takes the next field. Returns false at the end, and for invalid bytes (`broken`).
bool take_field(struct scanner *, struct field *);
