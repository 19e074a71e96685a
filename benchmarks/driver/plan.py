"""What is run: one `Run` for each call of the load generator, and the table's lines made from it.

An aim is a bound on one figure of widgetd with the memory store, as a ratio to a peer that was
measured beside it, or, where nature sets the scale (a wake-up, a megabyte), as a number.

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
    """`against` is a peer's name for a ratio, or None for a plain number."""

    at_most: float
    against: Optional[str] = None

    def text(self):
        bound = f"{self.at_most:g}"
        return f"<= {bound}x {self.against}" if self.against else f"<= {bound}"


@dataclass
class Line:
    """One line of the table: which figure of a report, in which unit."""

    label: str
    unit: str
    value: Callable[[dict], float]
    aim: Optional[Aim] = None
    # Ratios between peers mean nothing for this figure.
    absolute: bool = False
    # Of widgetd's gRPC, in the second table.
    grpc_aim: Optional[Aim] = None


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
    # None: not measured over gRPC. Else what these peers get after `arguments`, where it counts.
    grpc_arguments: Optional[list] = None
    # Lines of the second table only.
    grpc_lines: list = field(default_factory=list)

    def all_peers(self):
        """Everyone who takes part, in the order of the first round."""
        return (*self.peers, *self.extra_peers, *(() if self.grpc_arguments is None else GRPC))

    def arguments_for(self, protocol):
        """What the load generator gets; of an option given twice, the last counts."""
        more = self.grpc_arguments if protocol == "grpc" and self.grpc_arguments else []
        return [*self.arguments, *more]


def per_operation(report):
    return report["server_us_per_operation"]


def figure(name, scale=1.0):
    return lambda report: report[name] * scale


def cpu(label, unit, aim=None, grpc_aim=None):
    return Line(label, unit, per_operation, aim, grpc_aim=grpc_aim)


def per_frame():
    return Line("  per frame, updates included", "us/frame", figure("server_us_per_frame"))


def plan(quick):
    """All runs, in the order in which they are run and printed."""

    def pick(full, small):
        return str(small if quick else full)

    rounds = 3 if quick else 5
    seconds = pick(10, 3)
    idle_subscribers = pick(1000, 200)
    stalled_updates = pick(200000, 50000)
    visible = "us/visible"
    batched = Aim(2, "grpc-c++")
    return [
        Run("unary", "unary", ["--updates", pick(30000, 8000)],
            [cpu("unary, one at a time", "us/call", Aim(1.5, "floor"))],
            IN_MEMORY, rounds, grpc_arguments=["--updates", pick(5000, 1500)]),
        Run("pipelined", "pipelined", ["--updates", pick(200000, 50000)],
            [cpu("unary, 64 in flight", "us/call", Aim(3, "floor"))],
            IN_MEMORY, rounds, grpc_arguments=["--updates", pick(10000, 3000)]),
        Run("update-1", "update", ["--updates", pick(10000, 3000), "--in-flight", "1"],
            [cpu("update, one at a time", "us/update"),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",)),
        Run("update-64", "update", ["--updates", pick(100000, 20000)],
            [cpu("update, 64 in flight", "us/update"),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",),
            grpc_arguments=["--updates", pick(10000, 3000)]),
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
            [cpu("fan-out to 50, 64 in flight", visible, Aim(1, "redis"), batched)], ALL, rounds,
            grpc_arguments=["--updates", pick(8000, 2000)], grpc_lines=[per_frame()]),
        Run("fanout-50-spread", "fanout",
            ["--subscribers", "50", "--spread", "1000", "--updates", pick(20000, 4000)], [],
            ("memory",), rounds, grpc_arguments=["--updates", pick(8000, 2000)],
            grpc_lines=[cpu("  the same, over 1000 widgets", visible, grpc_aim=batched)]),
        Run("fanout-50-paced", "fanout",
            ["--subscribers", "50", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 50, 200 a second", visible, Aim(1, "redis"))], ALL, rounds,
            grpc_arguments=[]),
        Run("fanout-1000-64", "fanout", ["--subscribers", "1000", "--updates", pick(2000, 640)],
            [cpu("fan-out to 1000, 64 in flight", visible, Aim(1, "redis"), batched)], ALL, rounds,
            grpc_arguments=["--updates", pick(640, 256)], grpc_lines=[per_frame()]),
        Run("fanout-1000-paced", "fanout",
            ["--subscribers", "1000", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 1000, 200 a second", visible, Aim(1, "redis")),
             Line("  until visible, p99", "ms", figure("latency_p99_us", 1e-3))], ALL, rounds),
        Run("latejoin", "latejoin", ["--widgets", "10000", "--joiners", pick(40, 15)],
            [Line("late joiner, 10,000 widgets", "ms CPU", figure("server_us_per_operation", 1e-3),
                  Aim(1, "redis")),
             Line("  until up to date, p50", "ms", figure("latency_p50_us", 1e-3))],
            IN_MEMORY, rounds, grpc_arguments=["--joiners", pick(20, 8)]),
        Run("stalled", "stalled", ["--updates", stalled_updates, "--pairs", pick(11, 7)],
            [Line(f"stalled reader, {int(stalled_updates):,} updates", "MB growth",
                  figure("growth_kib", 1 / 1024), Aim(1), absolute=True),
             Line("  neighbours' p99, with/without", "ratio", figure("p99_ratio"), Aim(1.05),
                  absolute=True),
             Line("  neighbours' p99, with", "us", figure("with_p99_us"))],
            IN_MEMORY, 1 if quick else 3),
        Run("idle", "idle",
            ["--subscribers", idle_subscribers, "--widgets", "10000", "--seconds", seconds],
            [Line(f"idle, {idle_subscribers} subscribers, 10,000 widgets", "MB RSS",
                  figure("rss_after_kib", 1 / 1024), Aim(20)),
             Line(f"  wake-ups in {seconds} s", "switches", figure("server_switches"), Aim(0),
                  absolute=True)],
            ALL, 1, timeout=90, grpc_arguments=[]),
        Run("start", "start", ["--runs", pick(7, 3)],
            [Line("exec to first answer, p50", "ms", figure("latency_p50_us", 1e-3)),
             Line("  RSS then", "MB", figure("rss_after_kib", 1 / 1024))], ALL, 1,
            grpc_arguments=[]),
    ]
