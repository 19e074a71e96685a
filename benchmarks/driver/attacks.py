"""Attacks by which one peer takes time and memory from all others. See benchmarks/hostile.

Each attack is a function of the socket's path. It runs in a separate process, and ends by itself.
"""

import collections
import multiprocessing
import os
import resource
import socket
import struct
import time
from dataclasses import dataclass
from typing import Callable

from lib import http2
from lib.protobuf import SCHEMA, values
from lib.ttrpc import DATA, REMOTE_OPEN, REQUEST, SERVICES

# The attackers end by themselves. This timeout is for a server that has stopped answering.
PATIENCE = 120
# Users who are neither owners nor clients: "daemon" and "nobody" in Debian.
STRANGERS = (1, 65_534)


# --- Bytes ----------------------------------------------------------------------------------------

def frames(method, count, first=1, message=None, flags=0, **fields):
    """The bytes of so many calls of the same kind."""
    envelope = SCHEMA.encode("ttrpc.v1.Request", {
        "service": f"widgetd.v1.{SERVICES[method]}", "method": method,
        "payload": SCHEMA.encode(f"widgetd.v1.{message or method}Request", fields)})
    return b"".join(struct.pack(">IIBB", len(envelope), first + 2 * number, REQUEST, flags) + envelope
                    for number in range(count))


def message(method, stream, **fields):
    """The bytes of a message on an open stream."""
    payload = SCHEMA.encode(f"widgetd.v1.{method}Request", fields)
    return struct.pack(">IIBB", len(payload), stream, DATA, 0) + payload


def connected(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Without a limit in time it waits while the server's queue of connections is full.
    peer.connect(path)
    peer.settimeout(PATIENCE)
    return peer


def flood(path, connections, calls, count):
    """Sends all calls on every connection at once, and reads until all are answered."""
    peers = [connected(path) for _ in range(connections)]
    for peer in peers:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    pending = {peer: [memoryview(calls), count, b""] for peer in peers}
    for peer in peers:
        peer.setblocking(False)
    while pending:
        for peer in list(pending):
            state = pending[peer]
            try:
                if state[0]:
                    state[0] = state[0][peer.send(state[0]):]
            except BlockingIOError:
                pass
            try:
                data = peer.recv(1 << 20)
            except BlockingIOError:
                continue
            if not data:
                del pending[peer]
                continue
            state[2] += data
            while len(state[2]) >= 10:
                length = struct.unpack(">I", state[2][:4])[0]
                if len(state[2]) < 10 + length:
                    break
                state[2] = state[2][10 + length:]
                state[1] -= 1
            if state[1] <= 0:
                del pending[peer]
        time.sleep(0.001)


def hold(path, connections, start, seconds):
    """Opens connections, sends the same bytes on each, and reads nothing."""
    peers = [connected(path) for _ in range(connections)]
    for peer in peers:
        peer.settimeout(1)
        try:
            peer.sendall(start)
        except (TimeoutError, ConnectionError):
            pass  # It takes no more, or has closed the connection.
    time.sleep(seconds)


# --- Attacks --------------------------------------------------------------------------------------

def watch_over_grpc(path, connections, streams, seconds):
    """Opens streams whose windows stay closed; the connections are read."""
    greeting = http2.PREFACE + http2.settings(INITIAL_WINDOW=0)
    peers = [http2.Peer(path, greeting) for _ in range(connections)]
    for _ in range(streams):
        for peer in peers:
            peer.start(http2.path_of("WatchWidgets"), http2.request("WatchWidgets"))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in peers:
            peer.wait(lambda: False, seconds=0.05)


def begin_over_grpc(path, connections, streams, seconds):
    """Opens calls that never have the last byte of their request."""
    body = http2.message(bytes(1 << 16), length=(1 << 16) + 1)
    peers = [http2.Peer(path) for _ in range(connections)]
    for peer in peers:
        try:
            for _ in range(streams):
                peer.start(http2.path_of("CreateWidget"), body, end=False)
        except http2.Closed:
            pass
    time.sleep(seconds)


def open_over_grpc(path, connections):
    """Opens connections and waits for the server's settings, which allow many streams."""
    peers = [connected(path) for _ in range(connections)]
    for peer in peers:
        peer.sendall(http2.PREFACE + http2.settings() + http2.window_update(0, 1 << 30))
    for peer in peers:
        peer.recv(1 << 16)
        peer.sendall(http2.frame(http2.SETTINGS, http2.ACK))
        peer.setblocking(False)
    return peers


def exchange(peer, rest):
    """Sends the bytes that the peer takes, and reads the bytes that have arrived. Returns the unsent bytes
    and the answers. The answers are None if the connection is closed."""
    try:
        rest = rest[peer.send(rest):]
    except BlockingIOError:
        pass
    except OSError:
        return rest, None
    try:
        return rest, peer.recv(1 << 18) or None
    except BlockingIOError:
        return rest, b""
    except OSError:
        return rest, None


def repeat_over_grpc(path, connections, frame, seconds):
    """Sends the same small frame again and again on every connection, and reads the answers."""
    chunk = memoryview(frame * 5_000)
    rests = {peer: chunk for peer in open_over_grpc(path, connections)}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in list(rests):
            rest, answers = exchange(peer, rests[peer])
            if answers is None:
                del rests[peer]
            else:
                rests[peer] = rest or chunk
        time.sleep(0.002)


def flood_over_grpc(path, connections, count):
    """Sends so many calls on every connection at once, and reads until all are answered."""
    headers = http2.request_headers(http2.path_of("GetWidget"))
    body = http2.request("GetWidget", id="own")
    calls = memoryview(b"".join(
        http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, headers)
        + http2.frame(http2.DATA, http2.END_STREAM, 1 + 2 * number, body)
        for number in range(count)))
    pending = {peer: (calls, b"", count) for peer in open_over_grpc(path, connections)}
    end = time.monotonic() + PATIENCE
    while pending and time.monotonic() < end:
        for peer, (rest, unread, left) in list(pending.items()):
            rest, answers = exchange(peer, rest)
            if answers is None:
                raise SystemExit("the server closed a connection")
            unread += answers
            while len(unread) >= 9:
                length = int.from_bytes(unread[:3], "big")
                if len(unread) < 9 + length:
                    break
                left -= unread[3] == http2.HEADERS and unread[4] & http2.END_STREAM
                unread = unread[9 + length:]
            pending[peer] = (rest, unread, left)
            if left <= 0:
                del pending[peer]
        time.sleep(0.001)


