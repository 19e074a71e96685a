"""Makes plain-text tables of the reports, one for each wire, and the notes below them."""

import statistics

COLUMNS = ("floor", "redis", "memory", "sqlite")
GRPC_COLUMNS = ("grpc-c++", "grpc", "memory")


def median_of(reports, value):
    """The median of one figure over the rounds; None if there are none."""
    return statistics.median(value(report) for report in reports) if reports else None


def ratio(a, b):
    return a / b if a is not None and b else None


def number(value):
    """A figure with at most four characters, because more digits are noise."""
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


def cells_of(line, by_peer, columns, pairs):
    """One line of a table; `pairs` are the ratios to show."""
    values = {name: median_of(by_peer.get(name), line.value) for name in columns}
    ratios = ["" if line.absolute else times(ratio(values[a], values[b])) for a, b in pairs]
    shown = {name: by_peer[name] for name in columns if by_peer.get(name)}
    return [line.label, line.unit, *(number(values[name]) for name in columns), *ratios,
            spread(shown, line.value)]


def rows(runs, results):
    """The first table's cells, header first: bytes on a socket."""
    yield ["", "unit", *COLUMNS, "mem/floor", "mem/redis", "sqlite/mem", "spread"]
    pairs = (("memory", "floor"), ("memory", "redis"), ("sqlite", "memory"))
    for run in runs:
        if not any(results[run.name].get(name) for name in COLUMNS):
            continue
        for line in run.lines:
            yield cells_of(line, results[run.name], COLUMNS, pairs)


def grpc_rows(runs, results):
    """The second table's cells, header first: gRPC, and widgetd's ttrpc beside it."""
    yield ["over gRPC", "unit", "grpc-c++", "grpc", "ttrpc", "grpc/c++", "grpc/ttrpc", "spread"]
    pairs = (("grpc", "grpc-c++"), ("grpc", "memory"))
    for run in runs:
        if not any(results[run.name].get(name) for name in ("grpc", "grpc-c++")):
            continue
        for line in (*run.lines, *run.grpc_lines):
            yield cells_of(line, results[run.name], GRPC_COLUMNS, pairs)


def render(cells):
    cells = list(cells)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    # Names and units.
    words = (0, 1)
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


def verdict(line, aim, peer, by_peer, results, quick):
    """The result of an aim: met, MISSED or unknown, and the figure."""
    value = median_of(by_peer.get(peer), line.value)
    if value is None:
        return "unknown", "not measured"
    if quick and aim.full_only:
        return "unknown", f"{number(value)} {line.unit} in a quick run, which has less to do"
    if aim.against is None and aim.run is None:
        return ("met" if value <= aim.at_most else "MISSED"), f"{number(value)} {line.unit}"
    other = results.get(aim.run, {}).get(peer) if aim.run else by_peer.get(aim.against)
    actual = ratio(value, median_of(other, line.value))
    if actual is None:
        return "unknown", f"{aim.run or aim.against} was not measured"
    return ("met" if actual <= aim.at_most else "MISSED"), times(actual)


def aims(runs, results, quick):
    """A line for each aim, and one that counts them."""
    counts = {"met": 0, "MISSED": 0, "unknown": 0}
    for run in runs:
        parent = ""
        for line in run.lines + run.grpc_lines:
            if not line.label.startswith(" "):
                parent = line.label
            label = line.label if line.label == parent else f"{parent}, {line.label.strip()}".lstrip(", ")
            of_peers = [(aim, "memory") for aim in line.aims]
            of_peers += [(line.sqlite_aim, "sqlite"), (line.grpc_aim, "grpc")]
            for aim, peer in of_peers:
                if aim is None:
                    continue
                word, actual = verdict(line, aim, peer, results[run.name], results, quick)
                counts[word] += 1
                store = "" if peer == "memory" else f" ({peer})"
                yield f"{word:8}{label}{store}: {actual}; the aim is {aim.text(line.unit)}"
    if any(counts.values()):
        yield (f"{counts['met']} aims met, {counts['MISSED']} missed, "
               f"{counts['unknown']} unknown")


def remarks(runs, results):
    """The notes that explain the figures."""
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
