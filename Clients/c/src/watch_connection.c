/*
 * The connection of a watch: the token and the number to resume from, and the time of the next
 * attempt.
 */
#include "watch.h"

#include <stdlib.h>
#include <sys/timerfd.h>

/* --- Telling --- */

bool wc_watch_tell(void *context, const wc_notice *notice) {
  wc_watch *watch = context;
  if (!watch->stopped) watch->notice(watch, notice, watch->context);
  return !watch->stopped;
}

static void tell_error(wc_watch *watch, wc_notice_kind kind, const wc_error *error,
                       uint32_t milliseconds) {
  wc_watch_tell(watch, &(wc_notice){.kind = kind, .error = error, .milliseconds = milliseconds});
}

/* --- State --- */

static bool wants_events(const wc_watch *watch) {
  return watch->events != NULL || watch->widgets->include_events;
}

bool wc_watch_has_after(const wc_watch *watch) {
  return watch->events != NULL ? watch->events->_after_sequence_case != 0
                               : watch->widgets->_after_sequence_case != 0;
}

uint64_t wc_watch_after(const wc_watch *watch) {
  return watch->events != NULL ? watch->events->after_sequence : watch->widgets->after_sequence;
}

void wc_watch_set_after(wc_watch *watch, uint64_t sequence) {
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

void wc_watch_saw(wc_watch *watch, uint64_t sequence) {
  if (!wc_watch_has_after(watch) || sequence > wc_watch_after(watch))
    wc_watch_set_after(watch, sequence);
}

bool wc_watch_has_token(const wc_watch *watch) {
  return watch->widgets != NULL && watch->widgets->resume_token.len > 0;
}

void wc_watch_set_token(wc_watch *watch, ProtobufCBinaryData *token) {
  free(watch->widgets->resume_token.data);
  watch->widgets->resume_token = (ProtobufCBinaryData){0, NULL};
  if (token == NULL || token->len == 0) return;
  watch->widgets->resume_token = *token;
  *token = (ProtobufCBinaryData){0, NULL};
}

/* --- Waiting, and ending --- */

void wc_watch_set_timer(wc_watch *watch, int64_t nanoseconds) {
  struct itimerspec time = {0};
  time.it_value.tv_sec = nanoseconds / 1000000000;
  time.it_value.tv_nsec = nanoseconds % 1000000000;
  timerfd_settime(watch->timer, 0, &time, NULL);
}

static void disconnect(wc_watch *watch) {
  /* Closing the descriptor removes it from the epoll. */
  wc_link_close(&watch->link);
  watch->is_open = false;
  watch->subscription = 0;
}

void wc_watch_finish(wc_watch *watch) {
  disconnect(watch);
  wc_watch_set_timer(watch, 0);
  watch->is_over = true;
}

void wc_watch_wait(wc_watch *watch, int64_t nanoseconds) {
  if (nanoseconds < 1) nanoseconds = 1;
  watch->due = wc_now() + nanoseconds;
  wc_watch_set_timer(watch, nanoseconds);
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

void wc_watch_lose(wc_watch *watch, const wc_error *error) {
  disconnect(watch);
  uint32_t wait = next_wait(watch, error->retry_milliseconds);
  wc_watch_wait(watch, (int64_t)wait * 1000000);
  if (watch->was_told_of_loss) return;
  watch->was_told_of_loss = true;
  tell_error(watch, WC_NOTICE_DISCONNECTED, error, wait);
}

void wc_watch_start_over(wc_watch *watch, const wc_error *error, bool other_epoch) {
  disconnect(watch);
  if (watch->widgets != NULL) wc_watch_set_token(watch, NULL);
  /* The numbers of another epoch have no meaning here: all its events are new. */
  if (other_epoch) wc_watch_set_after(watch, 0);
  /* The retry comes at once, unless the last attempt failed, too. */
  uint32_t wait = watch->is_fruitful ? 0 : next_wait(watch, 0);
  watch->is_fruitful = false;
  wc_watch_wait(watch, (int64_t)wait * 1000000);
  tell_error(watch, WC_NOTICE_RESET, error, wait);
}

void wc_watch_fail(wc_watch *watch, const wc_error *error) {
  watch->end = *error;
  wc_watch_finish(watch);
}

void wc_watch_violation(wc_watch *watch, const char *what) {
  wc_error error;
  wc_fail(&error, WC_INTERNAL, "PROTOCOL_VIOLATION",
          "the daemon broke the protocol: %s. Check that client and daemon fit together", what);
  wc_watch_fail(watch, &error);
}

/* --- Connecting --- */

void wc_watch_set_poll(wc_watch *watch, int operation) {
  struct epoll_event wanted = {.events = EPOLLIN};
  if (wc_link_is_sending(&watch->link)) wanted.events |= EPOLLOUT;
  epoll_ctl(watch->epoll, operation, watch->link.fd, &wanted);
}

void wc_watch_connect(wc_watch *watch) {
  wc_error error;
  const ProtobufCMessage *request =
      watch->widgets != NULL ? &watch->widgets->base : &watch->events->base;
  uint8_t *payload, *frame;
  size_t payload_count, frame_count;
  int fd;
  bool full;
  if (wc_encode(request, &payload, &payload_count, &error) != WC_OK) {
    wc_watch_fail(watch, &error);
    return;
  }
  wc_code code =
      wc_encode_request(&watch->method, WC_WATCH_STREAM_ID, WC_FLAG_REMOTE_CLOSED, payload,
                        payload_count, 0, &frame, &frame_count, &error);
  free(payload);
  if (code != WC_OK) {
    wc_watch_fail(watch, &error);
    return;
  }
  code = wc_dial(watch->path, &fd, &full, &error);
  if (code != WC_OK) {
    free(frame);
    if (code == WC_UNAVAILABLE) wc_watch_lose(watch, &error);
    else wc_watch_fail(watch, &error);
    return;
  }
  wc_link_open(&watch->link, fd);
  watch->link.next_stream_id = WC_WATCH_STREAM_ID + 2;
  wc_liveness_asked(&watch->liveness, wc_now());
  wc_link_send(&watch->link, frame, frame_count);
  wc_watch_set_poll(watch, EPOLL_CTL_ADD);
}
