"""Themes: the values of the tokens in nodes' properties, as plain Python values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Union

from ._proto.v1 import theme_pb2
from .enums import Word, _number
from ._values import _text


class FontWeight(Word):
    """The weight of text."""

    UNSPECIFIED = 0
    REGULAR = 1
    BOLD = 2
    LIGHT = 3


@dataclass(frozen=True)
class ThemeColors:
    """A colour for each appearance: "#rrggbb" or "#rrggbbaa". "" is the same as the light colour."""

    light: str
    dark: str = ""
    high_contrast: str = ""

    def message_pb(self) -> theme_pb2.ThemeColors:
        return theme_pb2.ThemeColors(
            light=_text(self.light), dark=_text(self.dark), high_contrast=_text(self.high_contrast)
        )


@dataclass(frozen=True)
class ThemeFont:
    """A font."""

    #: In points, 4 to 200.
    size: float
    #: A FontWeight or its name.
    weight: Union[FontWeight, str] = FontWeight.REGULAR
    italic: bool = False
    monospace: bool = False

    def message_pb(self) -> theme_pb2.ThemeFont:
        return theme_pb2.ThemeFont(
            size=self.size,
            weight=_number(FontWeight.of(self.weight)),
            italic=self.italic,
            monospace=self.monospace,
        )


#: The value of a token: a colour, a length in points, or a font. Text is a colour for all
#: appearances.
ThemeValue = Union[ThemeColors, str, float, ThemeFont]


@dataclass(frozen=True)
class Theme:
    """The daemon's theme: `theme["color.primary"].dark`."""

    #: The value of each token: ThemeColors, a float, or a ThemeFont.
    values: Mapping[str, Union[ThemeColors, float, ThemeFont]] = field(default_factory=dict)
    #: The tokens whose values were set.
    overridden: tuple[str, ...] = ()
    #: The revision that last changed it; 0 if it was never changed.
    revision: int = 0
    #: Identifies this state, for `update_theme`.
    etag: str = ""

    def __getitem__(self, token: str) -> Union[ThemeColors, float, ThemeFont]:
        return self.values[token]

    @staticmethod
    def from_pb(message: theme_pb2.Theme) -> Theme:
        values: dict[str, Union[ThemeColors, float, ThemeFont]] = {}
        for token in sorted(message.values):
            value = message.values[token]
            which = value.WhichOneof("value")
            if which == "color":
                color = value.color
                values[token] = ThemeColors(color.light, color.dark, color.high_contrast)
            elif which == "offset":
                values[token] = value.offset
            elif which == "font":
                font = value.font
                values[token] = ThemeFont(
                    font.size, FontWeight.read(font.weight), font.italic, font.monospace
                )
        return Theme(values, tuple(message.overridden), message.revision, message.etag)


@dataclass(frozen=True)
class ThemeChanged:
    """The result of `update_theme`."""

    #: The theme after the change, also with validate_only.
    theme: Theme
    #: Whether the theme changed.
    changed: bool
    #: The store's revision after the change.
    revision: int


def value_pb(value: ThemeValue) -> theme_pb2.ThemeValue:
    """A value as a message."""
    if isinstance(value, str):
        value = ThemeColors(value)
    if isinstance(value, ThemeColors):
        return theme_pb2.ThemeValue(color=value.message_pb())
    if isinstance(value, ThemeFont):
        return theme_pb2.ThemeValue(font=value.message_pb())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a colour, length or font; see widgetd.ThemeValue")
    return theme_pb2.ThemeValue(offset=value)
