"""Widgets, events and other objects of the daemon, as plain Python values."""

from .answers import Applied, PresenceChanged, Refreshed, Reloaded, Sent, Stats, Updated, WidgetPage
from .content import Content, Node
from .enums import (
    ApplyAction,
    Curve,
    Family,
    Health,
    LabelOperator,
    LogLevel,
    NodeType,
    PresenceAction,
    PresenceState,
    Word,
)
from .widgets import Event, LabelRequirement, Selector, Transition, Widget, WidgetError, WidgetSpec

__all__ = [
    "Applied",
    "ApplyAction",
    "Content",
    "Curve",
    "Event",
    "Family",
    "Health",
    "LabelOperator",
    "LabelRequirement",
    "LogLevel",
    "Node",
    "NodeType",
    "PresenceAction",
    "PresenceChanged",
    "PresenceState",
    "Refreshed",
    "Reloaded",
    "Selector",
    "Sent",
    "Stats",
    "Transition",
    "Updated",
    "Widget",
    "WidgetError",
    "WidgetPage",
    "WidgetSpec",
    "Word",
]
