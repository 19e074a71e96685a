// The options of workloads, and their common parts.
#pragma once

#include "loop.h"
#include "measure.h"
#include "report.h"

struct options {
  const char *workload;
  const char *socket_path;
  const struct protocol *protocol;
  struct sizes sizes;
  unsigned subscribers, neighbours, widgets, joiners, pairs, runs;
  uint64_t updates;    // operations of unary, pipelined and update; updates of fanout and stalled
  unsigned in_flight;
  unsigned spread;     // fanout: the number of widgets that the updates change in turn
  double rate;         // updates a second; 0 is as fast as they are acknowledged, or none (latejoin)
  double seconds;      // idle
  double settle;       // idle: seconds between the last subscriber and those that are measured
  unsigned warm_up;    // latejoin: joiners before the first one that counts
  bool leave;          // latejoin: each joiner leaves when it is up to date
  double pause;        // latejoin: seconds of nothing before each joiner
  pid_t server;        // 0: the listener of the socket
  char **command;      // start: the command of the server
};

/// The state of a running workload.
struct bench {
  struct options options;
  struct loop loop;
  struct connection *control;     // sends calls
  struct connection **watchers;   // options.subscribers of them
  struct window window;
  struct histogram latency;
  struct report report;

  struct request_template *requests;  // the control connection sends them in turn
  unsigned request_count;             // 0 while things are set up
  uint64_t sent, replied;             // calls of `requests`
  uint64_t *sent_at;                // when each was sent, by its number from 1
  bool *taken;                    // the positions, from 1, that have an answer
  bool has_base;
  uint64_t base;                    // the position before update 1

  uint64_t other_replies;   // calls that set things up
  uint64_t synced;          // streams that are up to date
  uint64_t caught_up;       // watchers that saw update `target`
  uint64_t target;
  uint64_t made_visible;    // updates made visible, over all watchers
  uint64_t change_frames;   // frames that made them visible
  bool record;              // latencies are wanted
};

void workload_calls(struct bench *);
void workload_fanout(struct bench *);
void workload_latejoin(struct bench *);
void workload_idle(struct bench *);
void workload_stalled(struct bench *);
void workload_start(struct bench *);

// Shared steps

/// Opens the control connection, finds the server's process and creates `widgets` widgets. Then
/// writes the first widget once, so that `get` finds it, and the position before update 1 is known.
void bench_begin(struct bench *, unsigned widgets);
/// Prepares up to `updates` requests of `encode`, for options.spread widgets in turn.
void bench_prepare(struct bench *, void (*encode)(struct buffer *, const struct sizes *),
                   uint64_t updates);
/// Opens one stream and waits until it is up to date.
struct connection *bench_subscribe(struct bench *, unsigned index);
/// Opens options.subscribers streams, one after another.
void bench_subscribe_all(struct bench *);
/// Sends requests up to number `target`, with at most `in_flight` unanswered, and waits for all
/// answers. With options.rate, it sends them at this rate.
void bench_send(struct bench *, uint64_t target, unsigned in_flight);
/// Sends the requests up to `target` that are due by options.rate. Returns when the next one is
/// due. `due` is what the last call returned, or 0.
uint64_t bench_send_due(struct bench *, uint64_t target, uint64_t due);
/// Waits until every watcher has seen update `target`.
void bench_wait_visible(struct bench *, uint64_t target);
/// The first lines of every report: the workload, operations, CPU of both sides, wall time.
void bench_report(struct bench *, uint64_t operations);
