/* Watches of a daemon that does not end. */
#include "watching.h"

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
  /* The daemon has another store, but there is no token to refuse. The watch sees it by the
   * epoch. */
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
  /* Not even the end of the change set is reported. */
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
  /* The parts of a change set without an end count, too. */
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

int main(void) {
  TEST(a_snapshot_shows_when_it_is_whole_and_parts_with_the_last);
  TEST(a_conversation_may_come_byte_by_byte);
  TEST(an_event_is_told_once_and_a_gap_is_told);
  TEST(a_watch_of_events_alone_goes_on_after_the_last);
  TEST(stopping_in_a_notice_tells_no_more);
  TEST(one_set_may_name_a_widget_more_than_once);
  TEST(memory_is_bounded);
}
