"""The drivers: which there are, how one is started and spoken to. The protocol is in ../README.md.

A `Driver` belongs to one scenario. One thread reads its lines, and wakes the steps that wait for
them; nothing polls. If a driver prints an unexpected line or ends, the scenario fails.
"""

import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, TypeVar

from lib.system import clean_environment, tied
from suite import ROOT

# The timeout is long enough for a slow machine. A wait ends as soon as its line comes.
PATIENCE = float(os.environ.get("WIDGETD_CONFORMANCE_PATIENCE", "120"))
T = TypeVar("T")
WORDS = {"call", "open", "follow", "converse", "pause", "cancel", "timeout", "both", "others"}


class Failed(Exception):
    """The client, or the daemon, violates the protocol or the scenario."""


class Unsupported(Exception):
    """The client cannot do this. The table shows it as such, never as a pass."""


@dataclass(frozen=True)
class Pair:
    """One client library over one wire."""

    name: str
    # The command line before the socket's path.
    command: tuple[str, ...]
    # The command that builds it, for the message about a missing program.
    build: str
    # Whether it hosts the daemon itself, and gets settings instead of a socket.
    hosts: bool = False
    # Other files that the program needs, and its environment.
    needs: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    # Other missing things. Empty if there are none.
    lacking: str = ""
    # The reason why it cannot send bytes that its types do not make; empty if it can.
    typed: str = ""
    # The reasons for missing words of `supports`.
    lacks: dict[str, str] = field(default_factory=dict)

    def missing(self) -> str | None:
        """The missing part and the command that builds it. None if the driver can start."""
        for part in (self.command[0], *self.needs):
            if not os.path.exists(part):
                return f"{os.path.relpath(part, ROOT)} is missing; build it: {self.build}"
        return f"{self.lacking}; build it: {self.build}" if self.lacking else None


def _has_grpc(python: str) -> bool:
    """Whether this interpreter exists and has grpcio."""
    return os.path.exists(python) and subprocess.run(
        [python, "-c", "import grpc, google.protobuf"], capture_output=True, check=False,
        timeout=600).returncode == 0


def pairs() -> list[Pair]:
    """The five pairs, in the order of the table's columns."""
    binaries = os.environ.get("WIDGETD_BINARIES", os.path.join(ROOT, ".build", "debug"))
    swift = os.path.join(binaries, "widgetd-conformance")
    swift_build = "swift build --product widgetd-conformance"
    library = os.path.join(ROOT, "Clients", "python")
    environments = [os.path.join(ROOT, ".build", *place, "bin", "python3")
                    for place in (("conformance-python",), ("venv",), ("python-client", "newest"))]
    python = next((each for each in environments if _has_grpc(each)), None)
    made = ".build/conformance-python"
    return [
        Pair("Swift/ttrpc", (swift,), swift_build,
             typed="WidgetClient sends values of its own types, not bytes"),
        Pair("Swift/in-process", (swift, "--in-process"), swift_build, hosts=True),
        Pair("C/ttrpc", (os.path.join(ROOT, "Clients", "c", "build", "conformance"),),
             "make -C Clients/c conformance"),
        Pair("Go/ttrpc", (os.path.join(ROOT, ".build", "go", "bin", "conformance"),),
             "make -C Clients/go",
             lacks={word: "Debian's ttrpc 1.1.1 for Go has unary calls only"
                    for word in ("open", "follow", "converse", "pause", "cancel")}),
        Pair("Python/gRPC", (python or environments[0], "-m", "widgetd._conformance"),
             f"/usr/bin/python3 -m venv {made} && {made}/bin/pip install grpcio protobuf",
             lacking="" if python else f"{made} has no grpcio and protobuf",
             needs=(os.path.join(library, "widgetd", "_conformance.py"),),
             environment={"PYTHONPATH": library}),
    ]


@dataclass
class Answer:
    """The result of a call or a stream: a message's bytes, or a code and a status's bytes."""

    ok: bool
    data: bytes = b""
    code: str = ""


