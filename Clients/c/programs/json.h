/*
 * The parts of writing and reading JSON, which their files share. Nothing here is for other files.
 * json_write.c uses json_value.c, and assignment.c uses json_read.c.
 */
#ifndef WC_JSON_H
#define WC_JSON_H

#include "programs.h"

/* --- json_value.c --- */

/* Writes the name of the next member. The caller has written the object's `{`. */
void member(text *to, const char *name);
void string_member(text *to, const char *name, const char *string);
void number_member(text *to, const char *name, uint64_t number);
void int_member(text *to, const char *name, int64_t number);
void bool_member(text *to, const char *name, bool is_true);
void strings_member(text *to, const char *name, char *const *strings, size_t count);
/* Writes the word for an enum's value: EASE_IN after its prefix becomes "ease-in". `otherwise` is
 * the word for 0 and for unknown values. */
void enum_member(text *to, const char *name, const ProtobufCEnumDescriptor *type, size_t prefix,
                 int number, const char *otherwise);
/* NULL is the first second of 1970. */
void time_member(text *to, const char *name, const Google__Protobuf__Timestamp *time);
void token_member(text *to, const ProtobufCBinaryData *token);

/* Writes "2026-01-02T03:04:05.678Z". */
void add_time(text *to, int64_t seconds, int32_t nanoseconds);
/* Writes seconds with up to nine decimals: "1.5s". */
void add_duration(text *to, int64_t seconds, int32_t nanoseconds);
/* Writes the fewest digits that read back as the same number, with a point or exponent. */
void add_double(text *to, double number);

/* The entry of any map from keys to values. The generated structs differ only in their names. */
typedef Widgetd__V1__MapValue__EntriesEntry map_entry;
/* Writes a map as a value, tags included. Its entries get sorted by key. */
void add_map(text *to, map_entry *const *entries, size_t count);
#define map_member(to, name, entries, count)                                                       \
  do {                                                                                             \
    member(to, name);                                                                              \
    add_map(to, (map_entry *const *)(entries), count);                                             \
  } while (0)

/* --- json_read.c --- */

/* Reads the whole text as one value. NULL if it is not JSON; `*why` then gets the mistake, such as
 * "1:5: expected : after a key". */
Widgetd__V1__Value *read_json(const char *json, const char **why);
/* Replaces all tags, such as {"$bytes": …}, at every level. Returns NULL, or the mistake. */
const char *untag(Widgetd__V1__Value *of);
/* An empty value of a kind, which is never freed. */
Widgetd__V1__Value *new_value(Widgetd__V1__Value__KindCase kind);

#endif
