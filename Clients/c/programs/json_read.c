/*
 * Reads JSON as widgetctl does: 1 is an int and 1.0 a double, a duplicate key is an error, nesting
 * is bounded. A reader stops at the first mistake and keeps its message. Memory that it allocated
 * lives until the process ends.
 */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

typedef Widgetd__V1__Value value;

typedef struct reader {
  const char *start, *at;
  /* The mistake: "1:5: expected : after a key". Empty if there is none. */
  char why[256];
} reader;

static void *wrong(reader *from, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void *wrong(reader *from, const char *format, ...) {
  if (from->why[0] != 0) return NULL;
  int line = 1, column = 1;
  for (const char *at = from->start; at < from->at; at++) {
    column = *at == '\n' ? 1 : column + 1;
    line += *at == '\n';
  }
  int count = snprintf(from->why, sizeof from->why, "%d:%d: ", line, column);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(from->why + count, sizeof from->why - (size_t)count, format, arguments);
  va_end(arguments);
  return NULL;
}

static void skip_space(reader *from) { from->at += strspn(from->at, " \n\r\t"); }

static bool take(reader *from, char byte) {
  if (*from->at != byte) return false;
  from->at++;
  return true;
}

value *new_value(Widgetd__V1__Value__KindCase kind) {
  value *result = keep(sizeof *result);
  widgetd__v1__value__init(result);
  result->kind_case = kind;
  return result;
}

/* --- Text --- */

static bool read_unit(reader *from, uint32_t *unit) {
  *unit = 0;
  if (strspn(from->at, "0123456789abcdefABCDEF") < 4) {
    wrong(from, "\\u needs four hexadecimal digits");
    return false;
  }
  for (int i = 0; i < 4; i++) {
    char digit = *from->at++;
    *unit = *unit << 4 | (uint32_t)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
  }
  return true;
}

static void add_scalar(text *to, uint32_t scalar) {
  char bytes[4];
  size_t count = 0;
  if (scalar < 0x80) bytes[count++] = (char)scalar;
  else if (scalar < 0x800) bytes[count++] = (char)(0xC0 | scalar >> 6);
  else if (scalar < 0x10000) bytes[count++] = (char)(0xE0 | scalar >> 12);
  else bytes[count++] = (char)(0xF0 | scalar >> 18);
  if (scalar >= 0x10000) bytes[count++] = (char)(0x80 | (scalar >> 12 & 0x3F));
  if (scalar >= 0x800) bytes[count++] = (char)(0x80 | (scalar >> 6 & 0x3F));
  if (scalar >= 0x80) bytes[count++] = (char)(0x80 | (scalar & 0x3F));
  add_bytes(to, bytes, count);
}

static bool read_escape(reader *from, text *to) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char *found = *from->at == 0 ? NULL : strchr(letters, *from->at);
  if (found != NULL) {
    add_bytes(to, &meant[found - letters], 1);
    from->at++;
    return true;
  }
  if (!take(from, 'u')) {
    wrong(from, *from->at == 0 ? "the closing quote is missing" : "there is no such escape");
    return false;
  }
  uint32_t scalar, low;
  if (!read_unit(from, &scalar)) return false;
  if (scalar >= 0xD800 && scalar < 0xDC00) {
    if (strncmp(from->at, "\\u", 2) != 0) {
      wrong(from, "half of a surrogate pair is missing");
      return false;
    }
    from->at += 2;
    if (!read_unit(from, &low)) return false;
    scalar = low < 0xDC00 || low > 0xDFFF ? 0xDC00 : 0x10000 + ((scalar - 0xD800) << 10) + low - 0xDC00;
  }
  if (scalar >= 0xD800 && scalar < 0xE000) {
    wrong(from, "half of a surrogate pair is missing");
    return false;
  }
  if (scalar == 0) {
    wrong(from, "text cannot contain \\u0000");
    return false;
  }
  add_scalar(to, scalar);
  return true;
}

static char *read_string(reader *from) {
  text made = {0};
  from->at++;
  while (*from->at != '"' && from->why[0] == 0) {
    if (*from->at == 0) wrong(from, "the closing quote is missing");
    else if ((uint8_t)*from->at < 0x20) wrong(from, "control characters must be escaped in text");
    else if (*from->at != '\\') add_bytes(&made, from->at++, 1);
    else {
      from->at++;
      (void)read_escape(from, &made);
    }
  }
  if (*from->at == '"') from->at++;
  char *result = from->why[0] == 0 ? keep_text(made.bytes == NULL ? "" : made.bytes, made.count) : NULL;
  free(made.bytes);
  return result;
}

