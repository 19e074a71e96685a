"""Sessions of providers, against a daemon that the test plays."""

import threading
import unittest
from datetime import datetime, timezone
from unittest import mock

import widgetd
from widgetd import messages as pb

from .fake import PATIENCE, FakeDaemon, Relay, Status, value, widget

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NOW = widgetd.RetryPolicy(delay_initial=0.0)
GAUGE = widgetd.Kind("k", data=[widgetd.Field("n", "int", 0)])


class Doing:
    """Something that a thread of its own does."""

    def __init__(self, body):
        self.outcome = None
        self.thread = threading.Thread(target=self._run, args=(body,), daemon=True)
        self.thread.start()

    def _run(self, body):
        try:
            self.outcome = body()
        except Exception as error:
            self.outcome = error

    def result(self):
        self.thread.join(PATIENCE)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def event(sequence):
    return pb.Event(sequence=sequence, widget_id="a", name="click")


class ProviderTest(unittest.TestCase):
    def setUp(self):
        self.daemon = FakeDaemon()
        self.addCleanup(self.daemon.close)
        self.relay = Relay(self.daemon.folder, self.daemon.path)
        self.addCleanup(self.relay.close)

    def provider(self, kinds=(GAUGE,), **options):
        made = widgetd.Provider("desk", kinds, self.relay.path, retry=NOW, **options)
        self.addCleanup(made.close)
        return made

    def begin(self, **options):
        provider = self.provider(**options)
        session, opening = self.daemon.session()
        self.assertEqual(opening.provider, "desk")
        kinds = session.accept()
        self.assertEqual([kind.name for kind in kinds.kinds], ["k"])
        self.assertEqual(next(provider), widgetd.Connected(7, 3, 1))
        return provider, session

    def test_widgets_are_changed_in_one_commit(self):
        provider, session = self.begin()
        doing = Doing(
            lambda: provider.update_all(
                [widgetd.ProvidedUpdate("a", {"n": 1}), widgetd.ProvidedUpdate("b")]
            )
        )
        update = session.hear("update")
        self.assertEqual([u.widget_id for u in update.updates], ["a", "b"])
        self.assertEqual(update.updates[0].patch, pb.WidgetPatch(set_data={"n": value(1)}))
        session.say(result=pb.ProvideResult(id=update.id, revision=9))
        self.assertEqual(doing.result(), 9)

    def test_a_refused_update_is_an_error_that_names_the_widget(self):
        provider, session = self.begin()
        doing = Doing(lambda: provider.update("b", {"n": 1}))
        error = pb.ProvideError(
            code=5,
            reason="WIDGET_NOT_FOUND",
            message="updates[0]: no",
            metadata={"widget_id": "b"},
            field="updates[0]",
            retry_delay={"seconds": 2},
        )
        session.say(result=pb.ProvideResult(id=session.hear("update").id, error=error))
        with self.assertRaises(widgetd.WidgetNotFound) as caught:
            doing.result()
        self.assertEqual(caught.exception.metadata, {"widget_id": "b"})
        self.assertEqual(caught.exception.violations, (("updates[0]", "no"),))
        self.assertEqual(caught.exception.retry_delay, 2.0)

    def test_who_is_watched_is_told_and_added_up(self):
        provider = self.provider(audience=True)
        session, opening = self.daemon.session()
        self.assertTrue(opening.include_audience)
        session.open(audience=True)
        self.assertTrue(next(provider).has_audience)
        # Not known yet.
        self.assertTrue(provider.is_attached("a"))
        session.say(audience=pb.ProvideAudience(attached=["a", "b"]))
        self.assertEqual(next(provider), widgetd.Audience(("a", "b")))
        self.assertFalse(provider.is_attached("c"))
        session.say(removed=pb.ProvidedRemoval(widget_ids=["b"]))
        session.say(audience=pb.ProvideAudience(attached=["c"], detached=["a"]))
        self.assertEqual(next(provider), widgetd.WidgetsGone(("b",)))
        # Only what was taken counts.
        self.assertTrue(provider.is_attached("a"))
        self.assertEqual(next(provider), widgetd.Audience(("c",), ("a",)))
        self.assertEqual([i for i in "abc" if provider.is_attached(i)], ["c"])
        # Who does not read has one of them to read.
        for _ in range(3):
            session.say(audience=pb.ProvideAudience(attached=["a"], detached=["c"]))
            session.say(audience=pb.ProvideAudience(attached=["c"], detached=["a"]))
        session.say(synced=pb.ProvideSynced(revision=9))
        session.say(audience=pb.ProvideAudience(attached=["z"]))
        with provider._session.condition:
            provider._session.condition.wait_for(lambda: len(provider._session.unread) == 3, PATIENCE)
        self.assertEqual(next(provider), widgetd.Audience(("c",), ("a",)))
        self.assertEqual(next(provider), widgetd.AllAsked(9))
        self.assertEqual(next(provider), widgetd.Audience(("z",)))
        # After a loss, the first one has all, and what was known stays until then.
        self.relay.drop()
        session, _ = self.daemon.session()
        session.open(audience=True)
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertTrue(provider.is_attached("z"))
        session.say(audience=pb.ProvideAudience(attached=["c"]))
        next(provider)
        self.assertEqual([i for i in "acz" if provider.is_attached(i)], ["c"])

    def test_without_an_audience_all_are_attached(self):
        provider, session = self.begin()
        self.assertTrue(provider.is_attached("a"))

    def test_requests_come_in_order_and_are_answered(self):
        provider, session = self.begin()
        session.say(data_request=pb.DataRequest(id=1, widget=widget("a", n=1), reason=1))
        session.say(removed=pb.ProvidedRemoval(widget_ids=["b"]))
        session.say(gap=pb.EventGap(first_sequence=1, last_sequence=3))
        session.say(synced=pb.ProvideSynced(revision=5))
        asked = next(provider)
        self.assertEqual((asked.widget.id, asked.reason.word), ("a", "created"))
        self.assertEqual(next(provider), widgetd.WidgetsGone(("b",)))
        self.assertEqual(next(provider), widgetd.Gap(1, 3))
        self.assertEqual(next(provider), widgetd.AllAsked(5))
        for outcome in ({"data": {"n": 2}}, {"error": widgetd.WidgetError("NO_SIGNAL", "x")}):
            doing = Doing(lambda: provider.answer(asked, **outcome))
            answer = session.hear("answer")
            self.assertEqual(answer.data_request_id, 1)
            self.assertEqual(
                answer.WhichOneof("outcome"), "patch" if "data" in outcome else "error"
            )
            session.say(result=pb.ProvideResult(id=answer.id, revision=8))
            self.assertEqual(doing.result(), 8)

    def test_a_timeline_is_set_with_data_or_alone_or_removed(self):
        provider, session = self.begin()
        timeline = widgetd.Timeline([widgetd.TimelineEntry(NOON, {"n": 1})], "never")
        asked = self.ask(provider, session, "a")
        cleared = pb.WidgetPatch(clear_timeline=True)
        for arguments, patch in (
            ({"timeline": timeline}, pb.WidgetPatch(timeline=timeline.message_pb())),
            ({"clear_timeline": True}, cleared),
            (
                {"data": {"n": 2}, "timeline": timeline},
                pb.WidgetPatch(set_data={"n": value(2)}, timeline=timeline.message_pb()),
            ),
            (
                {"error": widgetd.WidgetError("LATE"), "timeline": timeline},
                pb.WidgetPatch(error={"reason": "LATE"}, timeline=timeline.message_pb()),
            ),
        ):
            doing = Doing(lambda: provider.update("a", **arguments))
            update = session.hear("update")
            self.assertEqual(update.updates[0].patch, patch)
            session.say(result=pb.ProvideResult(id=update.id, revision=9))
            self.assertEqual(doing.result(), 9)
            doing = Doing(lambda: provider.answer(asked, **arguments))
            answer = session.hear("answer")
            self.assertEqual(answer.patch, patch)
            session.say(result=pb.ProvideResult(id=answer.id, revision=9))
            self.assertEqual(doing.result(), 9)
        self.assertEqual(widgetd.ProvidedUpdate("a", clear_timeline=True).patch(), cleared)

    def want(self, session, id):
        session.say(
            snapshot_request=pb.SnapshotRequest(
                id=id,
                kind="k",
                family=pb.FAMILY_SMALL,
                parameters={"n": value(id)},
                by_owner=id == 2,
            )
        )

    def test_snapshot_requests_are_answered_in_any_order(self):
        provider = self.provider(answers_snapshots=True)
        session, opening = self.daemon.session()
        self.assertTrue(opening.answers_snapshots)
        session.accept()
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.want(session, 1)
        self.want(session, 2)
        first, second = next(provider), next(provider)
        self.assertEqual(first, widgetd.SnapshotRequest("k", widgetd.Family.SMALL, {"n": 1}, 1, 1))
        self.assertEqual((first.by_owner, second.by_owner), (False, True))
        for make, id, outcome in (
            (lambda: provider.answer_snapshot(second, {"n": 5}), 2, "data"),
            (lambda: provider.refuse_snapshot(first, "no signal"), 1, "error"),
        ):
            doing = Doing(make)
            said = session.hear("snapshot")
            self.assertEqual((said.snapshot_request_id, said.WhichOneof("outcome")), (id, outcome))
            if outcome == "data":
                self.assertEqual(said.data, pb.SnapshotData(data={"n": value(5)}))
            else:
                self.assertEqual(said.error.message, "no signal")
                self.assertTrue(said.error.reason)
            session.say(result=pb.ProvideResult(id=said.id, revision=4))
            self.assertIsNone(doing.result())

    def test_an_answer_to_a_snapshot_request_that_a_loss_interrupts_is_silent(self):
        provider, session = self.begin(answers_snapshots=True)
        self.want(session, 1)
        asked = next(provider)
        doing = Doing(lambda: provider.answer_snapshot(asked, {"n": 5}))
        session.hear("snapshot")
        self.want(session, 2)
        self.relay.drop()
        self.assertIsNone(doing.result())
        second, _ = self.daemon.session()
        second.accept()
        # The unread request is of the lost session, too.
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertIsNone(provider.refuse_snapshot(asked, "late"))
        self.assertTrue(second.heard.empty())

    def test_a_snapshot_that_cannot_be_sent_is_an_error(self):
        provider, session = self.begin(answers_snapshots=True)
        self.want(session, 1)
        asked = next(provider)
        with self.assertRaises(TypeError):
            provider.answer_snapshot(asked, {"n": object()})
        doing = Doing(lambda: provider.answer_snapshot(asked, {"n": 5}))
        self.refuse(session, "snapshot", 3, "INVALID_FIELD")
        with self.assertRaises(widgetd.InvalidArgument):
            doing.result()

    def test_without_snapshots_the_session_does_not_ask_for_them(self):
        self.provider()
        _, opening = self.daemon.session()
        self.assertFalse(opening.answers_snapshots)

    def test_after_a_loss_it_goes_on_behind_the_acknowledged_event(self):
        provider, first = self.begin()
        for sequence in (4, 5, 6):
            first.say(event=event(sequence))
        four, five = next(provider), next(provider)
        doing = Doing(lambda: provider.acknowledge(four))
        said = first.hear("acknowledge")
        self.assertEqual(said.sequence, 4)
        first.say(result=pb.ProvideResult(id=said.id))
        doing.result()
        self.relay.drop()
        second, opening = self.daemon.session()
        # Event 6 was not read; it comes again.
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        self.assertEqual((opening.acknowledged_sequence, opening.epoch), (4, 7))
        self.assertFalse(opening.take_over)
        provider.acknowledge(five)
        second.accept()
        second.say(event=event(5))
        second.say(event=event(6))
        self.assertEqual(second.hear("acknowledge").sequence, 5)
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertEqual(next(provider).sequence, 6)

    def test_what_happens_during_a_loss_before_the_first_event_is_not_lost(self):
        provider, _ = self.begin()
        self.relay.drop()
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        _, opening = self.daemon.session()
        self.assertTrue(opening.HasField("acknowledged_sequence"))
        self.assertEqual((opening.acknowledged_sequence, opening.epoch), (0, 7))

    def test_what_went_wrong_is_told_when_the_event_comes_again(self):
        provider, first = self.begin()
        first.say(event=event(5))
        five = next(provider)
        self.relay.drop()
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        provider.acknowledge(five, error=widgetd.WidgetError("BROKEN", "x"))
        second, _ = self.daemon.session()
        second.accept()
        second.say(event=event(5))
        said = second.hear("acknowledge")
        self.assertEqual((said.sequence, said.error.reason), (5, "BROKEN"))

    def test_a_request_of_a_session_that_has_ended_cannot_be_answered(self):
        provider, first = self.begin()
        first.say(data_request=pb.DataRequest(id=1, widget=widget("a"), reason=2))
        old = next(provider)
        self.relay.drop()
        second, _ = self.daemon.session()
        second.accept()
        self.assertIsNone(provider.answer(old, {"n": 1}))

    def refuse(self, session, kind, code, reason, **metadata):
        """Refuses the next frame, and returns it."""
        frame = session.hear(kind)
        error = pb.ProvideError(code=code, reason=reason, message="no", metadata=metadata)
        session.say(result=pb.ProvideResult(id=frame.id, error=error))
        return frame

    def ask(self, provider, session, id):
        session.say(data_request=pb.DataRequest(id=1, widget=widget(id), reason=1))
        return next(provider)

    def test_an_answer_that_an_update_made_obsolete_is_none(self):
        provider, session = self.begin()
        asked = self.ask(provider, session, "a")
        doing = Doing(lambda: provider.answer(asked, {"n": 1}))
        self.refuse(session, "answer", 5, "DATA_REQUEST_NOT_FOUND")
        self.assertIsNone(doing.result())

    def test_an_answer_that_is_refused_for_another_reason_is_an_error(self):
        provider, session = self.begin()
        asked = self.ask(provider, session, "a")
        doing = Doing(lambda: provider.answer(asked, {"n": "x"}))
        self.refuse(session, "answer", 3, "INVALID_FIELD")
        with self.assertRaises(widgetd.InvalidArgument):
            doing.result()

    def test_an_update_of_a_widget_that_was_removed_meanwhile_is_none(self):
        provider, session = self.begin()
        self.ask(provider, session, "a")
        session.say(event=pb.Event(sequence=1, widget_id="b", name="click"))
        next(provider)
        session.say(removed=pb.ProvidedRemoval(widget_ids=["a"]))
        next(provider)
        for id in ("a", "b"):
            doing = Doing(lambda: provider.update(id, {"n": 1}))
            self.refuse(session, "update", 5, "WIDGET_NOT_FOUND", widget_id=id)
            self.assertIsNone(doing.result())

    def test_an_update_of_a_widget_that_is_of_another_kind_now_is_none_and_logged(self):
        provider, session = self.begin()
        self.ask(provider, session, "a")
        doing = Doing(lambda: provider.update("a", {"n": 1}))
        with self.assertLogs("widgetd", "WARNING"):
            self.refuse(session, "update", 9, "NOT_PROVIDED", widget_id="a")
            self.assertIsNone(doing.result())
        doing = Doing(lambda: provider.update("never", {"n": 1}))
        self.refuse(session, "update", 9, "NOT_PROVIDED", widget_id="never")
        with self.assertRaises(widgetd.FailedPrecondition):
            doing.result()

    def test_the_others_of_an_update_are_changed_when_one_was_removed_meanwhile(self):
        provider, session = self.begin()
        self.ask(provider, session, "a")
        updates = [widgetd.ProvidedUpdate("a"), widgetd.ProvidedUpdate("b")]
        doing = Doing(lambda: provider.update_all(updates))
        self.refuse(session, "update", 5, "WIDGET_NOT_FOUND", widget_id="a")
        again = session.hear("update")
        self.assertEqual([update.widget_id for update in again.updates], ["b"])
        session.say(result=pb.ProvideResult(id=again.id, revision=9))
        self.assertEqual(doing.result(), 9)

    def test_a_widget_that_the_daemon_did_not_ask_about_again_was_removed_meanwhile(self):
        provider, _ = self.begin()
        known = provider._session.known
        known.asked("a")
        known.asked("b")
        known.begin()
        known.asked("a")
        known.all_asked()
        known.event("c")
        self.assertEqual([id in known for id in "abcd"], [True, True, True, False])
        with mock.patch("widgetd._provider_state.GONE_KEPT_MAX", 2):
            known.remove(["a"])
            self.assertEqual([id in known for id in "abc"], [True, False, True])

    def test_a_change_that_a_loss_interrupts_is_none_and_its_event_comes_again(self):
        provider, first = self.begin()
        first.say(event=event(4))
        four = next(provider)
        doing = Doing(lambda: provider.update("a", {"n": 0}))
        first.hear("update")
        self.relay.drop()
        self.assertIsNone(doing.result())
        # The update may not have been made: the event is not dealt with, whatever is said of it.
        provider.acknowledge(four)
        provider.acknowledge(4)
        second, opening = self.daemon.session()
        self.assertEqual(opening.acknowledged_sequence, 0)
        second.accept()
        second.say(event=event(4))
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        self.assertIsInstance(next(provider), widgetd.Connected)
        copy = next(provider)
        self.assertEqual(copy.sequence, 4)
        provider.acknowledge(four)
        doing = Doing(lambda: provider.acknowledge(copy))
        said = second.hear("acknowledge")
        self.assertEqual(said.sequence, 4)
        second.say(result=pb.ProvideResult(id=said.id))
        doing.result()
        self.assertTrue(second.heard.empty())

    def test_an_answer_that_a_loss_interrupts_is_none(self):
        provider, session = self.begin()
        asked = self.ask(provider, session, "a")
        doing = Doing(lambda: provider.answer(asked, {"n": 0}))
        session.hear("answer")
        self.relay.drop()
        self.assertIsNone(doing.result())

    def test_an_acknowledgement_that_a_loss_interrupts_is_told_in_the_next_session(self):
        provider, first = self.begin()
        first.say(event=event(4))
        first.say(event=event(5))
        four, five = next(provider), next(provider)
        doing = Doing(lambda: provider.acknowledge(four))
        first.hear("acknowledge")
        self.relay.drop()
        doing.result()
        second, opening = self.daemon.session()
        self.assertEqual(opening.acknowledged_sequence, 4)
        second.accept()
        second.say(event=event(5))
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertEqual(next(provider), five)
        broken = widgetd.WidgetError("BROKEN", "x")
        doing = Doing(lambda: provider.acknowledge(five, error=broken))
        second.hear("acknowledge")
        self.relay.drop()
        doing.result()
        third, opening = self.daemon.session()
        self.assertEqual(opening.acknowledged_sequence, 4)
        third.accept()
        third.say(event=event(5))
        said = third.hear("acknowledge")
        self.assertEqual((said.sequence, said.error.reason), (5, "BROKEN"))

    def test_kinds_whose_declaration_a_loss_interrupts_are_declared_again(self):
        provider, first = self.begin()
        doing = Doing(lambda: provider.declare([widgetd.Kind("other")]))
        first.hear("kinds")
        self.relay.drop()
        second, _ = self.daemon.session()
        self.assertEqual([kind.name for kind in second.accept().kinds], ["k"])
        kinds = second.hear("kinds")
        self.assertEqual([kind.name for kind in kinds.kinds], ["other"])
        second.say(result=pb.ProvideResult(id=kinds.id, revision=5))
        self.assertEqual(doing.result(), ())

    def test_the_lease_is_kept_alive(self):
        provider = self.provider((), lease=1)
        session, opening = self.daemon.session()
        self.assertEqual(opening.lease.seconds, 1)
        session.open(lease=1)
        self.assertIsInstance(next(provider), widgetd.Connected)
        frame = session.heard.get(timeout=PATIENCE)
        self.assertEqual(frame.WhichOneof("frame"), "keep_alive")

    def test_what_trying_again_cannot_help_ends_it(self):
        for code, reason in (
            (10, "PROVIDER_REPLACED"),
            (7, "PERMISSION_DENIED"),
            (6, "PROVIDER_ACTIVE"),
        ):
            provider = self.provider(take_over=True)
            session, opening = self.daemon.session()
            self.assertTrue(opening.take_over)
            session.end(Status(code, "no", reason))
            with self.assertRaises(widgetd.CallError) as caught:
                next(provider)
            self.assertEqual(caught.exception.reason, reason)
            with self.assertRaises(widgetd.CallError):
                provider.update("a")

    def test_a_name_that_is_still_taken_after_a_loss_is_waited_for(self):
        provider, first = self.begin()
        first.end(Status(4, "no", "LEASE_EXPIRED"))
        self.assertEqual(next(provider).error.reason, "LEASE_EXPIRED")
        with self.assertLogs("widgetd", "WARNING") as logged:
            for _ in range(3):
                self.daemon.session()[0].end(Status(6, "no", "PROVIDER_ACTIVE"))
            self.assertEqual(next(provider).error.reason, "PROVIDER_ACTIVE")
            self.daemon.session()[0].accept()
            self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertIn("another session provides as 'desk'", logged.output[0])
        self.assertEqual(len(logged.output), 1)

    def test_a_name_that_another_session_keeps_ends_it_after_a_bounded_time(self):
        now = [0.0]
        for options, limit in (({}, 20.0), ({"lease": 60}, 65.0), ({"displaced_max": 3.0}, 3.0)):
            with mock.patch("widgetd._provider_session._now", lambda: now[0]):
                provider, first = self.begin(**options)
                first.end(Status(4, "no", "LEASE_EXPIRED"))
                self.assertEqual(next(provider).error.reason, "LEASE_EXPIRED")
                with self.assertLogs("widgetd", "WARNING"):
                    self.daemon.session()[0].end(Status(6, "no", "PROVIDER_ACTIVE"))
                    self.assertEqual(next(provider).error.reason, "PROVIDER_ACTIVE")
                for passed in (limit - 0.1, 0.1):
                    session, _ = self.daemon.session()
                    now[0] += passed
                    session.end(Status(6, "no", "PROVIDER_ACTIVE"))
                with self.assertRaises(widgetd.AlreadyExists) as caught:
                    next(provider)
                self.assertEqual(caught.exception.reason, "PROVIDER_ACTIVE")

    def test_kinds_that_are_refused_for_now_are_declared_again_less_and_less_often(self):
        waits = []

        class Policy(widgetd.RetryPolicy):
            def delay(self, attempt, least=0.0):
                waits.append(attempt)
                return 0.0

        provider = widgetd.Provider("desk", [GAUGE], self.relay.path, retry=Policy())
        self.addCleanup(provider.close)
        full = pb.ProvideError(code=8, reason="QUOTA_EXCEEDED", message="full")
        for _ in range(3):
            session, _ = self.daemon.session()
            session.open()
            kinds = session.hear("kinds")
            session.say(result=pb.ProvideResult(id=kinds.id, error=full))
            told = next(provider)
            # That it was connected is told as long as it is.
            if isinstance(told, widgetd.Connected):
                told = next(provider)
            self.assertIsInstance(told, widgetd.Disconnected)
            self.assertEqual(told.error.reason, "QUOTA_EXCEEDED")
        self.daemon.session()[0].accept()
        self.assertEqual(waits, [0, 1, 2])

    def test_kinds_that_are_refused_end_it(self):
        provider = self.provider()
        session, _ = self.daemon.session()
        session.open()
        error = pb.ProvideError(code=6, reason="KIND_CLAIMED", message="no")
        session.say(result=pb.ProvideResult(id=session.hear("kinds").id, error=error))
        self.assertIsInstance(next(provider), widgetd.Connected)
        with self.assertRaises(widgetd.KindClaimed):
            next(provider)

    def test_a_fault_of_the_library_ends_it_instead_of_leaving_everybody_waiting(self):
        provider, session = self.begin()
        changing = Doing(lambda: provider.update("a"))
        session.hear("update")
        with mock.patch.object(provider._session, "_receive", side_effect=KeyError("x")):
            session.say(synced=pb.ProvideSynced(revision=5))
            with self.assertRaisesRegex(widgetd.WidgetdError, "broke off: KeyError"):
                next(provider)
        with self.assertRaises(widgetd.WidgetdError):
            changing.result()

    def test_closing_ends_the_iteration_and_every_wait(self):
        provider, session = self.begin()
        reading = Doing(lambda: list(provider))
        changing = Doing(lambda: provider.update("a"))
        session.hear("update")
        provider.close()
        self.assertEqual(reading.result(), [])
        with self.assertRaises(widgetd.WidgetdError):
            changing.result()
        self.assertTrue(session.over.wait(PATIENCE))
