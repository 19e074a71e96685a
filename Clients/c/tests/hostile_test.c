/*
 * A hostile daemon: on any input the client continues or ends with an error. It never crashes,
 * leaks, or exceeds its memory limit. Run it with sanitizers. A seed decides the random part, and a
 * failure prints the seed: WIDGETCLIENT_SEED=N runs it alone.
 */
#include "fake.h"

#include <sanitizer/common_interface_defs.h>

#define CONVERSATIONS 1500

static uint64_t state, seed;
static bool is_done;

static void name_the_seed(void) {
  if (!is_done) fprintf(stderr, "WIDGETCLIENT_SEED=%llu\n", (unsigned long long)seed);
}

static uint32_t dice(uint32_t sides) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32) % sides;
}

static void ignore(wc_watch *watch, const wc_notice *notice, void *context) {
  size_t count;
  char text[64];
  (void)context;
  if (notice->widget != NULL) wc_value_text(wc_data(notice->widget, "n"), text, sizeof text);
  if (notice->error != NULL) CHECK(strlen(notice->error->message) < sizeof notice->error->message);
  wc_watch_widgets(watch, &count);
}

/* A valid conversation, before it is changed. */
static bytes conversation(void) {
  bytes all = {0};
  append_opened(&all, 1, 3);
  append_snapshot(&all, "a", 1, 1);
  append_snapshot(&all, "b", 2, 2);
  append_synced(&all, 2, "token");
  append_event(&all, 4);
  append_changes(&all, 2, 0, NULL, (small_change[]){{'=', "a", 5}, {'+', "c", 1}}, 2);
  append_changes(&all, 2, 4, "token", (small_change[]){{'-', "b", 0}, {'=', "c", 2}}, 2);
  append_gap(&all, 5, 6);
  append_refusal(&all, 1, 14, "Gone.", "SHUTTING_DOWN", 1);
  return all;
}

static void spoil(bytes *all) {
  for (uint32_t times = 1 + dice(4); times > 0; times--) {
    size_t at = dice((uint32_t)all->count);
    switch (dice(5)) {
    case 0: all->at[at] = (uint8_t)dice(256); break;
    case 1: all->at[at] ^= (uint8_t)(1 << dice(8)); break;
    case 2: {
      /* A piece from another place of the conversation. */
      size_t from = dice((uint32_t)all->count), count = dice(40);
      for (size_t i = 0; i < count && at + i < all->count && from + i < all->count; i++)
        all->at[at + i] = all->at[from + i];
      break;
    }
    case 3: all->count = at + 1; break;
    default: all->at[at] = (uint8_t[]){0, 0x7f, 0x80, 0xff}[dice(4)]; break;
    }
  }
}

static void process_all(wc_watch *watch) {
  struct pollfd wanted = {.fd = wc_watch_fd(watch), .events = POLLIN};
  while (!wc_watch_is_over(watch) && poll(&wanted, 1, 0) == 1) wc_watch_process(watch, NULL);
}

static void connect_watch(fake *server, wc_watch *watch) {
  uint32_t id;
  struct pollfd incoming = {.fd = server->listener, .events = POLLIN};
  while (poll(&incoming, 1, 0) == 0) wc_watch_process(watch, NULL);
  fake_accept(server);
  wc_free(fake_request(server, &id));
}