/* --- Values --- */

static value *read_value(reader *from, int depth);

static value *read_number(reader *from) {
  const char *start = from->at;
  (void)take(from, '-');
  bool leads_with_zero = *from->at == '0', is_whole = true;
  size_t whole = strspn(from->at, "0123456789");
  from->at += whole;
  if (whole == 0) return wrong(from, "this is not a value");
  if (whole > 1 && leads_with_zero) return wrong(from, "a number cannot start with 0");
  if (take(from, '.')) {
    size_t digits = strspn(from->at, "0123456789");
    if (digits == 0) return wrong(from, "digits are missing after the point");
    from->at += digits;
    is_whole = false;
  }
  if (take(from, 'e') || take(from, 'E')) {
    if (!take(from, '-')) (void)take(from, '+');
    size_t digits = strspn(from->at, "0123456789");
    if (digits == 0) return wrong(from, "digits are missing in the exponent");
    from->at += digits;
    is_whole = false;
  }
  value *result = new_value(is_whole ? WIDGETD__V1__VALUE__KIND_INT_VALUE
                                     : WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE);
  int length = (int)(from->at - start);
  errno = 0;
  if (is_whole) result->int_value = strtoll(start, NULL, 10);
  else result->double_value = strtod(start, NULL);
  bool is_outside = is_whole && errno == ERANGE;
  if (!is_outside && (is_whole || !isinf(result->double_value))) return result;
  /* The mistake begins with the number. A long number is cut. */
  from->at = start;
  int shown = length > 64 ? 64 : length;
  const char *rest = length > 64 ? "…" : "";
  if (is_outside)
    return wrong(from, "%.*s%s is outside 64 bits; write it with a fraction, or in quotes", shown,
                 start, rest);
  return wrong(from, "%.*s%s is larger than a double can be", shown, start, rest);
}

static value *read_array(reader *from, int depth) {
  value *result = new_value(WIDGETD__V1__VALUE__KIND_LIST_VALUE);
  Widgetd__V1__ListValue *list = keep(sizeof *list);
  size_t capacity = 0;
  widgetd__v1__list_value__init(list);
  result->list_value = list;
  from->at++;
  skip_space(from);
  if (take(from, ']')) return result;
  for (;;) {
    if (list->n_values == capacity) {
      capacity = capacity == 0 ? 8 : capacity * 2;
      value **grown = keep(capacity * sizeof *grown);
      if (list->n_values > 0) memcpy(grown, list->values, list->n_values * sizeof *grown);
      list->values = grown;
    }
    skip_space(from);
    value *element = read_value(from, depth + 1);
    if (element == NULL) return NULL;
    list->values[list->n_values++] = element;
    skip_space(from);
    if (take(from, ']')) return result;
    if (!take(from, ',')) return wrong(from, "expected , or ] in a list");
  }
}

static int compare_keys(const void *a, const void *b) {
  return strcmp((*(map_entry *const *)a)->key, (*(map_entry *const *)b)->key);
}

static value *read_object(reader *from, int depth) {
  value *result = new_value(WIDGETD__V1__VALUE__KIND_MAP_VALUE);
  Widgetd__V1__MapValue *map = keep(sizeof *map);
  size_t capacity = 0;
  widgetd__v1__map_value__init(map);
  result->map_value = map;
  from->at++;
  skip_space(from);
  if (take(from, '}')) return result;
  for (;;) {
    if (map->n_entries == capacity) {
      capacity = capacity == 0 ? 8 : capacity * 2;
      map_entry **grown = keep(capacity * sizeof *grown);
      if (map->n_entries > 0) memcpy(grown, map->entries, map->n_entries * sizeof *grown);
      map->entries = grown;
    }
    skip_space(from);
    if (*from->at != '"') return wrong(from, "expected a key in quotes");
    map_entry *added = keep(sizeof *added);
    widgetd__v1__map_value__entries_entry__init(added);
    added->key = read_string(from);
    if (added->key == NULL) return NULL;
    map->entries[map->n_entries++] = added;
    skip_space(from);
    if (!take(from, ':')) return wrong(from, "expected : after a key");
    skip_space(from);
    added->value = read_value(from, depth + 1);
    if (added->value == NULL) return NULL;
    skip_space(from);
    if (take(from, '}')) break;
    if (!take(from, ',')) return wrong(from, "expected , or } in an object");
  }
  qsort(map->entries, map->n_entries, sizeof *map->entries, compare_keys);
  for (size_t i = 1; i < map->n_entries; i++)
    if (compare_keys(&map->entries[i - 1], &map->entries[i]) == 0)
      return wrong(from, "the key \"%s\" appears twice", map->entries[i]->key);
  return result;
}

