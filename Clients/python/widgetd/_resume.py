"""The state of a watch between connections, without any I/O.

`Session` takes encoded messages and errors, and returns frames and waits. `Watch` and `AsyncWatch`
carry them out. docs/PROTOCOL.md requires these invariants of a client:

- The resume token is that of the last whole frame. Parts of a snapshot or of a change set are kept
  apart and dropped when the stream ends. The daemon sends them again.
- An event is delivered once: a number that was seen in an epoch is never delivered again.
- If a frame does not fit the previous frames, the watch starts over with a snapshot. It never guesses.
"""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass, field
from typing import Callable, Generic, Iterable, Optional, TypeVar, Union

from google.protobuf.message import DecodeError, Message

from ._proto.v1 import event_pb2
from ._proto.v1 import widget_service_pb2 as pb
from .errors import (
    CallError,
    Code,
    ConnectionFailed,
    ProtocolError,
    QuotaExceeded,
    Unavailable,
    WidgetdError,
)
from .frames import (
    Changes,
    Disconnected,
    EventFrame,
    Events,
    Frame,
    Gap,
    Opened,
    Progress,
    Reconnected,
    Reset,
    ResetReason,
    Snapshot,
)
from .widgets import Event
from .theme import Theme
from .upcoming import Upcoming, UpcomingEntries

_log = logging.getLogger("widgetd")

F = TypeVar("F", bound=Union[Frame, EventFrame])


@dataclass(frozen=True)
class RetryPolicy:
    """The backoff and the number of retries.

    The wait doubles after each attempt, up to a bound. It is shortened at random by up to half, so
    that clients that lost the same daemon do not all reconnect at the same moment.
    """

    #: Seconds before the first attempt, before they are shortened.
    delay_initial: float = 0.1
    #: The longest wait, in seconds.
    delay_max: float = 10.0
    #: The number of attempts in a row before the watch gives up; None: it never gives up.
    attempts_max: Optional[int] = None
    #: A number from 0 to 1 that shortens the waits: 0 leaves them, almost 1 halves them.
    jitter: Callable[[], float] = field(default=random.random, compare=False)

    def delay(self, attempt: int, least: float = 0.0) -> Optional[float]:
        """Seconds before the next attempt, after this many failures; None: no more attempts."""
        if self.attempts_max is not None and attempt >= self.attempts_max:
            return None
        # Doubling stops at 2**64, so it is quick and does not overflow.
        bounded = min(self.delay_initial * 2.0 ** min(attempt, 64), self.delay_max)
        return max(bounded * (1 - 0.5 * min(max(self.jitter(), 0.0), 1.0)), least, 0.0)


class StartOver(WidgetdError):
    """The stream cannot continue. Open it again with the session's present request."""

    def __init__(self, reason: ResetReason) -> None:
        self.reason = reason
        super().__init__(reason.value)


