"""The exceptions.

    WidgetdError
    ├── SocketNotFound              no daemon in any of the usual places
    ├── ProtocolError               the daemon broke the protocol
    └── CallError                   a call failed: code, reason, message, metadata, …
        ├── NotFound                one class for each canonical gRPC code
        │   └── WidgetNotFound      … and one for each common reason
        └── …

The daemon sends a google.rpc.Status in the trailer grpc-status-details-bin. Programs test the class,
`code` or `reason`, never the message. Reasons are stable, and new ones may be added.
"""

from __future__ import annotations

import enum
from typing import Iterable, Mapping, Optional, Type

from google.protobuf.message import DecodeError

from ._proto.rpc import error_details_pb2, status_pb2

DETAILS_KEY = "grpc-status-details-bin"
DOMAIN = "widgetd"


class Code(enum.IntEnum):
    """The canonical gRPC codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class WidgetdError(Exception):
    """Base class of all exceptions of this package, except those for wrong arguments."""


class SocketNotFound(WidgetdError):
    """No socket was found in any of the usual places."""

    def __init__(self, tried: Iterable[str]) -> None:
        #: The paths that were tried.
        self.tried = tuple(tried)
        super().__init__(
            f"cannot find the daemon's socket; tried {', '.join(self.tried)}. "
            "Start widgetd, or name its socket in $WIDGETD_SOCKET"
        )


class ProtocolError(WidgetdError):
    """The daemon sent a message that breaks the protocol or cannot be decoded."""


class CallError(WidgetdError):
    """A call or a stream failed.

    code       a canonical gRPC code
    reason     the stable reason of widgetd ("WIDGET_NOT_FOUND"); "" if the daemon gave none
    message    text for people: what happened and what to do next
    metadata   particulars by name: {"widget_id": "clock"}
    violations the wrong fields of the request: (field, description) pairs
    retry_delay  shortest wait before a retry in seconds; None if the daemon sent none
    status     the encoded google.rpc.Status; None if the daemon sent none, that is, if the
               connection or this client failed
    """

    def __init__(
        self,
        message: str,
        *,
        code: Code = Code.UNKNOWN,
        reason: str = "",
        metadata: Optional[Mapping[str, str]] = None,
        violations: Iterable[tuple[str, str]] = (),
        retry_delay: Optional[float] = None,
        status: Optional[bytes] = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message
        self.metadata: dict[str, str] = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_delay = retry_delay
        self.status = status
        super().__init__(message)

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        text = f"{self.message or 'the daemon refused the call'} ({self.code.name}{reason})"
        for field, description in self.violations:
            # The daemon's message has the first wrong field, or all of them.
            if f"{field}: {description}" not in self.message:
                text += f"; {field}: {description}"
        if self.retry_delay is not None:
            text += f"; try again in {self.retry_delay:g} s"
        return text


class Cancelled(CallError):
    """The call was cancelled."""


class UnknownError(CallError):
    """The daemon sent no canonical code."""


class InvalidArgument(CallError):
    """The request is wrong in any state; see `violations`."""


class DeadlineExceeded(CallError):
    """The answer did not come in time. The daemon may still have carried out the call."""


class NotFound(CallError):
    """The object that the request names does not exist."""


class WidgetNotFound(NotFound):
    """No widget has this id."""


class KindNotFound(NotFound):
    """No kind has this name."""


class BlobNotFound(NotFound):
    """No blob has this id, or it is another user's."""


class NodeNotFound(NotFound):
    """The widget has no node with this id now."""


class AlreadyExists(CallError):
    """The object that the request would create exists."""


class WidgetExists(AlreadyExists):
    """The id is taken."""


class KindClaimed(AlreadyExists):
    """The kind belongs to another provider or is built in: metadata has `kind` and `provider`."""


class PermissionDenied(CallError):
    """This user does not have the permission."""


class ResourceExhausted(CallError):
    """A limit is reached, or a message is too large."""


class QuotaExceeded(ResourceExhausted):
    """A limit is reached: metadata has `limit` and `maximum`."""


class FailedPrecondition(CallError):
    """The current state does not allow the call."""


class WidgetHidden(FailedPrecondition):
    """A hidden widget takes no events."""


class WidgetDisabled(FailedPrecondition):
    """A disabled widget takes no events."""


class NodeHidden(FailedPrecondition):
    """A hidden node, or a node in a hidden node, takes no events."""


class NodeDisabled(FailedPrecondition):
    """A disabled node, or a node in a disabled node, takes no events."""


class ActivityEnded(FailedPrecondition):
    """The activity has ended, so its state does not change: metadata has `widget_id`."""


class NotAnActivity(FailedPrecondition):
    """The widget is not an activity: metadata has `widget_id`."""


class ReducerFailed(FailedPrecondition):
    """The widget's kind cannot handle the event: metadata has `widget_id`, `event` and `place`."""


class EpochChanged(FailedPrecondition):
    """The resume token belongs to another epoch. A watch recovers by itself."""


class Aborted(CallError):
    """The call lost against a concurrent call."""


class EtagMismatch(Aborted):
    """The widget has changed since you read its etag."""


class OutOfRange(CallError):
    """A number or token is outside the range that the daemon keeps."""


