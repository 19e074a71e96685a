"""The calls of the clients, by service.

scripts/generate makes `_calls`, the calls of `client.Client`, from this package. Edit this one.
"""

from .catalog import AsyncCatalogCalls
from .daemon import AsyncDaemonCalls
from .timelines import AsyncTimelineCalls
from .watches import AsyncWatchCalls
from .widgets import AsyncWidgetCalls

__all__ = ["AsyncCalls"]


class AsyncCalls(
    AsyncWidgetCalls, AsyncTimelineCalls, AsyncCatalogCalls, AsyncWatchCalls, AsyncDaemonCalls
):
    """Every method of the daemon, on the connection that a subclass has."""
