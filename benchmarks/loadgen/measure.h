// The measurements: clocks, a histogram of latencies, and the CPU time and memory of a process.
//
// The CPU time of the server is in /proc/PID/task/*/schedstat: nanoseconds on a CPU, kernel and
// user together. The counters of /proc/PID/stat are too coarse for windows of some milliseconds.
// The file may lack the last tick of a running thread, so windows begin and end while the server
// sleeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/// Nanoseconds of the monotonic clock.
uint64_t clock_now(void);
/// The CPU time of this process, in nanoseconds.
uint64_t clock_own_cpu(void);

/// The use of a process since its start.
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
/// Resets the high-water mark. If the kernel refuses, the mark is that of the whole life.
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
/// The quantile at `fraction` (0 to 1); 0 without durations.
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);

/// The figures of one stretch of work.
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
