"""Watches of `client.Client`."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import Any, Deque, Generic, Optional, Type

import grpc

from ._address import target
from ._channel import STREAM_OPTIONS, error_of
from ._liveness import LivenessCheck, LivenessPolicy
from ._method import Method
from ._resume import F, Session, StartOver
from .errors import CallError, WidgetdError
from .frames import ResetReason


def error_of_call(error: grpc.RpcError, path: str, timeout: Optional[float] = None) -> CallError:
    call: Any = error  # gRPC raises the call itself.
    return error_of(call.code(), call.details(), call.trailing_metadata(), path, timeout)


class Watch(Generic[F]):
    """An iterator of frames that resumes after a lost connection.

    Nothing happens until it is iterated. It ends after `close`, or when somebody ended its stream
    with `unsubscribe`. Another thread may call `close`. The watch is also a context manager.
    """

    def __init__(
        self,
        path: str,
        method: Method[Any, Any],
        session: Session[F],
        liveness: Optional[LivenessPolicy] = LivenessPolicy(),
    ) -> None:
        self._path = path
        self._method = method
        self._session = session
        self._liveness = liveness
        self._pending: Deque[F] = deque()
        self._delay = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        # The channel and the stream are both None or neither is; guarded by the lock.
        self._channel: Optional[grpc.Channel] = None
        self._stream: Any = None
        self._check: Optional[LivenessCheck] = None

    @property
    def subscription_id(self) -> int:
        """Names the open stream in request_progress and unsubscribe; 0 before it was opened."""
        return self._session.subscription_id

    def __iter__(self) -> Watch[F]:
        return self

    def __next__(self) -> F:
        while not self._pending:
            if self._closed.is_set():
                raise StopIteration
            try:
                self._advance()
            except BaseException as error:
                if not isinstance(error, KeyboardInterrupt):
                    self.close()
                raise
        return self._pending.popleft()

    def __enter__(self) -> Watch[F]:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the watch. A thread that waits for the next frame gets the end of the iteration."""
        self._closed.set()
        self._drop()

    def start_over(self) -> None:
        """Begins again with a snapshot, after a Reset. For callers whose frames do not fit."""
        self._drop()
        self._pending.clear()
        self._fail(StartOver(ResetReason.INCONSISTENT))

    def _advance(self) -> None:
        if self._stream is None:
            if self._delay > 0 and self._closed.wait(self._delay):
                return
            self._delay = 0.0
            self._open()
        stream, check = self._stream, self._check
        if stream is None:
            return
        try:
            data = next(stream)
            if check is not None:
                check.heard()
            frames = self._session.receive(data)
        except StopIteration:
            self.close()
        except grpc.RpcError as error:
            if not self._closed.is_set():
                self._drop()
                if check is not None and check.is_lost:
                    self._fail(check.error(self._path))
                else:
                    self._fail(error_of_call(error, self._path))
        except StartOver as error:
            self._drop()
            self._fail(error)
        else:
            self._pending.extend(frames)

    def _open(self) -> None:
        request = self._session.open()
        with self._lock:
            if self._closed.is_set():
                return
            self._channel = grpc.insecure_channel(target(self._path), options=STREAM_OPTIONS)
            make: Any = self._channel.unary_stream(self._method.path, None, None)
            self._stream = make(request)
            if self._liveness is not None:
                self._check = LivenessCheck(self._liveness, self._channel, self._stream)

    def _drop(self) -> None:
        with self._lock:
            stream, self._stream = self._stream, None
            channel, self._channel = self._channel, None
            check, self._check = self._check, None
        if check is not None:
            check.end()
        if stream is not None:
            stream.cancel()
        if channel is not None:
            channel.close()

    def _fail(self, error: WidgetdError) -> None:
        try:
            frames, self._delay = self._session.fail(error)
        except WidgetdError as final:
            raise final from None
        self._pending.extend(frames)
