/*
 * Watches and a daemon that hangs: the decisions as values, then a scripted daemon that says nothing.
 */
#include "watching.h"

#include "watch.h"

#define SECOND INT64_C(1000000000)

static void check_step(wc_liveness *liveness, int64_t now, wc_liveness_step step, int64_t wait) {
  int64_t found;
  CHECK(wc_liveness_next(liveness, now * SECOND, &found) == step);
  CHECK(step == WC_LIVENESS_LOST || found == wait * SECOND);
}

static wc_liveness opened_at(int64_t now) {
  wc_liveness made = {.quiet_max = 60 * SECOND, .answer_max = 5 * SECOND};
  wc_liveness_asked(&made, now * SECOND);
  return made;
}

static void a_request_without_an_answer_is_lost(void) {
  wc_liveness liveness = opened_at(100);
  check_step(&liveness, 101, WC_LIVENESS_WAIT, 4);
  check_step(&liveness, 105, WC_LIVENESS_LOST, 0);
}

static void the_daemon_is_asked_only_after_silence(void) {
  wc_liveness liveness = opened_at(100);
  wc_liveness_heard(&liveness, 101 * SECOND);
  check_step(&liveness, 105, WC_LIVENESS_WAIT, 56);
  wc_liveness_heard(&liveness, 150 * SECOND);
  check_step(&liveness, 161, WC_LIVENESS_WAIT, 49);
  check_step(&liveness, 210, WC_LIVENESS_ASK, 5);
  check_step(&liveness, 214, WC_LIVENESS_WAIT, 1);
  wc_liveness_heard(&liveness, 214 * SECOND);
  check_step(&liveness, 214, WC_LIVENESS_WAIT, 60);
  check_step(&liveness, 274, WC_LIVENESS_ASK, 5);
  check_step(&liveness, 279, WC_LIVENESS_LOST, 0);
}

static void without_a_limit_nothing_is_asked_or_lost(void) {
  wc_liveness liveness = opened_at(100);
  liveness.quiet_max = 0;
  check_step(&liveness, 100000, WC_LIVENESS_WAIT, 0);
  wc_liveness_heard(&liveness, 100000 * SECOND);
  check_step(&liveness, 200000, WC_LIVENESS_WAIT, 0);
}

