"""Turns the collected reports into plain-text tables, one for each wire, and the sentences below."""

import statistics

COLUMNS = ("floor", "redis", "memory", "sqlite")
GRPC_COLUMNS = ("grpc-c++", "grpc", "memory")


def median_of(reports, value):
    """The median of one figure over the rounds; None if there are none."""
    return statistics.median(value(report) for report in reports) if reports else None


def ratio(a, b):
    return a / b if a is not None and b else None


def number(value):
    """At most four characters of meaning: nobody needs the sixth digit of a noisy figure."""
    if value is None:
        return "-"
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def times(value):
    return "-" if value is None else f"{value:.2f}x"


def spread(reports_by_peer, value):
    """The widest range over the rounds of any peer, in percent of its median."""
    widest = None
    for reports in reports_by_peer.values():
        values = [value(report) for report in reports]
        middle = statistics.median(values) if len(values) > 1 else 0
        if middle > 0:
            widest = max(widest or 0, (max(values) - min(values)) / middle)
    return "-" if widest is None else f"{widest * 100:.0f}%"


def verdict(aim, values, peer):
    """Whether this peer, which is widgetd, does what it aims for."""
    if aim is None:
        return "", ""
    if values[peer] is None:
        return aim.text(), "-"
    actual = ratio(values[peer], values[aim.against]) if aim.against else values[peer]
    if actual is None:
        return aim.text(), "-"
    return aim.text(), "met" if actual <= aim.at_most else "MISSED"


def cells_of(line, by_peer, columns, pairs, aim, peer):
    """One line of a table; `pairs` are the ratios to show."""
    values = {name: median_of(by_peer.get(name), line.value) for name in columns}
    ratios = ["" if line.absolute else times(ratio(values[a], values[b])) for a, b in pairs]
    shown = {name: by_peer[name] for name in columns if by_peer.get(name)}
    return [line.label, line.unit, *(number(values[name]) for name in columns), *ratios,
            spread(shown, line.value), *verdict(aim, values, peer)]


def rows(runs, results):
    """The first table's cells, header first: bytes on a socket."""
    yield ["", "unit", *COLUMNS, "mem/floor", "mem/redis", "sqlite/mem", "spread", "aim (memory)",
           ""]
    pairs = (("memory", "floor"), ("memory", "redis"), ("sqlite", "memory"))
    for run in runs:
        if not any(results[run.name].get(name) for name in COLUMNS):
            continue
        for line in run.lines:
            yield cells_of(line, results[run.name], COLUMNS, pairs, line.aim, "memory")


def grpc_rows(runs, results):
    """The second table's cells, header first: gRPC, and widgetd's ttrpc beside it."""
    yield ["over gRPC", "unit", "grpc-c++", "grpc", "ttrpc", "grpc/c++", "grpc/ttrpc", "spread",
           "aim (grpc)", ""]
    pairs = (("grpc", "grpc-c++"), ("grpc", "memory"))
    for run in runs:
        if not any(results[run.name].get(name) for name in ("grpc", "grpc-c++")):
            continue
        for line in (*run.lines, *run.grpc_lines):
            yield cells_of(line, results[run.name], GRPC_COLUMNS, pairs, line.grpc_aim, "grpc")


def render(cells):
    cells = list(cells)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    # What a name is, what a unit is, and the aim with its verdict.
    words = (0, 1, len(widths) - 2, len(widths) - 1)
    lines = []
    for index, row in enumerate(cells):
        # Words to the left, figures to the right.
        aligned = [
            text.ljust(width) if column in words else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(aligned).rstrip())
        if index == 0:
            lines.append("-" * len("  ".join(" " * width for width in widths)))
    return "\n".join(lines)


def remarks(runs, results):
    """What a reader has to know to read the figures right."""
    for run in runs:
        by_peer = results[run.name]
        bound = [name for name, reports in by_peer.items()
                 if any(report.get("client_bound") for report in reports)]
        if bound:
            yield (f"{run.name}: the load generator was the bottleneck for {', '.join(bound)}; "
                   "CPU per operation still holds, throughput and latency are its own.")
        if run.workload == "fanout":
            conflated = {name: median_of(reports, lambda r: r["visible_per_frame"])
                         for name, reports in by_peer.items()}
            said = [f"{name} {number(value)}" for name, value in conflated.items()
                    if value and value > 1.005]
            if said:
                yield f"{run.name}: updates conflated into one frame: {', '.join(said)}."
        if run.workload == "stalled":
            gone = [name for name, reports in by_peer.items()
                    if any(report["staller_disconnected"] for report in reports)]
            if gone:
                yield f"{run.name}: disconnected by {', '.join(gone)}, not caught up later."
        if "redis-aof" in by_peer and by_peer["redis-aof"]:
            plain = median_of(by_peer.get("redis"), run.lines[0].value)
            durable = median_of(by_peer["redis-aof"], run.lines[0].value)
            memory = median_of(by_peer.get("memory"), run.lines[0].value)
            sqlite = median_of(by_peer.get("sqlite"), run.lines[0].value)
            text = (f"{run.name}: being durable costs redis (appendonly, everysec) "
                    f"{times(ratio(durable, plain))} its CPU in memory")
            if sqlite and memory:
                text += f", widgetd (sqlite, group commit) {times(ratio(sqlite, memory))}"
            yield text + "."
