"""Calls that follow widgets and events."""

from __future__ import annotations

from typing import AsyncIterator, Iterable, Optional, Union

from .. import _requests, methods
from .._proto.v1 import widget_service_pb2 as pb
from .._liveness import LivenessPolicy
from .._requests import Length
from .._resume import EventSession, RetryPolicy, WidgetSession
from .._watch_aio import AsyncWatch
from ..enums import Family
from ..frames import EventFrame, Frame
from ..mirror import Inconsistent, Mirror
from ..widgets import Selector
from .base import AsyncBaseCalls


class AsyncWatchCalls(AsyncBaseCalls):
    """Follows widgets and events."""

    async def follow(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        min_interval: Optional[Length] = None,
        retry: RetryPolicy = RetryPolicy(),
        liveness: Optional[LivenessPolicy] = LivenessPolicy(),
        wait: bool = False,
        content_family: Union[Family, str, None] = None,
        redacted: bool = False,
    ) -> AsyncIterator[Mirror]:
        """Follows state: yields its mirror at the beginning, and again after each change.

        It yields the same mirror each time, and the mirror changes only while you wait for the
        next one. `difference` has the latest changes. It survives lost connections and restarts of
        the daemon. Arguments and exceptions are those of `watch`.
        """
        mirror, is_shown = Mirror(), False
        watch = self.watch(
            selector,
            fields=fields,
            min_interval=min_interval,
            retry=retry,
            liveness=liveness,
            wait=wait,
            content_family=content_family,
            redacted=redacted,
        )
        try:
            async for frame in watch:
                try:
                    difference = mirror.apply(frame)
                except Inconsistent:
                    await watch.start_over()
                    continue
                # The first snapshot is yielded even if it is empty.
                if difference is not None and (difference or not is_shown):
                    is_shown = True
                    yield mirror
        finally:
            await watch.close()

    def watch(
        self,
        selector: Optional[Selector] = None,
        *,
        fields: Iterable[str] = (),
        events: bool = False,
        after_sequence: Optional[int] = None,
        resume_token: bytes = b"",
        min_interval: Optional[Length] = None,
        progress_interval: Optional[Length] = None,
        retry: RetryPolicy = RetryPolicy(),
        liveness: Optional[LivenessPolicy] = LivenessPolicy(),
        wait: bool = False,
        content_family: Union[Family, str, None] = None,
        passive: bool = False,
        include_theme: bool = False,
        upcoming_entries: int = 0,
        redacted: bool = False,
        batch_delay: Optional[Length] = None,
    ) -> AsyncWatch[Frame]:
        """Watches widgets: a snapshot, then every change; see `frames`.

        selector           the widgets, also those that are added later; None: all
        fields             the fields to send ("data", "data.percent", "labels", …); (): all
        events             also yield the widgets' events, in order with the changes, after
                           `after_sequence` or from now on
        resume_token       continue after the frame with this token, without a snapshot; needs the
                           same selector, fields and content_family
        min_interval       shortest time between two changes in seconds, at most 60; changes in
                           between are conflated
        progress_interval  seconds without another frame after which a Progress comes; at least 0.1
        retry              the backoff after a lost connection
        liveness           how to notice a daemon that does not answer; None: not at all
        wait               wait if there is no daemon at the beginning, or if it hangs, instead of
                           raising; the logger `widgetd` warns of the reason
        content_family     send the content for this family instead of each widget's own; widgets
                           whose kind does not support it have none
        passive            do not count as a watcher that providers are told about
        include_theme      also yield the Theme, after each Opened and at each change of it
        upcoming_entries   also yield up to this many next entries of each timeline, at most 60, as
                           Upcoming; `Mirror.advance` shows each at its date
        redacted           for a screen that everybody sees: the daemon sends neither private nodes
                           nor data; not with `events`
        batch_delay        seconds that a change waits for changes that follow it; 0 to 10; changes
                           within a second after an event of a selected widget do not wait

        Raises CallError or ProtocolError when trying again cannot help.
        """
        request = _requests.watch(
            selector,
            fields,
            events,
            after_sequence,
            resume_token,
            min_interval,
            progress_interval,
            content_family,
            passive,
            include_theme,
            upcoming_entries,
            redacted,
            batch_delay,
        )
        return AsyncWatch(self._path, methods.WATCH_WIDGETS, WidgetSession(request, retry, wait), liveness)

    def watch_events(
        self,
        selector: Optional[Selector] = None,
        *,
        names: Iterable[str] = (),
        after_sequence: Optional[int] = None,
        retry: RetryPolicy = RetryPolicy(),
        liveness: Optional[LivenessPolicy] = LivenessPolicy(),
        wait: bool = False,
    ) -> AsyncWatch[EventFrame]:
        """Watches events: those with one of `names`, or all, from now on or after
        `after_sequence`. A Gap names events that the daemon no longer keeps. No event comes twice.
        The other arguments are those of `watch`."""
        request = _requests.watch_events(selector, names, after_sequence)
        return AsyncWatch(self._path, methods.WATCH_EVENTS, EventSession(request, retry, wait), liveness)

    async def unsubscribe(self, subscription_id: int, *, timeout: Optional[float] = None) -> None:
        """Ends a stream of the same user, in any process. That watch ends without an error."""
        request = pb.UnsubscribeRequest(subscription_id=subscription_id)
        await self.call(methods.UNSUBSCRIBE, request, timeout=timeout)

    async def request_progress(
        self, subscription_id: int, *, timeout: Optional[float] = None
    ) -> None:
        """Asks a watch of widgets of the same user for a Progress."""
        request = pb.RequestProgressRequest(subscription_id=subscription_id)
        await self.call(methods.REQUEST_PROGRESS, request, timeout=timeout)
