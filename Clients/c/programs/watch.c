/*
 * widgetd-watch: prints the same lines of JSON as `widgetctl watch -o jsonl`, for long-running
 * programs such as status bars. It waits for the daemon at the start, and reconnects and resumes
 * after a restart.
 *
 * A frame is printed before the watch reads the next one. So if the reader stops reading, this
 * program stops reading, too. The daemon merges the changes, and no buffer grows. Widgets are
 * kept only for --once.
 */
#include "programs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The backoff is short, because a user is waiting. */
#define FIRST_WAIT_MILLISECONDS 50
#define LAST_WAIT_MILLISECONDS 2000
/* The memory limit of --once. */
#define ONCE_BYTES_MAX ((size_t)1 << 30)
/* The time for each question about a missing widget or kind. */
#define QUESTION_MILLISECONDS 2000
/* The maximum number of pages that a question reads. */
#define QUESTION_PAGES_MAX 1000
/* The longest time, before the end of --timeout, for the question whether the daemon answers. */
#define LAST_QUESTION_MILLISECONDS 1000

enum { LABELS, KIND, FAMILY, WHERE, FIELD, ONCE, EVENTS, REDACTED, MIN_INTERVAL, WAIT, SOCKET, TIMEOUT, HELP,
       VERSION };

static const option options[] = {
    [LABELS] = {'l', "selector", "labels"},
    [KIND] = {0, "kind", "kind"},
    [FAMILY] = {0, "family", "family"},
    [WHERE] = {0, "where", "expression"},
    [FIELD] = {0, "field", "path"},
    [ONCE] = {0, "once", NULL},
    [EVENTS] = {0, "events", NULL},
    [REDACTED] = {0, "redacted", NULL},
    [MIN_INTERVAL] = {0, "min-interval", "duration"},
    [WAIT] = {0, "wait", NULL},
    [SOCKET] = {0, "socket", "path"},
    [TIMEOUT] = {0, "timeout", "duration"},
    [HELP] = {'h', "help", NULL},
    [VERSION] = {0, "version", NULL},
};

static const char help[] =
    "Follow widgets of widgetd, like `widgetctl watch -o jsonl`, with little time and memory.\n"
    "\n"
    "usage: widgetd-watch [options] [ID ...]\n"
    "\n"
    "  widgetd-watch\n"
    "  widgetd-watch clock cpu --field data.text\n"
    "  widgetd-watch -l panel=top --min-interval 100ms\n"
    "\n"
    "Each line is a JSON object. Its `type` is opened, snapshot, synced, changes, event, gap,\n"
    "reset, disconnected or reconnected. The program waits for the daemon at the start, and resumes\n"
    "after a restart. It ends with Ctrl-C, with --timeout, or when its output is closed.\n"
    "\n"
    "  -l, --selector LABELS        Only widgets with these labels: 'a=b,c!=d,e in (x,y),f,!g'.\n"
    "      --kind KIND              Only widgets of this kind; may be repeated.\n"
    "      --family FAMILY          Only widgets of this family; may be repeated.\n"
    "      --where EXPRESSION       Only widgets for which this expression is true:\n"
    "                               'data.percent > 90'.\n"
    "      --field PATH             Only this field; may be repeated: data.KEY,\n"
    "                               parameters.KEY, labels.KEY (gives all labels), or a\n"
    "                               field's name, such as labels.\n"
    "      --once                   Print the existing widgets, one per line, and end.\n"
    "      --events                 Also print the events of these widgets.\n"
    "      --redacted               Get a redacted view, for a screen that everybody\n"
    "                               sees: neither private nodes nor data.\n"
    "      --min-interval DURATION  Minimum time between two lines of changes.\n"
    "      --wait                   With --once: wait for the daemon if it is not running.\n"
    "      --socket PATH            The daemon's socket. Default: $WIDGETD_SOCKET,\n"
    "                               $XDG_RUNTIME_DIR/widgetd/widgetd.sock,\n"
    "                               /run/widgetd/widgetd.sock.\n"
    "      --timeout DURATION       End after this long, with status 8. Default: never.\n"
    "      --version                Print the version, and exit.\n"
    "  -h, --help                   Print this help, and exit.\n"
    "\n"
    "Exit status: 0 success, or the output was closed; 2 wrong usage, 3 a named widget or kind\n"
    "does not exist (--once), 6 permission denied, 7 no daemon (--once), 8 timeout,\n"
    "9 limit exceeded, 10 invalid selection, 1 any other error.\n";

