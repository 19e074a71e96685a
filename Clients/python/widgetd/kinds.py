"""Kinds: the declarations of widgets, as plain Python values.

You can pass a kind from the daemon to `apply_kinds`, unchanged or changed with
`dataclasses.replace`. `apply_kinds` ignores the fields that the daemon sets. Lists of such a kind are
tuples.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Mapping, Optional, Sequence, Union

from ._proto.v1 import catalog_service_pb2, kind_pb2
from .enums import ApplyAction, Family, NodeType, Word, _number
from .widgets import Transition
from ._values import (
    _key,
    _text,
    from_timestamp,
    from_value,
    to_value,
    from_values,
    to_values,
)
from .timelines import Recommendation, RefreshBudget, Schedule


class NoDefault(enum.Enum):
    """The type of NO_DEFAULT."""

    NO_DEFAULT = "no default"

    def __repr__(self) -> str:
        return self.name


#: A field has no default. None is different: it is the default null.
NO_DEFAULT = NoDefault.NO_DEFAULT


@dataclass(frozen=True)
class Field:
    """One value that a kind declares: a parameter, a data key, a payload key of an event."""

    name: str
    #: "bool", "int", "double", "string", "bytes", "timestamp", "duration", "list(TYPE)",
    #: "map(string, TYPE)", or "dyn" for any type; "" is the same as "dyn".
    type: str = ""
    #: The default; NO_DEFAULT for none. It has exactly the type: 0.0, not 0, for a double.
    default: Any = NO_DEFAULT
    #: Its meaning, unit and range.
    description: str = ""
    #: Whether it is required. Not for data, and not together with a default.
    required: bool = False
    #: The values that it can have; none for all of the type.
    choices: Sequence[Any] = ()

    def message_pb(self) -> kind_pb2.Field:
        return kind_pb2.Field(
            name=_text(self.name),
            type=_text(self.type),
            default_value=None if self.default is NO_DEFAULT else to_value(self.default),
            description=_text(self.description),
            required=self.required,
            choices=[to_value(choice) for choice in self.choices],
        )

    @staticmethod
    def from_pb(message: kind_pb2.Field) -> Field:
        has = message.HasField("default_value")
        return Field(
            name=message.name,
            type=message.type,
            default=from_value(message.default_value) if has else NO_DEFAULT,
            description=message.description,
            required=message.required,
            choices=tuple(from_value(choice) for choice in message.choices),
        )


@dataclass(frozen=True)
class EventType:
    """An event of widgets of a kind."""

    name: str
    #: When it happens and what follows.
    description: str = ""
    #: The keys of its payload.
    payload: Sequence[Field] = ()

    def message_pb(self) -> kind_pb2.EventType:
        return kind_pb2.EventType(
            name=_text(self.name),
            description=_text(self.description),
            payload=[detail.message_pb() for detail in self.payload],
        )

    @staticmethod
    def from_pb(message: kind_pb2.EventType) -> EventType:
        return EventType(
            message.name, message.description, tuple(Field.from_pb(f) for f in message.payload)
        )


@dataclass(frozen=True)
class Reducer:
    """The changes of a widget's data by an event. Expressions are CEL, as text."""

    #: The event's name.
    event: str
    #: The node that the event must be about; "" for any.
    node_id: str = ""
    #: An expression that must be true; "" for always.
    condition: str = ""
    #: Data keys, and the expressions of their new values.
    set: Mapping[str, str] = field(default_factory=dict)
    #: Data keys to remove; keys with a default get their default.
    unset: Sequence[str] = ()

    def message_pb(self) -> kind_pb2.Reducer:
        if isinstance(self.unset, str):
            raise TypeError(f"unset is a list; write [{self.unset!r}]")
        for key, expression in self.set.items():
            if not isinstance(expression, str):
                raise TypeError(f"{key!r} is set to {expression!r}; write an expression, as text")
        return kind_pb2.Reducer(
            event=_text(self.event),
            node_id=_text(self.node_id),
            condition=_text(self.condition),
            set={_key(key): _text(expression) for key, expression in self.set.items()},
            unset=[_text(key) for key in self.unset],
        )

    @staticmethod
    def from_pb(message: kind_pb2.Reducer) -> Reducer:
        return Reducer(
            event=message.event,
            node_id=message.node_id,
            condition=message.condition,
            set={key: message.set[key] for key in sorted(message.set)},
            unset=tuple(message.unset),
        )


