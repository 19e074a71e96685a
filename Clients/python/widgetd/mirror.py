"""A local copy of the widgets of a watch.

`Mirror.apply` takes the frames of a watch, in order. The visible state is always the daemon's state
at exactly one revision. A frame that does not fit changes nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Iterator, Mapping, Optional

from ._nodes import ContentDifference
from ._proto.v1 import widget_service_pb2 as pb
from .errors import WidgetdError
from .frames import (
    Added,
    Change,
    Changed,
    Changes,
    Disconnected,
    Frame,
    Opened,
    Progress,
    Reconnected,
    Removed,
    Snapshot,
)
from .content import Content
from .enums import Family, PresenceState
from .widgets import Transition, Widget, _error
from ._values import _EPOCH, from_value
from .activities import Activity
from .timelines import TimelineStatus
from .upcoming import Upcoming, UpcomingEntries


class Inconsistent(WidgetdError):
    """A frame does not fit the previous frames. The mirror is unchanged. Watch again without a
    resume token; `follow` does so by itself."""


@dataclass(frozen=True)
class Difference:
    """The changes that became visible."""

    #: Ids of widgets that appeared, in display order.
    added: tuple[str, ...] = ()
    #: Ids of widgets that changed, in display order.
    updated: tuple[str, ...] = ()
    #: Removed widgets with their last state, in the order they were shown.
    removed: tuple[Widget, ...] = ()
    #: Hints for the animation, for widgets that have one.
    transitions: Mapping[str, Transition] = dataclasses.field(default_factory=dict)
    #: The nodes that changed, for each widget in `updated` with another content.
    contents: Mapping[str, ContentDifference] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)


class Mirror:
    """The widgets of a watch, by id and in display order.

    Iterating gives the widgets by position; `mirror["clock"]`, `"clock" in mirror` and
    `mirror.get("clock")` look one up; `len(mirror)` counts. Widget objects never change, so you can
    keep them for comparisons.
    """

    def __init__(self) -> None:
        self._widgets: dict[str, Widget] = {}
        self._ordered: Optional[tuple[Widget, ...]] = ()
        #: Whether a state is visible: False until the first snapshot.
        self.is_synced = False
        #: Whether the stream is open.
        self.is_connected = False
        #: The revision of the visible state.
        self.revision = 0
        #: The store's history: revisions compare only within one.
        self.epoch = 0
        #: Resumes a watch with the same selector and fields after the visible state.
        self.resume_token = b""
        #: The changes of the last `apply` that showed something.
        self.difference = Difference()
        self._upcoming: dict[str, UpcomingEntries] = {}
        self._fake_clock = False
        # The daemon's last state of widgets that `advance` has changed since.
        self._sent: dict[str, Widget] = {}

    def __iter__(self) -> Iterator[Widget]:
        return iter(self.widgets)

    def __len__(self) -> int:
        return len(self._widgets)

    def __contains__(self, id: object) -> bool:
        return id in self._widgets

    def __getitem__(self, id: str) -> Widget:
        return self._widgets[id]

    def get(self, id: str) -> Optional[Widget]:
        """The widget; None if there is none."""
        return self._widgets.get(id)

    @property
    def widgets(self) -> tuple[Widget, ...]:
        """The widgets in display order."""
        if self._ordered is None:
            self._ordered = tuple(sorted(self._widgets.values(), key=_place))
        return self._ordered

    def apply(self, frame: Frame) -> Optional[Difference]:
        """Takes the watch's next frame.

        Returns the visible changes, or None if this frame shows nothing (it may still change
        `revision`). Raises Inconsistent.
        """
        if isinstance(frame, Snapshot):
            held = {widget.id: widget for widget in frame.widgets}
            self._upcoming, self._sent = {}, {}
            difference = self._show(held, set(held) | set(self._widgets), {}, {})
            self.is_synced = True
            self.revision, self.resume_token = frame.revision, frame.resume_token
            return difference
        if isinstance(frame, Changes):
            return self._change(frame)
        if isinstance(frame, Upcoming):
            self._fake_clock = frame.fake_clock
            self._upcoming.update((widget.id, widget) for widget in frame.widgets)
        elif isinstance(frame, Progress) and self.is_synced:
            self.revision = max(self.revision, frame.revision)
            self.resume_token = frame.resume_token or self.resume_token
        elif isinstance(frame, Opened):
            self.epoch, self.is_connected = frame.epoch, True
        elif isinstance(frame, Disconnected):
            self.is_connected = False
        elif isinstance(frame, Reconnected):
            self.is_connected = True
        return None

    @property
    def next_date(self) -> Optional[datetime]:
        """The time of the next `advance`. None if the daemon has sent no upcoming entries."""
        if self._fake_clock:
            return None
        dates = [widget.next_date for widget in self._upcoming.values()]
        return min((date for date in dates if date is not None), default=None)

    def advance(self, now: datetime) -> Optional[Difference]:
        """Shows the entries whose date is there, also without a connection.

        `now` has a time zone. Returns the visible changes; None if there are none. Needs a watch with
        upcoming_entries.
        """
        due = self.next_date
        if due is None or due > now:
            return None
        held = dict(self._widgets)
        for name, upcoming in list(self._upcoming.items()):
            passed = [shown for shown in upcoming.entries if shown.entry.date <= now]
            if not passed or name not in held:
                continue
            left = upcoming.entries[len(passed) :]
            self._upcoming[name] = UpcomingEntries(name, left, upcoming.more)
            widget, shown = held[name], passed[-1]
            self._sent.setdefault(name, widget)
            timeline = dataclasses.replace(
                widget.timeline or TimelineStatus(),
                current=shown.entry,
                next_time=self._upcoming[name].next_date,
            )
            content = widget.content if shown.content is None else shown.content
            held[name] = dataclasses.replace(widget, content=content, timeline=timeline)
        return self._show(held, set(held), {}, {}) or None

    def _change(self, frame: Changes) -> Difference:
        if not self.is_synced:
            raise Inconsistent("changes came before a snapshot")
        if frame.from_revision < self.revision:
            raise Inconsistent(
                f"changes after revision {frame.from_revision} came at revision {self.revision}"
            )
        held = dict(self._widgets)
        touched: set[str] = set()
        hints: dict[str, Optional[Transition]] = {}
        # The nodes of widgets with one change. The contents of other widgets are compared.
        contents: dict[str, Optional[ContentDifference]] = {}
        flipped = dict(self._sent)
        for change in frame.changes:
            name = _changed_id(change)
            is_flipped = name in flipped
            if is_flipped:
                held[name] = flipped.pop(name)
            name, nodes = _take(held, change)
            contents[name] = None if name in touched or is_flipped else nodes
            touched.add(name)
            # An update without a hint keeps the hint of the change that it adds to.
            if change.transition is not None or not isinstance(change, Changed):
                hints[name] = change.transition
        difference = self._show(held, touched, hints, contents)
        for name in touched:
            self._sent.pop(name, None)
            self._upcoming.pop(name, None)
        self.revision, self.resume_token = frame.to_revision, frame.resume_token
        return difference

    def _show(
        self,
        held: dict[str, Widget],
        touched: set[str],
        hints: dict[str, Optional[Transition]],
        contents: dict[str, Optional[ContentDifference]],
    ) -> Difference:
        before = self._widgets
        added = [held[name] for name in touched if name in held and name not in before]
        updated = [
            held[name]
            for name in touched
            if name in held and name in before and held[name] != before[name]
        ]
        removed = [before[name] for name in touched if name in before and name not in held]
        nodes = {}
        for widget in updated:
            known = contents.get(widget.id)
            if known is None:
                known = Content.difference(before[widget.id].content, widget.content)
            nodes[widget.id] = known
        self._widgets = held
        self._ordered = None
        self.difference = Difference(
            tuple(widget.id for widget in sorted(added, key=_place)),
            tuple(widget.id for widget in sorted(updated, key=_place)),
            tuple(sorted(removed, key=_place)),
            {
                name: hint
                for name, hint in hints.items()
                if hint is not None and (name in held or name in before)
            },
            {name: changes for name, changes in nodes.items() if changes},
        )
        return self.difference


def _place(widget: Widget) -> tuple[int, str]:
    return widget.position, widget.id


def _changed_id(change: Change) -> str:
    return change.widget.id if isinstance(change, Added) else change.id


def _take(held: dict[str, Widget], change: Change) -> tuple[str, Optional[ContentDifference]]:
    """Applies the change. The nodes that changed are None if the contents are to be compared."""
    if isinstance(change, Added):
        held[change.widget.id] = change.widget
        return change.widget.id, None
    if isinstance(change, Removed):
        held.pop(change.id, None)
        return change.id, None
    if change.id not in held:
        raise Inconsistent(f"the widget {change.id} changed, but the mirror does not have it")
    held[change.id], nodes = updated(held[change.id], change.update)
    return change.id, nodes


def updated(widget: Widget, update: pb.WidgetUpdated) -> tuple[Widget, ContentDifference]:
    """The widget after the update, and the nodes of its content that differ. Fields that the update
    does not name stay."""
    new: dict[str, Any] = {"revision": update.revision}
    for name in ("data", "parameters"):
        set_, unset = getattr(update, f"set_{name}"), getattr(update, f"unset_{name}")
        if set_ or unset:
            entries = dict(getattr(widget, name))
            entries.update((key, from_value(set_[key])) for key in set_)
            for key in unset:
                entries.pop(key, None)
            new[name] = {key: entries[key] for key in sorted(entries)}
    if update.HasField("labels"):
        new["labels"] = {key: update.labels.labels[key] for key in sorted(update.labels.labels)}
    if update.HasField("presence"):
        new["visible"], new["enabled"] = update.presence.visible, update.presence.enabled
        new["state"] = PresenceState.read(update.presence.state)
    for name in ("position", "stale", "apply_set"):
        if update.HasField(name):
            new[name] = getattr(update, name)
    if update.HasField("error"):
        new["error"] = _error(update.error)
    if update.family:
        new["family"] = Family.read(update.family)
    if update.HasField("timeline"):
        new["timeline"] = TimelineStatus.from_pb(update.timeline)
    elif update.timeline_cleared:
        new["timeline"] = None
    if update.HasField("activity"):
        new["activity"] = Activity.from_pb(update.activity)
    nodes = ContentDifference()
    if update.HasField("content"):
        new["content"], nodes = Content.applied(widget.content, update.content)
    # The number is valid only if the watch includes the time.
    if widget.update_time is not None:
        try:
            new["update_time"] = _EPOCH + timedelta(microseconds=update.update_time_nanos // 1000)
        except OverflowError:
            pass
    return dataclasses.replace(widget, **new), nodes
