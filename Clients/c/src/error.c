/*
 * Errors: plain memory that the caller owns, so a program frees nothing and leaks nothing. Texts
 * from the daemon are cut where they do not fit, never inside a UTF-8 character.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

const char *wc_code_name(wc_code code) {
  static const char *const names[] = {
      "OK",           "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",    "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
      "UNIMPLEMENTED", "INTERNAL",      "UNAVAILABLE",       "DATA_LOSS",
      "UNAUTHENTICATED"};
  if ((int)code < 0 || (size_t)code >= sizeof names / sizeof *names) return "UNKNOWN";
  return names[code];
}

void wc_copy_text(char *to, size_t size, const char *from) {
  size_t count = strlen(from);
  if (count >= size) {
    count = size - 1;
    while (count > 0 && ((unsigned char)from[count] & 0xc0) == 0x80) count--;
  }
  memcpy(to, from, count);
  to[count] = 0;
}

wc_code wc_fail(wc_error *error, wc_code code, const char *reason, const char *format, ...) {
  if (error == NULL) return code;
  memset(error, 0, sizeof *error);
  error->code = code;
  wc_copy_text(error->reason, sizeof error->reason, reason);
  va_list arguments;
  va_start(arguments, format);
  char text[sizeof error->message + 256];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  wc_copy_text(error->message, sizeof error->message, text);
  return code;
}

wc_code wc_fail_memory(wc_error *error) {
  return wc_fail(error, WC_RESOURCE_EXHAUSTED, "NO_MEMORY",
                 "there is no memory left; free some and try again");
}

const char *wc_error_metadata(const wc_error *error, const char *key) {
  for (size_t i = 0; i < error->metadata_count; i++)
    if (strcmp(error->metadata[i].key, key) == 0) return error->metadata[i].value;
  return NULL;
}