static value *read_literal(reader *from, const char *word, Widgetd__V1__Value__KindCase kind) {
  if (strncmp(from->at, word, strlen(word)) != 0) return wrong(from, "this is not a value");
  from->at += strlen(word);
  value *result = new_value(kind);
  if (kind == WIDGETD__V1__VALUE__KIND_BOOL_VALUE) result->bool_value = word[0] == 't';
  return result;
}

static value *read_value(reader *from, int depth) {
  if (depth > DEPTH_MAX) return wrong(from, "nests deeper than %d levels", DEPTH_MAX);
  switch (*from->at) {
  case 0: return wrong(from, "a value is missing");
  case '{': return read_object(from, depth);
  case '[': return read_array(from, depth);
  case '"': {
    char *string = read_string(from);
    if (string == NULL) return NULL;
    value *result = new_value(WIDGETD__V1__VALUE__KIND_STRING_VALUE);
    result->string_value = string;
    return result;
  }
  case 't': return read_literal(from, "true", WIDGETD__V1__VALUE__KIND_BOOL_VALUE);
  case 'f': return read_literal(from, "false", WIDGETD__V1__VALUE__KIND_BOOL_VALUE);
  case 'n': return read_literal(from, "null", WIDGETD__V1__VALUE__KIND_NULL_VALUE);
  default: return read_number(from);
  }
}

/* Reads the value after which nothing may follow. */
static value *read_all(reader *from) {
  skip_space(from);
  value *result = read_value(from, 0);
  if (result == NULL) return NULL;
  skip_space(from);
  if (*from->at != 0)
    return wrong(from, "there is more text after the value");
  return result;
}

value *read_json(const char *json, const char **why) {
  /* Some editors write a byte order mark. */
  if (strncmp(json, "\357\273\277", 3) == 0) json += 3;
  reader from = {.start = json, .at = json};
  value *result = read_all(&from);
  if (result == NULL) *why = keep_text(from.why, strlen(from.why));
  return result;
}

/* --- Tags: what JSON has no type for --- */

static bool read_base64(const char *digits, ProtobufCBinaryData *to) {
  size_t length = strlen(digits), padding = 0;
  while (padding < 2 && padding < length && digits[length - 1 - padding] == '=') padding++;
  if (length % 4 != 0) return false;
  uint32_t bits = 0;
  int held = 0;
  to->data = keep(length);
  to->len = 0;
  for (size_t i = 0; i < length - padding; i++) {
    char digit = digits[i];
    int number = digit >= 'A' && digit <= 'Z'   ? digit - 'A'
                 : digit >= 'a' && digit <= 'z' ? digit - 'a' + 26
                 : digit >= '0' && digit <= '9' ? digit - '0' + 52
                 : digit == '+' ? 62 : digit == '/' ? 63 : -1;
    if (number < 0) return false;
    bits = bits << 6 | (uint32_t)number;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    to->data[to->len++] = (uint8_t)(bits >> held);
    bits &= (1u << held) - 1;
  }
  return bits == 0;
}

/* Reads exactly this number of digits. */
static bool read_digits(const char **at, int count, int *number) {
  *number = 0;
  for (int i = 0; i < count; i++, (*at)++) {
    if (**at < '0' || **at > '9') return false;
    *number = *number * 10 + (**at - '0');
  }
  return true;
}

static bool skip(const char **at, char byte) {
  if (**at != byte) return false;
  (*at)++;
  return true;
}