class Session(Generic[F]):
    """Decides what a watch does next. See `WidgetSession` and `EventSession`."""

    def __init__(
        self, retry: RetryPolicy, wait: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._retry = retry
        self._wait = wait
        self._now = now
        self.is_open = False
        self.subscription_id = 0
        self.epoch: Optional[int] = None
        self._ever_opened = False
        self._opened_at = 0.0
        # The failed attempts since the stream last worked.
        self._attempt = 0
        # The resets since the last whole frame.
        self._restarts = 0
        self._owes_reconnected = False
        # The reason that was logged last, before the stream first opened.
        self._logged = ""

    # The common part of the two kinds of watch: open, receive, fail.

    def open(self) -> bytes:
        """Called before each attempt to open the stream. Returns the encoded request."""
        self.is_open = False
        self._forget_parts()
        return self._request().SerializeToString(deterministic=True)

    def receive(self, data: bytes) -> list[F]:
        """Takes a message; returns what to deliver. Raises StartOver, ProtocolError."""
        was_open = self.is_open
        frames = list(self._receive(data))
        if was_open:
            # `opened` does not reset the attempts, because a daemon that crashes at each stream
            # sends it, too.
            self._attempt = 0
        elif self._owes_reconnected:
            self._owes_reconnected = False
            frames.insert(0, Reconnected())  # type: ignore[arg-type]
        if any(isinstance(frame, (Snapshot, Changes, Progress, Events)) for frame in frames):
            self._restarts = 0
        return frames

    def fail(self, error: WidgetdError) -> tuple[list[F], float]:
        """The stream failed. Returns what to deliver, and the seconds before the next attempt.

        Raises the error if a retry cannot help. Before the stream first opened, logs each new reason.
        """
        if self.is_open and self._now() - self._opened_at > self._retry.delay_max:
            self._attempt = 0
        was_open, self.is_open = self.is_open, False
        reason = self._restart_reason(error, was_open)
        if reason is not None:
            self.start_over(reason)
            # The first retry comes at once. Later ones wait, so that a daemon that refuses every
            # stream is not asked in a loop.
            delay = self._retry.delay(self._restarts - 1) if self._restarts else 0.0
            self._restarts += 1
            if delay is None:
                raise error
            return [Reset(reason)], delay  # type: ignore[list-item]
        if not self._can_be_retried(error, was_open):
            raise error
        least = (error.retry_delay or 0.0) if isinstance(error, CallError) else 0.0
        delay = self._retry.delay(self._attempt, least)
        if delay is None:
            raise error
        self._attempt += 1
        if not self._ever_opened:
            if str(error) != self._logged:
                self._logged = str(error)
                _log.warning("waiting for the daemon: %s", error)
            return [], delay
        if self._owes_reconnected:
            return [], delay
        self._owes_reconnected = True
        return [Disconnected(error)], delay  # type: ignore[list-item]

    def _can_be_retried(self, error: WidgetdError, was_open: bool) -> bool:
        if not self._ever_opened and not self._wait:
            return False
        if isinstance(error, ConnectionFailed):
            return error.is_transient
        if isinstance(error, Unavailable):
            return True
        if isinstance(error, QuotaExceeded):
            # The daemon may not have noticed yet that the last connection is gone.
            return self._ever_opened
        # gRPC sends this code if a connection breaks at a bad moment. The daemon does not send it.
        odd = (Code.UNKNOWN, Code.INTERNAL, Code.CANCELLED)
        return (
            isinstance(error, CallError)
            and error.status is None
            and was_open
            and (error.code in odd)
        )

    @staticmethod
    def _restart_reason(error: WidgetdError, was_open: bool) -> Optional[ResetReason]:
        if isinstance(error, StartOver):
            return error.reason
        if isinstance(error, CallError):
            if error.reason == "REVISION_COMPACTED":
                return ResetReason.COMPACTED
            if error.reason == "EPOCH_CHANGED":
                return ResetReason.EPOCH_CHANGED
        return None

    def _opened(self, frame: Opened) -> Iterable[Frame]:
        if self.is_open:
            raise ProtocolError("the daemon opened a stream twice; restart or update it")
        known, self.epoch = self.epoch, frame.epoch
        if known is not None and known != frame.epoch:
            if self._stands_on_epoch():
                raise StartOver(ResetReason.EPOCH_CHANGED)
            self.start_over(ResetReason.EPOCH_CHANGED)
            self.epoch = frame.epoch
            yield Reset(ResetReason.EPOCH_CHANGED)
        self.is_open = self._ever_opened = True
        self._opened_at = self._now()
        self.subscription_id = frame.subscription_id
        yield frame

    def _needs_opened(self) -> None:
        if not self.is_open:
            raise ProtocolError("a stream does not begin with `opened`; restart or update widgetd")

    def start_over(self, reason: ResetReason) -> None:
        """Forgets the position of the watch."""
        raise NotImplementedError

    def _request(self) -> Message:
        raise NotImplementedError

    def _forget_parts(self) -> None:
        raise NotImplementedError

    def _receive(self, data: bytes) -> Iterable[F]:
        raise NotImplementedError

    def _stands_on_epoch(self) -> bool:
        """Whether the request has a token or number that is invalid in another epoch."""
        raise NotImplementedError


def _new_events(batch: pb.EventBatch, after: int) -> Optional[Events]:
    """The events that were not seen before; None if there are none."""
    fresh: list[event_pb2.Event] = []
    for event in batch.events:
        if event.sequence > after:
            after = event.sequence
            fresh.append(event)
    if not fresh:
        return None
    message = batch if len(fresh) == len(batch.events) else pb.EventBatch(events=fresh)
    return Events(tuple(Event.from_pb(event) for event in fresh), message)


def _new_gap(gap: pb.EventGap, after: int) -> Optional[Gap]:
    first = max(gap.first_sequence, after + 1)
    return Gap(first, gap.last_sequence) if first <= gap.last_sequence else None


class WidgetSession(Session[Frame]):
    """The state of a watch of widgets: the last resume token and the last event."""

    def __init__(
        self,
        request: pb.WatchWidgetsRequest,
        retry: RetryPolicy,
        wait: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(retry, wait, now)
        self.request = pb.WatchWidgetsRequest()
        self.request.CopyFrom(request)
        # The revision of the last whole frame; None if it is not known.
        self._revision: Optional[int] = None
        self._holds_state = False
        self._chunks: list[pb.WatchWidgetsResponse] = []
        self._parts: Optional[pb.ChangeSet] = None
        # Entries that came before their frame was complete.
        self._upcoming: dict[str, UpcomingEntries] = {}
        self._fake_clock = False

    def _request(self) -> Message:
        return self.request

    def _forget_parts(self) -> None:
        self._chunks = []
        self._parts = None
        self._upcoming = {}
        self._holds_state = bool(self.request.resume_token)

    def start_over(self, reason: ResetReason) -> None:
        self.request.resume_token = b""
        self._revision = None
        if reason is ResetReason.EPOCH_CHANGED and self.request.HasField("after_sequence"):
            self.request.after_sequence = 0  # All events of another store are new.

    def _stands_on_epoch(self) -> bool:
        return bool(self.request.resume_token) or self.request.after_sequence > 0

    def _receive(self, data: bytes) -> Iterable[Frame]:
        try:
            message = pb.WatchWidgetsResponse.FromString(data)
        except DecodeError as error:
            raise ProtocolError(f"a frame of WatchWidgets cannot be decoded: {error}") from error
        kind = message.WhichOneof("frame")
        if kind == "opened":
            said = message.opened
            yield from self._opened(
                Opened(said.subscription_id, said.epoch, said.revision, said.last_sequence)
            )
            if self.request.include_events:
                self.request.after_sequence = said.last_sequence
            return
        self._needs_opened()
        if kind == "snapshot":
            if self._holds_state:
                raise StartOver(ResetReason.INCONSISTENT)
            self._chunks.append(message)
            for widget in message.snapshot.widgets:
                self._upcoming.pop(widget.id, None)
            for name in message.snapshot.removed_ids:
                self._upcoming.pop(name, None)
        elif kind == "synced":
            if self._holds_state:
                raise StartOver(ResetReason.INCONSISTENT)
            chunks, self._chunks = tuple(self._chunks), []
            self._holds_state = True
            self._stands_at(message.synced.revision, message.synced.resume_token)
            yield Snapshot(message.synced.revision, message.synced.resume_token, chunks)
            yield from self._held_upcoming()
        elif kind == "changes":
            yield from self._changes(message.changes)
        elif kind == "progress":
            progress = message.progress
            if not self._holds_state:
                raise StartOver(ResetReason.INCONSISTENT)
            token = progress.resume_token or self.request.resume_token
            self._stands_at(max(progress.revision, self._revision or 0), token)
            if self.request.include_events:
                self._saw(progress.last_sequence)
            yield Progress(progress.revision, progress.resume_token, progress.last_sequence)
        elif kind == "theme":
            yield Theme.from_pb(message.theme)
        elif kind == "upcoming":
            upcoming = Upcoming.from_pb(message.upcoming)
            if self._holds_state and self._parts is None:
                yield upcoming
            else:
                self._upcoming.update((widget.id, widget) for widget in upcoming.widgets)
                self._fake_clock = upcoming.fake_clock
        elif kind == "events":
            events = _new_events(message.events, self.request.after_sequence)
            if events is not None:
                self._saw(events.events[-1].sequence)
                yield events
        elif kind == "gap":
            gap = _new_gap(message.gap, self.request.after_sequence)
            if gap is not None:
                self._saw(gap.last_sequence)
                yield gap

    def _changes(self, part: pb.ChangeSet) -> Iterable[Frame]:
        whole = self._parts
        if (
            not self._holds_state
            or (self._revision is not None and part.from_revision < self._revision)
            or (whole is not None and whole.from_revision != part.from_revision)
        ):
            raise StartOver(ResetReason.INCONSISTENT)
        for change in part.changes:
            self._upcoming.pop(_changed_id(change), None)
        if whole is None:
            whole = part
        else:
            whole.changes.extend(part.changes)
        if part.more:
            self._parts = whole
            return
        self._parts = None
        if part.to_revision < part.from_revision:
            raise StartOver(ResetReason.INCONSISTENT)
        whole.more = False
        whole.to_revision = part.to_revision
        whole.resume_token = part.resume_token
        self._stands_at(part.to_revision, part.resume_token)
        yield Changes(whole.from_revision, whole.to_revision, whole.resume_token, whole)
        yield from self._held_upcoming()

    def _held_upcoming(self) -> Iterable[Frame]:
        if self._upcoming:
            yield Upcoming(tuple(self._upcoming.values()), self._fake_clock)
            self._upcoming = {}

    def _stands_at(self, revision: int, token: bytes) -> None:
        self._revision = revision
        self.request.resume_token = token

    def _saw(self, sequence: int) -> None:
        self.request.after_sequence = max(self.request.after_sequence, sequence)


def _changed_id(change: pb.WidgetChange) -> str:
    kind = change.WhichOneof("change")
    if kind == "added":
        return change.added.widget.id
    return change.updated.id if kind == "updated" else change.removed.id


class EventSession(Session[EventFrame]):
    """The state of a watch of events: the last event and its epoch."""

    def __init__(
        self,
        request: pb.WatchEventsRequest,
        retry: RetryPolicy,
        wait: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(retry, wait, now)
        self.request = pb.WatchEventsRequest()
        self.request.CopyFrom(request)

    def _request(self) -> Message:
        return self.request

    def _forget_parts(self) -> None:
        pass

    def start_over(self, reason: ResetReason) -> None:
        self.request.after_sequence = 0

    def _stands_on_epoch(self) -> bool:
        return self.request.after_sequence > 0

    def _receive(self, data: bytes) -> Iterable[EventFrame]:
        try:
            message = pb.WatchEventsResponse.FromString(data)
        except DecodeError as error:
            raise ProtocolError(f"a frame of WatchEvents cannot be decoded: {error}") from error
        kind = message.WhichOneof("frame")
        if kind == "opened":
            said = message.opened
            opened = Opened(said.subscription_id, said.epoch, 0, said.after_sequence)
            yield from self._opened(opened)  # type: ignore[misc]
            self.request.after_sequence = said.after_sequence
            return
        self._needs_opened()
        after = self.request.after_sequence
        if kind == "events":
            events = _new_events(message.events, after)
            if events is not None:
                self.request.after_sequence = events.events[-1].sequence
                yield events
        elif kind == "gap":
            gap = _new_gap(message.gap, after)
            if gap is not None:
                self.request.after_sequence = gap.last_sequence
                yield gap
