/*
 * The detection of a daemon that hangs or is stopped. Such a daemon keeps its connections and
 * accepts new ones, but sends nothing.
 *
 * After `quiet_max` without a byte, the watch makes a small call on its connection. Without a byte
 * within `answer_max`, the connection counts as lost. The request that opens the stream is the first
 * question of each connection. Any bytes are an answer, so the daemon may refuse the question.
 *
 * Invariants: the watch reads its connection before it decides, so time in which the program did not
 * process the watch does not count as silence. The timer is the one of the next attempt to connect.
 */
#include "watch.h"

#include <stdlib.h>

wc_liveness_step wc_liveness_next(wc_liveness *liveness, int64_t now, int64_t *wait) {
  if (liveness->quiet_max == 0) {
    *wait = 0;
    return WC_LIVENESS_WAIT;
  }
  if (liveness->is_asked) {
    *wait = liveness->asked_at + liveness->answer_max - now;
    return *wait > 0 ? WC_LIVENESS_WAIT : WC_LIVENESS_LOST;
  }
  *wait = liveness->heard_at + liveness->quiet_max - now;
  if (*wait > 0) return WC_LIVENESS_WAIT;
  wc_liveness_asked(liveness, now);
  *wait = liveness->answer_max;
  return WC_LIVENESS_ASK;
}

static void lose(wc_watch *watch) {
  wc_error error;
  wc_fail(&error, WC_UNAVAILABLE, "UNRESPONSIVE",
          "the daemon at %s does not answer within %g s: it hangs, is stopped, or is overloaded; "
          "continue or restart it",
          watch->path, (double)watch->liveness.answer_max / 1e9);
  wc_watch_lose(watch, &error);
}

/* Sends the question. Bytes that still wait to be sent are a question, too. */
static void ask(wc_watch *watch) {
  wc_error error;
  wc_method method;
  uint8_t *frame;
  size_t count;
  if (wc_link_is_sending(&watch->link)) return;
  if (wc_find_method("Check", &method, &error) != WC_OK
      || wc_encode_request(&method, watch->link.next_stream_id, 0, (const uint8_t *)"", 0, 0, &frame,
                           &count, &error) != WC_OK) {
    wc_watch_fail(watch, &error);
    return;
  }
  watch->link.next_stream_id += 2;
  wc_link_send(&watch->link, frame, count);
  /* The next read reports a lost connection. */
  wc_link_flush(&watch->link);
  wc_watch_set_poll(watch, EPOLL_CTL_MOD);
}

void wc_watch_check(wc_watch *watch) {
  wc_liveness *liveness = &watch->liveness;
  int64_t wait, now = wc_now();
  wc_liveness_step step = wc_liveness_next(liveness, now, &wait);
  if (step == WC_LIVENESS_LOST) {
    lose(watch);
    return;
  }
  /* A timer that is early enough is not changed, so that frames need no system call. */
  int64_t due = wait == 0 ? INT64_MAX : now + wait;
  if (step == WC_LIVENESS_WAIT && liveness->rings_at > now && liveness->rings_at <= due) return;
  liveness->rings_at = due;
  wc_watch_set_timer(watch, wait);
  if (step == WC_LIVENESS_ASK) ask(watch);
}

void wc_watch_set_liveness(wc_watch *watch, uint32_t quiet, uint32_t answer) {
  watch->liveness.quiet_max = (int64_t)quiet * 1000000;
  watch->liveness.answer_max = (int64_t)(answer < 1 ? 1 : answer) * 1000000;
  watch->liveness.rings_at = 0;
  /* The next wc_watch_process sets the time of the next step. */
  if (watch->link.fd >= 0) wc_watch_set_timer(watch, 1);
}
