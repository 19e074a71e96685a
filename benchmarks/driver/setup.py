"""The setup of a daemon before a load: widgets that the load generator cannot make."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Tests", "acceptance"))

from lib.protobuf import values  # noqa: E402
from lib.ttrpc import Connection  # noqa: E402

NODES = 50
LABEL, BUTTON, STACK = 1, 3, 8  # NodeType


def card(connection):
    """A widget that shows a stack of a button and labels; one label shows what a press changes."""
    children = [{"id": "n", "type": LABEL, "properties": {"text": {"expression": "string(data.n)"}}},
                {"id": "more", "type": BUTTON,
                 "properties": {"text": {"value": {"string_value": "More"}}}}]
    children += [{"id": f"label-{index}", "type": LABEL,
                  "properties": {"text": {"expression": f"data.words + ' {index}'"}}}
                 for index in range(NODES - 1 - len(children))]
    connection.call("ApplyKinds", kinds=[{
        "name": "card",
        "data": [{"name": "n", "type": "int", "default_value": {"int_value": 0}},
                 {"name": "words", "type": "string", "default_value": {"string_value": "words"}}],
        "content": [{"root": {"id": "top", "type": STACK, "children": children}}],
        "reducers": [{"event": "press", "node_id": "more", "set": {"n": "data.n + 1"}}]}])
    connection.call("CreateWidget", widget={"id": "card", "kind": "card"})
    shown = connection.call("GetWidget", id="card")["widget"]["content"]["nodes"]
    if len(shown) != NODES:
        raise SystemExit(f"the card shows {len(shown)} nodes, not {NODES}")


def nodes(connection):
    """The kind of the load generator's widgets, with content: a stack of labels. One label shows the value that
    updates change; all others show another one."""
    children = [{"id": "value", "type": LABEL, "properties": {"text": {"expression": "data.value"}}}]
    children += [{"id": f"label-{index}", "type": LABEL,
                  "properties": {"text": {"expression": f"data.words + ' {index}'"}}}
                 for index in range(NODES - 1 - len(children))]
    connection.call("ApplyKinds", kinds=[{
        "name": "benchmark",
        "data": [{"name": "value", "type": "string", "default_value": {"string_value": ""}},
                 {"name": "words", "type": "string", "default_value": {"string_value": "words"}}],
        "content": [{"root": {"id": "top", "type": STACK, "children": children}}]}])


def plain(connection):
    """The kind of the load generator's widgets, without content. Widgets of an unregistered kind show a table of
    their data instead."""
    connection.call("ApplyKinds", kinds=[{
        "name": "benchmark",
        "data": [{"name": "value", "type": "string", "default_value": {"string_value": ""}}]}])


SETUPS = {"card": card, "nodes": nodes, "plain": plain}


def set_up(name, socket_path):
    """Prepares the daemon at a socket."""
    with Connection(socket_path) as connection:
        SETUPS[name](connection)
