// What is measured and how: clocks, a histogram of latencies, and what the kernel says a process
// has used.
//
// CPU time of the server comes from /proc/PID/task/*/schedstat (nanoseconds on a CPU, kernel and
// user together), because the clock-tick counters in /proc/PID/stat are too coarse for windows of
// some milliseconds. A thread that is running while it is read may lack its last tick, so windows
// are opened and closed while the server sleeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/// Nanoseconds of the monotonic clock.
uint64_t clock_now(void);
/// Nanoseconds of CPU that this process has used.
uint64_t clock_own_cpu(void);

/// What a process has used so far.
struct usage {
  uint64_t cpu_ns;
  uint64_t switches;  // voluntary and involuntary context switches: how often it was woken or cut
  uint64_t voluntary;
  uint64_t rss_kib;
  uint64_t peak_kib;  // the high-water mark of rss since usage_reset_peak
};

/// Reads it. Ends the program if there is no such process.
struct usage usage_read(pid_t pid);
/// Resident memory now, in KiB; 0 if the process is gone. Cheap enough to call every 20 ms.
uint64_t usage_rss_kib(pid_t pid);
/// Begins a new high-water mark. Where the kernel refuses, the mark stays that of the whole life.
void usage_reset_peak(pid_t pid);

enum { histogramBuckets = 64 * 256 };

/// Counts of durations, in buckets 0.4 % wide.
struct histogram {
  uint64_t count;
  uint64_t max_ns;
  uint64_t buckets[histogramBuckets];
};

void histogram_add(struct histogram *histogram, uint64_t ns);
void histogram_clear(struct histogram *histogram);
/// The duration that `fraction` (0 to 1) of all are at or below; 0 if there are none.
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);

/// Everything that is compared over one stretch of work.
struct window {
  pid_t server;
  uint64_t start_ns, start_own_ns;
  struct usage before, after;
  double wall_s;
  double server_us;  // CPU of the server, microseconds
  double client_us;  // CPU of this process, microseconds
  uint64_t switches, voluntary;
};

void window_open(struct window *window, pid_t server);
void window_close(struct window *window);
/// The load generator used almost a whole core, so that the server may have waited for it.
bool window_client_bound(const struct window *window);
