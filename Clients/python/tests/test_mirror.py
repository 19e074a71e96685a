import unittest
from datetime import datetime, timedelta, timezone

from google.protobuf.timestamp_pb2 import Timestamp

from widgetd import messages as pb
from widgetd.frames import Changes, Disconnected, Opened, Progress, Snapshot
from widgetd.mirror import Inconsistent, Mirror
from widgetd.model import Curve, Family, PresenceState, Transition, WidgetError

from .fake import added, changes, chunk, removed, updated, widget


def snapshot(revision, *widgets):
    return Snapshot(revision, b"t", (chunk(*widgets),))


def change(start, end, *items):
    message = changes(start, end, *items).changes
    return Changes(start, end, message.resume_token, message)


class MirrorTests(unittest.TestCase):
    def setUp(self):
        self.mirror = Mirror()
        self.mirror.apply(snapshot(1, widget("b", 2, n=1), widget("a", 3), widget("c", 1)))

    def test_it_shows_the_snapshot_in_display_order(self):
        self.assertEqual([w.id for w in self.mirror], ["c", "b", "a"])
        self.assertEqual(
            (len(self.mirror), "b" in self.mirror, self.mirror.get("x")), (3, True, None)
        )
        self.assertEqual(self.mirror.difference.added, ("c", "b", "a"))

    def test_changes_report_new_visibility_and_do_not_change_old_widgets(self):
        before = self.mirror["b"]
        difference = self.mirror.apply(
            change(
                1, 4, updated("b", 4, n=2), added(widget("d", 0)), removed("c"), removed("never")
            )
        )
        self.assertEqual((difference.added, difference.updated), (("d",), ("b",)))
        self.assertEqual([w.id for w in difference.removed], ["c"])
        self.assertEqual((before.data, self.mirror["b"].data), ({"n": 1}, {"n": 2}))
        self.assertEqual((self.mirror.revision, self.mirror.resume_token), (4, b"t4"))
        self.assertEqual([w.id for w in self.mirror], ["d", "b", "a"])

    def test_every_field_of_an_update_is_applied_and_the_rest_stays(self):
        update = pb.WidgetUpdated(
            id="b",
            revision=5,
            unset_data=["n", "never"],
            position=-9,
            stale=True,
            apply_set="s",
            family=pb.FAMILY_SMALL,
            update_time_nanos=10**9,
            presence=pb.Presence(visible=False, enabled=True, state=2),
            labels=pb.LabelSet(labels={"l": "1"}),
            error=pb.WidgetError(reason="R", message="m", since=Timestamp(seconds=60)),
        )
        update.set_parameters["p"].string_value = "x"
        self.mirror.apply(change(1, 5, pb.WidgetChange(updated=update)))
        held = self.mirror["b"]
        self.assertEqual((held.data, held.parameters, held.labels), ({}, {"p": "x"}, {"l": "1"}))
        self.assertEqual((held.position, held.stale, held.apply_set), (-9, True, "s"))
        self.assertEqual(
            (held.visible, held.enabled, held.state), (False, True, PresenceState.HIDDEN)
        )
        since = datetime(1970, 1, 1, 0, 1, tzinfo=timezone.utc)
        self.assertEqual((held.family, held.error), (Family.SMALL, WidgetError("R", "m", since)))
        self.assertEqual(held.error.message_pb().since, Timestamp(seconds=60))
        self.assertEqual((held.revision, held.kind, held.update_time), (5, "k", None))
        self.mirror.apply(
            change(
                5,
                6,
                pb.WidgetChange(
                    updated=pb.WidgetUpdated(
                        id="b", revision=6, error=pb.WidgetError(), stale=False
                    )
                ),
            )
        )
        held = self.mirror["b"]
        self.assertEqual((held.error, held.stale, held.position), (None, False, -9))

    def test_the_time_of_a_change_is_kept_where_it_is_watched(self):
        made = widget("t")
        made.update_time.seconds = 1
        self.mirror.apply(change(1, 2, added(made)))
        before = self.mirror["t"].update_time
        self.mirror.apply(
            change(
                2,
                3,
                pb.WidgetChange(
                    updated=pb.WidgetUpdated(id="t", revision=3, update_time_nanos=3_500_000_000)
                ),
            )
        )
        self.assertEqual(self.mirror["t"].update_time - before, timedelta(seconds=2.5))

    def test_hints_are_passed_on(self):
        update = updated("b", 2, n=5)
        update.updated.transition.curve = pb.CURVE_OPACITY
        update.updated.transition.duration.nanos = 200_000_000
        difference = self.mirror.apply(change(1, 2, update))
        self.assertEqual(
            difference.transitions, {"b": Transition(Curve.OPACITY, timedelta(seconds=0.2))}
        )

    def test_a_frame_that_does_not_fit_changes_nothing(self):
        held = self.mirror.widgets
        for wrong in (change(1, 2, added(widget("z")), updated("x", 2)), change(0, 2)):
            with self.assertRaises(Inconsistent):
                self.mirror.apply(wrong)
        self.assertEqual((self.mirror.widgets, self.mirror.revision), (held, 1))
        with self.assertRaises(Inconsistent):
            Mirror().apply(change(0, 1))

    def test_a_second_snapshot_replaces_everything_and_reports_the_differences(self):
        difference = self.mirror.apply(snapshot(9, widget("b", 2, n=1), widget("e", 5)))
        self.assertEqual((difference.added, difference.updated), (("e",), ()))
        self.assertEqual([w.id for w in difference.removed], ["c", "a"])
        self.assertFalse(self.mirror.apply(snapshot(9, widget("b", 2, n=1), widget("e", 5))))

    def test_frames_beside_the_state(self):
        self.mirror.apply(Opened(1, 7, 1, 0))
        self.assertTrue(self.mirror.is_connected)
        self.assertIsNone(self.mirror.apply(Progress(8, b"p", 0)))
        self.assertEqual((self.mirror.revision, self.mirror.resume_token), (8, b"p"))
        self.mirror.apply(Disconnected(Inconsistent("x")))
        self.assertEqual((self.mirror.is_connected, len(self.mirror)), (False, 3))
