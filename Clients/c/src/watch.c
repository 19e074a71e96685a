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
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define STREAM_ID 1
#define MEMORY_MAX ((size_t)64 << 20)
/* How much is read before an event loop has its turn again. */
#define READS_MAX 4

struct wc_watch {
  char path[WC_PATH_BYTES_MAX + 1];
  unsigned flags;
  wc_notice_fn notice;
  void *context;
  wc_method method;
  /* One of the two, with the token and the event's number of the next attempt in it. */
  Widgetd__V1__WatchWidgetsRequest *widgets;
  Widgetd__V1__WatchEventsRequest *events;
  wc_mirror *mirror;
  size_t memory_max;
  wc_link link;
  int epoll, timer;
  uint32_t first_wait, last_wait;
  /* When to connect, while there is no connection. */
  int64_t due;
  unsigned attempt;
  bool is_open, was_open, was_told_of_loss, is_fruitful, has_epoch, stopped, is_over;
  uint64_t epoch, subscription;
  wc_error end;
  uint8_t *status;
  size_t status_count;
};

/* --- Telling --- */

static bool tell(void *context, const wc_notice *notice) {
  wc_watch *watch = context;
  if (!watch->stopped) watch->notice(watch, notice, watch->context);
  return !watch->stopped;
}

static void tell_error(wc_watch *watch, wc_notice_kind kind, const wc_error *error,
                       uint32_t milliseconds) {
  tell(watch, &(wc_notice){.kind = kind, .error = error, .milliseconds = milliseconds});
}

/* --- State --- */

static bool wants_events(const wc_watch *watch) {
  return watch->events != NULL || watch->widgets->include_events;
}

static bool has_after(const wc_watch *watch) {
  return watch->events != NULL ? watch->events->_after_sequence_case != 0
                               : watch->widgets->_after_sequence_case != 0;
}

static uint64_t after(const wc_watch *watch) {
  return watch->events != NULL ? watch->events->after_sequence : watch->widgets->after_sequence;
}

static void set_after(wc_watch *watch, uint64_t sequence) {
  if (!wants_events(watch)) return;
  if (watch->events != NULL) {
    watch->events->_after_sequence_case =
        WIDGETD__V1__WATCH_EVENTS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE;
    watch->events->after_sequence = sequence;
  } else {
    watch->widgets->_after_sequence_case =
        WIDGETD__V1__WATCH_WIDGETS_REQUEST___AFTER_SEQUENCE_AFTER_SEQUENCE;
    watch->widgets->after_sequence = sequence;
  }
}

static void saw(wc_watch *watch, uint64_t sequence) {
  if (!has_after(watch) || sequence > after(watch)) set_after(watch, sequence);
}

static bool has_token(const wc_watch *watch) {
  return watch->widgets != NULL && watch->widgets->resume_token.len > 0;
}

/* Takes the token over from a frame, which is left without. */
static void set_token(wc_watch *watch, ProtobufCBinaryData *token) {
  free(watch->widgets->resume_token.data);
  watch->widgets->resume_token = (ProtobufCBinaryData){0, NULL};
  if (token == NULL || token->len == 0) return;
  watch->widgets->resume_token = *token;
  *token = (ProtobufCBinaryData){0, NULL};
}

/* --- Waiting, and ending --- */

static void disconnect(wc_watch *watch) {
  /* Closing takes it out of the epoll. */
  wc_link_close(&watch->link);
  watch->is_open = false;
  watch->subscription = 0;
}

static void finish(wc_watch *watch) {
  disconnect(watch);
  watch->is_over = true;
}

static void wait_for(wc_watch *watch, int64_t nanoseconds) {
  struct itimerspec time = {0};
  if (nanoseconds < 1) nanoseconds = 1;
  watch->due = wc_now() + nanoseconds;
  time.it_value.tv_sec = nanoseconds / 1000000000;
  time.it_value.tv_nsec = nanoseconds % 1000000000;
  timerfd_settime(watch->timer, 0, &time, NULL);
}

/* The wait before the next attempt: doubled each time up to a bound, then shortened at random by up
 * to half, so that not all clients of a daemon reconnect at once. The wait is at least the one that
 * the daemon asked for. */
