/* Watches against a scripted daemon. All in one thread: a watch never blocks. */
#include "fake.h"

/* The notices of a watch as text, one word per notice. */
static char told[4096];
static wc_watch *stop_at_event, *stop_at_added;

static void note(const char *format, ...) {
  size_t used = strlen(told);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(told + used, sizeof told - used, format, arguments);
  va_end(arguments);
}

static long long number_of(const Widgetd__V1__Widget *widget) {
  const Widgetd__V1__Value *value = wc_data(widget, "n");
  return value == NULL ? -1 : value->int_value;
}

static void on_notice(wc_watch *watch, const wc_notice *notice, void *context) {
  CHECK(context == told);
  const char *separator = told[0] == 0 ? "" : " ";
  switch (notice->kind) {
  case WC_NOTICE_CONNECTED: note("%sconnected%s", separator, notice->again ? "-again" : ""); break;
  case WC_NOTICE_DISCONNECTED:
    CHECK(notice->error->message[0] != 0);
    note("%slost:%s", separator, notice->error->reason);
    break;
  case WC_NOTICE_RESET: note("%sreset:%s", separator, notice->error->reason); break;
  case WC_NOTICE_ADDED:
    note("%s+%s=%lld", separator, notice->widget->id, number_of(notice->widget));
    if (watch == stop_at_added) wc_watch_stop(watch);
    break;
  case WC_NOTICE_UPDATED:
    note("%s%s%s=%lld", separator, notice->update == NULL ? "!" : "", notice->widget->id,
         number_of(notice->widget));
    break;
  case WC_NOTICE_REMOVED: note("%s-%s", separator, notice->widget->id); break;
  case WC_NOTICE_SETTLED:
    CHECK(wc_watch_is_settled(watch) && wc_watch_revision(watch) == notice->revision);
    note("%s@%llu", separator, (unsigned long long)notice->revision);
    break;
  case WC_NOTICE_EVENT:
    note("%sevent:%llu", separator, (unsigned long long)notice->event->sequence);
    if (watch == stop_at_event) wc_watch_stop(watch);
    break;
  case WC_NOTICE_GAP:
    note("%sgap:%llu-%llu", separator, (unsigned long long)notice->first_sequence,
         (unsigned long long)notice->last_sequence);
    break;
  case WC_NOTICE_FRAME: break;
  }
}

/* The notices since the last call. */
static const char *heard(void) {
  static char copy[sizeof told];
  strcpy(copy, told);
  told[0] = 0;
  return copy;
}

static wc_watch *watch_of(fake *server, bool include_events) {
  Widgetd__V1__WatchWidgetsRequest request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  wc_error error;
  request.include_events = include_events;
  wc_watch *watch = wc_watch_new(server->path, &request, 0, on_notice, told, &error);
  CHECK(watch != NULL);
  wc_watch_set_backoff(watch, 1, 2);
  heard();
  return watch;
}

/* Lets the watch process its work. If it has none, waits for its timer. */
static wc_code turn(wc_watch *watch, wc_error *error) {
  struct pollfd wanted = {.fd = wc_watch_fd(watch), .events = POLLIN};
  CHECK(poll(&wanted, 1, 30000) == 1);
  wc_code code;
  do code = wc_watch_process(watch, error);
  while (!wc_watch_is_over(watch) && poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLIN));
  return code;
}

/* Connects, and gives the request that came. */
static void *accept_stream(fake *server, wc_watch *watch, const char *method,
                           const ProtobufCMessageDescriptor *type) {
  uint32_t id;
  struct pollfd incoming = {.fd = server->listener, .events = POLLIN};
  for (int i = 0; i < 1000 && poll(&incoming, 1, 0) == 0; i++) turn(watch, NULL);
  fake_accept(server);
  Ttrpc__V1__Request *envelope = fake_request(server, &id);
  CHECK(envelope != NULL && id == 1);
  CHECK_TEXT(envelope->service, "widgetd.v1.WidgetService");
  CHECK_TEXT(envelope->method, method);
  void *request =
      protobuf_c_message_unpack(type, NULL, envelope->payload.len, envelope->payload.data);
  CHECK(request != NULL);
  wc_free(envelope);
  return request;
}

