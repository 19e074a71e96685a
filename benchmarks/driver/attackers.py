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
from lib.ttrpc import DATA, REMOTE_OPEN, REQUEST, SERVICES, Connection

# The attackers end by themselves. This timeout is for a server that has stopped answering.
PATIENCE = 120
# Users who are neither owners nor clients: "daemon" and "nobody" in Debian.
STRANGERS = (1, 65_534)
# The group of these users. In some attacks, it is the client group.
GROUP = 65_534
# A list for expressions that take many steps, and a condition with such a list.
LONG = "[" + ",".join(str(number) for number in range(30)) + "]"
LOOK = f"{LONG}.all(a, {LONG}.exists(b, a + b == data.n || b > 8))"
# Nearly as many keys as a widget may have, and as many of them as the read mask of a call may have.
KEYS = [f"key-{number:04}-".ljust(64, "x") for number in range(9_500)]
MASKED = [KEYS[number * 9] for number in range(1_024)]
# A text near `widget_bytes_max`, and the number of widgets with such a text that one user may have.
TEXT, TEXTS = "0" * 1_030_000, 60


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


def flood_many(path, connections, call, calls, count):
    """Sends so many calls like the first one on each of thousands of connections. Reads nothing before all
    are sent, and then until all are answered. The calls fit into the sockets."""
    with connected(path) as peer:
        peer.sendall(call)
        answer_bytes = len(peer.recv(1 << 16))
    left = {connected(path): count * answer_bytes for _ in range(connections)}
    for peer in left:
        peer.sendall(calls)
        peer.setblocking(False)
    end = time.monotonic() + PATIENCE
    while left:
        if time.monotonic() > end:
            raise SystemExit(f"{len(left)} connections have no answers")
        for peer in list(left):
            try:
                data = peer.recv(1 << 20)
            except BlockingIOError:
                continue
            if not data:
                raise SystemExit("the server closed a connection")
            left[peer] -= len(data)
            if left[peer] <= 0:
                del left[peer]
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


def open_over_grpc(path, connections, **settings):
    """Opens connections and waits for the server's settings, which allow many streams."""
    peers = [connected(path) for _ in range(connections)]
    for peer in peers:
        peer.sendall(http2.PREFACE + http2.settings(**settings) + http2.window_update(0, 1 << 30))
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
    """Sends the same small frame again and again on every connection, and reads the answers. Connects
    again if the server closes a connection, as the C++ server does after a few PING."""
    chunk = memoryview(frame * 5_000)
    rests = {peer: chunk for peer in open_over_grpc(path, connections)}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in list(rests):
            rest, answers = exchange(peer, rests[peer])
            if answers is None:
                del rests[peer]
                peer.close()
                again, = open_over_grpc(path, 1)
                rests[again] = chunk
            else:
                rests[peer] = rest or chunk
        time.sleep(0.002)


def leave_pings_unread(path, connections, seconds):
    """Sends PING on every connection, a few at a time, and reads no answer."""
    chunk = http2.frame(http2.PING, 0, 0, bytes(8)) * 100
    rests = {peer: b"" for peer in open_over_grpc(path, connections)}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer, rest in list(rests.items()):
            rest = rest or chunk
            try:
                rests[peer] = rest[peer.send(rest):]
            except BlockingIOError:
                rests[peer] = rest
            except OSError:
                del rests[peer]
                peer.close()
                again, = open_over_grpc(path, 1)
                rests[again] = b""
        time.sleep(0.002)


def flood_over_grpc(path, connections, count):
    """Sends so many calls on every connection at once, and reads until all are answered."""
    calls = memoryview(calls_over_grpc(
        count, http2.path_of("GetWidget"), http2.request("GetWidget", id="own")))
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


def calls_over_grpc(count, path, body, *more):
    """The bytes of so many calls. Without a body, only their heads."""
    headers = http2.request_headers(path, *more)
    return b"".join(
        http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, headers)
        + (http2.frame(http2.DATA, http2.END_STREAM, 1 + 2 * number, body) if body else b"")
        for number in range(count))


def hold_over_grpc(path, connections, start, seconds, **settings):
    """Sends the same bytes on each connection, and reads what the server may send."""
    rests = {peer: memoryview(start) for peer in open_over_grpc(path, connections, **settings)}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in list(rests):
            rests[peer], answers = exchange(peer, rests[peer])
            if answers is None:
                del rests[peer]
        time.sleep(0.002)


def open_without_body(path, connections, streams, seconds):
    """Opens calls whose requests have only a head, with much metadata."""
    hold_over_grpc(path, connections, calls_over_grpc(
        streams, http2.path_of("GetWidget"), b"", ("x", "y" * 2_000)), seconds)


def leave_unread(path, connections, streams, seconds):
    """Makes calls with small answers that cannot be sent, because the windows stay closed."""
    hold_over_grpc(path, connections, calls_over_grpc(
        streams, http2.path_of("GetWidget"), http2.request("GetWidget", id="own")), seconds,
        INITIAL_WINDOW=0)


