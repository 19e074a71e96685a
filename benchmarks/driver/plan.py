"""The plan: one `Run` for each call of the load generator, and the lines of the table.

An aim is a bound on one figure of widgetd: with the memory store, with SQLite or over gRPC. It is a ratio to a
peer that was measured beside it, or a number of wake-ups, megabytes or milliseconds.

Runs with `grpc` peers make a second table, of gRPC alone. These peers get fewer operations, since
each takes ten to a hundred times as long.
"""

from dataclasses import dataclass, field
from typing import Callable, Optional

ALL = ("floor", "redis", "memory", "sqlite")
IN_MEMORY = ("floor", "redis", "memory")
GRPC = ("grpc", "grpc-c++")


@dataclass
class Aim:
    """`against` is a peer's name for a ratio, or None for a plain number. With `run`, the ratio is to
    what the same peer needs in that run. `full_only` is for figures that depend on how much is run: a
    quick run cannot say whether they are met."""

    at_most: float
    against: Optional[str] = None
    run: Optional[str] = None
    full_only: bool = False

    def text(self, unit):
        """The bound in words; `unit` is that of the line."""
        bound = f"{self.at_most:g}"
        other = self.run or self.against
        return f"at most {bound}x {other}" if other else f"at most {bound} {unit}"


@dataclass
class Line:
    """One line of the table: a figure of a report, and its unit."""

    label: str
    unit: str
    value: Callable[[dict], float]
    # Of widgetd with the store in memory.
    aims: tuple = ()
    # Ratios between peers mean nothing for this figure.
    absolute: bool = False
    # Of widgetd's gRPC, in the second table.
    grpc_aim: Optional[Aim] = None
    # Of widgetd with SQLite.
    sqlite_aim: Optional[Aim] = None


@dataclass
class Run:
    """One call of the load generator for each of `peers` in each of `rounds`."""

    name: str
    workload: str
    arguments: list
    lines: list
    peers: tuple = ALL
    rounds: int = 5
    timeout: int = 60
    extra_peers: tuple = field(default=())
    # None: not measured over gRPC. Else the arguments of these peers, which come after `arguments`.
    grpc_arguments: Optional[list] = None
    # The setup of widgetd before the load: a name of driver/setup.py.
    setup: Optional[str] = None
    # More arguments of widgetd.
    widgetd_arguments: tuple = ()
    # Lines of the second table only.
    grpc_lines: list = field(default_factory=list)

    def all_peers(self):
        """All peers, in the order of the first round."""
        return (*self.peers, *self.extra_peers, *(() if self.grpc_arguments is None else GRPC))

    def sample(self):
        """A short call of the load generator with messages of the same sizes, or None if the floor needs
        none: the workload and its arguments. Of an option given twice, the last counts."""
        workload = {"unary": "unary", "pipelined": "unary", "start": "unary", "latejoin": "update",
                    "update": "update", "fanout": "fanout", "stalled": "fanout"}.get(self.workload)
        if not workload:
            return None
        shape = [word for option in ("--payload", "--keys") if option in self.arguments
                 for word in (option, self.arguments[self.arguments.index(option) + 1])]
        few = ["--subscribers", "1"] if workload == "fanout" else []
        return workload, [*shape, *few, "--updates", "10", "--in-flight", "1"]

    def arguments_for(self, protocol):
        """The arguments of the load generator. Of a repeated option, the last counts."""
        more = self.grpc_arguments if protocol == "grpc" and self.grpc_arguments else []
        return [*self.arguments, *more]


def per_operation(report):
    return report["server_us_per_operation"]


def figure(name, scale=1.0):
    return lambda report: report[name] * scale


def cpu(label, unit, *aims, grpc_aim=None, sqlite_aim=None):
    return Line(label, unit, per_operation, aims, grpc_aim=grpc_aim, sqlite_aim=sqlite_aim)


def late_joiner(which, *aims):
    """The lines about a client that gets all widgets."""
    return [Line(f"late joiner: {which}", "ms CPU", figure("server_us_per_operation", 1e-3), aims),
            Line("  until up to date, p50", "ms", figure("latency_p50_us", 1e-3))]


def per_frame():
    return Line("  per frame, updates included", "us/frame", figure("server_us_per_frame"))


