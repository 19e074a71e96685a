// start: from exec of the server to its first answer.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static const long pollNanoseconds = 50000;

static pid_t launch(char **command) {
  pid_t parent = getpid(), child = fork();
  if (child < 0) fail("fork: %s", strerror(errno));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0), dup2(null, 1), dup2(null, 2);
  execvp(command[0], command);
  _exit(127);
}

/// Tries to connect until it works. Returns the socket.
static int connect_when_ready(const char *path, pid_t child) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) fail("the socket's path is too long: %s", path);
  strcpy(address.sun_path, path);
  for (;;) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    if (waitpid(child, &status, WNOHANG) == child) fail("the server ended before it answered");
    nanosleep(&(struct timespec){.tv_nsec = pollNanoseconds}, NULL);
  }
}

void workload_start(struct bench *bench) {
  struct options *options = &bench->options;
  struct buffer request = {0};
  uint8_t answer[64 * 1024];
  if (!options->command || !options->command[0]) fail("start needs -- COMMAND ARGUMENTS");
  options->protocol->get(&request, &options->sizes);
  uint64_t rss = 0;
  for (unsigned run = 0; run < options->runs; run++) {
    unlink(options->socket_path);
    uint64_t start = clock_now();
    pid_t child = launch(options->command);
    int fd = connect_when_ready(options->socket_path, child);
    size_t count = 0;
    struct message message = {0};
    if (send(fd, request.bytes, request.length, MSG_NOSIGNAL) < 0)
      fail("the server closed the first connection: %s", strerror(errno));
    while (message.kind == MESSAGE_INCOMPLETE) {
      struct parser parser = {0};
      ssize_t got = read(fd, answer + count, sizeof answer - count);
      if (got <= 0) fail("the server did not answer the first call");
      count += (size_t)got;
      options->protocol->parse(&parser, answer, count, &message);
    }
    // An error is an answer too: there is no widget yet.
    histogram_add(&bench->latency, clock_now() - start);
    rss = usage_rss_kib(child);
    close(fd);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
  }
  report_text(&bench->report, "workload", options->workload);
  report_text(&bench->report, "protocol", options->protocol->name);
  report_count(&bench->report, "operations", options->runs);
  report_count(&bench->report, "rss_after_kib", rss);
  report_latency(&bench->report, "latency", &bench->latency);
}