def open_without_body(path, connections, streams, seconds):
    """Opens calls whose requests have only a head, with much metadata."""
    headers = http2.request_headers(http2.path_of("GetWidget"), ("x", "y" * 2_000))
    heads = memoryview(b"".join(
        http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, headers)
        for number in range(streams)))
    rests = {peer: heads for peer in open_over_grpc(path, connections)}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in list(rests):
            rests[peer], answers = exchange(peer, rests[peer])
            if answers is None:
                del rests[peer]
        time.sleep(0.002)


def break_over_grpc(path, seconds):
    """Opens ten streams and breaks the protocol in one write, on one connection after the other."""
    headers = http2.request_headers(http2.path_of("GetWidget"))
    broken = http2.PREFACE + http2.frame(http2.SETTINGS) + b"".join(
        http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, headers) for number in range(10)
    ) + 2 * http2.frame(http2.DATA, 0, 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with connected(path) as peer:
            peer.sendall(broken)
            peer.settimeout(0.02)  # The C++ server keeps the connection open.
            try:
                while peer.recv(1 << 16):
                    pass
            except (ConnectionError, TimeoutError):
                pass


def crowd(path, user, count, seconds):
    """As this user, holds so many connections and sends nothing. Connects again if a connection is closed."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * count, 2 * count))
    os.setgroups([])
    os.setgid(STRANGERS[-1])
    os.setuid(user)
    held = collections.deque()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        held.append(connected(path))
        if len(held) > count:
            held.popleft().close()


def lock_out(path, count, seconds):
    """Holds so many connections of each user without the right to call."""
    crowds = [multiprocessing.Process(target=crowd, args=(path, user, count, seconds))
              for user in STRANGERS]
    for process in crowds:
        process.start()
    for process in crowds:
        process.join()
    if any(process.exitcode for process in crowds):
        raise SystemExit("a crowd failed")


def churn(path, seconds):
    """Opens and ends calls, watches, sessions of providers, and gRPC connections."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        flood(path, 8, frames("UpdateWidget", 200, id="own", patch={
            "set_data": values({"n": number})}) + frames("GetWidget", 200, 401, id="own"), 400)
        with connected(path) as peer:
            peer.sendall(frames("WatchWidgets", 100))
            peer.recv(1 << 18)
        for session in range(20):
            with connected(path) as peer:
                peer.sendall(frames("Provide", 1, open={"provider": f"p{session}"}))
                peer.recv(1 << 16)
        with http2.Peer(path) as peer:
            for _ in range(25):
                peer.start(http2.path_of("WatchWidgets"), http2.request("WatchWidgets"))
                peer.call("GetWidget", id="own")


