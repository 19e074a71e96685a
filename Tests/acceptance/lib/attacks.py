"""Attacks on the daemon over gRPC, beside clients that use it in peace.

Beside every attack a ttrpc client and a gRPC client change a widget and wait to see the change on a
watch, again and again. An attack is over when both have finished another such round that began
after its last byte. Most attacks still hold their connection then. The memory limit for an attack
is a constant here. It is far above the daemon's real use and far below what the attack tries to
use.
"""

import os
import re
import threading

from lib.checks import Checks
from lib.http2 import (
    END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, SETTINGS, Closed, Peer, frame, path_of,
    request, request_headers, require_hpack)
from lib.protobuf import SCHEMA, values
from lib.system import PATIENCE, Scratch, eventually
from lib.ttrpc import Connection

MIB = 1 << 20
# The memory that an attack may cost, and that all of them together may leave behind.
COST_MAX = 64 * MIB
# The same for attacks with very many calls or much data at once.
CROWD_MAX = 256 * MIB
LEFT_MAX = 160 * MIB
# Enough for a slow machine to send its first bytes, and a request.
FIRST_BYTE_MILLISECONDS = 10_000
REQUEST_MILLISECONDS = 10_000
# Few enough that a slow machine reads more in half a minute.
RESETS_MAX = 1_000
LIMITS = {"first_byte_milliseconds": FIRST_BYTE_MILLISECONDS, "request_milliseconds": REQUEST_MILLISECONDS,
          "stream_resets_max": RESETS_MAX}
GET = path_of("GetWidget")
BODY = request("GetWidget", id="target")
SEED = int(os.environ.get("WIDGETD_SEED", "1"))


# --- The others -----------------------------------------------------------------------------------

class Bystander(threading.Thread):
    """A client that works normally during an attack: it sets a number and waits to see it on its
    watch. That is a round."""

    def __init__(self, name, path):
        super().__init__(daemon=True)
        self.who, self.path = name, path
        self.rounds, self.trouble = 0, ""
        self.finished = threading.Event()
        self.changed = threading.Condition()

    def run(self):
        try:
            self.work()
        except Exception as error:  # noqa: BLE001: whatever it is, it was not to happen
            with self.changed:
                self.trouble = f"{type(error).__name__}: {error}"
                self.changed.notify_all()

    def done(self):
        """Counts a round, and pauses for a moment so that the daemon can serve attacks too."""
        with self.changed:
            self.rounds += 1
            self.changed.notify_all()
        self.finished.wait(0.01)

    def after(self, start, count=2):
        """Waits for this many further rounds; returns whether they came. Two, because the first may
        have begun before."""
        with self.changed:
            return self.changed.wait_for(
                lambda: self.trouble or self.rounds >= start + count, PATIENCE) and not self.trouble


class TTRPCBystander(Bystander):
    """On containerd's protocol."""

    def work(self):
        with Connection(self.path, timeout=PATIENCE) as calls, \
                Connection(self.path, timeout=PATIENCE) as watch:
            calls.call("CreateWidget", widget={"id": self.who, "kind": "counter"})
            frames = watch.stream("WatchWidgets", selector={"ids": [self.who]})
            # Earlier changes are in the snapshot.
            while "synced" not in next(frames):
                pass
            while not self.finished.is_set():
                wanted = self.rounds + 1
                calls.call("UpdateWidget", id=self.who, patch={"set_data": values({"n": wanted})})
                for content in frames:
                    if seen(content) == wanted:
                        break
                else:
                    raise AssertionError("the watch ended")
                self.done()


class GRPCBystander(Bystander):
    """On HTTP/2, all on one connection."""

    def work(self):
        with Peer(self.path) as peer:
            peer.call("CreateWidget", widget={"id": self.who, "kind": "counter"})
            watch = peer.start(path_of("WatchWidgets"),
                               request("WatchWidgets", selector={"ids": [self.who]}))

            def arrived():
                return [SCHEMA.decode("widgetd.v1.WatchWidgetsResponse", one)
                        for one in peer.streams[watch].messages()] if watch in peer.streams else []

            if not peer.wait(lambda: any("synced" in content for content in arrived())):
                raise AssertionError(f"the watch has {peer.outcome(watch, 0)}")
            while not self.finished.is_set():
                wanted = self.rounds + 1
                peer.call("UpdateWidget", id=self.who, patch={"set_data": values({"n": wanted})})
                if not peer.wait(lambda: wanted in map(seen, arrived())):
                    raise AssertionError(f"the watch has {peer.outcome(watch, 0)}")
                self.done()


