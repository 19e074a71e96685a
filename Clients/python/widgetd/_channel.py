"""gRPC for both clients: the options of channels, and the conversion of errors."""

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
    Unresponsive,
    WidgetdError,
    call_error,
)
from ._method import Method, Response

Options = Sequence[tuple[str, Union[str, int]]]

#: For calls: gRPC reconnects by itself, after a short time, because the daemon is on this machine.
CHANNEL_OPTIONS: Options = (
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Answers are below 4 MiB. This bound leaves room.
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.max_send_message_length", 16 << 20),
    # An error can name many fields, and its details travel in a trailer.
    ("grpc.max_metadata_size", 64 << 10),
    ("grpc.absolute_max_metadata_size", 128 << 10),
)
#: For streams: each attempt has a separate connection, so the backoff of other calls cannot delay it.
STREAM_OPTIONS: Options = (*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1))


def encode(request: Message) -> bytes:
    """The request's bytes. The same request has the same bytes, because `request_id` needs that."""
    return request.SerializeToString(deterministic=True)


def decode(method: Method[Any, Response], data: bytes) -> Response:
    try:
        return method.response.FromString(data)
    except DecodeError as error:
        raise ProtocolError(f"the answer to {method.name} cannot be decoded: {error}") from error


def seconds_left(timeout: Optional[float], default: Optional[float]) -> Optional[float]:
    """The timeout for gRPC; None for no deadline."""
    chosen = default if timeout is None else timeout
    if chosen is not None and not isinstance(chosen, (int, float)):
        raise TypeError(f"the timeout is {chosen!r}; use seconds, or math.inf for no timeout")
    if chosen is None or math.isinf(chosen) and chosen > 0:
        return None
    if math.isnan(chosen):
        raise ValueError("the timeout is not a number")
    # gRPC overflows after some centuries.
    return max(min(chosen, 1e9), -1e9)


def error_of(
    code: grpc.StatusCode,
    details: Optional[str],
    trailers: Optional[Iterable[tuple[str, Any]]],
    path: str,
    timeout: Optional[float] = None,
) -> CallError:
    """The exception for the end of a call."""
    number: int = code.value[0]
    for key, value in trailers or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return call_error(number, details or "", value)
    if number == Code.UNAVAILABLE:
        if "SETTINGS" in (details or ""):
            # The socket accepts connections, but the daemon sends nothing.
            return connect_failure(path) or Unresponsive(path)
        return connect_failure(path) or ConnectionLost(
            f"the connection to the daemon at {path} was lost ({details}); try again. If it "
            "was a change, it may have been made already; with a request id, it is made once",
            code=Code.UNAVAILABLE,
        )
    if number == Code.DEADLINE_EXCEEDED and timeout is not None:
        return DeadlineExceeded(
            f"the daemon at {path} did not answer within {max(timeout, 0.0):g} s; allow more time "
            "with `timeout`, or see `widgetctl doctor`. If it was a change, it may still be made",
            code=Code.DEADLINE_EXCEEDED,
        )
    return call_error(number, details or "", None)


#: Seconds before the retry of a call whose connection was lost.
AGAIN = (0.0, 0.05, 0.2)


def can_be_repeated(method: Method[Any, Any], request: Message) -> bool:
    """Whether a retry is safe when nobody knows if the call was carried out.

    After a restart of the daemon, gRPC may notice the lost connection only at the next call. So the
    client retries calls of repeatable methods, and calls with a request id.
    """
    return method.is_repeatable or bool(getattr(request, "request_id", ""))


def closed() -> WidgetdError:
    return WidgetdError("the client was closed; make a new one")
