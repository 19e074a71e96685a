"""The memory of a provider: widgets, and the events and requests that wait for the program.

Nothing here knows connections or threads. `Session` guards all of it with its condition.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Iterable, Optional, Union

from ._proto.v1 import event_pb2, widget_pb2
from ._proto.v1 import provider_service_pb2 as pb
from ._provider_requests import Audience, Connected, DataRequest, ProviderRequest, WidgetsGone
from .frames import Gap
from .widgets import Event

#: The number of removed ids that a provider remembers. Changes of these widgets are obsolete, not wrong.
GONE_KEPT_MAX = 10_000


class Known:
    """The widgets that a provider knows: the present ones, and the latest removed ones."""

    def __init__(self) -> None:
        self._there: set[str] = set()
        self._not_asked: set[str] = set()
        self._gone: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, id: str) -> bool:
        return id in self._there or id in self._gone

    def begin(self) -> None:
        """A session was opened: the daemon asks about every widget."""
        self._not_asked = set(self._there)

    def asked(self, id: str) -> None:
        self._there.add(id)
        self._not_asked.discard(id)
        self._gone.pop(id, None)

    def all_asked(self) -> None:
        self.remove(self._not_asked)
        self._not_asked = set()

    def event(self, id: str) -> None:
        if id not in self._there:
            self._go(id)

    def remove(self, ids: Iterable[str]) -> None:
        for id in ids:
            if id in self._there:
                self._there.discard(id)
                self._go(id)

    def _go(self, id: str) -> None:
        self._gone[id] = None
        self._gone.move_to_end(id)
        while len(self._gone) > GONE_KEPT_MAX:
            self._gone.popitem(last=False)


class Acknowledgements:
    """The events that a provider got and acknowledged, over all losses of its connection.

    `acknowledged` is the last event that the next session need not send again. None: unknown.
    """

    def __init__(self, acknowledged: Optional[int]) -> None:
        self.acknowledged = acknowledged
        # The last event of this session.
        self.delivered = 0
        # Of this epoch: the highest received number, and events that the program has and has not
        # acknowledged. Events of an earlier epoch must not count as events of this epoch.
        self._highest_seen = 0
        self._handed_out: dict[int, Event] = {}
        # Events that the program had when an update was lost. Their effects may be missing, so the
        # events come again, and only the later copy can be acknowledged.
        self._void: dict[int, Event] = {}
        # Errors of events, to be sent when the events come again.
        self._failures: dict[int, widget_pb2.WidgetError] = {}

    def opened(self, is_same_epoch: bool, first_sequence: int) -> None:
        """A session was opened that sends events from this one on."""
        # Numbers of another epoch have no meaning.
        if not is_same_epoch:
            self.acknowledged = None
            self._failures.clear()
            self._handed_out.clear()
            self._void.clear()
            self._highest_seen = 0
        # The program gets all events from now on, even if the connection is lost before the first
        # acknowledgement.
        if self.acknowledged is None and first_sequence:
            self.acknowledged = first_sequence - 1

    def received(self, message: event_pb2.Event) -> Union[Event, pb.ProvideAcknowledge]:
        """The event for the program, or the frame to send if it was acknowledged before."""
        self.skipped(message.sequence)
        error = self._failures.pop(self.delivered, None)
        if error is not None or self.delivered <= (self.acknowledged or 0):
            return pb.ProvideAcknowledge(sequence=self.delivered, error=error)
        event = Event.from_pb(message)
        self._handed_out[event.sequence] = event
        return event

    def skipped(self, sequence: int) -> None:
        """The daemon went on behind this event, which may be lost."""
        self.delivered = sequence
        self._highest_seen = max(self._highest_seen, sequence)

    def acknowledge(
        self, event: Union[Event, Gap, int], error: Optional[widget_pb2.WidgetError]
    ) -> Optional[pb.ProvideAcknowledge]:
        """Acknowledges an event and all earlier ones. Returns the frame to send, if there is one."""
        sequence = sequence_of(event)
        if sequence > self._highest_seen or self._void.get(sequence) is event:
            return None
        if isinstance(event, Event) and self._handed_out.get(sequence) != event:
            return None
        for held in (self._handed_out, self._void):
            for done in [known for known in held if known <= sequence]:
                del held[done]
        # One with an error is acknowledged when the daemon has the error.
        self.told(sequence if error is None else sequence - 1)
        if sequence > self.delivered:
            # The event came in an earlier session. Its error is sent when the event comes again, or
            # when the daemon skips it.
            if error is not None:
                self._failures[sequence] = error
            return None
        return pb.ProvideAcknowledge(sequence=sequence, error=error)

    def told(self, sequence: int) -> None:
        """The daemon need not send events up to this one again."""
        self.acknowledged = max(sequence, self.acknowledged or 0)

    def lost(
        self, failed: Iterable[tuple[int, widget_pb2.WidgetError]], has_lost_update: bool
    ) -> None:
        """The connection was lost, with acknowledgements of these errors, and perhaps an update."""
        self.delivered = 0
        self._failures.update(failed)
        if self._handed_out and has_lost_update:
            self._void.update(self._handed_out)
            self._highest_seen = min(self._handed_out) - 1
            self._handed_out.clear()


def sequence_of(event: Union[Event, Gap, int]) -> int:
    if isinstance(event, Event):
        return event.sequence
    return event.last_sequence if isinstance(event, Gap) else event


class Unread:
    """The requests that the program has not read, and the watched widgets by those that it has."""

    def __init__(self) -> None:
        # Data requests by widget, so that a search is fast among many. Other requests have numbers
        # as keys.
        self._requests: OrderedDict[Union[str, int], ProviderRequest] = OrderedDict()
        self._number = 0
        # The attached widgets, as of the last request that was read. None: unknown.
        self._attached: Optional[set[str]] = None
        # Whether the next Audience is the full state, and not a difference.
        self._audience_begins = False

    def __len__(self) -> int:
        return len(self._requests)

    def is_attached(self, id: str) -> bool:
        return self._attached is None or id in self._attached

    def append(self, request: ProviderRequest) -> None:
        if isinstance(request, DataRequest):
            # The later request replaces the earlier one, and comes last.
            self.forget(request.widget.id)
            self._requests[request.widget.id] = request
        elif (
            isinstance(request, Audience)
            and self._requests
            and isinstance(last := next(reversed(self._requests.values())), Audience)
        ):
            # Merge unread frames, so that a provider that does not read has at most one.
            attached = dict.fromkeys(last.attached + request.attached)
            detached = dict.fromkeys(last.detached + request.detached)
            self._requests[next(reversed(self._requests))] = Audience(
                tuple(id for id in attached if id not in request.detached),
                tuple(id for id in detached if id not in request.attached),
            )
        else:
            self._number += 1
            self._requests[self._number] = request

    def pop(self) -> ProviderRequest:
        """The next request. There must be one."""
        request = self._requests.popitem(last=False)[1]
        self._note(request)
        return request

    def forget(self, widget_id: str) -> None:
        """Drops the data request of a removed widget."""
        self._requests.pop(widget_id, None)

    def clear(self) -> None:
        self._requests.clear()

    def _note(self, request: ProviderRequest) -> None:
        """Applies a request to the attached widgets when it is handed out."""
        if isinstance(request, Connected):
            self._audience_begins = request.has_audience
            if not request.has_audience:
                self._attached = None
        elif isinstance(request, WidgetsGone) and self._attached is not None:
            self._attached.difference_update(request.ids)
        elif isinstance(request, Audience):
            if self._audience_begins or self._attached is None:
                self._attached = set()
                self._audience_begins = False
            self._attached.update(request.attached)
            self._attached.difference_update(request.detached)
