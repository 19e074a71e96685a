/*
 * The command line: options in the same syntax as widgetctl's, and the parsers of their values. An
 * option is --name VALUE or --name=VALUE, anywhere before a lone --. A mistake ends the process
 * with STATUS_USAGE.
 */
#include "programs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_HINT "write a duration such as 500ms, 5s, 1m30s or 2h"
#define NAME_CHARACTERS                                                                          \
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:"
#define ID_BYTES_MAX 128
#define KIND_BYTES_MAX 64

/* --- Options --- */

static _Noreturn void lacks_value(const option *of, const char *word) {
  fail_usage("Missing value for '%.*s <%s>'", (int)strcspn(word, "="), word, of->value);
}

int next_argument(arguments *of, char **value) {
  if (of->at >= of->count) return ARGUMENTS_END;
  char *word = of->words[of->at++];
  if (!of->has_only_words && strcmp(word, "--") == 0) {
    of->has_only_words = true;
    return next_argument(of, value);
  }
  if (of->has_only_words || word[0] != '-' || word[1] == 0) {
    *value = word;
    return ARGUMENTS_WORD;
  }
  bool is_long = word[1] == '-';
  size_t length = is_long ? strcspn(word + 2, "=") : 1;
  for (size_t i = 0; i < of->n_options; i++) {
    const option *option = &of->options[i];
    if (is_long ? strncmp(option->name, word + 2, length) != 0 || option->name[length] != 0
                : option->letter == 0 || option->letter != word[1])
      continue;
    char *rest = word + (is_long ? 2 : 1) + length;
    if (option->value == NULL) {
      if (*rest != 0) fail_usage("'%s': this option takes no value", word);
      return (int)i;
    }
    if (*rest != 0) {
      *value = rest + (*rest == '=');
      return (int)i;
    }
    if (of->at >= of->count || (of->words[of->at][0] == '-' && of->words[of->at][1] != 0))
      lacks_value(option, word);
    *value = of->words[of->at++];
    return (int)i;
  }
  fail_usage("Unknown option '%.*s'", (int)strcspn(word, "="), word);
}

/* --- Names --- */

static bool is_name(const char *name, size_t bytes_max) {
  size_t length = strlen(name);
  return length >= 1 && length <= bytes_max && strspn(name, NAME_CHARACTERS) == length
         && strchr("._-/:", name[0]) == NULL;
}

void check_id(const char *id) {
  if (!is_name(id, ID_BYTES_MAX))
    fail_usage("The value '%s' is invalid for '<id>': an id is 1 to 128 characters of a-z, A-Z, 0-9 "
               "and . _ - / :, beginning with a letter or digit", id);
}

void check_kind(const char *kind) {
  if (!is_name(kind, KIND_BYTES_MAX))
    fail_usage("The value '%s' is invalid for '--kind <kind>': a kind is 1 to 64 characters of a-z, "
               "A-Z, 0-9 and . _ - / :, beginning with a letter or digit", kind);
}

/* Compares two names, ignoring case, - and _. */
static bool is_same_name(const char *a, const char *b) {
  for (;; a++, b++) {
    while (*a == '-' || *a == '_') a++;
    while (*b == '-' || *b == '_') b++;
    int left = *a >= 'A' && *a <= 'Z' ? *a | 0x20 : *a, right = *b >= 'A' && *b <= 'Z' ? *b | 0x20 : *b;
    if (left != right) return false;
    if (left == 0) return true;
  }
}

Widgetd__V1__Family read_family(const char *name) {
  static const char *const names[] = {"small", "medium", "large", "extra-large", "inline",
                                      "circular", "rectangular"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is_same_name(name, names[i])) return (Widgetd__V1__Family)(i + 1);
  fail_usage("The value '%s' is invalid for '--family <family>': use one of small, medium, large, "
             "extra-large, inline, circular, rectangular", name);
}

/* --- Durations --- */

/* A number with up to nine decimals, times a unit. */
static bool read_scaled(const char *digits, size_t count, int64_t unit, int64_t *result) {
  int64_t whole = 0, decimals = 0, scale = 1;
  bool has_point = false;
  if (count == 0 || digits[0] == '.' || digits[count - 1] == '.') return false;
  for (size_t i = 0; i < count; i++) {
    if (digits[i] == '.') {
      if (has_point) return false;
      has_point = true;
    } else if (has_point) {
      if (scale > 100000000) return false;
      decimals = decimals * 10 + (digits[i] - '0');
      scale *= 10;
    } else if (__builtin_mul_overflow(whole, 10, &whole)
               || __builtin_add_overflow(whole, digits[i] - '0', &whole)) {
      return false;
    }
  }
  int64_t fraction = (int64_t)((double)decimals / (double)scale * (double)unit + 0.5);
  return !__builtin_mul_overflow(whole, unit, result)
         && !__builtin_add_overflow(*result, fraction, result);
}

