"""A driver for conformance tests: `python -m widgetd._conformance SOCKET`.

Reads commands from standard input, one a line, and writes events to standard output, one a line,
flushed at once. Words are separated by one space, messages are hex ("-" for an empty one).

    call ID METHOD TIMEOUT HEX   answer ID ok HEX | answer ID error CODE HEX
    open ID METHOD TIMEOUT HEX   frame ID HEX …, then end ID ok - | end ID error CODE HEX
    follow ID HEX                WatchWidgets through the library's resuming watch: frame ID HEX …
    converse ID METHOD TIMEOUT   opens a stream on which both sides send: the same
    send ID HEX, finish ID       a message of the client's; the client sends no more
    pause ID, continue ID        paused ID, continued ID: stops and resumes reading a stream
    cancel ID                    ends a stream: end ID error CANCELLED -
    supports                     supports WORD …
    quit                         ends with 0

TIMEOUT is in milliseconds, 0 for none. HEX of an error is its google.rpc.Status, or "-" for an error
of this client. The frames of `follow` are whole: the parts of a snapshot come together before
`synced`, and the parts of a change set as one.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from typing import Any, Iterator, Optional

import grpc

from . import methods
from ._address import target
from ._channel import CHANNEL_OPTIONS, STREAM_OPTIONS, error_of
from ._proto.v1 import widget_service_pb2 as pb
from ._resume import RetryPolicy, WidgetSession
from .client import Watch
from .errors import CallError, WidgetdError
from .frames import Changes, Events, Frame, Gap, Opened, Progress, Snapshot

_write_lock = threading.Lock()


def _write(*words: object) -> None:
    with _write_lock:
        sys.stdout.write(" ".join(str(word) for word in words) + "\n")
        sys.stdout.flush()


def _hex(data: Optional[bytes]) -> str:
    return data.hex() if data else "-"


def _bytes(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


def _seconds(milliseconds: str) -> Optional[float]:
    return None if milliseconds == "0" else int(milliseconds) / 1000


def _failure(error: grpc.RpcError, path: str) -> CallError:
    call: Any = error
    return error_of(call.code(), call.details(), call.trailing_metadata(), path)


class _Stream:
    """A stream and the thread that reads it."""

    def __init__(self, driver: Driver, id: str) -> None:
        self.driver, self.id = driver, id
        self.reads = threading.Event()
        self.reads.set()
        self.is_cancelled = False

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            for data in self.messages():
                self.reads.wait()
                if self.is_cancelled:
                    break
                _write("frame", self.id, _hex(data))
            self._end(None)
        except grpc.RpcError as error:
            self._end(_failure(error, self.driver.path))
        except WidgetdError as error:
            self._end(error)

    def _end(self, error: Optional[WidgetdError]) -> None:
        self.driver.streams.pop(self.id, None)
        if self.is_cancelled:
            _write("end", self.id, "error", "CANCELLED", "-")
        elif error is None:
            _write("end", self.id, "ok", "-")
        elif isinstance(error, CallError):
            _write("end", self.id, "error", error.code.name, _hex(error.status))
        else:
            _write("end", self.id, "error", "INTERNAL", "-")

    def cancel(self) -> None:
        self.is_cancelled = True
        self.stop()
        self.reads.set()

    def messages(self) -> Iterator[bytes]:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class _Raw(_Stream):
    def __init__(self, driver: Driver, id: str, method: str, timeout: str, data: bytes) -> None:
        super().__init__(driver, id)
        make: Any = driver.channel.unary_stream("/" + method, None, None)
        self.call: Any = make(data, timeout=_seconds(timeout))

    def messages(self) -> Iterator[bytes]:
        yield from self.call

    def stop(self) -> None:
        self.call.cancel()


class _Conversation(_Stream):
    def __init__(self, driver: Driver, id: str, method: str, timeout: str) -> None:
        super().__init__(driver, id)
        self.outgoing: queue.SimpleQueue[Optional[bytes]] = queue.SimpleQueue()
        make: Any = driver.channel.stream_stream("/" + method, None, None)
        self.call: Any = make(iter(self.outgoing.get, None), timeout=_seconds(timeout))

    def messages(self) -> Iterator[bytes]:
        try:
            yield from self.call
        finally:
            self.outgoing.put(None)

    def stop(self) -> None:
        self.call.cancel()


class _Follow(_Stream):
    def __init__(self, driver: Driver, id: str, data: bytes) -> None:
        super().__init__(driver, id)
        request = pb.WatchWidgetsRequest.FromString(data)
        session = WidgetSession(request, RetryPolicy(delay_max=1.0), True)
        self.watch: Watch[Frame] = Watch(driver.path, methods.WATCH_WIDGETS, session)

    def messages(self) -> Iterator[bytes]:
        for frame in self.watch:
            for message in _responses(frame):
                yield message.SerializeToString()

    def stop(self) -> None:
        self.watch.close()


def _responses(frame: Frame) -> Iterator[pb.WatchWidgetsResponse]:
    """The messages that a frame of the library stands for."""
    if isinstance(frame, Opened):
        opened = pb.WatchOpened(
            subscription_id=frame.subscription_id,
            epoch=frame.epoch,
            revision=frame.revision,
            last_sequence=frame.last_sequence,
        )
        yield pb.WatchWidgetsResponse(opened=opened)
    elif isinstance(frame, Snapshot):
        yield from frame.messages
        synced = pb.WatchSynced(revision=frame.revision, resume_token=frame.resume_token)
        yield pb.WatchWidgetsResponse(synced=synced)
    elif isinstance(frame, Changes):
        yield pb.WatchWidgetsResponse(changes=frame.message)
    elif isinstance(frame, Events):
        yield pb.WatchWidgetsResponse(events=frame.message)
    elif isinstance(frame, Gap):
        first, last = frame.first_sequence, frame.last_sequence
        yield pb.WatchWidgetsResponse(gap=pb.EventGap(first_sequence=first, last_sequence=last))
    elif isinstance(frame, Progress):
        progress = pb.WatchProgress(
            revision=frame.revision,
            resume_token=frame.resume_token,
            last_sequence=frame.last_sequence,
        )
        yield pb.WatchWidgetsResponse(progress=progress)


class Driver:
    """Carries out the commands of one run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.channel = grpc.insecure_channel(target(path), options=STREAM_OPTIONS)
        self.calls = grpc.insecure_channel(target(path), options=CHANNEL_OPTIONS)
        self.streams: dict[str, _Stream] = {}

    def command(self, name: str, words: list[str]) -> None:
        if name == "call":
            self._call(*words)
        elif name == "open":
            id, method, timeout, text = words
            self._start(_Raw(self, id, method, timeout, _bytes(text)))
        elif name == "converse":
            self._start(_Conversation(self, *words))
        elif name in ("send", "finish"):
            stream = self.streams.get(words[0])
            if isinstance(stream, _Conversation):
                stream.outgoing.put(_bytes(words[1]) if name == "send" else None)
        elif name == "follow":
            self._start(_Follow(self, words[0], _bytes(words[1])))
        elif name == "pause":
            if words[0] in self.streams:
                self.streams[words[0]].reads.clear()
            _write("paused", words[0])
        elif name == "continue":
            if words[0] in self.streams:
                self.streams[words[0]].reads.set()
            _write("continued", words[0])
        elif name == "cancel":
            stream = self.streams.get(words[0])
            if stream is not None:
                stream.cancel()
        elif name == "supports":
            _write("supports call open follow converse pause cancel timeout both others")
        else:
            raise SystemExit(f"there is no command {name!r}")

    def _start(self, stream: _Stream) -> None:
        self.streams[stream.id] = stream
        stream.start()

    def _call(self, id: str, method: str, timeout: str, text: str) -> None:
        make: Any = self.calls.unary_unary("/" + method, None, None)
        future: Any = make.future(_bytes(text), timeout=_seconds(timeout))

        def answer(done: Any) -> None:
            if done.exception() is None:
                _write("answer", id, "ok", _hex(done.result()))
            else:
                error = _failure(done, self.path)
                _write("answer", id, "error", error.code.name, _hex(error.status))

        future.add_done_callback(answer)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m widgetd._conformance SOCKET")
    driver = Driver(sys.argv[1])
    for line in sys.stdin:
        name, *words = line.split()
        if name == "quit":
            break
        driver.command(name, words)
    # Threads of streams may still write. The interpreter aborts if it ends meanwhile.
    with _write_lock:
        os._exit(0)


if __name__ == "__main__":
    main()