typedef struct follower {
  Widgetd__V1__WatchWidgetsRequest request;
  Widgetd__V1__WidgetSelector selector;
  field_mask mask;
  const char *socket;
  bool once, waits;
  /* Whether the stream was ever open. */
  bool was_open;
  /* Whether "disconnected" was printed, and "reconnected" must follow. */
  bool owes_reconnected;
  /* Whether the daemon kept the connection but did not answer. */
  bool hangs;
  /* Whether this is the first snapshot. The fields below then collect which of the ids are in it,
   * and whether it has widgets. */
  bool is_first;
  bool *is_there;
  bool has_widgets;
  /* The exit status of --once. */
  int status;
  text line;
} follower;

/* --- Time --- */

/* The message at the end of --timeout, and the cause that `find_cause` has found. The handler of the
 * signal writes them. It may come at any time, so the cause is set with one assignment. */
static char timed_out[128];
static const char *volatile cause = "; allow more with --timeout\n";
/* Whether the end of --timeout is near, so that `find_cause` must ask. */
static volatile sig_atomic_t is_ending;
/* The time between the signal for the last question and the end, in milliseconds. */
static int last_question;

static void end_in_time(int number) {
  (void)number;
  if (!is_ending) {
    struct itimerval rest = {.it_value = {.tv_sec = last_question / 1000,
                                          .tv_usec = last_question % 1000 * 1000}};
    is_ending = 1;
    if (last_question > 0) {
      setitimer(ITIMER_REAL, &rest, NULL);
      return;
    }
  }
  ssize_t written = write(STDERR_FILENO, timed_out, strlen(timed_out));
  written = write(STDERR_FILENO, cause, strlen(cause));
  (void)written;
  _exit(STATUS_TIMED_OUT);
}

static void set_limit(int64_t nanoseconds) {
  if (nanoseconds == 0) return;
  int64_t half = nanoseconds / 2000000;
  last_question = half < LAST_QUESTION_MILLISECONDS ? (int)half : LAST_QUESTION_MILLISECONDS;
  int64_t first = nanoseconds - (int64_t)last_question * 1000000;
  struct itimerval limit = {.it_value = {.tv_sec = first / 1000000000,
                                         .tv_usec = first % 1000000000 / 1000}};
  if (first < 1000) limit.it_value.tv_usec = 1;
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%lld.%09lld", (long long)(nanoseconds / 1000000000),
           (long long)(nanoseconds % 1000000000));
  size_t length = strlen(seconds);
  while (seconds[length - 1] == '0') seconds[--length] = 0;
  if (seconds[length - 1] == '.') seconds[--length] = 0;
  snprintf(timed_out, sizeof timed_out, "widgetd-watch: not done within %ss", seconds);
  sigaction(SIGALRM, &(struct sigaction){.sa_handler = end_in_time}, NULL);
  setitimer(ITIMER_REAL, &limit, NULL);
}

/* --- Notices --- */

static void print_line(follower *to) {
  if (to->line.count > 0) print(&to->line);
  clear(&to->line);
}

/* The connection is lost, or could not be made. */
static void lost(follower *to, const wc_error *error) {
  to->hangs = strcmp(error->reason, "UNRESPONSIVE") == 0;
  if (!to->was_open && to->once && !to->waits) fail_error(error, to->socket);
  if (!to->was_open) say("%s; waiting for it", error_words(error, to->socket));
  else if (!to->owes_reconnected)
    say("%s; reconnecting...",
        to->hangs ? "widgetd does not answer" : "lost the connection to widgetd");
  to->owes_reconnected = true;
  if (to->once) return;
  add(&to->line, "{\"type\":\"disconnected\"}\n");
  print_line(to);
}

/* --- Missing widgets and kinds --- */

/* Whether the daemon answers a call with NOT_FOUND. Without an answer, nothing is missing. */
static bool is_not_found(follower *to, const char *method, const ProtobufCMessage *request) {
  wc_error error;
  void *answer = NULL;
  wc_client *client = wc_connect_within(to->socket, QUESTION_MILLISECONDS, &error);
  if (client == NULL) return false;
  wc_code code = wc_call_message(client, method, request, &answer, &error);
  wc_free(answer);
  wc_close(client);
  return code == WC_NOT_FOUND;
}

