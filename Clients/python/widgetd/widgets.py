"""Widgets, their declarations and selectors, and their events, as plain Python values.

Everything here is immutable in spirit: nothing in this package changes an object after it was
handed out. Data, parameters and payloads are dicts of plain values, as `_values` has them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Iterable, Mapping, Optional, Union

from ._proto.v1 import event_pb2, widget_pb2, widget_service_pb2
from ._values import (
    _key,
    _text,
    from_duration,
    from_timestamp,
    from_values,
    to_duration,
    to_timestamp,
    to_values,
)
from .activities import Activity
from .content import Content
from .enums import Curve, Family, LabelOperator, PresenceState, _number
from .timelines import Timeline, TimelineStatus


@dataclass(frozen=True)
class WidgetError:
    """The error of a widget, for its users."""

    reason: str
    message: str = ""
    #: The start of the error. If a client leaves it out, the daemon sets it.
    since: Optional[datetime] = None
    #: Errors that the widget has at the same time.
    further: tuple[WidgetError, ...] = ()

    def message_pb(self) -> widget_pb2.WidgetError:
        return widget_pb2.WidgetError(
            reason=_text(self.reason),
            message=_text(self.message),
            since=None if self.since is None else to_timestamp(self.since),
            further=[error.message_pb() for error in self.further],
        )


@dataclass(frozen=True)
class Transition:
    """A hint for the animation of a change. It never delays the change."""

    curve: Curve = Curve.UNSPECIFIED
    #: Its duration; None: the renderer's default.
    duration: Optional[timedelta] = None
    #: For a spring: the seconds one oscillation takes. 0 means unset.
    spring_response: float = 0.0
    #: For a spring: 1 is critically damped, less overshoots. 0 means unset.
    spring_damping: float = 0.0

    def message_pb(self) -> widget_pb2.Transition:
        return widget_pb2.Transition(
            curve=_number(self.curve),
            duration=None if self.duration is None else to_duration(self.duration),
            spring_response=self.spring_response,
            spring_damping=self.spring_damping,
        )

    @staticmethod
    def from_pb(message: widget_pb2.Transition) -> Transition:
        has = message.HasField("duration")
        return Transition(
            Curve.read(message.curve),
            from_duration(message.duration) if has else None,
            message.spring_response,
            message.spring_damping,
        )


@dataclass(frozen=True)
class Widget:
    """A widget of the daemon. Fields that the read mask leaves out have their default."""

    id: str
    kind: str
    family: Family = Family.UNSPECIFIED
    labels: dict[str, str] = field(default_factory=dict)
    #: Whether it is shown.
    visible: bool = False
    #: Whether it takes events from users.
    enabled: bool = False
    #: The result of `visible` and `enabled`.
    state: PresenceState = PresenceState.UNSPECIFIED
    #: Ascending order is display order. Only the comparison of two positions has a meaning.
    position: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    #: True while its provider is gone, so its data may be old.
    stale: bool = False
    #: Its error; None for none.
    error: Optional[WidgetError] = None
    created_revision: int = 0
    revision: int = 0
    create_time: Optional[datetime] = None
    update_time: Optional[datetime] = None
    owner_uid: int = 0
    apply_set: str = ""
    #: With this etag, a change is refused if somebody changed the widget first. "" in frames of a watch.
    etag: str = ""
    #: Its content; None if its kind has no content for its family.
    content: Optional[Content] = None
    #: Where it is in its timeline; None if it has neither a timeline nor a schedule.
    timeline: Optional[TimelineStatus] = None
    #: The activity that it shows; None if it is not an activity.
    activity: Optional[Activity] = None

    @property
    def failed(self) -> bool:
        """Whether it has an error, a problem of its timeline, an activity with the outcome "failed",
        or an expression of its content that fails."""
        ended = self.activity is not None and self.activity.state == "ended"
        return (
            self.error is not None
            or (self.timeline is not None and self.timeline.problem != "")
            or (ended and self.data.get("outcome") == "failed")
            or (self.content is not None and any(node.failed for node in self.content))
        )

    @staticmethod
    def from_pb(message: widget_pb2.Widget) -> Widget:
        has_created, has_updated = message.HasField("create_time"), message.HasField("update_time")
        return Widget(
            id=message.id,
            kind=message.kind,
            family=Family.read(message.family),
            labels={key: message.labels[key] for key in sorted(message.labels)},
            visible=message.presence.visible,
            enabled=message.presence.enabled,
            state=PresenceState.read(message.presence.state),
            position=message.position,
            parameters=from_values(message.parameters),
            data=from_values(message.data),
            stale=message.stale,
            error=_error(message.error),
            created_revision=message.created_revision,
            revision=message.revision,
            create_time=from_timestamp(message.create_time) if has_created else None,
            update_time=from_timestamp(message.update_time) if has_updated else None,
            owner_uid=message.owner_uid,
            apply_set=message.apply_set,
            etag=message.etag,
            content=Content.from_pb(message.content) if message.HasField("content") else None,
            timeline=TimelineStatus.from_pb(message.timeline) if message.HasField("timeline") else None,
            activity=Activity.from_pb(message.activity) if message.HasField("activity") else None,
        )


def _error(message: widget_pb2.WidgetError) -> Optional[WidgetError]:
    if not message.reason:
        return None
    since = from_timestamp(message.since) if message.HasField("since") else None
    further = tuple(filter(None, map(_error, message.further)))
    return WidgetError(message.reason, message.message, since, further)


@dataclass(frozen=True)
class WidgetSpec:
    """The declaration of a widget for apply_widgets. None keeps the present value; for a new widget,
    the daemon chooses."""

    id: str
    kind: str
    family: Union[Family, str, None] = None
    labels: Mapping[str, str] = field(default_factory=dict)
    visible: Optional[bool] = None
    enabled: Optional[bool] = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    timeline: Optional[Timeline] = None

    def message_pb(self) -> widget_service_pb2.WidgetSpec:
        spec = widget_service_pb2.WidgetSpec(
            id=_text(self.id),
            kind=_text(self.kind),
            family=_number(Family.of(self.family)) if self.family else None,
            labels=labels(self.labels),
            parameters=to_values(self.parameters),
            data=to_values(self.data),
            timeline=None if self.timeline is None else self.timeline.message_pb(),
        )
        if self.visible is not None:
            spec.visible = self.visible
        if self.enabled is not None:
            spec.enabled = self.enabled
        return spec


def labels(things: Optional[Mapping[str, str]]) -> dict[str, str]:
    if things is not None and not isinstance(things, Mapping):
        raise TypeError(f"labels are a dict, not {things!r}")
    for key, value in (things or {}).items():
        if not isinstance(value, str):
            raise TypeError(f"the label {key!r} is {value!r}; labels are text")
    return {_key(key): _text(value) for key, value in (things or {}).items()}


@dataclass(frozen=True)
class LabelRequirement:
    """One condition on a widget's labels."""

    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selector:
    """Selects widgets. All conditions that are set must hold. An empty selector selects every widget.

    `labels` is a dict of required labels and values, or LabelRequirements. `expression` is CEL that
    must be true for the widget: "data.percent > 90".
    """

    ids: Iterable[str] = ()
    kinds: Iterable[str] = ()
    families: Iterable[Union[Family, str]] = ()
    labels: Union[Mapping[str, str], Iterable[LabelRequirement]] = ()
    expression: str = ""

    def message_pb(self) -> widget_pb2.WidgetSelector:
        for name in ("ids", "kinds", "families"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is a list of text; write [{getattr(self, name)!r}]")
        wanted = self.labels
        if isinstance(wanted, str):
            raise TypeError(f"labels is a dict, not {wanted!r}; write {{'panel': 'top'}}")
        if isinstance(wanted, Mapping):
            wanted = [LabelRequirement(k, LabelOperator.IN, (v,)) for k, v in wanted.items()]
        return widget_pb2.WidgetSelector(
            ids=[_text(i) for i in self.ids],
            kinds=[_text(k) for k in self.kinds],
            families=[_number(Family.of(f)) for f in self.families],
            labels=[
                widget_pb2.LabelRequirement(
                    key=_text(r.key),
                    operator=_number(r.operator),
                    values=[_text(v) for v in r.values],
                )
                for r in wanted
            ],
            expression=_text(self.expression),
        )


@dataclass(frozen=True)
class Event:
    """An event of a widget."""

    #: Its place in the order of all events.
    sequence: int
    widget_id: str
    name: str
    #: The node; "" for the widget as a whole.
    node_id: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    time: Optional[datetime] = None
    #: The store's revision when it was accepted. Its effects have later revisions.
    revision: int = 0
    #: The sender, according to the kernel; pid 0 if unknown.
    uid: int = 0
    pid: int = 0
    #: The name that the sender gives itself; not verified.
    client: str = ""
    #: Whether it was forced: a hidden or disabled widget takes it too.
    forced: bool = False

    @staticmethod
    def from_pb(message: event_pb2.Event) -> Event:
        return Event(
            sequence=message.sequence,
            widget_id=message.widget_id,
            name=message.name,
            node_id=message.node_id,
            payload=from_values(message.payload),
            time=from_timestamp(message.time) if message.HasField("time") else None,
            revision=message.revision,
            uid=message.origin.uid,
            pid=message.origin.pid,
            client=message.origin.client,
            forced=message.forced,
        )
