// A clock for daemons in valgrind, loaded with LD_PRELOAD. The file WIDGETD_SLOW_CLOCK has a number of 8 bytes. While
// it is 0, the clock is right. From then on, the clock runs a thousand times slower, and each further 1 puts it
// forward by a microsecond.
//
// The daemon works in slices of milliseconds. In valgrind, a call takes milliseconds itself, so the load of the
// machine decides how many slices some calls take. With this clock, all work of one operation is in one slice.
// A load that needs time between two operations puts the clock forward, so the load of the machine does not decide
// whether it has passed. While the daemon starts, the clock is right, because the daemon gives memory back a second later.
//
// The timers of the kernel keep the right time. So a timer that is set to a time of this clock fires too early, and is
// set again.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static const volatile int64_t *forward;
static int64_t slowSince;

__attribute__((constructor)) static void open_switch(void) {
  const char *path = getenv("WIDGETD_SLOW_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *forward, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page != MAP_FAILED) forward = page;
}

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * second + time->tv_nsec; }

static struct timespec time_of(int64_t nanoseconds) {
  return (struct timespec){.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

/// The difference to the right clock, which shows `now`. This clock never goes back: it shows `slowSince`, a
/// thousandth of the time since then, and the microseconds by which it was put forward.
static int64_t delay(int64_t now) {
  int64_t number = forward ? *forward : 0;
  if (number == 0) return 0;
  int64_t none = 0;
  __atomic_compare_exchange_n(&slowSince, &none, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  int64_t passed = now - __atomic_load_n(&slowSince, __ATOMIC_SEQ_CST);
  return passed - passed / 1000 - (number - 1) * 1000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  long result = syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || clock != CLOCK_MONOTONIC) return (int)result;
  int64_t now = nanoseconds(time);
  *time = time_of(now - delay(now));
  return 0;
}

int timerfd_settime(int file, int flags, const struct itimerspec *wanted, struct itimerspec *before) {
  struct itimerspec timer = *wanted;
  struct timespec now = {0};
  int64_t at = nanoseconds(&timer.it_value);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  // A time of the wall clock is much later.
  if (flags & TFD_TIMER_ABSTIME && at > 0 && at < 2 * nanoseconds(&now) + 86400 * second)
    timer.it_value = time_of(at + delay(nanoseconds(&now)));
  return (int)syscall(SYS_timerfd_settime, file, flags, &timer, before);
}
