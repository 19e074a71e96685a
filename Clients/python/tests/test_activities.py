"""Activities as messages and as values."""

import unittest
from datetime import datetime, timedelta, timezone

from widgetd import Activity, Widget
from widgetd import _requests
from widgetd import messages as pb
from widgetd._proto.v1 import activity_pb2
from widgetd.mirror import updated

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def end(dismiss):
    return _requests.end_activity("a", None, (), dismiss, None, "")


class ActivityTests(unittest.TestCase):
    def test_a_start_has_attributes_a_state_and_times(self):
        request = _requests.start_activity(
            "activity", "", None, None, {"title": "t"}, {"progress": 0.5}, 60, timedelta(minutes=5),
            None, "once",
        )
        self.assertEqual(request.widget.parameters["title"].string_value, "t")
        self.assertEqual(request.widget.data["progress"].double_value, 0.5)
        self.assertEqual((request.lifetime.seconds, request.stale_after.seconds), (60, 300))
        self.assertEqual(request.request_id, "once")
        plain = _requests.start_activity("k", "", None, None, None, None, None, None, None, "")
        self.assertFalse(plain.HasField("lifetime") or plain.HasField("stale_after"))

    def test_a_dismissal_is_a_word_or_a_duration(self):
        self.assertEqual(end("default").dismissal, 1)
        self.assertEqual(end("now").dismissal, 2)
        after = end(timedelta(minutes=10))
        self.assertEqual((after.dismissal, after.dismiss_after.seconds), (3, 600))
        self.assertEqual(end(0).dismissal, 3)
        with self.assertRaisesRegex(ValueError, '"now", "default" or a duration'):
            end("later")

    def test_an_update_names_a_list_of_keys(self):
        with self.assertRaises(TypeError):
            _requests.update_activity("a", None, "progress", None, None, "")
        request = _requests.update_activity("a", {"n": 1}, ["progress"], None, None, "")
        self.assertEqual(list(request.patch.unset_data), ["progress"])
        self.assertFalse(request.HasField("stale_after"))

    def test_a_mirror_follows_the_activity(self):
        update = pb.WidgetUpdated(id="a", revision=2)
        update.activity.state = activity_pb2.ACTIVITY_STATE_ENDED
        update.activity.start_time.seconds = int(NOON.timestamp())
        update.activity.end_time.seconds = int(NOON.timestamp()) + 5
        widget, _ = updated(Widget("a", "k"), update)
        expected = Activity("ended", NOON, end_time=NOON + timedelta(seconds=5))
        self.assertEqual(widget.activity, expected)
        kept, _ = updated(widget, pb.WidgetUpdated(id="a", revision=3))
        self.assertEqual(kept.activity, expected)

    def test_an_unknown_state_is_over_or_not(self):
        self.assertEqual(Activity.from_pb(activity_pb2.Activity(state=99)).state, "active")
        message = activity_pb2.Activity(state=99)
        message.end_time.SetInParent()
        self.assertEqual(Activity.from_pb(message).state, "ended")