def ask_reflection(path, connections, streams, seconds):
    """Asks for the description of a service, with windows that stay closed."""
    symbol = b"widgetd.v1.WidgetService"
    hold_over_grpc(path, connections, calls_over_grpc(
        streams, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        http2.message(b"\x22" + bytes([len(symbol)]) + symbol)), seconds, INITIAL_WINDOW=0)


def begin_heads(path, connections, seconds):
    """Begins blocks of headers that never end."""
    part = http2.request_headers(http2.path_of("GetWidget"), ("x", "y" * 15_000))
    hold_over_grpc(path, connections, http2.frame(http2.HEADERS, 0, 1, part)
                   + 4 * http2.frame(http2.CONTINUATION, 0, 1, bytes([0x82]) * 16_000), seconds)


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


def send_empty_data(path, streams, seconds):
    """Opens streams, and sends two empty DATA on one of them, on one connection after the other. HTTP/2
    takes such a peer for an attacker."""
    start = memoryview(calls_over_grpc(streams, http2.path_of("GetWidget"), b"")
                       + 2 * http2.frame(http2.DATA, 0, 1))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        peer, = open_over_grpc(path, 1)
        rest, answers = start, b""
        # The C++ server keeps the connection open.
        later = time.monotonic() + 1
        with peer:
            while answers is not None and time.monotonic() < min(end, later):
                rest, answers = exchange(peer, rest)
                time.sleep(0.001)


def allow_files():
    """Lets this process have as many connections as a user may have at the daemon."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (10_000, 10_000))


def as_user(user, run, *arguments):
    """Runs a function as this user."""
    allow_files()
    os.setgroups([])
    os.setgid(GROUP)
    os.setuid(user)
    run(*arguments)


def as_strangers(run, *arguments):
    """Runs a function as each user without the right to call, at the same time."""
    crowds = [multiprocessing.Process(target=as_user, args=(user, run, *arguments))
              for user in STRANGERS]
    for process in crowds:
        process.start()
    for process in crowds:
        process.join()
    if any(process.exitcode for process in crowds):
        raise SystemExit("a crowd failed")


def as_client(run, *arguments):
    """Runs a function as a user of the client group."""
    client = multiprocessing.Process(target=as_user, args=(STRANGERS[0], run, *arguments))
    client.start()
    client.join()
    if client.exitcode:
        raise SystemExit("the client failed")


def crowd(path, count, seconds):
    """Holds so many connections and sends nothing. Connects again if a connection is closed."""
    held = collections.deque()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        held.append(connected(path))
        if len(held) > count:
            held.popleft().close()


def lock_out(path, count, seconds):
    """Holds so many connections of each user without the right to call."""
    as_strangers(crowd, path, count, seconds)


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


def watch_health(path, connections, streams, seconds):
    """Opens streams of the daemon's health over gRPC, and reads nothing."""
    start = calls_over_grpc(streams, "/grpc.health.v1.Health/Watch", http2.message(b""))
    for peer in open_over_grpc(path, connections):
        peer.settimeout(1)
        try:
            peer.sendall(start)
        except (TimeoutError, ConnectionError):
            pass  # It takes no more, or has closed the connection.
    time.sleep(seconds)


def check_health(path, connections, streams, seconds):
    """Asks for the daemon's health over gRPC, with windows that stay closed."""
    hold_over_grpc(path, connections, calls_over_grpc(
        streams, "/grpc.health.v1.Health/Check", http2.message(b"")), seconds, INITIAL_WINDOW=0)


def refresh_all(path, count):
    """Asks a provider to refresh all widgets. The provider has a session, and no widgets."""
    with provide(path, [{"name": "k", "open": True}]):
        flood(path, 1, frames("RefreshWidgets", count, all=True), count)


def send_each(path, count):
    """Sends events to one widget, each after the answer to the last one, so that each is a commit."""
    with Connection(path, PATIENCE) as connection:
        for _ in range(count):
            connection.call("SendEvent", widget_id="row", name="go")


def upload(path, rounds, blobs, pieces):
    """Uploads blobs in pieces of 64 KiB, all pieces at once, and deletes the blobs."""
    piece = bytes(64 << 10)
    for _ in range(rounds):
        with Connection(path, PATIENCE) as connection:
            ids = [connection.call("UploadBlob", data=piece)["blob_id"] for _ in range(blobs)]
            calls = b"".join(
                frames("UploadBlob", 1, 1 + 2 * (number * blobs + index), blob_id=blob,
                       offset=(number + 1) * len(piece), data=piece)
                for number in range(pieces - 1) for index, blob in enumerate(ids))
            flood(path, 1, calls, (pieces - 1) * blobs)
            for blob in ids:
                connection.call("DeleteBlob", blob_id=blob)


def keys(count):
    """So many fields. Their keys are in no order, and take long to compare."""
    return {f"a-key-of-a-map-{number * 2_654_435_761 % (1 << 24):06x}": {} for number in range(count)}
