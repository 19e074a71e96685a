/*
 * A watch: opens the stream and reports its frames. When the stream is lost, the watch waits and
 * resumes it. Everything happens inside wc_watch_process, without blocking; wc_watch_run is a loop
 * around it.
 *
 *            due                    opened                 lost: wait, longer each time
 *   waiting ─────► opening ──────────────────► open ──────────────────────► waiting
 *                     │ REVISION_COMPACTED, EPOCH_CHANGED: forget the token; waiting, due at once
 *                     │ stopped, ended well, other errors
 *                     └────────────────────────────► over
 *
 * The descriptor for event loops is an epoll of the connection and a timer, so it stays the same.
 *
 * Invariants: the token is that of the last whole frame that was reported, so the frames after a
 * break neither repeat nor skip anything. `after` is the number of the last event that was
 * reported, also as missed. An event with a number up to it is not reported. Once a notice function
 * called wc_watch_stop it is not called again.
 */
#include "watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MEMORY_MAX ((size_t)64 << 20)
/* The maximum number of bytes that are read before the event loop gets control again. */
#define READS_MAX 4

static void exchange(wc_watch *watch) {
  wc_error error;
  bool alive = wc_link_flush(&watch->link);
  for (int reads = 0; reads < READS_MAX && watch->link.fd >= 0 && !watch->stopped; reads++) {
    wc_read result = wc_link_read(&watch->link);
    if (result == WC_READ_NO_MEMORY) {
      wc_fail_memory(&error);
      wc_watch_fail(watch, &error);
      return;
    }
    if (result == WC_READ_SOME) {
      wc_liveness_heard(&watch->liveness, wc_now());
      wc_watch_take_frames(watch);
      continue;
    }
    if (result == WC_READ_NOTHING && alive) break;
    wc_fail(&error, WC_UNAVAILABLE, "CONNECTION_LOST",
            "the connection to the daemon at %s was lost; the watch reconnects by itself",
            watch->path);
    wc_watch_lose(watch, &error);
    return;
  }
  if (watch->link.fd >= 0) wc_watch_set_poll(watch, EPOLL_CTL_MOD);
}

/* --- What widgetclient.h shows --- */

wc_code wc_watch_process(wc_watch *watch, wc_error *error) {
  if (!watch->is_over && !watch->stopped) {
    uint64_t expirations;
    /* An expired timer must not keep the descriptor readable. */
    if (read(watch->timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) errno = 0;
    if (watch->link.fd < 0 && wc_now() >= watch->due) wc_watch_connect(watch);
    if (watch->link.fd >= 0) exchange(watch);
    if (watch->link.fd >= 0 && !watch->stopped) wc_watch_check(watch);
  }
  if (watch->stopped && !watch->is_over) wc_watch_finish(watch);
  if (error != NULL) *error = watch->end;
  return watch->end.code;
}

wc_code wc_watch_run(wc_watch *watch, wc_error *error) {
  for (;;) {
    wc_code code = wc_watch_process(watch, error);
    if (watch->is_over) return code;
    struct pollfd wanted = {.fd = watch->epoll, .events = POLLIN};
    if (poll(&wanted, 1, -1) < 0 && errno == EINTR)
      return wc_fail(error, WC_CANCELLED, "INTERRUPTED",
                     "a signal came; call wc_watch_run again to go on");
  }
}

void wc_watch_stop(wc_watch *watch) { watch->stopped = true; }
int wc_watch_fd(const wc_watch *watch) { return watch->epoll; }
bool wc_watch_is_over(const wc_watch *watch) { return watch->is_over; }

const Widgetd__V1__Widget *wc_watch_widget(const wc_watch *watch, const char *id) {
  return watch->mirror == NULL ? NULL : wc_mirror_find(watch->mirror, id);
}

const Widgetd__V1__Node *wc_watch_node(const wc_watch *watch, const char *id,
                                       const char *node_id) {
  return watch->mirror == NULL ? NULL : wc_mirror_node(watch->mirror, id, node_id);
}

const Widgetd__V1__Widget *const *wc_watch_widgets(wc_watch *watch, size_t *count) {
  *count = 0;
  return watch->mirror == NULL ? NULL : wc_mirror_sorted(watch->mirror, count);
}

bool wc_watch_is_settled(const wc_watch *watch) {
  return watch->mirror != NULL && wc_mirror_is_settled(watch->mirror);
}

uint64_t wc_watch_revision(const wc_watch *watch) {
  return watch->mirror == NULL ? 0 : wc_mirror_revision(watch->mirror);
}

uint64_t wc_watch_subscription(const wc_watch *watch) { return watch->subscription; }

const uint8_t *wc_watch_token(const wc_watch *watch, size_t *length) {
  *length = wc_watch_has_token(watch) ? watch->widgets->resume_token.len : 0;
  return *length == 0 ? NULL : watch->widgets->resume_token.data;
}

void wc_watch_set_memory_max(wc_watch *watch, size_t bytes) {
  watch->memory_max = bytes;
  if (watch->mirror != NULL) wc_mirror_set_memory_max(watch->mirror, bytes);
}

void wc_watch_set_backoff(wc_watch *watch, uint32_t first, uint32_t last) {
  watch->first_wait = first < 1 ? 1 : first;
  watch->last_wait = last < watch->first_wait ? watch->first_wait : last;
}

const uint8_t *wc_watch_status(const wc_watch *watch, size_t *length) {
  *length = watch->status == NULL ? 0 : watch->status_count;
  return watch->status;
}

static wc_watch *watch_new(const char *socket, const char *method, const ProtobufCMessage *request,
                           unsigned flags, wc_notice_fn notice, void *context, wc_error *error) {
  wc_watch *watch = calloc(1, sizeof *watch);
  ProtobufCMessage *copy;
  if (watch == NULL) {
    wc_fail_memory(error);
    return NULL;
  }
  wc_link_init(&watch->link);
  watch->epoll = watch->timer = -1;
  watch->flags = flags;
  watch->notice = notice;
  watch->context = context;
  watch->memory_max = MEMORY_MAX;
  watch->is_fruitful = true;
  wc_watch_set_backoff(watch, 100, 10000);
  wc_watch_set_liveness(watch, 60000, 5000);
  if (wc_find_socket(socket, watch->path, error) != WC_OK
      || wc_find_method(method, &watch->method, error) != WC_OK
      || wc_copy_message(request, &copy, error) != WC_OK) {
    wc_watch_free(watch);
    return NULL;
  }
  if (request->descriptor == &widgetd__v1__watch_events_request__descriptor)
    watch->events = (Widgetd__V1__WatchEventsRequest *)copy;
  else watch->widgets = (Widgetd__V1__WatchWidgetsRequest *)copy;
  struct epoll_event wanted = {.events = EPOLLIN};
  watch->epoll = epoll_create1(EPOLL_CLOEXEC);
  watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (watch->epoll < 0 || watch->timer < 0
      || epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->timer, &wanted) != 0) {
    wc_fail(error, WC_RESOURCE_EXHAUSTED, "CONNECT_FAILED",
            "too many files are open; close some, or raise the limit");
    wc_watch_free(watch);
    return NULL;
  }
  wc_watch_wait(watch, 0);
  return watch;
}

