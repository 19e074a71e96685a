"""Updates and requests of providers, with the test as the daemon."""

import widgetd
from widgetd import messages as pb

from .fake import PATIENCE, value, widget
from .provider_case import Doing, NOON, ProviderCase


class ProviderTest(ProviderCase):
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

    def test_watched_widgets_are_reported_and_accumulated(self):
        provider = self.provider(audience=True)
        session, opening = self.daemon.session()
        self.assertTrue(opening.include_audience)
        session.open(audience=True)
        self.assertTrue(next(provider).has_audience)
        # The audience is not known yet.
        self.assertTrue(provider.is_attached("a"))
        session.say(audience=pb.ProvideAudience(attached=["a", "b"]))
        self.assertEqual(next(provider), widgetd.Audience(("a", "b")))
        self.assertFalse(provider.is_attached("c"))
        session.say(removed=pb.ProvidedRemoval(widget_ids=["b"]))
        session.say(audience=pb.ProvideAudience(attached=["c"], detached=["a"]))
        self.assertEqual(next(provider), widgetd.WidgetsGone(("b",)))
        # Only requests that were read count.
        self.assertTrue(provider.is_attached("a"))
        self.assertEqual(next(provider), widgetd.Audience(("c",), ("a",)))
        self.assertEqual([i for i in "abc" if provider.is_attached(i)], ["c"])
        # A provider that does not read has only one of them to read.
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
        # After a loss, the first one has all widgets. The known state stays until then.
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

    def test_snapshot_requests_are_answered_in_any_order(self):
        provider = self.provider(answers_snapshots=True)
        session, opening = self.daemon.session()
        self.assertTrue(opening.answers_snapshots)
        session.accept()
        self.assertIsInstance(next(provider), widgetd.Connected)
        self.want(session, 1)
        self.want(session, 2)
        first, second = next(provider), next(provider)
        self.assertEqual(
            first, widgetd.SnapshotRequest("k", widgetd.Family.SMALL, {"n": 1}, 1, 1, uid=7)
        )
        self.assertEqual((first.by_owner, second.by_owner), (False, True))
        for make, id, outcome in (
            (lambda: provider.answer_snapshot(second, {"n": 5}, {"level": 7}), 2, "data"),
            (lambda: provider.refuse_snapshot(first, "no signal"), 1, "error"),
        ):
            doing = Doing(make)
            said = session.hear("snapshot")
            self.assertEqual((said.snapshot_request_id, said.WhichOneof("outcome")), (id, outcome))
            if outcome == "data":
                self.assertEqual(said.data, pb.SnapshotData(data={"n": value(5)}, entry={"level": value(7)}))
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
        # The unread request belongs to the lost session, too.
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