def shapes(pick, rounds, visible):
    """Large widgets, and readers of a part of the widgets."""
    updates = ["--in-flight", "1", "--updates", pick(10000, 3000)]
    small = ["--in-flight", "1", "--updates", pick(3000, 1000)]
    watched = ["--subscribers", "50", "--in-flight", "1", "--updates", pick(2000, 500)]
    return [
        Run("update-10", "update", [*updates, "--keys", "10"],
            [cpu("update of 1 key among 10", "us/update")], ("memory", "sqlite"), rounds),
        Run("update-100", "update", [*updates, "--keys", "100"],
            [cpu("update of 1 key among 100", "us/update")], ("memory", "sqlite"), rounds),
        Run("update-10k", "update", [*small, "--payload", "10240"],
            [cpu("update with 10 KiB", "us/update")], ALL, rounds),
        Run("click", "update", [*updates, "--press"],
            [cpu("click that changes 1 of 50 nodes", "us/click", Aim(2, run="update-1"))], ("memory", "sqlite"), rounds,
            setup="card"),
        Run("fanout-10k", "fanout", [*watched, "--payload", "10240"],
            [cpu("fan-out of 10 KiB to 50", visible)], ALL, rounds),
        Run("fanout-nodes", "fanout", watched,
            [cpu("fan-out of 1 of 50 nodes to 50", visible)], ("floor", "memory", "sqlite"), rounds,
            setup="nodes"),
        Run("fanout-select", "fanout", [*watched, "--subscribers", "100", "--select"],
            [cpu("fan-out to 100 selectors", visible)], ("memory", "sqlite"), rounds),
        # Ten updates for each, at least.
        Run("fanout-exclude", "fanout",
            ["--subscribers", "100", "--spread", "100", "--exclude", "--in-flight", "1", "--updates",
             pick(2000, 1000)],
            [Line("fan-out to 1 of 100 selectors", "us/update", figure("server_us_per_update"))],
            ("memory", "sqlite"), rounds),
    ]


