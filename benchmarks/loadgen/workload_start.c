// start: from exec of the server to its first answer.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/// Connects, with retries. Returns the socket.
static int connect_when_ready(const char *path, pid_t child) {
  for (;;) {
    int fd = socket_connect(path), status;
    if (fd >= 0) return fd;
    if (waitpid(child, &status, WNOHANG) == child) fail("the server ended before it answered");
    nanosleep(&(struct timespec){.tv_nsec = pollNanoseconds}, NULL);
  }
}

/// An error is an answer, too, because there is no widget.
static void on_answer(struct loop *loop, struct connection *connection,
                      const struct message *message, uint64_t now) {
  (void)connection, (void)now;
  uint64_t *answers = loop->context;
  if (message->kind == MESSAGE_REPLY) ++*answers;
}

void workload_start(struct bench *bench) {
  struct options *options = &bench->options;
  const struct protocol *protocol = options->protocol;
  struct loop *loop = &bench->loop;
  uint64_t rss = 0, answers = 0;
  if (!options->command || !options->command[0]) fail("start needs -- COMMAND ARGUMENTS");
  loop_init(loop, protocol, options->socket_path);
  loop->on_message = on_answer;
  loop->context = &answers;
  for (unsigned run = 0; run < options->runs; run++) {
    unlink(options->socket_path);
    uint64_t start = clock_now();
    pid_t child = launch(options->command);
    struct connection *first = loop_adopt(loop, connect_when_ready(options->socket_path, child));
    protocol->get(&first->out, &options->sizes);
    connection_number(protocol, first, 0);
    loop_flush(loop, first);
    loop_until(loop, &answers, run + 1);
    histogram_add(&bench->latency, clock_now() - start);
    rss = usage_rss_kib(child);
    loop_disconnect(loop, first);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
  }
  report_text(&bench->report, "workload", options->workload);
  report_text(&bench->report, "protocol", options->protocol->name);
  report_count(&bench->report, "operations", options->runs);
  report_count(&bench->report, "rss_after_kib", rss);
  report_latency(&bench->report, "latency", &bench->latency);
}