class NoConstant(enum.Enum):
    """The type of NO_VALUE."""

    NO_VALUE = "no value"

    def __repr__(self) -> str:
        return self.name


#: A binding has no constant. None is different: it is the constant null.
NO_VALUE = NoConstant.NO_VALUE


@dataclass(frozen=True)
class Binding:
    """The source of a node's property. `Binding("data.title", "...")` is the result of the
    expression, or the text if the expression fails or is null. `Binding(value=1)` is always 1."""

    #: A CEL expression; "" if it is always `value`.
    expression: str = ""
    #: Without an expression, the value. With an expression, the placeholder while the expression
    #: fails or is null; NO_VALUE then omits the property.
    value: Any = NO_VALUE

    def message_pb(self) -> kind_pb2.Binding:
        return kind_pb2.Binding(
            expression=_text(self.expression),
            value=None if self.value is NO_VALUE else to_value(self.value),
        )

    @staticmethod
    def from_pb(message: kind_pb2.Binding) -> Binding:
        has = message.HasField("value")
        return Binding(message.expression, from_value(message.value) if has else NO_VALUE)


@dataclass(frozen=True)
class RowTemplate:
    """The rows of a repeated node."""

    #: An expression whose result is a list: one row for each element.
    list: str
    #: The variable of the element; "" is "item". The index, from 0, is this name and "Index".
    name: str = ""
    #: An expression that identifies a row when the list changes; "" for its index.
    key: str = ""

    def message_pb(self) -> kind_pb2.RowTemplate:
        return kind_pb2.RowTemplate(
            list=_text(self.list), name=_text(self.name), key=_text(self.key)
        )

    @staticmethod
    def from_pb(message: kind_pb2.RowTemplate) -> RowTemplate:
        return RowTemplate(message.list, message.name, message.key)


@dataclass(frozen=True)
class NodeTemplate:
    """A node of a template, with its children. Expressions are CEL, as text."""

    #: Unique in the template: 1 to 64 letters, digits, "_" and "-".
    id: str
    #: Its type: a NodeType or its name.
    type: Union[NodeType, str]
    #: Its properties. A value that is not a Binding is a constant.
    properties: Mapping[str, Any] = field(default_factory=dict)
    #: The condition of the node, an expression; "" for none.
    condition: str = ""
    #: Makes one such node for each element of a list.
    rows: Optional[RowTemplate] = None
    #: The nodes in it.
    children: Sequence[NodeTemplate] = ()
    #: The events that it takes; None for the defaults of its type.
    events: Optional[Sequence[str]] = None

    def message_pb(self) -> kind_pb2.NodeTemplate:
        if isinstance(self.events, str):
            raise TypeError(f"events is a list; write [{self.events!r}]")
        return kind_pb2.NodeTemplate(
            id=_text(self.id),
            type=_number(NodeType.of(self.type)),
            properties={_key(k): _binding(v).message_pb() for k, v in self.properties.items()},
            condition=_text(self.condition),
            rows=None if self.rows is None else self.rows.message_pb(),
            children=[child.message_pb() for child in self.children],
            events=None
            if self.events is None
            else kind_pb2.NodeEvents(names=[_text(name) for name in self.events]),
        )

    @staticmethod
    def from_pb(message: kind_pb2.NodeTemplate) -> NodeTemplate:
        properties = message.properties
        return NodeTemplate(
            id=message.id,
            type=NodeType.read(message.type),
            properties={key: Binding.from_pb(properties[key]) for key in sorted(properties)},
            condition=message.condition,
            rows=RowTemplate.from_pb(message.rows) if message.HasField("rows") else None,
            children=tuple(NodeTemplate.from_pb(child) for child in message.children),
            events=tuple(message.events.names) if message.HasField("events") else None,
        )


def _binding(thing: Any) -> Binding:
    return thing if isinstance(thing, Binding) else Binding(value=thing)


