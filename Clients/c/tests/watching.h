/* Watches against a scripted daemon, all in one thread: a watch never blocks. */
#ifndef WATCHING_H
#define WATCHING_H

#include "fake.h"

/* The notices of a watch as text, one word per notice. */
static char told[4096];
static wc_watch *stop_at_event, *stop_at_added;
/* Gets a copy of the error of the next loss, if it is set. */
static wc_error *last_error;

static inline void note(const char *format, ...) {
  size_t used = strlen(told);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(told + used, sizeof told - used, format, arguments);
  va_end(arguments);
}

static inline long long number_of(const Widgetd__V1__Widget *widget) {
  const Widgetd__V1__Value *value = wc_data(widget, "n");
  return value == NULL ? -1 : value->int_value;
}

static inline void on_notice(wc_watch *watch, const wc_notice *notice, void *context) {
  CHECK(context == told);
  const char *separator = told[0] == 0 ? "" : " ";
  switch (notice->kind) {
  case WC_NOTICE_CONNECTED: note("%sconnected%s", separator, notice->again ? "-again" : ""); break;
  case WC_NOTICE_DISCONNECTED:
    CHECK(notice->error->message[0] != 0);
    if (last_error != NULL) *last_error = *notice->error;
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
static inline const char *heard(void) {
  static char copy[sizeof told];
  strcpy(copy, told);
  told[0] = 0;
  return copy;
}

static inline wc_watch *watch_of(fake *server, bool include_events) {
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
static inline wc_code turn(wc_watch *watch, wc_error *error) {
  struct pollfd wanted = {.fd = wc_watch_fd(watch), .events = POLLIN};
  CHECK(poll(&wanted, 1, 30000) == 1);
  wc_code code;
  do code = wc_watch_process(watch, error);
  while (!wc_watch_is_over(watch) && poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLIN));
  return code;
}

/* Connects, and returns the request. */
static inline void *accept_stream(fake *server, wc_watch *watch, const char *method,
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

static inline Widgetd__V1__WatchWidgetsRequest *accept_watch(fake *server, wc_watch *watch) {
  return accept_stream(server, watch, "WatchWidgets",
                       &widgetd__v1__watch_widgets_request__descriptor);
}

static inline void check_token(const Widgetd__V1__WatchWidgetsRequest *request, const char *token) {
  CHECK(request->resume_token.len == strlen(token));
  CHECK(memcmp(request->resume_token.data == NULL ? (uint8_t *)"" : request->resume_token.data,
               token, strlen(token)) == 0);
}

/* Opens a watch with the widget a=1, sends `last`, and returns the result of the watch. */
static inline wc_error end_of(bytes *last) {
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

#endif
