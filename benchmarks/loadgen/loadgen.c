// loadgen: puts one kind of load on one server and prints one line of JSON about it.
//
// It has one thread and one loop, and encodes requests in advance, so that it costs less than the server. If it costs
// more, the report has client_bound. The report has the server's CPU time for an operation, which does not depend on
// the speed of the load generator. It also has latencies, which do.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "workload.h"

static const char usage[] =
    "usage: loadgen --workload NAME --socket PATH [options]\n"
    "workloads:\n"
    "  unary      GetWidget, one at a time\n"
    "  pipelined  GetWidget, --in-flight at a time\n"
    "  update     UpdateWidget, --in-flight at a time, nobody watching\n"
    "  fanout     UpdateWidget, --subscribers watching\n"
    "  latejoin   --joiners, one after another, read --widgets widgets\n"
    "  stalled    --updates past a subscriber that does not read, beside --neighbours that do\n"
    "  idle       --subscribers and --widgets, --seconds of nothing\n"
    "  start      from exec to the first answer, --runs times: loadgen ... -- COMMAND ARGUMENTS\n"
    "options (default):\n"
    "  --protocol ttrpc|resp|floor (ttrpc), or grpc, which is all that loadgen-grpc speaks\n"
    "  --payload BYTES (120)\n"
    "  --keys N (1): data keys of a widget; updates change one      --press: an update is an event\n"
    "  --select: each subscriber has another label selector, which selects all widgets\n"
    "  --exclude: each subscriber selects one widget of --spread only (these four are for widgetd)\n"
    "  --updates N (10000)                   --in-flight N (64; 1 for unary)\n"
    "  --rate UPDATES_PER_SECOND (0: as fast as they are acknowledged; latejoin: none)\n"
    "  --spread N (1): over how many widgets the updates of fanout go, in turn\n"
    "  --subscribers N (50)   --neighbours N (4)   --widgets N (10000)   --joiners N (50)\n"
    "  --warm-up N (4): joiners before the first one that counts\n"
    "  --leave: each joiner leaves when it is up to date      --pause S (0): before each joiner\n"
    "  --settle S (32): idle: between the last subscriber and the --seconds that are measured\n"
    "  --pairs N (21)         --runs N (5)         --seconds S (10)      --timeout S (120)\n"
    "  --server-pid PID (who listens on the socket)   --pin-client CPU\n"
    "  --floor-request-bytes, --floor-response-bytes, --floor-frame-bytes BYTES: sizes on the\n"
    "    wire that the floor is to imitate\n";

enum option_code {
  optionWorkload = 256, optionSocket, optionProtocol, optionPayload, optionUpdates, optionInFlight,
  optionRate, optionSpread, optionSubscribers, optionNeighbours, optionWidgets, optionJoiners,
  optionPairs, optionWarmUp, optionLeave, optionPause, optionKeys, optionSelect, optionExclude, optionPress,
  optionRuns, optionSeconds, optionSettle, optionTimeout, optionServer, optionPin, optionFloorRequest,
  optionFloorResponse, optionFloorFrame, optionHelp,
};

static const struct option optionTable[] = {
    {"workload", 1, 0, optionWorkload},
    {"socket", 1, 0, optionSocket},
    {"protocol", 1, 0, optionProtocol},
    {"payload", 1, 0, optionPayload},
    {"updates", 1, 0, optionUpdates},
    {"in-flight", 1, 0, optionInFlight},
    {"rate", 1, 0, optionRate},
    {"spread", 1, 0, optionSpread},
    {"subscribers", 1, 0, optionSubscribers},
    {"neighbours", 1, 0, optionNeighbours},
    {"widgets", 1, 0, optionWidgets},
    {"joiners", 1, 0, optionJoiners},
    {"warm-up", 1, 0, optionWarmUp},
    {"leave", 0, 0, optionLeave},
    {"pause", 1, 0, optionPause},
    {"keys", 1, 0, optionKeys},
    {"select", 0, 0, optionSelect},
    {"exclude", 0, 0, optionExclude},
    {"press", 0, 0, optionPress},
    {"pairs", 1, 0, optionPairs},
    {"runs", 1, 0, optionRuns},
    {"seconds", 1, 0, optionSeconds},
    {"settle", 1, 0, optionSettle},
    {"timeout", 1, 0, optionTimeout},
    {"server-pid", 1, 0, optionServer},
    {"pin-client", 1, 0, optionPin},
    {"floor-request-bytes", 1, 0, optionFloorRequest},
    {"floor-response-bytes", 1, 0, optionFloorResponse},
    {"floor-frame-bytes", 1, 0, optionFloorFrame},
    {"help", 0, 0, optionHelp},
    {0, 0, 0, 0},
};

static const struct {
  const char *name;
  void (*run)(struct bench *);
} workloads[] = {
    {"unary", workload_calls},       {"pipelined", workload_calls}, {"update", workload_calls},
    {"fanout", workload_fanout},     {"latejoin", workload_latejoin},
    {"stalled", workload_stalled},   {"idle", workload_idle},       {"start", workload_start},
};

static void refuse(const char *what) {
  fprintf(stderr, "loadgen: %s\n%s", what, usage);
  exit(2);
}

