"""Providing kinds of widgets: a session that reconnects by itself.

    with widgetd.Provider("thermometer", [gauge]) as provider:
        for request in provider:
            if isinstance(request, widgetd.DataRequest):
                provider.answer(request, {"celsius": read()})
            elif isinstance(request, widgetd.Event):
                ...
                provider.acknowledge(request)

A separate thread reads the daemon's messages. gRPC's thread renews the lease. Any thread may call any
method, also while another thread iterates.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Type, Union

import grpc

from . import _requests, methods
from ._address import socket_path, target
from ._channel import STREAM_OPTIONS, closed, decode, encode, error_of
from ._proto.rpc import error_details_pb2, status_pb2
from ._proto.v1 import provider_service_pb2 as pb
from ._proto.v1 import widget_pb2, widget_service_pb2
from ._resume import RetryPolicy
from .errors import (
    DOMAIN,
    CallError,
    Code,
    ConnectionLost,
    NotFound,
    WidgetdError,
    call_error,
)
from .frames import Disconnected, Gap
from .kinds import Kind, KindResult
from .model import (
    Event,
    Transition,
    Widget,
    WidgetError,
    Word,
)
from ._values import _text, seconds, to_duration

#: The shortest and the longest time between two renewals of the lease, in seconds.
_RENEWAL_MIN, _RENEWAL_MAX = 0.001, 100.0
#: The daemon's default lease in seconds.
LEASE_DEFAULT = 15.0
#: Seconds after a lease in which another session may hold the name before this one gives up.
DISPLACED_GRACE = 5.0
#: The number of removed ids that a provider remembers. Changes of these widgets are obsolete, not wrong.
GONE_KEPT_MAX = 10_000
#: The reasons of obsolete changes: the widget was removed, or has another kind now.
_NOT_ITS_OWN = ("WIDGET_NOT_FOUND", "NOT_PROVIDED")

_log = logging.getLogger("widgetd")
_now: Callable[[], float] = time.monotonic


class DataRequestReason(Word):
    """The reason of a data request."""

    UNSPECIFIED = 0
    #: It was created.
    CREATED = 1
    #: The provider reconnected, or got the widget's kind.
    PROVIDER_RETURNED = 2
    PARAMETERS_CHANGED = 3
    #: Somebody called refresh_widgets.
    REFRESH = 4
    #: Its timeline ended, or its refresh time came.
    TIMELINE = 5


@dataclass(frozen=True)
class Connected:
    """The session is open, for the first time or again. The daemon asks about every widget again."""

    epoch: int
    revision: int
    #: Events from this one on will come.
    first_sequence: int
    #: Whether Audience will come.
    has_audience: bool = False


@dataclass(frozen=True)
class DataRequest:
    """The daemon wants data for a widget: answer, or update the widget."""

    widget: Widget
    reason: DataRequestReason
    id: int = field(repr=False)
    #: Counts the sessions that were opened.
    generation: int = field(repr=False)


@dataclass(frozen=True)
class WidgetsGone:
    """Widgets were removed. It may name widgets that the provider does not know."""

    ids: tuple[str, ...]


@dataclass(frozen=True)
class AllAsked:
    """The daemon has asked about every widget since Connected. All other widgets are gone."""

    revision: int


@dataclass(frozen=True)
class Audience:
    """Watchers came or went. `Provider.is_attached` returns the state after this request."""

    #: Widgets that became watched.
    attached: tuple[str, ...] = ()
    #: Widgets that have had no watcher for some seconds.
    detached: tuple[str, ...] = ()


ProviderRequest = Union[
    Connected, Disconnected, Event, Gap, DataRequest, WidgetsGone, AllAsked, Audience
]


@dataclass(frozen=True)
class ProvidedUpdate:
    """A change of one widget. An empty change means that the widget's data is still true."""

    id: str
    data: Optional[Mapping[str, Any]] = None
    unset_data: Iterable[str] = ()
    error: Optional[WidgetError] = None
    stale: Optional[bool] = None
    transition: Optional[Transition] = None

    def patch(self) -> widget_service_pb2.WidgetPatch:
        return _requests.update_widget(
            self.id,
            self.data,
            self.unset_data,
            False,
            None,
            (),
            None,
            (),
            self.stale,
            self.error,
            "",
            False,
            None,
            "",
        ).patch

    def message_pb(self) -> pb.ProvidedUpdate:
        return pb.ProvidedUpdate(
            widget_id=_text(self.id),
            patch=self.patch(),
            transition=_requests.hint(self.transition),
        )


