"""Messages in the form of the scenario files, and in the form of the wire.

A scenario writes a message as JSON with the names of the schema: enum values by name, a `Value` as
the plain JSON it stands for, a duration as "250ms" or "2s", a field mask as a list of paths, bytes
in hexadecimal. Encoding and decoding themselves are those of the acceptance tests, which read the
schema from Protos/.
"""

import math
import os
import re
from typing import Any

from lib.protobuf import ROOT, SCHEMA
from lib.ttrpc import SERVICES

Document = dict[str, Any]

VALUE = "widgetd.v1.Value"
DURATION = "google.protobuf.Duration"
MASK = "google.protobuf.FieldMask"

REQUESTS = {
    "grpc.health.v1.Health/Check": "grpc.health.v1.HealthCheckRequest",
}
# The canonical codes, by their numbers.
CODES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
         "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
         "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
         "UNAUTHENTICATED")


class Misuse(Exception):
    """A scenario has something that the schema or the suite does not know."""


def full_method(method: str) -> str:
    """`CreateWidget` as `widgetd.v1.WidgetService/CreateWidget`; a full name stays."""
    if "/" in method:
        return method
    return f"widgetd.v1.{SERVICES.get(method, 'WidgetService')}/{method}"


def request_type(method: str) -> str:
    """The message that a method takes."""
    full = full_method(method)
    name = REQUESTS.get(full, f"widgetd.v1.{full.split('/')[1]}Request")
    # A method that no service has takes any message.
    return name if name in SCHEMA.messages else "widgetd.v1.GetWidgetRequest"


def response_type(method: str) -> str:
    """The message that a method answers with."""
    return request_type(method).removesuffix("Request") + "Response"


