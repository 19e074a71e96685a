/*
 * Reads KEY=VALUE as widgetctl does.
 */
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The maximum size of a file. It is larger than any message. */
#define FILE_BYTES_MAX ((size_t)16 << 20)

typedef Widgetd__V1__Value value;

/* As in widgetctl, a missing file and a file that may not be read have separate statuses. */
static _Noreturn void fail_reading(const char *path, int error) {
  if (error == ENOENT)
    fail(STATUS_NOT_FOUND, "%s: there is no such file; check the path", path);
  int status = STATUS_OTHER;
  if (error == ENOTDIR) status = STATUS_NOT_FOUND;
  if (error == EACCES || error == EPERM || error == EROFS) status = STATUS_PERMISSION_DENIED;
  fail(status, "%s: cannot be read: %s", path, strerror(error));
}

static char *read_file(const char *path) {
  bool is_input = strcmp(path, "-") == 0;
  int descriptor = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  text all = {0};
  ssize_t count = -1;
  if (descriptor >= 0) {
    char chunk[16 << 10];
    while ((count = read(descriptor, chunk, sizeof chunk)) > 0 || (count < 0 && errno == EINTR)) {
      if (count < 0) continue;
      add_bytes(&all, chunk, (size_t)count);
      if (all.count > FILE_BYTES_MAX)
        fail(STATUS_INVALID, "%s: longer than %zu MiB", path, FILE_BYTES_MAX >> 20);
    }
  }
  if (count < 0) fail_reading(path, errno);
  if (descriptor >= 0 && !is_input) close(descriptor);
  char *result = keep_text(all.bytes == NULL ? "" : all.bytes, all.count);
  if (strlen(result) != all.count)
    fail(STATUS_INVALID, "%s: text cannot contain a zero byte", path);
  for (const char *at = result; *at != 0;)
    if (next_scalar(&at) < 0) fail(STATUS_INVALID, "%s: not well-formed UTF-8", path);
  free(all.bytes);
  return result;
}

static value *made_text(const char *string) {
  value *result = new_value(WIDGETD__V1__VALUE__KIND_STRING_VALUE);
  result->string_value = (char *)(uintptr_t)string;
  return result;
}

/* Reads JSON if the whole text is JSON, else text. A whole number outside 64 bits is an error, so
 * that a key's type does not depend on a number's size. A mistake in text that begins like JSON is an
 * error too. */
static value *infer(const char *from, const char *all, const char *argument) {
  const char *why;
  value *result = read_json(from, &why);
  if (result != NULL) return result;
  const char *prefix = "The value '%s' is invalid for '%s': ";
  text words = {0};
  addf(&words, prefix, all, argument);
  if (from[0] == '{' || strncmp(from, "[{", 2) == 0 || strncmp(from, "[\"", 2) == 0)
    fail_usage("%s%s looks like JSON, but %s; write ==%s for text", words.bytes, from, why, from);
  const char *digits = from + (from[0] == '-');
  size_t length = strlen(digits);
  if (length >= 19 && digits[0] != '0' && strspn(digits, "0123456789") == length)
    fail_usage("%s%s is outside 64 bits; write a smaller number for an int, ==%s for text or %s.0 "
               "for a double", words.bytes,
               from, from, from);
  free(words.bytes);
  return made_text(from);
}

assignment read_assignment(const char *from, const char *argument) {
  const char *equals = strchr(from, '=');
  if (equals == NULL)
    fail_usage("The value '%s' is invalid for '%s': \"%s\" is not KEY=VALUE", from, argument, from);
  bool is_json = equals > from && equals[-1] == ':';
  assignment result = {.key = keep_text(from, (size_t)(equals - is_json - from))};
  const char *rest = equals + 1, *path = NULL;
  if (result.key[0] == 0)
    fail_usage("The value '%s' is invalid for '%s': \"%s\" has no key before the =", from, argument,
               from);
  if (rest[0] == '=' && !is_json) {
    result.value = made_text(rest + 1);
    return result;
  }
  if (rest[0] == '@') {
    path = rest + 1;
    rest = read_file(path);
  }
  const char *mistake = NULL, *why = NULL;
  if (is_json) result.value = read_json(rest, &mistake);
  else if (path != NULL) result.value = made_text(rest);
  else result.value = infer(rest, from, argument);
  if (result.value == NULL) {
    text words = {0};
    addf(&words, "%s is not JSON: %s", result.key, mistake);
    why = keep_text(words.bytes, words.count);
    free(words.bytes);
  } else if (is_json || path == NULL) {
    why = untag(result.value);
  }
  if (why != NULL && path != NULL) fail(STATUS_INVALID, "%s: %s", path, why);
  if (why != NULL) fail_usage("The value '%s' is invalid for '%s': %s", from, argument, why);
  return result;
}