class _Line:
    """One connection: its queue of frames, and the call to end it."""

    def __init__(self, path: str, opening: pb.ProvideRequest, renewal: float) -> None:
        self.renewal = renewal
        self._outgoing: queue.SimpleQueue[Optional[pb.ProvideRequest]] = queue.SimpleQueue()
        self._outgoing.put(opening)
        self._channel = grpc.insecure_channel(target(path), options=STREAM_OPTIONS)
        make: Any = self._channel.stream_stream(methods.PROVIDE.path, None, None)
        self.incoming: Any = make(self._frames())

    def send(self, frame: pb.ProvideRequest) -> None:
        self._outgoing.put(frame)

    def close(self) -> None:
        self._outgoing.put(None)
        self.incoming.cancel()
        self._channel.close()

    def _frames(self) -> Iterator[bytes]:
        while True:
            frame: Optional[pb.ProvideRequest]
            try:
                frame = self._outgoing.get(timeout=self.renewal)
            except queue.Empty:
                frame = pb.ProvideRequest(keep_alive=pb.ProvideKeepAlive())
            if frame is None:
                return
            yield encode(frame)


class _Pending:
    """A frame that waits for its result."""

    def __init__(self, is_update: bool = False) -> None:
        self.is_update = is_update
        #: The event that the frame acknowledges with an error, and the error.
        self.failed: Optional[tuple[int, widget_pb2.WidgetError]] = None
        self.result: Union[pb.ProvideResult, WidgetdError, None] = None


class _Known:
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


