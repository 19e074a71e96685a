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
from widgetd import _json, _requests
from widgetd import messages as pb
from widgetd.frames import Changes
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

    def test_the_error_for_an_unknown_policy_names_the_policies(self):
        with self.assertRaisesRegex(ValueError, "at-end, after, never"):
            Timeline(policy="often").message_pb()

    def test_a_wrong_time_is_refused_with_its_field_and_what_to_pass(self):
        naive = datetime(2026, 1, 1, 12)
        good = TimelineEntry(NOON)
        for timeline, kind, words in (
            (Timeline([good, TimelineEntry("12:00")]), TypeError, r"entries\[1\]\.date is a datetime"),
            (Timeline([TimelineEntry(naive)]), ValueError, r"entries\[0\]\.date .* no time zone; use"),
            (Timeline(refresh_time=naive.date()), TypeError, "refresh_time is a datetime"),
            (Timeline(stale_time=naive), ValueError, "stale_time .* has no time zone"),
        ):
            with self.assertRaisesRegex(kind, words):
                timeline.message_pb()

    def test_the_bare_name_of_a_zone_is_refused_because_a_zone_is_an_expression(self):
        for name in ("Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+1"):
            with self.assertRaises(ValueError) as caught:
                Schedule(cron="@daily", zone=name).message_pb()
            self.assertIn(f"""zone="'{name}'\"""", str(caught.exception))
        for zone in ("'Europe/Berlin'", '"UTC"', "parameters.zone", "parameters", ""):
            self.assertEqual(Schedule(cron="@daily", zone=zone).message_pb().zone, zone)

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

    def test_json_has_the_status_as_widgetctl_prints_it(self):
        status = TimelineStatus(
            TimelineEntry(NOON, {"n": 1}, 2.5),
            NOON + timedelta(minutes=1),
            NOON + timedelta(minutes=2),
            NOON + timedelta(minutes=3),
            "no such zone",
        )
        thing = Widget("a", "k", timeline=status)
        expected = {
            "current": {"date": "2026-01-01T12:00:00Z", "values": {"n": 1}, "score": 2.5},
            "nextTime": "2026-01-01T12:01:00Z",
            "refreshTime": "2026-01-01T12:02:00Z",
            "staleTime": "2026-01-01T12:03:00Z",
            "problem": "no such zone",
        }
        self.assertEqual(_json.widget(thing)["timeline"], expected)
        self.assertEqual(_json.widget(thing, ["timeline"])["timeline"], expected)
        self.assertNotIn("timeline", _json.widget(thing, ["data"]))
        self.assertNotIn("timeline", _json.widget(Widget("a", "k")))
        empty = Widget("a", "k", timeline=TimelineStatus())
        self.assertEqual(_json.widget(empty)["timeline"], {})

    def test_json_of_a_change_has_the_status_or_its_removal(self):
        set_, cleared = pb.WidgetUpdated(id="a"), pb.WidgetUpdated(id="a", timeline_cleared=True)
        set_.timeline.current.date.seconds = int(NOON.timestamp())
        changes = pb.ChangeSet(
            changes=[
                pb.WidgetChange(updated=update)
                for update in (set_, cleared, pb.WidgetUpdated(id="a"))
            ]
        )
        (document,) = _json.frame(Changes(1, 2, b"", changes))
        self.assertEqual(
            [change["updated"] for change in document["changes"]],
            [
                {
                    "id": "a",
                    "revision": 0,
                    "timeline": {"current": {"date": "2026-01-01T12:00:00Z", "values": {}}},
                },
                {"id": "a", "revision": 0, "timelineCleared": True},
                {"id": "a", "revision": 0},
            ],
        )

    def test_a_kind_with_a_schedule_comes_back_unchanged(self):
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