static bool lacks_widget(follower *to, char *id) {
  Widgetd__V1__GetWidgetRequest request = WIDGETD__V1__GET_WIDGET_REQUEST__INIT;
  char *path = "id";
  Google__Protobuf__FieldMask mask = GOOGLE__PROTOBUF__FIELD_MASK__INIT;
  mask.n_paths = 1;
  mask.paths = &path;
  request.id = id;
  request.read_mask = &mask;
  return is_not_found(to, "GetWidget", &request.base);
}

static bool lacks_kind(follower *to, char *kind) {
  Widgetd__V1__GetKindRequest request = WIDGETD__V1__GET_KIND_REQUEST__INIT;
  request.name = kind;
  return is_not_found(to, "GetKind", &request.base);
}

/* Whether no widget has the kind. A kind that nobody has registered can have widgets. */
static bool has_no_widgets(follower *to, char *kind) {
  Widgetd__V1__ListWidgetsRequest request = WIDGETD__V1__LIST_WIDGETS_REQUEST__INIT;
  Widgetd__V1__WidgetSelector selector = WIDGETD__V1__WIDGET_SELECTOR__INIT;
  Widgetd__V1__ListWidgetsResponse *page = NULL;
  wc_error error;
  selector.n_kinds = 1;
  selector.kinds = &kind;
  request.selector = &selector;
  request.page_size = 1;
  wc_client *client = wc_connect_within(to->socket, QUESTION_MILLISECONDS, &error);
  if (client == NULL) return false;
  bool is_known = false, has_none = false;
  /* A list without end has no answer. */
  for (int pages = 0; pages < QUESTION_PAGES_MAX && !is_known && !has_none; pages++) {
    /* The token belongs to the last page. */
    Widgetd__V1__ListWidgetsResponse *last = page;
    page = NULL;
    if (wc_call(client, "ListWidgets", &request, &page, &error) != WC_OK) {
      is_known = true;
    } else {
      is_known = page->n_widgets > 0;
      has_none = !is_known && page->next_page_token[0] == 0;
      request.page_token = page->next_page_token;
    }
    wc_free(last);
  }
  wc_free(page);
  wc_close(client);
  return has_none;
}

static void look_for_kinds(follower *to) {
  for (size_t n = 0; n < to->selector.n_kinds; n++) {
    char *kind = to->selector.kinds[n];
    if (!lacks_kind(to, kind)) continue;
    if (!to->once)
      say("the kind \"%s\" is not registered; `widgetctl kinds` lists the kinds", kind);
    else if (has_no_widgets(to, kind))
      fail(STATUS_NOT_FOUND, "there is no kind \"%s\"; `widgetctl kinds` lists them", kind);
  }
}

/* Reports on standard error what the command line names and the daemon does not have. */
static void look_for_missing(follower *to, const Widgetd__V1__WatchWidgetsResponse *frame) {
  if (!to->is_first) return;
  size_t count = to->selector.n_ids;
  const char *ending = to->once ? "" : " yet; waiting for it";
  if (frame->frame_case == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SNAPSHOT) {
    to->has_widgets = to->has_widgets || frame->snapshot->n_widgets > 0;
    for (size_t i = 0; i < frame->snapshot->n_widgets; i++)
      for (size_t n = 0; n < count; n++)
        if (strcmp(frame->snapshot->widgets[i]->id, to->selector.ids[n]) == 0)
          to->is_there[n] = true;
  } else if (frame->frame_case == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED) {
    bool selects = to->selector.n_labels + to->selector.n_kinds + to->selector.n_families > 0
                   || to->selector.expression[0] != 0;
    to->is_first = false;
    if (to->once) look_for_kinds(to);
    for (size_t n = 0; n < count; n++) {
      char *id = to->selector.ids[n];
      if (to->is_there[n]) continue;
      bool is_missing = !selects || lacks_widget(to, id);
      say("no widget \"%s\"%s%s", id, is_missing ? "" : " in the selection", ending);
      if (is_missing) to->status = STATUS_NOT_FOUND;
    }
    if (selects && !to->has_widgets)
      say("no widget matches the selection%s", to->once ? "" : " yet; waiting");
    if (!to->once) look_for_kinds(to);
  }
}

/* --- Frames --- */

static void print_state(follower *to, wc_watch *watch) {
  size_t count;
  const Widgetd__V1__Widget *const *widgets = wc_watch_widgets(watch, &count);
  for (size_t i = 0; i < count; i++) {
    json_widget(&to->line, widgets[i], &to->mask);
    add(&to->line, "\n");
    print_line(to);
  }
}

