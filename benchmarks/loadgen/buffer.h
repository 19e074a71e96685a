// A growing buffer, for requests and answers.
//
// Without memory, the program ends.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer {
  uint8_t *bytes;
  size_t start;   // the first byte that is not consumed
  size_t length;  // the end of the bytes; start <= length <= capacity
  size_t capacity;
};

/// The number of bytes that are not consumed.
static inline size_t buffer_waiting(const struct buffer *buffer) {
  return buffer->length - buffer->start;
}

/// Makes room for `count` more bytes and returns their place. Does not change `length`.
uint8_t *buffer_reserve(struct buffer *buffer, size_t count);
/// Appends bytes.
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
/// Appends text as printf makes it.
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Drops `count` bytes from the front; moves nothing.
void buffer_consume(struct buffer *buffer, size_t count);
/// Frees the memory and leaves an empty buffer.
void buffer_free(struct buffer *buffer);
