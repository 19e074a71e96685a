"""The enums of widgets and of the daemon.

Numbers that only a later daemon knows read as UNSPECIFIED.
"""

from __future__ import annotations

import enum
from typing import Any, Type, TypeVar, Union

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


def _number(member: enum.IntEnum) -> Any:
    """An enum's number, for the constructors of messages. Their stubs require other enum types."""
    return int(member)
