// unary, pipelined, update: calls on one connection, one or many in flight, nobody watching.

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/// Makes one call and returns the size of the answer. With `get`, the answer must have the written
/// value, because a quick error would look like a fast server.
static uint64_t probe(struct bench *bench) {
  uint64_t before = bench->control->bytes;
  bench_send(bench, bench->sent + 1, 1);
  return bench->control->bytes - before;
}

void workload_calls(struct bench *bench) {
  struct options *options = &bench->options;
  const struct protocol *protocol = options->protocol;
  bool reads = strcmp(options->workload, "update") != 0;
  options->subscribers = 0;
  if (!strcmp(options->workload, "unary")) options->in_flight = 1;
  bench_begin(bench, 1);
  if (reads || options->sizes.presses) bench->has_base = false;

  uint64_t warm_up = options->updates / 10 + 1;
  bench_prepare(bench, reads ? protocol->get : protocol->update, warm_up + options->updates + 1);
  uint64_t answer_bytes = probe(bench);
  if (reads && answer_bytes < options->sizes.payload)
    fail("an answer of %llu bytes cannot hold the widget", (unsigned long long)answer_bytes);
  bench_send(bench, bench->sent + warm_up, options->in_flight);

  bench->record = true;
  window_open(&bench->window, options->server);
  bench_send(bench, bench->sent + options->updates, options->in_flight);
  window_close(&bench->window);

  bench_report(bench, options->updates);
  report_count(&bench->report, "in_flight", options->in_flight);
  report_count(&bench->report, "request_bytes", bench->requests[0].bytes.length);
  report_count(&bench->report, "response_bytes", answer_bytes);
  report_latency(&bench->report, "latency", &bench->latency);
}
