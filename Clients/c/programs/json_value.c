/*
 * Writes members, times and values as JSON. Keys of maps are sorted by their bytes, so equal content
 * gives equal text. Characters that could act on a terminal are always escaped.
 */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Members of an object --- */

void member(text *to, const char *name) {
  if (to->bytes[to->count - 1] != '{') add(to, ",");
  addf(to, "\"%s\":", name);
}

void json_string(text *to, const char *string) {
  add(to, "\"");
  const char *plain = string;
  while (*string != 0) {
    const char *start = string;
    int32_t scalar = next_scalar(&string);
    /* The text is UTF-8: the library has checked it. */
    if (scalar < 0) string++;
    if (scalar >= 0 && scalar != '"' && scalar != '\\' && !acts_on_terminal(scalar)) continue;
    add_bytes(to, plain, (size_t)(start - plain));
    plain = string;
    switch (scalar) {
    case -1: add(to, "\357\277\275"); break;
    case '"': add(to, "\\\""); break;
    case '\\': add(to, "\\\\"); break;
    case '\n': add(to, "\\n"); break;
    case '\r': add(to, "\\r"); break;
    case '\t': add(to, "\\t"); break;
    default: addf(to, "\\u%04x", (unsigned)scalar); break;
    }
  }
  add_bytes(to, plain, (size_t)(string - plain));
  add(to, "\"");
}

void string_member(text *to, const char *name, const char *string) {
  member(to, name);
  json_string(to, string);
}

void number_member(text *to, const char *name, uint64_t number) {
  member(to, name);
  addf(to, number > INT64_MAX ? "\"%llu\"" : "%llu", (unsigned long long)number);
}

void int_member(text *to, const char *name, int64_t number) {
  member(to, name);
  addf(to, "%lld", (long long)number);
}

void bool_member(text *to, const char *name, bool is_true) {
  member(to, name);
  add(to, is_true ? "true" : "false");
}

void strings_member(text *to, const char *name, char *const *strings, size_t count) {
  member(to, name);
  add(to, "[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) add(to, ",");
    json_string(to, strings[i]);
  }
  add(to, "]");
}

void enum_member(text *to, const char *name, const ProtobufCEnumDescriptor *type, size_t prefix,
                 int number, const char *otherwise) {
  const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, number);
  const char *word = number == 0 || found == NULL ? otherwise : found->name + prefix;
  member(to, name);
  add(to, "\"");
  for (; *word != 0; word++) {
    char letter = *word == '_' ? '-' : *word >= 'A' && *word <= 'Z' ? (char)(*word | 0x20) : *word;
    add_bytes(to, &letter, 1);
  }
  add(to, "\"");
}

/* --- Times and bytes --- */

static int64_t clamped(int64_t number, int64_t least, int64_t most) {
  return number < least ? least : number > most ? most : number;
}

/* Writes a fraction of a second with as few of 0, 3, 6 or 9 digits as possible. */
static void add_fraction(text *to, int32_t nanoseconds) {
  if (nanoseconds == 0) return;
  if (nanoseconds % 1000000 == 0) addf(to, ".%03d", nanoseconds / 1000000);
  else if (nanoseconds % 1000 == 0) addf(to, ".%06d", nanoseconds / 1000);
  else addf(to, ".%09d", nanoseconds);
}

/* The calendar repeats every 400 years. The year begins in March here, so that the leap day is its
 * last day. */
void add_time(text *to, int64_t seconds, int32_t nanoseconds) {
  /* The range of Timestamp. A daemon sends no other times. */
  seconds = clamped(seconds, -62135596800, 253402300799);
  nanoseconds = (int32_t)clamped(nanoseconds, 0, 999999999);
  int64_t days = seconds / 86400 - (seconds % 86400 < 0);
  int second = (int)(seconds - days * 86400);
  int64_t shifted = days + 719468, era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  int day = (int)(shifted - era * 146097);
  int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  int of_year = day - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  int of_month = of_year - (153 * month + 2) / 5 + 1;
  int64_t full = year + era * 400 + (month >= 10);
  addf(to, "\"%04lld-%02d-%02dT%02d:%02d:%02d", (long long)full, month < 10 ? month + 3 : month - 9,
       of_month, second / 3600, second / 60 % 60, second % 60);
  add_fraction(to, nanoseconds);
  add(to, "Z\"");
}

void time_member(text *to, const char *name, const Google__Protobuf__Timestamp *time) {
  member(to, name);
  add_time(to, time == NULL ? 0 : time->seconds, time == NULL ? 0 : time->nanos);
}

void add_duration(text *to, int64_t seconds, int32_t nanoseconds) {
  nanoseconds = (int32_t)clamped(nanoseconds, -999999999, 999999999);
  bool is_negative = seconds < 0 || nanoseconds < 0;
  uint64_t whole = seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds;
  addf(to, "\"%s%llu", is_negative ? "-" : "", (unsigned long long)whole);
  if (nanoseconds != 0) {
    addf(to, ".%09d", abs(nanoseconds));
    while (to->bytes[to->count - 1] == '0') to->bytes[--to->count] = 0;
  }
  add(to, "s\"");
}

