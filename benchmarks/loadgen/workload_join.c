// latejoin and idle: what it costs to hand over all of the state, and what it costs to do nothing.

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "workload.h"

/// Opens a stream on a connection and waits until it has everything. Returns the nanoseconds.
static uint64_t join(struct bench *bench, struct connection *joiner) {
  uint64_t wanted = bench->synced + 1, start = clock_now();
  bench->options.protocol->join(&joiner->out);
  loop_flush(&bench->loop, joiner);
  loop_until(&bench->loop, &bench->synced, wanted);
  return clock_now() - start;
}

void workload_latejoin(struct bench *bench) {
  struct options *options = &bench->options;
  unsigned warm_up = options->joiners / 10 + 1, all = warm_up + options->joiners;
  struct connection **joiners = calloc(all, sizeof *joiners);
  if (!joiners) abort();
  bench_begin(bench, options->widgets);
  for (unsigned index = 0; index < all; index++) joiners[index] = loop_connect(&bench->loop);
  for (unsigned index = 0; index < warm_up; index++) join(bench, joiners[index]);

  window_open(&bench->window, options->server);
  for (unsigned index = warm_up; index < all; index++)
    histogram_add(&bench->latency, join(bench, joiners[index]));
  window_close(&bench->window);

  uint64_t bytes = joiners[all - 1]->bytes;
  if (bytes < (uint64_t)options->widgets * options->sizes.payload)
    fail("a joiner got %llu bytes: less than all widgets", (unsigned long long)bytes);
  bench_report(bench, options->joiners);
  report_count(&bench->report, "widgets", options->widgets);
  report_count(&bench->report, "bytes_per_join", bytes);
  report_latency(&bench->report, "latency", &bench->latency);
}

void workload_idle(struct bench *bench) {
  struct options *options = &bench->options;
  bench_begin(bench, options->widgets);
  bench_subscribe_all(bench);
  // A moment for what the server puts off until it is idle.
  nanosleep(&(struct timespec){.tv_sec = 3}, NULL);

  window_open(&bench->window, options->server);
  struct timespec left = {.tv_sec = (time_t)options->seconds};
  left.tv_nsec = (long)((options->seconds - (double)left.tv_sec) * 1e9);
  while (nanosleep(&left, &left) < 0 && errno == EINTR) continue;
  window_close(&bench->window);

  bench_report(bench, 1);
  report_count(&bench->report, "subscribers", options->subscribers);
  report_count(&bench->report, "widgets", options->widgets);
  report_number(&bench->report, "seconds", options->seconds);
  report_number(&bench->report, "server_us", bench->window.server_us);
}