@dataclass
class Stream:
    """The lines of a driver about one stream that no step has taken yet."""

    frames: deque[bytes] = field(default_factory=deque)
    end: Answer | None = None
    acknowledged: set[str] = field(default_factory=set)


class Driver:
    """A running driver."""

    def __init__(self, pair: Pair, arguments: list[str], log: str,
                 identity: tuple[str, ...] = ()) -> None:
        self.pair = pair
        self.log = log
        self._state = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._unsupported: dict[int, str] = {}
        self._streams: dict[int, Stream] = {}
        self._words: set[str] | None = None
        self._said: set[str] = set()
        self._broken: str | None = None
        self._next_id = 0
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                tied([*identity, *pair.command, *arguments]), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors,
                env=clean_environment(PYTHONDONTWRITEBYTECODE="1", **pair.environment), cwd="/")
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    # --- What the driver says ---------------------------------------------------------------------

    def _read(self, output: IO[bytes]) -> None:
        for line in output:
            with self._state:
                try:
                    self._take(line.decode().rstrip("\n").split(" "))
                except (ValueError, IndexError, KeyError) as error:
                    self._broken = f"the driver wrote {line[:120]!r}: {error}"
                self._state.notify_all()
        with self._state:
            self._broken = self._broken or "the driver ended"
            self._state.notify_all()

    def _take(self, words: list[str]) -> None:
        match words:
            case ["supports", *rest]:
                self._words = set(rest)
                if self._words - WORDS:
                    raise ValueError(f"supports what is unknown: {sorted(self._words - WORDS)}")
            case ["answer", number, "ok", data]:
                self._answer(int(number), Answer(True, unhex(data)))
            case ["answer", number, "error", code, data]:
                self._answer(int(number), Answer(False, unhex(data), code))
            case ["frame", number, data]:
                stream = self._streams[int(number)]
                if stream.end is not None:
                    raise ValueError("a frame after the stream's end")
                stream.frames.append(unhex(data))
            case ["end", number, "ok", _]:
                self._end(int(number), Answer(True))
            case ["end", number, "error", code, data]:
                self._end(int(number), Answer(False, unhex(data), code))
            case [("paused" | "continued") as what, number]:
                self._streams[int(number)].acknowledged.add(what)
            case ["unsupported", number, *why]:
                self._unsupported[int(number)] = " ".join(why)
            case ["started" | "stopped" as what]:
                self._said.add(what)
            case _:
                raise ValueError("no event of the driver protocol")

    def _answer(self, number: int, answer: Answer) -> None:
        if number in self._answers:
            raise ValueError("a second answer")
        self._answers[number] = answer

    def _end(self, number: int, answer: Answer) -> None:
        stream = self._streams[number]
        if stream.end is not None:
            raise ValueError("a second end")
        stream.end = answer

    # --- What is asked of it ----------------------------------------------------------------------

    def _send(self, line: str) -> None:
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Failed(f"the driver ended: {error}; {self.last_words()}") from error

    def _wait(self, what: str, found: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + PATIENCE
        with self._state:
            while (value := found()) is None:
                if self._broken:
                    raise Failed(f"{self._broken}; {self.last_words()}")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Failed(f"{what} did not come within {PATIENCE:g} s; {self.last_words()}")
                self._state.wait(left)
            return value

    def last_words(self) -> str:
        """The last lines of the driver on standard error."""
        try:
            with open(self.log, encoding="utf-8", errors="replace") as file:
                text = file.read()[-400:].strip()
        except OSError:
            text = ""
        return f"it says: {text}" if text else "it says nothing"

    def need(self, word: str) -> None:
        """Raises Unsupported if the driver does not support it."""
        if self._words is None:
            self._send("supports")
            self._wait("the answer to `supports`", lambda: self._words)
        if word not in (self._words or ()):
            raise Unsupported(self.pair.lacks.get(word, f"the driver does not support `{word}`"))

    def start_call(self, method: str, timeout: int, data: bytes) -> int:
        """Starts a unary call; `answer` waits for it."""
        self.need("call")
        if timeout:
            self.need("timeout")
        if not method.startswith("widgetd.v1.WidgetService/"):
            self.need("others")
        self._next_id += 1
        self._send(f"call {self._next_id} {method} {timeout} {to_hex(data)}")
        return self._next_id

    def answer(self, number: int) -> Answer:
        """Waits for the answer to a call."""
        def found() -> Answer | None:
            if number in self._unsupported:
                raise Unsupported(self._unsupported[number])
            return self._answers.pop(number, None)
        return self._wait("the answer to a call", found)

    def open(self, method: str, timeout: int, data: bytes) -> int:
        """Opens a stream, raw."""
        self.need("open")
        if timeout:
            self.need("timeout")
        self._next_id += 1
        self._streams[self._next_id] = Stream()
        self._send(f"open {self._next_id} {method} {timeout} {to_hex(data)}")
        return self._next_id

    def follow(self, data: bytes) -> int:
        """Watches with the library's own resuming watch."""
        self.need("follow")
        self._next_id += 1
        self._streams[self._next_id] = Stream()
        self._send(f"follow {self._next_id} {to_hex(data)}")
        return self._next_id

    def converse(self, method: str, timeout: int) -> int:
        """Opens a stream on which both sides send, raw."""
        self.need("converse")
        if timeout:
            self.need("timeout")
        self._next_id += 1
        self._streams[self._next_id] = Stream()
        self._send(f"converse {self._next_id} {method} {timeout}")
        return self._next_id

    def send(self, number: int, data: bytes) -> None:
        """Sends a message in a conversation."""
        self._send(f"send {number} {to_hex(data)}")

    def finish(self, number: int) -> None:
        """Ends the client's messages in a conversation."""
        self._send(f"finish {number}")

    def frame(self, number: int) -> bytes | Answer:
        """The stream's next frame, or its end."""
        stream = self._streams[number]

        def found() -> bytes | Answer | None:
            if number in self._unsupported:
                raise Unsupported(self._unsupported[number])
            if stream.frames:
                return stream.frames.popleft()
            return stream.end
        return self._wait("the next frame", found)

    def waiting(self, number: int) -> int:
        """The number of received frames that no step has taken."""
        with self._state:
            return len(self._streams[number].frames)

    def acknowledge(self, word: str, done: str, number: int) -> None:
        """`pause` and `continue`: sends it, and waits until it is done."""
        self.need("pause")
        stream = self._streams[number]
        stream.acknowledged.discard(done)
        self._send(f"{word} {number}")
        self._wait(done, lambda: True if done in stream.acknowledged else None)

    def cancel(self, number: int) -> None:
        """Cancels a stream; its end comes as one of its events."""
        self.need("cancel")
        self._send(f"cancel {number}")

    def host(self, command: str, done: str) -> None:
        """For a driver that hosts the daemon: `start` and `stop`."""
        self._said.discard(done)
        self._send(command)
        self._wait(f"`{done}`", lambda: True if done in self._said else None)

    def quit(self) -> None:
        """Asks it to end, and checks that it ends with 0."""
        try:
            self._send("quit")
        except Failed:
            pass
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("the driver did not quit") from None
        if status != 0:
            raise Failed(f"the driver ended with {status}; {self.last_words()}")
        if self._broken and self._broken != "the driver ended":
            raise Failed(self._broken)

    def kill(self) -> None:
        """Ends it without asking."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def to_hex(data: bytes) -> str:
    """A message as it goes over a driver's standard input."""
    return data.hex() or "-"


def unhex(text: str) -> bytes:
    """A message as it comes from a driver."""
    if text == "-":
        return b""
    if text != text.lower() or not text:
        raise ValueError("no lower-case hexadecimal")
    return bytes.fromhex(text)
