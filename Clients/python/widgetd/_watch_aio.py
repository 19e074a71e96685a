"""Watches of `aio.AsyncClient`."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from types import TracebackType
from typing import Any, Deque, Generic, Optional, Type

import grpc.aio

from ._address import target
from ._channel import STREAM_OPTIONS, error_of
from ._liveness import AsyncLivenessCheck, LivenessPolicy
from ._method import Method
from ._resume import F, Session, StartOver
from .errors import CallError, WidgetdError
from .frames import ResetReason


def is_cancelled() -> bool:
    """Whether this task was cancelled, if Python reports it (from 3.11 on)."""
    task = asyncio.current_task()
    return sys.version_info < (3, 11) or (task is not None and task.cancelling() > 0)


def is_known_as_cancelled() -> bool:
    """Whether Python says that this task was cancelled."""
    return sys.version_info >= (3, 11) and is_cancelled()


def error_of_call(error: grpc.aio.AioRpcError, path: str, timeout: Optional[float] = None) -> CallError:
    trailers: Any = error.trailing_metadata()
    return error_of(error.code(), error.details(), trailers, path, timeout)


class AsyncWatch(Generic[F]):
    """An asynchronous iterator of frames that resumes after a lost connection.

    Nothing happens until it is iterated. Only one task may iterate it. It ends after `close`, or
    when somebody ended its stream with `unsubscribe`. It is also an asynchronous context manager.
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
        self._is_closed = False
        self._wake: Optional[asyncio.Event] = None
        self._channel: Optional[grpc.aio.Channel] = None
        self._stream: Any = None
        self._check: Optional[AsyncLivenessCheck] = None

    @property
    def subscription_id(self) -> int:
        """Names the open stream in request_progress and unsubscribe; 0 before it was opened."""
        return self._session.subscription_id

    def __aiter__(self) -> AsyncWatch[F]:
        return self

    async def __anext__(self) -> F:
        while not self._pending:
            if self._is_closed:
                raise StopAsyncIteration
            try:
                await self._advance()
            except BaseException:
                await self.close()
                raise
        return self._pending.popleft()

    async def __aenter__(self) -> AsyncWatch[F]:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the watch. A task that waits for the next frame gets the end of the iteration."""
        self._is_closed = True
        if self._wake is not None:
            self._wake.set()
        await self._drop()

    async def start_over(self) -> None:
        """Begins again with a snapshot, after a Reset. For callers whose frames do not fit."""
        await self._drop()
        self._pending.clear()
        self._fail(StartOver(ResetReason.INCONSISTENT))

    async def _advance(self) -> None:
        if self._stream is None:
            if self._delay > 0:
                self._wake = asyncio.Event()
                try:
                    await asyncio.wait_for(self._wake.wait(), self._delay)
                    return
                except asyncio.TimeoutError:
                    pass
            self._delay = 0.0
            self._channel = grpc.aio.insecure_channel(target(self._path), options=STREAM_OPTIONS)
            make: Any = self._channel.unary_stream(self._method.path, None, None)
            self._stream = make(self._session.open())
            if self._liveness is not None:
                self._check = AsyncLivenessCheck(self._liveness, self._channel, self._stream)
        check = self._check
        try:
            data = await self._stream.read()
            if data is grpc.aio.EOF:
                await self.close()
                return
            if check is not None:
                check.heard()
            self._pending.extend(self._session.receive(data))
        except grpc.aio.AioRpcError as error:
            if not self._is_closed:
                await self._drop()
                self._fail(error_of_call(error, self._path))
        except (asyncio.CancelledError, grpc.aio.UsageError):
            # `close` by another task cancels the stream, and so does the check. That is not this
            # task's end. Before Python 3.11, a loss by the check hides a cancellation.
            is_lost = check is not None and check.is_lost and not self._is_closed
            if check is not None and is_lost and not is_known_as_cancelled():
                await self._drop()
                self._fail(check.error(self._path))
            elif not self._is_closed or is_cancelled():
                raise
        except StartOver as error:
            await self._drop()
            self._fail(error)

    async def _drop(self) -> None:
        stream, self._stream = self._stream, None
        channel, self._channel = self._channel, None
        check, self._check = self._check, None
        if check is not None:
            check.end()
        if stream is not None:
            stream.cancel()
        if channel is not None:
            await channel.close()

    def _fail(self, error: WidgetdError) -> None:
        try:
            frames, self._delay = self._session.fail(error)
        except WidgetdError as final:
            raise final from None
        self._pending.extend(frames)
