// The common steps of workloads: connecting, creating widgets, sending updates, and counting the updates that each
// watcher has seen.
//
// Updates are numbered from 1. One connection sends all of them in order, so the position of update k is base + k.
// For redis and the floor, the position is a sequence number in the payload. For widgetd, it is a revision, because
// every commit takes exactly one. Every answer is checked for its position. The last frame of every watcher is
// checked for the last value.
//
// In gRPC, calls in flight can overtake each other. There, base + k is the position of the update that the server
// carried out as number k, and each position must be answered once. The last update is sent after all other answers,
// so that it is the last.

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

/// Checks the position of update `number` in an answer.
static void check_position(struct bench *bench, uint64_t number, uint64_t position) {
  uint64_t place = position - bench->base;
  bool ordered = bench->options.protocol->ordered || number == bench->target;
  bool right = ordered ? place == number : place > 0 && place <= bench->sent;
  if (right) right = !bench->taken[place];
  if (!right)
    fail("update %llu got revision %llu, expected %llu: is someone else writing?",
         (unsigned long long)number, (unsigned long long)position,
         (unsigned long long)(bench->base + number));
  bench->taken[place] = true;
}

static void on_reply(struct bench *bench, const struct message *message, uint64_t now) {
  if (message->failed) fail("the server refused a call: %s", message->text);
  uint64_t set_up = bench->other_replies;
  if (message->call < set_up)
    fail("call %llu was answered twice", (unsigned long long)message->call);
  uint64_t number = message->call - set_up + 1;
  if (number > bench->sent) fail("an answer to a call that was not made");
  if (message->position > 0 && bench->has_base) check_position(bench, number, message->position);
  bench->replied++;
  if (bench->record && bench->options.subscribers == 0)
    histogram_add(&bench->latency, now - bench->sent_at[number]);
}

/// Whether a subscriber sees an update: each sees all updates, or those of one widget.
static bool is_for(const struct bench *bench, const struct connection *watcher, uint64_t number) {
  return !bench->options.sizes.excludes || number % bench->options.spread == watcher->index;
}

/// The last update up to the target that a subscriber sees.
static uint64_t last_update_for(const struct bench *bench, const struct connection *watcher) {
  uint64_t number = bench->target;
  if (number == UINT64_MAX) return number;
  while (number > 0 && !is_for(bench, watcher, number)) number--;
  return number;
}

static void on_change(struct bench *bench, struct connection *watcher,
                      const struct message *message, uint64_t now) {
  if (message->position <= bench->base) return;
  uint64_t number = message->position - bench->base;
  if (number <= watcher->visible) fail("a subscriber went back in time");
  if (number > bench->sent) fail("a subscriber saw update %llu before it was sent",
                                 (unsigned long long)number);
  uint64_t last = last_update_for(bench, watcher);
  if (watcher->visible < last && number >= last) {
    char digits[sequenceDigits + 1];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)last);
    if (!memmem(message->bytes, message->length, digits, sequenceDigits))
      fail("the last frame does not hold the last value");
    bench->caught_up++;
  }
  bench->change_frames++;
  for (uint64_t update = watcher->visible + 1; update <= number; update++) {
    if (!is_for(bench, watcher, update)) continue;
    bench->made_visible++;
    if (bench->record) histogram_add(&bench->latency, now - bench->sent_at[update]);
  }
  watcher->visible = number;
}

static void on_message(struct loop *loop, struct connection *connection,
                       const struct message *message, uint64_t now) {
  struct bench *bench = loop->context;
  switch (message->kind) {
    case MESSAGE_REPLY:
      if (connection != bench->control)
        fail("the server ended a stream%s%s", *message->text ? ": " : "", message->text);
      if (bench->request_count == 0) {  // setting up
        if (message->failed) fail("the server refused a call: %s", message->text);
        bench->other_replies++;
        if (message->position > 0) {
          bench->base = message->position;
          bench->has_base = true;
        }
      } else {
        on_reply(bench, message, now);
      }
      break;
    case MESSAGE_SYNCED:
      connection->synced = true;
      bench->synced++;
      break;
    case MESSAGE_CHANGE:
      on_change(bench, connection, message, now);
      break;
    default:
      break;
  }
}

/// Sends a call of the setup.
static void set_up(struct bench *bench, size_t at) {
  connection_number(bench->options.protocol, bench->control, at);
  loop_flush(&bench->loop, bench->control);
  while (bench->control->calls_sent - bench->other_replies >= 64) loop_turn(&bench->loop, 0);
}

void bench_begin(struct bench *bench, unsigned widgets) {
  const struct protocol *protocol = bench->options.protocol;
  loop_init(&bench->loop, protocol, bench->options.socket_path);
  bench->loop.on_message = on_message;
  bench->loop.context = bench;
  bench->control = loop_connect(&bench->loop);
  if (!bench->options.server) bench->options.server = connection_peer(bench->control);
  for (unsigned index = 0; index < widgets; index++) {
    size_t at = bench->control->out.length;
    protocol->create(&bench->control->out, &bench->options.sizes, index);
    set_up(bench, at);
  }
  loop_until(&bench->loop, &bench->other_replies, bench->control->calls_sent);
  // Update 0. The number is patched in, because an update without a change makes no commit.
  struct request_template first = template_make(protocol, &bench->options.sizes, protocol->update);
  template_append(&first, bench->control, 0);
  buffer_free(&first.bytes);
  loop_flush(&bench->loop, bench->control);
  loop_until(&bench->loop, &bench->other_replies, bench->control->calls_sent);
}

