"""The peers that attack: each takes time and memory from all others. See benchmarks/hostile.

Each attack is a function of the socket's path. It runs in a separate process, and ends by itself.
"""

import collections
import multiprocessing
import os
import resource
import socket
import struct
import time

from lib import http2
from lib.protobuf import SCHEMA, values
from lib.ttrpc import DATA, REMOTE_OPEN, REQUEST, SERVICES

# The attackers end by themselves. This timeout is for a server that has stopped answering.
PATIENCE = 120
# Users who are neither owners nor clients: "daemon" and "nobody" in Debian.
STRANGERS = (1, 65_534)
# A list for expressions that take many steps, and a condition with such a list.
LONG = "[" + ",".join(str(number) for number in range(30)) + "]"
LOOK = f"{LONG}.all(a, {LONG}.exists(b, a + b == data.n || b > 8))"


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
