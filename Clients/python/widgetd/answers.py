"""Results of calls that are more than a widget or a number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Optional

from ._proto.v1 import admin_service_pb2, widget_service_pb2
from ._values import from_duration, from_timestamp
from .enums import ApplyAction
from .timelines import RefreshBudget
from .widgets import Widget


@dataclass(frozen=True)
class WidgetPage:
    """A page of list_widgets, in position order."""

    widgets: tuple[Widget, ...]
    #: Where the next page starts; "" on the last page.
    next_page_token: str
    #: The store's revision at the time of the call.
    revision: int


@dataclass(frozen=True)
class Updated:
    """The result of update_widget."""

    #: The widget after the change; None with omit_widget.
    widget: Optional[Widget]
    #: The widget's revision after the change.
    revision: int
    #: Whether anything changed.
    changed: bool


@dataclass(frozen=True)
class PresenceChanged:
    """The result of set_presence."""

    #: The changed widgets, in position order; at most the first 10,000.
    changed_ids: tuple[str, ...]
    #: The number of changed widgets, including those that the list omits.
    changed_count: int
    revision: int


@dataclass(frozen=True)
class Refreshed:
    """The result of refresh_widgets."""

    #: The number of widgets with a running provider, which is asked about them.
    asked_count: int
    #: The number of widgets without a running provider.
    unprovided_count: int
    #: The number of widgets that nobody is asked about, because the budget of their kind is used up.
    limited_count: int = 0
    #: What is left for the kinds of these widgets.
    budgets: tuple[RefreshBudget, ...] = ()

    @staticmethod
    def from_pb(message: widget_service_pb2.RefreshWidgetsResponse) -> Refreshed:
        return Refreshed(
            message.asked_count,
            message.unprovided_count,
            message.limited_count,
            tuple(RefreshBudget.from_pb(budget) for budget in message.budgets),
        )


@dataclass(frozen=True)
class Applied:
    """The result of apply_widgets."""

    #: (id, action): each declared widget in the declared order, then each removed one (at most the
    #: first 10,000).
    results: tuple[tuple[str, ApplyAction], ...]
    #: The number of removed widgets, including those that the list omits.
    deleted_count: int
    revision: int


@dataclass(frozen=True)
class Sent:
    """The result of an event."""

    sequence: int
    #: The store's revision when it was accepted.
    revision: int


@dataclass(frozen=True)
class Reloaded:
    """The result of reload, by names of settings."""

    applied: tuple[str, ...]
    needs_restart: tuple[str, ...]


@dataclass(frozen=True)
class Stats:
    """Counters, gauges and limits of the daemon."""

    version: str
    start_time: datetime
    uptime: timedelta
    store: str
    epoch: int
    revision: int
    compact_revision: int
    widgets: int
    state_bytes: int
    last_sequence: int
    connections: int
    subscriptions: int
    counters: dict[str, int]
    limits: dict[str, int]
    pid: int

    @staticmethod
    def from_pb(message: admin_service_pb2.GetStatsResponse) -> Stats:
        return Stats(
            version=message.version,
            start_time=from_timestamp(message.start_time),
            uptime=from_duration(message.uptime),
            store=message.store,
            epoch=message.epoch,
            revision=message.revision,
            compact_revision=message.compact_revision,
            widgets=message.widgets,
            state_bytes=message.state_bytes,
            last_sequence=message.last_sequence,
            connections=message.connections,
            subscriptions=message.subscriptions,
            counters={key: message.counters[key] for key in sorted(message.counters)},
            limits={key: message.limits[key] for key in sorted(message.limits)},
            pid=message.pid,
        )