static uint32_t next_wait(wc_watch *watch, uint32_t least) {
  uint64_t wait = watch->first_wait;
  for (unsigned i = 0; i < watch->attempt && wait < watch->last_wait; i++) wait *= 2;
  if (wait > watch->last_wait) wait = watch->last_wait;
  if (watch->attempt < 64) watch->attempt++;
  uint32_t dice;
  wc_random(&dice, sizeof dice);
  wait -= wait / 2 * dice / UINT32_MAX;
  return wait < least ? least : (uint32_t)wait;
}

/* The connection is lost, or could not be made; waiting helps. */
static void lose(wc_watch *watch, const wc_error *error) {
  disconnect(watch);
  uint32_t wait = next_wait(watch, error->retry_milliseconds);
  wait_for(watch, (int64_t)wait * 1000000);
  if (watch->was_told_of_loss) return;
  watch->was_told_of_loss = true;
  tell_error(watch, WC_NOTICE_DISCONNECTED, error, wait);
}

/* The former state is of no use. Fetches the whole state again. */
static void start_over(wc_watch *watch, const wc_error *error, bool other_epoch) {
  disconnect(watch);
  if (watch->widgets != NULL) set_token(watch, NULL);
  /* The numbers of another epoch mean nothing here: all its events are new. */
  if (other_epoch) set_after(watch, 0);
  /* At once, unless the last time brought nothing either. */
  uint32_t wait = watch->is_fruitful ? 0 : next_wait(watch, 0);
  watch->is_fruitful = false;
  wait_for(watch, (int64_t)wait * 1000000);
  tell_error(watch, WC_NOTICE_RESET, error, wait);
}

static void fail(wc_watch *watch, const wc_error *error) {
  watch->end = *error;
  finish(watch);
}

/* --- Connecting --- */

static void set_poll(wc_watch *watch, int operation) {
  struct epoll_event wanted = {.events = EPOLLIN};
  if (wc_link_is_sending(&watch->link)) wanted.events |= EPOLLOUT;
  epoll_ctl(watch->epoll, operation, watch->link.fd, &wanted);
}

static void connect_now(wc_watch *watch) {
  wc_error error;
  const ProtobufCMessage *request =
      watch->widgets != NULL ? &watch->widgets->base : &watch->events->base;
  uint8_t *payload, *frame;
  size_t payload_count, frame_count;
  int fd;
  bool full;
  if (wc_encode(request, &payload, &payload_count, &error) != WC_OK) {
    fail(watch, &error);
    return;
  }
  wc_code code = wc_encode_request(&watch->method, STREAM_ID, WC_FLAG_REMOTE_CLOSED, payload,
                                   payload_count, 0, &frame, &frame_count, &error);
  free(payload);
  if (code != WC_OK) {
    fail(watch, &error);
    return;
  }
  code = wc_dial(watch->path, &fd, &full, &error);
  if (code != WC_OK) {
    free(frame);
    if (code == WC_UNAVAILABLE) lose(watch, &error);
    else fail(watch, &error);
    return;
  }
  wc_link_open(&watch->link, fd);
  wc_link_send(&watch->link, frame, frame_count);
  set_poll(watch, EPOLL_CTL_ADD);
}

/* --- Frames --- */

static void violation(wc_watch *watch, const char *what) {
  wc_error error;
  wc_fail(&error, WC_INTERNAL, "PROTOCOL_VIOLATION",
          "the daemon broke the protocol: %s. Check that client and daemon fit together", what);
  fail(watch, &error);
}

/* The first frame. False if the stream does not go on. */
static bool opened(wc_watch *watch, uint64_t subscription, uint64_t epoch, uint64_t last_sequence) {
  if (watch->is_open) {
    violation(watch, "a stream was opened twice");
    return false;
  }
  bool other_epoch = watch->has_epoch && watch->epoch != epoch;
  watch->has_epoch = true;
  watch->epoch = epoch;
  if (other_epoch && has_after(watch) && after(watch) != 0) {
    /* The number that was sent was one of another epoch, and meant nothing here. */
    wc_error error;
    wc_fail(&error, WC_FAILED_PRECONDITION, "EPOCH_CHANGED",
            "the daemon has a new store, and numbers events from the start; all events that it keeps "
            "follow");
    start_over(watch, &error, true);
    return false;
  }
  watch->is_open = true;
  watch->subscription = subscription;
  watch->attempt = 0;
  watch->was_told_of_loss = false;
  set_after(watch, last_sequence);
  if (watch->mirror != NULL) wc_mirror_begin(watch->mirror, epoch, has_token(watch));
  tell(watch, &(wc_notice){.kind = WC_NOTICE_CONNECTED, .again = watch->was_open});
  watch->was_open = true;
  return true;
}

