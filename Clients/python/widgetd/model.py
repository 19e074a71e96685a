"""Widgets, events and other objects of the daemon, as plain Python values.

Everything here is immutable in spirit: nothing in this package changes an object after it was
handed out. Data, parameters and payloads are dicts of plain values, as `_values` has them. Enum
numbers that only a later daemon knows read as UNSPECIFIED.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Iterable, Iterator, Mapping, Optional, Type, TypeVar, Union

from ._proto.v1 import (
    admin_service_pb2,
    event_pb2,
    node_pb2,
    widget_pb2,
    widget_service_pb2,
)
from ._nodes import ContentDifference, NodeTable, compare
from ._values import (
    _key,
    _text,
    from_duration,
    from_timestamp,
    from_values,
    seconds,
    to_duration,
    to_values,
)
from .activities import Activity
from .timelines import RefreshBudget, Timeline, TimelineStatus

# --- Enums ----------------------------------------------------------------------------------------

E = TypeVar("E", bound="Word")


class Word(enum.IntEnum):
    """An enum whose members have names: "small", "extra-large"."""

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", "-")

    @classmethod
    def of(cls: Type[E], thing: Union[str, int]) -> E:
        """The member with this name; ValueError, which lists the names, if there is none."""
        if isinstance(thing, str):
            for member in cls:
                if member and member.word == thing.lower().replace("_", "-"):
                    return member
        elif thing in cls._value2member_map_:
            return cls(thing)
        words = ", ".join(member.word for member in cls if member)
        raise ValueError(f"there is no {cls.__name__} {thing!r}; there are {words}")

    @classmethod
    def read(cls: Type[E], number: int) -> E:
        """The member of a number from the wire; UNSPECIFIED if it is not known."""
        return cls(number) if number in cls._value2member_map_ else cls(0)

    def __str__(self) -> str:
        return self.word


class Family(Word):
    """The size classes a widget can be made for."""

    UNSPECIFIED = 0
    SMALL = 1
    MEDIUM = 2
    LARGE = 3
    EXTRA_LARGE = 4
    INLINE = 5
    CIRCULAR = 6
    RECTANGULAR = 7


class PresenceState(Word):
    """The visible part of a widget's presence."""

    UNSPECIFIED = 0
    VISIBLE = 1
    HIDDEN = 2
    DISABLED = 3


class PresenceAction(Word):
    """A change of presence."""

    UNSPECIFIED = 0
    SHOW = 1
    HIDE = 2
    ENABLE = 3
    DISABLE = 4
    TOGGLE = 5


class ApplyAction(Word):
    """The result of apply_widgets for one widget, or of apply_kinds for one kind."""

    UNSPECIFIED = 0
    CREATED = 1
    UPDATED = 2
    UNCHANGED = 3
    DELETED = 4


class Curve(Word):
    """The shape of an animation."""

    UNSPECIFIED = 0
    NONE = 1
    LINEAR = 2
    EASE_IN = 3
    EASE_OUT = 4
    EASE_IN_OUT = 5
    SPRING = 6
    OPACITY = 7


class NodeType(Word):
    """The type of a node. UNSPECIFIED for types of a later daemon: show the node's children."""

    UNSPECIFIED = 0
    LABEL = 1
    IMAGE = 2
    BUTTON = 3
    TOGGLE = 4
    INPUT = 5
    GAUGE = 6
    CHART = 7
    STACK = 8
    GRID = 9
    TABLE = 10
    SPACE = 11
    DATE = 12
    FORM = 13
    SPINNER = 14
    LINK = 15
    EMBED = 16


class LabelOperator(Word):
    """An operator for labels."""

    UNSPECIFIED = 0
    IN = 1
    NOT_IN = 2
    EXISTS = 3
    NOT_EXISTS = 4


class LogLevel(Word):
    """How much the daemon logs."""

    UNSPECIFIED = 0
    TRACE = 1
    DEBUG = 2
    INFO = 3
    NOTICE = 4
    WARNING = 5
    ERROR = 6
    CRITICAL = 7


class Health(Word):
    """Whether the daemon serves."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2


# --- Content --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node of a widget's content."""

    #: Unique in its widget. In a row: the template's id, "/", and the row's key.
    id: str
    type: NodeType = NodeType.UNSPECIFIED
    #: Its properties. Properties that are not here have their default.
    properties: dict[str, Any] = field(default_factory=dict)
    #: The nodes in it, in order.
    child_ids: tuple[str, ...] = ()
    #: The problem of one of its bindings, for the kind's author; "" for none.
    problem: str = ""
    #: The events that it takes if it is visible and enabled. If empty, users cannot press or change it.
    events: tuple[str, ...] = ()

    @staticmethod
    def from_pb(message: node_pb2.Node) -> Node:
        return Node(
            id=message.id,
            type=NodeType.read(message.type),
            properties=from_values(message.properties),
            child_ids=tuple(message.child_ids),
            problem=message.problem,
            events=tuple(message.events),
        )


