"""Values of the daemon as plain Python values, and back.

    null None    bool bool    int int    double float    string str    bytes bytes
    list list    map dict     timestamp datetime (UTC)   duration timedelta

datetime and timedelta have microseconds, the wire has nanoseconds: what is finer is cut off. An int
beyond 64 bits, a datetime without a time zone, and anything of another type is a ValueError or
TypeError before anything is sent.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Mapping, Optional, Union

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ._proto.v1 import value_pb2

_DEPTH_MAX = 56
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def to_value(thing: Any, depth: int = 0) -> value_pb2.Value:
    """A plain value as a message."""
    if depth > _DEPTH_MAX:
        raise ValueError(f"a value is nested deeper than {_DEPTH_MAX} levels")
    if thing is None:
        return value_pb2.Value(null_value=value_pb2.NULL_VALUE_UNSPECIFIED)
    if isinstance(thing, bool):
        return value_pb2.Value(bool_value=thing)
    if isinstance(thing, int):
        if not -(1 << 63) <= thing < 1 << 63:
            raise ValueError(f"{thing} does not fit in 64 bits; send it as text or as a float")
        return value_pb2.Value(int_value=int(thing))
    if isinstance(thing, float):
        return value_pb2.Value(double_value=thing)
    if isinstance(thing, str):
        return value_pb2.Value(string_value=_text(thing))
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return value_pb2.Value(bytes_value=bytes(thing))
    if isinstance(thing, datetime):
        return value_pb2.Value(timestamp_value=to_timestamp(thing))
    if isinstance(thing, timedelta):
        return value_pb2.Value(duration_value=to_duration(thing))
    if isinstance(thing, Mapping):
        entries = {_key(k): to_value(v, depth + 1) for k, v in thing.items()}
        return value_pb2.Value(map_value=value_pb2.MapValue(entries=entries))
    if isinstance(thing, (list, tuple)):
        values = [to_value(v, depth + 1) for v in thing]
        return value_pb2.Value(list_value=value_pb2.ListValue(values=values))
    raise TypeError(
        f"a widget cannot hold a {type(thing).__name__}; use None, bool, int, float, str, bytes, "
        "datetime, timedelta, a list or a dict"
    )


def to_values(things: Optional[Mapping[str, Any]]) -> dict[str, value_pb2.Value]:
    """A dict of plain values as the entries of a message's map."""
    if things is not None and not isinstance(things, Mapping):
        raise TypeError(f"data, parameters and payloads are dicts, not {things!r}")
    return {_key(key): to_value(thing) for key, thing in (things or {}).items()}


def from_value(message: value_pb2.Value) -> Any:
    """A message as a plain value. An unknown kind of a later daemon reads as None."""
    kind = message.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return None
    if kind == "list_value":
        return [from_value(item) for item in message.list_value.values]
    if kind == "map_value":
        return from_values(message.map_value.entries)
    if kind == "timestamp_value":
        return from_timestamp(message.timestamp_value)
    if kind == "duration_value":
        return from_duration(message.duration_value)
    return getattr(message, kind)


def from_values(messages: Mapping[str, value_pb2.Value]) -> dict[str, Any]:
    """A message's map as a dict, in order of the keys."""
    return {key: from_value(messages[key]) for key in sorted(messages)}


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not text; write {str(key)!r}")
    return _text(key)


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not text; ids, names and tokens are text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!r} cannot be sent: it is not valid Unicode text") from error
    return text


def to_timestamp(time: datetime, field: str = "a time") -> Timestamp:
    """A time as a message. `field` names it in errors."""
    if not isinstance(time, datetime):
        raise TypeError(
            f"{field} is a datetime with a time zone, such as datetime.now(timezone.utc), "
            f"not {time!r}"
        )
    if time.tzinfo is None:
        raise ValueError(
            f"{field} {time!r} has no time zone; use datetime.now(timezone.utc), or "
            ".replace(tzinfo=timezone.utc) for a time in UTC"
        )
    micros = (time - _EPOCH) // _MICROSECOND
    return Timestamp(seconds=micros // 10**6, nanos=micros % 10**6 * 1000)


def from_timestamp(message: Timestamp) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:  # Outside the possible years; a daemon does not send it.
        bound = datetime.max if message.seconds > 0 else datetime.min
        return bound.replace(tzinfo=timezone.utc)


def to_duration(span: timedelta) -> Duration:
    micros = span // _MICROSECOND
    whole, part = divmod(abs(micros), 10**6)
    sign = -1 if micros < 0 else 1
    return Duration(seconds=sign * whole, nanos=sign * part * 1000)


def from_duration(message: Duration) -> timedelta:
    micros = abs(message.nanos) // 1000 * (-1 if message.nanos < 0 else 1)
    try:
        return timedelta(seconds=message.seconds, microseconds=micros)
    except OverflowError:
        return timedelta.max if message.seconds > 0 else timedelta.min


def seconds(length: Union[float, timedelta]) -> timedelta:
    """A duration from seconds or a timedelta."""
    if not isinstance(length, (int, float, timedelta)):
        raise TypeError(f"{length!r} is not a length of time; use seconds or a timedelta")
    return length if isinstance(length, timedelta) else timedelta(seconds=length)