def plan(quick):
    """All runs, in the order of the table."""

    def pick(full, small):
        return str(small if quick else full)

    rounds = 3 if quick else 5
    fewer_rounds = 1 if quick else 3
    seconds = pick(10, 3)
    idle_subscribers = pick(1000, 200)
    stalled_updates = pick(200000, 50000)
    visible = "us/visible"
    batched = Aim(2, "grpc-c++")
    # Half of the cost of a call when this aim was set.
    unary_over_grpc = Aim(4, "grpc-c++")
    return [
        Run("update-1", "update", ["--updates", pick(10000, 3000), "--in-flight", "1"],
            [cpu("update, one at a time", "us/update", Aim(1.5, "floor"),
                 sqlite_aim=Aim(2.5, "memory")),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",)),
        Run("update-64", "update", ["--updates", pick(100000, 20000)],
            [cpu("update, 64 in flight", "us/update", Aim(1.3, "redis"),
                 sqlite_aim=Aim(1.5, "memory"), grpc_aim=unary_over_grpc),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",),
            grpc_arguments=["--updates", pick(10000, 3000)]),
        Run("unary", "unary", ["--updates", pick(30000, 8000)],
            [cpu("read, one at a time", "us/call", Aim(1.5, "floor"), grpc_aim=unary_over_grpc)],
            IN_MEMORY, rounds, grpc_arguments=["--updates", pick(5000, 1500)]),
        Run("pipelined", "pipelined", ["--updates", pick(200000, 50000)],
            [cpu("read, 64 in flight", "us/call", Aim(3, "floor"), grpc_aim=unary_over_grpc)],
            IN_MEMORY, rounds, grpc_arguments=["--updates", pick(10000, 3000)]),
        Run("fanout-1-1", "fanout",
            ["--subscribers", "1", "--in-flight", "1", "--updates", pick(20000, 4000)],
            [cpu("fan-out to 1, one in flight", visible, Aim(1, "redis"))], ALL, rounds,
            grpc_arguments=["--updates", pick(4000, 1000)]),
        Run("fanout-1-paced", "fanout",
            ["--subscribers", "1", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 1, 200 a second", visible, Aim(1, "redis"))], ALL, rounds,
            grpc_arguments=[]),
        Run("fanout-50-1", "fanout",
            ["--subscribers", "50", "--in-flight", "1", "--updates", pick(4000, 1000)],
            [cpu("fan-out to 50, one in flight", visible, Aim(1, "redis"))], ALL, rounds,
            grpc_arguments=["--updates", pick(1000, 300)], grpc_lines=[per_frame()]),
        Run("fanout-50-64", "fanout", ["--subscribers", "50", "--updates", pick(20000, 4000)],
            [cpu("fan-out to 50, 64 in flight", visible, Aim(1, "redis"), grpc_aim=batched)], ALL, rounds,
            grpc_arguments=["--updates", pick(8000, 2000)], grpc_lines=[per_frame()]),
        Run("fanout-50-spread", "fanout",
            ["--subscribers", "50", "--spread", "1000", "--updates", pick(20000, 4000)], [],
            ("memory",), rounds, grpc_arguments=["--updates", pick(8000, 2000)],
            grpc_lines=[cpu("fan-out to 50, over 1000 widgets", visible, grpc_aim=batched)]),
        Run("fanout-50-paced", "fanout",
            ["--subscribers", "50", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 50, 200 a second", visible, Aim(1.3, "floor"))], ALL, rounds,
            grpc_arguments=[]),
        Run("fanout-1000-64", "fanout", ["--subscribers", "1000", "--updates", pick(2000, 640)],
            [cpu("fan-out to 1000, 64 in flight", visible, Aim(1, "redis"), grpc_aim=batched)], ALL, rounds,
            grpc_arguments=["--updates", pick(640, 256)], grpc_lines=[per_frame()]),
        # More of them would need all of the CPU that the server and the load generator share.
        Run("fanout-1000-paced", "fanout",
            ["--subscribers", "1000", "--rate", "50", "--updates", pick(150, 50)],
            [cpu("fan-out to 1000, 50 a second", visible, Aim(1, "redis")),
             Line("  until visible, p99", "ms", figure("latency_p99_us", 1e-3))], ALL, rounds),
        *shapes(pick, rounds, visible),
        Run("latejoin-first", "latejoin",
            ["--widgets", "10000", "--joiners", "1", "--warm-up", "0"],
            late_joiner("the first", Aim(1, "redis"), Aim(6, "floor")), IN_MEMORY, rounds,
            grpc_arguments=[]),
        Run("latejoin-plain", "latejoin",
            ["--widgets", "10000", "--joiners", "1", "--warm-up", "0"],
            late_joiner("the first, without content"), IN_MEMORY, fewer_rounds, setup="plain"),
        Run("latejoin-nodes", "latejoin",
            ["--widgets", "1000", "--joiners", "1", "--warm-up", "0"],
            late_joiner("the first, 1,000 widgets of 50 nodes"), ("memory", "sqlite"), fewer_rounds,
            setup="nodes"),
        Run("latejoin-pause", "latejoin",
            ["--widgets", "10000", "--joiners", pick(3, 2), "--warm-up", "1", "--leave",
             "--pause", "2"],
            late_joiner("one after a pause of 2 s", Aim(1, "redis")), IN_MEMORY, fewer_rounds),
        # The daemon keeps encoded widgets for 3 s.
        Run("latejoin-pause-5", "latejoin",
            ["--widgets", "10000", "--joiners", pick(3, 2), "--warm-up", "1", "--leave",
             "--pause", "5"],
            late_joiner("one after a pause of 5 s", Aim(1, "redis")), IN_MEMORY, fewer_rounds),
        Run("latejoin-traffic", "latejoin",
            ["--widgets", "10000", "--joiners", pick(20, 5), "--leave", "--rate", "1000",
             "--seconds", "1"],
            late_joiner("one during 1,000 updates/s", Aim(1, "redis")), IN_MEMORY, fewer_rounds),
        Run("latejoin", "latejoin", ["--widgets", "10000", "--joiners", pick(40, 15)],
            late_joiner("one after many who stay", Aim(1, "redis")),
            IN_MEMORY, rounds, grpc_arguments=["--joiners", pick(20, 8)]),
        Run("stalled", "stalled", ["--updates", stalled_updates, "--pairs", pick(11, 7)],
            [Line(f"stalled reader, {int(stalled_updates):,} updates", "MB growth",
                  figure("growth_kib", 1 / 1024), (Aim(1, full_only=True),), absolute=True),
             Line("  neighbours' p99, with/without", "ratio", figure("p99_ratio"), (Aim(1.05),),
                  absolute=True),
             Line("  neighbours' p99, with", "us", figure("with_p99_us"))],
            # An update is sent when all neighbours have the last one. So each would wait for its round.
            IN_MEMORY, 1 if quick else 3, widgetd_arguments=("--limit", "frame_interval_microseconds=1")),
        Run("idle", "idle",
            ["--subscribers", idle_subscribers, "--widgets", "10000", "--settle", pick(32, 2), "--seconds",
             seconds],
            [Line(f"idle, {idle_subscribers} subscribers, 10,000 widgets", "MB RSS",
                  figure("rss_after_kib", 1 / 1024), (Aim(16, full_only=True),)),
             Line(f"  wake-ups in {seconds} s", "switches", figure("server_switches"),
                  (Aim(0, full_only=True),), absolute=True)],
            ALL, 1, timeout=90, grpc_arguments=[]),
        Run("start", "start", ["--runs", pick(7, 3)],
            [Line("exec to first answer, p50", "ms", figure("latency_p50_us", 1e-3), (Aim(8),)),
             Line("  RSS then", "MB", figure("rss_after_kib", 1 / 1024))], ALL, 1,
            grpc_arguments=[]),
    ]
