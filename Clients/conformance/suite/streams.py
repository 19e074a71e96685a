"""A stream of the suite. The suite checks each frame against docs/PROTOCOL.md.

`WatchReader` keeps a mirror of the frames' widgets. In every scenario, it checks with every frame:
revisions and event numbers ascend, change sets join without a gap or an overlap, parts fit
together, and snapshots come before `synced`.
"""

import copy
from typing import Any

from lib.mirror import Gap, Mirror, comparable
from lib.protobuf import SCHEMA
from suite import messages
from suite.drivers import Answer, Driver, Failed
from suite.messages import Document

# The fields that are sent with every read mask.
ALWAYS = {"id", "kind", "revision", "created_revision"}


class Reader:
    """The common part of WatchWidgets and WatchEvents: frames one by one, events in order."""

    response = ""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number
        self.opened: Document | None = None
        self.last_sequence: int | None = None
        self.frames_seen = 0

    def next(self) -> tuple[str, Document] | Answer:
        """The next frame as its kind and its content, or the end."""
        frame = self.driver.frame(self.number)
        if isinstance(frame, Answer):
            return frame
        message = SCHEMA.decode(self.response, frame)
        if len(message) != 1:
            raise Failed(f"a frame with {len(message)} kinds: {message}")
        self.frames_seen += 1
        content = messages.plain(self.response, message)
        (kind, inner), = content.items()
        if self.opened is None and kind != "opened":
            raise Failed(f"the first frame is {kind}, not opened")
        self._check(kind, message)
        return kind, inner

    def _check(self, kind: str, message: Document) -> None:
        raise NotImplementedError

    def _opens(self, message: Document) -> None:
        if self.opened is not None:
            raise Failed("opened twice")
        self.opened = messages.plain(self.response, message)["opened"]

    def _events(self, kind: str, content: Document) -> None:
        first, last = ((content["events"][0]["sequence"], content["events"][-1]["sequence"])
                       if kind == "events"
                       else (content.get("first_sequence", 0), content["last_sequence"]))
        numbers = [event["sequence"] for event in content.get("events", [])]
        if numbers != sorted(set(numbers)) or first > last:
            raise Failed(f"events out of order: {numbers}")
        if self.last_sequence is not None and first <= self.last_sequence:
            raise Failed(f"event {first} came after {self.last_sequence}")
        self.last_sequence = last


class EventReader(Reader):
    """A stream of WatchEvents."""

    response = "widgetd.v1.WatchEventsResponse"

    def _check(self, kind: str, message: Document) -> None:
        content = message[kind]
        if kind == "opened":
            self._opens(message)
            self.last_sequence = content.get("after_sequence", 0)
        else:
            self._events(kind, content)


class WatchReader(Reader):
    """A stream of WatchWidgets, with the copy of its reader."""

    response = "widgetd.v1.WatchWidgetsResponse"

    def __init__(self, driver: Driver, number: int, request: Document, follows: bool,
                 before: "WatchReader | None" = None) -> None:
        super().__init__(driver, number)
        self.request, self.follows = request, follows
        everything = not (request.get("selector") or request.get("read_mask"))
        self.mirror: Mirror = copy.deepcopy(before.mirror) if before else Mirror(strict=everything)
        self.mirror.disconnected()
        self.needs_snapshot = before is None
        # Whether the library must resume by its token, so that a snapshot is a failure.
        self.must_resume = False
        self.sets_seen = 0

    def _check(self, kind: str, message: Document) -> None:
        content = message[kind]
        if kind == "opened":
            self._opened(content, messages.plain(self.response, message)[kind])
        elif kind in ("events", "gap"):
            self._events(kind, content)
            self._event_before_consequences(content)
        else:
            self._state(kind, content, message)

    def _opened(self, content: Document, opened: Document) -> None:
        if self.opened is not None and not self.follows:
            raise Failed("opened twice")
        self.mirror.disconnected()
        if self.mirror.epoch not in (None, content["epoch"]):
            if not self.follows:
                raise Failed("the epoch changed on a stream")
            self.mirror.epoch = None
            self.mirror.revision = None
            self.needs_snapshot = True
            self.last_sequence = None
        self.mirror.apply({"opened": content})
        self.opened = opened

    def _state(self, kind: str, content: Document, message: Document) -> None:
        may_start_over = self.needs_snapshot or self.follows and not self.must_resume
        if kind in ("snapshot", "synced") and not may_start_over:
            raise Failed(f"{kind} where there must be none")
        if kind in ("changes", "progress") and self.needs_snapshot:
            raise Failed(f"{kind} before synced")
        before = self.mirror.revision
        if kind == "synced":
            if before is not None and content.get("revision", 0) < before:
                raise Failed(f"synced at {content.get('revision', 0)} after {before}")
            self.needs_snapshot = False
        if kind == "changes":
            names = [next(iter(change.values())) for change in content.get("changes", [])]
            ids = [name.get("id") or name["widget"]["id"] for name in names]
            if len(ids) != len(set(ids)):
                raise Failed("a widget twice in one frame")
            self.sets_seen += 0 if content.get("more") else 1
        if kind == "progress" and content.get("revision", 0) < (before or 0):
            raise Failed(f"progress at {content.get('revision', 0)} after {before}")
        try:
            self.mirror.apply(message)
        except (Gap, KeyError, StopIteration) as error:
            raise Failed(f"the frames do not fit together: {error!r}") from error

    def _event_before_consequences(self, content: Document) -> None:
        for event in content.get("events", []):
            if self.sets_seen and event.get("revision", 0) < (self.mirror.revision or 0):
                # A progress frame or a synced may be later; a change set may not.
                raise Failed(f"event {event['sequence']} of revision {event.get('revision', 0)} "
                             f"came after revision {self.mirror.revision}")

    def differs(self, listed: dict[str, Any]) -> str | None:
        """The difference between the copy and the daemon's list; None if there is none."""
        held = self.mirror.state()
        wanted = {name: comparable(widget) for name, widget in listed.items()}
        if mask := self.request.get("read_mask"):
            # A field outside the mask may have its default in a library's types. Changes without a
            # frame do not change the revision of the reader's copy.
            kept = {path.split(".")[0] for path in mask} | ALWAYS - {"revision"}
            held, wanted = ({name: {key: value for key, value in widget.items() if key in kept}
                             for name, widget in side.items()} for side in (held, wanted))
        if held == wanted:
            return None
        for name in sorted(set(held) | set(wanted)):
            if held.get(name) != wanted.get(name):
                return f"{name} is held as {held.get(name)} and is {wanted.get(name)}"
        return "the order of things"
