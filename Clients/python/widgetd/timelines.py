"""Timelines and schedules: the content of widgets at each time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Sequence

from ._proto.v1 import kind_pb2, timeline_pb2, timeline_service_pb2
from ._values import (
    _text,
    from_duration,
    from_timestamp,
    from_values,
    to_duration,
    to_timestamp,
    to_values,
)

#: A zone's name without quotes. As an expression it is wrong: the only variable is `parameters`.
_BARE_ZONE = re.compile(r"(?!parameters$)[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_POLICIES = {"at-end": 1, "after": 2, "never": 3}


@dataclass(frozen=True)
class TimelineEntry:
    """An entry: current from its date until the date of the next one."""

    #: With a time zone.
    date: datetime
    #: The fields that the kind declares in `entry`.
    values: Mapping[str, Any] = field(default_factory=dict)
    #: The relevance beside other widgets, from 0 to 1,000,000.
    score: float = 0.0
    #: How long the score counts, from the date on. None: as long as the entry is current.
    duration: Optional[timedelta] = None

    def message_pb(self, field: str = "date") -> timeline_pb2.Entry:
        """The entry as a message. `field` names its date in errors."""
        return timeline_pb2.Entry(
            date=to_timestamp(self.date, field),
            values=to_values(self.values),
            score=self.score,
            duration=to_duration(self.duration) if self.duration is not None else None,
        )

    @staticmethod
    def from_pb(message: timeline_pb2.Entry) -> TimelineEntry:
        return TimelineEntry(
            from_timestamp(message.date),
            from_values(message.values),
            message.score,
            from_duration(message.duration) if message.HasField("duration") else None,
        )


@dataclass(frozen=True)
class Timeline:
    """The entries of a widget, and when its provider is asked for new ones."""

    entries: Sequence[TimelineEntry] = ()
    #: "at-end", "after" (at `refresh_time`) or "never".
    policy: str = "at-end"
    refresh_time: Optional[datetime] = None
    #: The widget is stale from this time on, if no new timeline comes before. None: never.
    stale_time: Optional[datetime] = None

    def message_pb(self) -> timeline_pb2.Timeline:
        if self.policy not in _POLICIES:
            raise ValueError(f"policy is one of {', '.join(_POLICIES)}, not {self.policy!r}")
        return timeline_pb2.Timeline(
            entries=[
                entry.message_pb(f"entries[{number}].date")
                for number, entry in enumerate(self.entries)
            ],
            policy=timeline_pb2.TimelinePolicy.Name(_POLICIES[self.policy]),
            refresh_time=_time(self.refresh_time, "refresh_time"),
            stale_time=_time(self.stale_time, "stale_time"),
        )


def _time(time: Optional[datetime], field: str) -> Any:
    return None if time is None else to_timestamp(time, field)


@dataclass(frozen=True)
class TimelineStatus:
    """The place of a widget in its timeline."""

    #: None before the first entry.
    current: Optional[TimelineEntry] = None
    #: The date of the next entry.
    next_time: Optional[datetime] = None
    #: When the provider is asked for a new timeline, or asked again after a failure. None if it is not.
    refresh_time: Optional[datetime] = None
    #: The widget is stale from this time on. None: never.
    stale_time: Optional[datetime] = None
    #: What is wrong with the kind's schedule for this widget; "" if nothing is.
    problem: str = ""
    #: The start of the problem. None if there is none.
    problem_since: Optional[datetime] = None

    @staticmethod
    def from_pb(message: timeline_pb2.TimelineStatus) -> TimelineStatus:
        def time(name: str) -> Optional[datetime]:
            return from_timestamp(getattr(message, name)) if message.HasField(name) else None

        has_current = message.HasField("current")
        return TimelineStatus(
            TimelineEntry.from_pb(message.current) if has_current else None,
            time("next_time"),
            time("refresh_time"),
            time("stale_time"),
            message.problem,
            time("problem_since"),
        )


@dataclass(frozen=True)
class TimelinePage:
    """The result of get_timeline."""

    #: The current entry, and the ones after it.
    entries: tuple[TimelineEntry, ...]
    #: Whether there are more entries.
    more: bool
    #: None if the widget has neither a timeline nor a schedule.
    status: Optional[TimelineStatus]
    #: Whether the kind's schedule makes the entries.
    scheduled: bool
    revision: int

    @staticmethod
    def from_pb(message: timeline_service_pb2.GetTimelineResponse) -> TimelinePage:
        has_status = message.HasField("status")
        return TimelinePage(
            tuple(TimelineEntry.from_pb(shown.entry) for shown in message.entries),
            message.more,
            TimelineStatus.from_pb(message.status) if has_status else None,
            message.scheduled,
            message.revision,
        )


@dataclass(frozen=True)
class Schedule:
    """Entries that the daemon makes by itself: exactly one of `every`, `cron` and `entries`."""

    #: One entry in each such period, at least 1 s.
    every: Optional[timedelta] = None
    #: Of `every`: where the periods begin, counted from midnight.
    offset: timedelta = timedelta()
    #: Minute, hour, day of the month, month, day of the week.
    cron: str = ""
    #: An expression that gives the name of a time zone: "'Europe/Berlin'" with quotes in the text, or
    #: "parameters.zone". "" for UTC.
    zone: str = ""
    #: An expression that gives a list of maps, each with a `date`.
    entries: str = ""

    def message_pb(self) -> timeline_pb2.Schedule:
        if _BARE_ZONE.fullmatch(self.zone):
            raise ValueError(
                f"zone is an expression, and {self.zone} is not one: write "
                f"""zone="'{self.zone}'" for the time zone with this name, or """
                'zone="parameters.NAME" for a parameter'
            )
        return timeline_pb2.Schedule(
            every=None if self.every is None else to_duration(self.every),
            offset=to_duration(self.offset) if self.offset else None,
            cron=_text(self.cron),
            zone=_text(self.zone),
            entries=_text(self.entries),
        )

    @staticmethod
    def from_pb(message: timeline_pb2.Schedule) -> Schedule:
        return Schedule(
            from_duration(message.every) if message.HasField("every") else None,
            from_duration(message.offset) if message.HasField("offset") else timedelta(),
            message.cron,
            message.zone,
            message.entries,
        )


@dataclass(frozen=True)
class RefreshBudget:
    """The remaining refreshes of the widgets of a kind."""

    kind: str
    #: The number of calls that are left now, and the maximum.
    remaining: int
    capacity: int
    #: The time at which one more is left; None if none is used.
    next_time: Optional[datetime] = None

    @staticmethod
    def from_pb(message: kind_pb2.RefreshBudget) -> RefreshBudget:
        next_time = from_timestamp(message.next_time) if message.HasField("next_time") else None
        return RefreshBudget(message.kind, message.remaining, message.capacity, next_time)


@dataclass(frozen=True)
class Recommendation:
    """A named set of parameters: an instance that most people want."""

    name: str
    #: For people; "" for the name.
    display_name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def message_pb(self) -> kind_pb2.Recommendation:
        return kind_pb2.Recommendation(
            name=_text(self.name),
            display_name=_text(self.display_name),
            parameters=to_values(self.parameters),
        )

    @staticmethod
    def from_pb(message: kind_pb2.Recommendation) -> Recommendation:
        return Recommendation(
            message.name, message.display_name, from_values(message.parameters)
        )
