"""One scenario against one driver: its steps, carried out in order.

A step is an object with one verb; the verbs are the methods `do_…` below, and ../README.md lists
them. Whatever does not come out as the step says raises `Failed`; what the client has no way to do
raises `Unsupported`, before or instead of a pass.
"""

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

from lib.system import eventually
from suite import messages
from suite.conversations import ProvideReader
from suite.drivers import PATIENCE, Answer, Driver, Failed, Pair, Unsupported
from suite.messages import Document, Misuse
from suite.references import brief, resolved
from suite.refusals import error_text, refused
from suite.scenario import Scenario
from suite.servers import CLIENT_GROUP, NOBODY, HostedServer, Server
from suite.streams import EventReader, Reader, WatchReader

MIB = 1 << 20


class Run:
    """A scenario that is being carried out."""

    def __init__(self, scenario: Scenario, pair: Pair, log: str) -> None:
        self.scenario, self.pair, self.log = scenario, pair, log
        self.saved: dict[str, Any] = {}
        self.streams: dict[str, Reader] = {}
        self.calls: dict[str, tuple[str, int]] = {}
        self.server: Server
        self.driver: Driver | None = None
        # Frames that had come when a stream was paused.
        self.paused: dict[str, int] = {}
        self.at = ""

    def perform(self) -> None:
        """Carries out the scenario; raises Failed, Unsupported or Misuse."""
        identity = self._identity()
        self.server = (HostedServer(self.scenario.server, self.scenario.user) if self.pair.hosts
                       else Server(self.scenario.server))
        try:
            self.server.start()
            self.driver = Driver(self.pair, self.server.arguments(), self.log, identity)
            if isinstance(self.server, HostedServer):
                self.server.driver = self.driver
                if not eventually(self.server.answers):
                    raise Failed(f"there is no daemon; {self.driver.last_words()}")
            self._steps(self.scenario.steps)
            if not self.server.alive():
                raise Failed("the daemon is gone")
            self.at = "at the end"
            self._settle()
            self.driver.quit()
        finally:
            if self.driver is not None:
                self.driver.kill()
            self.server.close()

    def _settle(self) -> None:
        """Ends the open conversations, and checks that no result is missing."""
        for name, reader in self.streams.items():
            if isinstance(reader, ProvideReader) and not reader.is_over:
                if not reader.is_finished:
                    self.do_finish({"finish": name})
                self.do_end({"end": name})

    def _identity(self) -> tuple[str, ...]:
        if not self.scenario.user or self.pair.hosts:
            return ()
        if os.geteuid() != 0:
            raise Unsupported("only root can run a client as another user")
        groups = {"client": ("--groups", str(CLIENT_GROUP)), "stranger": ("--clear-groups",)}
        identity = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
                    *groups[self.scenario.user], "--")
        # The program may be in a folder that only root can search, such as a home folder.
        if subprocess.run([*identity, "test", "-x", self.pair.command[0]], check=False).returncode:
            raise Unsupported(f"another user cannot run {os.path.realpath(self.pair.command[0])}")
        return identity

    def _steps(self, steps: list[Document], n: int | None = None) -> None:
        for index, step in enumerate(steps):
            verb = next(iter(step))
            method = getattr(self, f"do_{verb}", None)
            if method is None:
                raise Misuse(f"{self.scenario.name}: no verb {verb}")
            if n is None:
                self.at = f"step {index + 1}, {verb} {brief(step[verb])}"
            method(resolved(step, n, self._looked_up) if verb != "repeat" else step)

    # --- References

    def _looked_up(self, path: list[str]) -> Any:
        name, *rest = path
        if name in self.streams:
            reader = self.streams[name]
            found: Any = {"opened": reader.opened or {}, "sequence": reader.last_sequence}
            if isinstance(reader, WatchReader):
                found["token"] = reader.mirror.token.hex()
                found["revision"] = reader.mirror.revision
        elif name in self.saved:
            found = self.saved[name]
        else:
            raise Misuse(f"{self.scenario.name}: nothing is named {name}")
        for key in rest:
            if isinstance(found, list):
                found = found[int(key)] if int(key) < len(found) else None
            else:
                found = (found or {}).get(key)
        # A missing field is zero, because scenarios refer to numbers.
        return 0 if found is None else found

    @property
    def client(self) -> Driver:
        """The driver, once it runs."""
        assert self.driver is not None
        return self.driver

    # --- Calls

    def do_call(self, step: Document) -> None:
        """A unary call of the client under test, and what must come of it.

        With `retried` it is made again while it is UNAVAILABLE: some libraries wait a while before
        they connect again, and fail what is called meanwhile.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            method, number = self._started(step)
            answer = self.client.answer(number)
            if not step.get("retried") or answer.code != "UNAVAILABLE" \
                    or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self._judge(method, answer, step)

    def do_begin(self, step: Document) -> None:
        """Starts a call; `answer` is about its answer."""
        self.calls[step["as"]] = self._started({**step, "call": step["begin"]})

    def do_answer(self, step: Document) -> None:
        """The answer to a call that `begin` started."""
        method, number = self.calls.pop(step["answer"])
        self._judge(method, self.client.answer(number), step)

    def _started(self, step: Document) -> tuple[str, int]:
        method = step["call"]
        if "bytes" in step and self.pair.typed:
            raise Unsupported(self.pair.typed)
        data = (bytes.fromhex(step["bytes"]) if "bytes" in step else
                messages.encode(messages.request_type(method), step.get("send", {})))
        return method, self.client.start_call(
            messages.full_method(method), step.get("timeout", 0), data)

    def _judge(self, method: str, answer: Answer, step: Document) -> None:
        if "error" in step:
            self._refused(answer, step)
        elif not answer.ok:
            raise Failed(f"{method} failed: {error_text(answer)}")
        else:
            found = messages.decode(messages.response_type(method), answer.data)
            wrong = messages.difference(step.get("ok", {}), found)
            if wrong:
                raise Failed(f"{method} answered: {wrong}")
            if "as" in step:
                self.saved[step["as"]] = found

    def _refused(self, answer: Answer, step: Document) -> None:
        refused(answer, step, self.pair.name.split("/")[1])

    def do_provide(self, step: Document) -> None:
        """Another program provides kinds, and answers no request."""
        self.server.provide(step["provide"], step["kinds"])

    def do_other(self, step: Document) -> None:
        """A call of another program, which must succeed."""
        found = self.server.other(step["other"], step.get("send", {}))
        wrong = messages.difference(step.get("ok", {}), found)
        if wrong:
            raise Failed(f"another program's {step['other']} answered: {wrong}")
        if "as" in step:
            self.saved[step["as"]] = found

    # --- Streams

    def do_open(self, step: Document) -> None:
        """Opens a stream, raw. `resume` names a stream whose last token it continues."""
        method, name = step["open"], step["as"]
        request = dict(step.get("send", {}))
        before = self.streams[step["resume"]] if "resume" in step else None
        if isinstance(before, WatchReader):
            request = {**before.request, **request, "resume_token": before.mirror.token.hex()}
        number = self.client.open(
            messages.full_method(method), step.get("timeout", 0),
            messages.encode(messages.request_type(method), request))
        if method == "WatchEvents":
            self.streams[name] = EventReader(self.client, number)
        else:
            self.streams[name] = WatchReader(
                self.client, number, request, False,
                before if isinstance(before, WatchReader) else None)

    def do_follow(self, step: Document) -> None:
        """Watches with the library's own resuming watch; the value is the stream's name."""
        request = step.get("send", {})
        number = self.client.follow(
            messages.encode("widgetd.v1.WatchWidgetsRequest", request))
        self.streams[step["follow"]] = WatchReader(self.client, number, request, True)

    def _next(self, name: str) -> tuple[str, Document]:
        frame = self.streams[name].next()
        if isinstance(frame, Answer):
            raise Failed(f"stream {name} ended: "
                         + ("well" if frame.ok else error_text(frame)))
        return frame

    def do_frames(self, step: Document) -> None:
        """The stream's next frames: kinds, or {kind: what is in it}."""
        name, expected = step["frames"], step["are"]
        anyhow = isinstance(expected, dict)
        left = list(expected["$any_order"] if anyhow else expected)
        while left:
            kind, content = self._next(name)
            wrong = [_frame_difference(each, kind, content) for each in left]
            at = next((at for at, why in enumerate(wrong) if why is None), None) if anyhow else 0
            if at is None:
                raise Failed(f"the next frame is {kind} {brief(content)}, expected one of "
                             f"{brief(left)}")
            if wrong[at]:
                raise Failed(wrong[at])
            del left[at]
            self.saved[f"{name}_{kind}"] = content

    def do_until(self, step: Document) -> None:
        """Reads until a frame `is` so; `frames_at_most` counts it too."""
        count = 1
        while wrong := _frame_difference(step["is"], *self._next(step["until"])):
            count += 1
            if count > step["frames_at_most"]:
                raise Failed(f"{count} frames and none is it: {wrong}")
        if os.environ.get("WIDGETD_CONFORMANCE_VERBOSE"):
            print(f"      {count} frames", flush=True)

    def do_synced(self, step: Document) -> None:
        """Reads `opened`, the snapshot and `synced`. The copy must then equal the daemon's
        list."""
        name, sizes = step["synced"], []
        while True:
            kind, content = self._next(name)
            if kind == "snapshot":
                sizes.append(len(content.get("widgets", [])))
            if kind == "synced":
                break
            if kind not in ("opened", "snapshot", "events", "gap"):
                raise Failed(f"{kind} before synced")
        if len(sizes) < step.get("chunks_at_least", 0):
            raise Failed(f"{len(sizes)} snapshot frames")
        if "widgets" in step and len(self._watch(name).mirror.widgets) != step["widgets"]:
            raise Failed(f"{len(self._watch(name).mirror.widgets)} widgets, "
                         f"expected {step['widgets']}")
        self._is_current(name)

    def _watch(self, name: str) -> WatchReader:
        reader = self.streams[name]
        if not isinstance(reader, WatchReader):
            raise Misuse(f"{name} is no watch of widgets")
        return reader

    def _is_current(self, name: str) -> None:
        reader = self._watch(name)
        filled = messages.filled("widgetd.v1.ListWidgetsRequest", {
            key: reader.request[key]
            for key in ("selector", "read_mask", "content_family", "redacted")
            if key in reader.request})
        revision, listed = self.server.raw_widgets(filled)
        if reader.mirror.strict and reader.mirror.revision != revision:
            raise Failed(f"the stream is at {reader.mirror.revision}, the daemon at {revision}")
        wrong = reader.differs(listed)
        if wrong:
            raise Failed(f"at revision {revision} {wrong}")

    def do_current(self, step: Document) -> None:
        """Reads until the stream has the daemon's revision. Both must then have the same
        widgets."""
        reader = self._watch(step["current"])
        revision = self.server.other("ListWidgets", {"page_size": 1}).get("revision", 0)
        sets = 0
        if not reader.mirror.strict:
            # Changes that do not concern the stream send nothing, so ask for its progress.
            self.server.other("RequestProgress", {
                "subscription_id": (reader.opened or {}).get("subscription_id", 0)})
        while (reader.mirror.revision or 0) < revision or reader.needs_snapshot:
            kind, _ = self._next(step["current"])
            sets += kind == "changes"
        if os.environ.get("WIDGETD_CONFORMANCE_VERBOSE"):
            print(f"      {sets} frames of changes", flush=True)
        if "frames_at_most" in step and sets > step["frames_at_most"]:
            raise Failed(f"{sets} frames of changes, expected {step['frames_at_most']} at most")
        if "frames_at_least" in step and sets < step["frames_at_least"]:
            raise Failed(f"{sets} frames of changes, expected {step['frames_at_least']} at least")
        self._is_current(step["current"])

    def do_restarted(self, step: Document) -> None:
        """Reads until the library has opened the stream again by itself: `with` its token, so that
        no snapshot may follow, or `with` a new snapshot."""
        reader = self._watch(step["restarted"])
        reader.must_resume = step["with"] == "token"
        kinds: list[str] = []
        while True:
            kind, _ = self._next(step["restarted"])
            kinds.append(kind)
            if kind == ("opened" if step["with"] == "token" else "synced"):
                break
        if "opened" not in kinds:
            raise Failed(f"the stream went on with {kinds}")
        if step["with"] == "snapshot":
            self._is_current(step["restarted"])

    def do_end(self, step: Document) -> None:
        """The stream's end, after the remaining frames."""
        while True:
            frame = self.streams[step["end"]].next()
            if isinstance(frame, Answer):
                break
        if "error" in step:
            self._refused(frame, step)
        elif not frame.ok and not (step.get("cancelled") and frame.code == "CANCELLED"):
            raise Failed(f"stream {step['end']} failed: {error_text(frame)}")

    def do_ends_with(self, step: Document) -> None:
        """Reads until the stream has sent or skipped all events up to this number."""
        reader, seen, gaps = self.streams[step["ends_with"]], set(), 0
        first = (reader.last_sequence or 0) + 1
        while (reader.last_sequence or 0) < step["sequence"]:
            kind, content = self._next(step["ends_with"])
            if kind == "gap":
                gaps += 1
                seen |= set(range(content.get("first_sequence", 0), content["last_sequence"] + 1))
            seen |= {event["sequence"] for event in content.get("events", [])}
        if missing := sorted(set(range(first, step["sequence"] + 1)) - seen):
            raise Failed(f"neither sent nor in a gap: events {missing}")
        if gaps < step.get("gaps_at_least", 0):
            raise Failed(f"{gaps} gaps")

    def do_both(self, _: Document) -> None:
        """The next steps need calls and a second stream beside an unread stream."""
        self.client.need("both")

    def do_pause(self, step: Document) -> None:
        """The client stops reading a stream."""
        number = self.streams[step["pause"]].number
        self.client.acknowledge("pause", "paused", number)
        self.paused[step["pause"]] = self.client.waiting(number)

    def do_continue(self, step: Document) -> None:
        """The client reads it again."""
        number = self.streams[step["continue"]].number
        # Two frames may still come: one that was being read at the pause, and one that was already
        # read.
        more = self.client.waiting(number) - self.paused.pop(step["continue"])
        if more > 2:
            raise Failed(f"{more} frames came while the stream was not to be read")
        self.client.acknowledge("continue", "continued", number)

    def do_cancel(self, step: Document) -> None:
        """The client cancels a stream."""
        self.client.cancel(self.streams[step["cancel"]].number)

    # --- Conversations

    def do_converse(self, step: Document) -> None:
        """Opens a stream on which both sides send, raw; `send` is the first message."""
        method, name = step["converse"], step["as"]
        number = self.client.converse(messages.full_method(method), step.get("timeout", 0))
        self.streams[name] = ProvideReader(
            self.client, number,
            self.scenario.server.get("limits", {}).get("provider_events_unacknowledged_max", 64))
        if "send" in step:
            self.do_say({"say": name, "send": step["send"]})

    def do_say(self, step: Document) -> None:
        """The client sends a message in a conversation."""
        reader = self._conversation(step["say"])
        if "bytes" in step:
            if self.pair.typed:
                raise Unsupported(self.pair.typed)
            self.client.send(reader.number, bytes.fromhex(step["bytes"]))
            return
        reader.said(step["send"])
        self.client.send(reader.number, messages.encode(ProvideReader.request, step["send"]))

    def do_finish(self, step: Document) -> None:
        """The client sends no more in a conversation."""
        reader = self._conversation(step["finish"])
        reader.is_finished = True
        self.client.finish(reader.number)

    def _conversation(self, name: str) -> ProvideReader:
        reader = self.streams[name]
        if not isinstance(reader, ProvideReader):
            raise Misuse(f"{name} is not a conversation")
        return reader

    # --- The daemon

    def do_daemon(self, step: Document) -> None:
        """`stop`, `start`, `restart`, or `kill` with SIGKILL."""
        actions: dict[str, list[Callable[[], None]]] = {
            "stop": [self.server.stop], "start": [self.server.start], "kill": [self.server.kill],
            "restart": [self.server.stop, self.server.start]}
        if step["daemon"] not in actions:
            raise Misuse(f"the daemon cannot {step['daemon']}")
        for action in actions[step["daemon"]]:
            action()

    def do_stats(self, step: Document) -> None:
        """Waits until GetStats has these values, for changes that the daemon notices later."""
        last: list[Any] = []

        def fits() -> bool:
            last[:] = [messages.difference(step["stats"], self.server.other("GetStats", {}))]
            return last[0] is None
        if not eventually(fits):
            raise Failed(f"GetStats: {last[0]}")

    # --- Everything else

    def do_repeat(self, step: Document) -> None:
        """Steps done `repeat` times, with {n} and $n counting from 0."""
        for n in range(step["repeat"]):
            self._steps(step["steps"], n)

    def do_flood(self, step: Document) -> None:
        """Another program changes one key again and again: `flood` times, `bytes` each.

        A third one reads each change before the next is made, so each has been a round of its own.
        Meanwhile the daemon's memory must not grow by more than `grows_at_most_mib`: what a reader
        does not take is kept for nobody.
        """
        count, size = step["flood"], step["bytes"]
        # The memory for the first changes does not count, because of caches and bytes under way.
        warm = count // 8
        before = most = 0
        reader = self.server.watch(step["widget"], "data.n")
        for n in range(count):
            self.server.other("UpdateWidget", {
                "id": step["widget"], "omit_widget": True,
                "patch": {"set_data": {"text": f"{n:08d}" + "x" * (size - 8), "n": n}}})
            next(reader)
            if n == warm:
                before = self.server.memory_bytes()
            elif n > warm and n % 8 == 0:
                most = max(most, self.server.memory_bytes() - before)
        reader.close()
        if os.environ.get("WIDGETD_CONFORMANCE_VERBOSE"):
            print(f"      memory grew by {most / MIB:.1f} MiB", flush=True)
        if most > step["grows_at_most_mib"] * MIB:
            raise Failed(f"{count - warm} changes of {size} bytes that nobody read: "
                         f"memory grew by {most / MIB:.1f} MiB")

    def do_equal(self, step: Document) -> None:
        """All of these are the same."""
        if any(value != step["equal"][0] for value in step["equal"]):
            raise Failed(f"not equal: {brief(step['equal'])}")

    def do_differ(self, step: Document) -> None:
        """These two are not the same."""
        first, second = step["differ"]
        if first == second:
            raise Failed(f"the same: {brief(first)}")

    def do_ascend(self, step: Document) -> None:
        """Each of these numbers is greater than the one before."""
        numbers = step["ascend"]
        if any(b <= a for a, b in zip(numbers, numbers[1:])):
            raise Failed(f"not ascending: {numbers}")


def _frame_difference(expected: Any, kind: str, content: Document) -> str | None:
    """The difference of a frame from a kind or {kind: content}; None if there is none."""
    wanted, fit = (expected, {}) if isinstance(expected, str) else next(iter(expected.items()))
    if kind != wanted:
        return f"the next frame is {kind} {brief(content)}, expected {wanted}"
    return messages.difference(fit, content, kind)
