// stalled: the cost of a subscriber that never reads, in memory of the server and in latency of
// others.
//
// A run has two measurements. The first is the latency of neighbours, in pairs of short stretches:
// one without, and one with a stalled subscriber whose socket is full. So other load of the machine
// has the same effect on both. A stretch sends the next update when every neighbour has the last
// one. The ratio of the two p99 is the median of the pairs. The second is the memory: with a new
// stalled subscriber, options.updates updates are sent as fast as they are acknowledged.

#include <stdlib.h>

#include "workload.h"

enum { stretchUpdates = 1000, fillStep = 32, fillStepsMax = 400 };

/// Sends updates one by one, each when every neighbour has seen the one before.
static void send_in_step(struct bench *bench, unsigned count) {
  for (; count > 0; count--) {
    bench_send(bench, bench->sent + 1, 1);
    bench_wait_visible(bench, bench->sent);
  }
}

/// Connects a subscriber that stops reading once it is up to date.
static struct connection *add_staller(struct bench *bench) {
  struct connection *staller = bench_subscribe(bench, 0);
  loop_stall(&bench->loop, staller);
  return staller;
}

/// Sends updates until the socket of the stalled subscriber is full. Returns its bytes.
static uint64_t fill(struct bench *bench, struct connection *staller) {
  uint64_t before = 0;
  for (unsigned step = 0; step < fillStepsMax; step++) {
    send_in_step(bench, fillStep);
    uint64_t unread = connection_unread(staller);
    if (unread > 0 && unread == before) break;
    before = unread;
  }
  return before;
}

/// One stretch, after some updates to warm up. Adds its latencies to `sum`; returns its p99.
static uint64_t measure_stretch(struct bench *bench, struct histogram *sum) {
  send_in_step(bench, stretchUpdates / 4);
  histogram_clear(&bench->latency);
  bench->record = true;
  send_in_step(bench, stretchUpdates);
  bench->record = false;
  for (size_t bucket = 0; bucket < histogramBuckets; bucket++)
    sum->buckets[bucket] += bench->latency.buckets[bucket];
  sum->count += bench->latency.count;
  if (bench->latency.max_ns > sum->max_ns) sum->max_ns = bench->latency.max_ns;
  return histogram_quantile(&bench->latency, 0.99);
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void workload_stalled(struct bench *bench) {
  struct options *options = &bench->options;
  const struct protocol *protocol = options->protocol;
  static struct histogram without, with;
  options->subscribers = options->neighbours;
  options->rate = 0;
  bench_begin(bench, 1);
  uint64_t most = options->updates + 2 * stretchUpdates +
                  (uint64_t)options->pairs * (3 * stretchUpdates + fillStep * fillStepsMax);
  bench_prepare(bench, protocol->publish, most);
  if (protocol->counts_updates) bench->base = 0;
  bench_subscribe_all(bench);
  send_in_step(bench, stretchUpdates);

  bool disconnected = false;
  uint64_t unread = 0;
  double *ratios = calloc(options->pairs, sizeof *ratios);
  if (!ratios) abort();
  for (unsigned pair = 0; pair < options->pairs; pair++) {
    uint64_t p99[2] = {0, 0};
    // The two take turns as the first, so that a drift favours neither.
    for (unsigned half = 0; half < 2; half++) {
      bool stalls = (half == 0) == (pair % 2 == 0);
      struct connection *staller = stalls ? add_staller(bench) : NULL;
      if (staller) unread = fill(bench, staller);
      p99[stalls] = measure_stretch(bench, stalls ? &with : &without);
      if (!staller) continue;
      disconnected |= staller->closed;
      loop_disconnect(&bench->loop, staller);
    }
    ratios[pair] = (double)p99[1] / (double)p99[0];
  }
  qsort(ratios, options->pairs, sizeof *ratios, compare_numbers);

  // A first connection makes the allocations that happen only once.
  bench_send(bench, bench->sent + stretchUpdates, options->in_flight);
  bench_wait_visible(bench, bench->sent);
  struct connection *staller = add_staller(bench);
  window_open(&bench->window, options->server);
  bench_send(bench, bench->sent + options->updates, options->in_flight);
  bench_wait_visible(bench, bench->sent);
  window_close(&bench->window);
  disconnected |= staller->closed;

  const struct window *window = &bench->window;
  uint64_t growth = window->after.peak_kib > window->before.rss_kib
                        ? window->after.peak_kib - window->before.rss_kib
                        : 0;
  bench_report(bench, options->updates);
  report_count(&bench->report, "neighbours", options->neighbours);
  report_count(&bench->report, "in_flight", options->in_flight);
  report_count(&bench->report, "growth_kib", growth);
  report_flag(&bench->report, "staller_disconnected", disconnected);
  report_count(&bench->report, "staller_unread_bytes", unread);
  report_latency(&bench->report, "without", &without);
  report_latency(&bench->report, "with", &with);
  report_number(&bench->report, "p99_ratio", ratios[options->pairs / 2]);
}
