"""The client for asyncio. It has the methods of `client.Client`, with `await`.

If the waiting task is cancelled, the call is cancelled too. A client belongs to the event loop that
first used it.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any, Optional, Type, Union

import grpc.aio

from ._address import socket_path, target
from ._calls_aio import AsyncCalls
from ._channel import CHANNEL_OPTIONS, closed
from ._watch_aio import AsyncWatch, error_of_call, is_cancelled

__all__ = ["AsyncClient", "AsyncWatch"]


class AsyncClient(AsyncCalls):
    """A client of the daemon.

    socket   the socket's path; else $WIDGETD_SOCKET, $XDG_RUNTIME_DIR/widgetd/widgetd.sock,
             /run/widgetd/widgetd.sock
    timeout  default timeout of calls in seconds; None: no timeout

    Use it within one event loop. Every call takes a `timeout` in seconds (math.inf: no timeout),
    and raises a subclass of `CallError`. Calls that change something take a `request_id`. If you
    retry such a call with the same id within ten minutes, the daemon carries it out once. When the
    connection is lost, the client retries calls that only read, and calls with a request_id.

    Raises SocketNotFound if no socket is named and none exists.
    """

    def __init__(
        self, socket: Union[str, os.PathLike[str], None] = None, *, timeout: Optional[float] = 30.0
    ) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        # The first call makes the channel, because the channel belongs to the caller's event loop.
        self._channel: Optional[grpc.aio.Channel] = None
        self._is_closed = False

    @property
    def path(self) -> str:
        """The socket's path."""
        return self._path

    async def close(self) -> None:
        """Ends the connection. Watches have separate connections, and go on."""
        self._is_closed = True
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def _once(
        self, path: str, data: bytes, left: Optional[float], deadline: Optional[float]
    ) -> bytes:
        if self._is_closed:
            raise closed()
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(target(self._path), options=CHANNEL_OPTIONS)
        make: Any = self._channel.unary_unary(path, None, None)
        try:
            answer: bytes = await make(data, timeout=left)
        except grpc.aio.AioRpcError as error:
            raise error_of_call(error, self._path, deadline) from None
        except (asyncio.CancelledError, grpc.aio.UsageError):
            # A channel that another task closed cancels its calls. That is not this task's end.
            if self._is_closed and not is_cancelled():
                raise closed() from None
            raise
        return answer
