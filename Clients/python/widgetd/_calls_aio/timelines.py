"""Calls for activities, timelines and previews."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Iterable, Mapping, Optional, Union

from .. import _requests, methods
from .._proto.v1 import timeline_service_pb2
from .._requests import Length
from .._values import _text, to_timestamp, to_values
from ..enums import Family
from ..preview import Preview
from ..timelines import TimelinePage
from ..widgets import Transition, Widget
from .base import AsyncBaseCalls


class AsyncTimelineCalls(AsyncBaseCalls):
    """Activities, timelines, and previews of kinds."""

    # --- Activities ---

    async def start_activity(
        self,
        kind: str = "activity",
        *,
        id: str = "",
        family: Union[Family, str, None] = None,
        labels: Optional[Mapping[str, str]] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        data: Optional[Mapping[str, Any]] = None,
        lifetime: Optional[Length] = None,
        stale_after: Optional[Length] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Adds a widget that is an activity. The parameters stay, the data is its state: at most 4096
        bytes. `lifetime` is 8 h by default and at most. The widget becomes stale after `stale_after`,
        if no update comes before. Raises WidgetExists."""
        request = _requests.start_activity(
            kind,
            id,
            family,
            labels,
            parameters,
            data,
            lifetime,
            stale_after,
            transition,
            request_id,
        )
        answer = await self.call(methods.START_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def update_activity(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        stale_after: Optional[Length] = None,
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Widget:
        """Changes the state of an activity, makes its widget fresh, and sets its stale time again.
        Raises WidgetNotFound, ActivityEnded."""
        request = _requests.update_activity(
            id, data, unset_data, stale_after, transition, request_id
        )
        answer = await self.call(methods.UPDATE_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget)

    async def end_activity(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        dismiss: Union[str, float, timedelta] = "default",
        transition: Optional[Transition] = None,
        request_id: str = "",
        timeout: Optional[float] = None,
    ) -> Optional[Widget]:
        """Changes the state of an activity for the last time. The daemon removes the widget "now", or
        after a duration of at most 4 h, the default. None if it is removed. Raises WidgetNotFound,
        ActivityEnded."""
        request = _requests.end_activity(
            id, data, unset_data, dismiss, transition, request_id
        )
        answer = await self.call(methods.END_ACTIVITY, request, timeout=timeout)
        return Widget.from_pb(answer.widget) if answer.HasField("widget") else None

    # --- Timelines ---

    async def get_timeline(
        self,
        id: str,
        *,
        limit: int = 0,
        start_time: Optional[datetime] = None,
        timeout: Optional[float] = None,
    ) -> TimelinePage:
        """The entry of a widget that is current at a time (now), and the ones after it: at most
        `limit`, or 60. Raises WidgetNotFound."""
        start = None if start_time is None else to_timestamp(start_time, "start_time")
        request = timeline_service_pb2.GetTimelineRequest(
            id=_text(id), limit=limit, start_time=start
        )
        return TimelinePage.from_pb(
            await self.call(methods.GET_TIMELINE, request, timeout=timeout)
        )

    # --- Previews ---

    async def get_placeholder(
        self,
        kind: str,
        *,
        family: Union[Family, str, None] = None,
        timeout: Optional[float] = None,
    ) -> Preview:
        """The look of a kind, with its sample. Asks no provider. Default family: as for a new
        widget. Raises KindNotFound, and InvalidArgument if the kind does not support the family."""
        request = timeline_service_pb2.GetPlaceholderRequest(
            kind=_text(kind), family=_requests.family(family)
        )
        answer = await self.call(methods.GET_PLACEHOLDER, request, timeout=timeout)
        return Preview.from_pb(answer.preview)

    async def get_snapshot(
        self,
        kind: str,
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        family: Union[Family, str, None] = None,
        timeout: Optional[float] = None,
    ) -> Preview:
        """The present look of an instance of a kind. It is the sample, with the reason, if the
        provider does not answer in time. The other arguments and exceptions are those of
        get_placeholder."""
        request = timeline_service_pb2.GetSnapshotRequest(
            kind=_text(kind), family=_requests.family(family), parameters=to_values(parameters)
        )
        answer = await self.call(methods.GET_SNAPSHOT, request, timeout=timeout)
        return Preview.from_pb(answer.preview)
