#include "measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// If the load generator takes this share of a core, it counts as the bottleneck.
static const double clientBoundShare = 0.9;

static uint64_t clock_read(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t clock_now(void) { return clock_read(CLOCK_MONOTONIC); }
uint64_t clock_own_cpu(void) { return clock_read(CLOCK_PROCESS_CPUTIME_ID); }

/// Reads a small file of /proc into `text`. Returns false if the file is missing.
static bool read_file(const char *path, char *text, size_t capacity) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t count = read(fd, text, capacity - 1);
  close(fd);
  if (count < 0) return false;
  text[count] = 0;
  return true;
}

/// The number after `name` in a status file. 0 if the name is missing.
static uint64_t status_number(const char *status, const char *name) {
  const char *at = strstr(status, name);
  return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct usage usage_read(pid_t pid) {
  struct usage usage = {0};
  char path[300], text[8192];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (!read_file(path, text, sizeof text)) {
    fprintf(stderr, "loadgen: process %d (the server) is gone\n", pid);
    exit(1);
  }
  usage.rss_kib = status_number(text, "\nVmRSS:");
  usage.peak_kib = status_number(text, "\nVmHWM:");
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  if (!tasks) return usage;
  for (struct dirent *task; (task = readdir(tasks));) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, task->d_name);
    if (read_file(path, text, sizeof text)) usage.cpu_ns += strtoull(text, NULL, 10);
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, task->d_name);
    if (read_file(path, text, sizeof text)) {
      uint64_t voluntary = status_number(text, "\nvoluntary_ctxt_switches:");
      usage.voluntary += voluntary;
      usage.switches += voluntary + status_number(text, "\nnonvoluntary_ctxt_switches:");
    }
  }
  closedir(tasks);
  return usage;
}

/// If a thread ends between two readings, its share is lost. The sum is then too small, but it does not wrap around.
static uint64_t grown(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

uint64_t usage_rss_kib(pid_t pid) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  if (!read_file(path, text, sizeof text)) return 0;
  const char *resident = strchr(text, ' ');
  return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024 : 0;
}

void usage_reset_peak(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "5", 1) < 0) fprintf(stderr, "loadgen: cannot reset VmHWM: %s\n", strerror(errno));
  close(fd);
}

/// Buckets are exact below 256 ns; above, each power of two is cut into 256.
static size_t bucket_of(uint64_t ns) {
  if (ns < 256) return ns;
  unsigned power = 63u - (unsigned)__builtin_clzll(ns);
  return (size_t)(power - 7) * 256 + ((ns >> (power - 8)) & 255);
}

static uint64_t bucket_value(size_t bucket) {
  if (bucket < 256) return bucket;
  unsigned power = (unsigned)(bucket / 256) + 7;
  return ((256 | (bucket & 255)) << (power - 8)) + ((1ull << (power - 8)) >> 1);
}

void histogram_add(struct histogram *histogram, uint64_t ns) {
  histogram->count++;
  if (ns > histogram->max_ns) histogram->max_ns = ns;
  histogram->buckets[bucket_of(ns)]++;
}

void histogram_clear(struct histogram *histogram) { memset(histogram, 0, sizeof *histogram); }

uint64_t histogram_quantile(const struct histogram *histogram, double fraction) {
  uint64_t wanted = (uint64_t)(fraction * (double)histogram->count + 0.5), seen = 0;
  if (histogram->count == 0) return 0;
  if (wanted == 0) wanted = 1;
  for (size_t bucket = 0; bucket < histogramBuckets; bucket++) {
    seen += histogram->buckets[bucket];
    if (seen >= wanted) return bucket_value(bucket);
  }
  return histogram->max_ns;
}

void window_open(struct window *window, pid_t server) {
  *window = (struct window){.server = server};
  usage_reset_peak(server);
  window->before = usage_read(server);
  window->start_own_ns = clock_own_cpu();
  window->start_ns = clock_now();
}

void window_close(struct window *window) {
  window->wall_s = (double)(clock_now() - window->start_ns) / 1e9;
  window->client_us = (double)(clock_own_cpu() - window->start_own_ns) / 1e3;
  window->after = usage_read(window->server);
  window->server_us = (double)grown(window->before.cpu_ns, window->after.cpu_ns) / 1e3;
  window->switches = grown(window->before.switches, window->after.switches);
  window->voluntary = grown(window->before.voluntary, window->after.voluntary);
}

bool window_client_bound(const struct window *window) {
  return window->wall_s > 0 && window->client_us / 1e6 / window->wall_s > clientBoundShare;
}