static void spoiled_conversations_do_no_harm(void) {
  const char *given = getenv("WIDGETCLIENT_SEED");
  uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
  fake server = fake_start();
  size_t over = 0;
  for (seed = first; seed < first + (given != NULL ? 1 : CONVERSATIONS); seed++) {
    state = seed * UINT64_C(0x9e3779b97f4a7c15);
    Widgetd__V1__WatchWidgetsRequest request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
    request.include_events = true;
    wc_watch *watch = wc_watch_new(server.path, &request, WC_WATCH_FRAMES, ignore, NULL, NULL);
    wc_watch_set_backoff(watch, 60000, 60000);
    connect_watch(&server, watch);
    bytes all = conversation();
    spoil(&all);
    size_t half = dice((uint32_t)all.count + 1);
    send_bytes(server.peer, all.at, half);
    process_all(watch);
    send_bytes(server.peer, all.at + half, all.count - half);
    free(all.at);
    process_all(watch);
    fake_hang_up(&server);
    process_all(watch);
    over += wc_watch_is_over(watch);
    wc_watch_free(watch);
    /* Accepts the connections of a watch that connected again. */
    struct pollfd incoming = {.fd = server.listener, .events = POLLIN};
    while (poll(&incoming, 1, 0) == 1) fake_accept(&server);
  }
  /* The change has an effect. */
  CHECK(given != NULL || over > CONVERSATIONS / 20);
  fake_stop(&server);
}

/* Sends bytes in answer to the first request. */
typedef struct answer {
  fake server;
  const bytes *with;
} answer;

static void *answer_once(void *context) {
  answer *to = context;
  uint32_t id;
  fake_accept(&to->server);
  wc_free(fake_request(&to->server, &id));
  send_bytes(to->server.peer, to->with->at, to->with->count);
  fake_hang_up(&to->server);
  return NULL;
}

/* Calls GetWidget of a daemon that answers with these bytes. */
static wc_code call_with(answer *to, const bytes *with, wc_error *error) {
  pthread_t thread;
  to->with = with;
  CHECK(pthread_create(&thread, NULL, answer_once, to) == 0);
  wc_client *client = wc_connect(to->server.path, error);
  CHECK(client != NULL);
  wc_set_timeout(client, 0);
  Widgetd__V1__Widget *widget = wc_get(client, "clock", error);
  wc_code code = widget == NULL ? error->code : WC_OK;
  wc_free(widget);
  wc_close(client);
  pthread_join(thread, NULL);
  return code;
}

static void spoiled_answers_do_no_harm(void) {
  answer to = {.server = fake_start()};
  wc_error error;
  for (seed = 1; seed <= 400; seed++) {
    state = seed * UINT64_C(0x9e3779b97f4a7c15);
    bytes all = {0};
    if (seed % 2 == 0) {
      append_refusal(&all, 1, 5, "There is none. Look.", "WIDGET_NOT_FOUND", 3);
    } else {
      Widgetd__V1__GetWidgetResponse got = WIDGETD__V1__GET_WIDGET_RESPONSE__INIT;
      Widgetd__V1__Widget widget;
      Widgetd__V1__Widget__DataEntry entry, *entries[1];
      Widgetd__V1__Value value;
      make_widget(&widget, &entry, entries, &value, "clock", 12, 3);
      got.widget = &widget;
      append_answer(&all, 1, &got.base);
    }
    spoil(&all);
    call_with(&to, &all, &error);
    free(all.at);
  }
  fake_stop(&to.server);
}

/* The bytes of a field that holds other bytes. */
static void wrap(bytes *content, uint8_t tag) {
  bytes outer = {0};
  uint8_t head[8] = {tag};
  size_t length = content->count, used = 1;
  do {
    head[used++] = (uint8_t)(length & 0x7f) | (length > 0x7f ? 0x80 : 0);
    length >>= 7;
  } while (length > 0);
  append(&outer, head, used);
  append(&outer, content->at, content->count);
  free(content->at);
  *content = outer;
}

/* A GetWidgetResponse whose widget has these bytes, as the whole answer. */
static bytes answer_with(bytes widget) {
  wrap(&widget, 0x0a);
  wrap(&widget, 0x12);
  bytes all = {0};
  append_frame(&all, 1, WC_FRAME_RESPONSE, 0, widget.at, widget.count);
  free(widget.at);
  return all;
}

static void check_violation(answer *to, bytes widget, const char *words) {
  wc_error error;
  bytes all = answer_with(widget);
  CHECK(call_with(to, &all, &error) == WC_INTERNAL);
  CHECK_TEXT(error.reason, "PROTOCOL_VIOLATION");
  CHECK(strstr(error.message, words) != NULL);
  free(all.at);
}