@dataclass(frozen=True)
class ContentTemplate:
    """The content of a kind's widgets in some families."""

    #: The node at the top.
    root: NodeTemplate
    #: Its families: Family values or their names; none for all that no other template names.
    families: Sequence[Union[Family, str]] = ()

    def message_pb(self) -> kind_pb2.ContentTemplate:
        if isinstance(self.families, str):
            raise TypeError(f"families is a list; write [{self.families!r}]")
        return kind_pb2.ContentTemplate(
            families=[_number(Family.of(family)) for family in self.families],
            root=self.root.message_pb(),
        )

    @staticmethod
    def from_pb(message: kind_pb2.ContentTemplate) -> ContentTemplate:
        return ContentTemplate(
            root=NodeTemplate.from_pb(message.root),
            families=tuple(Family.read(family) for family in message.families),
        )


class Persistence(Word):
    """The parts of a widget that survive a restart of the daemon."""

    UNSPECIFIED = 0
    #: All of it.
    DURABLE = 1
    #: Everything except the data, which begins with the defaults again.
    VOLATILE = 2


@dataclass(frozen=True)
class ProviderSilence:
    """A provider whose process runs and does not answer: it is stopped, or hangs."""

    #: When the provider sent its last message.
    since: datetime
    #: The id of the process.
    pid: int


@dataclass(frozen=True)
class Kind:
    """A kind of widgets: parameters, data, events and content."""

    name: str
    #: The name for people; "" for `name`.
    display_name: str = ""
    #: A description of its content and purpose.
    description: str = ""
    #: The families that it supports: Family values or their names; none for all.
    families: Sequence[Union[Family, str]] = ()
    #: The parameters of a widget.
    parameters: Sequence[Field] = ()
    #: The data of a widget.
    data: Sequence[Field] = ()
    #: Whether widgets may have undeclared data and parameters, and take undeclared events.
    open: bool = False
    #: The events of a widget; none for any event.
    events: Sequence[EventType] = ()
    #: The reducers, in order. Each one sees the changes of the earlier ones.
    reducers: Sequence[Reducer] = ()
    #: A hint for the animation of changes that have no hint.
    transition: Optional[Transition] = None
    #: The templates: for each family, the one that names it, else the one that names no family.
    content: Sequence[ContentTemplate] = ()
    #: The parts of a widget that survive a restart: a Persistence or its name.
    persistence: Union[Persistence, str] = Persistence.UNSPECIFIED
    #: Whether events may be lost while the provider is away. If true, they are not stored.
    losable_events: bool = False
    #: The values of a timeline's entries.
    entry: Sequence[Field] = ()
    #: Entries that the daemon makes by itself; None for none.
    schedule: Optional[Schedule] = None
    #: The data of a sample, beside the defaults.
    sample: Mapping[str, Any] = field(default_factory=dict)
    #: Named sets of parameters.
    recommendations: Sequence[Recommendation] = ()
    #: How often its widgets may be refreshed in an hour; 0 for the daemon's limit.
    refreshes_per_hour: int = 0
    #: Its provider. The daemon sets this field and all fields below.
    provider: str = ""
    #: The revision that last changed it; 0 for a built-in kind.
    revision: int = 0
    update_time: Optional[datetime] = None
    owner_uid: int = 0
    #: Whether it was declared in a session of its provider.
    attended: bool = False
    #: Whether its provider has a session now.
    provider_connected: bool = False
    #: Set if its provider lost its session, and the provider's process runs and does not answer.
    provider_silence: Optional[ProviderSilence] = None
    #: What is left of the refreshes in an hour; None without a session of its provider.
    refresh_budget: Optional[RefreshBudget] = None

    def message_pb(self) -> kind_pb2.Kind:
        """The kind for a request: without the fields that the daemon sets."""
        if isinstance(self.families, str):
            raise TypeError(f"families is a list; write [{self.families!r}]")
        return kind_pb2.Kind(
            name=_text(self.name),
            display_name=_text(self.display_name),
            description=_text(self.description),
            families=[_number(Family.of(family)) for family in self.families],
            parameters=[each.message_pb() for each in self.parameters],
            data=[each.message_pb() for each in self.data],
            open=self.open,
            events=[event.message_pb() for event in self.events],
            reducers=[reducer.message_pb() for reducer in self.reducers],
            transition=None if self.transition is None else self.transition.message_pb(),
            content=[template.message_pb() for template in self.content],
            persistence=_number(Persistence.of(self.persistence)) if self.persistence else None,
            losable_events=self.losable_events,
            entry=[each.message_pb() for each in self.entry],
            schedule=None if self.schedule is None else self.schedule.message_pb(),
            sample=to_values(self.sample),
            recommendations=[each.message_pb() for each in self.recommendations],
            refreshes_per_hour=self.refreshes_per_hour,
        )

    @staticmethod
    def from_pb(message: kind_pb2.Kind) -> Kind:
        has_hint, has_time = message.HasField("transition"), message.HasField("update_time")
        return Kind(
            name=message.name,
            display_name=message.display_name,
            description=message.description,
            families=tuple(Family.read(family) for family in message.families),
            parameters=tuple(Field.from_pb(each) for each in message.parameters),
            data=tuple(Field.from_pb(each) for each in message.data),
            open=message.open,
            events=tuple(EventType.from_pb(event) for event in message.events),
            reducers=tuple(Reducer.from_pb(reducer) for reducer in message.reducers),
            transition=Transition.from_pb(message.transition) if has_hint else None,
            content=tuple(ContentTemplate.from_pb(each) for each in message.content),
            persistence=Persistence.read(message.persistence),
            losable_events=message.losable_events,
            entry=tuple(Field.from_pb(each) for each in message.entry),
            schedule=Schedule.from_pb(message.schedule) if message.HasField("schedule") else None,
            sample=from_values(message.sample),
            recommendations=tuple(Recommendation.from_pb(r) for r in message.recommendations),
            refreshes_per_hour=message.refreshes_per_hour,
            provider=message.provider,
            revision=message.revision,
            update_time=from_timestamp(message.update_time) if has_time else None,
            owner_uid=message.owner_uid,
            attended=message.attended,
            provider_connected=message.provider_connected,
            provider_silence=_silence(message),
            refresh_budget=_budget(message),
        )


