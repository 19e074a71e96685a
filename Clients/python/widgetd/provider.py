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
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Iterable, Mapping, Optional, Type, Union

from . import _requests
from ._address import socket_path
from ._proto.v1 import provider_service_pb2 as pb
from ._proto.v1 import widget_service_pb2
from ._liveness import LivenessPolicy
from ._provider_requests import (
    AllAsked,
    Audience,
    Connected,
    DataRequest,
    DataRequestReason,
    ProviderRequest,
    SnapshotRequest,
    WidgetsGone,
)
from ._provider_session import DISPLACED_GRACE, LEASE_DEFAULT, Options, Pending, Session
from ._provider_state import GONE_KEPT_MAX, sequence_of
from ._resume import RetryPolicy
from ._values import _text, to_values
from .errors import CallError, ConnectionLost, NotFound
from .frames import Gap
from .kinds import Kind, KindResult
from .widgets import Event, Transition, WidgetError
from .timelines import Timeline

__all__ = [
    "AllAsked",
    "Audience",
    "Connected",
    "DISPLACED_GRACE",
    "DataRequest",
    "DataRequestReason",
    "GONE_KEPT_MAX",
    "LEASE_DEFAULT",
    "ProvidedUpdate",
    "Provider",
    "ProviderRequest",
    "SnapshotRequest",
    "WidgetsGone",
]

#: The reasons of obsolete changes: the widget was removed, or has another kind now.
_NOT_ITS_OWN = ("WIDGET_NOT_FOUND", "NOT_PROVIDED")

_log = logging.getLogger("widgetd")


