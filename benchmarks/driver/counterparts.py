"""Attacks on other servers with about the same work. See benchmarks/hostile."""

import os
import subprocess
import tempfile
import time

from driver.attackers import (
    KEYS, MASKED, PATIENCE, TEXT, TEXTS, begin_heads, begin_over_grpc, break_over_grpc, connected,
    flood_many, flood_over_grpc, hold, leave_pings_unread, leave_unread, lock_out, open_without_body,
    repeat_over_grpc, send_empty_data, watch_over_grpc)
from driver.watches import end_watches, open_large_over_grpc, open_watches_over_grpc
from lib import http2
from lib.protobuf import values


def resp(*words):
    """A command as redis reads it."""
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in (
            word if isinstance(word, bytes) else str(word).encode() for word in words))


def flood_redis(path, connections, commands, lines):
    """Sends all commands on every connection at once, and reads so many lines of answers on each."""
    peers = [connected(path) for _ in range(connections)]
    for peer in peers:
        peer.sendall(commands)
    for peer in peers:
        read_lines(peer, lines)


def read_lines(peer, count):
    while count > 0:
        data = peer.recv(1 << 20)
        if not data:
            raise SystemExit("redis closed a connection")
        count -= data.count(b"\r\n")


def end_subscriptions(path, connections, channels, count):
    """Subscribes to channels, and closes all connections at once, again and again."""
    for _ in range(count):
        peers = [connected(path) for _ in range(connections)]
        for peer in peers:
            peer.sendall(resp("SUBSCRIBE", *(f"c{number}" for number in range(channels))))
        for peer in peers:
            read_lines(peer, 6 * channels)
        for peer in peers:
            peer.close()


