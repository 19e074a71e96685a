#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *buffer_reserve(struct buffer *buffer, size_t count) {
  if (buffer->start > 0 && buffer->length + count > buffer->capacity) {
    memmove(buffer->bytes, buffer->bytes + buffer->start, buffer_waiting(buffer));
    buffer->length -= buffer->start;
    buffer->start = 0;
  }
  if (buffer->length + count > buffer->capacity) {
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < buffer->length + count) capacity *= 2;
    buffer->bytes = realloc(buffer->bytes, capacity);
    if (!buffer->bytes) abort();
    buffer->capacity = capacity;
  }
  return buffer->bytes + buffer->length;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count) {
  if (count == 0) return;
  memcpy(buffer_reserve(buffer, count), bytes, count);
  buffer->length += count;
}

void buffer_format(struct buffer *buffer, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (count < 0 || (size_t)count >= sizeof text) abort();
  buffer_append(buffer, text, (size_t)count);
}

void buffer_consume(struct buffer *buffer, size_t count) {
  buffer->start += count;
  if (buffer->start == buffer->length) buffer->start = buffer->length = 0;
}

void buffer_free(struct buffer *buffer) {
  free(buffer->bytes);
  *buffer = (struct buffer){0};
}
