/*
 * Memory, text, standard output and error, exit statuses. Output is not buffered: a printed line
 * reaches its reader at once. A failure that widgetctl reports too has the same message.
 */
#include "programs.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `clear` frees the memory of a longer text. */
#define KEPT_BYTES ((size_t)16 << 10)

const char *program;

/* --- Memory --- */

typedef struct kept {
  struct kept *next;
  max_align_t bytes[];
} kept;

static kept *all;

static _Noreturn void fail_memory(void) { fail(STATUS_OTHER, "there is no memory left"); }

void *keep(size_t bytes) {
  kept *made = calloc(1, sizeof *made + bytes);
  if (made == NULL) fail_memory();
  made->next = all;
  all = made;
  return made->bytes;
}

char *keep_text(const char *bytes, size_t count) {
  char *copy = keep(count + 1);
  memcpy(copy, bytes, count);
  return copy;
}

void add_bytes(text *to, const char *bytes, size_t count) {
  if (to->capacity - to->count <= count) {
    size_t capacity = to->capacity == 0 ? 1024 : to->capacity * 2;
    while (capacity - to->count <= count) capacity *= 2;
    char *grown = realloc(to->bytes, capacity);
    if (grown == NULL) fail_memory();
    to->bytes = grown;
    to->capacity = capacity;
  }
  memcpy(to->bytes + to->count, bytes, count);
  to->count += count;
  to->bytes[to->count] = 0;
}

void add(text *to, const char *string) { add_bytes(to, string, strlen(string)); }

static void add_arguments(text *to, const char *format, va_list arguments) {
  char *made;
  int count = vasprintf(&made, format, arguments);
  if (count < 0) fail_memory();
  add_bytes(to, made, (size_t)count);
  free(made);
}

void addf(text *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_arguments(to, format, arguments);
  va_end(arguments);
}

void clear(text *of) {
  of->count = 0;
  if (of->capacity <= KEPT_BYTES) return;
  free(of->bytes);
  *of = (text){0};
  malloc_trim(0);
}

/* --- Characters --- */

int32_t next_scalar(const char **at) {
  const uint8_t *bytes = (const uint8_t *)*at;
  int more = bytes[0] < 0x80 ? 0 : bytes[0] < 0xC2 ? -1 : bytes[0] < 0xE0 ? 1
             : bytes[0] < 0xF0 ? 2 : bytes[0] < 0xF5 ? 3 : -1;
  if (more < 0) return -1;
  int32_t scalar = more == 0 ? bytes[0] : bytes[0] & (0x3F >> more);
  for (int i = 1; i <= more; i++) {
    if ((bytes[i] & 0xC0) != 0x80) return -1;
    scalar = scalar << 6 | (bytes[i] & 0x3F);
  }
  bool is_short = (more == 2 && scalar < 0x800) || (more == 3 && scalar < 0x10000);
  if (is_short || scalar > 0x10FFFF || (scalar >= 0xD800 && scalar < 0xE000)) return -1;
  *at += more + 1;
  return scalar;
}

bool acts_on_terminal(int32_t scalar) {
  return scalar < 0x20 || (scalar >= 0x7F && scalar < 0xA0) || scalar == 0x61C
         || scalar == 0x200E || scalar == 0x200F
         || (scalar >= 0x2028 && scalar <= 0x202E) || (scalar >= 0x2066 && scalar <= 0x2069)
         || scalar == 0xFEFF;
}

/* Line breaks stay. */
void add_safe(text *to, const char *from) {
  while (*from != 0) {
    const char *start = from;
    int32_t scalar = next_scalar(&from);
    if (scalar < 0) addf(to, "\\x%02x", (uint8_t)*from++);
    else if (scalar != '\n' && acts_on_terminal(scalar)) addf(to, "\\u{%x}", (unsigned)scalar);
    else add_bytes(to, start, (size_t)(from - start));
  }
}

/* --- Output --- */

