// latejoin and idle: the cost of a snapshot, and the cost of doing nothing.

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>

#include "workload.h"

/// The updates during a join.
struct traffic {
  uint64_t target;  // the number of prepared updates
  uint64_t due;     // when the next one is
};

/// One turn of the loop; with options.rate, updates are sent at their time.
static void turn(struct bench *bench, struct traffic *traffic, uint64_t deadline) {
  if (bench->options.rate > 0) {
    traffic->due = bench_send_due(bench, traffic->target, traffic->due);
    if (deadline == 0 || traffic->due < deadline) deadline = traffic->due;
  }
  loop_turn(&bench->loop, deadline);
}

/// Waits, and sends the updates of this time.
static void pass(struct bench *bench, struct traffic *traffic, double seconds) {
  uint64_t end = clock_now() + (uint64_t)(seconds * 1e9);
  while (clock_now() < end) turn(bench, traffic, end);
}

/// Opens a stream on a connection and waits for the whole state. Returns the nanoseconds.
static uint64_t join(struct bench *bench, struct traffic *traffic, struct connection *joiner) {
  uint64_t wanted = bench->synced + 1, start = clock_now();
  joiner->visible = bench->replied;
  bench->options.protocol->join(&joiner->out);
  loop_flush(&bench->loop, joiner);
  while (bench->synced < wanted) turn(bench, traffic, 0);
  return clock_now() - start;
}

/// Joins `count` times, one after another. Returns the bytes that the last joiner got.
static uint64_t join_all(struct bench *bench, struct traffic *traffic, unsigned count, bool record) {
  const struct options *options = &bench->options;
  uint64_t bytes = 0;
  for (unsigned index = 0; index < count; index++) {
    // Connecting is not a part of joining.
    struct connection *joiner = loop_connect(&bench->loop);
    if (options->pause > 0) pass(bench, traffic, options->pause);
    uint64_t took = join(bench, traffic, joiner);
    if (record) histogram_add(&bench->latency, took);
    bytes = joiner->bytes;
    if (options->leave) loop_disconnect(&bench->loop, joiner);
  }
  return bytes;
}

/// Prepares the updates of `seconds`.
static struct traffic prepare_traffic(struct bench *bench, double seconds) {
  struct traffic traffic = {.target = (uint64_t)(bench->options.rate * seconds)};
  bench->options.spread = 1;
  bench_prepare(bench, bench->options.protocol->update, traffic.target + 1);
  bench->target = UINT64_MAX;
  return traffic;
}

void workload_latejoin(struct bench *bench) {
  struct options *options = &bench->options;
  // The joiners are known by their streams, and their changes are not counted.
  options->subscribers = 0;
  struct traffic traffic = {0};
  double updates_us = 0;
  bench_begin(bench, options->widgets);
  if (options->rate > 0) {
    traffic = prepare_traffic(bench, 120);
    // What the updates alone cost is not a part of joining.
    pass(bench, &traffic, 0.5);
    window_open(&bench->window, options->server);
    pass(bench, &traffic, options->seconds);
    window_close(&bench->window);
    updates_us = bench->window.server_us / bench->window.wall_s;
  }
  join_all(bench, &traffic, options->warm_up, false);

  window_open(&bench->window, options->server);
  uint64_t bytes = join_all(bench, &traffic, options->joiners, true);
  window_close(&bench->window);

  if (bytes < (uint64_t)options->widgets * options->sizes.payload)
    fail("a joiner got %llu bytes: less than all widgets", (unsigned long long)bytes);
  double share = updates_us * bench->window.wall_s;
  bench->window.server_us = bench->window.server_us > share ? bench->window.server_us - share : 0;
  bench_report(bench, options->joiners);
  report_count(&bench->report, "widgets", options->widgets);
  report_count(&bench->report, "bytes_per_join", bytes);
  report_count(&bench->report, "updates", bench->replied);
  report_latency(&bench->report, "latency", &bench->latency);
}

static void wait_for(double seconds) {
  struct timespec left = {.tv_sec = (time_t)seconds};
  left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
  while (nanosleep(&left, &left) < 0 && errno == EINTR) continue;
}

void workload_idle(struct bench *bench) {
  struct options *options = &bench->options;
  bench_begin(bench, options->widgets);
  bench_subscribe_all(bench);
  // For work that the server does when it is idle. widgetd gives memory back up to 30 s after the
  // last load: it checks every 15 s, and once more after a check that has found work.
  wait_for(options->settle);

  window_open(&bench->window, options->server);
  wait_for(options->seconds);
  window_close(&bench->window);

  bench_report(bench, 1);
  report_count(&bench->report, "subscribers", options->subscribers);
  report_count(&bench->report, "widgets", options->widgets);
  report_number(&bench->report, "settle", options->settle);
  report_number(&bench->report, "seconds", options->seconds);
  report_number(&bench->report, "server_us", bench->window.server_us);
}
