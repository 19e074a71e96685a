"""The rules of docs/PROTOCOL.md for watchers, without any I/O."""

import unittest

from widgetd import errors, frames
from widgetd import messages as pb
from widgetd._resume import EventSession, RetryPolicy, StartOver, WidgetSession

from .fake import (
    Status,
    added,
    batch,
    changes,
    chunk,
    events,
    gap,
    opened,
    progress,
    removed,
    synced,
    updated,
    widget,
)

EXACT = RetryPolicy(delay_initial=1.0, delay_max=8.0, jitter=lambda: 0.0)


def lost():
    return errors.ConnectionLost("lost", code=errors.Code.UNAVAILABLE)


def refused(code, reason, retry=None):
    return errors.call_error(code, "", Status(code, "No.", reason, retry=retry).encoded())


def session(retry=EXACT, wait=True, now=lambda: 0.0, **request):
    return WidgetSession(pb.WatchWidgetsRequest(**request), retry, wait, now)


def feed(session, *messages):
    out = []
    for message in messages:
        out += session.receive(message.SerializeToString())
    return out


def names(frames_):
    return [type(frame).__name__ for frame in frames_]


def request(session, kind=pb.WatchWidgetsRequest):
    return kind.FromString(session.open())


class PartTests(unittest.TestCase):
    def test_a_snapshot_is_yielded_complete(self):
        s = session()
        s.open()
        self.assertEqual(names(feed(s, opened(), chunk(widget("a", n=1), widget("b")))), ["Opened"])
        (whole,) = feed(s, chunk(widget("a", n=2), removed=["b"]), synced(3))
        self.assertEqual([(w.id, w.data) for w in whole.widgets], [("a", {"n": 2})])
        self.assertEqual((whole.revision, request(s).resume_token), (3, b"t3"))

    def test_a_removal_is_a_change(self):
        s = session()
        s.open()
        out = feed(s, opened(), synced(1), changes(1, 2, removed("a")))
        self.assertEqual(out[-1].changes, (frames.Removed("a"),))

    def test_a_change_set_in_parts_is_yielded_complete_and_its_token_counts_only_then(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1))
        self.assertEqual(feed(s, changes(1, 0, added(widget("a")), more=True)), [])
        self.assertEqual(s.request.resume_token, b"t1")
        self.assertEqual(names(feed(s, events())), [])
        (whole,) = feed(s, changes(1, 5, updated("a", 5, n=1)))
        self.assertEqual(
            (whole.from_revision, whole.to_revision, whole.resume_token), (1, 5, b"t5")
        )
        self.assertEqual(names(whole.changes), ["Added", "Changed"])
        self.assertEqual(request(s).resume_token, b"t5")

    def test_parts_of_a_lost_stream_are_dropped(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1), changes(1, 0, added(widget("old")), more=True))
        s.fail(lost())
        self.assertEqual(request(s).resume_token, b"t1")
        out = feed(s, opened(), changes(1, 2, added(widget("new"))))
        self.assertEqual(names(out), ["Reconnected", "Opened", "Changes"])
        self.assertEqual([c.widget.id for c in out[-1].changes], ["new"])

    def test_an_unfinished_snapshot_is_dropped(self):
        s = session()
        s.open()
        feed(s, opened(), chunk(widget("old")))
        s.fail(lost())
        self.assertEqual(request(s).resume_token, b"")
        whole = feed(s, opened(), chunk(widget("new")), synced(2))[-1]
        self.assertEqual([w.id for w in whole.widgets], ["new"])

    def test_a_frame_that_does_not_fit_restarts_the_watch(self):
        for wrong in (changes(0, 5), changes(2, 1), synced(9), chunk(widget("a"))):
            s = session()
            s.open()
            feed(s, opened(), synced(1))
            with self.assertRaises(StartOver) as caught:
                feed(s, wrong)
            out, delay = s.fail(caught.exception)
            self.assertEqual((out, delay), ([frames.Reset(frames.ResetReason.INCONSISTENT)], 0.0))
            self.assertEqual(request(s).resume_token, b"")
        s = session()
        s.open()
        feed(s, opened(), synced(1), changes(1, 0, more=True))
        with self.assertRaises(StartOver):
            feed(s, changes(2, 3))

    def test_frames_of_a_later_protocol_are_skipped(self):
        s = session()
        s.open()
        feed(s, opened())
        self.assertEqual(s.receive(b"\xa2\x06\x01x"), [])

    def test_a_frame_that_the_protocol_forbids_is_an_error(self):
        s = session()
        s.open()
        for data in (synced(1).SerializeToString(), b"\xff"):
            with self.assertRaises(errors.ProtocolError):
                s.receive(data)
        feed(s, opened())
        with self.assertRaises(errors.ProtocolError):
            feed(s, opened())


