"""Leases of providers, refusals, and the end of sessions."""

from unittest import mock

import widgetd
from widgetd import messages as pb

from .fake import PATIENCE, Status
from .provider_case import Doing, GAUGE, ProviderCase


class ProviderEndTest(ProviderCase):
    def test_the_lease_is_kept_alive(self):
        provider = self.provider((), lease=1)
        session, opening = self.daemon.session()
        self.assertEqual(opening.lease.seconds, 1)
        session.open(lease=1)
        self.assertIsInstance(next(provider), widgetd.Connected)
        frame = session.heard.get(timeout=PATIENCE)
        self.assertEqual(frame.WhichOneof("frame"), "keep_alive")

    def test_a_permanent_error_ends_it(self):
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

    def test_after_a_loss_it_waits_for_a_name_that_is_still_taken(self):
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

    def test_a_name_that_another_session_keeps_ends_it_after_a_time_limit(self):
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

    def test_temporarily_refused_kinds_are_declared_again_with_growing_delays(self):
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
            # Connected is reported only while the connection lasts.
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

    def test_a_fault_of_the_library_ends_it_and_every_wait(self):
        provider, session = self.begin()
        changing = Doing(lambda: provider.update("a"))
        session.hear("update")
        with mock.patch.object(provider._session, "_receive", side_effect=KeyError("x")):
            session.say(synced=pb.ProvideSynced(revision=5))
            with self.assertRaisesRegex(widgetd.WidgetdError, "ended: KeyError"):
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
