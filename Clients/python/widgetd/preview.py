"""Previews: the look of widgets of a kind, without such a widget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional

from ._proto.v1 import timeline_service_pb2
from ._values import from_values
from .content import Content
from .enums import Family


@dataclass(frozen=True)
class Preview:
    """The look of an instance of a kind. No widget exists for it."""

    kind: str
    family: Family
    parameters: Mapping[str, Any]
    data: Mapping[str, Any]
    #: None if the kind has no content for the family.
    content: Optional[Content]
    #: Whether `data` is the kind's sample.
    sample: bool
    #: Of a snapshot: the reason for a sample in its place. Of a placeholder: the required parameter
    #: that has no value. "" for no reason.
    reason: str

    @staticmethod
    def from_pb(message: timeline_service_pb2.Preview) -> Preview:
        return Preview(
            message.kind,
            Family.read(message.family),
            from_values(message.parameters),
            from_values(message.data),
            Content.from_pb(message.content) if message.HasField("content") else None,
            message.sample,
            message.reason,
        )
