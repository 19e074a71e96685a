/* A watch after the loss or the end of its stream or daemon. */
#include "watching.h"

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
  /* A daemon that shuts down reports this, and the time to wait. */
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

static void without_a_copy_a_watch_goes_on_from_a_token(void) {
  fake server = fake_start();
  Widgetd__V1__WatchWidgetsRequest asked = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  wc_error error;
  heard();
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
  TEST(a_lost_watch_goes_on_with_the_token_of_the_last_whole_frame);
  TEST(a_watch_that_cannot_go_on_starts_anew_and_tells_what_differs);
  TEST(resets_in_a_row_are_not_a_busy_loop);
  TEST(without_a_copy_a_watch_goes_on_from_a_token);
  TEST(errors_that_waiting_does_not_mend_end_a_watch);
  TEST(changes_that_do_not_fit_change_nothing_and_start_anew);
  TEST(a_daemon_that_is_not_there_is_waited_for);
}