static Widgetd__V1__WatchWidgetsRequest *accept_watch(fake *server, wc_watch *watch) {
  return accept_stream(server, watch, "WatchWidgets",
                       &widgetd__v1__watch_widgets_request__descriptor);
}

static void check_token(const Widgetd__V1__WatchWidgetsRequest *request, const char *token) {
  CHECK(request->resume_token.len == strlen(token));
  CHECK(memcmp(request->resume_token.data == NULL ? (uint8_t *)"" : request->resume_token.data,
               token, strlen(token)) == 0);
}

static void a_snapshot_shows_when_it_is_whole_and_parts_with_the_last(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_snapshot(&all, "b", 2, 4);
  append_snapshot(&all, "a", 1, 5);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected");
  CHECK(wc_watch_widget(watch, "a") == NULL && !wc_watch_is_settled(watch));
  CHECK(wc_watch_subscription(watch) == 7);
  append_synced(&all, 5, "t5");
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "+a=1 +b=2 @5");
  append_changes(&all, 5, 0, NULL, (small_change[]){{'=', "a", 11}, {'+', "c", 3}}, 2);
  append_changes(&all, 5, 0, NULL, (small_change[]){{'-', "b", 0}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "");
  CHECK(number_of(wc_watch_widget(watch, "a")) == 1 && wc_watch_widget(watch, "c") == NULL);
  append_changes(&all, 5, 9, "t9", (small_change[]){{'=', "a", 12}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "!a=12 +c=3 -b @9");
  size_t count;
  const Widgetd__V1__Widget *const *widgets = wc_watch_widgets(watch, &count);
  CHECK(count == 2);
  CHECK_TEXT(widgets[0]->id, "a");
  CHECK_TEXT(widgets[1]->id, "c");
  append_changes(&all, 9, 10, "t10", (small_change[]){{'=', "a", 13}, {'-', "zz", 0}}, 2);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "a=13 @10");
  const Widgetd__V1__Widget *shown = wc_watch_widget(watch, "a");
  CHECK(wc_watch_node(watch, "a", "leaf") != NULL);
  CHECK(wc_watch_node(watch, "a", "leaf") == wc_node(shown, "leaf"));
  CHECK(wc_watch_node(watch, "a", NULL) == wc_node(shown, "top"));
  CHECK(wc_watch_node(watch, "a", "gone") == NULL && wc_watch_node(watch, "zz", "top") == NULL);
  CHECK(wc_watch_node(watch, "c", NULL) == NULL);
  const uint8_t *token = wc_watch_token(watch, &count);
  CHECK(count == 3 && memcmp(token, "t10", 3) == 0);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_conversation_may_come_byte_by_byte(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  append_synced(&all, 1, "t1");
  append_changes(&all, 1, 2, "t2", (small_change[]){{'=', "a", 2}}, 1);
  append_end(&all);
  wc_code code = WC_OK;
  for (size_t i = 0; i < all.count; i++) {
    CHECK(!wc_watch_is_over(watch));
    send_bytes(server.peer, all.at + i, 1);
    code = turn(watch, NULL);
  }
  CHECK_TEXT(heard(), "connected +a=1 @1 a=2 @2");
  CHECK(code == WC_OK && wc_watch_is_over(watch));
  CHECK(wc_watch_run(watch, NULL) == WC_OK);
  free(all.at);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_lost_watch_goes_on_with_the_token_of_the_last_whole_frame(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  Widgetd__V1__WatchWidgetsRequest *request = accept_watch(&server, watch);
  check_token(request, "");
  wc_free(request);
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  append_synced(&all, 1, "t1");
  append_changes(&all, 1, 2, "t2", (small_change[]){{'=', "a", 2}}, 1);
  append_changes(&all, 2, 0, NULL, (small_change[]){{'=', "a", 3}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  fake_hang_up(&server);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected +a=1 @1 a=2 @2 lost:CONNECTION_LOST");
  CHECK(number_of(wc_watch_widget(watch, "a")) == 2);
  request = accept_watch(&server, watch);
  check_token(request, "t2");
  wc_free(request);
  /* The unfinished part is sent again, and applied once. */
  append_opened(&all, 1, 0);
  append_changes(&all, 2, 4, "t4", (small_change[]){{'=', "a", 4}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected-again a=4 @4");
  /* A daemon that shuts down says so, and how long to wait. */
  append_refusal(&all, 1, WC_UNAVAILABLE, "The daemon is shutting down.", "SHUTTING_DOWN", 0);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "lost:SHUTTING_DOWN");
  request = accept_watch(&server, watch);
  check_token(request, "t4");
  wc_free(request);
  /* Consecutive failed attempts are reported once. */
  fake_hang_up(&server);
  wc_free(accept_watch(&server, watch));
  fake_hang_up(&server);
  wc_free(accept_watch(&server, watch));
  CHECK_TEXT(heard(), "");
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_watch_that_cannot_go_on_starts_anew_and_tells_what_differs(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, true);
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 5);
  append_snapshot(&all, "a", 1, 1);
  append_snapshot(&all, "b", 2, 1);
  append_snapshot(&all, "c", 3, 1);
  append_synced(&all, 1, "t1");
  append_event(&all, 6);
  append_refusal(&all, 1, WC_OUT_OF_RANGE, "Too old.", "REVISION_COMPACTED", 0);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected +a=1 +b=2 +c=3 @1 event:6 reset:REVISION_COMPACTED");
  CHECK(number_of(wc_watch_widget(watch, "b")) == 2);
  Widgetd__V1__WatchWidgetsRequest *request = accept_watch(&server, watch);
  check_token(request, "");
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 6);
  wc_free(request);
  append_opened(&all, 1, 6);
  append_snapshot(&all, "a", 1, 1);
  append_snapshot(&all, "b", 22, 8);
  append_snapshot(&all, "d", 4, 9);
  append_synced(&all, 9, "t9");
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected-again !b=22 +d=4 -c @9");
  /* Revisions and event numbers of different epochs cannot be compared. */
  append_refusal(&all, 1, WC_FAILED_PRECONDITION, "Another.", "EPOCH_CHANGED", 0);
  send_and_free(&server, &all);
  turn(watch, NULL);
  request = accept_watch(&server, watch);
  check_token(request, "");
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 0);
  wc_free(request);
  append_opened(&all, 2, 0);
  append_snapshot(&all, "a", 1, 1);
  append_synced(&all, 1, "u1");
  append_event(&all, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  const char *found = heard();
  /* Removed widgets arrive in no particular order. */
  CHECK(strcmp(found, "reset:EPOCH_CHANGED connected-again !a=1 -b -d @1 event:1") == 0
        || strcmp(found, "reset:EPOCH_CHANGED connected-again !a=1 -d -b @1 event:1") == 0);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void resets_in_a_row_are_not_a_busy_loop(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_watch_set_backoff(watch, 3600000, 3600000);
  bytes all = {0};
  for (int i = 0; i < 2; i++) {
    wc_free(accept_watch(&server, watch));
    append_opened(&all, 1, 0);
    append_refusal(&all, 1, WC_OUT_OF_RANGE, "Too old.", "REVISION_COMPACTED", 0);
    send_and_free(&server, &all);
    turn(watch, NULL);
  }
  struct pollfd wanted[] = {{.fd = wc_watch_fd(watch), .events = POLLIN},
                            {.fd = server.listener, .events = POLLIN}};
  CHECK(poll(wanted, 2, 0) == 0);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void an_event_is_told_once_and_a_gap_is_told(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, true);
  Widgetd__V1__WatchWidgetsRequest *request = accept_watch(&server, watch);
  CHECK(request->include_events && request->_after_sequence_case == 0);
  wc_free(request);
  bytes all = {0};
  append_opened(&all, 1, 3);
  append_event(&all, 3);
  append_event(&all, 4);
  append_event(&all, 4);
  append_gap(&all, 5, 8);
  append_event(&all, 8);
  append_event(&all, 9);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected event:4 gap:5-8 event:9");
  fake_hang_up(&server);
  turn(watch, NULL);
  request = accept_watch(&server, watch);
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 9);
  wc_free(request);
  heard();
  /* Another store without a token to refuse: the watch finds out by the epoch. */
  append_opened(&all, 2, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "reset:EPOCH_CHANGED");
  request = accept_watch(&server, watch);
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 0);
  wc_free(request);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void append_events_opened(bytes *to, uint64_t epoch, uint64_t after) {
  Widgetd__V1__WatchEventsResponse frame = WIDGETD__V1__WATCH_EVENTS_RESPONSE__INIT;
  Widgetd__V1__WatchEventsOpened opened = WIDGETD__V1__WATCH_EVENTS_OPENED__INIT;
  opened.subscription_id = 8;
  opened.epoch = epoch;
  opened.after_sequence = after;
  frame.frame_case = WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED;
  frame.opened = &opened;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static void append_one_event(bytes *to, uint64_t sequence) {
  Widgetd__V1__WatchEventsResponse frame = WIDGETD__V1__WATCH_EVENTS_RESPONSE__INIT;
  Widgetd__V1__EventBatch batch = WIDGETD__V1__EVENT_BATCH__INIT;
  Widgetd__V1__Event event = WIDGETD__V1__EVENT__INIT, *events[] = {&event};
  event.sequence = sequence;
  batch.n_events = 1;
  batch.events = events;
  frame.frame_case = WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_EVENTS;
  frame.events = &batch;
  append_message(to, 1, WC_FRAME_DATA, &frame.base);
}

static void a_watch_of_events_alone_goes_on_after_the_last(void) {
  fake server = fake_start();
  wc_error error;
  wc_watch *watch = wc_watch_events(server.path, NULL, 0, on_notice, told, &error);
  const ProtobufCMessageDescriptor *type = &widgetd__v1__watch_events_request__descriptor;
  CHECK(watch != NULL);
  wc_watch_set_backoff(watch, 1, 2);
  Widgetd__V1__WatchEventsRequest *request = accept_stream(&server, watch, "WatchEvents", type);
  CHECK(request->_after_sequence_case == 0);
  wc_free(request);
  bytes all = {0};
  append_events_opened(&all, 1, 10);
  append_one_event(&all, 11);
  append_one_event(&all, 12);
  append_one_event(&all, 12);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected event:11 event:12");
  CHECK(wc_watch_subscription(watch) == 8 && wc_watch_widget(watch, "a") == NULL);
  fake_hang_up(&server);
  turn(watch, NULL);
  request = accept_stream(&server, watch, "WatchEvents", type);
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 12);
  wc_free(request);
  append_events_opened(&all, 2, 3);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "lost:CONNECTION_LOST reset:EPOCH_CHANGED");
  request = accept_stream(&server, watch, "WatchEvents", type);
  CHECK(request->_after_sequence_case != 0 && request->after_sequence == 0);
  wc_free(request);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void without_a_copy_a_watch_goes_on_from_a_token(void) {
  fake server = fake_start();
  Widgetd__V1__WatchWidgetsRequest asked = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  wc_error error;
  asked.resume_token = token_of("t7");
  wc_watch *watch =
      wc_watch_new(server.path, &asked, WC_WATCH_NO_COPY, on_notice, told, &error);
  CHECK(watch != NULL);
  wc_watch_set_backoff(watch, 1, 2);
  Widgetd__V1__WatchWidgetsRequest *request = accept_watch(&server, watch);
  check_token(request, "t7");
  wc_free(request);
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_changes(&all, 7, 0, NULL, (small_change[]){{'=', "a", 4}}, 1);
  append_changes(&all, 7, 8, "t8", (small_change[]){{'=', "a", 5}}, 1);
  append_changes(&all, 8, 0, NULL, (small_change[]){{'=', "a", 6}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  fake_hang_up(&server);
  turn(watch, NULL);
  request = accept_watch(&server, watch);
  check_token(request, "t8");
  wc_free(request);
  CHECK_TEXT(heard(), "connected lost:CONNECTION_LOST");
  wc_watch_free(watch);
  fake_stop(&server);
}

static void stopping_in_a_notice_tells_no_more(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, true);
  stop_at_event = watch;
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_event(&all, 1);
  append_event(&all, 2);
  send_and_free(&server, &all);
  CHECK(wc_watch_run(watch, NULL) == WC_OK);
  CHECK_TEXT(heard(), "connected event:1");
  CHECK(wc_watch_is_over(watch));
  stop_at_event = NULL;
  wc_watch_free(watch);
  /* Not even that the set of changes is whole. */
  watch = watch_of(&server, false);
  stop_at_added = watch;
  wc_free(accept_watch(&server, watch));
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  append_snapshot(&all, "b", 1, 1);
  append_synced(&all, 1, "t1");
  send_and_free(&server, &all);
  CHECK(wc_watch_run(watch, NULL) == WC_OK);
  CHECK_TEXT(heard(), "connected +a=1");
  stop_at_added = NULL;
  wc_watch_free(watch);
  fake_stop(&server);
}

/* Opens a watch that holds a=1, sends it `last`, and gives how it ended. */
static wc_error end_of(bytes *last) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_error error = {0};
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  append_synced(&all, 1, "t1");
  append(&all, last->at, last->count);
  send_and_free(&server, &all);
  free(last->at);
  *last = (bytes){0};
  turn(watch, &error);
  CHECK(wc_watch_is_over(watch) == (error.code != WC_OK));
  wc_watch_free(watch);
  fake_stop(&server);
  return error;
}

static void errors_that_waiting_does_not_mend_end_a_watch(void) {
  bytes last = {0};
  append_refusal(&last, 1, WC_PERMISSION_DENIED, "You may not. Ask.", "PERMISSION_DENIED", 0);
  wc_error error = end_of(&last);
  CHECK(error.code == WC_PERMISSION_DENIED && error.from_daemon);
  CHECK_TEXT(error.message, "You may not. Ask.");
  append_opened(&last, 1, 0);
  CHECK_TEXT(end_of(&last).reason, "PROTOCOL_VIOLATION");
  append_frame(&last, 1, WC_FRAME_DATA, 0, "\x1a\x02\x08", 3);
  CHECK_TEXT(end_of(&last).reason, "PROTOCOL_VIOLATION");
  append_frame(&last, 1, WC_FRAME_DATA, WC_FLAG_NO_DATA, "x", 1);
  CHECK_TEXT(end_of(&last).reason, "PROTOCOL_VIOLATION");
  /* Unknown types of frame, other streams and unknown members of the oneof are skipped. */
  append_frame(&last, 1, 9, 0, "x", 1);
  append_frame(&last, 2, WC_FRAME_DATA, 0, "x", 1);
  append_frame(&last, 1, WC_FRAME_DATA, 0, "\xfa\x01\x01x", 4);
  CHECK(end_of(&last).code == WC_OK);
  CHECK_TEXT(heard(), "connected +a=1 @1");
}

static void changes_that_do_not_fit_change_nothing_and_start_anew(void) {
  struct {
    uint64_t from, to;
    small_change change;
  } cases[] = {{1, 2, {'=', "zz", 1}}, {0, 2, {'=', "a", 9}}, {3, 2, {'=', "a", 9}}};
  for (size_t i = 0; i < 3; i++) {
    bytes last = {0};
    append_changes(&last, cases[i].from, cases[i].to, "t2",
                   (small_change[]){{'=', "a", 7}, cases[i].change}, 2);
    CHECK(end_of(&last).code == WC_OK);
    CHECK_TEXT(heard(), "connected +a=1 @1 reset:PROTOCOL_VIOLATION");
  }
  bytes last = {0};
  append_snapshot(&last, "a", 5, 5);
  end_of(&last);
  CHECK_TEXT(heard(), "connected +a=1 @1 reset:PROTOCOL_VIOLATION");
}

static void one_set_may_name_a_widget_more_than_once(void) {
  bytes last = {0};
  append_changes(&last, 1, 2, "t2",
                 (small_change[]){{'-', "a", 0}, {'+', "a", 5}, {'=', "a", 6}, {'+', "n", 1},
                                  {'-', "n", 0}, {'+', "m", 1}, {'=', "m", 2}},
                 7);
  CHECK(end_of(&last).code == WC_OK);
  CHECK_TEXT(heard(), "connected +a=1 @1 !a=6 +m=2 @2");
  append_changes(&last, 1, 2, "t2", (small_change[]){{'-', "a", 0}, {'=', "a", 6}}, 2);
  end_of(&last);
  CHECK_TEXT(heard(), "connected +a=1 @1 reset:PROTOCOL_VIOLATION");
}

static void memory_is_bounded(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_error error;
  wc_watch_set_memory_max(watch, 4000);
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  for (int i = 0; i < 20; i++) append_snapshot(&all, (char[]){(char)('a' + i), 0}, i, 1);
  send_and_free(&server, &all);
  turn(watch, &error);
  CHECK(wc_watch_is_over(watch) && error.code == WC_RESOURCE_EXHAUSTED);
  CHECK_TEXT(error.reason, "ANSWER_TOO_LARGE");
  wc_watch_free(watch);
  /* Parts that never end count too. */
  watch = watch_of(&server, false);
  wc_watch_set_memory_max(watch, 4000);
  wc_free(accept_watch(&server, watch));
  append_opened(&all, 1, 0);
  append_synced(&all, 1, "t1");
  for (int i = 0; i < 40; i++)
    append_changes(&all, 1, 0, NULL, (small_change[]){{'+', "a", 1}}, 1);
  send_and_free(&server, &all);
  turn(watch, &error);
  CHECK(wc_watch_is_over(watch) && error.code == WC_RESOURCE_EXHAUSTED);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_daemon_that_is_not_there_is_waited_for(void) {
  fake server = fake_start();
  char path[96];
  strcpy(path, server.path);
  wc_watch *watch = watch_of(&server, false);
  fake_stop(&server);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "lost:CONNECT_FAILED");
  wc_watch_free(watch);
}

int main(void) {
  TEST(a_snapshot_shows_when_it_is_whole_and_parts_with_the_last);
  TEST(a_conversation_may_come_byte_by_byte);
  TEST(a_lost_watch_goes_on_with_the_token_of_the_last_whole_frame);
  TEST(a_watch_that_cannot_go_on_starts_anew_and_tells_what_differs);
  TEST(resets_in_a_row_are_not_a_busy_loop);
  TEST(an_event_is_told_once_and_a_gap_is_told);
  TEST(a_watch_of_events_alone_goes_on_after_the_last);
  TEST(without_a_copy_a_watch_goes_on_from_a_token);
  TEST(stopping_in_a_notice_tells_no_more);
  TEST(errors_that_waiting_does_not_mend_end_a_watch);
  TEST(changes_that_do_not_fit_change_nothing_and_start_anew);
  TEST(one_set_may_name_a_widget_more_than_once);
  TEST(memory_is_bounded);
  TEST(a_daemon_that_is_not_there_is_waited_for);
}
