"""Entries that a watch receives in advance."""

import unittest
from datetime import datetime, timedelta, timezone

from widgetd import TimelineEntry, Upcoming
from widgetd import messages as pb
from widgetd.mirror import Mirror

from .fake import added, changes, chunk, opened, synced, updated, widget
from .test_session import feed, names, session

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def at(second):
    return START + timedelta(seconds=second)


def upcoming(*seconds, id="clock", fake_clock=False):
    message = pb.WatchWidgetsResponse()
    message.upcoming.fake_clock = fake_clock
    entries = message.upcoming.widgets.add(id=id, more=True).entries
    for second in seconds:
        shown = entries.add()
        shown.entry.CopyFrom(TimelineEntry(at(second), {"n": second}).message_pb())
        shown.content.root_id = "t"
        shown.content.nodes.add(id="t").properties["text"].string_value = str(second)
    return message


def text(mirror, id="clock"):
    return mirror[id].content["t"].properties["text"]


def content(second):
    result = pb.Content(root_id="t")
    result.nodes.add(id="t").properties["text"].string_value = str(second)
    return result


class UpcomingTests(unittest.TestCase):
    def setUp(self):
        self.session = session()
        self.session.open()
        self.mirror = Mirror()
        first = widget("clock")
        first.content.CopyFrom(content(0))
        other = widget("other")
        self.take(opened(), chunk(first, other), upcoming(10, 20, 30), synced(1))

    def take(self, *messages):
        frames = feed(self.session, *messages)
        for frame in frames:
            self.mirror.apply(frame)
        return names(frames)

    def test_they_are_shown_at_their_dates(self):
        self.assertEqual(self.mirror.next_date, at(10))
        self.assertIsNone(self.mirror.advance(at(9)))
        self.assertEqual(self.mirror.advance(at(10)).updated, ("clock",))
        self.assertEqual(text(self.mirror), "10")
        timeline = self.mirror["clock"].timeline
        self.assertEqual((timeline.current.values, timeline.next_time), ({"n": 10}, at(20)))
        self.assertEqual(self.mirror.revision, 1)

    def test_missed_ones_are_skipped_and_the_last_one_stays(self):
        self.mirror.advance(at(25))
        self.assertEqual(text(self.mirror), "20")
        self.mirror.advance(at(1000))
        self.assertEqual((text(self.mirror), self.mirror.next_date), ("30", None))

    def test_a_change_starts_from_what_the_daemon_sent(self):
        self.mirror.advance(at(10))
        self.take(changes(1, 2, updated("clock", 2, n=5)))
        self.assertEqual((text(self.mirror), self.mirror["clock"].data), ("0", {"n": 5}))
        self.assertIsNone(self.mirror.next_date)
        self.take(upcoming(20))
        self.assertEqual(self.mirror.next_date, at(20))

    def test_between_the_parts_of_a_change_they_wait_for_its_end(self):
        part = changes(1, 2, updated("clock", 2, n=5), more=True)
        self.assertEqual(self.take(part, upcoming(40)), [])
        self.assertEqual(self.take(changes(1, 2, updated("other", 2, n=1))), ["Changes", "Upcoming"])
        self.assertEqual(self.mirror.next_date, at(40))

    def test_a_part_that_names_the_widget_again_discards_them(self):
        part = changes(1, 2, updated("clock", 2, n=5), more=True)
        self.take(part, upcoming(40))
        self.assertEqual(self.take(changes(1, 2, updated("clock", 2, n=6))), ["Changes"])
        self.assertIsNone(self.mirror.next_date)

    def test_with_a_fake_clock_they_wait_for_the_daemon(self):
        self.take(upcoming(10, fake_clock=True))
        self.assertIsNone(self.mirror.next_date)
        self.assertIsNone(self.mirror.advance(at(1000)))

    def test_they_come_complete_from_the_frame(self):
        (frame,) = feed(self.session, upcoming(10))
        self.assertIsInstance(frame, Upcoming)
        self.assertEqual(frame.widgets[0].entries[0].entry.date, at(10))
        self.assertTrue(frame.widgets[0].more)


if __name__ == "__main__":
    unittest.main()
