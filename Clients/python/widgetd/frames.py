"""The frames that a watch yields.

A watch of widgets yields, in this order: `Opened`; without a resume token one `Snapshot`; then
`Changes` and `Progress`. With events, `Events` and `Gap` come anywhere after `Opened`. With
include_theme, a `Theme` comes after `Opened` and at each change of the theme. With upcoming_entries,
`Upcoming` comes after the `Snapshot` and the `Changes` that it follows from. If the daemon sends a
frame in several parts, the watch yields it whole. So every `Snapshot` and every `Changes` is a state
that the daemon really had. `Disconnected` and `Reconnected` report the connection. `Reset` reports
that the watch could not resume: a new `Snapshot` follows.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property
from typing import Optional, Union

from ._proto.v1 import widget_service_pb2 as pb
from .errors import WidgetdError
from .widgets import Event, Transition, Widget
from .theme import Theme
from .upcoming import Upcoming


@dataclass(frozen=True)
class Opened:
    """The daemon opened the stream; also after a reconnection."""

    #: Names the stream in request_progress and unsubscribe.
    subscription_id: int
    #: The store's history: revisions and sequence numbers compare only within one.
    epoch: int
    #: The revision at which it was opened; 0 for a watch of events.
    revision: int
    #: Events after this one will be sent.
    last_sequence: int


@dataclass(frozen=True)
class Snapshot:
    """The whole state at exactly one revision. It replaces the earlier state."""

    revision: int
    #: Resumes the watch after this frame, also in another process.
    resume_token: bytes
    messages: tuple[pb.WatchWidgetsResponse, ...]

    @cached_property
    def widgets(self) -> tuple[Widget, ...]:
        """The widgets in any order; `Mirror` sorts them."""
        held: dict[str, Widget] = {}
        for message in self.messages:
            for widget in message.snapshot.widgets:
                held[widget.id] = Widget.from_pb(widget)
            for name in message.snapshot.removed_ids:
                held.pop(name, None)
        return tuple(held.values())


@dataclass(frozen=True)
class Added:
    """A widget is new in this watch, or replaced as a whole."""

    widget: Widget
    transition: Optional[Transition] = None


@dataclass(frozen=True)
class Changed:
    """A widget changed. `update` has the changes; `Mirror` applies it."""

    id: str
    update: pb.WidgetUpdated
    transition: Optional[Transition] = None


@dataclass(frozen=True)
class Removed:
    """A widget was removed or is no longer selected. Ignore ids that you have not seen."""

    id: str
    transition: Optional[Transition] = None


Change = Union[Added, Changed, Removed]


@dataclass(frozen=True)
class Changes:
    """All changes from one revision to another, conflated. If you apply `changes` in order to the
    state at from_revision, you have the state at to_revision."""

    from_revision: int
    to_revision: int
    resume_token: bytes
    message: pb.ChangeSet

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """A widget may appear more than once: the later one is applied after the earlier."""
        result: list[Change] = []
        for change in self.message.changes:
            kind = change.WhichOneof("change")
            if kind == "added":
                hint = _hint(change.added)
                result.append(Added(Widget.from_pb(change.added.widget), hint))
            elif kind == "updated":
                result.append(Changed(change.updated.id, change.updated, _hint(change.updated)))
            elif kind == "removed":
                result.append(Removed(change.removed.id, _hint(change.removed)))
        return tuple(result)


def _hint(
    change: Union[pb.WidgetAdded, pb.WidgetUpdated, pb.WidgetRemoved],
) -> Optional[Transition]:
    return Transition.from_pb(change.transition) if change.HasField("transition") else None


@dataclass(frozen=True)
class Progress:
    """All changes up to `revision` were sent, and all selected events up to `last_sequence`."""

    revision: int
    resume_token: bytes
    last_sequence: int


@dataclass(frozen=True)
class Events:
    """Events in order of their sequence numbers; none comes twice."""

    events: tuple[Event, ...]
    message: pb.EventBatch


@dataclass(frozen=True)
class Gap:
    """Events that this watch never gets: these sequence numbers may be missing."""

    first_sequence: int
    last_sequence: int


class ResetReason(enum.Enum):
    """The reason why a watch starts over."""

    #: The daemon no longer keeps the changes since then.
    COMPACTED = "compacted"
    #: The daemon has another store. You cannot compare its revisions and sequence numbers with
    #: earlier ones.
    EPOCH_CHANGED = "epochChanged"
    #: A frame does not fit the previous frames.
    INCONSISTENT = "inconsistent"


@dataclass(frozen=True)
class Reset:
    """The watch cannot resume. A snapshot follows (nothing in a watch of events)."""

    reason: ResetReason


@dataclass(frozen=True)
class Disconnected:
    """The connection was lost. The watch retries."""

    error: WidgetdError


@dataclass(frozen=True)
class Reconnected:
    """The connection is back."""


Frame = Union[
    Opened,
    Snapshot,
    Changes,
    Progress,
    Events,
    Gap,
    Theme,
    Upcoming,
    Reset,
    Disconnected,
    Reconnected,
]
EventFrame = Union[Opened, Events, Gap, Reset, Disconnected, Reconnected]
