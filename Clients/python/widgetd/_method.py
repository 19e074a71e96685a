"""A method of the protocol; `methods` has all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Type, TypeVar

from google.protobuf.message import Message

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Request, Response]):
    """A method: `service` and `name` as in "widgetd.v1.WidgetService/GetWidget".

    A method with `is_repeatable` changes nothing, or nothing more if it is called again.
    """

    service: str
    name: str
    request: Type[Request]
    response: Type[Response]
    is_stream: bool = False
    is_repeatable: bool = False

    @property
    def path(self) -> str:
        """The path in HTTP/2."""
        return f"/{self.service}/{self.name}"
