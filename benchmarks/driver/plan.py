"""What is run: one `Run` for each call of the load generator, and the table's lines made from it.

An aim is a bound on one figure of widgetd with the memory store, as a ratio to a peer that was
measured beside it, or, where nature sets the scale (a wake-up, a megabyte), as a number.
"""

from dataclasses import dataclass, field
from typing import Callable, Optional

ALL = ("floor", "redis", "memory", "sqlite")
IN_MEMORY = ("floor", "redis", "memory")


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


def per_operation(report):
    return report["server_us_per_operation"]


def figure(name, scale=1.0):
    return lambda report: report[name] * scale


def cpu(label, unit, aim=None):
    return Line(label, unit, per_operation, aim)


def plan(quick):
    """All runs, in the order in which they are run and printed."""

    def pick(full, small):
        return str(small if quick else full)

    rounds = 3 if quick else 5
    seconds = pick(10, 3)
    idle_subscribers = pick(1000, 200)
    stalled_updates = pick(200000, 50000)
    visible = "us/visible"
    return [
        Run("unary", "unary", ["--updates", pick(30000, 8000)],
            [cpu("unary, one at a time", "us/call", Aim(1.5, "floor"))],
            IN_MEMORY, rounds),
        Run("pipelined", "pipelined", ["--updates", pick(200000, 50000)],
            [cpu("unary, 64 in flight", "us/call", Aim(3, "floor"))],
            IN_MEMORY, rounds),
        Run("update-1", "update", ["--updates", pick(10000, 3000), "--in-flight", "1"],
            [cpu("update, one at a time", "us/update"),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",)),
        Run("update-64", "update", ["--updates", pick(100000, 20000)],
            [cpu("update, 64 in flight", "us/update"),
             Line("  until acknowledged, p50", "us", figure("latency_p50_us"))],
            ALL, rounds, extra_peers=("redis-aof",)),
        Run("fanout-1-1", "fanout",
            ["--subscribers", "1", "--in-flight", "1", "--updates", pick(20000, 4000)],
            [cpu("fan-out to 1, one in flight", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-1-paced", "fanout",
            ["--subscribers", "1", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 1, 200 a second", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-50-1", "fanout",
            ["--subscribers", "50", "--in-flight", "1", "--updates", pick(4000, 1000)],
            [cpu("fan-out to 50, one in flight", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-50-64", "fanout", ["--subscribers", "50", "--updates", pick(20000, 4000)],
            [cpu("fan-out to 50, 64 in flight", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-50-paced", "fanout",
            ["--subscribers", "50", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 50, 200 a second", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-1000-64", "fanout", ["--subscribers", "1000", "--updates", pick(2000, 640)],
            [cpu("fan-out to 1000, 64 in flight", visible, Aim(1, "redis"))], ALL, rounds),
        Run("fanout-1000-paced", "fanout",
            ["--subscribers", "1000", "--rate", "200", "--updates", pick(400, 100)],
            [cpu("fan-out to 1000, 200 a second", visible, Aim(1, "redis")),
             Line("  until visible, p99", "ms", figure("latency_p99_us", 1e-3))], ALL, rounds),
        Run("latejoin", "latejoin", ["--widgets", "10000", "--joiners", pick(40, 15)],
            [Line("late joiner, 10,000 widgets", "ms CPU", figure("server_us_per_operation", 1e-3),
                  Aim(1, "redis")),
             Line("  until up to date, p50", "ms", figure("latency_p50_us", 1e-3))],
            IN_MEMORY, rounds),
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
            ALL, 1, timeout=90),
        Run("start", "start", ["--runs", pick(7, 3)],
            [Line("exec to first answer, p50", "ms", figure("latency_p50_us", 1e-3)),
             Line("  RSS then", "MB", figure("rss_after_kib", 1 / 1024))], ALL, 1),
    ]
