"""The peers that attack with watches. See benchmarks/hostile and attackers.py."""

import select
import struct
import time

from driver.attackers import (
    PATIENCE, connected, exchange, flood, frames, message, open_over_grpc, provide)
from lib import http2
from lib.protobuf import SCHEMA
from lib.ttrpc import REMOTE_CLOSED, Connection

# The events that one attacker sends with one write.
EVENTS_AT_ONCE = 50
# The first bytes of two of the frames that a provider gets.
RESULT, SYNCED = bytes([2 << 3 | 2]), bytes([7 << 3 | 2])


def selectors(connection, count, are_different, widget=None):
    """Selectors that find nothing, or only this widget."""
    names = [f"none-{connection}-{number}" if are_different else "none" for number in range(count)]
    return [{"ids": [widget, name]} if widget else {"kinds": [name]} for name in names]


def read_until(peers, count, head, measure):
    """Reads until each peer has sent so many frames.

    `measure` returns the length of a frame, and whether it counts, from the first `head` bytes."""
    pending = {peer: [b"", count] for peer in peers}
    end = time.monotonic() + PATIENCE
    while pending:
        if time.monotonic() > end:
            raise SystemExit("the server does not open all watches")
        for peer, state in list(pending.items()):
            unread, answers = exchange(peer, peers[peer])
            peers[peer] = unread
            if answers is None:
                raise SystemExit("the server closed a connection")
            state[0] += answers
            while len(state[0]) >= head:
                length, counts = measure(state[0])
                if len(state[0]) < length:
                    break
                state[0] = state[0][length:]
                state[1] -= counts
            if state[1] <= 0:
                del pending[peer]
        time.sleep(0.001)


def expression_selectors(connection, count, expressions):
    """Selectors with these expressions in turn, each of them different."""
    return [{"expression": f"{expressions[number % len(expressions)]} "
                           f"|| data.n == -{connection * count + number + 1}"}
            for number in range(count)]


def open_watches(
        path, connections, streams, are_different=False, widget=None, expressions=(), **fields):
    """Opens watches of nothing or of one widget on each connection, and waits until all are open. The
    expressions must find nothing."""
    peers = {}
    for connection in range(connections):
        peer = connected(path)
        peer.setblocking(False)
        chosen = (expression_selectors(connection, streams, expressions) if expressions
                  else selectors(connection, streams, are_different, widget))
        peers[peer] = memoryview(b"".join(
            frames("WatchWidgets", 1, 1 + 2 * number, flags=REMOTE_CLOSED, selector=selector, **fields)
            for number, selector in enumerate(chosen)))
    # Each stream begins with the frames `opened` and `synced`, and a widget comes in between.
    read_until(peers, (3 if widget else 2) * streams, 10, lambda data: (
        10 + struct.unpack(">I", data[:4])[0], 1))
    return list(peers)


def open_watches_over_grpc(
        path, connections, streams, are_different=False, widget=None, **settings):
    """The same over gRPC. A watch is open when its headers have arrived."""
    headers = http2.request_headers(http2.path_of("WatchWidgets"))
    peers = {}
    for connection, peer in enumerate(open_over_grpc(path, connections, **settings)):
        peers[peer] = memoryview(b"".join(
            http2.frame(http2.HEADERS, http2.END_HEADERS, 1 + 2 * number, headers)
            + http2.frame(http2.DATA, http2.END_STREAM, 1 + 2 * number,
                          http2.request("WatchWidgets", selector=selector))
            for number, selector in enumerate(
                selectors(connection, streams, are_different, widget))))
    read_until(peers, streams, 9, lambda data: (
        9 + int.from_bytes(data[:3], "big"), data[3] == http2.HEADERS))
    return list(peers)


def large_filter(number):
    """A selector near the limits of its terms."""
    return {"ids": [f"w{number}-{index}-".ljust(128, "x") for index in range(1_024)]}


def open_large(path, connections, streams):
    """Opens watches with large filters, all at once. Above the quota, the daemon refuses them."""
    flood(path, connections, b"".join(
        frames("WatchWidgets", 1, 1 + 2 * number, flags=REMOTE_CLOSED, selector=large_filter(number))
        for number in range(streams)), streams)


def open_large_over_grpc(path, connections, streams):
    """The same over gRPC. Each watch is reset at once, so HTTP/2 has room for the next one."""
    peers = [http2.Peer(path) for _ in range(connections)]
    for number in range(streams):
        request = http2.request("WatchWidgets", selector=large_filter(number))
        for peer in list(peers):
            try:
                stream = peer.start(http2.path_of("WatchWidgets"), request)
                peer.send(http2.frame(http2.RST_STREAM, 0, stream, struct.pack(">I", 8)))
            except http2.Closed:
                peers.remove(peer)


def end_watches(begin, path, connections, streams, count):
    """Opens watches, and closes all connections at once, again and again."""
    for _ in range(count):
        for peer in begin(path, connections, streams):
            peer.close()


def ask_progress(path, connections, streams, seconds):
    """Opens watches that tell their progress every 100 ms, and reads them."""
    peers = open_watches(path, connections, streams, progress_interval={"nanos": 100_000_000})
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer in peers:
            exchange(peer, b"")
        time.sleep(0.005)


def read_changes(peers, path, seconds):
    """Reads watches, and changes their widget by events as fast as the server takes them."""
    sender = connected(path)
    sender.setblocking(False)
    rest, first = b"", 1
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not rest:
            rest = memoryview(frames(
                "SendEvent", EVENTS_AT_ONCE, first, widget_id="counted", name="go"))
            first += 2 * EVENTS_AT_ONCE
        rest, answers = exchange(sender, rest)
        for peer in peers:
            _, more = exchange(peer, b"")
            if answers is None or more is None:
                raise SystemExit("the server closed a connection")
        time.sleep(0.001)