static void take_notice(wc_watch *watch, const wc_notice *notice, void *context) {
  follower *to = context;
  switch (notice->kind) {
  case WC_NOTICE_DISCONNECTED: lost(to, notice->error); break;
  case WC_NOTICE_RESET:
    if (to->once) break;
    addf(&to->line, "{\"reason\":\"%s\",\"type\":\"reset\"}\n",
         strcmp(notice->error->reason, "EPOCH_CHANGED") == 0 ? "epochChanged" : "compacted");
    print_line(to);
    break;
  case WC_NOTICE_FRAME: {
    const Widgetd__V1__WatchWidgetsResponse *frame =
        (const Widgetd__V1__WatchWidgetsResponse *)notice->frame;
    if (frame->frame_case == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED) {
      if (to->owes_reconnected && !to->once) add(&to->line, "{\"type\":\"reconnected\"}\n");
      if (to->hangs) say("widgetd answers again");
      to->owes_reconnected = to->hangs = false;
      to->was_open = true;
    }
    if (!to->once) json_frame(&to->line, frame, &to->mask);
    print_line(to);
    look_for_missing(to, frame);
    break;
  }
  case WC_NOTICE_SETTLED:
    print_state(to, watch);
    wc_watch_stop(watch);
    break;
  default: break;
  }
}

/* For tests, which cannot wait for a minute: the two times in milliseconds. */
static void set_liveness(wc_watch *watch) {
  const char *times = getenv("WIDGETD_TEST_LIVENESS");
  unsigned quiet, answer;
  if (times != NULL && sscanf(times, "%u %u", &quiet, &answer) == 2)
    wc_watch_set_liveness(watch, quiet, answer);
}

/* The daemon's failure to answer, or a named widget that does not exist. */
static void find_cause(follower *to) {
  static text words;
  Widgetd__V1__GetThemeRequest request = WIDGETD__V1__GET_THEME_REQUEST__INIT;
  Widgetd__V1__GetThemeResponse *answer = NULL;
  wc_error error;
  /* The rest of the time is for the message. */
  int most = last_question - last_question / 4;
  wc_client *client = wc_connect_within(to->socket, most > 0 ? most : 1, &error);
  bool answers = client != NULL && wc_call(client, "GetTheme", &request, &answer, &error) == WC_OK;
  wc_free(answer);
  if (client != NULL) wc_close(client);
  if (!answers && !error.from_daemon) {
    if (error.code == WC_DEADLINE_EXCEEDED)
      snprintf(error.message, sizeof error.message,
               "the daemon does not answer: it hangs, is stopped, or is overloaded; continue or "
               "restart it");
    addf(&words, ": %s\n", error_words(&error, to->socket));
  } else if (answers) {
    for (size_t n = 0; n < to->selector.n_ids && words.count == 0; n++)
      if (lacks_widget(to, to->selector.ids[n]))
        addf(&words, ": there is no widget \"%s\"; allow more with --timeout\n",
             to->selector.ids[n]);
  }
  if (words.count > 0) cause = words.bytes;
}

/* Waits for the descriptor, for a maximum time; below 0 without a limit. If the output is closed
 * meanwhile, the process ends at once, not at the next change. */
static void wait_for(follower *to, int descriptor, int milliseconds) {
  static bool has_asked;
  struct pollfd wanted[] = {{.fd = STDOUT_FILENO}, {.fd = descriptor, .events = POLLIN}};
  bool was_interrupted = poll(wanted, 2, milliseconds) < 0;
  if (is_ending && !has_asked) {
    has_asked = true;
    find_cause(to);
  }
  if (was_interrupted) return;
  if (wanted[0].revents & (POLLERR | POLLHUP | POLLNVAL)) exit(STATUS_OK);
}

/* Makes the watch. Waits until a socket exists in one of the usual places. */
static wc_watch *make_watch(follower *to) {
  wc_error error;
  unsigned flags = WC_WATCH_FRAMES | (to->once ? 0 : WC_WATCH_NO_COPY);
  for (int wait = FIRST_WAIT_MILLISECONDS;; wait *= 2) {
    wc_watch *watch = wc_watch_new(to->socket, &to->request, flags, take_notice, to, &error);
    if (watch != NULL) return watch;
    if (strcmp(error.reason, "SOCKET_NOT_FOUND") != 0) fail_error(&error, to->socket);
    if (!to->owes_reconnected) lost(to, &error);
    if (wait > LAST_WAIT_MILLISECONDS) wait = LAST_WAIT_MILLISECONDS;
    wait_for(to, -1, wait);
  }
}

