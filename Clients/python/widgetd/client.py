"""The synchronous client. `aio.AsyncClient` has the same methods.

A client has one connection. The first call connects, and a call after a lost connection reconnects.
Several threads can use a client. Each watch has a separate connection.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Optional, Type, Union

import grpc

from ._address import socket_path, target
from ._calls import Calls
from ._channel import CHANNEL_OPTIONS, closed
from ._watch import Watch, error_of_call

__all__ = ["Client", "Watch"]


class Client(Calls):
    """A client of the daemon.

    socket   the socket's path; else $WIDGETD_SOCKET, $XDG_RUNTIME_DIR/widgetd/widgetd.sock,
             /run/widgetd/widgetd.sock
    timeout  default timeout of calls in seconds; None: no timeout

    Every call takes a `timeout` in seconds (math.inf: no timeout), and raises a subclass of
    `CallError`. Calls that change something take a `request_id`. If you retry such a call with the
    same id within ten minutes, the daemon carries it out once. When the connection is lost, the
    client retries calls that only read, and calls with a request_id.

    Raises SocketNotFound if no socket is named and none exists.
    """

    def __init__(
        self, socket: Union[str, os.PathLike[str], None] = None, *, timeout: Optional[float] = 30.0
    ) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        self._channel = grpc.insecure_channel(target(self._path), options=CHANNEL_OPTIONS)
        self._is_closed = False

    @property
    def path(self) -> str:
        """The socket's path."""
        return self._path

    def close(self) -> None:
        """Ends the connection. Watches have separate connections, and go on."""
        self._is_closed = True
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _once(
        self, path: str, data: bytes, left: Optional[float], deadline: Optional[float]
    ) -> bytes:
        if self._is_closed:
            raise closed()
        make: Any = self._channel.unary_unary(path, None, None)
        try:
            answer: bytes = make(data, timeout=left)
        except grpc.RpcError as error:
            raise error_of_call(error, self._path, deadline) from None
        except ValueError:  # gRPC's message for a channel that another thread closed meanwhile.
            if self._is_closed:
                raise closed() from None
            raise
        return answer
