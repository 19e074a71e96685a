"""Finds the daemon's socket, and explains why it cannot be reached.

The order is that of widgetctl: the caller's path, $WIDGETD_SOCKET, the user's own daemon, the
system's daemon. A path from the first two is used even if no socket exists there.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Mapping, Optional, Union
from urllib.parse import quote

from .errors import ConnectionFailed, SocketNotFound

VARIABLE = "WIDGETD_SOCKET"
IN_RUNTIME_DIRECTORY = "widgetd/widgetd.sock"
OF_SYSTEM = "/run/widgetd/widgetd.sock"
PATH_BYTES_MAX = 103

_REASONS = {
    errno.ENOENT: "there is no such socket; is widgetd running, and is this its socket?",
    errno.ENOTDIR: "there is no such socket; is widgetd running, and is this its socket?",
    errno.ECONNREFUSED: "no program listens there: the daemon has ended, or this is not a socket; "
    "start widgetd",
    errno.EACCES: "permission denied; run as the daemon's user, or join the group that "
    "its --client-group names",
    errno.EPERM: "permission denied; run as the daemon's user, or join the group that "
    "its --client-group names",
    errno.EAGAIN: "the daemon has too many connections waiting; try again",
}


def socket_path(
    explicit: Union[str, os.PathLike[str], None] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> str:
    """The absolute path of the daemon's socket.

    `explicit`, else $WIDGETD_SOCKET, else $XDG_RUNTIME_DIR/widgetd/widgetd.sock, else
    /run/widgetd/widgetd.sock. Of the last two, the first that exists. A leading `unix:` or
    `unix://` is dropped. Raises SocketNotFound, or ConnectionFailed for a path that is too long.
    """
    variables = os.environ if environment is None else environment
    named = os.fspath(explicit) if explicit is not None else ""
    named = named or variables.get(VARIABLE, "")
    if named:
        for scheme in ("unix://", "unix:"):
            if named.startswith(scheme):
                named = named[len(scheme) :]
                break
        path = os.path.abspath(named)
        if len(os.fsencode(path)) > PATH_BYTES_MAX or "\0" in path:
            raise ConnectionFailed(
                f"cannot connect to the daemon at {path!r}: the path is too long for a socket "
                f"(at most {PATH_BYTES_MAX} bytes); use a shorter one",
                is_transient=False,
            )
        return path
    tried = []
    if variables.get("XDG_RUNTIME_DIR"):
        tried.append(os.path.join(variables["XDG_RUNTIME_DIR"], IN_RUNTIME_DIRECTORY))
    tried.append(OF_SYSTEM)
    for path in tried:
        if os.path.exists(path):
            return path
    raise SocketNotFound(tried)


def target(path: str) -> str:
    """The path as a gRPC address, which is a URI with escaped special characters."""
    return "unix:" + quote(os.fsencode(path))


def connect_failure(path: str) -> Optional[ConnectionFailed]:
    """The reason why a connection fails now; None if it succeeds.

    gRPC's messages about failed connections are for its developers, so this function connects.
    """
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.setblocking(False)
        probe.connect(path)
    except OSError as error:
        why = _REASONS.get(error.errno or 0, f"{error.strerror} (errno {error.errno})")
        return ConnectionFailed(
            f"cannot connect to the daemon at {path}: {why}",
            is_transient=error.errno not in (errno.EACCES, errno.EPERM),
        )
    finally:
        probe.close()
    return None