/* Reads "2026-01-02T03:04:05.678Z", or with "+02:00" in place of Z. */
static bool read_time(const char *at, Google__Protobuf__Timestamp *to) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year, month, day, hour, minute, second, offset = 0, digits = 0;
  if (!read_digits(&at, 4, &year) || !skip(&at, '-') || !read_digits(&at, 2, &month)
      || !skip(&at, '-') || !read_digits(&at, 2, &day) || (!skip(&at, 'T') && !skip(&at, 't'))
      || !read_digits(&at, 2, &hour) || !skip(&at, ':') || !read_digits(&at, 2, &minute)
      || !skip(&at, ':') || !read_digits(&at, 2, &second) || year < 1 || month < 1 || month > 12
      || hour > 23 || minute > 59 || second > 59)
    return false;
  bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if (day < 1 || day > lengths[month - 1] + (month == 2 && is_leap)) return false;
  to->nanos = 0;
  if (skip(&at, '.')) {
    for (; *at >= '0' && *at <= '9' && digits < 10; at++, digits++)
      if (digits < 9) to->nanos = to->nanos * 10 + (*at - '0');
    if (digits < 1 || digits > 9) return false;
    for (; digits < 9; digits++) to->nanos *= 10;
  }
  if (!skip(&at, 'Z') && !skip(&at, 'z')) {
    int sign = *at == '-' ? -60 : 60, hours, minutes;
    if ((*at != '-' && *at != '+') || (at++, !read_digits(&at, 2, &hours)) || !skip(&at, ':')
        || !read_digits(&at, 2, &minutes) || hours > 23 || minutes > 59)
      return false;
    offset = (hours * 60 + minutes) * sign;
  }
  /* The year begins in March here, so that the leap day is its last day. */
  int64_t shifted = month <= 2 ? year - 1 : year, era = shifted / 400, of_era = shifted - era * 400;
  int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
  int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  to->seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset;
  return *at == 0;
}

/* Replaces a tag by its value; `untag` has checked that the map has only this entry. Returns NULL,
 * or the expected format. */
static const char *read_tag(value *of, const char *tag, const value *content) {
  const char *string = content->kind_case == WIDGETD__V1__VALUE__KIND_STRING_VALUE
                           ? content->string_value : NULL;
  if (strcmp(tag, "$bytes") == 0) {
    ProtobufCBinaryData bytes;
    if (string == NULL || !read_base64(string, &bytes)) return "base64 text";
    of->kind_case = WIDGETD__V1__VALUE__KIND_BYTES_VALUE;
    of->bytes_value = bytes;
  } else if (strcmp(tag, "$timestamp") == 0) {
    Google__Protobuf__Timestamp *time = keep(sizeof *time);
    google__protobuf__timestamp__init(time);
    if (string == NULL || !read_time(string, time))
      return "an RFC 3339 time such as 2026-01-02T03:04:05Z";
    of->kind_case = WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE;
    of->timestamp_value = time;
  } else if (strcmp(tag, "$duration") == 0) {
    Google__Protobuf__Duration *duration = keep(sizeof *duration);
    int64_t nanoseconds;
    google__protobuf__duration__init(duration);
    bool is_negative = string != NULL && *string == '-';
    if (string == NULL || !read_duration(string + is_negative, &nanoseconds))
      return "a duration such as 1.5s";
    if (is_negative) nanoseconds = -nanoseconds;
    duration->seconds = nanoseconds / 1000000000;
    duration->nanos = (int32_t)(nanoseconds % 1000000000);
    of->kind_case = WIDGETD__V1__VALUE__KIND_DURATION_VALUE;
    of->duration_value = duration;
  } else if (strcmp(tag, "$double") == 0) {
    double number = string == NULL                       ? 0
                    : strcmp(string, "NaN") == 0         ? NAN
                    : strcmp(string, "Infinity") == 0    ? INFINITY
                    : strcmp(string, "-Infinity") == 0   ? -INFINITY
                                                         : 0;
    if (number == 0) return "NaN, Infinity or -Infinity";
    of->kind_case = WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE;
    of->double_value = number;
  } else {
    return "another name ($bytes, $timestamp, $duration, $double), or a second $ for a key that "
           "begins with $";
  }
  return NULL;
}

const char *untag(value *of) {
  const char *why = NULL;
  if (of->kind_case == WIDGETD__V1__VALUE__KIND_LIST_VALUE)
    for (size_t i = 0; i < of->list_value->n_values && why == NULL; i++)
      why = untag(of->list_value->values[i]);
  if (of->kind_case != WIDGETD__V1__VALUE__KIND_MAP_VALUE) return why;
  Widgetd__V1__MapValue *map = of->map_value;
  if (map->n_entries == 1 && map->entries[0]->key[0] == '$') {
    char *tag = map->entries[0]->key;
    if (tag[1] != '$') {
      const char *needs = read_tag(of, tag, map->entries[0]->value);
      if (needs == NULL) return NULL;
      text words = {0};
      addf(&words, "%s needs %s", tag, needs);
      why = keep_text(words.bytes, words.count);
      free(words.bytes);
      return why;
    }
    map->entries[0]->key = tag + 1;
  }
  for (size_t i = 0; i < map->n_entries && why == NULL; i++) why = untag(map->entries[i]->value);
  return why;
}
