"""Providers whose connection is lost, or whose answers come too late."""

from unittest import mock

import widgetd
from widgetd import messages as pb

from .fake import Status, widget
from .provider_case import Doing, event, ProviderCase


class ProviderLossTest(ProviderCase):
    def test_after_a_loss_it_continues_after_the_acknowledged_event(self):
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
        # Event 6 was not read, so it comes again.
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

    def test_events_during_a_loss_before_the_first_event_are_not_lost(self):
        provider, _ = self.begin()
        self.relay.drop()
        self.assertIsInstance(next(provider), widgetd.Disconnected)
        _, opening = self.daemon.session()
        self.assertTrue(opening.HasField("acknowledged_sequence"))
        self.assertEqual((opening.acknowledged_sequence, opening.epoch), (0, 7))

    def test_the_failure_is_reported_when_the_event_comes_again(self):
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

    def test_a_frame_that_is_too_large_is_an_error_of_its_call(self):
        provider, session = self.begin()
        attempts = []
        delay = widgetd.RetryPolicy.delay

        def noted(policy, attempt, least=0.0):
            attempts.append(attempt)
            return delay(policy, attempt, least)

        too_large = Status(8, "the frame is longer than 4 MiB", "PROTOCOL_ERROR")
        with mock.patch.object(widgetd.RetryPolicy, "delay", noted):
            for _ in range(2):
                asked = self.ask(provider, session, "a")
                doing = Doing(lambda: provider.answer(asked, {"n": 1}))
                session.hear("answer")
                with self.assertLogs("widgetd", "WARNING") as logs:
                    session.end(too_large)
                    with self.assertRaises(widgetd.ResourceExhausted):
                        doing.result()
                self.assertIn("longer than 4 MiB", logs.output[0])
                self.assertIsInstance(next(provider), widgetd.Disconnected)
                session, _ = self.daemon.session()
                session.accept()
                self.assertIsInstance(next(provider), widgetd.Connected)
                doing = Doing(lambda: provider.update("a", {"n": 1}))
                session.hear("update")
                session.end(too_large)
                with self.assertRaises(widgetd.ResourceExhausted):
                    doing.result()
                self.assertIsInstance(next(provider), widgetd.Disconnected)
                session, _ = self.daemon.session()
                session.accept()
                self.assertIsInstance(next(provider), widgetd.Connected)
        self.assertEqual(attempts, [0, 1, 2, 3])

    def test_an_obsolete_answer_returns_none(self):
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

    def test_an_update_of_a_widget_that_was_removed_meanwhile_returns_none(self):
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

    def test_an_update_of_a_widget_with_a_new_kind_returns_none_and_is_logged(self):
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

    def test_an_update_changes_the_other_widgets_when_one_was_removed_meanwhile(self):
        provider, session = self.begin()
        self.ask(provider, session, "a")
        updates = [widgetd.ProvidedUpdate("a"), widgetd.ProvidedUpdate("b")]
        doing = Doing(lambda: provider.update_all(updates))
        self.refuse(session, "update", 5, "WIDGET_NOT_FOUND", widget_id="a")
        again = session.hear("update")
        self.assertEqual([update.widget_id for update in again.updates], ["b"])
        session.say(result=pb.ProvideResult(id=again.id, revision=9))
        self.assertEqual(doing.result(), 9)

    def test_a_widget_without_a_new_request_was_removed_meanwhile(self):
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

    def test_an_interrupted_change_returns_none_and_its_event_comes_again(self):
        provider, first = self.begin()
        first.say(event=event(4))
        four = next(provider)
        doing = Doing(lambda: provider.update("a", {"n": 0}))
        first.hear("update")
        self.relay.drop()
        self.assertIsNone(doing.result())
        # The update may not have been made, so the event stays unacknowledged.
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

    def test_an_answer_that_a_loss_interrupts_returns_none(self):
        provider, session = self.begin()
        asked = self.ask(provider, session, "a")
        doing = Doing(lambda: provider.answer(asked, {"n": 0}))
        session.hear("answer")
        self.relay.drop()
        self.assertIsNone(doing.result())

    def test_an_interrupted_acknowledgement_is_sent_in_the_next_session(self):
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

    def test_kinds_are_declared_again_if_a_loss_interrupts_their_declaration(self):
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