class Provider:
    """A session as the provider of kinds, until `close`; an iterator of the daemon's requests.

    name          the provider's name; a provider has one session at a time
    kinds         the kinds that it provides; declared at each connection
    socket        as for `Client`
    lease         the time after which a silent provider counts as gone, 1 to 300 seconds. The
                  provider renews it by itself.
    take_over     end another session of this provider, instead of raising AlreadyExists
    prune         remove kinds that were declared earlier and are not among `kinds`
    acknowledged  (sequence, epoch) of the last handled event of an earlier run
    retry         the backoff after a lost connection
    displaced_max seconds of retries while another session has the name, after this session was
                  lost. Default: the lease and 5 seconds
    audience      report with `Audience` which widgets somebody watches

    It connects at once. If there is no daemon, it waits for one. Changes wait until it is
    connected.

    Obsolete changes are not errors: `update`, `update_all` and `answer` return None. A change is
    obsolete in these cases: its widget was removed or has another provider's kind now, its data
    request was answered or replaced, or the connection was lost before the result came. In the last
    case the daemon may or may not have made the change. When the session is open again, the daemon
    asks about every widget, and sends the events again that were not acknowledged.

    Iterating, and every method, raises the CallError that ended the session for good: another
    program took over, the kinds were refused, or this user may not provide.
    """

    def __init__(
        self,
        name: str,
        kinds: Iterable[Kind] = (),
        socket: Optional[str] = None,
        *,
        lease: Optional[float] = None,
        take_over: bool = False,
        prune: bool = False,
        acknowledged: Optional[tuple[int, int]] = None,
        retry: RetryPolicy = RetryPolicy(),
        displaced_max: Optional[float] = None,
        audience: bool = False,
    ) -> None:
        self.name = name
        self._path = socket_path(socket)
        self._kinds = [kind.message_pb() for kind in kinds]
        self._lease = lease
        self._take_over = take_over
        self._prune = prune
        self._wants_audience = audience
        self._retry = retry
        if displaced_max is None:
            displaced_max = (LEASE_DEFAULT if lease is None else lease) + DISPLACED_GRACE
        self._displaced_max = displaced_max
        self._acknowledged: Optional[int] = None if acknowledged is None else acknowledged[0]
        self._epoch = 0 if acknowledged is None else acknowledged[1]
        # All below is guarded by the condition, which tells of every change.
        self._condition = threading.Condition()
        self._line: Optional[_Line] = None
        self._is_ready = False
        self._is_over = False
        self._failure: Optional[WidgetdError] = None
        self._declaring = 0
        self._generation = 0
        self._delivered = 0
        # Of this epoch: the highest that came, and events that were handed out and are not dealt
        # with. What was taken in an earlier epoch must not pass for one of this.
        self._highest_seen = 0
        self._handed_out: dict[int, Event] = {}
        # Events handed out when an update was lost. What they ask for may not be done, so they come
        # again, and only the later copy can be acknowledged.
        self._void: dict[int, Event] = {}
        self._known = _Known()
        # The attached widgets, as of the last request that was iterated. None: unknown.
        self._attached: Optional[set[str]] = None
        # Whether the next Audience is the full state, and not a difference.
        self._audience_begins = False
        self._is_loss_told = False
        # Since when another session has had this one's name, in seconds of `_now`.
        self._displaced_since: Optional[float] = None
        self._number = 0
        self._pending: dict[int, _Pending] = {}
        self._failures: dict[int, widget_pb2.WidgetError] = {}
        # By widget, so that one is found among very many; other things by a number of their own.
        self._unread: OrderedDict[Union[str, int], ProviderRequest] = OrderedDict()
        self._unread_number = 0
        self._thread = threading.Thread(target=self._run, name=f"widgetd-{name}", daemon=True)
        self._thread.start()

    # --- What a provider does ---

    def update(
        self,
        id: str,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        error: Optional[WidgetError] = None,
        stale: Optional[bool] = None,
        transition: Optional[Transition] = None,
    ) -> Optional[int]:
        """Changes one widget, which is not stale afterwards. Returns the store's revision, or None
        if the change is obsolete (see the class). Raises WidgetNotFound for an id that this provider
        does not know."""
        return self.update_all([ProvidedUpdate(id, data, unset_data, error, stale, transition)])

    def update_all(self, updates: Iterable[ProvidedUpdate]) -> Optional[int]:
        """Changes widgets in one commit. Returns the store's revision, or None if all updates are
        obsolete (see the class). Obsolete updates are skipped. If the daemon refuses another update,
        nothing changes, and the error has the widget in `metadata["widget_id"]`."""
        left = [update.message_pb() for update in updates]
        while True:
            try:
                return self._perform(
                    lambda n: pb.ProvideRequest(update=pb.ProvideUpdate(id=n, updates=left)),
                    is_update=True,
                ).revision
            except ConnectionLost as error:
                self._raise_if_over(error)
                return None
            except CallError as error:
                gone = error.metadata.get("widget_id", "")
                with self._condition:
                    if error.reason not in _NOT_ITS_OWN or gone not in self._known:
                        raise
                    if error.reason == "NOT_PROVIDED":
                        _log.warning("%s", error)
                    others = [update for update in left if update.widget_id != gone]
                if len(others) == len(left):
                    raise
                if not others:
                    return None
                left = others

    def answer(
        self,
        request: DataRequest,
        data: Optional[Mapping[str, Any]] = None,
        *,
        unset_data: Iterable[str] = (),
        error: Optional[WidgetError] = None,
        transition: Optional[Transition] = None,
    ) -> Optional[int]:
        """Answers a data request with data or an error. Returns the store's revision, or None if the
        request is obsolete: the widget was removed, was answered, or got other parameters, or the
        connection was lost (see the class)."""
        answer = pb.ProvideAnswer(
            data_request_id=request.id, transition=_requests.hint(transition)
        )
        if error is not None and data is None:
            answer.error.CopyFrom(error.message_pb())
        else:
            update = ProvidedUpdate(request.widget.id, data, unset_data, error)
            answer.patch.CopyFrom(update.patch())

        def is_current() -> bool:
            return request.generation == self._generation

        def make(number: int) -> Optional[pb.ProvideRequest]:
            if not is_current():
                return None
            answer.id = number
            return pb.ProvideRequest(answer=answer)

        try:
            result = self._perform(make, waits=is_current)
        except ConnectionLost as lost:
            self._raise_if_over(lost)
            return None
        except NotFound as refusal:
            if refusal.reason != "DATA_REQUEST_NOT_FOUND":
                raise
            return None
        return result.revision if result.id else None

    def acknowledge(
        self, event: Union[Event, Gap, int], *, error: Optional[WidgetError] = None
    ) -> None:
        """Acknowledges an event (or gap) and all earlier ones. An error becomes the error of the
        event's widget. If the connection is lost, the next session sends the acknowledgement."""
        if isinstance(event, Event):
            sequence = event.sequence
        elif isinstance(event, Gap):
            sequence = event.last_sequence
        else:
            sequence = event
        message = None if error is None else error.message_pb()
        pending = _Pending()

        def make(number: int) -> Optional[pb.ProvideRequest]:
            if sequence > self._highest_seen or self._void.get(sequence) is event:
                return None
            if isinstance(event, Event) and self._handed_out.get(sequence) != event:
                return None
            for held in (self._handed_out, self._void):
                for done in [known for known in held if known <= sequence]:
                    del held[done]
            # One with an error is acknowledged when the daemon has the error.
            whole = sequence if message is None else sequence - 1
            self._acknowledged = max(whole, self._acknowledged or 0)
            if sequence > self._delivered:
                # It came in an earlier session: told when it comes again, or is not sent again.
                if message is not None:
                    self._failures[sequence] = message
                return None
            if message is not None:
                pending.failed = (sequence, message)
            return pb.ProvideRequest(
                acknowledge=pb.ProvideAcknowledge(id=number, sequence=sequence, error=message)
            )

        try:
            self._perform(make, waits=lambda: sequence <= self._delivered, pending=pending)
        except ConnectionLost as lost:
            self._raise_if_over(lost)

    def declare(self, kinds: Iterable[Kind], *, prune: bool = False) -> tuple[KindResult, ...]:
        """Replaces the declared kinds, now and whenever the session is opened again."""
        messages = [kind.message_pb() for kind in kinds]
        result: Optional[pb.ProvideResult] = None
        while result is None:
            try:
                result = self._perform(
                    lambda n: pb.ProvideRequest(
                        kinds=pb.ProvideKinds(id=n, kinds=messages, prune=prune)
                    )
                )
            except ConnectionLost as lost:
                self._raise_if_over(lost)
        with self._condition:
            self._kinds = messages
        return tuple(KindResult.from_pb(kind) for kind in result.kinds)

    def is_attached(self, id: str) -> bool:
        """Whether somebody watches a widget, according to the requests that were iterated so far.
        True for all widgets without `audience`, with a daemon that does not report watchers, and
        before the first Audience."""
        with self._condition:
            return self._attached is None or id in self._attached

    def close(self) -> None:
        """Ends the session for good. Its widgets become stale. Iterating threads get the end of the
        iteration."""
        self._end(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Provider:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    # --- Reading ---

    def __iter__(self) -> Provider:
        return self

    def __next__(self) -> ProviderRequest:
        with self._condition:
            while not self._unread:
                if self._is_over:
                    if self._failure is not None:
                        raise self._failure
                    raise StopIteration
                self._condition.wait()
            request = self._unread.popitem(last=False)[1]
            self._note(request)
            return request

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

    def _deliver(self, request: ProviderRequest) -> None:
        if isinstance(request, DataRequest):
            # The later one takes the place of the earlier one, and comes last all the same.
            self._forget(request.widget.id)
            self._unread[request.widget.id] = request
        elif isinstance(request, Audience) and self._unread and isinstance(
            last := next(reversed(self._unread.values())), Audience
        ):
            # Merge unread frames: a provider that does not read holds one at most.
            attached = dict.fromkeys(last.attached + request.attached)
            detached = dict.fromkeys(last.detached + request.detached)
            self._unread[next(reversed(self._unread))] = Audience(
                tuple(id for id in attached if id not in request.detached),
                tuple(id for id in detached if id not in request.attached),
            )
        else:
            self._unread_number += 1
            self._unread[self._unread_number] = request

    def _forget(self, widget_id: str) -> None:
        self._unread.pop(widget_id, None)

    # --- Frames out ---

    def _perform(
        self,
        make: Callable[[int], Optional[pb.ProvideRequest]],
        waits: Callable[[], bool] = lambda: True,
        is_update: bool = False,
        pending: Optional[_Pending] = None,
    ) -> pb.ProvideResult:
        """Sends a frame when the session is open, unless the frame is obsolete by then, and waits
        for its result. The result has no id if no frame was sent."""
        pending = pending or _Pending(is_update)
        with self._condition:
            while not (self._is_ready or self._is_over) and waits():
                self._condition.wait()
            if self._is_over:
                raise self._failure or closed()
            self._number += 1
            frame = make(self._number)
            if frame is None or self._line is None:
                return pb.ProvideResult()
            self._pending[self._number] = pending
            self._line.send(frame)
            while pending.result is None:
                self._condition.wait()
        if isinstance(pending.result, WidgetdError):
            raise pending.result
        if pending.result.HasField("error"):
            raise _error(pending.result.error)
        return pending.result

    def _raise_if_over(self, error: ConnectionLost) -> None:
        """Raises the error that ended the session, if it is over. Otherwise the session reconnects."""
        with self._condition:
            if self._is_over:
                raise (self._failure or closed()) from error

    # --- The connection ---

    def _run(self) -> None:
        try:
            self._keep_open()
        except Exception as error:
            # Without this thread everybody would wait for ever.
            failure = WidgetdError(f"the provider {self.name!r} broke off: {error!r}")
            failure.__cause__ = error
            self._end(failure)

    def _keep_open(self) -> None:
        attempt = 0
        while not self._is_over:
            failure: WidgetdError
            try:
                self._serve()
                failure = self._lost()
            except WidgetdError as error:
                failure = error
            with self._condition:
                if self._is_over:
                    return
                if self._is_ready:
                    attempt = 0
                least = self._least_delay(failure)
                if least is not None and self._is_displaced(failure):
                    break
                delay = None if least is None else self._retry.delay(attempt, least)
                if delay is None:
                    break
                attempt += 1
                self._lose(failure)
                until = time.monotonic() + delay
                while not self._is_over and (left := until - time.monotonic()) > 0:
                    self._condition.wait(left)
        self._end(failure)

    def _serve(self) -> None:
        """Opens the session and reads it to its end."""
        with self._condition:
            if self._is_over:
                return
            opening = pb.ProvideOpen(
                provider=_text(self.name),
                epoch=self._epoch,
                # Who took this one's place later is not to be thrown out again.
                take_over=self._take_over and self._generation == 0,
                include_audience=self._wants_audience,
            )
            if self._lease is not None:
                opening.lease.CopyFrom(to_duration(seconds(self._lease)))
            if self._acknowledged is not None:
                opening.acknowledged_sequence = self._acknowledged
            line = _Line(
                self._path, pb.ProvideRequest(open=opening), max((self._lease or 15) / 3, 0.1)
            )
            self._line = line
        try:
            for data in line.incoming:
                frame = decode(methods.PROVIDE, data)
                with self._condition:
                    if self._line is line:
                        self._receive(frame, line)
                        self._condition.notify_all()
        except grpc.RpcError as error:
            call: Any = error
            raise error_of(
                call.code(), call.details(), call.trailing_metadata(), self._path
            ) from None
        finally:
            line.close()

    def _receive(self, frame: pb.ProvideResponse, line: _Line) -> None:
        which = frame.WhichOneof("frame")
        if which == "opened":
            self._open(frame.opened, line)
        elif which == "result":
            if frame.result.id == self._declaring:
                if frame.result.HasField("error"):
                    raise _error(frame.result.error)
                self._is_ready = True
            elif (pending := self._pending.pop(frame.result.id, None)) is not None:
                pending.result = frame.result
                if pending.failed is not None and not frame.result.HasField("error"):
                    self._acknowledged = max(pending.failed[0], self._acknowledged or 0)
        elif which == "event":
            self._delivered = frame.event.sequence
            self._highest_seen = max(self._highest_seen, self._delivered)
            self._known.event(frame.event.widget_id)
            error = self._failures.pop(self._delivered, None)
            if error is not None or self._delivered <= (self._acknowledged or 0):
                said = pb.ProvideAcknowledge(sequence=self._delivered, error=error)
                line.send(pb.ProvideRequest(acknowledge=said))
            else:
                event = Event.from_pb(frame.event)
                self._handed_out[event.sequence] = event
                self._deliver(event)
        elif which == "gap":
            self._delivered = frame.gap.last_sequence
            self._highest_seen = max(self._highest_seen, self._delivered)
            self._deliver(Gap(frame.gap.first_sequence, frame.gap.last_sequence))
        elif which == "data_request":
            asked = frame.data_request
            self._known.asked(asked.widget.id)
            reason = DataRequestReason.read(asked.reason)
            self._deliver(
                DataRequest(Widget.from_pb(asked.widget), reason, asked.id, self._generation)
            )
        elif which == "removed":
            self._known.remove(frame.removed.widget_ids)
            for widget_id in frame.removed.widget_ids:
                self._forget(widget_id)
            self._deliver(WidgetsGone(tuple(frame.removed.widget_ids)))
        elif which == "synced":
            self._known.all_asked()
            self._deliver(AllAsked(frame.synced.revision))
        elif which == "audience":
            told = frame.audience
            self._deliver(Audience(tuple(told.attached), tuple(told.detached)))

    def _open(self, opened: pb.ProvideOpened, line: _Line) -> None:
        self._generation += 1
        self._is_loss_told = False
        self._displaced_since = None
        self._known.begin()
        # Numbers of another history mean nothing.
        if self._epoch not in (0, opened.epoch):
            self._acknowledged = None
            self._failures.clear()
            self._handed_out.clear()
            self._void.clear()
            self._highest_seen = 0
        self._epoch = opened.epoch
        # What happens from now on is wanted, also if the connection is lost before the first event is
        # dealt with.
        if self._acknowledged is None and opened.first_sequence:
            self._acknowledged = opened.first_sequence - 1
        lease = opened.lease.seconds + opened.lease.nanos / 1e9
        line.renewal = min(max(lease / 3, _RENEWAL_MIN), _RENEWAL_MAX)
        self._deliver(
            Connected(
                opened.epoch, opened.revision, opened.first_sequence, opened.includes_audience
            )
        )
        if not self._kinds and not self._prune:
            self._is_ready = True
            return
        self._number += 1
        self._declaring = self._number
        kinds = pb.ProvideKinds(id=self._declaring, kinds=self._kinds, prune=self._prune)
        line.send(pb.ProvideRequest(kinds=kinds))

    def _least_delay(self, error: WidgetdError) -> Optional[float]:
        """The shortest wait before the next attempt in seconds; None if a retry cannot help."""
        if not isinstance(error, CallError) or error.reason == "PROVIDER_REPLACED":
            return None
        if error.reason == "REVISION_COMPACTED":
            return 0.0
        if error.reason == "PROVIDER_ACTIVE":
            # The daemon may not have noticed the end of the last session.
            return 0.0 if self._generation > 0 else None
        if not getattr(error, "is_transient", True):
            return None
        again = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.ABORTED, Code.DEADLINE_EXCEEDED)
        return (error.retry_delay or 0.0) if error.code in again else None

    def _is_displaced(self, error: WidgetdError) -> bool:
        """Whether another session has had the name longer than the daemon needs to notice the end
        of this provider's last session. Logs a warning when this time begins."""
        reason = error.reason if isinstance(error, CallError) else ""
        if reason != "PROVIDER_ACTIVE":
            if reason:
                self._displaced_since = None
            return False
        now = _now()
        if self._displaced_since is None:
            self._displaced_since = now
            _log.warning(
                "another session provides as %r: %s; trying for up to %g s",
                self.name,
                error,
                self._displaced_max,
            )
            # Heard of also if the loss was told before.
            self._is_loss_told = False
        return now - self._displaced_since >= self._displaced_max

    def _lost(self) -> ConnectionLost:
        return ConnectionLost(
            f"the connection to the daemon at {self._path} was lost; check what was done",
            code=Code.UNAVAILABLE,
        )

    def _lose(self, error: WidgetdError) -> None:
        self._line = None
        self._is_ready = False
        self._delivered = self._declaring = 0
        for pending in self._pending.values():
            if pending.failed is not None:
                self._failures.update([pending.failed])
        if self._handed_out and any(pending.is_update for pending in self._pending.values()):
            self._void.update(self._handed_out)
            self._highest_seen = min(self._handed_out) - 1
            self._handed_out.clear()
        self._fail_pending(self._lost())
        if not self._is_loss_told:
            self._is_loss_told = True
            # All of it comes again.
            self._unread.clear()
            self._deliver(Disconnected(error))
        self._condition.notify_all()

    def _end(self, failure: Optional[WidgetdError]) -> None:
        with self._condition:
            if self._is_over:
                return
            self._is_over = True
            self._failure = failure
            line, self._line = self._line, None
            self._fail_pending(failure or closed())
            if failure is None:
                self._unread.clear()
            self._condition.notify_all()
        if line is not None:
            line.close()

    def _fail_pending(self, error: WidgetdError) -> None:
        waiting, self._pending = self._pending, {}
        for pending in waiting.values():
            pending.result = error


def _status(error: pb.ProvideError) -> bytes:
    """An error in the form of a call's trailer."""
    status = status_pb2.Status(code=error.code, message=error.message)
    info = error_details_pb2.ErrorInfo(
        reason=error.reason, domain=DOMAIN, metadata=dict(error.metadata)
    )
    status.details.add(
        type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString()
    )
    if error.field:
        bad = error_details_pb2.BadRequest()
        words = error.message[len(error.field) + 2 :]
        bad.field_violations.add(
            field=error.field,
            description=words if error.message.startswith(error.field + ": ") else error.message,
        )
        status.details.add(
            type_url="type.googleapis.com/google.rpc.BadRequest", value=bad.SerializeToString()
        )
    if error.HasField("retry_delay"):
        wait = error_details_pb2.RetryInfo(retry_delay=error.retry_delay)
        status.details.add(
            type_url="type.googleapis.com/google.rpc.RetryInfo", value=wait.SerializeToString()
        )
    return status.SerializeToString()


def _error(error: pb.ProvideError) -> CallError:
    return call_error(error.code, error.message, _status(error))
