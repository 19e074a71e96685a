"""Calls for the daemon itself."""

from __future__ import annotations

from datetime import datetime
from typing import Optional, Union

from .. import methods
from .._proto.health import health_pb2
from .._proto.v1 import admin_service_pb2
from .._values import from_timestamp, _text, to_timestamp
from ..answers import Reloaded, Stats
from ..enums import Health, LogLevel, _number
from .base import AsyncBaseCalls


class AsyncDaemonCalls(AsyncBaseCalls):
    """The daemon itself."""

    async def get_stats(self, *, timeout: Optional[float] = None) -> Stats:
        """Counters, gauges and the limits in force."""
        request = admin_service_pb2.GetStatsRequest()
        return Stats.from_pb(await self.call(methods.GET_STATS, request, timeout=timeout))

    async def reload(self, *, timeout: Optional[float] = None) -> Reloaded:
        """Makes the daemon reload its configuration."""
        request = admin_service_pb2.ReloadRequest()
        answer = await self.call(methods.RELOAD, request, timeout=timeout)
        return Reloaded(tuple(answer.applied), tuple(answer.needs_restart))

    async def set_log_level(
        self, level: Union[LogLevel, str], *, timeout: Optional[float] = None
    ) -> LogLevel:
        """Changes the log level until the next reload or restart; returns the old level."""
        request = admin_service_pb2.SetLogLevelRequest(level=_number(LogLevel.of(level)))
        answer = await self.call(methods.SET_LOG_LEVEL, request, timeout=timeout)
        return LogLevel.read(answer.previous)

    async def check_health(self, service: str = "", *, timeout: Optional[float] = None) -> Health:
        """Whether the daemon, or one of its services, serves."""
        request = health_pb2.HealthCheckRequest(service=_text(service))
        answer = await self.call(methods.CHECK_HEALTH, request, timeout=timeout)
        return Health.read(answer.status)

    async def set_time(
        self, time: Optional[datetime] = None, *, timeout: Optional[float] = None
    ) -> datetime:
        """The daemon's time; with `time`, moves the clock of a daemon with `--clock fake` first."""
        target = None if time is None else to_timestamp(time, "time")
        request = admin_service_pb2.SetTimeRequest(time=target)
        answer = await self.call(methods.SET_TIME, request, timeout=timeout)
        return from_timestamp(answer.time)
