"""Attacks with the dates of widgets: computed entries, and timelines that are moved. See
benchmarks/hostile."""

import struct
import time

from driver.attackers import PATIENCE, flood, frames
from lib.ttrpc import REQUEST, Connection

# TIMELINE_POLICY_NEVER
NEVER = 3
# The time for all changes before the first date comes, and the time after this date, in seconds.
AHEAD, AFTER = 20, 3
# The id of the first widget. All ids have the same length.
FIRST = "m000000"


def prepare_lists(connection, _):
    """A kind whose schedule computes as many entries as a widget may have."""
    connection.call("ApplyKinds", kinds=[{"name": "listed", "schedule": {
        "entries": "lists.range(1000).map(i, {'date': timestamp(i * 60)})"}}])


def prepare_times(connection, _):
    connection.call("ApplyKinds", kinds=[{
        "name": "rare", "schedule": {"cron": "0 0 29 2 *", "zone": '"Europe/Berlin"'}}])
    connection.call("CreateWidget", widget={"id": "rare", "kind": "rare"})


def create_listed(path, count):
    """Creates widgets of this kind. Above the quota, the daemon refuses them."""
    flood(path, 1, frames("CreateWidget", count, widget={"kind": "listed"}), count)


def prepare_dated(connection, count):
    connection.call("ApplyKinds", kinds=[{"name": "dated"}])
    for start in range(0, count, 5_000):
        connection.call("ApplyWidgets", apply_set=f"d{start}", widgets=[
            {"id": f"m{number:06}", "kind": "dated"}
            for number in range(start, min(start + 5_000, count))])


def move_dates(path):
    """Gives each widget a timeline that changes in a few seconds, and then one that changes an hour
    later. Ends after the first date has come."""
    with Connection(path, PATIENCE) as connection:
        # The widget of the others has no timeline.
        count = int(connection.call("GetStats")["widgets"]) - 1
    first = int(time.time()) + AHEAD
    for date in (first, first + 3_600):
        flood(path, 1, each_timeline(count, date), count)
    if time.time() > first:
        raise SystemExit("the dates were not moved in time")
    time.sleep(first + AFTER - time.time())


def each_timeline(count, date):
    """A call for each widget. The calls differ in the number of the stream, and in the id."""
    pattern = frames("UpdateWidget", 1, id=FIRST, omit_widget=True, patch={"timeline": {
        "policy": NEVER, "entries": [{"date": {"seconds": date}}]}})
    header = struct.Struct(">IIBB")
    body = pattern[header.size:]
    return b"".join(
        header.pack(len(body), 1 + 2 * number, REQUEST, 0)
        + body.replace(FIRST.encode(), f"m{number:06}".encode()) for number in range(count))