def provide(path, kinds, **fields):
    """Opens a session of a provider, which reads nothing after the first answers."""
    peer = connected(path)
    peer.sendall(frames("Provide", 1, flags=REMOTE_OPEN, open={
        "provider": "hung", "lease": {"seconds": 300}, **fields}))
    peer.sendall(message("Provide", 1, kinds={"id": 1, "kinds": kinds}))
    time.sleep(1)
    return peer


def watch_the_watched(path, connections, watches, seconds):
    """Opens watches with costly expressions, and reads them. A provider wants to know who watches."""
    with provide(path, [{"name": "k", "open": True}], include_audience=True):
        flood(path, 1, frames("ApplyWidgets", 1, apply_set="k", widgets=[
            {"id": f"k{number}", "kind": "k", "data": values({"n": number})}
            for number in range(2_000)]), 1)
        peers = [connected(path) for _ in range(connections)]
        for number, peer in enumerate(peers):
            peer.sendall(b"".join(frames("WatchWidgets", 1, 1 + 2 * stream, selector={
                "expression": f"{LOOK} && data.m == {number * watches + stream}"})
                for stream in range(watches)))
            peer.setblocking(False)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for peer in peers:
                try:
                    peer.recv(1 << 20)
                except BlockingIOError:
                    pass
            time.sleep(0.01)


def ask_the_hung(path, count, size):
    """Asks for snapshots of a provider that does not read, and then leaves."""
    kinds = [{"name": "k", "open": True, "parameters": [{"name": "t", "type": "string"}]}]
    with provide(path, kinds, answers_snapshots=True):
        flood(path, 1, frames(
            "GetSnapshot", count, kind="k", parameters=values({"t": "y" * size})), count)


def watch_health(path, user, connections, streams, seconds):
    """As this user: opens streams of the daemon's health over gRPC."""
    os.setgroups([])
    os.setgid(STRANGERS[-1])
    os.setuid(user)
    head = http2.request_headers("/grpc.health.v1.Health/Watch")
    start = b"".join(
        http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, head)
        + http2.frame(http2.DATA, http2.END_STREAM, 1 + 2 * number, http2.message(b""))
        for number in range(streams))
    for peer in open_over_grpc(path, connections):
        peer.settimeout(1)
        try:
            peer.sendall(start)
        except (TimeoutError, ConnectionError):
            pass  # It takes no more, or has closed the connection.
    time.sleep(seconds)


def crowd_health(path, connections, streams, seconds):
    """Opens streams of health, as each of the users who may call nothing else."""
    crowds = [multiprocessing.Process(
        target=watch_health, args=(path, user, connections, streams, seconds)) for user in STRANGERS]
    for process in crowds:
        process.start()
    for process in crowds:
        process.join()
    if any(process.exitcode for process in crowds):
        raise SystemExit("a crowd failed")