def seen(content):
    """The number in a frame of the watch."""
    for change in content.get("changes", {}).get("changes", []):
        data = change.get("updated", {}).get("set_data", {})
        if "n" in data:
            return data["n"].get("int_value", 0)
    return None


# --- The field ------------------------------------------------------------------------------------

class Field:
    """A daemon, its normal clients, and the attacks. A daemon that dies is replaced, so that later
    attacks are tested too."""

    def __init__(self, check, scratch, words):
        self.check, self.scratch, self.words = check, scratch, words
        self.settings = os.path.join(scratch.folder, "widgetd.conf")
        self.daemon = self.others = None
        # The memory of a daemon that has seen no attack.
        self.fresh = 0
        self.begin()

    @property
    def path(self):
        return self.scratch.socket

    def configure(self, **limits):
        """Writes the settings of the daemon, with these limits."""
        with open(self.settings, "w", encoding="utf-8") as file:
            file.writelines(f"WIDGETD_LIMITS_{name.upper()}={value}\n"
                            for name, value in {**LIMITS, **limits}.items())

    def reload(self, **limits):
        """Reloads the daemon with these limits."""
        self.configure(**limits)
        with self.scratch.connect() as connection:
            connection.call("Reload")

    def begin(self):
        self.configure()
        self.daemon = self.scratch.daemon(
            "--store", "memory", "--log-level", "error", "--config", self.settings,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
        with self.scratch.connect() as connection:
            connection.call("CreateWidget", widget={"id": "target", "kind": "label"})
        self.others = [TTRPCBystander("ttrpc", self.path), GRPCBystander("grpc", self.path)]
        for other in self.others:
            other.start()
        self.others_go_on()
        self.fresh = self.memory("VmRSS")

    def end(self):
        for other in self.others:
            other.finished.set()
        for other in self.others:
            other.join(PATIENCE)

    def peer(self, *arguments, **options):
        return Peer(self.path, *arguments, **options)

    def memory(self, name):
        with open(f"/proc/{self.daemon.pid}/status", encoding="ascii") as file:
            return int(re.search(rf"{name}:\s+(\d+) kB", file.read())[1]) << 10

    def others_go_on(self):
        """Waits until each normal client has finished another round; returns which client did not,
        and why."""
        starts = [other.rounds for other in self.others]
        harmed = [f"the {other.who} client: {other.trouble or 'stands still'}"
                  for other, start in zip(self.others, starts, strict=True)
                  if not other.after(start)]
        return ", ".join(harmed)

    def attack(self, what, expected, act, cost_max=COST_MAX):
        """Makes an attack: `act` gets the field and returns the outcome, which the regular
        expression `expected` must match."""
        if self.words and not any(word in what for word in self.words):
            return
        before = self.memory("VmRSS")
        with open(f"/proc/{self.daemon.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # VmHWM counts from here.
        held = []
        try:
            try:
                outcome = act(self, held)
            except (Closed, OSError) as error:
                outcome = f"closed ({error})" if self.daemon.process.poll() is None else "dead"
            harm = self.others_go_on() if self.daemon.process.poll() is None else "the daemon died"
            cost = self.memory("VmHWM") - before if not harm else 0
        except (FileNotFoundError, TypeError, ProcessLookupError):
            outcome, harm, cost = "dead", "the daemon died", 0
        finally:
            for peer in held:
                peer.close()
        self.check.that(f"{what}: {outcome}", re.fullmatch(expected, outcome) is not None,
                        f"expected {expected}")
        self.check.that("  nobody else notices", not harm, harm + self.last_words(harm))
        self.check.that(f"  it costs no more than {cost_max // MIB} MiB", cost <= cost_max,
                        f"{cost / MIB:.1f} MiB")
        given_back = harm or eventually(lambda: self.memory("VmRSS") - before <= COST_MAX)
        if cost_max > COST_MAX:
            self.check.that(f"  and what is more than {COST_MAX // MIB} MiB is given back",
                            given_back,
                            "" if harm else f"{(self.memory('VmRSS') - before) / MIB:.1f} MiB")
        # The next attack must be measured by its own new memory.
        if harm or self.memory("VmRSS") - self.fresh > COST_MAX // 2:
            self.end()
            if self.daemon.process.poll() is None:
                self.daemon.process.kill()
                self.daemon.process.wait()
            self.begin()

    def last_words(self, harm):
        if not harm or self.daemon.process.poll() is None:
            return ""
        lines = [line for line in self.scratch.log_text().splitlines() if "atal" in line]
        return f" with {self.daemon.process.returncode}: " + " ".join(lines[-2:])[-300:]


# --- Kinds of attacks -----------------------------------------------------------------------------

def raw(data, finish=False):
    """Sends bytes on a connection that knows nothing of HTTP/2."""
    def act(field, held):
        peer = field.peer(b"")
        held.append(peer)
        peer.send(data)
        if finish:
            peer.finish()
        return peer.outcome(None)
    return act


def frames(*out, watch=None, greeting=PREFACE + frame(SETTINGS)):
    """Sends frames after the greeting; returns the outcome of the stream `watch`, or of the
    connection. If neither ends, it returns whether the connection still answers."""
    def act(field, held):
        peer = field.peer(greeting)
        held.append(peer)
        try:
            for one in out:
                peer.send(one)
        except Closed:
            pass
        before = peer.pongs
        try:
            peer.send(frame(PING, 0, 0, b"12345678"))
        except Closed:
            pass
        # Tasks open streams, and may end after the answer to the ping.
        peer.wait(lambda: peer.pongs > before or peer.goaway is not None)
        if watch is None and peer.goaway is None and peer.pongs > before:
            return "goes on"
        return peer.outcome(watch)
    return act


def call(body=BODY, *more, path=GET, end=True, prelude=b"", **how):
    """Makes one call; returns how it ends."""
    def act(field, held):
        peer = field.peer()
        held.append(peer)
        if prelude:
            peer.send(prelude)
        return peer.outcome(peer.start(path, body, *more, end=end, **how))
    return act


def flood(pieces, read=True):
    """Sends piece after piece until the daemon refuses; returns its answer, or how many pieces it
    took."""
    def act(field, held):
        peer = field.peer()
        held.append(peer)
        if not read:
            taken = peer.pour(pieces())
            return "closed" if peer.closed else f"took {taken}"
        taken = peer.flood(pieces())
        outcome = peer.outcome(None, 0)
        return outcome if outcome != "silence" else f"took {taken}"
    return act


def headers_frame(number, flags=END_HEADERS | END_STREAM, block=None, **how):
    return frame(HEADERS, flags, number, request_headers(GET) if block is None else block, **how)


def repeat(piece, count, batch=100):
    """A function that returns the piece this many times, in batches."""
    return lambda: iter([piece * batch] * (count // batch))


def streams(piece_of, count, batch=100):
    """Pieces for one stream after the other."""
    def pieces():
        for at in range(0, count, batch):
            yield b"".join(piece_of(2 * n + 1) for n in range(at, at + batch))
    return pieces


ENDS = r"goaway \d+|closed.*"
REFUSES = r"goaway \d+|closed.*|reset \d+"
FAILS = r"goaway \d+|closed.*|reset \d+|status ([1-9]|1[0-6])|http 4\d\d"


# --- All of it ------------------------------------------------------------------------------------

def leftovers(field, before):
    """Nothing remains of the attacks."""
    def left():
        with field.scratch.connect() as connection:
            stats = connection.call("GetStats")
        return stats.get("connections"), stats.get("subscriptions")

    field.check.becomes("no connection and no stream is left behind", left, before)
    rss = field.memory("VmRSS")
    field.check.that(f"the daemon has at most {LEFT_MAX // MIB} MiB in the end", rss <= LEFT_MAX,
                     f"{rss / MIB:.0f} MiB")
    field.end()
    field.check.equal("SIGTERM ends it with 0", field.daemon.stop(), 0)


def make_attacks(title, groups, words):
    """Makes the attacks of all groups, or only those with one of the words in their name."""
    require_hpack()
    with Checks(title) as check, Scratch() as scratch:
        field = Field(check, scratch, words)
        trouble = field.others_go_on()
        check.that("two normal clients work", not trouble, trouble)
        with scratch.connect() as connection:
            stats = connection.call("GetStats")
        # One of these is the connection of this call.
        before = stats.get("connections"), stats.get("subscriptions")
        for group in groups:
            group(field)
        leftovers(field, before)
