"""The enums of widgets and of the daemon.

Numbers that only a later daemon knows read as UNSPECIFIED.
"""

from __future__ import annotations

import enum
from typing import Any

from ._node_type import NodeType as NodeType
from ._word import Word as Word


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


class LabelOperator(Word):
    """An operator for labels."""

    UNSPECIFIED = 0
    IN = 1
    NOT_IN = 2
    EXISTS = 3
    NOT_EXISTS = 4


class LogLevel(Word):
    """The daemon's log level."""

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


def _number(member: enum.IntEnum) -> Any:
    """An enum's number, for the constructors of messages. Their stubs require other enum types."""
    return int(member)
