"""References in steps: `$name.path`, `$n` and `{n}`, `$times` and `$nested`."""

import re
from collections.abc import Callable
from typing import Any


def resolved(value: Any, n: int | None, looked_up: Callable[[list[str]], Any]) -> Any:
    """A step with `$name.path`, `{n}` and `$times` replaced by their values.

    `looked_up` returns the value of a path, such as ["name", "field", "0"].
    """
    if isinstance(value, dict):
        if set(value) == {"$times"}:
            text, count = value["$times"]
            return text * count
        if set(value) == {"$nested"}:
            nested: Any = 0
            for _ in range(value["$nested"]):
                nested = [nested]
            return nested
        return {key: resolved(item, n, looked_up) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, n, looked_up) for item in value]
    if not isinstance(value, str):
        return value
    if n is not None:
        if value == "$n":
            return n
        value = value.replace("{n}", str(n))
    if re.match(r"\$[a-z]\w*\.", value):
        return looked_up(value[1:].split("."))
    return value


def brief(value: Any) -> str:
    """The value in at most 120 characters."""
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."