static void take_events(wc_watch *watch, const Widgetd__V1__EventBatch *batch) {
  for (size_t i = 0; i < batch->n_events && !watch->stopped; i++) {
    const Widgetd__V1__Event *event = batch->events[i];
    if (has_after(watch) && event->sequence <= after(watch)) continue;
    saw(watch, event->sequence);
    tell(watch, &(wc_notice){.kind = WC_NOTICE_EVENT, .event = event});
  }
}

static void take_gap(wc_watch *watch, const Widgetd__V1__EventGap *gap) {
  saw(watch, gap->last_sequence);
  tell(watch, &(wc_notice){.kind = WC_NOTICE_GAP,
                           .first_sequence = gap->first_sequence,
                           .last_sequence = gap->last_sequence});
}

/* Gives a frame to the copy. False if the watch does not go on from it. */
static bool mirror_took(wc_watch *watch, Widgetd__V1__WatchWidgetsResponse *frame, size_t bytes) {
  wc_error error;
  switch (wc_mirror_take(watch->mirror, frame, bytes, tell, watch)) {
  case WC_MIRROR_OK: return true;
  case WC_MIRROR_SETTLED:
    tell(watch, &(wc_notice){.kind = WC_NOTICE_SETTLED,
                             .revision = wc_mirror_revision(watch->mirror)});
    return true;
  case WC_MIRROR_LOST:
    wc_fail(&error, WC_INTERNAL, "PROTOCOL_VIOLATION",
            "the daemon's changes do not fit what it sent before; all widgets are read again");
    start_over(watch, &error, false);
    return false;
  case WC_MIRROR_TOO_LARGE:
    wc_fail(&error, WC_RESOURCE_EXHAUSTED, "ANSWER_TOO_LARGE",
            "the widgets take more than %zu bytes of memory; select fewer, or allow more with "
            "wc_watch_set_memory_max",
            watch->memory_max);
    break;
  default: wc_fail_memory(&error); break;
  }
  fail(watch, &error);
  return false;
}

/* Takes over a message of WatchWidgets. */
static void take_widgets(wc_watch *watch, Widgetd__V1__WatchWidgetsResponse *frame, size_t bytes) {
  ProtobufCBinaryData token = {0, NULL};
  bool has_new_token = false;
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED:
    opened(watch, frame->opened->subscription_id, frame->opened->epoch,
           frame->opened->last_sequence);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_EVENTS:
    take_events(watch, frame->events);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_GAP:
    take_gap(watch, frame->gap);
    wc_free(frame);
    return;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_SYNCED:
    has_new_token = true;
    token = frame->synced->resume_token;
    frame->synced->resume_token = (ProtobufCBinaryData){0, NULL};
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_CHANGES:
    if (frame->changes->more) break;
    has_new_token = true;
    token = frame->changes->resume_token;
    frame->changes->resume_token = (ProtobufCBinaryData){0, NULL};
    break;
  case WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_PROGRESS:
    has_new_token = frame->progress->resume_token.len > 0;
    token = frame->progress->resume_token;
    frame->progress->resume_token = (ProtobufCBinaryData){0, NULL};
    saw(watch, frame->progress->last_sequence);
    break;
  default: break;
  }
  if (has_new_token) watch->is_fruitful = true;
  bool goes_on = true;
  if (watch->mirror != NULL) goes_on = mirror_took(watch, frame, bytes);
  else wc_free(frame);
  if (goes_on && has_new_token) set_token(watch, &token);
  free(token.data);
}

/* Takes over a message of WatchEvents. */
static void take_event_frame(wc_watch *watch, Widgetd__V1__WatchEventsResponse *frame) {
  switch (frame->frame_case) {
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED:
    opened(watch, frame->opened->subscription_id, frame->opened->epoch,
           frame->opened->after_sequence);
    break;
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_EVENTS:
    watch->is_fruitful = true;
    take_events(watch, frame->events);
    break;
  case WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_GAP: take_gap(watch, frame->gap); break;
  default: break;
  }
  wc_free(frame);
}

static bool is_opening(const wc_watch *watch, const ProtobufCMessage *message) {
  if (watch->widgets != NULL)
    return ((const Widgetd__V1__WatchWidgetsResponse *)message)->frame_case
           == WIDGETD__V1__WATCH_WIDGETS_RESPONSE__FRAME_OPENED;
  return ((const Widgetd__V1__WatchEventsResponse *)message)->frame_case
         == WIDGETD__V1__WATCH_EVENTS_RESPONSE__FRAME_OPENED;
}

