"""Timelines and schedules as messages and as values."""

import unittest
from datetime import datetime, timedelta, timezone

from widgetd import (
    Recommendation,
    Schedule,
    Timeline,
    TimelineEntry,
    TimelineStatus,
    Widget,
)
from widgetd import _requests
from widgetd import messages as pb
from widgetd.kinds import Field, Kind
from widgetd.mirror import updated

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def request(**arguments):
    return _requests.update_widget(
        "a", None, (), False, None, (), None, (), None, None, "", False, None, "", **arguments
    )


class TimelineTests(unittest.TestCase):
    def test_a_timeline_is_set_or_cleared_or_stays(self):
        timeline = Timeline([TimelineEntry(NOON, {"n": 1}, 2.5)], "after", NOON)
        patch = request(timeline=timeline, clear_timeline=False).patch
        self.assertEqual(patch.timeline.entries[0].values["n"].int_value, 1)
        self.assertEqual(patch.timeline.policy, 2)
        self.assertFalse(patch.clear_timeline)
        patch = request(timeline=None, clear_timeline=True).patch
        self.assertFalse(patch.HasField("timeline"))
        self.assertTrue(patch.clear_timeline)

    def test_an_unknown_policy_is_refused_with_the_ones_there_are(self):
        with self.assertRaisesRegex(ValueError, "at-end, after, never"):
            Timeline(policy="often").message_pb()

    def test_a_mirror_follows_the_status(self):
        widget = Widget("a", "k")
        update = pb.WidgetUpdated(id="a", revision=2)
        update.timeline.current.date.seconds = int(NOON.timestamp())
        widget, _ = updated(widget, update)
        self.assertEqual(widget.timeline, TimelineStatus(TimelineEntry(NOON)))
        kept, _ = updated(widget, pb.WidgetUpdated(id="a", revision=3))
        self.assertEqual(kept.timeline, widget.timeline)
        cleared, _ = updated(widget, pb.WidgetUpdated(id="a", revision=4, timeline_cleared=True))
        self.assertIsNone(cleared.timeline)

    def test_a_kind_with_a_schedule_comes_back_as_it_was(self):
        kind = Kind(
            name="k",
            parameters=(Field("zone", "string", "UTC", choices=("UTC", "Asia/Tokyo")),),
            entry=(Field("title", "string"),),
            schedule=Schedule(every=timedelta(minutes=1), offset=timedelta(hours=6)),
            sample={"n": 1},
            recommendations=(Recommendation("tokyo", "Tokyo", {"zone": "Asia/Tokyo"}),),
            refreshes_per_hour=5,
        )
        self.assertEqual(Kind.from_pb(kind.message_pb()), kind)
        self.assertEqual(Schedule.from_pb(Schedule(cron="@daily").message_pb()).cron, "@daily")