bool read_duration(const char *from, int64_t *nanoseconds) {
  static const struct {
    const char *name;
    int64_t nanoseconds;
  } units[] = {{"ns", 1}, {"us", 1000}, {"\302\265s", 1000}, {"ms", 1000000}, {"s", 1000000000},
               {"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000}};
  *nanoseconds = 0;
  if (strcmp(from, "0") == 0) return true;
  if (*from == 0) return false;
  while (*from != 0) {
    size_t digits = strspn(from, "0123456789."), letters = strcspn(from + digits, "0123456789.");
    int64_t part = 0;
    bool is_known = false;
    for (size_t i = 0; i < sizeof units / sizeof *units && !is_known; i++)
      is_known = strlen(units[i].name) == letters
                 && memcmp(units[i].name, from + digits, letters) == 0
                 && read_scaled(from, digits, units[i].nanoseconds, &part);
    if (!is_known || __builtin_add_overflow(*nanoseconds, part, nanoseconds)) return false;
    from += digits + letters;
  }
  return true;
}

int64_t duration_option(const char *name, const char *from) {
  int64_t nanoseconds;
  if (!read_duration(from, &nanoseconds))
    fail_usage("The value '%s' is invalid for '%s <duration>': " DURATION_HINT, from, name);
  return nanoseconds;
}

/* --- Label selectors --- */

static _Noreturn void bad_labels(const char *all, const char *what) {
  fail_usage("The value '%s' is invalid for '--selector <labels>': %s", all, what);
}

/* A copy of the text without leading and trailing spaces. */
static char *trimmed(const char *start, const char *end) {
  while (start < end && *start == ' ') start++;
  while (end > start && end[-1] == ' ') end--;
  return keep_text(start, (size_t)(end - start));
}

static char *label_key(const char *start, const char *end, const char *all) {
  char *key = trimmed(start, end);
  if (*key == 0 || strpbrk(key, " !=()<>") != NULL)
    bad_labels(all, "this is not a label; write 'a=b,c!=d,e in (x,y),f,!g'");
  return key;
}

static void add_value(Widgetd__V1__LabelRequirement *to, char *value) {
  char **values = keep((to->n_values + 1) * sizeof *values);
  if (to->n_values > 0) memcpy(values, to->values, to->n_values * sizeof *values);
  values[to->n_values++] = value;
  to->values = values;
}

static void read_requirement(const char *start, const char *end, const char *all,
                             Widgetd__V1__LabelRequirement *to) {
  char *part = trimmed(start, end);
  size_t length = strlen(part);
  if (length == 0) bad_labels(all, "a requirement is empty; remove the comma");
  char *open = strchr(part, '('), *equals = strchr(part, '=');
  if (open != NULL && part[length - 1] == ')') {
    char *word = part + strcspn(part, " ");
    if (word > open) bad_labels(all, "this is not KEY in (A,B) or KEY notin (A,B)");
    char *relation = trimmed(word, open);
    bool is_in = strcmp(relation, "in") == 0;
    if (!is_in && strcmp(relation, "notin") != 0)
      bad_labels(all, "this is not KEY in (A,B) or KEY notin (A,B)");
    to->key = label_key(part, word, all);
    to->operator_ = is_in ? WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_IN
                         : WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_NOT_IN;
    for (char *at = open + 1;; at++) {
      char *stop = at + strcspn(at, ",)");
      add_value(to, trimmed(at, stop));
      at = stop;
      if (*at == ')') return;
    }
  }
  if (equals == NULL) {
    bool is_absent = part[0] == '!';
    to->key = label_key(part + is_absent, part + length, all);
    to->operator_ = is_absent ? WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_NOT_EXISTS
                             : WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_EXISTS;
    return;
  }
  bool is_other = equals > part && equals[-1] == '!';
  char *value = equals + 1 + (!is_other && equals[1] == '=');
  to->key = label_key(part, equals - is_other, all);
  to->operator_ = is_other ? WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_NOT_IN
                          : WIDGETD__V1__LABEL_OPERATOR__LABEL_OPERATOR_IN;
  add_value(to, trimmed(value, part + length));
}

void read_labels(const char *labels, Widgetd__V1__WidgetSelector *selector) {
  const char *start = labels;
  bool is_inside = false;
  for (const char *at = labels;; at++) {
    if (*at == '(' && is_inside) bad_labels(labels, "parentheses cannot be nested");
    if (*at == ')' && !is_inside) bad_labels(labels, "a ) has no (; add it, or remove the )");
    if (*at == 0 && is_inside) bad_labels(labels, "a ) is missing");
    is_inside = *at == '(' || (is_inside && *at != ')');
    if (*at != 0 && (*at != ',' || is_inside)) continue;
    Widgetd__V1__LabelRequirement *made = keep(sizeof *made);
    Widgetd__V1__LabelRequirement **list = keep((selector->n_labels + 1) * sizeof(void *));
    widgetd__v1__label_requirement__init(made);
    read_requirement(start, at, labels, made);
    if (selector->n_labels > 0)
      memcpy(list, selector->labels, selector->n_labels * sizeof(void *));
    list[selector->n_labels++] = made;
    selector->labels = list;
    if (*at == 0) return;
    start = at + 1;
  }
}

/* --- Fields --- */

/* In the order of `field`. */
static const char *const field_names[] = {
    "family", "labels", "presence", "position", "parameters", "data", "stale", "error",
    "create_time", "update_time", "owner_uid", "apply_set", "content", "timeline",
    "activity", "etag", "owners"};
#define FIELD_COUNT (sizeof field_names / sizeof *field_names)

static void add_path(field_mask *mask, char *path) {
  char **paths = keep((mask->paths.n_paths + 1) * sizeof *paths);
  if (mask->paths.n_paths > 0) memcpy(paths, mask->paths.paths, mask->paths.n_paths * sizeof *paths);
  paths[mask->paths.n_paths++] = path;
  mask->paths.paths = paths;
}

/* "createTime" as "create_time". */
static char *snake_case(const char *path) {
  text made = {0};
  for (; *path != 0; path++) {
    if (*path >= 'A' && *path <= 'Z') addf(&made, "_%c", *path | 0x20);
    else add_bytes(&made, path, 1);
  }
  char *kept = keep_text(made.bytes == NULL ? "" : made.bytes, made.count);
  free(made.bytes);
  return kept;
}

void read_field(field_mask *mask, const char *path) {
  size_t scope = strncmp(path, "data.", 5) == 0 ? 5 : strncmp(path, "parameters.", 11) == 0 ? 11 : 0;
  if (scope > 0 && path[scope] != 0) {
    *(scope == 5 ? &mask->has_data_keys : &mask->has_parameter_keys) = true;
    /* The daemon sends whole values only. So request each prefix of the path that may be a key. */
    add_path(mask, keep_text(path, strlen(path)));
    for (const char *at = path + scope + 1; *at != 0; at++)
      if (*at == '.' || *at == '[') add_path(mask, keep_text(path, (size_t)(at - path)));
    return;
  }
  bool is_label = strncmp(path, "labels.", 7) == 0 && path[7] != 0;
  bool is_presence = strcmp(path, "state") == 0 || strcmp(path, "visible") == 0
                     || strcmp(path, "enabled") == 0;
  char *name = is_presence ? keep_text("presence", 8)
               : is_label ? keep_text("labels", 6)
               : strchr(path, '.') != NULL ? keep_text(path, strlen(path)) : snake_case(path);
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    if (strcmp(name, field_names[i]) != 0) continue;
    mask->fields |= 1u << i;
    add_path(mask, name);
    return;
  }
  if (strcmp(name, "id") != 0 && strcmp(name, "kind") != 0 && strcmp(name, "revision") != 0
      && strcmp(name, "created_revision") != 0) {
    text names = {0};
    for (size_t i = 0; i < FIELD_COUNT; i++) addf(&names, "%s, ", field_names[i]);
    fail_usage("--field %s: a widget has no such field; use data.KEY, parameters.KEY, labels.KEY "
               "or one of %sstate, visible, enabled", path, names.bytes);
  }
  add_path(mask, name);
}

bool wants(const field_mask *mask, field of) {
  if (mask->paths.n_paths == 0) return of != FIELD_OWNERS;
  return (mask->fields & 1u << of) != 0;
}