/* --- The command line --- */

static void add_word(char ***list, size_t *count, char *word) {
  char **longer = keep((*count + 1) * sizeof *longer);
  if (*count > 0) memcpy(longer, *list, *count * sizeof *longer);
  longer[(*count)++] = word;
  *list = longer;
}

static void add_family(Widgetd__V1__WidgetSelector *to, Widgetd__V1__Family family) {
  Widgetd__V1__Family *longer = keep((to->n_families + 1) * sizeof *longer);
  if (to->n_families > 0) memcpy(longer, to->families, to->n_families * sizeof *longer);
  longer[to->n_families++] = family;
  to->families = longer;
}

static void set_min_interval(follower *to, int64_t nanoseconds) {
  Google__Protobuf__Duration *interval = keep(sizeof *interval);
  google__protobuf__duration__init(interval);
  interval->seconds = nanoseconds / 1000000000;
  interval->nanos = (int32_t)(nanoseconds % 1000000000);
  to->request.min_interval = interval;
}

static void read_options(follower *to, int count, char **words) {
  arguments left = {.count = count, .at = 1, .words = words, .options = options,
                    .n_options = sizeof options / sizeof *options};
  Widgetd__V1__WidgetSelector *selector = &to->selector;
  char *value;
  for (int found; (found = next_argument(&left, &value)) != ARGUMENTS_END;) {
    switch (found) {
    case LABELS: read_labels(value, selector); break;
    case KIND:
      check_kind(value);
      add_word(&selector->kinds, &selector->n_kinds, value);
      break;
    case FAMILY: add_family(selector, read_family(value)); break;
    case WHERE:
      if (value[strspn(value, " \t\r\n")] == 0)
        fail_usage("The value '%s' is invalid for '--where <expression>': the expression is empty; "
                   "write one such as 'data.percent > 90'", value);
      selector->expression = value;
      break;
    case FIELD: read_field(&to->mask, value); break;
    case ONCE: to->once = true; break;
    case EVENTS: to->request.include_events = true; break;
    case REDACTED: to->request.redacted = true; break;
    case MIN_INTERVAL: set_min_interval(to, duration_option("--min-interval", value)); break;
    case WAIT: to->waits = true; break;
    case SOCKET: to->socket = value; break;
    case TIMEOUT: set_limit(duration_option("--timeout", value)); break;
    case HELP: print(&(text){.bytes = (char *)help, .count = sizeof help - 1}); exit(STATUS_OK);
    case VERSION: print_version(); exit(STATUS_OK);
    default:
      check_id(value);
      add_word(&selector->ids, &selector->n_ids, value);
    }
  }
  if (to->once && to->request.include_events)
    fail_usage("--once prints a state and ends; leave it out with --events");
  if (to->request.redacted && to->request.include_events)
    fail_usage("--redacted has no events; leave out --events");
  to->is_first = true;
  to->is_there = keep(selector->n_ids * sizeof *to->is_there);
  to->request.selector = selector;
  if (to->mask.paths.n_paths > 0) to->request.read_mask = &to->mask.paths;
}

int main(int count, char **words) {
  begin("widgetd-watch", count, words);
  follower to = {.request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT,
                 .selector = WIDGETD__V1__WIDGET_SELECTOR__INIT,
                 .mask.paths = GOOGLE__PROTOBUF__FIELD_MASK__INIT};
  wc_error error = {0};
  read_options(&to, count, words);
  wc_watch *watch = make_watch(&to);
  wc_watch_set_backoff(watch, FIRST_WAIT_MILLISECONDS, LAST_WAIT_MILLISECONDS);
  wc_watch_set_memory_max(watch, ONCE_BYTES_MAX);
  set_liveness(watch);
  while (wc_watch_process(watch, &error) == WC_OK && !wc_watch_is_over(watch))
    wait_for(&to, wc_watch_fd(watch), -1);
  wc_watch_free(watch);
  free(to.line.bytes);
  if (error.code != WC_OK) fail_error(&error, to.socket);
  return to.once ? to.status : STATUS_OK;
}
