/* Streams and conversations, against a scripted daemon in a thread. */
#include "script.h"

static pthread_barrier_t slow;

static void stream_and_end(script *with) {
  bytes all = {0};
  CHECK(next_request(with));
  append_opened(&all, 1, 0);
  append_snapshot(&all, "a", 1, 1);
  send_and_free(&with->server, &all);
  pthread_barrier_wait(&slow);
  append_end(&all);
  send_and_free(&with->server, &all);
  next_request(with);
}

static void a_stream_gives_its_messages_and_its_end(void) {
  script with = {.server = fake_start(), .play = stream_and_end};
  wc_error error;
  watch_frame *frame;
  pthread_barrier_init(&slow, NULL, 2);
  CHECK(pthread_create(&with.thread, NULL, run, &with) == 0);
  Widgetd__V1__WatchWidgetsRequest request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  wc_stream *stream = wc_stream_open(with.server.path, "WatchWidgets", &request, 0, &error);
  CHECK(stream != NULL);
  CHECK(wc_stream_next(stream, &frame, -1, &error) == WC_OK);
  CHECK(frame->frame_case == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED);
  wc_free(frame);
  CHECK(wc_stream_next(stream, &frame, -1, &error) == WC_OK);
  CHECK_TEXT(frame->snapshot->widgets[0]->id, "a");
  wc_free(frame);
  CHECK(wc_stream_next(stream, &frame, 0, &error) == WC_DEADLINE_EXCEEDED && frame == NULL);
  CHECK(wc_stream_fd(stream) >= 0);
  pthread_barrier_wait(&slow);
  for (int i = 0; i < 2; i++) {
    CHECK(wc_stream_next(stream, &frame, -1, &error) == WC_OK && frame == NULL);
    CHECK(wc_stream_fd(stream) == -1);
  }
  wc_stream_close(stream);
  pthread_join(with.thread, NULL);
  fake_stop(&with.server);
  pthread_barrier_destroy(&slow);
}

/* The number of messages of each side on one stream. They are too large for the buffers of
 * any socket. */
#define TALK_COUNT 64
#define TALK_BYTES 60000

/* Reads a frame with this header, of the stream 1. Its data is dropped. */
static void expect_frame(fake *server, uint8_t type, uint8_t flags) {
  uint8_t header[10];
  CHECK(receive_bytes(server->peer, header, 10));
  CHECK(header[7] == 1 && header[8] == type && header[9] == flags);
  size_t count = (size_t)header[0] << 24 | header[1] << 16 | header[2] << 8 | header[3];
  uint8_t *data = malloc(count + 1);
  CHECK(receive_bytes(server->peer, data, count));
  free(data);
}

static void talk(script *with) {
  char *text = calloc(1, TALK_BYTES);
  memset(text, 'x', TALK_BYTES - 1);
  Widgetd__V1__ProvidedRemoval removal = WIDGETD__V1__PROVIDED_REMOVAL__INIT;
  Widgetd__V1__ProvideResponse response = WIDGETD__V1__PROVIDE_RESPONSE__INIT;
  removal.widget_ids = &text;
  removal.n_widget_ids = 1;
  response.frame_case = WIDGETD__V1__PROVIDE_RESPONSE__FRAME_REMOVED;
  response.removed = &removal;
  expect_frame(&with->server, WC_FRAME_REQUEST, WC_FLAG_REMOTE_OPEN);
  /* Reads nothing while it writes. */
  for (int i = 0; i < TALK_COUNT; i++) {
    bytes all = {0};
    append_message(&all, 1, WC_FRAME_DATA, &response.base);
    send_and_free(&with->server, &all);
  }
  for (int i = 0; i < TALK_COUNT; i++) expect_frame(&with->server, WC_FRAME_DATA, 0);
  expect_frame(&with->server, WC_FRAME_DATA, WC_FLAG_REMOTE_CLOSED | WC_FLAG_NO_DATA);
  bytes all = {0};
  append_end(&all);
  send_and_free(&with->server, &all);
  free(text);
  /* Waits until the client closes the connection. */
  uint8_t rest;
  CHECK(!receive_bytes(with->server.peer, &rest, 1));
}

