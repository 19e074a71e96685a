/*
 * The choice of the socket, and the connection to it. A named path is used even if it does not
 * exist. Of the usual places, the first existing one is used. A Unix socket connects at once or
 * not at all, so connecting never blocks. Only if the daemon's queue is full, a later attempt is
 * useful.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SYSTEM_SOCKET "/run/widgetd/widgetd.sock"

static const char *without_scheme(const char *address) {
  if (strncmp(address, "unix://", 7) == 0) return address + 7;
  if (strncmp(address, "unix:", 5) == 0) return address + 5;
  return address;
}

wc_code wc_find_socket(const char *explicit_path, char path[WC_PATH_BYTES_MAX + 1],
                       wc_error *error) {
  const char *named = explicit_path;
  if (named == NULL || *named == 0) named = getenv("WIDGETD_SOCKET");
  if (named != NULL && *named != 0) {
    named = without_scheme(named);
    if (strlen(named) > WC_PATH_BYTES_MAX)
      return wc_fail(error, WC_INVALID_ARGUMENT, "CONNECT_FAILED",
                     "the path %.200s is too long for a socket (at most %d bytes); use a "
                     "shorter one",
                     named, WC_PATH_BYTES_MAX);
    strcpy(path, named);
    return WC_OK;
  }
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != NULL && *runtime != 0) {
    int length =
        snprintf(path, WC_PATH_BYTES_MAX + 1, "%s/widgetd/widgetd.sock", runtime);
    if (length <= WC_PATH_BYTES_MAX && access(path, F_OK) == 0) return WC_OK;
  } else {
    runtime = NULL;
  }
  strcpy(path, SYSTEM_SOCKET);
  if (access(path, F_OK) == 0) return WC_OK;
  return wc_fail(error, WC_UNAVAILABLE, "SOCKET_NOT_FOUND",
                 "cannot find the daemon's socket; tried %.200s%s%s. Start widgetd, or name its "
                 "socket in $WIDGETD_SOCKET",
                 runtime == NULL ? "" : runtime, runtime == NULL ? "" : "/widgetd/widgetd.sock, ",
                 SYSTEM_SOCKET);
}

static wc_code cannot_connect(const char *path, int number, wc_error *error) {
  const char *what;
  wc_code code = WC_UNAVAILABLE;
  switch (number) {
  case ENOENT:
  case ENOTDIR:
    what = "there is no such socket; is widgetd running, and is this its socket?";
    break;
  case ECONNREFUSED:
    what = "no program listens there: the daemon has ended, or this is not a socket; start widgetd";
    break;
  case EACCES:
  case EPERM:
    what =
        "permission denied; run as the daemon's user, or join the group that its --client-group "
        "names";
    code = WC_PERMISSION_DENIED;
    break;
  case EAGAIN: what = "the daemon has too many connections waiting; try again"; break;
  case EMFILE:
  case ENFILE: what = "too many files are open; close some, or raise the limit"; break;
  default: what = NULL; break;
  }
  if (what != NULL)
    return wc_fail(error, code, "CONNECT_FAILED", "cannot connect to the daemon at %s: %s", path,
                   what);
  char text[128];
  const char *words = strerror_r(number, text, sizeof text);
  return wc_fail(error, code, "CONNECT_FAILED",
                 "cannot connect to the daemon at %s: %s (errno %d); check that this is widgetd's "
                 "socket",
                 path, words, number);
}

wc_code wc_dial(const char *path, int *fd, bool *full, wc_error *error) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  *full = false;
  *fd = -1;
  memcpy(address.sun_path, path, strlen(path) + 1);
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return cannot_connect(path, errno, error);
  int result;
  do result = connect(made, (struct sockaddr *)&address, sizeof address);
  while (result < 0 && errno == EINTR);
  if (result == 0) {
    *fd = made;
    return WC_OK;
  }
  int number = errno;
  close(made);
  *full = number == EAGAIN;
  return cannot_connect(path, number, error);
}

int64_t wc_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void wc_random(void *bytes, size_t count) {
  /* This fails only on kernels without the call. The clock is then the source. */
  if (getrandom(bytes, count, 0) == (ssize_t)count) return;
  uint64_t state = (uint64_t)wc_now() ^ ((uint64_t)getpid() << 32);
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ((uint8_t *)bytes)[i] = (uint8_t)(state >> 56);
  }
}