/* Returns errno, or 0. */
static int write_all(int descriptor, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(descriptor, bytes, count);
    if (written >= 0) {
      bytes += written;
      count -= (size_t)written;
    } else if (errno == EAGAIN) {
      poll(&(struct pollfd){.fd = descriptor, .events = POLLOUT}, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void print(const text *what) {
  int number = write_all(STDOUT_FILENO, what->bytes, what->count);
  if (number == EPIPE) exit(STATUS_OK);
  if (number != 0) fail(STATUS_OTHER, "cannot write the output: %s", strerror(number));
}

void print_version(void) {
  text line = {0};
  addf(&line, "%s\n", wc_version());
  print(&line);
  free(line.bytes);
}

static void say_arguments(const char *format, va_list arguments) {
  text plain = {0}, line = {0};
  add_arguments(&plain, format, arguments);
  addf(&line, "%s: ", program);
  add_safe(&line, plain.bytes);
  add(&line, "\n");
  /* An error here cannot be reported. */
  (void)write_all(STDERR_FILENO, line.bytes, line.count);
  free(plain.bytes);
  free(line.bytes);
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_arguments(format, arguments);
  va_end(arguments);
}

void fail(int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say_arguments(format, arguments);
  va_end(arguments);
  exit(status);
}

/* The command line, for messages about it. */
static int word_count;
static char **all_words;

/* Cuts a long argument at all its places in the line, so that the mistake stays visible. */
static void cut_argument(text *line, const char *argument) {
  static const int characters_max = 80;
  const char *at = argument, *cut = argument;
  int characters = 0;
  for (; *at != 0 && characters <= characters_max; characters++) {
    if (characters == characters_max - 1) cut = at;
    if (next_scalar(&at) < 0) return;
  }
  if (characters <= characters_max) return;
  size_t length = strlen(argument);
  text shorter = {0};
  const char *from = line->bytes;
  for (const char *found; (found = strstr(from, argument)) != NULL; from = found + length) {
    add_bytes(&shorter, from, (size_t)(found - from));
    add_bytes(&shorter, argument, (size_t)(cut - argument));
    add(&shorter, "…");
  }
  add(&shorter, from);
  free(line->bytes);
  *line = shorter;
}

void fail_usage(const char *format, ...) {
  text line = {0};
  va_list arguments;
  va_start(arguments, format);
  add_arguments(&line, format, arguments);
  va_end(arguments);
  for (int i = 1; i < word_count; i++) {
    const char *equals = strchr(all_words[i], '=');
    cut_argument(&line, all_words[i]);
    if (all_words[i][0] == '-' && equals != NULL) cut_argument(&line, equals + 1);
  }
  say("%s\nsee `%s --help`", line.bytes, program);
  free(line.bytes);
  exit(STATUS_USAGE);
}

/* --- Errors --- */

static int status_of(const wc_error *error) {
  /* The path is too long for a socket. */
  if (!error->from_daemon && strcmp(error->reason, "CONNECT_FAILED") == 0
      && error->code == WC_INVALID_ARGUMENT)
    return STATUS_UNAVAILABLE;
  switch (error->code) {
  case WC_OK: return STATUS_OK;
  case WC_NOT_FOUND: return STATUS_NOT_FOUND;
  case WC_ALREADY_EXISTS: return STATUS_EXISTS;
  case WC_FAILED_PRECONDITION:
  case WC_ABORTED: return STATUS_REFUSED;
  case WC_PERMISSION_DENIED:
  case WC_UNAUTHENTICATED: return STATUS_PERMISSION_DENIED;
  case WC_UNAVAILABLE: return STATUS_UNAVAILABLE;
  case WC_DEADLINE_EXCEEDED: return STATUS_TIMED_OUT;
  case WC_RESOURCE_EXHAUSTED: return STATUS_QUOTA_EXCEEDED;
  case WC_INVALID_ARGUMENT:
  case WC_OUT_OF_RANGE: return STATUS_INVALID;
  default: return STATUS_OTHER;
  }
}

/* Appends a path, quoted as one word of a shell. */
static void add_quoted(text *to, const char *path) {
  if (*path != 0 && strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "/._-+:,") == strlen(path)) {
    add(to, path);
    return;
  }
  add(to, "'");
  for (; *path != 0; path++) {
    if (*path == '\'') add(to, "'\\''");
    else add_bytes(to, path, 1);
  }
  add(to, "'");
}

/* The type of a file that is not a socket. NULL if the path is a socket or does not exist. */
static const char *kind_of_other(const char *path) {
  struct stat status;
  if (path == NULL || stat(path, &status) != 0 || S_ISSOCK(status.st_mode)) return NULL;
  return S_ISDIR(status.st_mode) ? "a directory"
         : S_ISREG(status.st_mode) ? "a regular file" : "a special file";
}

static const char *named_socket(const char *socket) {
  if (socket == NULL || *socket == 0) socket = getenv("WIDGETD_SOCKET");
  if (socket == NULL || *socket == 0) return NULL;
  if (strncmp(socket, "unix://", 7) == 0) return socket + 7;
  return strncmp(socket, "unix:", 5) == 0 ? socket + 5 : socket;
}

/* Appends a message whose next step is a command; the daemon's messages name its methods. Returns
 * false if the daemon's message is better. */
static bool add_command(text *to, const wc_error *error) {
  const char *id = wc_error_metadata(error, "widget_id"), *reason = error->reason;
  if (id == NULL || *id == 0) return false;
  if (strcmp(reason, "WIDGET_NOT_FOUND") == 0) {
    addf(to, "there is no widget \"%s\"; `widgetctl ls` lists them", id);
  } else if (strcmp(reason, "WIDGET_HIDDEN") == 0) {
    addf(to, "widget \"%s\" is hidden and takes no events; show it with `widgetctl show %s`, or send "
             "with --force", id, id);
  } else if (strcmp(reason, "WIDGET_DISABLED") == 0) {
    addf(to, "widget \"%s\" is disabled and takes no events; enable it with `widgetctl enable %s`, "
             "or send with --force", id, id);
  } else if (strcmp(reason, "NODE_NOT_FOUND") == 0) {
    const char *node = wc_error_metadata(error, "node_id");
    addf(to, "widget \"%s\" shows no node \"%s\" now; `widgetctl view %s --nodes` lists them", id,
         node == NULL ? "" : node, id);
  } else {
    return false;
  }
  return true;
}

/* Appends a line of a message of the daemon. If it begins with a field of the request, the field is
 * replaced by the name of its argument, as in widgetctl. */
static void add_line(text *to, const char *message) {
  static const char *const names[][2] = {
      {"payload: ", "the event's fields: "}, {"name: ", "the event's name: "},
      {"node_id: ", "the node: "},           {"widget_id: ", "the id: "},
      {"request_id: ", "--request-id: "},    {"selector.expression: ", "--where: "}};
  static const char field[] = "payload[", form[] = "payload[values][";
  if (strncmp(message, "name: Widgets ", 14) == 0) {
    addf(to, "widgets %s", message + 14);
    return;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t length = strlen(names[i][0]);
    if (strncmp(message, names[i][0], length) != 0) continue;
    addf(to, "%s%s", names[i][1], message + length);
    return;
  }
  bool is_form = strncmp(message, form, sizeof form - 1) == 0;
  const char *key = message + (is_form ? sizeof form - 1 : sizeof field - 1);
  const char *end = strncmp(message, field, sizeof field - 1) == 0 ? strchr(key, ']') : NULL;
  if (end == NULL) {
    add(to, message);
    return;
  }
  addf(to, "%s %.*s%s", is_form ? "the form's value" : "the event's field", (int)(end - key), key,
       end + 1);
}

/* Appends a message of the daemon. A refused form has a line for each wrong value. */
static void add_message(text *to, const char *message) {
  const char *end;
  while ((end = strchr(message, '\n')) != NULL) {
    char *line = strndup(message, (size_t)(end - message));
    if (line == NULL) break;
    add_line(to, line);
    free(line);
    add(to, "\n");
    message = end + 1;
  }
  add_line(to, message);
}

const char *error_words(const wc_error *error, const char *socket) {
  static text words;
  clear(&words);
  const char *path = named_socket(socket);
  bool is_connection = !error->from_daemon
                       && (strcmp(error->reason, "CONNECT_FAILED") == 0
                           || strcmp(error->reason, "SOCKET_NOT_FOUND") == 0
                           || strcmp(error->reason, "CONNECTION_LOST") == 0
                           || strcmp(error->reason, "UNRESPONSIVE") == 0
                           || strcmp(error->reason, "DEADLINE_EXCEEDED") == 0
                           || strcmp(error->reason, "PROTOCOL_VIOLATION") == 0);
  const char *other = is_connection ? kind_of_other(path) : NULL;
  if (other != NULL) {
    addf(&words, "%s is %s, not a socket; name the daemon's with --socket or $WIDGETD_SOCKET", path,
         other);
    return words.bytes;
  }
  if (!add_command(&words, error)) {
    /* The library names its functions. */
    static const char function[] = "with wc_set_timeout";
    const char *named = strstr(error->message, function);
    if (named == NULL) {
      add_message(&words, error->message);
    } else {
      add_bytes(&words, error->message, (size_t)(named - error->message));
      add(&words, "with --timeout");
      add(&words, named + sizeof function - 1);
    }
  }
  while (words.count > 0 && words.bytes[words.count - 1] == '.') words.bytes[--words.count] = 0;
  if (!is_connection) return words.bytes;
  add(&words, words.count > 0 && words.bytes[words.count - 1] == '?' ? " " : "; ");
  add(&words, "`widgetctl doctor");
  if (socket != NULL && *socket != 0) {
    add(&words, " --socket ");
    add_quoted(&words, path);
  }
  add(&words, "` finds out what is wrong");
  return words.bytes;
}

void fail_error(const wc_error *error, const char *socket) {
  fail(status_of(error), "%s", error_words(error, socket));
}

/* --- Beginning --- */

void begin(const char *name, int count, char **words) {
  program = name;
  word_count = count;
  all_words = words;
  /* open(2) returns the lowest free number. All lower ones are in use, so that is `descriptor`. */
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
  signal(SIGPIPE, SIG_IGN);
  /* Freed memory goes back to the system, even after a large allocation. */
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  for (int i = 1; i < count; i++)
    for (const char *at = words[i]; *at != 0;)
      if (next_scalar(&at) < 0) fail_usage("the argument '%s' is not well-formed UTF-8", words[i]);
}