@dataclass(frozen=True, init=False)
class Content:
    """The content of a widget: its kind's template for its family, with all bindings evaluated.

    `content["title"]` and `content.get("title")` look a node up. Iterating gives all nodes, each
    before its children. `content.root` is the node at the top.

    A content never changes. A content that a mirror made of an earlier one shares its nodes: it costs
    as much as the nodes that changed. Only the list of all nodes is made when it is first read.
    """

    root_id: str
    nodes: tuple[Node, ...]

    def __init__(self, root_id: str, nodes: Iterable[Node] = ()) -> None:
        self.__dict__.update(root_id=root_id, nodes=tuple(nodes))

    @staticmethod
    def from_pb(message: node_pb2.Content) -> Content:
        return Content(message.root_id, (Node.from_pb(node) for node in message.nodes))

    @staticmethod
    def _of(table: NodeTable) -> Content:
        content = Content.__new__(Content)
        content.__dict__.update(root_id=table.root_id, _table=table, _by_id=table)
        return content

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that do not exist yet.
        table = self.__dict__.get("_table")
        if name == "nodes" and table is not None:
            return self.__dict__.setdefault("nodes", tuple(table))
        if name == "_table" and "nodes" in self.__dict__:
            return self.__dict__.setdefault("_table", NodeTable(self.root_id, self.nodes))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Content, (self.root_id, self.nodes)

    @property
    def root(self) -> Optional[Node]:
        """The node at the top."""
        return self.get(self.root_id)

    def get(self, id: str) -> Optional[Node]:
        """The node; None if there is none."""
        return self._by_id.get(id)

    def children(self, node: Node) -> tuple[Node, ...]:
        """The nodes in this one, in order."""
        found = (self.get(id) for id in node.child_ids)
        return tuple(child for child in found if child is not None)

    def __getitem__(self, id: str) -> Node:
        node = self.get(id)
        if node is None:
            raise KeyError(id)
        return node

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.__dict__.get("nodes", self._by_id))

    @cached_property
    def _by_id(self) -> Union[dict[str, Node], NodeTable]:
        # A list as it came has all its nodes here, even those that the tree does not reach.
        return {node.id: node for node in self.nodes}

    def __bool__(self) -> bool:
        return True

    @staticmethod
    def changed(held: Optional[Content], change: node_pb2.ContentChange) -> Optional[Content]:
        """The content after a change, None for no content. It has the nodes that the tree reaches,
        each once, even if the change is inconsistent."""
        return Content.applied(held, change)[0]

    @staticmethod
    def applied(
        held: Optional[Content], change: node_pb2.ContentChange
    ) -> tuple[Optional[Content], ContentDifference]:
        """The content after a change, as `changed` gives it, and the nodes that differ."""
        root_id: str = change.root_id
        if held is not None and not root_id and not change.replace:
            root_id = held.root_id
        before: Optional[NodeTable] = None if held is None else held._table
        if not root_id:
            return None, compare(before, None)
        nodes = {message.id: Node.from_pb(message) for message in change.set_nodes}
        if before is not None and root_id == before.root_id and not change.replace:
            result = before.changed(nodes, change.removed_node_ids)
            if result is not None:
                return Content._of(result[0]), result[1]
        table = {} if before is None or change.replace else {node.id: node for node in before}
        for id in change.removed_node_ids:
            table.pop(id, None)
        table.update(nodes)
        after = NodeTable(root_id, table.values())
        return Content._of(after), compare(before, after)

    @staticmethod
    def difference(before: Optional[Content], after: Optional[Content]) -> ContentDifference:
        """Compares two contents; None is no content. It costs as much as both."""
        return compare(
            None if before is None else before._table, None if after is None else after._table
        )


# --- Widgets --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WidgetError:
    """The error of a widget, for its users."""

    reason: str
    message: str = ""

    def message_pb(self) -> widget_pb2.WidgetError:
        return widget_pb2.WidgetError(reason=_text(self.reason), message=_text(self.message))


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


def _number(member: enum.IntEnum) -> Any:
    """An enum's number, for the constructors of messages. Their stubs require other enum types."""
    return int(member)


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
    return WidgetError(message.reason, message.message) if message.reason else None


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


# --- Events ---------------------------------------------------------------------------------------


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


# --- Answers --------------------------------------------------------------------------------------


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