class RecoveryTests(unittest.TestCase):
    def test_progress_moves_the_token(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1), progress(9))
        s.fail(lost())
        self.assertEqual(request(s).resume_token, b"t9")

    def test_compaction_starts_over_at_once_and_then_with_waits(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1))
        waits = []
        for _ in range(6):
            out, delay = s.fail(refused(11, "REVISION_COMPACTED"))
            self.assertEqual(out, [frames.Reset(frames.ResetReason.COMPACTED)])
            self.assertEqual(request(s).resume_token, b"")
            waits.append(delay)
        self.assertEqual(waits, [0.0, 1.0, 2.0, 4.0, 8.0, 8.0])
        feed(s, opened(), synced(4))
        self.assertEqual(s.fail(refused(11, "REVISION_COMPACTED"))[1], 0.0)

    def test_with_another_epoch_all_its_events_are_requested(self):
        s = session(include_events=True)
        s.open()
        feed(s, opened(last=5), synced(1), events(6))
        out, _ = s.fail(refused(9, "EPOCH_CHANGED"))
        self.assertEqual(out, [frames.Reset(frames.ResetReason.EPOCH_CHANGED)])
        asked = request(s)
        self.assertEqual((asked.resume_token, asked.after_sequence), (b"", 0))
        self.assertTrue(asked.HasField("after_sequence"))
        out = feed(s, opened(epoch=8, last=0), synced(1), events(1))
        self.assertEqual(names(out)[-3:], ["Opened", "Snapshot", "Events"])

    def test_another_epoch_is_reported_when_the_stream_only_opened(self):
        s = session(include_events=True)
        s.open()
        feed(s, opened(last=5))
        s.fail(lost())
        s.open()
        with self.assertRaises(StartOver) as caught:
            feed(s, opened(epoch=8, last=5))
        self.assertEqual(s.fail(caught.exception)[0][0].reason, frames.ResetReason.EPOCH_CHANGED)
        self.assertEqual(request(s).after_sequence, 0)

    def test_waits_double_up_to_a_bound_and_follow_the_daemon(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1))
        waits = [s.fail(lost())[1] for _ in range(6)]
        self.assertEqual(waits, [1.0, 2.0, 4.0, 8.0, 8.0, 8.0])
        self.assertEqual(s.fail(refused(14, "SHUTTING_DOWN", retry=20.0))[1], 20.0)
        s.open()
        feed(s, opened())
        self.assertEqual(s.fail(lost())[1], 8.0, "`opened` alone proves nothing")
        s.open()
        feed(s, opened(), progress(2))
        self.assertEqual(s.fail(lost())[1], 1.0)

    def test_the_jitter_shortens_by_up_to_half(self):
        self.assertEqual(RetryPolicy(1.0, 8.0, jitter=lambda: 1.0).delay(1), 1.0)
        self.assertEqual(RetryPolicy(1.0, 8.0, jitter=lambda: 0.0).delay(10**9), 8.0)

    def test_a_loss_is_reported_once(self):
        s = session()
        s.open()
        feed(s, opened(), synced(1))
        self.assertEqual(names(s.fail(lost())[0]), ["Disconnected"])
        self.assertEqual(s.fail(lost())[0], [])
        s.open()
        self.assertEqual(names(feed(s, opened())), ["Reconnected", "Opened"])

    def test_a_permanent_error_is_final(self):
        final = [
            refused(3, "INVALID_FIELD"),
            refused(3, "RESUME_TOKEN_MISMATCH"),
            refused(7, "PERMISSION_DENIED"),
            refused(8, "RESPONSE_TOO_LARGE"),
            refused(12, "METHOD_UNKNOWN"),
            errors.call_error(12, "", None),
            errors.ConnectionFailed("denied", is_transient=False),
        ]
        for error in final:
            s = session()
            s.open()
            feed(s, opened(), synced(1))
            with self.assertRaises(type(error)):
                s.fail(error)

    def test_only_a_watch_that_was_accepted_before_waits_for_a_limit(self):
        s = session()
        s.open()
        with self.assertRaises(errors.QuotaExceeded):
            s.fail(refused(8, "QUOTA_EXCEEDED"))
        feed(s, opened(), synced(1))
        self.assertEqual(s.fail(refused(8, "QUOTA_EXCEEDED"))[1], 1.0)

    def test_the_attempts_can_be_limited(self):
        s = session(RetryPolicy(1.0, 8.0, attempts_max=2, jitter=lambda: 0.0))
        s.open()
        feed(s, opened(), synced(1))
        s.fail(lost())
        s.fail(lost())
        with self.assertRaises(errors.ConnectionLost):
            s.fail(lost())

    def test_the_first_attempt_is_not_repeated_unless_asked(self):
        with self.assertRaises(errors.ConnectionLost):
            session(wait=False).fail(lost())
        self.assertEqual(session(wait=True).fail(lost()), ([], 1.0))


