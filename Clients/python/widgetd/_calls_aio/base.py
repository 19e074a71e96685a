"""Calls of any method."""

from __future__ import annotations

import asyncio
import time
from typing import Optional

from .._channel import AGAIN, can_be_repeated, decode, encode, seconds_left
from .._method import Method, Request, Response
from ..errors import ConnectionLost


class AsyncBaseCalls:
    """Any method, on the connection that a subclass has."""

    _path: str
    _timeout: Optional[float]

    async def _once(
        self, path: str, data: bytes, left: Optional[float], deadline: Optional[float]
    ) -> bytes:
        """Makes one call. `left` and `deadline` are in seconds; an error names `deadline`."""
        raise NotImplementedError

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout: Optional[float] = None,
    ) -> Response:
        """Makes a call with messages as they are: `client.call(methods.GET_WIDGET, …)`."""
        if method.is_stream:
            raise ValueError(f"{method.name} is a stream; use watch or watch_events")
        waits = AGAIN if can_be_repeated(method, request) else ()
        deadline = seconds_left(timeout, self._timeout)
        end = None if deadline is None else time.monotonic() + deadline
        data = encode(request)
        for wait in waits:
            left = None if end is None else end - time.monotonic()
            try:
                return decode(method, await self._once(method.path, data, left, deadline))
            except ConnectionLost:
                await asyncio.sleep(wait)
        left = None if end is None else end - time.monotonic()
        return decode(method, await self._once(method.path, data, left, deadline))
