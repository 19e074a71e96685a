"""The table of attacks. See benchmarks/hostile."""

import struct
from dataclasses import dataclass
from typing import Callable

from driver.attackers import (
    KEYS, LONG, LOOK, MASKED, TEXT, TEXTS, as_client, as_strangers, ask_reflection, ask_the_hung, begin_heads,
    begin_over_grpc, break_over_grpc, check_health, churn, flood, flood_many, flood_over_grpc, frames,
    hold, keys, leave_pings_unread, leave_unread, lock_out, open_without_body, refresh_all,
    repeat_over_grpc, send_each, send_empty_data, upload, watch_health, watch_over_grpc,
    watch_the_watched)
from driver.dates import create_listed, move_dates, prepare_dated, prepare_lists, prepare_times
from driver.stacks import (
    await_turning, change_followed, prepare_following, prepare_turning, watch_turning)
from driver.watches import (
    ask_progress, change_all, end_watches, leave_and_return, open_large, open_large_over_grpc, open_watches,
    open_watches_over_grpc, read_over_grpc, read_over_ttrpc, watch_and_leave, watch_texts)
from lib import http2
from lib.protobuf import values
from lib.ttrpc import REQUEST

# An expression near the limit of one event, and an expression near the limit of one content.
HEAVY = f"{LONG}.all(a, {LONG}.all(b, {LONG}.exists(c, c == 29 || a + b + c == data.n)))"
# Types of nodes.
STACK, LABEL = 8, 1
# An expression that costs more than the limit of a content.
ENDLESS = (f"{LONG}.exists(a, {LONG}.exists(b, {LONG}.exists(c, {LONG}.exists(d, "
           "a + b + c + d + data.n < 0)))) ? 'a' : 'b'")
TYPICAL = "data.n + 1 > 2 ? 'a' : string(data.n)"
# The kind of a widget that each event changes.
COUNTER = {"name": "counter", "open": True,
           "reducers": [{"event": "go", "set": {"n": "data.n + 1"}}]}
# The number of large widgets of `many-rows`.
ROWS = 60
# A short selector whose compiled patterns are large.
PATTERNS = " || ".join(["''.matches('(?:[^a]{999}){5}')"] * 27)
# Expressions that convert, search or look up texts of zeros, and find nothing. `text` is near
# `widget_bytes_max`. `part` and `name` are so short that `selector_cost_max` allows some of the
# operations, so the daemon does all of their work.
TEXT_EXPRESSIONS = [
    "int(data.text) == 1",
    "int(data.part) == 1",
    "double(data.text) == 1.0",
    "double(data.name) == 1.0",
    "timestamp(data.text) == timestamp(0)",
    "timestamp(data.name) == timestamp(0)",
    "bool(data.text) || bool(data.part) || bool(data.name)",
    "b'1' < bytes(data.text)",
    "b'1' < bytes(data.name)",
    "data.text.matches('(0|00)*1')",
    "data.name.matches('(0|00)*1')",
    "data.text.contains('1')",
    "data.part.contains('1')",
    "data.text in {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9}",
    "data.part in {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9}",
]
PART, NAME = "0" * 6_000, "0" * 900