@dataclass(frozen=True)
class ProvidedUpdate:
    """A change of one widget. An empty change means that the widget's data is still true."""

    id: str
    data: Optional[Mapping[str, Any]] = None
    unset_data: Iterable[str] = ()
    error: Optional[WidgetError] = None
    stale: Optional[bool] = None
    transition: Optional[Transition] = None
    #: Replaces the timeline. None: it stays.
    timeline: Optional[Timeline] = None
    #: Removes the timeline.
    clear_timeline: bool = False

    def patch(self) -> widget_service_pb2.WidgetPatch:
        return _requests.widget_patch(
            self.data,
            self.unset_data,
            stale=self.stale,
            error=self.error,
            timeline=self.timeline,
            clear_timeline=self.clear_timeline,
        )

    def message_pb(self) -> pb.ProvidedUpdate:
        return pb.ProvidedUpdate(
            widget_id=_text(self.id),
            patch=self.patch(),
            transition=_requests.hint(self.transition),
        )


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
    liveness      how to notice a daemon that does not answer; None: not at all
    displaced_max seconds of retries while another session has the name, after this session was
                  lost. Default: the lease and 5 seconds
    audience      report with `Audience` which widgets somebody watches
    answers_snapshots
                  yield a `SnapshotRequest` when somebody calls get_snapshot for one of the kinds;
                  otherwise that caller gets the kind's sample

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
        liveness: Optional[LivenessPolicy] = LivenessPolicy(),
        displaced_max: Optional[float] = None,
        audience: bool = False,
        answers_snapshots: bool = False,
    ) -> None:
        self.name = name
        self._session = Session(
            Options(
                name,
                socket_path(socket),
                lease,
                take_over,
                prune,
                retry,
                liveness,
                displaced_max,
                audience,
                answers_snapshots,
            ),
            _requests.messages("kinds", Kind, kinds),
            acknowledged,
        )

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
        timeline: Optional[Timeline] = None,
        clear_timeline: bool = False,
    ) -> Optional[int]:
        """Changes one widget, which is not stale afterwards. A `timeline` replaces the earlier one.
        Returns the store's revision, or None if the change is obsolete (see the class). Raises
        WidgetNotFound for an id that this provider does not know."""
        return self.update_all(
            [
                ProvidedUpdate(
                    id, data, unset_data, error, stale, transition, timeline, clear_timeline
                )
            ]
        )

    def update_all(self, updates: Iterable[ProvidedUpdate]) -> Optional[int]:
        """Changes widgets in one commit. Returns the store's revision, or None if all updates are
        obsolete (see the class). Obsolete updates are skipped. If the daemon refuses another update,
        nothing changes, and the error has the widget in `metadata["widget_id"]`."""
        left = _requests.messages("updates", ProvidedUpdate, updates)
        while True:
            try:
                return self._session.perform(
                    lambda n: pb.ProvideRequest(update=pb.ProvideUpdate(id=n, updates=left)),
                    is_update=True,
                ).revision
            except ConnectionLost as error:
                self._session.raise_if_over(error)
                return None
            except CallError as error:
                gone = error.metadata.get("widget_id", "")
                with self._session.condition:
                    if error.reason not in _NOT_ITS_OWN or gone not in self._session.known:
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
        timeline: Optional[Timeline] = None,
        clear_timeline: bool = False,
    ) -> Optional[int]:
        """Answers a data request with data, a timeline or an error. Returns the store's revision, or None if the
        request is obsolete: the widget was removed, was answered, or got other parameters, or the
        connection was lost (see the class)."""
        answer = pb.ProvideAnswer(
            data_request_id=request.id, transition=_requests.hint(transition)
        )
        has_change = data is not None or timeline is not None or clear_timeline
        if error is not None and not has_change:
            answer.error.CopyFrom(error.message_pb())
        else:
            answer.patch.CopyFrom(
                _requests.widget_patch(
                    data,
                    unset_data,
                    error=error,
                    timeline=timeline,
                    clear_timeline=clear_timeline,
                )
            )

        def is_current() -> bool:
            return request.generation == self._session.generation

        def make(number: int) -> Optional[pb.ProvideRequest]:
            if not is_current():
                return None
            answer.id = number
            return pb.ProvideRequest(answer=answer)

        try:
            result = self._session.perform(make, waits=is_current)
        except ConnectionLost as lost:
            self._session.raise_if_over(lost)
            return None
        except NotFound as refusal:
            if refusal.reason != "DATA_REQUEST_NOT_FOUND":
                raise
            return None
        return result.revision if result.id else None

    def answer_snapshot(
        self,
        request: SnapshotRequest,
        data: Mapping[str, Any],
        entry: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Answers a snapshot request with the data that the instance would have now, and with the
        values of the timeline entry that it would show. Fields without a value have their default.
        Several requests can be open; answer them in any order. A late answer changes nothing."""
        snapshot = pb.SnapshotData(data=to_values(data), entry=to_values(entry or {}))
        self._answer_snapshot(request, pb.ProvideSnapshot(data=snapshot))

    def refuse_snapshot(self, request: SnapshotRequest, message: str) -> None:
        """Refuses a snapshot request: the caller gets the kind's sample, with this message as the
        reason. A late refusal changes nothing."""
        error = WidgetError("SNAPSHOT_REFUSED", message)
        self._answer_snapshot(request, pb.ProvideSnapshot(error=error.message_pb()))

    def _answer_snapshot(self, request: SnapshotRequest, answer: pb.ProvideSnapshot) -> None:
        answer.snapshot_request_id = request.id

        def is_current() -> bool:
            return request.generation == self._session.generation

        def make(number: int) -> Optional[pb.ProvideRequest]:
            answer.id = number
            return pb.ProvideRequest(snapshot=answer) if is_current() else None

        try:
            self._session.perform(make, waits=is_current)
        except ConnectionLost as lost:
            # The caller does not wait for the answer any more.
            self._session.raise_if_over(lost)

    def acknowledge(
        self, event: Union[Event, Gap, int], *, error: Optional[WidgetError] = None
    ) -> None:
        """Acknowledges an event (or gap) and all earlier ones. An error becomes the error of the
        event's widget. If the connection is lost, the next session sends the acknowledgement."""
        message = None if error is None else error.message_pb()
        events, sequence, pending = self._session.events, sequence_of(event), Pending()

        def make(number: int) -> Optional[pb.ProvideRequest]:
            said = events.acknowledge(event, message)
            if said is None:
                return None
            said.id = number
            if message is not None:
                pending.failed = (sequence, message)
            return pb.ProvideRequest(acknowledge=said)

        try:
            self._session.perform(
                make, waits=lambda: sequence <= events.delivered, pending=pending
            )
        except ConnectionLost as lost:
            self._session.raise_if_over(lost)

    def declare(self, kinds: Iterable[Kind], *, prune: bool = False) -> tuple[KindResult, ...]:
        """Replaces the declared kinds, now and whenever the session is opened again."""
        messages = _requests.messages("kinds", Kind, kinds)
        result: Optional[pb.ProvideResult] = None
        while result is None:
            try:
                result = self._session.perform(
                    lambda n: pb.ProvideRequest(
                        kinds=pb.ProvideKinds(id=n, kinds=messages, prune=prune)
                    )
                )
            except ConnectionLost as lost:
                self._session.raise_if_over(lost)
        with self._session.condition:
            self._session.kinds = messages
        return tuple(KindResult.from_pb(kind) for kind in result.kinds)

    def is_attached(self, id: str) -> bool:
        """Whether somebody watches a widget, according to the requests that were iterated so far.
        True for all widgets without `audience`, with a daemon that does not report watchers, and
        before the first Audience."""
        with self._session.condition:
            return self._session.unread.is_attached(id)

    def close(self) -> None:
        """Ends the session for good. Its widgets become stale. Iterating threads get the end of the
        iteration."""
        self._session.close()

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
        request = self._session.next()
        if request is None:
            raise StopIteration
        return request