class EventTests(unittest.TestCase):
    def test_no_event_comes_twice_and_gaps_have_only_missing_events(self):
        s = session(include_events=True)
        s.open()
        feed(s, opened(last=3), synced(1), events(4, 5))
        s.fail(lost())
        self.assertEqual(request(s).after_sequence, 5)
        out = feed(s, opened(last=5), gap(4, 7), gap(6, 7), events(5, 7, 8, 8, 9))
        self.assertEqual(out[2], frames.Gap(6, 7))
        self.assertEqual([e.sequence for e in out[3].events], [8, 9])
        self.assertEqual(len(out), 4)
        self.assertEqual(request(s).after_sequence, 9)

    def test_progress_covers_events(self):
        s = session(include_events=True)
        s.open()
        feed(s, opened(last=3), synced(1), progress(1, last=30))
        self.assertEqual(request(s).after_sequence, 30)

    def test_without_events_no_sequence_is_sent(self):
        s = session()
        s.open()
        feed(s, opened(last=3), synced(1), progress(1, last=30))
        self.assertFalse(request(s).HasField("after_sequence"))

    def test_a_watch_of_events_restarts_with_another_epoch(self):
        def opening(after, epoch):
            said = pb.WatchEventsOpened(subscription_id=1, after_sequence=after, epoch=epoch)
            return pb.WatchEventsResponse(opened=said)

        s = EventSession(pb.WatchEventsRequest(), EXACT, True, lambda: 0.0)
        s.open()
        out = feed(s, opening(4, 1), pb.WatchEventsResponse(events=batch(5, 6)))
        self.assertEqual([e.sequence for e in out[1].events], [5, 6])
        s.fail(lost())
        self.assertEqual(request(s, pb.WatchEventsRequest).after_sequence, 6)
        with self.assertRaises(StartOver) as caught:
            feed(s, opening(2, 2))
        out, delay = s.fail(caught.exception)
        self.assertEqual((out[0].reason, delay), (frames.ResetReason.EPOCH_CHANGED, 0.0))
        asked = request(s, pb.WatchEventsRequest)
        self.assertEqual((asked.HasField("after_sequence"), asked.after_sequence), (True, 0))
        out = feed(s, opening(0, 2), pb.WatchEventsResponse(events=batch(1)))
        self.assertEqual(names(out), ["Reconnected", "Opened", "Events"])