def _silence(message: kind_pb2.Kind) -> Optional[ProviderSilence]:
    if not message.HasField("provider_silence"):
        return None
    silence = message.provider_silence
    return ProviderSilence(from_timestamp(silence.since), silence.pid)


def _budget(message: kind_pb2.Kind) -> Optional[RefreshBudget]:
    if not message.HasField("refresh_budget"):
        return None
    return RefreshBudget.from_pb(message.refresh_budget)


@dataclass(frozen=True)
class LostField:
    """A field of a widget whose value does not match a changed kind."""

    widget_id: str
    #: data.KEY, parameters.KEY, or entry.KEY for a value of the timeline.
    path: str
    #: Whether the value returns when the kind declares the field again.
    set_aside: bool = False
    #: The value that is lost; None if it is set aside, or takes more than 1 KiB.
    value: Any = None

    @staticmethod
    def from_pb(message: catalog_service_pb2.LostField) -> LostField:
        value = from_value(message.value) if message.HasField("value") else None
        return LostField(message.widget_id, message.path, message.set_aside, value)


@dataclass(frozen=True)
class KindResult:
    """The result of apply_kinds for one kind."""

    name: str
    action: ApplyAction
    #: The number of its widgets that were converted.
    widgets_changed: int = 0
    #: The values that widgets lost, at most 64.
    lost_fields: tuple[LostField, ...] = ()
    #: The number of values that widgets lost, including those that lost_fields omits.
    lost_fields_count: int = 0

    @staticmethod
    def from_pb(message: catalog_service_pb2.KindResult) -> KindResult:
        return KindResult(
            message.name,
            ApplyAction.read(message.action),
            message.widgets_changed,
            tuple(LostField.from_pb(field) for field in message.lost_fields),
            message.lost_fields_count,
        )


@dataclass(frozen=True)
class KindsApplied:
    """The result of apply_kinds."""

    #: Each declared kind in the declared order, then each removed one.
    results: tuple[KindResult, ...]
    revision: int

    @staticmethod
    def from_pb(message: catalog_service_pb2.ApplyKindsResponse) -> KindsApplied:
        results = tuple(KindResult.from_pb(result) for result in message.results)
        return KindsApplied(results, message.revision)


@dataclass(frozen=True)
class KindPage:
    """A page of list_kinds, in order of names."""

    kinds: tuple[Kind, ...]
    #: Where the next page starts; "" on the last page.
    next_page_token: str
    #: The store's revision at the time of the call.
    revision: int