static void on_a_conversation_both_sides_send_and_none_waits_for_the_other(void) {
  script with = {.server = fake_start(), .play = talk};
  wc_error error;
  CHECK(pthread_create(&with.thread, NULL, run, &with) == 0);
  Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
  Widgetd__V1__ProvideOpen open = WIDGETD__V1__PROVIDE_OPEN__INIT;
  Widgetd__V1__ProvideResponse *answer;
  open.provider = "desk";
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_OPEN;
  request.open = &open;
  wc_stream *stream = wc_stream_open(with.server.path, "Provide", &request, 0, &error);
  CHECK(stream != NULL);
  Widgetd__V1__ProvideAcknowledge acknowledge = WIDGETD__V1__PROVIDE_ACKNOWLEDGE__INIT;
  Widgetd__V1__WidgetError failure = WIDGETD__V1__WIDGET_ERROR__INIT;
  failure.message = calloc(1, TALK_BYTES);
  memset(failure.message, 'y', TALK_BYTES - 1);
  acknowledge.error = &failure;
  request.frame_case = WIDGETD__V1__PROVIDE_REQUEST__FRAME_ACKNOWLEDGE;
  request.acknowledge = &acknowledge;
  for (int i = 0; i < TALK_COUNT; i++) CHECK(wc_stream_send(stream, &request, &error) == WC_OK);
  Widgetd__V1__WatchEventsRequest other = WIDGETD__V1__WATCH_EVENTS_REQUEST__INIT;
  CHECK(wc_stream_send(stream, &other, &error) == WC_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "ProvideRequest") != NULL);
  for (int i = 0; i < TALK_COUNT; i++) {
    CHECK(wc_stream_next(stream, &answer, -1, &error) == WC_OK);
    CHECK(strlen(answer->removed->widget_ids[0]) == TALK_BYTES - 1);
    wc_free(answer);
  }
  CHECK(wc_stream_finish(stream, &error) == WC_OK && wc_stream_finish(stream, &error) == WC_OK);
  CHECK(wc_stream_send(stream, &request, &error) == WC_INVALID_ARGUMENT);
  CHECK_TEXT(error.reason, "INVALID_CALL");
  CHECK(wc_stream_next(stream, &answer, -1, &error) == WC_OK && answer == NULL);
  wc_stream_close(stream);
  pthread_join(with.thread, NULL);
  fake_stop(&with.server);
  free(failure.message);
}

static void hang_up_after_the_end(script *with) {
  CHECK(next_request(with));
  bytes all = {0};
  append_end(&all);
  send_and_free(&with->server, &all);
}

static void what_is_over_takes_no_messages(void) {
  for (int is_read = 0; is_read < 2; is_read++) {
    script with = {.server = fake_start(), .play = hang_up_after_the_end};
    wc_error error;
    CHECK(pthread_create(&with.thread, NULL, run, &with) == 0);
    Widgetd__V1__ProvideRequest request = WIDGETD__V1__PROVIDE_REQUEST__INIT;
    Widgetd__V1__ProvideResponse *answer;
    wc_stream *stream = wc_stream_open(with.server.path, "Provide", &request, 0, &error);
    CHECK(stream != NULL);
    pthread_join(with.thread, NULL);
    if (is_read) CHECK(wc_stream_next(stream, &answer, -1, &error) == WC_OK && answer == NULL);
    CHECK(wc_stream_send(stream, &request, &error) == WC_UNAVAILABLE);
    CHECK_TEXT(error.reason, is_read ? "STREAM_OVER" : "CONNECTION_LOST");
    /* The reason of the end can still be read. */
    CHECK(wc_stream_next(stream, &answer, -1, &error) == WC_OK && answer == NULL);
    wc_stream_close(stream);
    fake_stop(&with.server);
  }
}

int main(void) {
  TEST(a_stream_gives_its_messages_and_its_end);
  TEST(on_a_conversation_both_sides_send_and_none_waits_for_the_other);
  TEST(what_is_over_takes_no_messages);
}
