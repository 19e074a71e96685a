"""Enums whose members have names."""

from __future__ import annotations

import enum
from typing import Type, TypeVar, Union

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