def read_over_ttrpc(path, connections, streams, seconds, are_different=False):
    """Watches a widget that changes all the time."""
    peers = open_watches(path, connections, streams, are_different, "counted")
    read_changes(peers, path, seconds)


def read_over_grpc(path, connections, streams, seconds, are_different=False):
    """The same over gRPC, with windows that stay open."""
    peers = open_watches_over_grpc(
        path, connections, streams, are_different, "counted", INITIAL_WINDOW=http2.WINDOW_MAX)
    read_changes(peers, path, seconds)


def watch_texts(path, connections, streams, expressions, seconds):
    """Watches with expressions that read long texts, while events change a widget with such texts."""
    peers = open_watches(path, connections, streams, expressions=expressions)
    read_changes(peers, path, seconds)


def watch_and_leave(path, watches, rounds):
    """Begins and ends watches of all widgets, again and again. A provider is told of it, and reads it."""
    with provide(path, [{"name": "k", "open": True}], include_audience=True) as provider:
        for _ in range(rounds):
            peers = [connected(path) for _ in range(watches)]
            for peer in peers:
                peer.sendall(frames(
                    "WatchWidgets", 1, flags=REMOTE_CLOSED, selector={"kinds": ["k"]}))
            read_rest([*peers, provider], 1)
            for peer in peers:
                peer.close()
            # Longer than `audience_linger_milliseconds`.
            read_rest([provider], 6)


def leave_and_return(path, rounds):
    """Ends the session of the provider of all widgets, again and again. Each session calls all widgets
    fresh. Every second one comes while the widgets of the last one become stale."""
    with Connection(path, PATIENCE) as reader:
        ids = list(provided(reader))
        for number in range(rounds):
            with provide(path, [{"name": "k", "open": True}]) as provider:
                call_fresh(provider, ids)
            # The daemon goes through the widgets in the order of their creation.
            if number % 2 == 0:
                await_stale(reader, ids[0])
                continue
            await_stale(reader, ids[-1])
            if not all(provided(reader).values()):
                raise SystemExit("some widgets of a lost provider are fresh")


def call_fresh(provider, ids):
    """Says in a session that the data of all widgets is still true. Reads the data requests meanwhile:
    the daemon reads no more from a provider that leaves its output."""
    provider.setblocking(False)
    rest = memoryview(b"".join(
        message("Provide", 1, update={"id": start + 2, "updates": [
            {"widget_id": widget, "patch": {}} for widget in ids[start:start + 500]]})
        for start in range(0, len(ids), 500)))
    # The first result is of the kinds.
    results, is_synced = 1 + -(-len(ids) // 500), False
    unread = b""
    end = time.monotonic() + PATIENCE
    while results or not is_synced:
        if time.monotonic() > end:
            raise SystemExit("the server has not carried out all updates")
        rest, answers = exchange(provider, rest)
        if answers is None:
            raise SystemExit("the server closed a connection")
        if not answers:
            time.sleep(0.001)
            continue
        found, unread = split_frames(unread + answers)
        for payload in found:
            if payload.startswith(RESULT):
                results -= 1
                if error := SCHEMA.decode("widgetd.v1.ProvideResponse", payload)["result"].get("error"):
                    raise SystemExit(f"the server refused a frame: {error['message']}")
            is_synced = is_synced or payload.startswith(SYNCED)


def split_frames(data):
    """The content of the whole frames, and the rest of the bytes."""
    found, start = [], 0
    while len(data) >= start + 10:
        end = start + 10 + struct.unpack_from(">I", data, start)[0]
        if len(data) < end:
            break
        found.append(data[start + 10:end])
        start = end
    return found, data[start:]


def await_stale(reader, widget):
    end = time.monotonic() + PATIENCE
    while not reader.call("GetWidget", id=widget)["widget"].get("stale"):
        if time.monotonic() > end:
            raise SystemExit("the widgets of a lost provider stay fresh")
        time.sleep(0.01)


def provided(reader):
    """The ids of the widgets of the provider in their order, each with whether the widget is stale."""
    found, token = {}, ""
    while True:
        page = reader.call("ListWidgets", page_size=1_000, page_token=token, selector={"kinds": ["k"]},
                           read_mask={"paths": ["id", "stale"]})
        found |= {widget["id"]: widget.get("stale", False) for widget in page.get("widgets", ())}
        token = page.get("next_page_token", "")
        if not token:
            return found


def change_all(path, watches, changes, seconds, fields_of=lambda _: {}):
    """Opens watches of all widgets, and reads them. Each change is one call. `fields_of` has the other
    fields of the request of a watch."""
    peers = [connected(path) for _ in range(watches)]
    for number, peer in enumerate(peers):
        peer.sendall(frames("WatchWidgets", 1, flags=REMOTE_CLOSED, **fields_of(number)))
    read_rest(peers, seconds)
    for change in changes:
        with connected(path) as peer:
            peer.sendall(change)
            read_rest([*peers, peer], seconds)


def read_rest(peers, seconds):
    """Reads until nothing has come for so long."""
    poll = select.poll()
    sockets = {peer.fileno(): peer for peer in peers}
    for number in sockets:
        poll.register(number, select.POLLIN)
    while ready := poll.poll(seconds * 1_000):
        for number, _ in ready:
            if not sockets[number].recv(1 << 20):
                raise SystemExit("the server closed a connection")