static void take_message(wc_watch *watch, const uint8_t *bytes, size_t count) {
  ProtobufCMessage *message;
  size_t memory;
  wc_error error;
  if (wc_decode(watch->method.output, bytes, count, WC_MESSAGE_BYTES_MAX, &message,
                &memory, &error) != WC_OK) {
    fail(watch, &error);
    return;
  }
  if (!watch->is_open && !is_opening(watch, message)) {
    wc_free(message);
    violation(watch, "a stream does not begin with `opened`");
    return;
  }
  if (watch->flags & WC_WATCH_FRAMES)
    tell(watch, &(wc_notice){.kind = WC_NOTICE_FRAME, .frame = message});
  if (watch->stopped) wc_free(message);
  else if (watch->widgets != NULL)
    take_widgets(watch, (Widgetd__V1__WatchWidgetsResponse *)message, memory);
  else take_event_frame(watch, (Widgetd__V1__WatchEventsResponse *)message);
}

/* The daemon refused the stream, or ended it with an error. */
static void take_refusal(wc_watch *watch, const wc_error *error) {
  bool compacted = strcmp(error->reason, "REVISION_COMPACTED") == 0;
  bool other_epoch = strcmp(error->reason, "EPOCH_CHANGED") == 0;
  if ((compacted || other_epoch) && (watch->is_open || has_token(watch)))
    start_over(watch, error, other_epoch);
  else if (error->code == WC_UNAVAILABLE) lose(watch, error);
  else fail(watch, error);
}

static void take_frame(wc_watch *watch, const wc_frame *frame) {
  wc_error error;
  free(watch->status);
  watch->status = NULL;
  wc_incoming incoming = wc_incoming_read(frame, STREAM_ID, true, &watch->status,
                                          &watch->status_count, &error);
  switch (incoming.kind) {
  case WC_INCOMING_MESSAGE: take_message(watch, incoming.payload, incoming.count); break;
  case WC_INCOMING_END: finish(watch); break;
  case WC_INCOMING_REFUSED: take_refusal(watch, &error); break;
  case WC_INCOMING_VIOLATION: fail(watch, &error); break;
  default: break;
  }
  wc_incoming_done(&incoming);
}

/* Handles the frames that were read. */
static void take_frames(wc_watch *watch) {
  wc_frame frame;
  while (watch->link.fd >= 0 && !watch->stopped) {
    switch (wc_link_next(&watch->link, &frame)) {
    case WC_NEXT_FRAME: take_frame(watch, &frame); break;
    case WC_NEXT_NONE: return;
    case WC_NEXT_TOO_LONG: violation(watch, "a frame is longer than 4 MiB"); return;
    }
  }
}

static void exchange(wc_watch *watch) {
  wc_error error;
  bool alive = wc_link_flush(&watch->link);
  for (int reads = 0; reads < READS_MAX && watch->link.fd >= 0 && !watch->stopped; reads++) {
    wc_read result = wc_link_read(&watch->link);
    if (result == WC_READ_NO_MEMORY) {
      wc_fail_memory(&error);
      fail(watch, &error);
      return;
    }
    if (result == WC_READ_SOME) {
      take_frames(watch);
      continue;
    }
    if (result == WC_READ_NOTHING && alive) break;
    wc_fail(&error, WC_UNAVAILABLE, "CONNECTION_LOST",
            "the connection to the daemon at %s was lost; it is made again by itself", watch->path);
    lose(watch, &error);
    return;
  }
  if (watch->link.fd >= 0) set_poll(watch, EPOLL_CTL_MOD);
}

/* --- What widgetclient.h shows --- */

wc_code wc_watch_process(wc_watch *watch, wc_error *error) {
  if (!watch->is_over && !watch->stopped) {
    uint64_t expirations;
    /* An expired timer must not keep the descriptor readable. */
    if (read(watch->timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) errno = 0;
    if (watch->link.fd < 0 && wc_now() >= watch->due) connect_now(watch);
    if (watch->link.fd >= 0) exchange(watch);
  }
  if (watch->stopped && !watch->is_over) finish(watch);
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
  *length = has_token(watch) ? watch->widgets->resume_token.len : 0;
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
  wait_for(watch, 0);
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
