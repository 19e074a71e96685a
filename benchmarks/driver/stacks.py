"""Smart stacks that follow many changes, or show each other. See benchmarks/hostile."""

import time

from driver.attackers import LOOK, connected, flood, frames
from lib.protobuf import values
from lib.ttrpc import REMOTE_CLOSED

# As many stacks as follow changes, and as many widgets as a stack may have.
STACKS = MEMBERS = 64


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
    make(connection, {f"stack{number}": {"where": f"{LOOK} && data.n == -{number + 1}"}
                      for number in range(STACKS)})


def change_followed(path, connections, count):
    """Sends an event to each of many widgets, all events at once, on each connection."""
    calls = b"".join(frames("SendEvent", 1, 1 + 2 * number, widget_id=f"w{number}", name="go")
                     for number in range(count))
    flood(path, connections, calls, count)


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