static void add_base64(text *to, const uint8_t *bytes, size_t count) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  add(to, "\"");
  for (size_t i = 0; i < count; i += 3) {
    uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0)
                    | (i + 2 < count ? bytes[i + 2] : 0);
    char four[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
                    i + 1 < count ? alphabet[bits >> 6 & 63] : '=',
                    i + 2 < count ? alphabet[bits & 63] : '='};
    add_bytes(to, four, 4);
  }
  add(to, "\"");
}

void token_member(text *to, const ProtobufCBinaryData *token) {
  member(to, "resumeToken");
  add_base64(to, token->data, token->len);
}

/* --- Values --- */

void add_double(text *to, double number) {
  char digits[32];
  int precision = 0;
  do snprintf(digits, sizeof digits, "%.*e", precision, number);
  while (strtod(digits, NULL) != number && ++precision < 17);
  char *e = strchr(digits, 'e');
  int exponent = atoi(e + 1);
  /* Beyond 2^53, not every whole number is a double, so plain digits would suggest too much
   * precision. */
  if (number != 0 && (exponent < -4 || fabs(number) > 0x1p53)) {
    add(to, digits);
    return;
  }
  int places = precision - exponent;
  addf(to, "%.*f", places < 1 ? 1 : places, number);
}

static void add_value(text *to, const Widgetd__V1__Value *value);

static int compare_entries(const void *a, const void *b) {
  return strcmp((*(map_entry *const *)a)->key, (*(map_entry *const *)b)->key);
}

/* The entries, sorted by key. The caller frees the list. */
static map_entry **sorted(map_entry *const *entries, size_t count) {
  map_entry **list = malloc((count + 1) * sizeof *list);
  if (list == NULL) fail(STATUS_OTHER, "there is no memory left");
  if (count > 0) memcpy(list, entries, count * sizeof *list);
  qsort(list, count, sizeof *list, compare_entries);
  return list;
}

void add_map(text *to, map_entry *const *entries, size_t count) {
  map_entry **list = sorted(entries, count);
  add(to, "{");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) add(to, ",");
    /* A lone key that begins with $ would read as a tag, so it gets another $. */
    if (count == 1 && list[i]->key[0] == '$') {
      text key = {0};
      addf(&key, "$%s", list[i]->key);
      json_string(to, key.bytes);
      free(key.bytes);
    } else {
      json_string(to, list[i]->key);
    }
    add(to, ":");
    add_value(to, list[i]->value);
  }
  add(to, "}");
  free(list);
}

static void add_value(text *to, const Widgetd__V1__Value *value) {
  switch (value == NULL ? WIDGETD__V1__VALUE__KIND__NOT_SET : value->kind_case) {
  case WIDGETD__V1__VALUE__KIND_BOOL_VALUE: add(to, value->bool_value ? "true" : "false"); break;
  case WIDGETD__V1__VALUE__KIND_INT_VALUE: addf(to, "%lld", (long long)value->int_value); break;
  case WIDGETD__V1__VALUE__KIND_DOUBLE_VALUE:
    if (isnan(value->double_value)) add(to, "{\"$double\":\"NaN\"}");
    else if (isinf(value->double_value))
      add(to, value->double_value < 0 ? "{\"$double\":\"-Infinity\"}" : "{\"$double\":\"Infinity\"}");
    else add_double(to, value->double_value);
    break;
  case WIDGETD__V1__VALUE__KIND_STRING_VALUE: json_string(to, value->string_value); break;
  case WIDGETD__V1__VALUE__KIND_BYTES_VALUE:
    add(to, "{\"$bytes\":");
    add_base64(to, value->bytes_value.data, value->bytes_value.len);
    add(to, "}");
    break;
  case WIDGETD__V1__VALUE__KIND_LIST_VALUE:
    add(to, "[");
    for (size_t i = 0; i < value->list_value->n_values; i++) {
      if (i > 0) add(to, ",");
      add_value(to, value->list_value->values[i]);
    }
    add(to, "]");
    break;
  case WIDGETD__V1__VALUE__KIND_MAP_VALUE:
    add_map(to, value->map_value->entries, value->map_value->n_entries);
    break;
  case WIDGETD__V1__VALUE__KIND_TIMESTAMP_VALUE:
    add(to, "{\"$timestamp\":");
    add_time(to, value->timestamp_value->seconds, value->timestamp_value->nanos);
    add(to, "}");
    break;
  case WIDGETD__V1__VALUE__KIND_DURATION_VALUE:
    add(to, "{\"$duration\":");
    add_duration(to, value->duration_value->seconds, value->duration_value->nanos);
    add(to, "}");
    break;
  default: add(to, "null"); break;
  }
}
