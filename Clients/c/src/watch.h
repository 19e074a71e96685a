/*
 * The parts of a watch, which its files share. Nothing here is for other files. Each of these
 * layers uses only those above it:
 *
 *   watch_connection    the token and the number to resume from; lose, wait, connect, end
 *   watch_liveness      whether the daemon answers
 *   watch_frames        the frames of the stream
 *   watch               the functions of widgetclient.h
 */
#ifndef WC_WATCH_H
#define WC_WATCH_H

#include "internal.h"

#include <sys/epoll.h>

#define WC_WATCH_STREAM_ID 1

/* The check of one connection. Times are in nanoseconds of wc_now. */
typedef struct wc_liveness {
  /* The maximum silence before the daemon is asked; 0 for no check. The maximum wait for an
   * answer. */
  int64_t quiet_max, answer_max;
  int64_t heard_at, asked_at;
  /* The daemon was asked, and has not answered. */
  bool is_asked;
  /* The time of the timer; 0 if it must be set. */
  int64_t rings_at;
} wc_liveness;

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
  wc_liveness liveness;
  int epoll, timer;
  uint32_t first_wait, last_wait;
  /* The time of the next attempt to connect, while there is no connection. */
  int64_t due;
  unsigned attempt;
  bool is_open, was_open, was_told_of_loss, is_fruitful, has_epoch, stopped, is_over;
  uint64_t epoch, subscription;
  wc_error end;
  uint8_t *status;
  size_t status_count;
};

/* --- watch_connection.c --- */

/* Notifies, unless the watch was stopped. False if it is stopped now. `context` is the watch. */
bool wc_watch_tell(void *context, const wc_notice *notice);

/* The number of the last event that was reported, also as missed. */
bool wc_watch_has_after(const wc_watch *watch);
uint64_t wc_watch_after(const wc_watch *watch);
void wc_watch_set_after(wc_watch *watch, uint64_t sequence);
/* Sets the number, unless it is lower. */
void wc_watch_saw(wc_watch *watch, uint64_t sequence);

bool wc_watch_has_token(const wc_watch *watch);
/* Takes the token over from a frame, which is left without one. NULL: none. */
void wc_watch_set_token(wc_watch *watch, ProtobufCBinaryData *token);

/* The connection is lost, or could not be made. A later retry can help. */
void wc_watch_lose(wc_watch *watch, const wc_error *error);
/* The former state is invalid. Fetches the whole state again. */
void wc_watch_start_over(wc_watch *watch, const wc_error *error, bool other_epoch);
/* Ends the watch, without or with an error. */
void wc_watch_finish(wc_watch *watch);
void wc_watch_fail(wc_watch *watch, const wc_error *error);
void wc_watch_violation(wc_watch *watch, const char *what);

/* Makes the watch's descriptor readable after this time; 0: never. */
void wc_watch_set_timer(wc_watch *watch, int64_t nanoseconds);
/* Sets the timer for the next attempt to connect. */
void wc_watch_wait(wc_watch *watch, int64_t nanoseconds);
void wc_watch_connect(wc_watch *watch);
/* Adds the connection to the epoll, or changes its entry (EPOLL_CTL_ADD, EPOLL_CTL_MOD). */
void wc_watch_set_poll(wc_watch *watch, int operation);

/* --- watch_liveness.c --- */

typedef enum wc_liveness_step { WC_LIVENESS_WAIT, WC_LIVENESS_ASK, WC_LIVENESS_LOST } wc_liveness_step;

/* The daemon was asked. */
static inline void wc_liveness_asked(wc_liveness *liveness, int64_t now) {
  liveness->asked_at = now;
  liveness->is_asked = true;
  liveness->rings_at = 0;
}
/* Bytes came. */
static inline void wc_liveness_heard(wc_liveness *liveness, int64_t now) {
  if (liveness->is_asked) liveness->rings_at = 0;
  liveness->heard_at = now;
  liveness->is_asked = false;
}
/* The step that is due. `*wait` gets the time until the next one, for WAIT and ASK; 0: none. */
wc_liveness_step wc_liveness_next(wc_liveness *liveness, int64_t now, int64_t *wait);

/* Does the step that is due for an open connection, and sets the timer for the next one. */
void wc_watch_check(wc_watch *watch);

/* --- watch_frames.c --- */

/* Handles the frames that were read. */
void wc_watch_take_frames(wc_watch *watch);

#endif
