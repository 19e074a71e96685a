"""Upcoming entries of widgets, which a watch gets in advance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Optional

from ._proto.v1 import timeline_pb2
from ._proto.v1 import widget_service_pb2 as pb
from .content import Content
from .timelines import TimelineEntry


@dataclass(frozen=True)
class ShownEntry:
    """One entry, and what the widget shows while it is current."""

    entry: TimelineEntry
    #: None if the watch takes no content.
    content: Optional[Content]

    @staticmethod
    def from_pb(message: timeline_pb2.ShownEntry) -> ShownEntry:
        content = Content.from_pb(message.content) if message.HasField("content") else None
        return ShownEntry(TimelineEntry.from_pb(message.entry), content)


@dataclass(frozen=True)
class UpcomingEntries:
    """The upcoming entries of one widget."""

    id: str
    #: The entries after the current one, by date.
    entries: tuple[ShownEntry, ...]
    #: Whether the widget has more entries after these.
    more: bool

    @property
    def next_date(self) -> Optional[datetime]:
        return self.entries[0].entry.date if self.entries else None


@dataclass(frozen=True)
class Upcoming:
    """Upcoming entries. Each of `widgets` replaces the earlier entries of its widget.

    A later `Snapshot` or `Changes` with a widget voids its entries. `Mirror.advance` shows them at
    their dates.
    """

    widgets: tuple[UpcomingEntries, ...]
    #: Whether the daemon has a fake clock, so that the dates do not match this machine's clock.
    fake_clock: bool = False

    @staticmethod
    def from_pb(message: pb.WatchUpcoming) -> Upcoming:
        return Upcoming(
            tuple(
                UpcomingEntries(
                    widget.id,
                    tuple(ShownEntry.from_pb(shown) for shown in widget.entries),
                    widget.more,
                )
                for widget in message.widgets
            ),
            message.fake_clock,
        )
