"""Smart stacks that follow many changes, or show each other. See benchmarks/hostile."""

import time

from driver.attackers import LONG, PATIENCE, connected, exchange, flood, frames
from lib.protobuf import values
from lib.ttrpc import REMOTE_CLOSED, Connection

# As many stacks as follow changes, and as many widgets as a stack may have.
STACKS = MEMBERS = 64
# A true condition that takes nearly `selector_cost_max` steps. A stack compares at most 1,024 changed
# widgets with its expression.
NEARLY = f"{LONG}.all(a, {LONG}.exists(b, b > 5))"
FEW, MANY = 1_000, 4_000


def make(connection, stacks):
    """Makes smart stacks: their ids with their parameters."""
    connection.call("ApplyWidgets", apply_set="stacks", widgets=[
        {"id": name, "kind": "smart-stack", "parameters": values(parameters)}
        for name, parameters in stacks.items()])


def prepare_following(connection, count):
    """Stacks with costly expressions, and widgets that events change. No stack selects a widget."""
    connection.call("ApplyKinds", kinds=[{
        "name": "counter", "open": True, "reducers": [{"event": "go", "set": {"n": "data.n + 1"}}]}])
    for start in range(0, count, 5_000):
        connection.call("ApplyWidgets", apply_set=f"s{start}", widgets=[
            {"id": f"w{number}", "kind": "counter", "data": values({"n": 1})}
            for number in range(start, min(start + 5_000, count))])
    make(connection, {f"stack{number}": {"where": f"{NEARLY} && data.n == -{number + 1}"}
                      for number in range(STACKS)})


def change_followed(path, connections, seconds):
    """Sends events on each connection, as fast as the server takes them. The first half of the time, so
    few widgets change that the server compares each of them with each stack. Then so many change that
    each stack selects its widgets again. At the end, all stacks must have followed the changes."""
    for widgets in (FEW, MANY):
        calls = b"".join(
            frames("SendEvent", 1, 1 + 2 * number, widget_id=f"w{number % widgets}", name="go")
            for number in range(MANY))
        end = time.monotonic() + seconds / 2
        while time.monotonic() < end:
            flood(path, connections, calls, MANY)
    with Connection(path, PATIENCE) as connection:
        for number in range(STACKS):
            connection.call("UpdateWidget", id="w0", patch={"set_data": values({"n": -number - 1})})
            await_shown(connection, f"stack{number}", "w0")


def await_shown(connection, stack, widget):
    """Waits until a stack shows this widget."""
    end = time.monotonic() + PATIENCE
    while connection.call("GetWidget", id=stack)["widget"]["data"]["current"] != (
            {"string_value": widget}):
        if time.monotonic() > end:
            raise SystemExit(f"{stack} does not show {widget}")
        time.sleep(0.01)


def prepare_turning(connection, _):
    """Four layers of stacks. Each stack shows all of the next layer, and the last one shows widgets."""
    connection.call("ApplyKinds", kinds=[{"name": "counter", "open": True}])
    connection.call("ApplyWidgets", apply_set="members", widgets=[
        {"id": f"w{number}", "kind": "counter"} for number in range(MEMBERS)])
    stacks = {}
    for name, below in ("cw", "bc", "ab"):
        shown = [f"{below}{number}" for number in range(MEMBERS)]
        for number in range(MEMBERS):
            stacks[f"{name}{number}"] = {"widgets": shown, "rotate": "1s"}
    stacks["root"] = {"widgets": [f"a{number}" for number in range(MEMBERS)], "rotate": "1s"}
    make(connection, stacks)


def watch_turning(path, seconds):
    """Watches all widgets, and reads the changes."""
    end = time.monotonic() + seconds
    with connected(path) as peer:
        peer.sendall(frames("WatchWidgets", 1, flags=REMOTE_CLOSED))
        while time.monotonic() < end:
            if not peer.recv(1 << 20):
                raise SystemExit("the server closed the connection")


def await_turning(path, connections, streams, seconds):
    """Watches the stacks and their upcoming entries with different filters, and reads the changes. The
    frames are small, but the server searches all embeds of each changed stack for their next change."""
    peers = {}
    for connection in range(connections):
        peer = connected(path)
        peer.setblocking(False)
        peers[peer] = memoryview(b"".join(
            frames("WatchWidgets", 1, 1 + 2 * number, flags=REMOTE_CLOSED, upcoming_entries=1,
                   read_mask={"paths": ["data.current"]},
                   selector={"kinds": ["smart-stack", f"none-{connection}-{number}"]})
            for number in range(streams)))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for peer, rest in list(peers.items()):
            peers[peer], answers = exchange(peer, rest)
            if answers is None:
                raise SystemExit("the server closed a connection")
        time.sleep(0.001)
