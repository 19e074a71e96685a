/*
 * The code that widgetd-send and widgetd-watch share. Each layer uses only those above it:
 *
 *   report       memory, text, standard output and error, exit statuses
 *   arguments    options, ids, durations, selectors
 *   json_value, json_write    values, widgets and frames as the lines that widgetctl prints
 *   json_read, assignment     JSON and KEY=VALUE as values
 *
 * Both programs have one thread and one connection. Every error ends the process: `fail` prints the
 * failure and the reason, and exits with widgetctl's status for it.
 */
#ifndef WC_PROGRAMS_H
#define WC_PROGRAMS_H

#include <widgetclient.h>

/* --- report.c --- */

/* The same numbers as widgetctl's. */
enum {
  STATUS_OK = 0,
  STATUS_OTHER = 1,
  STATUS_USAGE = 2,
  STATUS_NOT_FOUND = 3,
  STATUS_EXISTS = 4,
  STATUS_REFUSED = 5,
  STATUS_PERMISSION_DENIED = 6,
  STATUS_UNAVAILABLE = 7,
  STATUS_TIMED_OUT = 8,
  STATUS_QUOTA_EXCEEDED = 9,
  STATUS_INVALID = 10
};

/* The program's name, such as "widgetd-send". It begins every message. */
extern const char *program;

/* Must be called first. Sets the program's name, opens closed standard streams so that no socket
 * gets their numbers, makes a broken pipe an error of write(2), and refuses arguments that are not
 * UTF-8. */
void begin(const char *name, int count, char **words);

/* Zeroed memory that lives as long as the process. */
void *keep(size_t bytes);
char *keep_text(const char *bytes, size_t count);

/* A growable string. It is NUL-terminated after every call. */
typedef struct text {
  char *bytes;
  size_t count, capacity;
} text;

void add_bytes(text *to, const char *bytes, size_t count);
void add(text *to, const char *string);
void addf(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Empties it, and frees the memory of a long text. */
void clear(text *of);

/* Reads one code point at `*at` and moves `*at` past it. Returns -1 if it is not well-formed. */
int32_t next_scalar(const char **at);
/* Whether the character could act on a terminal: a control character, or one that changes text
 * direction. */
bool acts_on_terminal(int32_t scalar);
/* The text, with characters that could act on a terminal escaped. */
void add_safe(text *to, const char *from);

/* Writes the whole text to standard output. If the output is closed, the process ends with 0. */
void print(const text *what);
/* Prints the version. */
void print_version(void);
/* Prints a line on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends with STATUS_USAGE, and refers to --help. */
_Noreturn void fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends with the message of an error of the library or the daemon. `socket` is the value of
 * --socket, or NULL. */
_Noreturn void fail_error(const wc_error *error, const char *socket);
/* The message of `fail_error`: the problem and the next step. */
const char *error_words(const wc_error *error, const char *socket);

/* --- arguments.c --- */

typedef struct option {
  char letter;
  const char *name;
  /* The name of its value. NULL if it takes none. */
  const char *value;
} option;

enum { ARGUMENTS_END = -1, ARGUMENTS_WORD = -2 };

typedef struct arguments {
  int count, at;
  char **words;
  const option *options;
  size_t n_options;
  bool has_only_words;
} arguments;

/* The number of the next option, or one of the above. `*value` gets its value, or the word. */
int next_argument(arguments *of, char **value);

void check_id(const char *text);
void check_kind(const char *text);
/* Parses a duration such as "1m30s" to nanoseconds. False if it is invalid or negative. */
bool read_duration(const char *text, int64_t *nanoseconds);
/* Parses an option's duration. An invalid one is a usage error. */
int64_t duration_option(const char *option, const char *text);
Widgetd__V1__Family read_family(const char *text);
/* Adds the requirements of "a=b,c!=d,e in (x,y),f,!g" to a selector. */
void read_labels(const char *labels, Widgetd__V1__WidgetSelector *selector);

/* The requested fields of a widget: --field. */
typedef struct field_mask {
  Google__Protobuf__FieldMask paths;
  /* Bits, in the order of the fields' names in arguments.c. */
  uint32_t fields;
  bool has_data_keys, has_parameter_keys;
} field_mask;

typedef enum field {
  FIELD_FAMILY,
  FIELD_LABELS,
  FIELD_PRESENCE,
  FIELD_POSITION,
  FIELD_PARAMETERS,
  FIELD_DATA,
  FIELD_STALE,
  FIELD_ERROR,
  FIELD_CREATE_TIME,
  FIELD_UPDATE_TIME,
  FIELD_OWNER_UID,
  FIELD_APPLY_SET,
  FIELD_CONTENT,
  FIELD_TIMELINE,
  FIELD_ACTIVITY,
  FIELD_ETAG,
  FIELD_OWNERS
} field;

void read_field(field_mask *mask, const char *path);
bool wants(const field_mask *mask, field of);

/* --- json_value.c, json_write.c --- */

void json_string(text *to, const char *string);
void json_widget(text *to, const Widgetd__V1__Widget *widget, const field_mask *mask);
/* The lines of a frame, each with its newline. Empty for an unknown frame. */
void json_frame(text *to, const Widgetd__V1__WatchWidgetsResponse *frame, const field_mask *mask);

/* --- assignment.c --- */

/* One KEY=VALUE: key=value, key==text, key:=json, key=@file, key:=@file, as widgetctl reads it. */
typedef struct assignment {
  char *key;
  Widgetd__V1__Value *value;
} assignment;

/* `argument` names the argument in usage errors: "<key=value>". */
assignment read_assignment(const char *text, const char *argument);

#endif
