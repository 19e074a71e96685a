// redis: RESP2. State is one hash of all widgets (what a joiner reads with one HGETALL) and one
// string key (what GET reads); changes go through one PUBLISH channel.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocols.h"

static void put_words(struct buffer *out, unsigned count) { buffer_format(out, "*%u\r\n", count); }

static void put_word(struct buffer *out, const char *word) {
  buffer_format(out, "$%zu\r\n%s\r\n", strlen(word), word);
}

static void put_payload(struct buffer *out, const struct sizes *sizes) {
  buffer_format(out, "$%zu\r\n", sizes->payload);
  fill_payload(buffer_reserve(out, sizes->payload), sizes->payload);
  out->length += sizes->payload;
  buffer_append(out, "\r\n", 2);
}

static void resp_create(struct buffer *out, const struct sizes *sizes, unsigned index) {
  char id[32];
  snprintf(id, sizeof id, "bench-%u", index);
  put_words(out, 4);
  put_word(out, "HSET");
  put_word(out, "widgets");
  put_word(out, id);
  put_payload(out, sizes);
}

static void resp_get(struct buffer *out, const struct sizes *sizes) {
  (void)sizes;
  put_words(out, 2);
  put_word(out, "GET");
  put_word(out, "bench-0");
}

static void resp_update(struct buffer *out, const struct sizes *sizes) {
  put_words(out, 3);
  put_word(out, "SET");
  put_word(out, "bench-0");
  put_payload(out, sizes);
}

static void resp_publish(struct buffer *out, const struct sizes *sizes) {
  put_words(out, 3);
  put_word(out, "PUBLISH");
  put_word(out, "updates");
  put_payload(out, sizes);
}

static void resp_subscribe(struct buffer *out, const struct sizes *sizes, unsigned index) {
  (void)sizes, (void)index;
  put_words(out, 2);
  put_word(out, "SUBSCRIBE");
  put_word(out, "updates");
}

static void resp_join(struct buffer *out) {
  put_words(out, 2);
  put_word(out, "HGETALL");
  put_word(out, "widgets");
}

/// Reads a line "<type><number>\r\n" at `at`. Returns the bytes it took, 0 if it is incomplete.
static size_t read_line(const uint8_t *bytes, size_t count, size_t at, long long *number) {
  const uint8_t *end = at < count ? memchr(bytes + at, '\n', count - at) : NULL;
  if (!end) return 0;
  *number = strtoll((const char *)bytes + at + 1, NULL, 10);
  return (size_t)(end + 1 - (bytes + at));
}

/// Skips a value that is not an array. Returns the bytes it took, 0 if it is incomplete.
static size_t skip_scalar(const uint8_t *bytes, size_t count, size_t at) {
  long long number = 0;
  size_t line = read_line(bytes, count, at, &number);
  if (!line || bytes[at] != '$' || number < 0) return line;
  size_t total = line + (size_t)number + 2;
  return at + total <= count ? total : 0;
}

/// Reads the three elements of "message" or "subscribe".
static void read_push(const uint8_t *bytes, size_t count, size_t at, struct message *message) {
  size_t element = skip_scalar(bytes, count, at);
  if (!element) return;
  bool change = element == 13 && !memcmp(bytes + at, "$7\r\nmessage\r\n", 13);
  at += element;
  if (!(element = skip_scalar(bytes, count, at))) return;
  at += element;
  if (!(element = skip_scalar(bytes, count, at))) return;
  message->kind = change ? MESSAGE_CHANGE : MESSAGE_SYNCED;
  if (change) {
    long long length = 0;
    size_t line = read_line(bytes, count, at, &length);
    if (length >= sequenceDigits) message->position = read_sequence(bytes + at + line);
  }
  message->length = at + element;
}

static void resp_parse(struct parser *parser, const uint8_t *bytes, size_t count,
                       struct message *message) {
  message->kind = MESSAGE_INCOMPLETE;
  if (count == 0) return;
  if (bytes[0] == '*') {
    long long elements = 0;
    size_t line = read_line(bytes, count, 0, &elements);
    if (!line) return;
    if (elements == 3) return read_push(bytes, count, line, message);
    parser->elements_left = elements > 0 ? (uint64_t)elements : 0;
    message->kind = parser->elements_left ? MESSAGE_PART : MESSAGE_SYNCED;
    message->length = line;
    return;
  }
  size_t length = skip_scalar(bytes, count, 0);
  if (!length) return;
  message->length = length;
  if (parser->elements_left > 0) {
    message->kind = --parser->elements_left ? MESSAGE_PART : MESSAGE_SYNCED;
    return;
  }
  message->kind = MESSAGE_REPLY;
  message->call = parser->replies++;
  if (bytes[0] == '-') {
    message->failed = true;
    snprintf(message->text, sizeof message->text, "%.*s", (int)length - 3, (const char *)bytes + 1);
  }
}

const struct protocol protocolRESP = {
    .name = "resp",
    .framed = false,
    .ordered = true,
    .counts_updates = true,
    .create = resp_create,
    .get = resp_get,
    .update = resp_update,
    .publish = resp_publish,
    .subscribe = resp_subscribe,
    .join = resp_join,
    .parse = resp_parse,
};
