"""The daemon's messages to a provider, as `Provider` yields them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from .frames import Disconnected, Gap
from .enums import Family, Word
from .widgets import Event, Widget


class DataRequestReason(Word):
    """The reason of a data request."""

    UNSPECIFIED = 0
    #: It was created.
    CREATED = 1
    #: The provider reconnected, or got the widget's kind.
    PROVIDER_RETURNED = 2
    PARAMETERS_CHANGED = 3
    #: Somebody called refresh_widgets.
    REFRESH = 4
    #: Its timeline ended, or its refresh time came.
    TIMELINE = 5


@dataclass(frozen=True)
class Connected:
    """The session is open, for the first time or again. The daemon asks about every widget again."""

    epoch: int
    revision: int
    #: Events from this one on will come.
    first_sequence: int
    #: Whether Audience will come.
    has_audience: bool = False


@dataclass(frozen=True)
class DataRequest:
    """The daemon wants data for a widget: answer, or update the widget."""

    widget: Widget
    reason: DataRequestReason
    id: int = field(repr=False)
    #: Counts the sessions that were opened.
    generation: int = field(repr=False)


@dataclass(frozen=True)
class SnapshotRequest:
    """A client asks for the present content of an instance of a kind: answer or refuse it. There is
    no such widget. Comes only with `answers_snapshots`."""

    kind: str
    family: Family
    #: The parameters of the instance, with the defaults.
    parameters: Mapping[str, Any]
    id: int = field(repr=False)
    #: Counts the sessions that were opened.
    generation: int = field(repr=False)
    #: Whether an owner asks. Other callers can choose any parameters, too.
    by_owner: bool = False
    #: The user who asks.
    uid: int = 0


@dataclass(frozen=True)
class WidgetsGone:
    """Widgets were removed. It may name widgets that the provider does not know."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class AllAsked:
    """The daemon has asked about every widget since Connected. All other widgets are gone."""

    revision: int


@dataclass(frozen=True)
class Audience:
    """Widgets became watched, or lost their last watcher. `Provider.is_attached` returns the state
    after this request."""

    #: Widgets that became watched.
    attached: tuple[str, ...] = ()
    #: Widgets that have had no watcher for some seconds.
    detached: tuple[str, ...] = ()


ProviderRequest = Union[
    Connected,
    Disconnected,
    Event,
    Gap,
    DataRequest,
    SnapshotRequest,
    WidgetsGone,
    AllAsked,
    Audience,
]