static void open_and_settle(fake *server, wc_watch *watch) {
  wc_free(accept_watch(server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  append_synced(&all, 1, "t1");
  send_and_free(server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected +a=1 @1");
}

/* Waits until the daemon is asked, and returns the stream of the question. */
static uint32_t asked(fake *server, wc_watch *watch) {
  uint32_t id;
  struct pollfd incoming = {.fd = server->peer, .events = POLLIN};
  for (int i = 0; i < 1000 && poll(&incoming, 1, 0) == 0; i++) turn(watch, NULL);
  Ttrpc__V1__Request *question = fake_request(server, &id);
  CHECK(question != NULL);
  CHECK_TEXT(question->service, "grpc.health.v1.Health");
  CHECK_TEXT(question->method, "Check");
  wc_free(question);
  return id;
}

/* An hour after the question, the watch does its work. */
static void pass_an_hour(wc_watch *watch) {
  watch->liveness.asked_at -= 3600 * SECOND;
  wc_watch_process(watch, NULL);
}

static void an_answer_or_a_refusal_or_a_frame_keeps_the_connection(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_watch_set_liveness(watch, 1, 60000);
  open_and_settle(&server, watch);
  bytes all = {0};
  CHECK(asked(&server, watch) == 3);
  Grpc__Health__V1__HealthCheckResponse serving = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
  append_answer(&all, 3, &serving.base);
  send_and_free(&server, &all);
  CHECK(asked(&server, watch) == 5);
  append_refusal(&all, 5, WC_PERMISSION_DENIED, "no", "PERMISSION_DENIED", 0);
  send_and_free(&server, &all);
  CHECK(asked(&server, watch) == 7);
  append_changes(&all, 1, 2, "t2", (small_change[]){{'+', "b", 2}}, 1);
  send_and_free(&server, &all);
  CHECK(asked(&server, watch) == 9);
  CHECK_TEXT(heard(), "+b=2 @2");
  CHECK(!wc_watch_is_over(watch));
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_daemon_that_hangs_is_told_once_and_the_watch_resumes(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  open_and_settle(&server, watch);
  wc_watch_set_liveness(watch, 1, 60000);
  asked(&server, watch);
  pass_an_hour(watch);
  CHECK_TEXT(heard(), "lost:UNRESPONSIVE");
  /* The kernel takes the next connection for the daemon, which does not answer there either. */
  Widgetd__V1__WatchWidgetsRequest *request = accept_watch(&server, watch);
  check_token(request, "t1");
  wc_free(request);
  pass_an_hour(watch);
  CHECK(watch->link.fd < 0);
  CHECK_TEXT(heard(), "");
  wc_free(accept_watch(&server, watch));
  bytes all = {0};
  append_opened(&all, 1, 0);
  append_changes(&all, 1, 2, "t2", (small_change[]){{'+', "b", 2}}, 1);
  send_and_free(&server, &all);
  turn(watch, NULL);
  CHECK_TEXT(heard(), "connected-again +b=2 @2");
  wc_watch_free(watch);
  fake_stop(&server);
}

static void other_times_apply_to_an_open_connection(void) {
  /* In milliseconds. Longer times need another timer, too. */
  for (uint32_t first = 200; first <= 60000; first *= 300) {
    fake server = fake_start();
    wc_watch *watch = watch_of(&server, false);
    wc_watch_set_liveness(watch, first, 60000);
    open_and_settle(&server, watch);
    wc_watch_set_liveness(watch, 300, 60000);
    asked(&server, watch);
    wc_watch_free(watch);
    fake_stop(&server);
  }
}

static void the_reason_names_the_socket_and_the_next_step(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_error error = {0};
  wc_watch_set_liveness(watch, 60000, 500);
  last_error = &error;
  wc_free(accept_watch(&server, watch));
  while (told[0] == 0) turn(watch, NULL);
  last_error = NULL;
  CHECK_TEXT(heard(), "lost:UNRESPONSIVE");
  char expected[256];
  snprintf(expected, sizeof expected,
           "the daemon at %s does not answer within 0.5 s: it hangs, is stopped, or is overloaded; "
           "continue or restart it",
           server.path);
  CHECK_TEXT(error.message, expected);
  CHECK(error.code == WC_UNAVAILABLE && !error.from_daemon);
  wc_watch_free(watch);
  fake_stop(&server);
}

static void time_in_which_the_program_did_not_read_is_not_silence(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  open_and_settle(&server, watch);
  wc_watch_set_liveness(watch, 1, 60000);
  asked(&server, watch);
  bytes all = {0};
  append_changes(&all, 1, 2, "t2", (small_change[]){{'+', "b", 2}}, 1);
  send_and_free(&server, &all);
  /* The program does something else meanwhile. The answer has come, and is read late. */
  pass_an_hour(watch);
  CHECK_TEXT(heard(), "+b=2 @2");
  wc_watch_free(watch);
  fake_stop(&server);
}

static void a_watch_that_is_over_wakes_nobody(void) {
  fake server = fake_start();
  wc_watch *watch = watch_of(&server, false);
  wc_watch_set_liveness(watch, 1, 1);
  wc_watch_process(watch, NULL);
  wc_watch_stop(watch);
  wc_watch_process(watch, NULL);
  CHECK(wc_watch_is_over(watch));
  struct pollfd wanted = {.fd = wc_watch_fd(watch), .events = POLLIN};
  CHECK(poll(&wanted, 1, 50) == 0);
  wc_watch_free(watch);
  fake_stop(&server);
}

int main(void) {
  TEST(a_request_without_an_answer_is_lost);
  TEST(the_daemon_is_asked_only_after_silence);
  TEST(without_a_limit_nothing_is_asked_or_lost);
  TEST(an_answer_or_a_refusal_or_a_frame_keeps_the_connection);
  TEST(a_daemon_that_hangs_is_told_once_and_the_watch_resumes);
  TEST(other_times_apply_to_an_open_connection);
  TEST(the_reason_names_the_socket_and_the_next_step);
  TEST(time_in_which_the_program_did_not_read_is_not_silence);
  TEST(a_watch_that_is_over_wakes_nobody);
}