# An expression near the limit of one event, and an expression near the limit of one content.
LONG = "[" + ",".join(str(number) for number in range(30)) + "]"
HEAVY = f"{LONG}.all(a, {LONG}.all(b, {LONG}.exists(c, c == 29 || a + b + c == data.n)))"
# Types of nodes.
STACK, LABEL = 8, 1
# An expression that costs more than the limit of a content.
ENDLESS = (f"{LONG}.exists(a, {LONG}.exists(b, {LONG}.exists(c, {LONG}.exists(d, "
           "a + b + c + d + data.n < 0)))) ? 'a' : 'b'")
TYPICAL = "data.n + 1 > 2 ? 'a' : string(data.n)"
# A short selector whose compiled patterns are large.
PATTERNS = " || ".join(["''.matches('(?:[^a]{999}){5}')"] * 27)
LOOK = f"{LONG}.all(a, {LONG}.exists(b, a + b == data.n || b > 8))"


def register(path, count, expressions):
    """Registers kinds with many expressions. Above the quota, the daemon refuses them."""
    calls = b"".join(
        frames("ApplyKinds", 1, 1 + 2 * number, provider=f"p{number}", kinds=[{
            "name": f"k{number}", "open": True,
            "reducers": [{"event": f"e{index}", "set": {f"f{index}": TYPICAL}}
                         for index in range(expressions)]}])
        for number in range(count))
    flood(path, 1, calls, count)


# --- Before an attack ----------------------------------------------------------------------------

def prepare_nothing(_connection, _count):
    pass


def prepare_events(connection, _):
    connection.call("ApplyKinds", kinds=[{
        "name": "heavy", "open": True,
        "reducers": [{"event": "go", "set": {"m": HEAVY}}]}])
    connection.call("CreateWidget", widget={
        "id": "heavy", "kind": "heavy", "data": values({"n": 1})})


def prepare_contents(connection, _):
    connection.call("ApplyKinds", kinds=[{
        "name": "heavy", "open": True, "reducers": [{"event": "go", "set": {"n": "data.n + 1"}}],
        "content": [{"root": {"id": "top", "type": STACK, "children": [
            {"id": f"label{number}", "type": LABEL,
             "properties": {"text": {"expression": ENDLESS}}} for number in range(100)]}}]}])
    connection.call("CreateWidget", widget={
        "id": "heavy", "kind": "heavy", "data": values({"n": 1})})


def prepare_widgets(connection, count):
    for start in range(0, count, 5_000):
        connection.call("ApplyWidgets", apply_set=f"s{start}", widgets=[
            {"id": f"w{number}", "kind": "plain", "data": values({"n": number, "text": "y" * 100})}
            for number in range(start, min(start + 5_000, count))])


def prepare_times(connection, _):
    connection.call("ApplyKinds", kinds=[{
        "name": "rare", "schedule": {"cron": "0 0 29 2 *", "zone": '"Europe/Berlin"'}}])
    connection.call("CreateWidget", widget={"id": "rare", "kind": "rare"})


