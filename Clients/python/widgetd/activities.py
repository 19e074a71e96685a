"""Activities: widgets that show a task while it lasts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Optional, Union

from ._proto.v1 import activity_pb2
from ._values import from_timestamp, seconds, to_duration

_STATES = {1: "active", 2: "ended", 3: "expired"}


@dataclass(frozen=True)
class Activity:
    """The start and the progress of a task. The parameters of its widget stay; the data is its
    state."""

    #: "active", "ended" (by end_activity) or "expired" (its lifetime was over).
    state: str
    start_time: Optional[datetime] = None
    #: When its lifetime is over. The daemon ends it then.
    expire_time: Optional[datetime] = None
    #: When the widget becomes stale, if no update comes before. None: never, or the time has passed.
    stale_time: Optional[datetime] = None
    #: None while it is active.
    end_time: Optional[datetime] = None
    #: When the daemon removes the widget. None while it is active.
    dismiss_time: Optional[datetime] = None

    @staticmethod
    def from_pb(message: activity_pb2.Activity) -> Activity:
        def time(name: str) -> Optional[datetime]:
            return from_timestamp(getattr(message, name)) if message.HasField(name) else None

        # A state of a newer daemon: ended or active.
        known = _STATES.get(message.state, "ended" if message.HasField("end_time") else "active")
        return Activity(
            known,
            time("start_time"),
            time("expire_time"),
            time("stale_time"),
            time("end_time"),
            time("dismiss_time"),
        )


def dismissal(when: Union[str, float, timedelta]) -> dict[str, Any]:
    """The fields of an EndActivityRequest: "default", "now", or how long the widget stays."""
    if when == "default":
        return {"dismissal": activity_pb2.DISMISSAL_POLICY_DEFAULT}
    if when == "now":
        return {"dismissal": activity_pb2.DISMISSAL_POLICY_IMMEDIATE}
    if isinstance(when, str):
        raise ValueError(f'dismiss is "now", "default" or a duration, not {when!r}')
    return {
        "dismissal": activity_pb2.DISMISSAL_POLICY_AFTER,
        "dismiss_after": to_duration(seconds(when)),
    }