static uint64_t whole(const char *text) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno || end == text || *end || value > 1000000000ull) refuse("not a sensible number");
  return value;
}

static const struct protocol *protocol_named(const char *name) {
  for (const struct protocol *const *one = protocols; *one; one++)
    if (!strcmp((*one)->name, name)) return *one;
  refuse("no such protocol");
  return NULL;
}

static void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) < 0)
    fprintf(stderr, "loadgen: cannot use CPU %u alone: %s\n", cpu, strerror(errno));
}

static void on_alarm(int signal) {
  (void)signal;
  static const char text[] = "loadgen: gave up: the time limit has passed\n";
  if (write(2, text, sizeof text - 1) < 0) _exit(4);
  _exit(3);
}

static void parse(int count, char **arguments, struct options *options) {
  for (int code; (code = getopt_long(count, arguments, "", optionTable, NULL)) != -1;) {
    switch (code) {
      case optionWorkload: options->workload = optarg; break;
      case optionSocket: options->socket_path = optarg; break;
      case optionProtocol: options->protocol = protocol_named(optarg); break;
      case optionPayload: options->sizes.payload = whole(optarg); break;
      case optionUpdates: options->updates = whole(optarg); break;
      case optionInFlight: options->in_flight = (unsigned)whole(optarg); break;
      case optionRate: options->rate = atof(optarg); break;
      case optionSpread: options->spread = (unsigned)whole(optarg); break;
      case optionSubscribers: options->subscribers = (unsigned)whole(optarg); break;
      case optionNeighbours: options->neighbours = (unsigned)whole(optarg); break;
      case optionWidgets: options->widgets = (unsigned)whole(optarg); break;
      case optionJoiners: options->joiners = (unsigned)whole(optarg); break;
      case optionWarmUp: options->warm_up = (unsigned)whole(optarg); break;
      case optionLeave: options->leave = true; break;
      case optionPause: options->pause = atof(optarg); break;
      case optionKeys: options->sizes.keys = (unsigned)whole(optarg); break;
      case optionSelect: options->sizes.selects = true; break;
      case optionExclude: options->sizes.excludes = true; break;
      case optionPress: options->sizes.presses = true; break;
      case optionPairs: options->pairs = (unsigned)whole(optarg); break;
      case optionRuns: options->runs = (unsigned)whole(optarg); break;
      case optionSeconds: options->seconds = atof(optarg); break;
      case optionSettle: options->settle = atof(optarg); break;
      case optionTimeout: alarm((unsigned)whole(optarg)); break;
      case optionServer: options->server = (pid_t)whole(optarg); break;
      case optionPin: pin((unsigned)whole(optarg)); break;
      case optionFloorRequest: options->sizes.floor_request = whole(optarg); break;
      case optionFloorResponse: options->sizes.floor_response = whole(optarg); break;
      case optionFloorFrame: options->sizes.floor_frame = whole(optarg); break;
      case optionHelp: fputs(usage, stdout); exit(0);
      default: fputs(usage, stderr); exit(2);
    }
  }
  if (!options->workload || !options->socket_path) refuse("--workload and --socket are required");
  if (options->sizes.payload < sequenceDigits || options->sizes.payload > 32768)
    refuse("--payload must be 16 to 32768");
  if (!options->updates || !options->in_flight || !options->joiners || !options->runs ||
      !options->widgets || !options->spread || !options->neighbours || !options->pairs)
    refuse("counts must be at least 1");
  if (options->rate < 0 || options->seconds < 0 || options->settle < 0 || options->pause < 0)
    refuse("a rate or time cannot be negative");
  options->command = arguments + optind;
}

/// The floor imitates the sizes of widgetd's messages. Without measured sizes, this is the size without the payload.
static void fill_sizes(struct sizes *sizes, const char *workload) {
  bool reads = !strcmp(workload, "unary") || !strcmp(workload, "pipelined") || !strcmp(workload, "start");
  if (!sizes->floor_request) sizes->floor_request = reads ? 60 : sizes->payload + 90;
  if (!sizes->floor_response) sizes->floor_response = reads ? sizes->payload + 110 : 20;
  if (!sizes->floor_frame) sizes->floor_frame = sizes->payload + 80;
}

int main(int count, char **arguments) {
  static struct bench bench;
  struct rlimit files;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGALRM, on_alarm);
  alarm(120);
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  bench.options = (struct options){.protocol = protocols[0],
                                   .sizes = {.payload = 120},
                                   .subscribers = 50,
                                   .neighbours = 4,
                                   .widgets = 10000,
                                   .spread = 1,
                                   .joiners = 50,
                                   .warm_up = 4,
                                   .pairs = 21,
                                   .runs = 5,
                                   .updates = 10000,
                                   .in_flight = 64,
                                   .seconds = 10,
                                   .settle = 32};
  parse(count, arguments, &bench.options);
  fill_sizes(&bench.options.sizes, bench.options.workload);
  for (size_t index = 0; index < sizeof workloads / sizeof *workloads; index++) {
    if (strcmp(workloads[index].name, bench.options.workload)) continue;
    workloads[index].run(&bench);
    report_print(&bench.report);
    return 0;
  }
  refuse("no such workload");
}
