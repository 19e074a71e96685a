"""What the two clients share of gRPC: how a channel is set up, and what its errors mean."""

from __future__ import annotations

import math
from typing import Any, Iterable, Optional, Sequence, Union

import grpc
from google.protobuf.message import DecodeError, Message

from ._address import connect_failure
from .errors import (
    DETAILS_KEY,
    CallError,
    Code,
    ConnectionLost,
    DeadlineExceeded,
    ProtocolError,
    WidgetdError,
    call_error,
)
from .methods import Method, Response

Options = Sequence[tuple[str, Union[str, int]]]

#: For calls: gRPC connects again by itself, and soon, since the daemon is on this machine.
CHANNEL_OPTIONS: Options = (
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Answers stay below 4 MiB; this leaves room, and is a bound.
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.max_send_message_length", 16 << 20),
    # An error can name many fields, and its details travel in a trailer.
    ("grpc.max_metadata_size", 64 << 10),
    ("grpc.absolute_max_metadata_size", 128 << 10),
)
#: For streams: each attempt is a connection of its own, which nobody else's backoff holds up.
STREAM_OPTIONS: Options = (*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1))


def encode(request: Message) -> bytes:
    """The request's bytes. The same request has the same bytes, which `request_id` asks for."""
    return request.SerializeToString(deterministic=True)


def decode(method: Method[Any, Response], data: bytes) -> Response:
    try:
        return method.response.FromString(data)
    except DecodeError as error:
        raise ProtocolError(f"the answer to {method.name} cannot be decoded: {error}") from error


def seconds_left(timeout: Optional[float], default: Optional[float]) -> Optional[float]:
    """What gRPC wants: None for no deadline."""
    chosen = default if timeout is None else timeout
    if chosen is None or math.isinf(chosen) and chosen > 0:
        return None
    if math.isnan(chosen):
        raise ValueError("the timeout is no number")
    # Beyond some centuries gRPC overflows.
    return max(min(chosen, 1e9), -1e9)


def error_of(
    code: grpc.StatusCode,
    details: Optional[str],
    trailers: Optional[Iterable[tuple[str, Any]]],
    path: str,
    timeout: Optional[float] = None,
) -> CallError:
    """The exception for how a call ended."""
    number: int = code.value[0]
    for key, value in trailers or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return call_error(number, details or "", value)
    if number == Code.UNAVAILABLE:
        return connect_failure(path) or ConnectionLost(
            f"the connection to the daemon at {path} was lost ({details}); check what was done, or "
            "try again with a request id",
            code=Code.UNAVAILABLE,
        )
    if number == Code.DEADLINE_EXCEEDED and timeout is not None:
        return DeadlineExceeded(
            f"the daemon did not answer within {max(timeout, 0.0):g} s; check what was done, or "
            "wait longer",
            code=Code.DEADLINE_EXCEEDED,
        )
    return call_error(number, details or "", None)


#: How many seconds to wait before a call that met a lost connection is made again.
AGAIN = (0.0, 0.05, 0.2)
_READS = ("GetWidget", "ListWidgets", "GetKind", "ListKinds", "GetTheme", "GetStats", "Check",
          "RefreshWidgets")


def can_be_repeated(method: Method[Any, Any], request: Message) -> bool:
    """Whether a call can be made again when nobody knows if it was carried out.

    gRPC may learn that a connection is gone only when a call uses it: after each restart of the
    daemon. So calls that change nothing, and those with a request id, are made again.
    """
    return method.name in _READS or bool(getattr(request, "request_id", ""))


def closed() -> WidgetdError:
    return WidgetdError("the client was closed; make a new one")