def register(path, count, expressions, at_once=1):
    """Registers kinds with many expressions, some in each call. Above the quota, the daemon refuses
    them."""
    calls = b"".join(
        frames("ApplyKinds", 1, 1 + 2 * number, provider=f"p{number}", kinds=[{
            "name": f"k{number}.{kind}", "open": True,
            "reducers": [{"event": f"e{index}", "set": {f"f{index}": TYPICAL}}
                         for index in range(expressions)]} for kind in range(at_once)])
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


def prepare_set(connection, count, **fields):
    """One set of widgets of a registered kind."""
    connection.call("ApplyKinds", kinds=[{"name": "k", "open": True}], **fields)
    for start in range(0, count, 5_000):
        connection.call("ApplyWidgets", apply_set="s", widgets=[
            {"id": f"w{number}", "kind": "k", "data": values({"n": number, "text": "y" * 100})}
            for number in range(start, min(start + 5_000, count))])


def prepare_provided(connection, count):
    """The same, but the kind belongs to the provider of `provide`."""
    prepare_set(connection, count, provider="hung")


def prepare_keys(connection, _):
    """A widget with very many keys."""
    connection.call("CreateWidget", widget={
        "id": "keys", "kind": "plain", "data": values(dict.fromkeys(KEYS, 1))})
    shown = connection.call("GetWidget", id="keys", read_mask=repeated_mask())["widget"]["data"]
    if len(shown) != len(MASKED):
        raise SystemExit(f"the mask shows {len(shown)} keys, not {len(MASKED)}")


def prepare_removed(connection, _):
    """A widget with one key, and as many removed keys as the daemon keeps for late readers."""
    connection.call("CreateWidget", widget={"id": "removed", "kind": "plain"})
    for half in ("a", "b"):
        for keys_of_half in ({f"{half}{number}": 1 for number in range(8_000)}, {"n": 1}):
            connection.call("UpdateWidget", id="removed", omit_widget=True, patch={
                "replace_data": True, "set_data": values(keys_of_half)})


def prepare_texts(connection, _):
    """Widgets with long texts. No expression may be refused, and none may find a widget."""
    for number in range(TEXTS):
        connection.call("CreateWidget", widget={
            "id": f"text{number}", "kind": "plain",
            "data": values({"n": 1, "text": TEXT, "part": PART, "name": NAME})})
    find_no_texts(connection)


def prepare_text(connection, _):
    """A widget with long texts that each event changes."""
    connection.call("ApplyKinds", kinds=[COUNTER])
    connection.call("CreateWidget", widget={
        "id": "counted", "kind": "counter",
        "data": values({"n": 1, "text": TEXT[:100_000], "part": PART, "name": NAME})})
    find_no_texts(connection)


def find_no_texts(connection):
    for expression in TEXT_EXPRESSIONS:
        found = connection.call("ListWidgets", selector={"expression": expression})
        if found.get("widgets"):
            raise SystemExit(f"{expression} finds a widget")


def prepare_large(connection, count):
    prepare_widgets(connection, count // 10)
    for number in range(64):
        connection.call("CreateWidget", widget={
            "id": f"large{number}", "kind": "plain", "data": values({"text": "y" * (256 << 10)})})


def prepare_counter(connection, _):
    """A small widget that each event changes."""
    connection.call("ApplyKinds", kinds=[COUNTER])
    connection.call("CreateWidget", widget={
        "id": "counted", "kind": "counter", "data": values({"n": 1})})


def make_rows(connection, names):
    """Widgets of nearly `widget_bytes_max`: the store writes all of a widget with each change."""
    connection.call("ApplyKinds", kinds=[{
        "name": "row", "open": True, "reducers": [{"event": "go", "set": {"n": "data.n + 1"}}]}])
    for name in names:
        connection.call("CreateWidget", widget={
            "id": name, "kind": "row", "data": values({"n": 1, "text": "y" * 1_040_000})})


def prepare_row(connection, _):
    make_rows(connection, ["row"])


def prepare_rows(connection, _):
    """So many that `state_bytes_per_uid_max` has no room for more."""
    make_rows(connection, [f"row{number}" for number in range(ROWS)])


def change_rows(path, rounds):
    """Sends an event to each large widget, again and again, all events at once."""
    count = ROWS * rounds
    calls = b"".join(
        frames("SendEvent", 1, 1 + 2 * number, widget_id=f"row{number % ROWS}", name="go")
        for number in range(count))
    flood(path, 1, calls, count)


# --- Read masks -----------------------------------------------------------------------------------

def repeated_mask():
    """As many paths as a list may have, and as many different ones as a call may have."""
    return {"paths": [f"data.{key}" for key in MASKED] * 4}


def different_mask(number):
    """The fields of a watch with another mask of as many keys."""
    return {"read_mask": {"paths": [
        f"data.{KEYS[(131 * number + 9 * index) % len(KEYS)]}" for index in range(len(MASKED))]}}


def key_changes():
    """Most keys of the widget go and come back."""
    some = KEYS[:9_000]
    return [frames("UpdateWidget", 1, id="keys", omit_widget=True, patch=patch)
            for patch in ({"unset_data": some}, {"set_data": values(dict.fromkeys(some, 1))}) * 3]


# --- Calls that change all widgets -----------------------------------------------------------------

def kind_changes():
    """A field with a default value comes and goes."""
    field = {"name": "extra", "type": "int", "default_value": {"int_value": 1}}
    return [frames("ApplyKinds", 1, kinds=[{"name": "k", "open": True, "data": data}])
            for data in ([field], []) * 3]


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
    # Whether the attacker is another user, in the client group. The connections of one user share the
    # time of this user. So thousands of them are an attack on other users.
    by_client: bool = False
    # After so many seconds the memory is read again.
    later: int = 2
    # Whether the daemon must have given its memory back after a minute.
    gives_back: bool = False
    # Whether it is an attack on the files of the store.
    needs_sqlite: bool = False


# incomplete_bytes_per_uid_max, kind_memory_bytes_per_uid_max, unsent_bytes_per_uid_max,
# selector_memory_bytes_per_uid_max, content_bytes_per_uid_max
MESSAGES, KINDS, UNSENT, FILTERS, CONTENTS = 64, 64, 64, 32, 64
# The received calls that wait, and 4 KiB of each connection with them (docs/SECURITY.md).
RECEIVED = 32


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
    "names": Attack(
        "16 x 200 lists of 800 kinds and 200 labels",
        lambda path: flood(path, 16, frames("ListWidgets", 200, selector={
            "kinds": [f"k{number}" for number in range(800)],
            "labels": [{"key": f"l{number}", "operator": 4} for number in range(200)]}), 200),
        prepare_widgets),
    "values": Attack(
        "100 lists with 128 x 4,096 values of labels",
        lambda path: flood(path, 1, frames("ListWidgets", 100, selector={
            "labels": [{"key": f"l{number}", "operator": 1, "values": [""] * 4_096}
                       for number in range(128)]}), 100)),
    "texts": Attack(
        "16 x 200 lists with expressions on long texts",
        lambda path: flood(path, 16, b"".join(
            frames("ListWidgets", 1, 1 + 2 * number, selector={
                "expression": f"{TEXT_EXPRESSIONS[number % len(TEXT_EXPRESSIONS)]} "
                              f"|| data.n == -{number + 1}"}) for number in range(200)), 200),
        prepare_texts),
    "texts-watched": Attack(
        "16 x 250 watches of the same, events change it",
        lambda path: watch_texts(path, 16, 250, TEXT_EXPRESSIONS, 15), prepare_text, quota=FILTERS),
    "masks": Attack(
        "16 x 100 reads with 4,096 paths, 1,024 different",
        lambda path: flood(path, 16, frames(
            "GetWidget", 100, id="keys", read_mask=repeated_mask()), 100), prepare_keys),
    "masks-watched": Attack(
        "6 changes of 9,000 keys, 64 watches of 1,024 keys",
        lambda path: change_all(path, 64, key_changes(), 1, different_mask), prepare_keys,
        quota=FILTERS),
    "audience": Attack(
        "1,000 watches with costly expressions, watched",
        lambda path: watch_the_watched(path, 4, 250, 20)),
    "audience-ends": Attack(
        "3 times 4 watches of all widgets, watched, end",
        lambda path: watch_and_leave(path, 4, 3), prepare_provided),
    "provider-ends": Attack(
        "6 times the end of the provider of all widgets",
        lambda path: leave_and_return(path, 6), prepare_provided),
    "stacks": Attack(
        "20 s of events, 64 stacks with costly filters",
        lambda path: change_followed(path, 4, 20), prepare_following),
    "stacks-turn": Attack(
        "15 s of 193 stacks of stacks that turn each second",
        lambda path: watch_turning(path, 15), prepare_turning),
    "stacks-upcoming": Attack(
        "4 x 1,000 watches of upcoming entries, the same stacks",
        lambda path: await_turning(path, 4, 1_000, 15), prepare_turning),
    "snapshots": Attack(
        "1,500 snapshots of 1 MiB, provider hangs",
        lambda path: ask_the_hung(path, 1_500, 1 << 20)),
    "refreshes": Attack(
        "500 refreshes of all widgets",
        lambda path: refresh_all(path, 500), prepare_widgets),
    "keys": Attack(
        "20 events with 110,000 keys",
        lambda path: flood(path, 1, frames(
            "SendEvent", 20, widget_id="own", name="go", payload=keys(110_000)), 20)),
    "removed": Attack(
        "16 x 200 lists that look 180 times at removed keys",
        lambda path: flood(path, 16, frames("ListWidgets", 200, selector={
            "expression": "lists.range(180).all(i, data.exists(k, k == 'n'))"}), 200),
        prepare_removed),
    "lists": Attack(
        "200 events with a list of 260,000 values",
        lambda path: flood(path, 1, frames(
            "SendEvent", 200, widget_id="own", name="go",
            payload={"a": {"list_value": {"values": [{}] * 260_000}}}), 200)),
    "ends": Attack(
        "8 times the end of 16 x 1,000 watches",
        lambda path: end_watches(open_watches, path, 16, 1_000, 8)),
    "openings": Attack(
        "64 x 100 watches of 1,024 long ids, at once",
        lambda path: open_large(path, 64, 100), quota=FILTERS),
    "progress": Attack(
        "16 x 1,000 watches, progress every 100 ms",
        lambda path: ask_progress(path, 16, 1_000, 20)),
    "readers": Attack(
        "16 x 1,000 watches of one filter, events change it",
        lambda path: read_over_ttrpc(path, 16, 1_000, 15), prepare_counter),
    "readers-filters": Attack(
        "16 x 1,000 watches of different filters, the same",
        lambda path: read_over_ttrpc(path, 16, 1_000, 15, are_different=True), prepare_counter),
    "kind-changes": Attack(
        "6 changes of the kind of all widgets",
        lambda path: change_all(path, 0, kind_changes(), 1), prepare_set),
    "kind-changes-watched": Attack(
        "6 changes of the kind of all widgets, 50 watches",
        lambda path: change_all(path, 50, kind_changes(), 1), prepare_set),
    "removals": Attack(
        "one removal of all widgets, 50 watches",
        lambda path: change_all(path, 50, [frames(
            "ApplyWidgets", 1, apply_set="s", prune=True)], 1), prepare_set),
    "times": Attack(
        "500 timelines of 1,000 rare times",
        lambda path: flood(path, 1, frames("GetTimeline", 500, id="rare", limit=1_000), 500),
        prepare_times),
    "entries": Attack(
        "10,000 widgets with 1,000 computed entries",
        lambda path: create_listed(path, 10_000), prepare_lists, quota=CONTENTS),
    "moved": Attack(
        "all timelines moved from one instant to another", move_dates, prepare_dated),
    "watches": Attack(
        "4 x 1,000 watches of 16 MB, unread",
        lambda path: hold(path, 4, frames("WatchWidgets", 1_000), 10), prepare_large),
    "halves": Attack(
        "400 frames of 4 MiB, one byte short",
        lambda path: hold(path, 400, struct.pack(">IIBB", 4 << 20, 1, REQUEST, 0)
                          + bytes((4 << 20) - 1), 10),
        quota=MESSAGES),
    "crowd": Attack(
        "4,000 connections with 64 KiB of calls each",
        lambda path: as_client(
            flood_many, path, 4_000, frames("GetWidget", 1, id="own"),
            frames("GetWidget", 1_200, id="own"), 1_200),
        quota=RECEIVED, by_client=True, gives_back=True),
    "kinds": Attack(
        "900 kinds of 250 expressions", lambda path: register(path, 900, 250), quota=KINDS),
    "kinds-at-once": Attack(
        "40 calls of 20 kinds x 250 expressions", lambda path: register(path, 40, 250, 20),
        quota=KINDS),
    # Some 30 of these commits fill the write-ahead log, if no checkpoint empties it.
    "rows": Attack(
        "400 events on a widget of nearly 1 MiB, one by one",
        lambda path: send_each(path, 400), prepare_row, needs_sqlite=True),
    "many-rows": Attack(
        "600 events on 60 widgets of nearly 1 MiB",
        lambda path: change_rows(path, 10), prepare_rows, needs_sqlite=True),
    "blobs": Attack(
        "8 times 4 blobs of 15 MiB, in pieces of 64 KiB",
        lambda path: upload(path, 8, 4, 240), needs_sqlite=True),
    "strangers": Attack(
        "2 x 4,096 connections of users without rights",
        lambda path: lock_out(path, 4_096, 15), by_strangers=True),
    "grpc-strangers": Attack(
        "gRPC: 2 x 32 x 512 health streams, no rights",
        lambda path: as_strangers(watch_health, path, 32, 512, 15), by_strangers=True),
    "grpc-strangers-unread": Attack(
        "gRPC: 2 x 32 x 1,000 checks, windows of 0, no rights",
        lambda path: as_strangers(check_health, path, 32, 1_000, 8), by_strangers=True),
    "grpc-strangers-reflection": Attack(
        "gRPC: 2 x 32 x 1,000 reflections, unread, no rights",
        lambda path: as_strangers(ask_reflection, path, 32, 1_000, 8), by_strangers=True),
    "churn": Attack(
        "30 s of calls, watches and sessions", lambda path: churn(path, 30), later=60,
        gives_back=True),
    "grpc-connections": Attack(
        "gRPC: 4,000 connections without calls",
        lambda path: hold(path, 4_000, http2.PREFACE + http2.settings(), 5),
        quota=160, over_grpc=True),
    "grpc-watches": Attack(
        "gRPC: 4 x 1,000 watches, windows of 0",
        lambda path: watch_over_grpc(path, 4, 1_000, 10), prepare_large,
        quota=streams_over_grpc(4, 1_000), over_grpc=True, gives_back=True),
    "grpc-watches-16": Attack(
        "gRPC: 16 x 1,000 watches, windows of 0",
        lambda path: watch_over_grpc(path, 16, 1_000, 10), prepare_large,
        quota=streams_over_grpc(16, 1_000), over_grpc=True, gives_back=True),
    "grpc-ends": Attack(
        "gRPC: 3 times the end of 16 x 1,000 watches",
        lambda path: end_watches(open_watches_over_grpc, path, 16, 1_000, 3),
        quota=streams_over_grpc(16, 1_000), over_grpc=True, gives_back=True),
    "grpc-filters": Attack(
        "gRPC: 8 x 1,000 watches with different filters",
        lambda path: open_watches_over_grpc(path, 8, 1_000, are_different=True),
        quota=streams_over_grpc(8, 1_000), over_grpc=True),
    "grpc-openings": Attack(
        "gRPC: 16 x 300 watches of 1,024 long ids, reset",
        lambda path: open_large_over_grpc(path, 16, 300), quota=FILTERS, over_grpc=True),
    "grpc-readers": Attack(
        "gRPC: 4 x 1,000 watches of one filter, events change it",
        lambda path: read_over_grpc(path, 4, 1_000, 15), prepare_counter,
        quota=streams_over_grpc(4, 1_000), over_grpc=True),
    "grpc-readers-filters": Attack(
        "gRPC: 4 x 1,000 watches of different filters, the same",
        lambda path: read_over_grpc(path, 4, 1_000, 15, are_different=True), prepare_counter,
        quota=streams_over_grpc(4, 1_000), over_grpc=True),
    "grpc-halves": Attack(
        "gRPC: 40 x 500 calls of 64 KiB, a byte short",
        lambda path: begin_over_grpc(path, 40, 500, 10), quota=MESSAGES, over_grpc=True),
    "grpc-heads": Attack(
        "gRPC: 16 x 1,000 calls of 2 KB without a body",
        lambda path: open_without_body(path, 16, 1_000, 10), quota=MESSAGES, over_grpc=True),
    "grpc-blocks": Attack(
        "gRPC: 900 blocks of headers without an end",
        lambda path: begin_heads(path, 900, 10), quota=MESSAGES, over_grpc=True),
    "grpc-unread": Attack(
        "gRPC: 16 x 1,000 calls, windows of 0",
        lambda path: leave_unread(path, 16, 1_000, 10), quota=MESSAGES + UNSENT, over_grpc=True),
    "grpc-reflection": Attack(
        "gRPC: 16 x 1,000 reflections, windows of 0",
        lambda path: ask_reflection(path, 16, 1_000, 10), quota=MESSAGES + UNSENT, over_grpc=True),
    "grpc-calls": Attack(
        "gRPC: 16 x 500 calls, at once",
        lambda path: flood_over_grpc(path, 16, 500), over_grpc=True),
    # The connections take some 40 KiB each.
    "grpc-crowd": Attack(
        "gRPC: 1,000 connections with 64 KiB of calls each",
        lambda path: as_client(flood_over_grpc, path, 1_000, 390),
        quota=MESSAGES + UNSENT + RECEIVED + 40, over_grpc=True, by_client=True),
    "grpc-pings": Attack(
        "gRPC: 8 s of PING on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.frame(http2.PING, 0, 0, bytes(8)), 8),
        over_grpc=True),
    # The connections take some 40 KiB each.
    "grpc-pings-unread": Attack(
        "gRPC: 10 s of PING on 900 connections, unread",
        lambda path: as_client(leave_pings_unread, path, 900, 10), quota=UNSENT + 36,
        over_grpc=True, by_client=True),
    "grpc-windows": Attack(
        "gRPC: 8 s of WINDOW_UPDATE on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.window_update(0, 1), 8), over_grpc=True),
    "grpc-unknown": Attack(
        "gRPC: 8 s of unknown frames on 16 connections",
        lambda path: repeat_over_grpc(path, 16, http2.frame(0x55), 8), over_grpc=True),
    "grpc-errors": Attack(
        "gRPC: 12 s of streams with a protocol error",
        lambda path: break_over_grpc(path, 12), over_grpc=True),
    "grpc-empty-data": Attack(
        "gRPC: 12 s of 1,000 streams and two empty DATA",
        lambda path: send_empty_data(path, 1_000, 12), quota=MESSAGES, over_grpc=True),
}