static void what_protobuf_c_would_let_pass_is_refused(void) {
  answer to = {.server = fake_start()};
  wc_error error;
  bytes widget = {0};
  append(&widget, "\x0a\x02\xc3\x28", 4);
  check_violation(&to, widget, "UTF-8");
  widget = (bytes){0};
  append(&widget, "\x0a\x03" "a\0b", 5);
  check_violation(&to, widget, "NUL");
  /* 10,000 lists within lists, in the value of a data entry. */
  widget = (bytes){0};
  for (int i = 0; i < 10000; i++) {
    wrap(&widget, 0x0a);
    wrap(&widget, 0x3a);
  }
  wrap(&widget, 0x12);
  wrap(&widget, 0x42);
  check_violation(&to, widget, "nests too deep");
  /* Two presences, which protobuf-c would merge wrongly. */
  widget = (bytes){0};
  append(&widget, "\x2a\x02\x08\x01\x2a\x02\x10\x01", 8);
  check_violation(&to, widget, "malformed");
  /* 2 million empty data entries: 4 MB that would take 200 MB. */
  widget = (bytes){0};
  widget.count = 4000000;
  widget.at = calloc(1, widget.count);
  for (size_t i = 0; i < widget.count; i += 2) widget.at[i] = 0x42;
  bytes all = answer_with(widget);
  CHECK(call_with(&to, &all, &error) == WC_RESOURCE_EXHAUSTED);
  CHECK_TEXT(error.reason, "ANSWER_TOO_LARGE");
  free(all.at);
  fake_stop(&to.server);
}

static void a_decoder_that_runs_out_of_room_leaves_nothing_behind(void) {
  bytes all = conversation();
  for (size_t at = 0; at + 10 <= all.count;) {
    size_t count = (size_t)all.at[at + 2] << 8 | all.at[at + 3];
    if (all.at[at + 8] == WC_FRAME_DATA) {
      for (size_t room = 0;; room += 16) {
        ProtobufCMessage *message;
        wc_error error;
        wc_code code = wc_decode(&widgetd__v1__watch_widgets_response__descriptor,
                                 all.at + at + 10, count, room, &message, NULL, &error);
        CHECK(code == WC_OK ? message != NULL : message == NULL);
        if (code == WC_OK) {
          wc_free(message);
          break;
        }
        CHECK(code == WC_RESOURCE_EXHAUSTED && room < 1 << 20);
      }
    }
    at += 10 + count;
  }
  free(all.at);
}

static void frames_that_must_not_be_end_the_call(void) {
  answer to = {.server = fake_start()};
  wc_error error;
  bytes all = {0};
  append_frame(&all, 1, WC_FRAME_DATA, 0, "x", 1);
  CHECK(call_with(&to, &all, &error) == WC_INTERNAL);
  free(all.at);
  all = (bytes){0};
  append(&all, "\xff\xff\xff\xff\0\0\0\1\2\0", 10);
  CHECK(call_with(&to, &all, &error) == WC_INTERNAL);
  CHECK(strstr(error.message, "4 MiB") != NULL);
  free(all.at);
  all = (bytes){0};
  append(&all, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
  CHECK(call_with(&to, &all, &error) == WC_INTERNAL);
  CHECK(strstr(error.message, "widgetd's socket") != NULL);
  free(all.at);
  all = (bytes){0};
  CHECK(call_with(&to, &all, &error) == WC_UNAVAILABLE);
  fake_stop(&to.server);
}

int main(void) {
  atexit(name_the_seed);
  __sanitizer_set_death_callback(name_the_seed);
  TEST(spoiled_conversations_do_no_harm);
  if (getenv("WIDGETCLIENT_SEED") == NULL) {
    TEST(spoiled_answers_do_no_harm);
    TEST(what_protobuf_c_would_let_pass_is_refused);
    TEST(a_decoder_that_runs_out_of_room_leaves_nothing_behind);
    TEST(frames_that_must_not_be_end_the_call);
  }
  is_done = true;
}