def prepare_large(connection, count):
    prepare_widgets(connection, count // 10)
    for number in range(64):
        connection.call("CreateWidget", widget={
            "id": f"large{number}", "kind": "plain", "data": values({"text": "y" * (256 << 10)})})


# --- All of them ----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Attack:
    words: str
    run: Callable
    prepare: Callable = prepare_nothing
    # The documented quota of one user, in MiB.
    quota: int = 0
    # Whether others call over gRPC, and not over ttrpc.
    over_grpc: bool = False
    # Whether others connect again for each call. Then the attackers are other users.
    by_strangers: bool = False
    # After so many seconds the memory is read again.
    later: int = 2


# incomplete_bytes_per_uid_max, kind_memory_bytes_per_uid_max
MESSAGES, KINDS = 64, 64


def streams_over_grpc(connections, streams):
    """The memory of so many streams by subscriptions_per_uid_max, and a connection's unsent messages."""
    return connections * (3 + streams * 22 // 1024)


ATTACKS = {
    "events": Attack(
        "500 events of the highest cost, at once",
        lambda path: flood(path, 1, frames("SendEvent", 500, widget_id="heavy", name="go"), 500),
        prepare_events),
    "contents": Attack(
        "500 events on the costliest content",
        lambda path: flood(path, 1, frames("SendEvent", 500, widget_id="heavy", name="go"), 500),
        prepare_contents),
    "scans": Attack(
        "16 x 1,500 lists that find nothing",
        lambda path: flood(path, 16, frames("ListWidgets", 1_500, selector={
            "labels": [{"key": "no", "operator": 3}]}), 1_500),
        prepare_widgets),
    "expressions": Attack(
        "16 x 200 lists with a costly expression",
        lambda path: flood(path, 16, frames("ListWidgets", 200, selector={"expression": LOOK}), 200),
        prepare_widgets),
    "patterns": Attack(
        "16 x 200 lists with large patterns",
        lambda path: flood(path, 16, b"".join(
            frames("ListWidgets", 1, 1 + 2 * number, selector={
                "expression": f"{PATTERNS} || {number} == 1"}) for number in range(200)), 200),
        prepare_widgets),
    "audience": Attack(
        "1,000 watches with costly expressions, watched",
        lambda path: watch_the_watched(path, 4, 250, 20)),
    "snapshots": Attack(
        "1,500 snapshots of 1 MiB, provider hangs",
        lambda path: ask_the_hung(path, 1_500, 1 << 20)),
    "times": Attack(
        "500 timelines of 1,000 rare times",
        lambda path: flood(path, 1, frames("GetTimeline", 500, id="rare", limit=1_000), 500),
        prepare_times),
    "watches": Attack(
        "4 x 1,000 watches of 16 MB, unread",
        lambda path: hold(path, 4, frames("WatchWidgets", 1_000), 10), prepare_large),
    "halves": Attack(
        "400 frames of 4 MiB, one byte short",
        lambda path: hold(path, 400, struct.pack(">IIBB", 4 << 20, 1, REQUEST, 0)
                          + bytes((4 << 20) - 1), 10),
        quota=MESSAGES),
    "kinds": Attack(
        "900 kinds of 250 expressions", lambda path: register(path, 900, 250), quota=KINDS),
    "strangers": Attack(
        "2 x 4,096 connections of users without rights",
        lambda path: lock_out(path, 4_096, 15), by_strangers=True),
    "grpc-strangers": Attack(
        "gRPC: 2 x 32 x 512 health streams, no rights",
        lambda path: crowd_health(path, 32, 512, 15), by_strangers=True),
    "churn": Attack(
        "30 s of calls, watches and sessions", lambda path: churn(path, 30), later=60),
    "grpc-watches": Attack(
        "gRPC: 4 x 1,000 watches, windows of 0",
        lambda path: watch_over_grpc(path, 4, 1_000, 10), prepare_large,
        quota=streams_over_grpc(4, 1_000), over_grpc=True),
    "grpc-watches-16": Attack(
        "gRPC: 16 x 1,000 watches, windows of 0",
        lambda path: watch_over_grpc(path, 16, 1_000, 10), prepare_large,
        quota=streams_over_grpc(16, 1_000), over_grpc=True),
    "grpc-halves": Attack(
        "gRPC: 40 x 500 calls of 64 KiB, a byte short",
        lambda path: begin_over_grpc(path, 40, 500, 10), quota=MESSAGES, over_grpc=True),
    "grpc-heads": Attack(
        "gRPC: 16 x 1,000 calls of 2 KB without a body",
        lambda path: open_without_body(path, 16, 1_000, 10), quota=MESSAGES, over_grpc=True),
    "grpc-calls": Attack(
        "gRPC: 16 x 500 calls, at once",
        lambda path: flood_over_grpc(path, 16, 500), over_grpc=True),
    "grpc-pings": Attack(
        "gRPC: 8 s of PING on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.frame(http2.PING, 0, 0, bytes(8)), 8),
        over_grpc=True),
    "grpc-windows": Attack(
        "gRPC: 8 s of WINDOW_UPDATE on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.window_update(0, 1), 8), over_grpc=True),
    "grpc-unknown": Attack(
        "gRPC: 8 s of unknown frames on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.frame(0x55), 8), over_grpc=True),
    "grpc-errors": Attack(
        "gRPC: 12 s of streams with a protocol error",
        lambda path: break_over_grpc(path, 12), over_grpc=True),
}