void bench_prepare(struct bench *bench, void (*encode)(struct buffer *, const struct sizes *),
                   uint64_t updates) {
  struct sizes sizes = bench->options.sizes;
  bench->requests = calloc(bench->options.spread, sizeof *bench->requests);
  if (!bench->requests) abort();
  for (; sizes.widget < bench->options.spread; sizes.widget++)
    bench->requests[sizes.widget] = template_make(bench->options.protocol, &sizes, encode);
  bench->request_count = bench->options.spread;
  bench->sent_at = calloc(updates + 1, sizeof *bench->sent_at);
  bench->taken = calloc(updates + 1, sizeof *bench->taken);
  if (!bench->sent_at || !bench->taken) abort();
}

struct connection *bench_subscribe(struct bench *bench, unsigned index) {
  struct connection *watcher = loop_connect(&bench->loop);
  uint64_t wanted = bench->synced + 1;
  watcher->index = index;
  bench->options.protocol->subscribe(&watcher->out, &bench->options.sizes, index);
  watcher->visible = bench->sent;
  loop_flush(&bench->loop, watcher);
  loop_until(&bench->loop, &bench->synced, wanted);
  return watcher;
}

void bench_subscribe_all(struct bench *bench) {
  unsigned count = bench->options.subscribers;
  bench->watchers = calloc(count + 1, sizeof *bench->watchers);
  if (!bench->watchers) abort();
  for (unsigned index = 0; index < count; index++) bench->watchers[index] = bench_subscribe(bench, index);
}

/// Whether the next request must wait for all answers: the last request, if calls can overtake each other.
static bool must_wait(const struct bench *bench, uint64_t target) {
  return !bench->options.protocol->ordered && bench->sent + 1 == target &&
         bench->replied < bench->sent;
}

/// Appends the next request.
static void append_next(struct bench *bench) {
  uint64_t number = ++bench->sent;
  template_append(&bench->requests[number % bench->request_count], bench->control, number);
}

/// Appends requests while the window has room.
static void top_up(struct bench *bench, uint64_t target, unsigned in_flight) {
  uint64_t now = 0;
  while (bench->sent < target && bench->sent - bench->replied < in_flight &&
         !must_wait(bench, target)) {
    append_next(bench);
    if (now == 0) now = clock_now();
    bench->sent_at[bench->sent] = now;
  }
  if (now > 0) loop_flush(&bench->loop, bench->control);
}

uint64_t bench_send_due(struct bench *bench, uint64_t target, uint64_t due) {
  uint64_t step = (uint64_t)(1e9 / bench->options.rate), now = clock_now();
  if (due == 0) due = now + step;
  while (bench->sent < target && now >= due && !must_wait(bench, target)) {
    append_next(bench);
    bench->sent_at[bench->sent] = due;
    loop_flush(&bench->loop, bench->control);
    due += step;
  }
  return due;
}

/// Sends a request every 1/rate seconds, also if the server is late. The latency of an update begins when the update
/// is due, so it shows the delay.
static void send_paced(struct bench *bench, uint64_t target) {
  uint64_t due = 0;
  while (bench->sent < target || bench->replied < target) {
    due = bench_send_due(bench, target, due);
    bool waits = bench->sent >= target || must_wait(bench, target);
    loop_turn(&bench->loop, waits ? 0 : due);
  }
}

void bench_send(struct bench *bench, uint64_t target, unsigned in_flight) {
  bench->target = target;
  bench->caught_up = 0;
  if (bench->options.rate > 0) return send_paced(bench, target);
  for (top_up(bench, target, in_flight); bench->replied < target;
       top_up(bench, target, in_flight))
    loop_turn(&bench->loop, 0);
}

void bench_wait_visible(struct bench *bench, uint64_t target) {
  (void)target;
  loop_until(&bench->loop, &bench->caught_up, bench->options.subscribers);
}

void bench_report(struct bench *bench, uint64_t operations) {
  struct report *report = &bench->report;
  const struct window *window = &bench->window;
  double share = window->wall_s > 0 ? window->client_us / 1e6 / window->wall_s : 0;
  bool bound = window_client_bound(window);
  report_text(report, "workload", bench->options.workload);
  report_text(report, "protocol", bench->options.protocol->name);
  report_count(report, "operations", operations);
  report_number(report, "wall_s", window->wall_s);
  report_number(report, "server_us_per_operation", window->server_us / (double)operations);
  report_number(report, "client_us_per_operation", window->client_us / (double)operations);
  report_number(report, "operations_per_s", (double)operations / window->wall_s);
  report_number(report, "server_cpu_share", window->server_us / 1e6 / window->wall_s);
  report_number(report, "client_cpu_share", share);
  report_flag(report, "client_bound", bound);
  if (bound) report_text(report, "note", "the load generator is the bottleneck");
  report_count(report, "server_switches", window->switches);
  report_count(report, "server_voluntary_switches", window->voluntary);
  report_count(report, "rss_before_kib", window->before.rss_kib);
  report_count(report, "rss_peak_kib", window->after.peak_kib);
  report_count(report, "rss_after_kib", window->after.rss_kib);
}