class RevisionCompacted(OutOfRange):
    """The resume token is too old. A watch recovers by itself."""


class Unimplemented(CallError):
    """There is no such method; the daemon may be older than this client."""


class InternalError(CallError):
    """The daemon has a bug."""


class Unavailable(CallError):
    """The daemon cannot carry out the call now; a later retry can help."""


class ConnectionFailed(Unavailable):
    """The connection failed. Nothing was sent."""

    def __init__(self, message: str, *, is_transient: bool = True) -> None:
        super().__init__(message, code=Code.UNAVAILABLE)
        #: Whether a retry can help without another change.
        self.is_transient = is_transient

    def __str__(self) -> str:
        return self.message


class ConnectionLost(Unavailable):
    """The connection ended before the answer came. The daemon may or may not have carried out the
    call. With a request id, a retry is safe."""

    def __str__(self) -> str:
        return self.message


class Unresponsive(ConnectionLost):
    """The daemon keeps the connection but does not answer. It may still carry out the call later."""

    def __init__(self, path: str, answer_max: Optional[float] = None) -> None:
        within = "" if answer_max is None else f" within {answer_max:g} s"
        super().__init__(
            f"the daemon at {path} does not answer{within}: it hangs, is stopped, or is overloaded; "
            "continue or restart it",
            code=Code.UNAVAILABLE,
        )


class DataLoss(CallError):
    """Data is lost."""


class Unauthenticated(CallError):
    """The daemon does not know the caller."""


_BY_CODE: Mapping[Code, Type[CallError]] = {
    Code.CANCELLED: Cancelled,
    Code.UNKNOWN: UnknownError,
    Code.INVALID_ARGUMENT: InvalidArgument,
    Code.DEADLINE_EXCEEDED: DeadlineExceeded,
    Code.NOT_FOUND: NotFound,
    Code.ALREADY_EXISTS: AlreadyExists,
    Code.PERMISSION_DENIED: PermissionDenied,
    Code.RESOURCE_EXHAUSTED: ResourceExhausted,
    Code.FAILED_PRECONDITION: FailedPrecondition,
    Code.ABORTED: Aborted,
    Code.OUT_OF_RANGE: OutOfRange,
    Code.UNIMPLEMENTED: Unimplemented,
    Code.INTERNAL: InternalError,
    Code.UNAVAILABLE: Unavailable,
    Code.DATA_LOSS: DataLoss,
    Code.UNAUTHENTICATED: Unauthenticated,
}

_BY_REASON: Mapping[str, Type[CallError]] = {
    "WIDGET_NOT_FOUND": WidgetNotFound,
    "WIDGET_EXISTS": WidgetExists,
    "KIND_NOT_FOUND": KindNotFound,
    "BLOB_NOT_FOUND": BlobNotFound,
    "KIND_CLAIMED": KindClaimed,
    "QUOTA_EXCEEDED": QuotaExceeded,
    "WIDGET_HIDDEN": WidgetHidden,
    "WIDGET_DISABLED": WidgetDisabled,
    "NODE_NOT_FOUND": NodeNotFound,
    "NODE_HIDDEN": NodeHidden,
    "NODE_DISABLED": NodeDisabled,
    "REDUCER_FAILED": ReducerFailed,
    "EPOCH_CHANGED": EpochChanged,
    "ACTIVITY_ENDED": ActivityEnded,
    "NOT_AN_ACTIVITY": NotAnActivity,
    "ETAG_MISMATCH": EtagMismatch,
    "REVISION_COMPACTED": RevisionCompacted,
}


def call_error(code: int, message: str, status: Optional[bytes]) -> CallError:
    """The exception for a status from the wire.

    code     the status code of the call
    message  its message; the message in `status` is preferred, because trailers cannot hold all text
    status   the value of grpc-status-details-bin; None if there is none. Bytes that are not a Status
             are ignored.
    """
    known = Code(code) if code in Code._value2member_map_ else Code.UNKNOWN
    parsed = status_pb2.Status()
    if status is not None:
        try:
            parsed.ParseFromString(status)
        except DecodeError:
            status = None
    if status is None:
        return _BY_CODE.get(known, UnknownError)(message, code=known)
    reason, metadata = "", {}
    violations: list[tuple[str, str]] = []
    delay: Optional[float] = None
    for detail in parsed.details:
        name = detail.type_url.rpartition("/")[2]
        try:
            if name == "google.rpc.ErrorInfo":
                info = error_details_pb2.ErrorInfo.FromString(detail.value)
                if info.domain == DOMAIN:
                    reason, metadata = info.reason, dict(info.metadata)
            elif name == "google.rpc.BadRequest":
                bad = error_details_pb2.BadRequest.FromString(detail.value)
                violations += [(v.field, v.description) for v in bad.field_violations]
            elif name == "google.rpc.RetryInfo":
                wait = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
                delay = max(0.0, wait.seconds + wait.nanos / 1e9)
        except DecodeError:
            continue
    by_code = _BY_CODE.get(known, UnknownError)
    chosen = _BY_REASON.get(reason, by_code)
    return (chosen if issubclass(chosen, by_code) else by_code)(
        parsed.message or message,
        code=known,
        reason=reason,
        metadata=metadata,
        violations=violations,
        retry_delay=delay,
        status=status,
    )