wc_watch *wc_watch_new(const char *socket, const Widgetd__V1__WatchWidgetsRequest *request,
                       unsigned flags, wc_notice_fn notice, void *context, wc_error *error) {
  Widgetd__V1__WatchWidgetsRequest all = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  if (request == NULL) request = &all;
  if (request->resume_token.len > 0 && (flags & WC_WATCH_NO_COPY) == 0) {
    wc_fail(error, WC_INVALID_ARGUMENT, "INVALID_CALL",
            "a resume token continues from widgets that this watch does not hold; leave it out, or "
            "set WC_WATCH_NO_COPY");
    return NULL;
  }
  wc_watch *watch =
      watch_new(socket, "WatchWidgets", &request->base, flags, notice, context, error);
  if (watch == NULL || (flags & WC_WATCH_NO_COPY)) return watch;
  watch->mirror = wc_mirror_new(watch->memory_max);
  if (watch->mirror != NULL) return watch;
  wc_fail_memory(error);
  wc_watch_free(watch);
  return NULL;
}

wc_watch *wc_watch_one(const char *socket, const char *id, wc_notice_fn notice, void *context,
                       wc_error *error) {
  Widgetd__V1__WatchWidgetsRequest request = WIDGETD__V1__WATCH_WIDGETS_REQUEST__INIT;
  Widgetd__V1__WidgetSelector selector = WIDGETD__V1__WIDGET_SELECTOR__INIT;
  char *ids[] = {(char *)id};
  selector.n_ids = 1;
  selector.ids = ids;
  request.selector = &selector;
  return wc_watch_new(socket, &request, 0, notice, context, error);
}

wc_watch *wc_watch_events(const char *socket, const Widgetd__V1__WatchEventsRequest *request,
                          unsigned flags, wc_notice_fn notice, void *context, wc_error *error) {
  Widgetd__V1__WatchEventsRequest all = WIDGETD__V1__WATCH_EVENTS_REQUEST__INIT;
  if (request == NULL) request = &all;
  return watch_new(socket, "WatchEvents", &request->base, flags, notice, context, error);
}

void wc_watch_free(wc_watch *watch) {
  if (watch == NULL) return;
  wc_link_close(&watch->link);
  if (watch->epoll >= 0) close(watch->epoll);
  if (watch->timer >= 0) close(watch->timer);
  wc_mirror_free(watch->mirror);
  wc_free(watch->widgets);
  wc_free(watch->events);
  free(watch->status);
  free(watch);
}
