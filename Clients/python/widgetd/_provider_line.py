"""One connection of a provider: frames out and in, and errors as exceptions."""

from __future__ import annotations

import queue
from typing import Any, Iterator, Optional

import grpc

from . import methods
from ._address import target
from ._channel import STREAM_OPTIONS, encode, error_of
from ._liveness import LivenessCheck, LivenessPolicy
from ._proto.rpc import error_details_pb2, status_pb2
from ._proto.v1 import provider_service_pb2 as pb
from .errors import DOMAIN, CallError, call_error


class Line:
    """One connection: its queue of frames, and the call to end it."""

    def __init__(
        self,
        path: str,
        opening: pb.ProvideRequest,
        renewal: float,
        liveness: Optional[LivenessPolicy],
    ) -> None:
        self.renewal = renewal
        self._path = path
        self._outgoing: queue.SimpleQueue[Optional[pb.ProvideRequest]] = queue.SimpleQueue()
        self._outgoing.put(opening)
        self._channel = grpc.insecure_channel(target(path), options=STREAM_OPTIONS)
        make: Any = self._channel.stream_stream(methods.PROVIDE.path, None, None)
        self.incoming: Any = make(self._frames())
        self._check: Optional[LivenessCheck] = None
        if liveness is not None:
            self._check = LivenessCheck(liveness, self._channel, self.incoming)

    def send(self, frame: pb.ProvideRequest) -> None:
        self._outgoing.put(frame)

    def heard(self) -> None:
        """Takes a received frame."""
        if self._check is not None:
            self._check.heard()

    def failure(self, error: grpc.RpcError) -> CallError:
        """The reason for the end of the connection."""
        if self._check is not None and self._check.is_lost:
            return self._check.error(self._path)
        call: Any = error
        return error_of(call.code(), call.details(), call.trailing_metadata(), self._path)

    def close(self) -> None:
        if self._check is not None:
            self._check.end()
        self._outgoing.put(None)
        self.incoming.cancel()
        self._channel.close()

    def _frames(self) -> Iterator[bytes]:
        while True:
            frame: Optional[pb.ProvideRequest]
            try:
                frame = self._outgoing.get(timeout=self.renewal)
            except queue.Empty:
                frame = pb.ProvideRequest(keep_alive=pb.ProvideKeepAlive())
            if frame is None:
                return
            yield encode(frame)


def _status(error: pb.ProvideError) -> bytes:
    """An error in the form of a call's trailer."""
    status = status_pb2.Status(code=error.code, message=error.message)
    info = error_details_pb2.ErrorInfo(
        reason=error.reason, domain=DOMAIN, metadata=dict(error.metadata)
    )
    status.details.add(
        type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString()
    )
    if error.field:
        bad = error_details_pb2.BadRequest()
        words = error.message[len(error.field) + 2 :]
        bad.field_violations.add(
            field=error.field,
            description=words if error.message.startswith(error.field + ": ") else error.message,
        )
        status.details.add(
            type_url="type.googleapis.com/google.rpc.BadRequest", value=bad.SerializeToString()
        )
    if error.HasField("retry_delay"):
        wait = error_details_pb2.RetryInfo(retry_delay=error.retry_delay)
        status.details.add(
            type_url="type.googleapis.com/google.rpc.RetryInfo", value=wait.SerializeToString()
        )
    return status.SerializeToString()


def error_in(error: pb.ProvideError) -> CallError:
    return call_error(error.code, error.message, _status(error))