def _enums() -> dict[str, dict[str, int]]:
    """Every enum's names and numbers, by the enum's own name: they are unique in Protos/."""
    found: dict[str, dict[str, int]] = {}
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, "Protos"))):
        for name in sorted(names):
            if name.endswith(".proto"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = re.sub(r"//[^\n]*", "", file.read())
                for enum, body in re.findall(r"\benum (\w+) \{([^}]*)\}", text):
                    found[enum] = {key: int(number) for key, number
                                   in re.findall(r"(\w+)\s*=\s*(\d+)\s*;", body)}
    return found


ENUMS = _enums()


def encode(name: str, document: Document) -> bytes:
    """The bytes of a message that a scenario wrote."""
    return SCHEMA.encode(name, filled(name, document))


def decode(name: str, data: bytes) -> Document:
    """A message in the form of a scenario."""
    return plain(name, SCHEMA.decode(name, data))


def _fields(name: str) -> dict[str, Any]:
    return {field.name: (field, SCHEMA.resolve(field.type, package, scope))
            for field, package, scope in SCHEMA.messages[name]}


def filled(name: str, document: Document) -> Document:
    """A message of a scenario, in the form of the encoder."""
    fields = _fields(name)
    result: Document = {}
    for key, value in document.items():
        if key not in fields:
            raise Misuse(f"{name} has no field {key}")
        field, kind = fields[key]
        if field.key_type:
            result[key] = {k: _one_filled(field, kind, v) for k, v in value.items()}
        elif field.repeated:
            result[key] = [_one_filled(field, kind, item) for item in value]
        else:
            result[key] = _one_filled(field, kind, value)
    return result


def _one_filled(field: Any, kind: str | None, value: Any) -> Any:
    if kind and kind in SCHEMA.enums:
        return ENUMS[kind.split(".")[-1]][value] if isinstance(value, str) else value
    if kind == VALUE:
        return value_of(value)
    if kind == DURATION and isinstance(value, str):
        return duration(value)
    if kind == MASK and isinstance(value, list):
        return {"paths": value}
    if kind:
        return filled(kind, value)
    if field.type == "bytes" and isinstance(value, str):
        return bytes.fromhex(value)
    return float(value) if field.type == "double" else value


def duration(text: str) -> dict[str, int]:
    """ "250ms" or "2s" as a google.protobuf.Duration."""
    match = re.fullmatch(r"(-?\d+)(ms|s)", text)
    if not match:
        raise Misuse(f"{text} is not a duration; write 250ms or 2s")
    milliseconds = int(match[1]) * (1 if match[2] == "ms" else 1000)
    seconds, rest = divmod(milliseconds, 1000)
    return {"seconds": seconds, "nanos": rest * 1_000_000}


def value_of(plain_value: Any) -> Document:
    """A widgetd.v1.Value that stands for a piece of JSON."""
    if plain_value is None:
        return {"null_value": 0}
    if isinstance(plain_value, bool):
        return {"bool_value": plain_value}
    if isinstance(plain_value, int):
        return {"int_value": plain_value}
    if isinstance(plain_value, float):
        return {"double_value": plain_value}
    if isinstance(plain_value, str):
        return {"string_value": plain_value}
    if isinstance(plain_value, list):
        return {"list_value": {"values": [value_of(item) for item in plain_value]}}
    if set(plain_value) == {"$value"}:
        return filled(VALUE, plain_value["$value"])
    return {"map_value": {"entries": {k: value_of(v) for k, v in plain_value.items()}}}


def plain_of(value: Document) -> Any:
    """The piece of JSON that a widgetd.v1.Value stands for: bytes in hexadecimal; "nan" and "inf"
    as text, which JSON has no numbers for."""
    kind: str
    content: Any
    (kind, content), = value.items() if value else [("null_value", 0)]
    if kind == "null_value":
        return None
    if kind == "list_value":
        return [plain_of(item) for item in content.get("values", [])]
    if kind == "map_value":
        return {k: plain_of(v) for k, v in content.get("entries", {}).items()}
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    return content.hex() if isinstance(content, bytes) else content


def plain(name: str, message: Document) -> Document:
    """A decoded message in the form of a scenario."""
    fields = _fields(name)
    result: Document = {}
    for key, value in message.items():
        field, kind = fields[key]
        if field.key_type:
            result[key] = {k: _one_plain(kind, v) for k, v in value.items()}
        elif field.repeated:
            result[key] = [_one_plain(kind, item) for item in value]
        else:
            result[key] = _one_plain(kind, value)
    return result


def _one_plain(kind: str | None, value: Any) -> Any:
    if kind and kind in SCHEMA.enums:
        names = {number: key for key, number in ENUMS[kind.split(".")[-1]].items()}
        return names.get(value, value)
    if kind == VALUE:
        return plain_of(value)
    if kind:
        return plain(kind, value)
    return value.hex() if isinstance(value, bytes) else value


def difference(expected: Any, found: Any, at: str = "") -> str | None:
    """The first difference from the expectation of a scenario; None if there is none.

    Of a message only what is named must fit, since a field that is not there is its zero value;
    lists must fit whole. "$any" fits whatever is there.
    """
    if expected == "$any":
        return f"{at} is missing" if found is None else None
    if isinstance(expected, dict) and set(expected) == {"$any_order"}:
        # By id where the elements have one.
        wanted, there = (sorted(side, key=_order) for side in (expected["$any_order"], found or []))
        return difference(wanted, there, at)
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return None if found is None and not expected else f"{at} is {found!r}, not a message"
        for key, value in expected.items():
            wrong = difference(value, found.get(key), f"{at}.{key}" if at else key)
            if wrong:
                return wrong
        return None
    if isinstance(expected, list):
        there = found if found is not None else []
        if not isinstance(there, list) or len(there) != len(expected):
            return f"{at} is {_short(there)}, expected {_short(expected)}"
        for index, value in enumerate(expected):
            wrong = difference(value, there[index], f"{at}[{index}]")
            if wrong:
                return wrong
        return None
    if found is None and (expected in ("", 0, False, None) or _is_first_of_enum(expected)):
        return None
    if isinstance(expected, (bool, int, float)):
        # In Python, 1, 1.0 and True are equal, but not in the daemon.
        same = type(expected) is type(found) and expected == found
    else:
        same = expected == found
    return None if same else f"{at} is {_short(found)}, expected {_short(expected)}"


def _order(element: Any) -> str:
    """The key to sort an element by: its id, or the id inside it, as in a change's `updated`."""
    while isinstance(element, dict) and element:
        element = element["id"] if "id" in element else next(iter(element.values()))
    return str(element)


def _is_first_of_enum(name: Any) -> bool:
    return isinstance(name, str) and any(values.get(name) == 0 for values in ENUMS.values())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
