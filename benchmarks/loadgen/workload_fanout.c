// fanout: one publisher and many subscribers. Every subscriber sees every update.
//
// The unit is an update that becomes visible to one subscriber, in a separate frame or conflated with others. A
// subscriber needs the state, not the frames. The report also has the number of frames. With --exclude, each
// subscriber sees the updates of one widget.

#include "workload.h"

void workload_fanout(struct bench *bench) {
  struct options *options = &bench->options;
  const struct protocol *protocol = options->protocol;
  if (options->subscribers == 0) fail("fanout needs --subscribers");
  // A subscriber waits for its last update in the warm-up and in the rest.
  if (options->sizes.excludes &&
      (options->subscribers != options->spread || options->updates < 10ull * options->spread))
    fail("--exclude needs as many --subscribers as --spread, and ten --updates for each");
  bench_begin(bench, options->spread);
  uint64_t warm_up = options->updates / 10 + 1;
  bench_prepare(bench, protocol->publish, warm_up + options->updates + 1);
  if (protocol->counts_updates) bench->base = 0;
  bench_subscribe_all(bench);

  double rate = options->rate;
  options->rate = 0;
  bench_send(bench, warm_up, options->in_flight);
  bench_wait_visible(bench, warm_up);
  options->rate = rate;

  uint64_t frames = bench->change_frames, visible = bench->made_visible, bytes = 0;
  uint64_t answer_bytes = bench->control->bytes;
  for (unsigned index = 0; index < options->subscribers; index++)
    bytes -= bench->watchers[index]->bytes;
  bench->record = true;
  window_open(&bench->window, options->server);
  bench_send(bench, warm_up + options->updates, options->in_flight);
  bench_wait_visible(bench, warm_up + options->updates);
  window_close(&bench->window);
  for (unsigned index = 0; index < options->subscribers; index++)
    bytes += bench->watchers[index]->bytes;
  answer_bytes = bench->control->bytes - answer_bytes;
  frames = bench->change_frames - frames;
  visible = bench->made_visible - visible;

  bench_report(bench, visible);
  report_count(&bench->report, "subscribers", options->subscribers);
  report_count(&bench->report, "updates", options->updates);
  report_count(&bench->report, "in_flight", rate > 0 ? 0 : options->in_flight);
  report_number(&bench->report, "rate", rate);
  report_count(&bench->report, "spread", options->spread);
  report_number(&bench->report, "updates_per_s", (double)options->updates / bench->window.wall_s);
  report_number(&bench->report, "server_us_per_update",
                bench->window.server_us / (double)options->updates);
  report_count(&bench->report, "frames", frames);
  report_number(&bench->report, "server_us_per_frame", bench->window.server_us / (double)frames);
  report_number(&bench->report, "visible_per_frame", (double)visible / (double)frames);
  report_number(&bench->report, "frame_bytes", (double)bytes / (double)frames);
  report_count(&bench->report, "request_bytes", bench->requests[0].bytes.length);
  report_count(&bench->report, "response_bytes", answer_bytes / options->updates);
  report_latency(&bench->report, "latency", &bench->latency);
}
