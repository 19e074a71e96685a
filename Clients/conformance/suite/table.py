"""The table of results, and the reasons below it."""

from dataclasses import dataclass

from suite.drivers import Pair
from suite.scenario import Scenario

LEGEND = ("  ok    the client does what the scenario says\n"
          "  FAIL  it does not\n"
          "  -     the client has no way to do it, for the reason below; no pass\n"
          "  n/b   the client's driver is not built")


@dataclass(frozen=True)
class Result:
    """One cell: its mark, and the reason if the mark is not `ok`."""

    mark: str
    why: str


def print_table(rows: list[Scenario], columns: list[Pair],
                results: dict[tuple[str, str], Result]) -> int:
    """Prints the table, the reasons and the counts. Returns the number of failures."""
    width = max([len(scenario.name) for scenario in rows] + [8])
    print(f"{'scenario':{width}}  " + "  ".join(pair.name for pair in columns))
    group = ""
    for scenario in rows:
        if scenario.group != group:
            group = scenario.group
            print(f"-- {group}")
        cells = [results[scenario.name, pair.name].mark.ljust(len(pair.name)) for pair in columns]
        print(f"{scenario.name:{width}}  " + "  ".join(cells).rstrip())
    print(f"\n{LEGEND}")
    _reasons(rows, columns, results, "-", "What a client has no way to do:")
    _reasons(rows, columns, results, "n/b", "What is not built:")
    _reasons(rows, columns, results, "FAIL", "What failed:")
    print()
    for pair in columns:
        marks = [results[scenario.name, pair.name].mark for scenario in rows]
        print(f"{pair.name}: {marks.count('ok')} passed, {marks.count('FAIL')} failed, "
              f"{marks.count('-')} not possible, {marks.count('n/b')} not built")
    return sum(result.mark == "FAIL" for result in results.values())


def _reasons(rows: list[Scenario], columns: list[Pair],
             results: dict[tuple[str, str], Result], mark: str, title: str) -> None:
    """One line for a reason that several scenarios of a client share."""
    lines: dict[tuple[str, str], list[str]] = {}
    for pair in columns:
        for scenario in rows:
            result = results[scenario.name, pair.name]
            if result.mark == mark:
                lines.setdefault((pair.name, result.why), []).append(scenario.name)
    if lines:
        print(f"\n{title}")
    for (pair_name, why), names in lines.items():
        named = (f"all {len(rows)}" if len(names) == len(rows) > 1 else
                 f"{len(names)} scenarios" if len(names) > 8 else ", ".join(names))
        print(f"  {pair_name}: {named}: " + why.replace("\n", "\n    | "))
