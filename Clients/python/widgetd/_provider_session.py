"""The session of a provider: connects, declares the kinds, and connects again after each loss.

A thread of the session reads frames. `condition` guards all state, and is notified of each change.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

import grpc

from . import methods
from ._channel import closed, decode
from ._proto.v1 import kind_pb2, widget_pb2
from ._proto.v1 import provider_service_pb2 as pb
from ._liveness import LivenessPolicy
from ._provider_line import Line, error_in
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
from ._provider_state import Acknowledgements, Known, Unread
from ._resume import RetryPolicy
from ._values import _text, from_values, seconds, to_duration
from .errors import CallError, Code, ConnectionLost, ResourceExhausted, WidgetdError
from .frames import Disconnected, Gap
from .enums import Family
from .widgets import Event, Widget

#: The shortest and the longest time between two renewals of the lease, in seconds.
_RENEWAL_MIN, _RENEWAL_MAX = 0.001, 100.0
#: The daemon's default lease in seconds.
LEASE_DEFAULT = 15.0
#: Seconds after a lease in which another session may hold the name before this one gives up.
DISPLACED_GRACE = 5.0

_log = logging.getLogger("widgetd")
_now: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Options:
    """The arguments of `Provider`; see there."""

    name: str
    path: str
    lease: Optional[float]
    take_over: bool
    prune: bool
    retry: RetryPolicy
    liveness: Optional[LivenessPolicy]
    displaced_max: Optional[float]
    audience: bool
    answers_snapshots: bool


class Pending:
    """A frame that waits for its result."""

    def __init__(self, is_update: bool = False) -> None:
        self.is_update = is_update
        #: The event that the frame acknowledges with an error, and the error.
        self.failed: Optional[tuple[int, widget_pb2.WidgetError]] = None
        self.result: Union[pb.ProvideResult, WidgetdError, None] = None


class Session:
    """A provider's session, until `end`."""

    def __init__(
        self,
        options: Options,
        kinds: Iterable[kind_pb2.Kind],
        acknowledged: Optional[tuple[int, int]],
    ) -> None:
        self._options = options
        lease = LEASE_DEFAULT if options.lease is None else options.lease
        self._displaced_max = (
            lease + DISPLACED_GRACE if options.displaced_max is None else options.displaced_max
        )
        self.condition = threading.Condition()
        self.kinds = list(kinds)
        self.known = Known()
        self.events = Acknowledgements(None if acknowledged is None else acknowledged[0])
        self.unread = Unread()
        #: Counts the sessions that were opened.
        self.generation = 0
        self._epoch = 0 if acknowledged is None else acknowledged[1]
        self._line: Optional[Line] = None
        self._is_ready = False
        self._is_over = False
        self._failure: Optional[WidgetdError] = None
        self._declaring = 0
        self._is_loss_told = False
        # The time since when another session has this one's name, in seconds of `_now`.
        self._displaced_since: Optional[float] = None
        self._number = 0
        self._pending: dict[int, Pending] = {}
        self._thread = threading.Thread(
            target=self._run, name=f"widgetd-{options.name}", daemon=True
        )
        self._thread.start()

    # --- Requests in ---

    def next(self) -> Optional[ProviderRequest]:
        """The next request; None if the session was closed. Raises the error that ended it."""
        with self.condition:
            while not self.unread:
                if self._is_over:
                    if self._failure is not None:
                        raise self._failure
                    return None
                self.condition.wait()
            return self.unread.pop()

    # --- Frames out ---

    def perform(
        self,
        make: Callable[[int], Optional[pb.ProvideRequest]],
        waits: Callable[[], bool] = lambda: True,
        is_update: bool = False,
        pending: Optional[Pending] = None,
    ) -> pb.ProvideResult:
        """Sends a frame when the session is open, unless the frame is obsolete by then, and waits
        for its result. The result has no id if no frame was sent."""
        pending = pending or Pending(is_update)
        with self.condition:
            while not (self._is_ready or self._is_over) and waits():
                self.condition.wait()
            if self._is_over:
                raise self._failure or closed()
            self._number += 1
            frame = make(self._number)
            if frame is None or self._line is None:
                return pb.ProvideResult()
            self._pending[self._number] = pending
            self._line.send(frame)
            while pending.result is None:
                self.condition.wait()
        if isinstance(pending.result, WidgetdError):
            raise pending.result
        if pending.result.HasField("error"):
            raise error_in(pending.result.error)
        return pending.result

    def raise_if_over(self, error: ConnectionLost) -> None:
        """Raises the error that ended the session, if it is over. Otherwise the session reconnects."""
        with self.condition:
            if self._is_over:
                raise (self._failure or closed()) from error

    # --- The connection ---

    def _run(self) -> None:
        try:
            self._keep_open()
        except Exception as error:
            # Without this thread, all callers would wait for ever.
            failure = WidgetdError(f"the provider {self._options.name!r} ended: {error!r}")
            failure.__cause__ = error
            self.end(failure)

    def _keep_open(self) -> None:
        attempt = 0
        while not self._is_over:
            failure: WidgetdError
            try:
                self._serve()
                failure = self._lost()
            except WidgetdError as error:
                failure = error
            with self.condition:
                if self._is_over:
                    return
                # A program may send a frame that is too large again, so this ends no backoff.
                is_exhausted = isinstance(failure, ResourceExhausted)
                if self._is_ready and not is_exhausted:
                    attempt = 0
                least = self._least_delay(failure)
                if least is not None and self._is_displaced(failure):
                    break
                delay = None if least is None else self._options.retry.delay(attempt, least)
                if delay is None:
                    break
                attempt += 1
                if self._is_ready and is_exhausted:
                    _log.warning("%r was interrupted: %s", self._options.name, failure)
                self._lose(failure)
                until = time.monotonic() + delay
                while not self._is_over and (left := until - time.monotonic()) > 0:
                    self.condition.wait(left)
        self.end(failure)

    def _serve(self) -> None:
        """Opens the session and reads it to its end."""
        with self.condition:
            if self._is_over:
                return
            opening = pb.ProvideOpen(
                provider=_text(self._options.name),
                epoch=self._epoch,
                # Only the first session takes over. A later session does not replace another owner
                # of the name.
                take_over=self._options.take_over and self.generation == 0,
                include_audience=self._options.audience,
                answers_snapshots=self._options.answers_snapshots,
            )
            if self._options.lease is not None:
                opening.lease.CopyFrom(to_duration(seconds(self._options.lease)))
            if self.events.acknowledged is not None:
                opening.acknowledged_sequence = self.events.acknowledged
            renewal = max((self._options.lease or LEASE_DEFAULT) / 3, 0.1)
            line = Line(
                self._options.path,
                pb.ProvideRequest(open=opening),
                renewal,
                self._options.liveness,
            )
            self._line = line
        try:
            for data in line.incoming:
                line.heard()
                frame = decode(methods.PROVIDE, data)
                with self.condition:
                    if self._line is line:
                        self._receive(frame, line)
                        self.condition.notify_all()
        except grpc.RpcError as error:
            raise line.failure(error) from None
        finally:
            line.close()

    def _receive(self, frame: pb.ProvideResponse, line: Line) -> None:
        which = frame.WhichOneof("frame")
        if which == "opened":
            self._open(frame.opened, line)
        elif which == "result":
            if frame.result.id == self._declaring:
                if frame.result.HasField("error"):
                    raise error_in(frame.result.error)
                self._is_ready = True
            elif (pending := self._pending.pop(frame.result.id, None)) is not None:
                pending.result = frame.result
                if pending.failed is not None and not frame.result.HasField("error"):
                    self.events.told(pending.failed[0])
        elif which == "event":
            self.known.event(frame.event.widget_id)
            event = self.events.received(frame.event)
            if isinstance(event, Event):
                self.unread.append(event)
            else:
                line.send(pb.ProvideRequest(acknowledge=event))
        elif which == "gap":
            self.events.skipped(frame.gap.last_sequence)
            self.unread.append(Gap(frame.gap.first_sequence, frame.gap.last_sequence))
        elif which == "data_request":
            asked = frame.data_request
            self.known.asked(asked.widget.id)
            reason = DataRequestReason.read(asked.reason)
            self.unread.append(
                DataRequest(Widget.from_pb(asked.widget), reason, asked.id, self.generation)
            )
        elif which == "snapshot_request":
            wanted = frame.snapshot_request
            self.unread.append(
                SnapshotRequest(
                    wanted.kind,
                    Family.read(wanted.family),
                    from_values(wanted.parameters),
                    wanted.id,
                    self.generation,
                    wanted.by_owner,
                    wanted.uid,
                )
            )
        elif which == "removed":
            self.known.remove(frame.removed.widget_ids)
            for widget_id in frame.removed.widget_ids:
                self.unread.forget(widget_id)
            self.unread.append(WidgetsGone(tuple(frame.removed.widget_ids)))
        elif which == "synced":
            self.known.all_asked()
            self.unread.append(AllAsked(frame.synced.revision))
        elif which == "audience":
            told = frame.audience
            self.unread.append(Audience(tuple(told.attached), tuple(told.detached)))

    def _open(self, opened: pb.ProvideOpened, line: Line) -> None:
        self.generation += 1
        self._is_loss_told = False
        self._displaced_since = None
        self.known.begin()
        self.events.opened(self._epoch in (0, opened.epoch), opened.first_sequence)
        self._epoch = opened.epoch
        lease = opened.lease.seconds + opened.lease.nanos / 1e9
        line.renewal = min(max(lease / 3, _RENEWAL_MIN), _RENEWAL_MAX)
        self.unread.append(
            Connected(
                opened.epoch, opened.revision, opened.first_sequence, opened.includes_audience
            )
        )
        if not self.kinds and not self._options.prune:
            self._is_ready = True
            return
        self._number += 1
        self._declaring = self._number
        kinds = pb.ProvideKinds(id=self._declaring, kinds=self.kinds, prune=self._options.prune)
        line.send(pb.ProvideRequest(kinds=kinds))

    def _least_delay(self, error: WidgetdError) -> Optional[float]:
        """The shortest wait before the next attempt in seconds; None if a retry cannot help."""
        if not isinstance(error, CallError) or error.reason == "PROVIDER_REPLACED":
            return None
        if error.reason == "REVISION_COMPACTED":
            return 0.0
        if error.reason == "PROVIDER_ACTIVE":
            # The daemon may not have noticed the end of the last session.
            return 0.0 if self.generation > 0 else None
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
                self._options.name,
                error,
                self._displaced_max,
            )
            # The program gets the error even if the loss was reported before.
            self._is_loss_told = False
        return now - self._displaced_since >= self._displaced_max

    def _lost(self) -> ConnectionLost:
        return ConnectionLost(
            f"the connection to the daemon at {self._options.path} was lost; the change may have been "
            "made already",
            code=Code.UNAVAILABLE,
        )

    def _lose(self, error: WidgetdError) -> None:
        self._line = None
        self._is_ready = False
        self._declaring = 0
        waiting = self._pending.values()
        self.events.lost(
            [pending.failed for pending in waiting if pending.failed is not None],
            any(pending.is_update for pending in waiting),
        )
        # After a frame that is too large, waiting for the connection does not help the caller.
        self._fail_pending(error if isinstance(error, ResourceExhausted) else self._lost())
        if not self._is_loss_told:
            self._is_loss_told = True
            # The daemon sends all requests again.
            self.unread.clear()
            self.unread.append(Disconnected(error))
        self.condition.notify_all()

    # --- The end ---

    def close(self) -> None:
        """Ends the session for good."""
        self.end(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def end(self, failure: Optional[WidgetdError]) -> None:
        with self.condition:
            if self._is_over:
                return
            self._is_over = True
            self._failure = failure
            line, self._line = self._line, None
            self._fail_pending(failure or closed())
            if failure is None:
                self.unread.clear()
            self.condition.notify_all()
        if line is not None:
            line.close()

    def _fail_pending(self, error: WidgetdError) -> None:
        waiting, self._pending = self._pending, {}
        for pending in waiting.values():
            pending.result = error