def churn_redis(path, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        flood_redis(path, 8, resp("SET", "w0", "y" * 100) * 200 + resp("GET", "w0") * 200, 600)
        with connected(path) as peer:
            peer.sendall(b"".join(resp("SUBSCRIBE", f"c{number}") for number in range(100)))
            peer.recv(1 << 18)
        for _ in range(20):
            with connected(path) as peer:
                peer.sendall(resp("SUBSCRIBE", "c"))
                peer.recv(1 << 16)


def fill_redis(path, count):
    flood_redis(path, 1, b"".join(
        resp("SET", f"w{number}", "y" * 100) for number in range(count)), count)
    flood_redis(path, 1, b"".join(
        resp("SET", f"large{number}", "y" * (256 << 10)) for number in range(64)), 64)


def fill_texts(path):
    for number in range(TEXTS):
        flood_redis(path, 1, resp("SET", f"text{number}", TEXT), 1)


def fill_keys(path):
    flood_redis(path, 1, resp("HSET", "keys", *(part for key in KEYS for part in (key, 1))), 1)


# Commands that cost redis about as much as the calls cost the daemon.
LOOP = "local n = 0 for i = 1, 300000 do n = n + i % 7 end return n"
SEARCH = ("local n = 0 for i = 0, 999 do "
          "if string.find(redis.call('GET', 'w' .. i), 'no') then n = n + 1 end end return n")
FIND = "return string.find(redis.call('GET', KEYS[1]), '1', 1, true) or 0"
REDIS_ATTACKS = {
    "events": lambda path: flood_redis(path, 1, resp("EVAL", LOOP, 0) * 500, 500),
    "scans": lambda path: flood_redis(path, 16, resp("KEYS", "none*") * 1_500, 1_500),
    "expressions": lambda path: flood_redis(path, 16, resp("EVAL", SEARCH, 0) * 200, 200),
    "texts": lambda path: flood_redis(path, 16, b"".join(
        resp("EVAL", FIND, 1, f"text{number % TEXTS}") for number in range(200)), 200),
    # Two lines for each value, and one for their number.
    "masks": lambda path: flood_redis(
        path, 16, resp("HMGET", "keys", *MASKED * 4) * 100, 100 * (8 * len(MASKED) + 1)),
    "ends": lambda path: end_subscriptions(path, 16, 1_000, 8),
    "watches": lambda path: hold(
        path, 4, b"".join(resp("GET", f"large{number % 64}") for number in range(1_000)), 10),
    "halves": lambda path: hold(
        path, 400, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % (4 << 20)
        + bytes((4 << 20) - 1), 10),
    "kinds": lambda path: flood_redis(path, 1, b"".join(
        resp("SCRIPT", "LOAD", "".join(
            f"do local f{index} = function(n) return n + {number} > 2 and 'a' or n end end "
            for index in range(250))) for number in range(900)), 1_800),
    # As many calls. 64 KiB of `GET` would be three times as many.
    "crowd": lambda path: flood_many(
        path, 4_000, resp("GET", "w0"), resp("GET", "w0") * 1_200, 1_200),
    "strangers": lambda path: lock_out(path, 4_096, 15),
    "churn": lambda path: churn_redis(path, 30),
}
# What redis needs before an attack, in addition to the usual values.
REDIS_SETUPS = {"texts": fill_texts, "masks": fill_keys}


class RedisNeighbour:
    """Calls GET, on one connection or on a new one each time."""

    def __init__(self, path, connects_again):
        self.path, self.connects_again = path, connects_again
        self.peer = connected(path)

    def call(self):
        if self.connects_again:
            self.peer.close()
            self.peer = connected(self.path)
        self.peer.sendall(resp("GET", "w0"))
        answer = self.peer.recv(1 << 16)
        if not answer.startswith(b"$"):
            raise SystemExit(f"redis answered {answer[:80]!r}")


class Redis:
    """redis with its defaults, without persistence."""

    name = "redis"

    def __init__(self, widgets, attack):
        self.folder = tempfile.TemporaryDirectory(prefix="widgetd-redis-")
        os.chmod(self.folder.name, 0o755)
        self.path = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--unixsocketperm", "777",
             "--save", "", "--appendonly", "no", "--dir", self.folder.name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.path)
        fill_redis(self.path, widgets)
        if setup := REDIS_SETUPS.get(attack):
            setup(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def neighbour(self, attack):
        return RedisNeighbour(self.path, attack.by_strangers)


# The same bytes, for the C++ server.
GRPC_ATTACKS = {
    "grpc-connections": lambda path: hold(path, 4_000, http2.PREFACE + http2.settings(), 5),
    "grpc-watches": lambda path: watch_over_grpc(path, 4, 1_000, 10),
    "grpc-watches-16": lambda path: watch_over_grpc(path, 16, 1_000, 10),
    "grpc-ends": lambda path: end_watches(open_watches_over_grpc, path, 16, 1_000, 3),
    "grpc-filters": lambda path: open_watches_over_grpc(path, 8, 1_000, are_different=True),
    "grpc-openings": lambda path: open_large_over_grpc(path, 16, 300),
    "grpc-halves": lambda path: begin_over_grpc(path, 40, 500, 10),
    "grpc-heads": lambda path: open_without_body(path, 16, 1_000, 10),
    "grpc-blocks": lambda path: begin_heads(path, 900, 10),
    "grpc-unread": lambda path: leave_unread(path, 16, 1_000, 10),
    "grpc-calls": lambda path: flood_over_grpc(path, 16, 500),
    "grpc-crowd": lambda path: flood_over_grpc(path, 1_000, 390),
    "grpc-pings": lambda path: repeat_over_grpc(
        path, 16, http2.frame(http2.PING, 0, 0, bytes(8)), 8),
    "grpc-pings-unread": lambda path: leave_pings_unread(path, 900, 10),
    "grpc-windows": lambda path: repeat_over_grpc(path, 16, http2.window_update(0, 1), 8),
    "grpc-unknown": lambda path: repeat_over_grpc(path, 16, http2.frame(0x55), 8),
    "grpc-errors": lambda path: break_over_grpc(path, 12),
    "grpc-empty-data": lambda path: send_empty_data(path, 1_000, 12),
}

# The reasons why the other attacks have no counterpart.
NO_KINDS, NO_LABELS = "redis has no kinds", "redis has no labels to select by"
NO_STACKS = "redis has no values that follow from other values"
NO_PROVIDERS, NO_EVENTS = "redis has no providers", "redis has no events"
ONE_CHANNEL = "a connection to redis subscribes only once to a channel; `run` compares changes for many"
NOT_STORED = "redis runs without persistence"
NO_GRPC_EVENTS = "the C++ server has no events and no filters; `run` compares changes for many"
NO_RIGHTS = "the C++ server has no users without rights"
NO_TIMELINES = "redis has no timelines"
WITHOUT_COUNTERPART = {
    "contents": "redis computes no content",
    "patterns": "redis compiles no patterns",
    "names": NO_LABELS,
    "values": NO_LABELS,
    "texts-watched": "subscriptions of redis have no filters on values",
    "masks-watched": "subscriptions of redis have no filters on fields",
    "audience": "redis tells nobody who subscribes",
    "audience-ends": "redis tells nobody who subscribes",
    "provider-ends": NO_PROVIDERS,
    "stacks": NO_STACKS,
    "stacks-turn": NO_STACKS,
    "stacks-upcoming": NO_STACKS,
    "snapshots": NO_PROVIDERS,
    "refreshes": NO_PROVIDERS,
    "removed": "redis keeps nothing of removed fields",
    "keys": NO_EVENTS,
    "lists": NO_EVENTS,
    "openings": "subscriptions of redis have no filters on ids",
    "progress": "subscriptions of redis have no progress",
    "readers": ONE_CHANNEL,
    "readers-filters": ONE_CHANNEL,
    "kind-changes": NO_KINDS,
    "kind-changes-watched": NO_KINDS,
    "removals": "redis does not tell readers of removed values by default",
    "times": NO_TIMELINES,
    "entries": NO_TIMELINES,
    "moved": NO_TIMELINES,
    "kinds-at-once": "redis loads one script in a call, as for `kinds`",
    "rows": NOT_STORED,
    "many-rows": NOT_STORED,
    "blobs": NOT_STORED,
    "grpc-strangers": NO_RIGHTS,
    "grpc-strangers-unread": NO_RIGHTS,
    "grpc-strangers-reflection": NO_RIGHTS,
    "grpc-readers": NO_GRPC_EVENTS,
    "grpc-readers-filters": NO_GRPC_EVENTS,
    "grpc-reflection": "the C++ server has no reflection",
}


class GRPCNeighbour:
    """Calls GetWidget over gRPC."""

    def __init__(self, path):
        self.peer = http2.Peer(path)

    def call(self):
        """A refusal counts as an answer: an attacker of the same user can spend the user's quota."""
        try:
            self.peer.call("GetWidget", id="own")
        except http2.Closed as refusal:
            if not str(refusal).endswith("status 8"):
                raise


class CPlusPlus:
    """The C++ gRPC server of benchmarks/grpc-c++, with as many widgets as the attack has."""

    name = "grpc-c++"

    def __init__(self, binary, widgets, is_large):
        self.folder = tempfile.TemporaryDirectory(prefix="widgetd-grpc-")
        self.path = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen([binary, "--socket", self.path])
        wait_for(self.path)
        with http2.Peer(self.path) as peer:
            peer.call("CreateWidget", widget={"id": "own", "kind": "plain"})
            for number in range(widgets // 10 if is_large else 0):
                peer.call("CreateWidget", widget={
                    "id": f"w{number}", "kind": "plain",
                    "data": values({"n": number, "text": "y" * 100})})
            for number in range(64 if is_large else 0):
                peer.call("CreateWidget", widget={
                    "id": f"large{number}", "kind": "plain",
                    "data": values({"text": "y" * (256 << 10)})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def neighbour(self, _):
        return GRPCNeighbour(self.path)


def wait_for(path):
    end = time.monotonic() + PATIENCE
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.01)
